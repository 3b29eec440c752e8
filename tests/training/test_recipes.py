"""Recipes: the published numbers, exactly; a smaller budget that says it is one."""

from dataclasses import replace
from functools import partial

import pytest
import torch
from torch.optim import Adam
from torch.optim.lr_scheduler import CosineAnnealingLR

from gtcourse.graphs import DenseLoader
from gtcourse.recipes import get_recipe
from gtcourse.training.recipe import warmup_then_linear
from gtcourse.training.records import Record, read_record, write_record
from tests.training.small_run import graphs, small_model

TOY = replace(
    get_recipe("graphormer-slim/zinc"),
    name="toy",
    build_model=small_model,
    steps=8,
    epochs=100,
    batch_size=4,
)


def test_a_smaller_budget_is_in_the_record(tmp_path):
    published = get_recipe("gin-pe/cycles")
    recipe = published.at(epochs=2, optimizer=partial(Adam, lr=1e-3), schedule=CosineAnnealingLR)
    record = Record(
        name="test/cycles", config=recipe.config(), data={"name": "cycles", "source": "made"},
        seed=1, seconds=1.0, parameters=1, curve=[{"epoch": 0}], result={"accuracy": 0.5},
        command="none",
    )  # fmt: skip
    write_record(record, tmp_path / "record.json")
    config = read_record(tmp_path / "record.json").config
    changed = {"epochs": 2, "optimizer": "Adam(lr=0.001)", "schedule": "CosineAnnealingLR"}
    assert config["changed"] == changed
    assert config["epochs"] == 2
    assert config["transforms"] == [repr(published.transforms[0])]
    assert published.epochs == 1000


def rates_of(**changes):
    """The rate of every optimizer step of 12 graphs in batches of 4: a bag of atoms."""
    rates, changes = [], {"schedule": partial(warmup_then_linear, warmup=0.25, end=0.1)} | changes

    def watched(parameters):
        optimizer = torch.optim.SGD(parameters, lr=1.0)
        optimizer.register_step_pre_hook(lambda o, *_: rates.append(o.param_groups[0]["lr"]))
        return optimizer

    recipe = replace(TOY.at(**changes), optimizer=watched)
    train = DenseLoader(graphs(12, seed=0), 4, shuffle=True)
    recipe.fit(recipe.build_model(), train, progress=False)
    return rates


def test_a_recipe_trains_for_its_steps_to_the_end_of_an_epoch():
    falling = [1 - 0.9 * k / 6 for k in range(7)]
    assert rates_of() == pytest.approx([0.5, *falling, 0.1])


def test_new_epochs_take_the_place_of_steps_and_the_schedule_ends_with_them():
    assert TOY.at(epochs=2).changed == {"epochs": 2, "steps": None}
    schedule = partial(warmup_then_linear, warmup=0.5, end=0.1)
    shorter = rates_of(epochs=2, schedule=schedule)
    assert shorter == pytest.approx([1 / 3, 2 / 3, 1.0, 0.7, 0.4, 0.1])
    fewer = TOY.at(steps=4)
    assert (fewer.epochs, fewer.changed) == (100, {"steps": 4})
    assert len(rates_of(steps=4)) == 6
    both = TOY.at(epochs=1, steps=4)
    assert (both.epochs, both.steps) == (1, 4)


def test_a_recipes_fit_is_fit_with_everything_it_says(monkeypatch):
    given = {}
    monkeypatch.setattr("gtcourse.training.recipe.fit", lambda *a, **k: given.update(k, args=a))
    recipe = get_recipe("graphormer-large/molpcba")
    model, train, val = small_model(), DenseLoader(graphs(4, seed=0), 2), object()
    recipe.fit(model, train, val, seed=3, precision="bf16-mixed")
    assert given["args"] == (model, recipe.task, train, val)
    assert (given["grad_clip"], given["flag"], given["epochs"]) == (5.0, recipe.flag, 10)
    assert given["schedule"].optimizer is given["optimizer"]
    assert given["schedule"].total_steps == 20
    assert (given["seed"], given["precision"]) == (3, "bf16-mixed")
    get_recipe("gin/cycles").fit(small_model(), train)
    assert (given["stop_below_lr"], given["grad_clip"], given["flag"]) == (1e-6, None, None)
