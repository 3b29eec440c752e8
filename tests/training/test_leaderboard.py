"""The leaderboard: sizes, one harness for all, and weights that give what was recorded."""

from collections import defaultdict
from functools import cache

import pytest

from gtcourse import DenseLoader, load_dataset
from gtcourse.encodings import encode
from gtcourse.training.fit import count_parameters, evaluate
from gtcourse.training.leaderboard import LEADERBOARD, SIZES, trained
from gtcourse.training.records import recorded
from gtcourse.training.tasks import graph_regression

SEEDS = (0, 1, 2)
KEPT = [
    (run.name.removesuffix("/molecules"), run.seed)
    for name in LEADERBOARD
    if name.endswith("100k")
    for run in recorded(f"{name}/molecules")
    if run.weights
]


@pytest.mark.parametrize("name", LEADERBOARD)
def test_every_model_has_about_its_number_of_parameters(name):
    entry = LEADERBOARD[name]
    count = count_parameters(entry.build_model())
    assert count == pytest.approx(SIZES[entry.size], rel=0.15)
    assert {run.parameters for run in recorded(f"{name}/molecules")} == {count}


def test_all_runs_had_the_same_data_steps_and_harness():
    """The same but for the model and what it reads; every one three times."""
    settings = defaultdict(set)
    for name in LEADERBOARD:
        runs = recorded(f"{name}/molecules")
        assert [run.seed for run in runs] == [*SEEDS]
        for run in runs:
            same = {k: v for k, v in run.config.items() if k not in ("model", "transforms")}
            settings["config"].add(str(same))
            settings["data"].add(str(run.data))
            settings["commit"].add(run.commit)
            assert "+changes" not in run.commit
    assert all(len(values) == 1 for values in settings.values())


@cache
def molecules_of(transforms):
    """The embedded test molecules as a model reads them."""
    return DenseLoader(encode(load_dataset("molecules").test, *transforms), 256)


def test_every_model_has_weights_of_one_run_at_least():
    assert {name for name, _ in KEPT} == {n for n in LEADERBOARD if n.endswith("100k")}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "seed"), KEPT)
def test_the_kept_weights_give_the_recorded_error(name, seed):
    (run,) = (run for run in recorded(f"{name}/molecules") if run.seed == seed)
    loader = molecules_of(LEADERBOARD[name].transforms)
    # Where eigenvalues or singular values coincide, the vectors are any basis of their space; which
    # one depends on the processor and on what else is computed with it, and the error a little.
    bases = name.startswith(("signnet", "egt"))
    scores = evaluate(trained(name, seed), graph_regression(), loader)
    assert scores["mae"] == pytest.approx(run.result["test_mae"], abs=1e-2 if bases else 2e-5)


def test_what_is_not_kept_is_said():
    with pytest.raises(ValueError, match="no weights of 'gin-500k/molecules' with seed 0 are kept"):
        trained("gin-500k", seed=0)
    with pytest.raises(KeyError, match="there is no model 'gin'; expected one of transformer-100k"):
        trained("gin")
    with pytest.raises(KeyError, match="seed is 7; expected one of 0, 1, 2, with which"):
        trained("gin-100k", seed=7)
