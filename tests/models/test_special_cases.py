"""Which layer contains which, by weights that are set by hand."""

import ast
import math
from pathlib import Path

import pytest
import torch
from torch import nn

from gtcourse.course.exercises.chapter10 import SPECIAL_CASES
from gtcourse.models import (
    ChromaticSelfAttention,
    EdgeTerms,
    EGTAttention,
    GraphormerAttention,
    GRPEAttention,
    MultiHeadAttention,
    RelationTables,
)
from gtcourse.models.message_passing import GatedGCNConv, GATLayer
from tests.models.small import draw, large_weights, with_weights_of

CLOSE = {"rtol": 1e-10, "atol": 1e-10}
B = 2
N = 5
D = 8
H = 2
T = 4
K = D // H
MASK = torch.tensor([[True] * N, [True] * 3 + [False] * 2])
(X,) = draw((B, N, D))
RELATION = torch.randint(0, T, (B, N, N), generator=torch.Generator().manual_seed(1))
# A path, and node 4 alone; every node is beside itself.
NEIGHBOURS = torch.eye(N).bool()
NEIGHBOURS[[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]] = True
EDGES = NEIGHBOURS.nonzero().T  # the relation is symmetric
NEIGHBOURS = NEIGHBOURS.expand(B, N, N)


def test_graphormer_without_a_bias_is_multi_head_attention():
    layer = large_weights(GraphormerAttention(D, H))
    plain = with_weights_of(layer, MultiHeadAttention(D, H))
    for bias in (None, torch.zeros(B, H, N, N).double()):
        torch.testing.assert_close(layer(X, bias, mask=MASK), plain(X, mask=MASK), **CLOSE)


def test_a_bias_of_minus_infinity_masks_all_but_neighbours():
    layer = large_weights(GraphormerAttention(D, H))
    plain = with_weights_of(layer, MultiHeadAttention(D, H))
    bias = NEIGHBOURS.double().log()[:, None].expand(-1, H, -1, -1)
    torch.testing.assert_close(layer(X, bias), plain(X, mask=NEIGHBOURS), **CLOSE)


def test_equal_logits_on_neighbours_give_their_mean():
    layer = large_weights(MultiHeadAttention(D, H))
    for projection in (layer.query, layer.key):
        projection.weight.data.zero_()
    for projection in (layer.value, layer.output):
        projection.weight.data = torch.eye(D).double()
        projection.bias.data.zero_()
    torch.testing.assert_close(layer(X, mask=NEIGHBOURS), means(X), **CLOSE)


def test_csa_with_a_scalar_and_vector_for_each_relation_equals_grpe_without_contexts():
    csa = large_weights(ChromaticSelfAttention(D, H))
    scalars, vectors = draw((T, H), (T, D))
    grpe = with_weights_of(csa, GRPEAttention(D, H))
    edges = EdgeTerms(*(table[RELATION].permute(0, 3, 1, 2) for table in (scalars, vectors)))
    expected = grpe(X, RELATION, RelationTables(value=vectors, bias=scalars), mask=MASK)
    torch.testing.assert_close(csa(X, edges, mask=MASK), expected, **CLOSE)


def test_egt_without_gate_and_clip_equals_graphormers_bias():
    """As EGT-Simple reads a pair's vector: as it is, here one-hot of a table's row."""
    graphormer = large_weights(GraphormerAttention(D, H))
    (scalars,) = draw((T, H))
    egt = EGTAttention(D, T, H, gated=False, clip=math.inf).double().eval()
    for name in ("query", "key", "value", "output"):
        getattr(egt, name).load_state_dict(getattr(graphormer, name).state_dict())
    egt.edge_bias.weight.data = scalars.T.clone()
    egt.edge_bias.bias.data.zero_()
    expected = graphormer(X, scalars[RELATION].permute(0, 3, 1, 2), mask=MASK)
    z, _ = egt(X, nn.functional.one_hot(RELATION, T).double(), mask=MASK)
    torch.testing.assert_close(z[MASK], expected[MASK], **CLOSE)


def test_egt_with_open_gates_is_egt_u():
    gated = large_weights(EGTAttention(D, T, H))
    ungated = large_weights(EGTAttention(D, T, H, gated=False))
    for name in ("query", "key", "value", "edge_bias", "output"):
        getattr(ungated, name).load_state_dict(getattr(gated, name).state_dict())
    gated.edge_gate.weight.data.zero_()
    gated.edge_gate.bias.data.fill_(40.0)  # σ(40) is 1 up to 4e-18
    (e,) = draw((B, N, N, T))
    for got, expected in zip(gated(X, e, mask=MASK), ungated(X, e, mask=MASK), strict=True):
        torch.testing.assert_close(got, expected, **CLOSE)


