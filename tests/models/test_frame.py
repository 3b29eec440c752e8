"""The one form beside every layer that it claims to be."""

from dataclasses import dataclass

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from gtcourse import collate, load_dataset
from gtcourse.encodings import encode
from gtcourse.models import (
    ChromaticSelfAttention,
    EdgeTerms,
    EGTAttention,
    GraphormerAttention,
    GRPEAttention,
    MultiHeadAttention,
    RelationTables,
)
from gtcourse.models.baselines import GatedGCNConv, GATLayer, GINLayer
from gtcourse.models.frame import NORMALISERS, Terms, attend
from gtcourse.models.frame_models import FRAMES
from gtcourse.training.leaderboard import LEADERBOARD
from tests.graphs.random_graphs import graphs
from tests.models.frame_layers import READERS, layer_terms
from tests.models.graphormers import large_weights

CLOSE = {"rtol": 1e-10, "atol": 1e-10}
D, H, D_EDGE, RELATIONS = 6, 3, 4, 5


@dataclass
class Case:
    """A layer with weights, what it is given, and what it returns for the real nodes."""

    layer: nn.Module
    h: Tensor
    pairs: tuple
    options: dict
    expected: Tensor


def transformer(h, adjacency, mask, draw):
    layer = large_weights(MultiHeadAttention(D, H))
    return Case(layer, h, (), {"mask": mask}, layer(h, mask=mask))


def of_lists(layer, h, adjacency, mask):
    """A flat convolution's answer as a padded table."""
    table = torch.zeros_like(h)
    table[mask] = layer(h[mask], edges_of(adjacency, mask))
    return table


def edges_of(adjacency, mask):
    number = mask.flatten().cumsum(0).view_as(mask) - 1
    b, j, i = adjacency.nonzero(as_tuple=True)
    return torch.stack([number[b, j], number[b, i]])


def gin(h, adjacency, mask, draw):
    layer = large_weights(GINLayer(D)).conv
    return Case(layer, h, (adjacency,), {}, of_lists(layer, h, adjacency, mask))


def gat(h, adjacency, mask, draw):
    layer = large_weights(GATLayer(D, H)).conv
    return Case(layer, h, (adjacency,), {}, of_lists(layer, h, adjacency, mask))


def gatedgcn(h, adjacency, mask, draw):
    layer, e = large_weights(GatedGCNConv(D)), draw(*adjacency.shape, D)
    expected = torch.zeros_like(h)
    expected[mask], _ = layer(h[mask], e[adjacency], edges_of(adjacency, mask))
    return Case(layer, h, (e, adjacency), {}, expected)


def graphormer(h, adjacency, mask, draw):
    layer, bias = large_weights(GraphormerAttention(D, H)), draw(len(h), H, *adjacency.shape[1:])
    return Case(layer, h, (bias,), {"mask": mask}, layer(h, bias, mask=mask))


def egt(h, adjacency, mask, draw, **options):
    layer, e = large_weights(EGTAttention(D, D_EDGE, H, **options)), draw(*adjacency.shape, D_EDGE)
    expected, _ = layer(h, e, mask=mask)
    return Case(layer, h, (e,), {"mask": mask}, expected)


def grpe(h, adjacency, mask, draw, key_context="key_column"):
    layer = large_weights(GRPEAttention(D, H, key_context=key_context))
    relation = (draw(*adjacency.shape).abs() * 3).long() % RELATIONS
    tables = RelationTables(*(draw(RELATIONS, D) for _ in range(3)), draw(RELATIONS, H))
    expected = layer(h, relation, tables, mask=mask)
    return Case(layer, h, (relation, tables), {"mask": mask}, expected)


def csa(h, adjacency, mask, draw, weights=D):
    layer = large_weights(ChromaticSelfAttention(D, H))
    edges = EdgeTerms(*(draw(len(h), n, *adjacency.shape[1:]) for n in (weights, D)))
    return Case(layer, h, (edges,), {"mask": mask}, layer(h, edges, mask=mask))


CASES = {
    "Transformer": transformer,
    "GIN": gin,
    "GAT": gat,
    "GatedGCN": gatedgcn,
    "SignNet": gatedgcn,
    "Graphormer": graphormer,
    "EGT": egt,
    "GRPE": grpe,
    "CSA": csa,
}
ROWS = {frame.name: frame for frame in FRAMES}
BY_ENTRY = {name.lower(): frame for name, frame in ROWS.items()}
VARIANTS = [
    *((name, make, {}) for name, make in CASES.items()),
    ("EGT", egt, {"gated": False}),
    ("EGT", egt, {"clip": 0.3, "scaled": False}),
    ("GRPE", grpe, {"key_context": "query_row"}),
    ("CSA", csa, {"weights": H}),
]


