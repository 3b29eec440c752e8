"""A bias written out and one inside of the kernel are one attention; nothing is compiled."""

import pytest
import torch
from torch.nn.attention.flex_attention import flex_attention

from benchmarks import flex
from benchmarks.flex import INSIDE, WRITTEN, case, measure
from gtcourse import load_dataset

pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")


@pytest.fixture
def given(monkeypatch):
    monkeypatch.setattr(flex, "PAIRS", 2 * 20**2)
    return case(load_dataset("molecules"), 20)


@pytest.mark.parametrize("model", ["graphormer", "grpe"])
def test_both_ways_are_the_same_function(model, given):
    assert given.query.shape == (2, 8, 20, 8)
    assert given.distance.max() > 5
    steps = given.steps(model, flex_attention)
    torch.testing.assert_close(steps[INSIDE](), steps[WRITTEN](), rtol=1e-4, atol=1e-5)


def test_a_small_comparison_without_the_compiler(monkeypatch):
    monkeypatch.setattr(flex, "PAIRS", 12**2)
    content = measure(2, (12,), inside=flex_attention)
    assert [(part["model"], part["nodes"], part["graphs"]) for part in content["sizes"]] == [
        ("graphormer", 12, 1),
        ("grpe", 12, 1),
    ]
    for part in content["sizes"]:
        assert [row["method"] for row in part["compared"]] == [WRITTEN, INSIDE]
