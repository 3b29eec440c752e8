"""Schedules: the authors' own rates, step by step, in and out of the training loop."""

import math
import random
from pathlib import Path

import numpy as np
import pytest
import torch

from gtcourse.recipes import get_recipe
from gtcourse.train.schedules import warmup_then_cosine, warmup_then_linear

REFERENCE = np.load(Path(__file__).parents[1] / "reference" / "lr_schedule.npz")
SMALL = REFERENCE["small_warmup5_total20_peak2e4_end1e9"]


def sgd(rate: float) -> torch.optim.SGD:
    return torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], rate)


def rates_at(schedule, steps):
    """The rate at the optimiser's steps, without walking through all of them."""
    return [schedule.base_lrs[0] * schedule.lr_lambdas[0](int(step) - 1) for step in steps]


@pytest.mark.parametrize("warmup", [5, 0.25])
def test_warmup_then_linear_equals_the_authors_schedule(warmup):
    optimizer = sgd(2e-4)
    schedule = warmup_then_linear(optimizer, 20, warmup=warmup)
    rates = []
    for _ in SMALL:
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    np.testing.assert_allclose(rates, SMALL, rtol=1e-12, atol=0)


@pytest.mark.parametrize("warmup", [2, 0.25])
def test_warmup_then_cosine_equals_hand_computed_rates(warmup):
    """Six steps of decay: the half cosine turns by 30 degrees a step, the quarter by 15."""
    steps = range(1, 11)
    root = math.sqrt(3)
    half = warmup_then_cosine(sgd(0.2), 8, warmup=warmup)
    turned = [(1 + root / 2) / 2, 0.75, 0.5, 0.25, (1 - root / 2) / 2, 0.0]
    expected = [0.5, 1.0, *turned, 0.0, 0.0]
    assert rates_at(half, steps) == pytest.approx([0.2 * r for r in expected], abs=1e-16)
    quarter = warmup_then_cosine(sgd(0.2), 8, warmup=warmup, quarter=True)
    flat = (math.sqrt(6) + math.sqrt(2)) / 4
    steep = (math.sqrt(6) - math.sqrt(2)) / 4
    turned = [flat, root / 2, math.sqrt(0.5), 0.5, steep, 0.0]
    expected = [0.5, 1.0, *turned, 0.0, 0.0]
    assert rates_at(quarter, steps) == pytest.approx([0.2 * r for r in expected], abs=1e-16)


@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize(
    ("name", "waits", "threshold", "least"),
    [("gin/cycles", 11, 1e-4, 0.0), ("egt-100k/zinc", 20, 0.0, 5e-6)],
)
def test_the_rate_is_halved_at_the_epochs_of_the_authors_loops(name, waits, threshold, least, mode):
    """A loss in 400 epochs: lower and lower, with noise, and sometimes lower by next to nothing."""
    generator = random.Random(0)
    scores = []
    for epoch in range(400):
        score = 0.2 + 0.5 / (1 + epoch / 5) + 0.02 * generator.random()
        scores.append(min(scores) * (1 - 5e-5) if epoch % 60 == 59 else score)
    optimizer = sgd(5e-4)
    build = get_recipe(name).schedule
    schedule = build.func(optimizer, 1, patience=build.keywords["patience"], mode=mode)
    best = None
    waited = 0
    rate = 5e-4
    for score in scores if mode == "min" else [1 - score for score in scores]:
        enough = best and (best * (1 - threshold) if mode == "min" else best * (1 + threshold))
        if best is None or (score < enough if mode == "min" else score > enough):
            best = score
            waited = 0
        else:
            waited += 1
        if waited == waits:
            rate = max(rate / 2, least)
            waited = 0
        schedule.step(score)
        assert optimizer.param_groups[0]["lr"] == pytest.approx(rate, rel=1e-12)
        if rate < 1e-6:  # where the runs end
            break
    assert rate < 1e-4