def in_reserved_channels(layer: GRPEAttention, scalars: torch.Tensor) -> torch.Tensor:
    """A table ``[T, D]`` whose query context is the scalars ``[T, H]``.

    In the last channel of each head, the layer's queries become 1 and its keys 0.
    """
    reserved = [head * K + K - 1 for head in range(H)]
    for projection, value in ((layer.query, 1.0), (layer.key, 0.0)):
        projection.weight.data[reserved] = 0.0
        projection.bias.data[reserved] = value
    table = torch.zeros(T, D).double()
    table[:, reserved] = scalars * math.sqrt(K)
    return table


def test_grpe_with_one_reserved_channel_in_each_head_equals_graphormer():
    layer = large_weights(GRPEAttention(D, H))
    (scalars,) = draw((T, H))
    table = in_reserved_channels(layer, scalars)
    graphormer = with_weights_of(layer, GraphormerAttention(D, H))
    bias = scalars[RELATION].permute(0, 3, 1, 2)
    got = layer(X, RELATION, RelationTables(key=table), mask=MASK)
    torch.testing.assert_close(got, graphormer(X, bias, mask=MASK), **CLOSE)


def test_grpe_with_one_reserved_channel_equals_a_scalar_and_a_vector_for_each_relation():
    """The channel gives the scalar, so that the contexts are enough for it; the values stay."""
    layer = large_weights(GRPEAttention(D, H))
    scalars, vectors = draw((T, H), (T, D))
    table = in_reserved_channels(layer, scalars)
    expected = layer(X, RELATION, RelationTables(value=vectors, bias=scalars), mask=MASK)
    got = layer(X, RELATION, RelationTables(key=table, value=vectors), mask=MASK)
    torch.testing.assert_close(got, expected, **CLOSE)


@pytest.mark.parametrize("of_sender", [0.0, 1.0])
def test_gat_whose_logits_are_equal_gives_the_mean_of_the_neighbours(of_sender):
    conv = large_weights(GATLayer(D, H)).conv
    conv.lin.weight.data = torch.eye(D).double()
    conv.att_dst.data.zero_()
    conv.att_src.data.zero_()
    conv.att_src.data[..., 0] = of_sender  # equal for all senders only if it is zero
    got = torch.stack([conv(h, EDGES) for h in X])
    assert torch.allclose(got, means(X), **CLOSE) is (of_sender == 0.0)


@pytest.mark.parametrize("of_sender", [0.0, 1.0])
def test_gatedgcn_whose_logits_are_equal_gives_the_mean_of_the_neighbours(of_sender):
    conv = large_weights(GatedGCNConv(D))
    for linear in (conv.A, conv.B, conv.C, conv.D, conv.E):
        linear.weight.data.zero_()
        linear.bias.data.zero_()
    conv.B.weight.data = torch.eye(D).double()
    conv.D.weight.data = of_sender * torch.eye(D).double()
    (e,) = draw((EDGES.shape[1], D))
    got = torch.stack([conv(h, e, EDGES)[0] for h in X])
    assert torch.allclose(got, means(X), rtol=0, atol=1e-5) is (of_sender == 0.0)


def means(x: torch.Tensor) -> torch.Tensor:
    """The mean over each node's neighbours, ``[B, N, D]``."""
    return torch.stack([torch.stack([h[near].mean(0) for near in NEIGHBOURS[0]]) for h in x])


def test_grpe_with_a_scalar_for_each_relation_equals_graphormers_bias():
    layer, (scalars,) = large_weights(GRPEAttention(D, H)), draw((T, H))
    graphormer = with_weights_of(layer, GraphormerAttention(D, H))
    expected = graphormer(X, scalars[RELATION].permute(0, 3, 1, 2), mask=MASK)
    for vectors in (None, torch.zeros(T, D).double()):
        got = layer(X, RELATION, RelationTables(value=vectors, bias=scalars), mask=MASK)
        torch.testing.assert_close(got, expected, **CLOSE)


@pytest.mark.parametrize("case", SPECIAL_CASES, ids=lambda case: case.test)
def test_every_listed_special_case_names_an_existing_test(case):
    tree = ast.parse((Path(__file__).parent / case.file).read_text())
    assert case.test in {part.name for part in tree.body if isinstance(part, ast.FunctionDef)}
