"""Recipes: the published numbers, exactly; a smaller budget that says it is one."""

from functools import partial

import pytest
import torch
from torch.optim import Adam
from torch.optim.lr_scheduler import CosineAnnealingLR

import gtcourse.training
from gtcourse.encodings import AddLaplacianEigenvectors, encode
from gtcourse.graphs import DenseLoader
from gtcourse.graphs.cycles import build_cycles
from gtcourse.training.fit import count_parameters, fit
from gtcourse.training.recipes import RECIPES, get_recipe
from gtcourse.training.records import Record, read_record, write_record

CYCLES = {
    "gin/cycles": (100_774, [70.585, 74.995, 78.083, 86.130], [0.636, 1.226, 1.083, 1.140]),
    "gin-pe/cycles": (102_864, [86.720, 95.960, 97.998, 99.570], [3.376, 0.393, 0.300, 0.089]),
    "gatedgcn/cycles": (103_933, [50.0] * 4, [0.0] * 4),
    "gatedgcn-pe/cycles": (105_263, [95.082, 96.700, 98.230, 99.725], [0.346, 0.381, 0.473, 0.027]),
}


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_builds_a_model_of_the_published_size(name):
    recipe = get_recipe(name)
    assert recipe.name == name
    assert count_parameters(recipe.build_model()) == recipe.paper_parameters
    assert recipe.changed == {}


@pytest.mark.parametrize("name", CYCLES)
def test_the_cycles_recipes_are_the_lectures_table(name):
    recipe, (parameters, means, deviations) = get_recipe(name), CYCLES[name]
    assert recipe.paper_parameters == parameters
    scores = recipe.paper_result["test_accuracy"]
    assert [*scores] == [200, 500, 1000, 5000]
    assert [score[0] for score in scores.values()] == pytest.approx([m / 100 for m in means])
    assert [score[1] for score in scores.values()] == pytest.approx([d / 100 for d in deviations])
    assert (recipe.dataset, recipe.epochs, recipe.batch_size) == ("cycles", 1000, 25)


def test_only_the_models_with_pe_read_eigenvectors_and_flip_their_signs_in_training():
    for name in CYCLES:
        recipe = get_recipe(name)
        encoding = recipe.build_model().input.encoding
        assert (encoding is not None) == name.endswith("-pe/cycles")
        if encoding is None:
            assert recipe.transforms == ()
            continue
        (transform,) = recipe.transforms
        assert repr(transform) == repr(AddLaplacianEigenvectors(20, "symmetric", skip_first=True))
        assert encoding.flip_signs


def test_the_published_rate_halves_after_ten_epochs_without_a_better_accuracy():
    recipe = get_recipe("gin/cycles")
    optimizer = recipe.optimizer(recipe.build_model().parameters())
    schedule = recipe.schedule(optimizer, 100)
    rates = []
    for accuracy in [0.5, 0.6] + [0.6] * 22:
        schedule.step(accuracy)
        rates.append(optimizer.param_groups[0]["lr"])
    assert rates == [1e-4] * 12 + [5e-5] * 11 + [2.5e-5]
    assert recipe.stop_below_lr == 1e-6


def cosine(optimizer, steps):
    return CosineAnnealingLR(optimizer, steps)


def test_a_smaller_budget_trains_and_its_record_says_so(tmp_path):
    published = get_recipe("gin-pe/cycles")
    recipe = published.at(epochs=2, optimizer=partial(Adam, lr=1e-3), schedule=cosine)
    graphs = encode(build_cycles((20, 10, 10)).to_data(), *recipe.transforms)
    train = DenseLoader(graphs[:20], recipe.batch_size, shuffle=True)
    torch.manual_seed(0)
    model = recipe.build_model()
    optimizer = recipe.optimizer(model.parameters())
    schedule = recipe.schedule(optimizer, recipe.epochs * len(train))
    history = fit(
        model, recipe.task, train, DenseLoader(graphs[20:30], 10), epochs=recipe.epochs,
        optimizer=optimizer, schedule=schedule, progress=False,
    )  # fmt: skip
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0)
    assert set(history.best) >= {"val_accuracy", "train_loss"}
    record = Record(
        name="test/cycles", config=recipe.config(), data={"name": "cycles"}, seed=1, seconds=1.0,
        parameters=1, curve=history.epochs, result={"accuracy": 0.5}, command="none",
    )  # fmt: skip
    write_record(record, tmp_path / "record.json")
    config = read_record(tmp_path / "record.json").config
    assert config["changed"] == {"epochs": 2, "optimizer": "Adam(lr=0.001)", "schedule": "cosine"}
    assert config["epochs"] == 2
    assert config["transforms"] == [repr(published.transforms[0])]
    assert published.epochs == 1000


def test_a_budget_is_no_way_to_another_recipe():
    with pytest.raises(ValueError, match="a budget cannot change build_model, dataset; expected"):
        get_recipe("gin/cycles").at(dataset="zinc", build_model=None)


def test_an_unknown_recipe_is_refused_with_the_names_of_all():
    with pytest.raises(ValueError, match="there is no recipe 'gin'; expected one of gin/cycles, "):
        get_recipe("gin")


def test_recipes_are_handed_on_by_the_training_package():
    assert gtcourse.training.get_recipe is get_recipe
    assert gtcourse.training.RECIPES is RECIPES
    with pytest.raises(AttributeError, match="has no attribute 'recipe'"):
        gtcourse.training.recipe  # noqa: B018
