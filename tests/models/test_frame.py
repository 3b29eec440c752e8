"""The one form beside every layer that it claims to be."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GINConv

from gtcourse import GraphBatch, collate, models
from gtcourse.course.exercises.chapter10 import FRAMES, NORMALISERS, Terms, attend
from gtcourse.models.message_passing import GatedGCNConv
from tests.models.small import encoded
from tests.properties.graphs import examples
from tests.properties.models import MODELS, in_use

CLOSE = {"rtol": 1e-10, "atol": 1e-10}
D = 6
WHOLE_MODELS = [
    ("Transformer", models.MultiHeadAttention, "BagTransformer", "alone"),
    ("GIN", GINConv, "GIN", "walks"),
    ("GAT", GATConv, "GAT", "walks"),
    ("GatedGCN", GatedGCNConv, "GatedGCN", "walks"),
    ("SignNet", GatedGCNConv, "GatedGCN", "signnet"),
    ("Graphormer", models.GraphormerAttention, "Graphormer", "edges of paths"),
    ("EGT", models.EGTAttention, "EGT", "graph"),
    ("EGT", models.EGTAttention, "EGT", "ungated"),
    ("EGT", models.EGTAttention, "EGT", "unscaled"),
    ("GRPE", models.GRPEAttention, "GRPE", "everything"),
    ("GRPE", models.GRPEAttention, "GRPE", "as the authors' code"),
    ("CSA", models.ChromaticSelfAttention, "CGT", "walks"),
    ("CSA", models.ChromaticSelfAttention, "CGT", "monochrome"),
]


@pytest.mark.parametrize(("frame", "kind", "name", "variant"), WHOLE_MODELS)
@torch.no_grad()
def test_unified_form_with_a_layers_terms_equals_the_layer(frame, kind, name, variant):
    (row,) = (row for row in FRAMES if row.name == frame)
    model = in_use(name, variant)
    transforms = MODELS[name].variants[variant].transforms

    @settings(max_examples=10)
    @given(example=examples(max_nodes=6))
    def it_is(example):
        batch = collate(encoded(*example.graphs, encodings=transforms))
        called = calls_of(model, kind, batch)
        assert len(called) == 2
        for layer, args, options, output in called:
            h, *pairs = args
            if h.dim() == 2:  # a list of the real nodes, and one of the edges
                *edges, _ = pairs
                pairs = [*(placed(e, batch.adjacency) for e in edges), batch.adjacency]
                got = row.output(layer, placed(h, batch.mask), *pairs)[batch.mask]
            else:
                real = F.pad(batch.mask, (h.shape[1] - batch.mask.shape[1], 0), value=True)
                got = row.output(layer, h, *pairs, mask=options.get("mask"))[real]
                output = output[real]
            torch.testing.assert_close(got, output, **CLOSE)

    it_is()


def calls_of(model: nn.Module, kind: type[nn.Module], batch: GraphBatch) -> list[tuple]:
    """Each layer of this kind, what it is called with, and what it returns for the nodes."""
    called = []

    def keep(layer, args, options, output):
        output = output[0] if isinstance(output, tuple) else output
        called.append((layer, args, options, output))

    layers = [layer for layer in model.modules() if type(layer) is kind]
    hooks = [layer.register_forward_hook(keep, with_kwargs=True) for layer in layers]
    model(batch)
    for hook in hooks:
        hook.remove()
    return called


def placed(rows: Tensor, mask: Tensor) -> Tensor:
    """Rows at the places where ``mask`` is True, in their order; zeros elsewhere."""
    table = rows.new_zeros(*mask.shape, rows.shape[-1])
    table[mask] = rows
    return table


@pytest.mark.parametrize("normaliser", NORMALISERS)
def test_unified_form_equals_loop(normaliser):
    generator = torch.Generator().manual_seed(0)
    N, C = 4, 2

    def draw(*shape):
        return torch.randn(shape, generator=generator).double()

    mask = draw(1, 1, N, N) > -0.3
    mask[..., 2, :] = False  # a node without keys
    terms = Terms(
        draw(1, C, N, N),
        draw(1, N, D),
        draw(1, C, N, N),
        draw(1, D, N, N),
        draw(1, C, N, N).sigmoid(),
        mask,
        normaliser,
    )
    z, weights = attend(terms)
    for i in range(N):
        keys = [j for j in range(N) if mask[0, 0, i, j]]
        for c in range(D):
            g = c // (D // C)
            s = {j: terms.of_nodes[0, g, i, j] + terms.of_pair[0, g, i, j] for j in keys}
            raw = {j: s[j].sigmoid() if normaliser == "sigmoid_ratio" else s[j].exp() for j in keys}
            total = sum(raw.values())
            over = {"softmax": total, "exp": 1.0, "sigmoid_ratio": total + 1e-6}
            a = {j: raw[j] / over[normaliser] * terms.gate[0, g, i, j] for j in keys}
            m = {j: terms.value[0, j, c] + terms.pair_value[0, c, i, j] for j in keys}
            expected = sum((a[j] * m[j] for j in keys), torch.tensor(0.0).double())
            torch.testing.assert_close(z[0, i, c], expected, **CLOSE)
            for j in range(N):
                torch.testing.assert_close(
                    weights[0, g, i, j], a.get(j, torch.tensor(0.0).double()), **CLOSE
                )
