"""A step's costs as formulas: they are what the counter counts, at sizes it never saw."""

import pytest
import torch
from torch import nn

from experiments.chapter12 import NAMES, step_formula
from gtcourse import collate, load_dataset
from gtcourse.encodings import AddShortestPaths, encode
from gtcourse.models import Graphormer, GraphormerConfig
from gtcourse.training.costs import StepFormula, recorded_formulas, step_costs, stretched
from gtcourse.training.leaderboard import LEADERBOARD
from gtcourse.training.tasks import graph_regression


def batch_of(*transforms):
    return collate(encode(load_dataset("molecules").test[:2], *transforms))


class Quadratic(nn.Module):
    """Keeps N² numbers a graph, and has one product, of [N, 1] and [1, N]."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, batch):
        nodes = batch.mask.float()[..., None] * self.scale  # [B, N, 1]
        return (nodes @ nodes.mT).exp().sum(dim=(1, 2))


@pytest.mark.slow
def test_the_products_of_a_model_that_is_small_enough_to_count_by_hand():
    # Forward N² multiplications and additions, backward as many for each of the two factors.
    formula = step_formula(Quadratic(), graph_regression(), batch_of())
    assert formula.flops == (0.0, 0.0, 6.0)
    assert formula.products(5, 10) == 5 * 600
    assert formula.parameters == formula.gradients == 4
    # The exponential is kept, and its gradient made beside it: at least eight bytes a pair.
    assert formula.held(1, 1000) > 8 * 1000**2


def test_the_largest_moment_counts():
    formula = StepFormula(1, 2, 3, (0.0, 0.0, 1.0), ((100.0, 0.0, 0.0), (0.0, 0.0, 4.0)))
    assert formula.held(1, 4) == 100
    assert formula.held(3, 10) == 1200
    assert formula.memory(3, 10) == 1206


@pytest.fixture(scope="module")
def small():
    """A model, a batch of its and its formula."""
    config = GraphormerConfig(d_model=16, num_heads=4, num_layers=1, centrality=False, edges=None)
    model, batch = Graphormer(config), batch_of(AddShortestPaths())
    return model, batch, step_formula(model, graph_regression(), batch)


@pytest.mark.slow
@pytest.mark.parametrize("nodes", [9, 40, 700])
def test_at_another_size_the_formula_is_what_the_counter_counts(nodes, small):
    model, batch, formula = small
    counted = step_costs(model, graph_regression(), stretched(batch, 32, nodes))
    assert formula.parameters == counted.parameters
    assert formula.optimizer == counted.optimizer
    assert formula.products(32, nodes) == pytest.approx(counted.flops, rel=1e-3)
    assert formula.held(32, nodes) == pytest.approx(counted.activations, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_what_is_recorded_is_what_the_counter_counts_today(name):
    entry, formula = LEADERBOARD[name], recorded_formulas()[name]
    for graphs, nodes in ((4, 21), (64, 150)):
        batch = stretched(batch_of(*entry.transforms), graphs, nodes)
        counted = step_costs(entry.build_model(), graph_regression(), batch)
        assert formula.parameters == counted.parameters
        assert formula.gradients == counted.gradients
        assert formula.optimizer == counted.optimizer
        assert formula.products(graphs, nodes) == pytest.approx(counted.flops, rel=1e-3)
        # CSA works on blocks of a fixed size, which the formula takes for a share of the whole.
        assert formula.held(graphs, nodes) == pytest.approx(counted.activations, rel=0.02)
