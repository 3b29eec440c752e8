"""Every attention and every model in the three precisions stays within its bound of float64."""

import pytest
import torch

from tests.numerics import precision
from tests.numerics.attentions import ATTENTIONS
from tests.numerics.roundings import Results, constant, measured
from tests.numerics.whole import WHOLE

SMALL = "40 nodes, d = 16"


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile:UserWarning")
@pytest.mark.parametrize("name", ATTENTIONS)
def test_an_attention_stays_within_its_bound_of_float64(name):
    for dtype, outputs in precision.attention(name, SMALL).items():
        for output in outputs:
            assert output.finite, dtype
            assert output.share <= 1, dtype


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("wide", [False, True], ids=["small", "one wide layer"])
def test_a_model_stays_within_its_bound_of_float64(name, wide):
    for dtype, output in precision.model(name, 40, wide).items():
        assert output.finite, dtype
        assert output.share <= 1, dtype


def test_the_bound_of_a_product_is_that_of_its_three_roundings():
    a, b = (torch.tensor([x], dtype=torch.float64, requires_grad=True) for x in (3.0, 5.0))
    half = torch.tensor([15.5], dtype=torch.bfloat16)
    (found,) = measured(lambda: (a * b,), [a, b], (half,), torch.bfloat16, 1)
    assert found.error == pytest.approx(0.5 / 15)
    assert found.bound == pytest.approx(4 * 2**-8 * 3**0.5)
    assert found.share == pytest.approx(found.error / found.bound)


def test_an_error_beyond_rounding_breaks_the_bound():
    """One head's scale forgotten, which a tolerance of a tenth would let pass."""
    torch.manual_seed(0)
    case = ATTENTIONS["multi-head"].build(precision.Graphs(**precision.SIZES[SMALL]))
    leaves = [t.requires_grad_() for t in (*case.inputs, *case.parameters())]
    with torch.no_grad():
        got = [t.detach() * 1.1 for t in case(*case.inputs)]
    found = measured(lambda: case(*case.inputs), leaves, got, torch.bfloat16, 40)
    assert found[0].share > 1


def test_a_fused_product_counts_the_roundings_of_its_parts():
    q, k, v = (torch.randn(1, 3, 2).double().requires_grad_() for _ in range(3))
    with Results() as fused:
        torch.nn.functional.scaled_dot_product_attention(q, k, v)
    assert len(fused.found) >= 3  # logits, weights, sums


def test_float32_sums_round_more_often_the_longer_they_are():
    assert constant(torch.bfloat16, 768) == constant(torch.float16, 16) == 4
    assert constant(torch.float32, 16) == pytest.approx(4 * 2**0.5)
    assert constant(torch.float32, 768) == pytest.approx(28)
