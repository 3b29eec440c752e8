"""Who contains whom, by weights that are set by hand; and what no weights can do."""

import ast
import math
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from gtcourse.models import (
    ChromaticSelfAttention,
    EdgeTerms,
    EGTAttention,
    GraphormerAttention,
    GRPEAttention,
    MultiHeadAttention,
    RelationTables,
)
from gtcourse.models.baselines import GATLayer, GINLayer
from gtcourse.models.frame import Terms, attend, gates, softmax
from gtcourse.models.frame_models import egt_terms, gat_terms, gin_terms, grpe_terms
from gtcourse.models.special_cases import SPECIAL_CASES
from tests.models.graphormers import large_weights, with_weights_of

CLOSE = {"rtol": 1e-10, "atol": 1e-10}
B, N, D, H, T = 2, 5, 8, 2, 4
K = D // H
MASK = torch.tensor([[True] * N, [True] * 3 + [False] * 2])


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).double()


def relations() -> Tensor:
    return torch.randint(0, T, (B, N, N), generator=torch.Generator().manual_seed(1))


def neighbours() -> Tensor:
    """A path, and node 4 next to nobody; every node is beside itself."""
    adjacency = torch.eye(N).bool()
    adjacency[[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]] = True
    return adjacency.expand(B, N, N)


def test_graphormer_without_a_bias_is_multi_head_attention():
    layer, h = large_weights(GraphormerAttention(D, H)), draw(B, N, D)
    plain = with_weights_of(layer, MultiHeadAttention(D, H))
    for bias in (None, torch.zeros(B, H, N, N).double()):
        torch.testing.assert_close(layer(h, bias, mask=MASK), plain(h, mask=MASK), **CLOSE)


def test_grpe_with_a_channel_of_each_head_set_aside_is_graphormer():
    """Query 1 and key 0 in the last channel: what the table has there is a scalar's."""
    layer, h, scalars = large_weights(GRPEAttention(D, H)), draw(B, N, D), draw(T, H)
    aside = [head * K + K - 1 for head in range(H)]
    for projection, shift in ((layer.query, 1.0), (layer.key, 0.0)):
        projection.weight.data[aside] = 0.0
        projection.bias.data[aside] = shift
    table = torch.zeros(T, D).double()
    table[:, aside] = scalars * math.sqrt(K)
    graphormer = with_weights_of(layer, GraphormerAttention(D, H))
    bias = scalars[relations()].permute(0, 3, 1, 2)
    got = layer(h, relations(), RelationTables(key=table), mask=MASK)
    torch.testing.assert_close(got, graphormer(h, bias, mask=MASK), **CLOSE)


def test_a_query_context_that_is_the_same_for_all_relations_changes_nothing():
    """It is a constant of the row; the other context is not, it depends on who is heard."""
    layer, h = large_weights(GRPEAttention(D, H)), draw(B, N, D)
    same = draw(1, D).expand(T, D)
    plain = layer(h, relations(), RelationTables(), mask=MASK)
    shifted = layer(h, relations(), RelationTables(key=same), mask=MASK)
    torch.testing.assert_close(shifted, plain, **CLOSE)
    moved = layer(h, relations(), RelationTables(query=same), mask=MASK)
    assert (moved - plain).abs().max() > 1e-3
    layer.query.bias.data += same[0]  # it is a shift of every query
    torch.testing.assert_close(layer(h, relations(), RelationTables(), mask=MASK), moved, **CLOSE)


def test_csa_with_vectors_of_relations_is_grpe_without_contexts():
    csa, h = large_weights(ChromaticSelfAttention(D, H)), draw(B, N, D)
    grpe = with_weights_of(csa, GRPEAttention(D, H))
    scalars, vectors = draw(T, H), draw(T, D, seed=1)
    edges = EdgeTerms(
        scalars[relations()].permute(0, 3, 1, 2), vectors[relations()].permute(0, 3, 1, 2)
    )
    expected = grpe(h, relations(), RelationTables(value=vectors, bias=scalars), mask=MASK)
    torch.testing.assert_close(csa(h, edges, mask=MASK), expected, **CLOSE)


def egt_with_weights_of(attention: MultiHeadAttention, **options) -> EGTAttention:
    egt = EGTAttention(D, T, H, **options).double().eval()
    parts = [getattr(attention, name) for name in ("query", "key", "value")]
    egt.qkv.weight.data = torch.cat([part.weight for part in parts])
    egt.qkv.bias.data = torch.cat([part.bias for part in parts])
    egt.output.load_state_dict(attention.output.state_dict())
    return egt


def test_egt_without_gate_and_clip_is_graphormers_bias():
    """As EGT-Simple reads a pair's vector: as it is, here one-hot of a table's row."""
    graphormer, h, scalars = large_weights(GraphormerAttention(D, H)), draw(B, N, D), draw(T, H)
    egt = egt_with_weights_of(graphormer, gated=False, clip=math.inf)
    egt.edge_input.weight.data, egt.edge_input.bias.data = scalars.T.clone(), torch.zeros(H)
    egt.double()
    bias = scalars[relations()].permute(0, 3, 1, 2)
    e = nn.functional.one_hot(relations(), T).double()
    expected = graphormer(h, bias, mask=MASK)
    z, _ = egt(h, e, mask=MASK)
    torch.testing.assert_close(z[MASK], expected[MASK], **CLOSE)
    egt.clip = 1.0
    assert (egt(h, e, mask=MASK)[0][MASK] - expected[MASK]).abs().max() > 1e-3


