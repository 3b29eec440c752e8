"""Attention at the ends of what a dtype holds: results and gradients are numbers."""

import math

import pytest
import torch

from tests.numerics.attentions import ATTENTIONS
from tests.numerics.cases import Graphs

SIZE = {"sizes": (8, 5), "d": 8}
DTYPES = [torch.float32, torch.bfloat16, torch.float16]
WITHOUT_DENOMINATOR = {"form, sum", "form of GIN", "GIN"}
"""Sums of exponentials, or over nodes: they grow with what is given."""
OVERFLOWS = {"GatedGCN", "form of GatedGCN", "form, gates"}
"""In float16 alone: where all gates are shut, the gradient of a division by 1e-6 is no number."""
LOGITS = {
    "products, fused": 3,
    "products, written out": 3,
    "multi-head, padded": 1,
    "multi-head, some pairs": 1,
    "multi-head, written out": 1,
    "Graphormer": 1,
    "Graphormer, written out": 1,
    "Graphormer, edges' values": 1,
    "CSA": 1,
    "CSA, no edge values": 1,
    "CSA, direct": 1,
    "CSA, chunked": 1,
    "CSA, additive": 1,
    "CSA, monochrome": 1,
    "form of Graphormer": 1,
}
"""Which input is added to the logits and may be -inf."""


def all_are_numbers(name: str, dtype: torch.dtype, change) -> bool:
    """``change`` makes of the index and the tensor of an input what is given instead."""
    torch.manual_seed(0)
    case = ATTENTIONS[name].build(Graphs(**SIZE))
    given = [change(k, t).to(dtype).requires_grad_() for k, t in enumerate(case.inputs)]
    outputs = case.to(dtype)(*given)
    torch.stack([y.float().sum() for y in outputs]).sum().backward()
    gradients = [t.grad for t in (*given, *case.parameters()) if t.grad is not None]
    assert gradients
    return all(bool(t.isfinite().all()) for t in (*outputs, *gradients))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", [name for name in ATTENTIONS if name not in WITHOUT_DENOMINATOR])
def test_scores_of_a_thousand_either_way_give_numbers(request, name, dtype):
    """Queries and keys of size 30, biases of size 1000."""
    if name in OVERFLOWS and dtype == torch.float16:
        request.applymarker(pytest.mark.xfail(strict=True, reason="float16 ends at 65504"))
    assert all_are_numbers(
        name, dtype, lambda k, t: t * 30 if k != LOGITS.get(name) else t.sign() * 1000
    )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ATTENTIONS)
def test_scores_that_are_all_equal_give_numbers(name, dtype):
    assert all_are_numbers(name, dtype, lambda k, t: torch.ones_like(t))
    assert all_are_numbers(name, dtype, lambda k, t: torch.zeros_like(t))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ATTENTIONS)
def test_numbers_below_the_normal_ones_give_numbers(name, dtype):
    tiny = torch.finfo(dtype).tiny / 8
    assert all_are_numbers(name, dtype, lambda k, t: t * tiny)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", LOGITS)
def test_logits_of_minus_infinity_give_numbers(name, dtype):
    """For half of the pairs, but never for all that a row has."""
    pairs = Graphs(**SIZE).pairs[:, None]
    one = torch.zeros_like(pairs).scatter(-1, pairs.int().argmax(dim=-1, keepdim=True), True)

    def change(k, t):
        if k != LOGITS[name]:
            return t
        hidden = torch.rand(t.shape, generator=torch.Generator().manual_seed(1)) < 0.5
        return t.masked_fill(hidden & ~one, -math.inf)

    assert all_are_numbers(name, dtype, change)
