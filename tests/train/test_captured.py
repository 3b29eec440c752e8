"""A run that goes on with captured steps ends where ``gtcourse train`` would have taken it."""

import math
from dataclasses import replace
from functools import partial
from shutil import copytree

import pytest
import torch

from experiments.captured import PaddedData, Run, run_until, take_turns
from gtcourse.graphs.dataset import GraphDataset
from gtcourse.models import CGT, EGT
from gtcourse.recipes import Recipe, get_recipe
from gtcourse.runs.run import loaders

EPOCHS = 3
CPU = torch.device("cpu")


def small(name: str) -> Recipe:
    """The recipe with two layers and nothing random, whose numbers would differ by the padding."""
    recipe = get_recipe(name)
    config = recipe.build_model().config
    if isinstance(recipe.build_model(), EGT):
        build = partial(EGT, replace(config, num_layers=2, flip_signs=None))
    else:
        build = partial(CGT, replace(config, num_layers=2, edge_ablation=0.0))
    return recipe.at(build_model=build, epochs=EPOCHS, batch_size=16)


def train(recipe: Recipe, data: GraphDataset, out, *, epochs: int) -> list[dict[str, float]]:
    """The curve of the run in ``out`` after so many epochs."""
    training, val, _ = loaders(recipe, data, seed=0, buckets=1, static_shapes=False)
    torch.manual_seed(0)
    model = recipe.build_model()

    def ends(model: torch.nn.Module, row: dict[str, float]) -> bool:
        return row["epoch"] == epochs - 1

    return recipe.fit(model, training, val, seed=0, out=out, on_epoch_end=ends).epochs


@pytest.mark.parametrize("name", ["egt-100k-spe-do/zinc", "csa-rings/zinc"])
def test_a_run_goes_on_as_if_it_had_not_been_moved(name, molecules, tmp_path):
    recipe = small(name)
    data = molecules.first(50)
    expected = train(recipe, data, tmp_path / "whole", epochs=EPOCHS)
    train(recipe, data, tmp_path / "moved", epochs=1)
    run = Run(recipe, tmp_path / "moved", PaddedData(recipe, data, CPU), seed=0)
    run.epoch()
    run.save()
    moved = train(recipe, data, tmp_path / "moved", epochs=EPOCHS)
    assert len(moved) == EPOCHS
    for row, other in zip(moved, expected, strict=True):
        for column in ("lr", "train_loss", "val_mae"):
            assert row[column] == pytest.approx(other[column], rel=1e-4), (row["epoch"], column)


def test_a_run_with_buckets_is_refused(molecules, tmp_path):
    recipe = small("egt-100k-spe-do/zinc")
    data = molecules.first(50)
    training, val, _ = loaders(recipe, data, seed=0, buckets=2, static_shapes=False)
    recipe.at(epochs=1).fit(recipe.build_model(), training, val, seed=0, out=tmp_path)
    with pytest.raises(ValueError, match=r"in 2 bucket.*expected .*without buckets"):
        Run(recipe, tmp_path, PaddedData(recipe, data, CPU), seed=0)


def test_a_recipe_that_ends_at_a_learning_rate_is_refused(molecules, tmp_path):
    recipe = get_recipe("gin-100k/zinc")
    with pytest.raises(ValueError, match=r"gin-100k/zinc ends at a learning rate"):
        Run(recipe, tmp_path, PaddedData(recipe, molecules.first(50), CPU), seed=0)


def test_runs_that_take_turns_end_as_they_do_alone(molecules, tmp_path):
    recipe = small("egt-100k-spe-do/zinc")
    data = molecules.first(50)
    padded = PaddedData(recipe, data, CPU)
    train(recipe, data, tmp_path / "start", epochs=1)
    alone = Run(recipe, tmp_path / "start", padded, seed=0)
    alone.epoch()
    work = {}
    for name in ("first", "second", "third"):
        copytree(tmp_path / "start", tmp_path / name)
        run = Run(recipe, tmp_path / name, padded, seed=0)
        work[name] = run_until(run, name, epochs=2, end=math.inf)
    parts = take_turns(work, at_a_time=2)
    for name in work:
        assert parts[name]["epochs"] == [1, 2]
        again = Run(recipe, tmp_path / name, padded, seed=0)
        for column in ("lr", "train_loss", "val_mae"):
            found = again.history["epochs"][-1][column]
            assert found == pytest.approx(alone.history["epochs"][-1][column], rel=1e-6)


def test_a_run_is_given_up_when_its_loss_rises(molecules, tmp_path):
    recipe = small("egt-100k-spe-do/zinc")
    data = molecules.first(50)
    train(recipe, data, tmp_path, epochs=1)
    run = Run(recipe, tmp_path, PaddedData(recipe, data, CPU), seed=0)
    run.history["epochs"][0]["train_loss"] = 0.0  # so that the next is higher
    part = take_turns({"run": run_until(run, "run", epochs=3, end=math.inf, highest=1e-6)})["run"]
    assert part["epochs"] == [1, 2]
    assert "the training loss rose to" in part["error"]
