"""What a step costs: counted as by hand and as the profiler sees it, as formulas, and measured."""

import copy
import re

import pytest
import torch
from torch import nn

from experiments.chapter12 import NAMES
from gtcourse.course import costs
from gtcourse.course.costs import StepFormula, measure, recorded_formulas, step_costs, stretched
from gtcourse.course.leaderboard import LEADERBOARD
from gtcourse.encodings import encode
from gtcourse.graphs import collate
from gtcourse.recipes import get_recipe
from gtcourse.train.costs import kept_bytes
from gtcourse.train.tasks import graph_regression
from speed.measure import peak_of, traced
from tests.graphs.small import graph_of
from tests.train.tiny_data import tiny

TASK = graph_regression()
DENSE = ["transformer-100k", "graphormer-100k", "egt-100k", "grpe-100k", "csa-100k"]
LISTS = ["gin-100k", "gat-100k", "gatedgcn-100k", "signnet-100k"]


class Perceptron(nn.Module):
    """x W₁ᵀ, its absolute value, w₂ᵀ: small enough to count by hand."""

    def __init__(self, inputs: int, hidden: int):
        super().__init__()
        self.first = nn.Linear(inputs, hidden, bias=False)
        self.last = nn.Linear(hidden, 1, bias=False)

    def forward(self, batch):
        return self.last(self.first(batch.x.float()).abs()).squeeze(-1).sum(dim=1)


def batch_for(entry, count: int = 3):
    return collate(encode(tiny("zinc", count).train, *entry.transforms))


def test_the_costs_of_a_perceptrons_step_equal_those_counted_by_hand():
    """Rows B N = 12, 5 inputs, 7 hidden: three products forward and back, none for the inputs."""
    batch = collate([graph_of(4, []) for _ in range(3)])
    batch.x = batch.x.expand(-1, -1, 5)
    costs = step_costs(Perceptron(5, 7), TASK, batch)
    first = 2 * 12 * 5 * 7
    last = 2 * 12 * 7 * 1
    assert costs.flops == 2 * first + 3 * last
    assert costs.parameters == costs.gradients == 4 * (5 * 7 + 7)
    assert costs.optimizer == 2 * costs.parameters + 2 * 4  # two moments, and a counter for each
    # For the way back: inputs as floats, the product before its absolute value, and after it.
    assert costs.kept >= 4 * 12 * (5 + 7 + 7)
    assert costs.memory == costs.parameters * 2 + costs.optimizer + costs.activations


@pytest.mark.parametrize("name", [*DENSE, *LISTS])
def test_counted_memory_agrees_with_the_profiler(name):
    entry = LEADERBOARD[name]
    model = entry.build_model()
    batch = batch_for(entry).select(torch.arange(48) % 2)
    costs = step_costs(model, TASK, batch)
    other = copy.deepcopy(model)
    seen = peak_of(traced(lambda: TASK.loss(other(batch), batch).backward()))
    # At its highest some gradients may be there already; an operator may take some for itself.
    assert 0.95 * (seen - costs.gradients) <= costs.activations <= 1.02 * seen


@pytest.mark.parametrize("name", DENSE)
def test_operations_counted_on_the_meta_device_equal_those_of_a_real_step(name):
    model = LEADERBOARD[name].build_model().eval()
    batch = batch_for(LEADERBOARD[name], count=1)
    batch = batch.select(torch.tensor([0, 0]))  # no padding, which lists of pairs leave out
    real, counted = (step_costs(model, TASK, b) for b in (batch, batch.to("meta")))
    if name != "transformer-100k":  # whose fused kernel counts its products in another way
        assert counted.flops == real.flops
    assert counted.parameters == real.parameters
    assert counted.optimizer == real.optimizer
    assert kept_bytes(model, TASK, batch.to("meta")) == counted.kept
    assert not model.training


# As formulas, at sizes that the counter never saw.


def test_memory_is_that_of_the_largest_moment_of_a_step():
    formula = StepFormula(1, 2, 3, (0.0, 0.0, 1.0), ((100.0, 0.0, 0.0), (0.0, 0.0, 4.0)))
    assert formula.held(1, 4) == 100
    assert formula.held(3, 10) == 1200
    assert formula.memory(3, 10) == 1206


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_recorded_cost_formulas_equal_the_counter(name, molecules):
    entry = LEADERBOARD[name]
    formula = recorded_formulas()[name]
    few = collate(encode(molecules.test[:2], *entry.transforms))
    sizes = [(4, 21), (64, 150)] if "100k" in name else [(64, 150)]
    for graphs, nodes in sizes:
        counted = step_costs(entry.build_model(), TASK, stretched(few, graphs, nodes))
        for part in ("parameters", "gradients", "optimizer"):
            assert getattr(formula, part) == getattr(counted, part)
        assert formula.products(graphs, nodes) == pytest.approx(counted.flops, rel=1e-3)
        # CSA works on blocks of a fixed size, which the formula takes for a share of the whole.
        assert formula.held(graphs, nodes) == pytest.approx(counted.activations, rel=0.02)


# Measured; how fast is not a matter of tests.


def test_memory_is_that_of_a_full_batch_also_if_the_last_one_is_small(monkeypatch):
    counted = []

    def count(model, task, batch):
        counted.append(batch.num_graphs)
        return step_costs(model, task, batch)

    monkeypatch.setattr(costs, "step_costs", count)
    recipe = get_recipe("gin-100k/zinc").at(epochs=10, batch_size=5)
    for steps in (1, 2, 3):  # after which an epoch of 5 graphs and 1, in any order, begins
        measure(recipe, tiny("zinc", 6), steps=steps)
    assert counted == [5, 5, 5]


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_step_forward_pass_epoch_and_memory_are_measured(precision):
    recipe = get_recipe("gin-100k/zinc").at(epochs=10, batch_size=8)
    measured = measure(recipe, tiny("zinc", 24), steps=1, precision=precision)
    assert [*measured] == [
        "device",
        "step",
        "forward",
        "graphs per second",
        "epoch",
        "whole recipe",
        "peak memory",
    ]
    step, forward = (float(measured[name].split()[0]) for name in ("step", "forward"))
    assert forward > 0
    assert measured["step"].endswith("ms of 8 graphs")
    batches = int(re.search(r"of (\d+) steps", measured["epoch"])[1])
    epoch = float(measured["epoch"].split()[0])
    assert epoch == pytest.approx(batches * step / 1000, abs=0.01)