def inputs(given_graphs, seed):
    batch, generator = collate(given_graphs), torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(shape, generator=generator).double()

    return draw(*batch.mask.shape, D), batch.adjacency, batch.mask, draw


@pytest.mark.parametrize(("name", "make", "options"), VARIANTS)
@given(
    some=st.lists(graphs(max_nodes=5), min_size=1, max_size=3),
    seed=st.integers(0, 2**31),
)
@torch.no_grad()
def test_the_form_with_a_layers_terms_is_the_layer(name, make, options, some, seed):
    h, adjacency, mask, draw = inputs(some, seed)
    case = make(h, adjacency, mask, draw, **options)
    got = ROWS[name].output(case.layer, case.h, *case.pairs, **case.options)
    torch.testing.assert_close(got[mask], case.expected[mask], **CLOSE)


@pytest.mark.parametrize("normaliser", NORMALISERS)
def test_the_form_equals_the_loop_over_nodes_and_channels(normaliser):
    generator = torch.Generator().manual_seed(0)
    N, C = 4, 2

    def draw(*shape):
        return torch.randn(shape, generator=generator).double()

    heard = draw(1, 1, N, N) > -0.3
    heard[..., 2, :] = False  # a node that hears nobody
    terms = Terms(
        draw(1, C, N, N), draw(1, N, D), draw(1, C, N, N), draw(1, D, N, N),
        draw(1, C, N, N).sigmoid(), heard, normaliser,
    )  # fmt: skip
    z, weights = attend(terms)
    for i in range(N):
        from_whom = [j for j in range(N) if heard[0, 0, i, j]]
        for c in range(D):
            g = c // (D // C)
            s = {j: terms.content[0, g, i, j] + terms.structure[0, g, i, j] for j in from_whom}
            raw = {j: s[j].sigmoid() if normaliser == "gates" else s[j].exp() for j in from_whom}
            over = {"softmax": sum(raw.values()), "sum": 1.0, "gates": sum(raw.values()) + 1e-6}
            a = {j: raw[j] / over[normaliser] * terms.gate[0, g, i, j] for j in from_whom}
            m = {j: terms.value[0, j, c] + terms.pair_value[0, c, i, j] for j in from_whom}
            expected = sum((a[j] * m[j] for j in from_whom), torch.tensor(0.0).double())
            torch.testing.assert_close(z[0, i, c], expected, **CLOSE)
            for j in range(N):
                torch.testing.assert_close(
                    weights[0, g, i, j], a.get(j, torch.tensor(0.0).double()), **CLOSE
                )


@pytest.mark.parametrize("normaliser", NORMALISERS)
def test_a_row_without_keys_gives_zeros_and_finite_gradients(normaliser):
    content = torch.zeros(1, 1, 3, 3, requires_grad=True)
    heard = torch.tensor([[True, True, False], [False] * 3, [True] * 3])
    z, weights = attend(Terms(content, torch.ones(1, 3, 2), heard=heard, normaliser=normaliser))
    assert not z[0, 1].any()
    assert not weights[0, 0, 1].any()
    z.sum().backward()
    assert content.grad.isfinite().all()


MOLECULES = load_dataset("molecules").test[:3]


@pytest.mark.parametrize("name", [name for name in LEADERBOARD if name.endswith("100k")])
def test_a_whole_models_layers_can_be_read_and_give_what_the_layers_give(name):
    entry = LEADERBOARD[name]
    torch.manual_seed(0)
    model = entry.build_model().double().eval()
    batch = collate(encode(MOLECULES, *entry.transforms))
    frame = BY_ENTRY[entry.model]
    returned = []
    for layer in (part for part in model.modules() if type(part) in READERS):
        layer.register_forward_hook(lambda *of_layer: returned.append(of_layer))
    found = layer_terms(model, batch)
    assert len(found) == len(returned) == 4
    for terms, (layer, (h, *_), out) in zip(found, returned, strict=True):
        out = out[0] if isinstance(out, tuple) else out
        z, _ = attend(terms)
        if h.dim() == 2:  # of the real nodes as one list
            got = frame.after(layer, h, z[batch.mask])
        else:
            virtual = h.shape[1] - batch.mask.shape[1]
            real = F.pad(batch.mask, (virtual, 0), value=True)
            got, out = frame.after(layer, h, z)[real], out[real]
        torch.testing.assert_close(got, out, rtol=1e-6, atol=1e-6)
