"""What a recipe's step takes is measured in every part; how fast is not a matter of tests."""

import re

import pytest

from gtcourse.recipes import get_recipe
from gtcourse.training.costs import measure
from tests.training.tiny_data import tiny


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_step_forward_pass_epoch_and_memory_are_measured(precision):
    recipe = get_recipe("gin-100k/zinc").at(epochs=10, batch_size=8)
    measured = measure(recipe, tiny("zinc", 24), steps=1, precision=precision)
    assert [*measured] == [
        "device", "step", "forward", "graphs per second", "epoch", "whole recipe", "peak memory",
    ]  # fmt: skip
    step, forward = (float(measured[name].split()[0]) for name in ("step", "forward"))
    assert forward > 0
    assert measured["step"].endswith("ms of 8 graphs")
    batches = int(re.search(r"of (\d+) steps", measured["epoch"])[1])
    epoch = float(measured["epoch"].split()[0])
    assert epoch == pytest.approx(batches * step / 1000, abs=0.01)


def test_no_steps_are_refused():
    with pytest.raises(ValueError, match="steps is 0; expected a whole number, 1 or more"):
        measure(get_recipe("gin-100k/zinc"), tiny("zinc", 24), steps=0)
