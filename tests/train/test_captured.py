"""A run that goes on with captured steps ends where ``gtcourse train`` would have taken it."""

import math
from dataclasses import replace
from functools import partial
from shutil import copytree

import pytest
import torch

from experiments.captured import PaddedData, Run, Step, run_until, take_turns
from gtcourse.graphs.dataset import GraphDataset
from gtcourse.models import CGT, EGT
from gtcourse.recipes import Recipe, get_recipe
from gtcourse.recipes.small import one_cycle
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


def train_epoch(run: Run) -> None:
    for _ in run.steps_of_epoch():
        pass


@pytest.mark.parametrize("name", ["egt-100k-spe-do/zinc", "csa-rings/zinc"])
def test_a_run_with_an_epoch_of_captured_steps_has_the_curve_of_an_ordinary_run(
    name, molecules, tmp_path
):
    recipe = small(name)
    data = molecules.first(50)
    expected = train(recipe, data, tmp_path / "whole", epochs=EPOCHS)
    train(recipe, data, tmp_path / "captured", epochs=1)
    run = Run(recipe, tmp_path / "captured", PaddedData(recipe, data, CPU), seed=0)
    train_epoch(run)
    run.save()
    found = train(recipe, data, tmp_path / "captured", epochs=EPOCHS)
    assert len(found) == EPOCHS
    for row, other in zip(found, expected, strict=True):
        for column in ("lr", "train_loss", "val_mae"):
            assert row[column] == pytest.approx(other[column], rel=1e-4), (row["epoch"], column)


def test_a_run_that_was_begun_with_buckets_raises(molecules, tmp_path):
    recipe = small("egt-100k-spe-do/zinc")
    data = molecules.first(50)
    training, val, _ = loaders(recipe, data, seed=0, buckets=2, static_shapes=False)
    recipe.at(epochs=1).fit(recipe.build_model(), training, val, seed=0, out=tmp_path)
    with pytest.raises(ValueError, match=r"in 2 bucket.*expected .*without buckets"):
        Run(recipe, tmp_path, PaddedData(recipe, data, CPU), seed=0)


def test_a_recipe_that_ends_at_a_learning_rate_raises(molecules, tmp_path):
    recipe = get_recipe("gin-100k/zinc")
    with pytest.raises(ValueError, match=r"gin-100k/zinc ends at a learning rate"):
        Run(recipe, tmp_path, PaddedData(recipe, molecules.first(50), CPU), seed=0)


def test_runs_that_take_turns_have_the_losses_of_a_run_alone(molecules, tmp_path):
    recipe = small("egt-100k-spe-do/zinc")
    data = molecules.first(50)
    padded = PaddedData(recipe, data, CPU)
    train(recipe, data, tmp_path / "start", epochs=1)
    alone = Run(recipe, tmp_path / "start", padded, seed=0)
    train_epoch(alone)
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


def test_a_run_stops_when_its_training_loss_rises_above_the_limit(molecules, tmp_path):
    recipe = small("egt-100k-spe-do/zinc")
    data = molecules.first(50)
    train(recipe, data, tmp_path, epochs=1)
    run = Run(recipe, tmp_path, PaddedData(recipe, data, CPU), seed=0)
    run.history["epochs"][0]["train_loss"] = 0.0  # so that the next is higher
    part = take_turns({"run": run_until(run, "run", epochs=3, end=math.inf, highest=1e-6)}, 1)[
        "run"
    ]
    assert part["epochs"] == [1, 2]
    assert "the training loss rose to" in part["error"]


def continued(recipe: Recipe, data: GraphDataset, folder) -> Run:
    """A run that captured steps continue after its first epoch."""
    train(recipe, data, folder, epochs=1)
    return Run(recipe, folder, PaddedData(recipe, data, CPU), seed=0)


def test_an_error_during_an_epoch_keeps_the_checkpoint_of_the_epoch_before(
    molecules, tmp_path, monkeypatch
):
    run = continued(small("egt-100k-spe-do/zinc"), molecules.first(50), tmp_path)
    before = run.path.read_bytes()
    calls = []

    def fails(self: Step, rows: torch.Tensor) -> None:
        calls.append(rows)
        if len(calls) == 2:
            raise RuntimeError("out of memory")

    monkeypatch.setattr(Step, "__call__", fails)
    with pytest.raises(RuntimeError, match="out of memory"):
        take_turns({"run": run_until(run, "run", epochs=2, end=math.inf)}, at_a_time=1)
    assert run.path.read_bytes() == before


def test_a_loss_that_is_not_finite_stops_the_run_and_keeps_its_checkpoint(molecules, tmp_path):
    run = continued(small("egt-100k-spe-do/zinc"), molecules.first(50), tmp_path)
    before = run.path.read_bytes()
    next(run.model.parameters()).data.fill_(math.nan)
    part = take_turns({"run": run_until(run, "run", epochs=2, end=math.inf)}, at_a_time=1)["run"]
    assert part["epochs"] == [1, 1]
    assert part["error"].startswith("the training loss is nan in epoch 1")
    assert run.path.read_bytes() == before


def test_a_recipe_with_a_one_cycle_schedule_raises(molecules, tmp_path):
    recipe = small("csa-rings/zinc").at(schedule=one_cycle)
    with pytest.raises(ValueError, match="has the schedule _OneCycle; expected LambdaLR"):
        continued(recipe, molecules.first(50), tmp_path)
