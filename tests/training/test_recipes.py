"""Recipes: the published numbers, exactly; a smaller budget that says it is one."""

from dataclasses import replace
from functools import partial

import pytest
import torch
from torch.optim import Adam
from torch.optim.lr_scheduler import CosineAnnealingLR

from gtcourse.graphs import DenseLoader
from gtcourse.recipes import get_recipe
from gtcourse.training.records import Record, read_record, write_record
from gtcourse.training.schedules import warmup_then_linear
from tests.training.small_run import graphs, small_model


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


def toy(num_graphs, **changes):
    """A recipe that trains in no time: a bag of atoms by Graphormer's schedule."""
    data = graphs(num_graphs, seed=0)
    recipe = replace(
        get_recipe("graphormer-slim/zinc"), name="toy", build_model=small_model, batch_size=4
    )
    return replace(recipe, **changes), DenseLoader(data, 4, shuffle=True)


def rates_of(recipe, train, **options):
    """The rate of every optimiser step of ``recipe.fit``."""
    rates = []

    def watched(parameters):
        optimizer = torch.optim.SGD(parameters, lr=1.0)
        optimizer.register_step_pre_hook(lambda o, *_: rates.append(o.param_groups[0]["lr"]))
        return optimizer

    recipe = replace(recipe, optimizer=watched)
    recipe.fit(recipe.build_model(), train, progress=False, **options)
    return rates


def test_a_recipe_trains_for_its_steps_to_the_end_of_an_epoch():
    schedule = partial(warmup_then_linear, warmup=0.25, end=0.1)
    recipe, train = toy(12, steps=8, epochs=100, schedule=schedule)  # 3 steps an epoch
    rates = rates_of(recipe, train)
    falling = [1 - 0.9 * k / 6 for k in range(7)]
    assert rates == pytest.approx([0.5, *falling, 0.1])


def test_new_epochs_take_the_place_of_steps_and_the_schedule_ends_with_them():
    schedule = partial(warmup_then_linear, warmup=0.5, end=0.1)
    recipe, train = toy(12, steps=8, epochs=100, schedule=schedule)
    shorter = recipe.at(epochs=2)
    assert shorter.changed == {"epochs": 2, "steps": None}
    assert rates_of(shorter, train) == pytest.approx([1 / 3, 2 / 3, 1.0, 0.7, 0.4, 0.1])
    fewer = recipe.at(steps=4)
    assert (fewer.epochs, fewer.changed) == (100, {"steps": 4})
    assert len(rates_of(fewer, train)) == 6
    both = recipe.at(epochs=1, steps=4)
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


def test_a_budget_is_no_way_to_another_recipe():
    with pytest.raises(ValueError, match="a budget cannot change build_model, dataset; expected"):
        get_recipe("gin/cycles").at(dataset="zinc", build_model=None)


def test_an_unknown_recipe_is_refused_with_names_like_it():
    with pytest.raises(ValueError, match=r"there is no recipe 'gin'; expected one of .*gin/cycles"):
        get_recipe("gin")
