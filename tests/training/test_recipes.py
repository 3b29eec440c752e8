"""Recipes: the published numbers, exactly; a smaller budget that says it is one."""

from dataclasses import replace
from functools import partial

import pytest
import torch
from torch.optim import Adam, AdamW
from torch.optim.lr_scheduler import CosineAnnealingLR

import gtcourse.training
from gtcourse.encodings import AddLaplacianEigenvectors, encode
from gtcourse.graphs import DenseLoader
from gtcourse.graphs.cycles import build_cycles
from gtcourse.recipes import RECIPES, get_recipe
from gtcourse.training.fit import count_parameters, fit
from gtcourse.training.records import Record, read_record, write_record
from gtcourse.training.schedules import warmup_then_linear
from tests.training.small_run import graphs, small_model

CYCLES = {
    "gin/cycles": (100_774, [70.585, 74.995, 78.083, 86.130], [0.636, 1.226, 1.083, 1.140]),
    "gin-pe/cycles": (102_864, [86.720, 95.960, 97.998, 99.570], [3.376, 0.393, 0.300, 0.089]),
    "gatedgcn/cycles": (103_933, [50.0] * 4, [0.0] * 4),
    "gatedgcn-pe/cycles": (105_263, [95.082, 96.700, 98.230, 99.725], [0.346, 0.381, 0.473, 0.027]),
}


GRAPHORMER = {
    "graphormer-slim/zinc": 489_481,
    "graphormer-small/pcqm4m": 12_550_721,
    "graphormer-base/pcqm4m": 47_085_377,
    "graphormer-large/molpcba": 119_529_664,
}
"""What the authors' own models count, for the tables written in the recipes."""


@pytest.mark.parametrize("name", [*CYCLES, *GRAPHORMER])  # EGT's: test_recipes_egt.py
def test_a_recipe_builds_a_model_of_the_published_size(name):
    recipe = get_recipe(name)
    assert recipe.name == name
    with torch.device("meta"):  # counted without a number of it in memory
        model = recipe.build_model()
    assert count_parameters(model) == GRAPHORMER.get(name, recipe.paper_parameters)
    assert recipe.changed == {}


def test_the_sizes_that_the_graphormer_paper_prints_are_met_but_for_one_layer_norm():
    for name, count in GRAPHORMER.items():
        printed = get_recipe(name).paper_parameters
        if name == "graphormer-slim/zinc":
            assert count - printed == 2 * 80
            assert "489,481 parameters" in get_recipe(name).notes
        else:  # in tenths of a million; 12.55 M is printed as 12.5
            assert abs(count - printed) < 0.1e6


@pytest.mark.parametrize("name", GRAPHORMER)
def test_the_graphormer_recipes_are_the_papers_tables(name):
    recipe = get_recipe(name)
    # layers, d, H, attention dropout, targets; peak, weight decay; warm-up, steps, epochs, batch
    published = {
        "graphormer-slim/zinc": (12, 80, 8, 0.1, 1, 2e-4, 0.01, 40_000, 400_000, 10_000, 256),
        "graphormer-small/pcqm4m": (6, 512, 32, 0.1, 1, 3e-4, 0.0, 60_000, 10**6, 300, 1024),
        "graphormer-base/pcqm4m": (12, 768, 32, 0.1, 1, 2e-4, 0.0, 60_000, 10**6, 300, 1024),
        # 350,343 training graphs: 1,369 steps in an epoch
        "graphormer-large/molpcba": (18, 1024, 32, 0.3, 128, 3e-4, 0.0, 821, None, 10, 256),
    }[name]
    layers, width, heads, attention_dropout, targets = published[:5]
    with torch.device("meta"):
        config = recipe.build_model().config
    assert (config.num_layers, config.d_model, config.d_hidden) == (layers, width, width)
    assert (config.num_heads, config.num_targets) == (heads, targets)
    assert (config.dropout, config.attention_dropout) == (0.1, attention_dropout)
    assert config.input_dropout == 0.0

    peak, weight_decay, warmup, steps, epochs, batch_size = published[5:]
    assert (recipe.steps, recipe.epochs, recipe.batch_size) == (steps, epochs, batch_size)
    assert recipe.grad_clip == 5.0
    optimizer = recipe.optimizer([torch.nn.Parameter(torch.ones(1))])
    assert type(optimizer) is AdamW
    expected = {"lr": peak, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": weight_decay}
    assert {k: optimizer.defaults[k] for k in expected} == expected

    total = recipe.total_steps(steps_per_epoch=1369)
    rate = recipe.schedule(optimizer, total).lr_lambdas[0]
    assert total == (steps or 13_690)
    assert [rate(step - 1) for step in (1, warmup)] == [1 / warmup, 1.0]
    assert rate(warmup) < 1.0
    assert rate(total - 1) == pytest.approx(1e-9 / peak)


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
        name="test/cycles", config=recipe.config(), data={"name": "cycles", "source": "made"},
        seed=1, seconds=1.0,
        parameters=1, curve=history.epochs, result={"accuracy": 0.5}, command="none",
    )  # fmt: skip
    write_record(record, tmp_path / "record.json")
    config = read_record(tmp_path / "record.json").config
    assert config["changed"] == {"epochs": 2, "optimizer": "Adam(lr=0.001)", "schedule": "cosine"}
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


def test_a_recipe_trains_for_its_epochs_where_they_come_first():
    schedule = partial(warmup_then_linear, warmup=0.25, end=0.1)
    recipe, train = toy(12, steps=8, epochs=1, schedule=schedule)
    assert rates_of(recipe, train) == pytest.approx([0.5, 1.0, 0.85])


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


def test_recipes_are_handed_on_by_the_training_package():
    assert gtcourse.training.get_recipe is get_recipe
    assert gtcourse.training.RECIPES is RECIPES
    with pytest.raises(AttributeError, match="has no attribute 'receipt'"):
        gtcourse.training.receipt  # noqa: B018
