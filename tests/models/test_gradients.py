"""Gradients of each attention beside finite differences, in float64, with masked keys."""

import pytest
import torch
from torch.autograd import gradcheck

from gtcourse.models import (
    ChromaticSelfAttention,
    EdgeTerms,
    EGTAttention,
    GraphormerAttention,
    GRPEAttention,
    MultiHeadAttention,
    RelationTables,
)
from tests.models.graphormers import large_weights

B, N, D, H = 2, 3, 4, 2
MASK = torch.tensor([[True, True, True], [True, True, False]])
RELATION = torch.arange(N * N).view(1, N, N).expand(B, N, N) % 4
CASES = {
    "multi-head": (MultiHeadAttention(D, H), lambda m, h: m(h, mask=MASK)),
    "Graphormer": (GraphormerAttention(D, H), lambda m, h, b: m(h, b, mask=MASK), (B, H, N, N)),
    "EGT": (EGTAttention(D, 3, H), lambda m, h, e: m(h, e, mask=MASK), (B, N, N, 3)),
    "EGT, degree scaler": (
        EGTAttention(D, 3, H, degree_scaler=True),
        lambda m, h, e: m(h, e, mask=MASK),
        (B, N, N, 3),
    ),
    "GRPE": (
        GRPEAttention(D, H),
        lambda m, h, *tables: m(h, RELATION, RelationTables(*tables), mask=MASK),
        *[(4, D)] * 3,
    ),
    **{
        f"CSA, {form}": (
            ChromaticSelfAttention(D, H, form=form),
            lambda m, h, *terms: m(h, EdgeTerms(*terms), mask=MASK),
            *[(B, D, N, N)] * 2,
        )
        for form in ("direct", "factorised", "chunked")
    },
}


@pytest.mark.parametrize("name", CASES)
def test_gradients_of_inputs_are_those_of_differences(name):
    module, call, *shapes = CASES[name]
    module = large_weights(module)
    torch.manual_seed(0)
    given = [torch.randn(s).double().requires_grad_() for s in ((B, N, D), *shapes)]
    assert gradcheck(lambda *inputs: call(module, *inputs), given)
