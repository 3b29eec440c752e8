"""A step's costs as formulas: they are what the counter counts, at sizes it never saw."""

import pytest

from experiments.chapter12 import NAMES
from gtcourse import collate, load_dataset
from gtcourse.encodings import encode
from gtcourse.training.costs import StepFormula, recorded_formulas, step_costs, stretched
from gtcourse.training.leaderboard import LEADERBOARD
from gtcourse.training.tasks import graph_regression


def batch_of(*transforms):
    return collate(encode(load_dataset("molecules").test[:2], *transforms))


def test_the_largest_moment_counts():
    formula = StepFormula(1, 2, 3, (0.0, 0.0, 1.0), ((100.0, 0.0, 0.0), (0.0, 0.0, 4.0)))
    assert formula.held(1, 4) == 100
    assert formula.held(3, 10) == 1200
    assert formula.memory(3, 10) == 1206


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
