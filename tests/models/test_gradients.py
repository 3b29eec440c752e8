"""Gradients of each attention, beside differences and without keys; each model's dropouts."""

from dataclasses import replace

import pytest
import torch
from torch.autograd import gradcheck

from gtcourse import collate, models
from tests.graphs.small import graph_of
from tests.models import small
from tests.models.small import encoded, large_weights

B = 2
N = 3
D = 4
H = 2
MASK = torch.tensor([[True, True, True], [True, True, False]])
RELATION = torch.arange(N * N).view(1, N, N).expand(B, N, N) % 4
CASES = {
    "multi-head": (models.MultiHeadAttention(D, H), lambda m, mask, h: m(h, mask=mask)),
    "Graphormer": (
        models.GraphormerAttention(D, H),
        lambda m, mask, h, b: m(h, b, mask=mask),
        (B, H, N, N),
    ),
    "EGT": (models.EGTAttention(D, 3, H), lambda m, mask, h, e: m(h, e, mask=mask), (B, N, N, 3)),
    "GRPE": (
        models.GRPEAttention(D, H),
        lambda m, mask, h, *tables: m(h, RELATION, models.RelationTables(*tables), mask=mask),
        *[(4, D)] * 3,
    ),
    **{
        f"CSA, {form}": (
            models.ChromaticSelfAttention(D, H, form=form),
            lambda m, mask, h, *terms: m(h, models.EdgeTerms(*terms), mask=mask),
            *[(B, D, N, N)] * 2,
        )
        for form in ("direct", "factorised", "chunked")
    },
}


@pytest.mark.parametrize("name", CASES)
def test_input_gradients_equal_finite_differences(name):
    module, call, given = attention_and_inputs(name)
    assert gradcheck(lambda *inputs: call(module, MASK, *inputs), given)


@pytest.mark.parametrize("name", CASES)
def test_fully_masked_rows_give_zeros_and_finite_gradients(name):
    module, call, given = attention_and_inputs(name)
    module.output.bias.data.zero_()
    result = call(module, torch.tensor([[True, True, False], [False] * 3]), *given)
    z = result[0] if isinstance(result, tuple) else result
    assert not z[1].any()
    assert z[0, :2].all()
    for gradient in torch.autograd.grad(z.sum(), given):
        assert gradient.isfinite().all()


def attention_and_inputs(name: str) -> tuple:
    module, call, *shapes = CASES[name]
    torch.manual_seed(0)
    given = [torch.randn(s).double().requires_grad_() for s in ((B, N, D), *shapes)]
    return large_weights(module), call, given


DROPOUTS = [
    (models.Graphormer, small.GRAPHORMER, ("dropout", "attention_dropout", "input_dropout")),
    (models.EGT, small.EGT, ("node_dropout", "edge_dropout")),
    (models.GRPE, small.GRPE, ("dropout", "attention_dropout")),
]


@pytest.mark.parametrize(("kind", "config", "names"), DROPOUTS)
def test_each_dropout_acts_only_in_training(kind, config, names):
    batch = collate(encoded(graph_of(4, [(0, 1), (1, 2)])))
    for name in names:
        model = large_weights(kind(replace(config, **{name: 0.5})))
        assert torch.equal(model(batch), model(batch))
        model.train()
        assert not torch.equal(model(batch), model(batch))