def test_egt_with_open_gates_is_egt_u():
    gated = large_weights(EGTAttention(D, T, H))
    ungated = large_weights(EGTAttention(D, T, H, gated=False))
    ungated.qkv, ungated.output = gated.qkv, gated.output
    ungated.edge_input.weight.data = gated.edge_input.weight.data[:H]
    ungated.edge_input.bias.data = gated.edge_input.bias.data[:H]
    gated.edge_input.weight.data[H:] = 0.0
    gated.edge_input.bias.data[H:] = 40.0  # σ(40) is 1 up to 4e-18
    h, e = draw(B, N, D), draw(B, N, N, T)
    for got, expected in zip(gated(h, e, mask=MASK), ungated(h, e, mask=MASK), strict=True):
        torch.testing.assert_close(got, expected, **CLOSE)


def test_a_bias_of_minus_infinity_leaves_the_neighbours():
    layer, h = large_weights(GraphormerAttention(D, H)), draw(B, N, D)
    plain, graph = with_weights_of(layer, MultiHeadAttention(D, H)), neighbours()
    bias = graph.double().log()[:, None].expand(-1, H, -1, -1)
    torch.testing.assert_close(layer(h, bias), plain(h, mask=graph), **CLOSE)


def test_equal_logits_on_neighbours_make_their_mean():
    layer, h, graph = large_weights(MultiHeadAttention(D, H)), draw(B, N, D), neighbours()
    for projection in (layer.query, layer.key):
        projection.weight.data.zero_()
    for projection in (layer.value, layer.output):
        projection.weight.data, projection.bias.data = torch.eye(D).double(), torch.zeros(D)
    layer.double()
    mean = torch.stack([torch.stack([h[b][graph[b, i]].mean(0) for i in range(N)])
                        for b in range(B)])  # fmt: skip
    torch.testing.assert_close(layer(h, mask=graph), mean, **CLOSE)


def test_a_mean_over_neighbours_times_their_number_is_gins_sum():
    conv, h, graph = large_weights(GINLayer(D)).conv, draw(B, N, D), neighbours()
    terms = gin_terms(conv, h, graph)
    total, _ = attend(terms)
    mean, _ = attend(Terms(terms.content, terms.value, heard=terms.heard))
    degree = graph.sum(dim=1, keepdim=True).mT
    torch.testing.assert_close(degree * mean, total, **CLOSE)
    assert (mean - total).abs().max() > 1e-3


def test_egts_gate_is_no_bias_because_its_rows_do_not_sum_to_one():
    """Of equal values a softmax makes that value, whatever is added to its logits."""
    layer = large_weights(EGTAttention(D, T, H))
    terms = egt_terms(layer, draw(B, N, D), draw(B, N, N, T))
    equal = torch.ones_like(terms.value)
    without = Terms(terms.content, equal, terms.structure, heard=terms.heard)
    torch.testing.assert_close(attend(without)[0], equal, **CLOSE)
    with_gate = Terms(terms.content, equal, terms.structure, gate=terms.gate, heard=terms.heard)
    z, weights = attend(with_gate)
    torch.testing.assert_close(z[..., 0], weights[:, 0].sum(-1), **CLOSE)
    assert z.max() < 1 - 1e-3


def test_grpes_value_term_is_no_bias_because_equal_values_hide_every_weight():
    layer, h = large_weights(GRPEAttention(D, H)), draw(1, 1, D).expand(B, N, D)
    tables = RelationTables(key=draw(T, D), query=draw(T, D, seed=1), bias=draw(T, H))
    without, _ = attend(grpe_terms(layer, h, relations(), tables))
    torch.testing.assert_close(without, layer.value(h), **CLOSE)
    given = tables._replace(value=draw(T, D, seed=2))
    with_values, _ = attend(grpe_terms(layer, h, relations(), given))
    assert (with_values - without).abs().amax(dim=-1).min() > 1e-3


def test_gatedgcns_gates_are_no_softmax_but_tend_to_one_as_all_of_them_close():
    """A constant on a row's logits changes the gates; far below zero σ(s) is exp(s)."""
    logits, gaps = draw(1, 1, 1, N), []
    for down in (0.0, 2.0, 4.0, 6.0):
        gaps.append(float((gates(logits - down) - softmax(logits)).abs().max()))
        torch.testing.assert_close(softmax(logits - down), softmax(logits), **CLOSE)
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] > 0.1
    assert gaps[-1] < 0.01


def test_gat_without_its_slope_does_not_depend_on_the_query():
    """The receiver's number is a constant of the row, as in CSA's additive score."""
    conv, graph = large_weights(GATLayer(D, H)).conv, torch.ones(B, N, N, dtype=torch.bool)
    h = draw(B, N, D)
    _, bent = attend(gat_terms(conv, h, graph))
    assert (bent - bent[:, :, :1]).abs().max() > 1e-3
    order = bent.argsort(dim=-1)
    assert order.equal(order[:, :, :1].expand_as(order))  # static, even with the bend
    conv.negative_slope = 1.0
    _, straight = attend(gat_terms(conv, h, graph))
    torch.testing.assert_close(straight, straight[:, :, :1].expand_as(straight), **CLOSE)


@pytest.mark.parametrize("case", SPECIAL_CASES, ids=lambda case: case.test)
def test_every_case_that_is_claimed_names_a_test(case):
    tree = ast.parse((Path(__file__).parent / case.file).read_text())
    assert case.test in {part.name for part in tree.body if isinstance(part, ast.FunctionDef)}
