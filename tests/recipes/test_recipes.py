"""What holds of every recipe: its values, its size, that it trains; and smaller budgets."""

import json
import math
import tomllib
from collections import defaultdict
from dataclasses import fields, is_dataclass, replace
from functools import cache, partial
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.optim import Adam
from torch.optim.lr_scheduler import CosineAnnealingLR

from gtcourse.encodings import encode
from gtcourse.graphs import DenseLoader
from gtcourse.models import EGT, GT, GatedGCN, Graphormer
from gtcourse.models.config import Config
from gtcourse.predict import with_weights
from gtcourse.recipes import RECIPES, get_recipe
from gtcourse.recipes.adapt import own_recipe
from gtcourse.recipes.recipe import NOTES, Note, Recipe, as_text, read_call
from gtcourse.train.loop import count_parameters, evaluate
from gtcourse.train.schedules import warmup_then_linear
from tests.models.test_egt import unread
from tests.train.small_run import graphs, small_model
from tests.train.tiny_data import tiny

QUICK = (
    "gat-100k/zinc",
    "gin-pe/cycles",
    "signnet/zinc",
    "graphormer-slim/zinc",
    "egt-100k-spe-do/mnist",
    "egt-100k-epe/pattern",
    "egt-100k/tsp",
    "grpe-tiny/cifar10",
    "csa-rings/zinc",
    "csa/pattern",
    "gcn-100k/tsp",
    "gin-100k/tsp",
    "gt-pe/zinc",
)
"""Recipes that `make fast` trains; `make test` trains all."""

PARAMETERS = ("parameters", "where the number of parameters is printed")
"""What notes on the number of parameters are about."""

REFERENCE = Path(__file__).parents[1] / "reference" / "recipes.jsonl"
PUBLISHED = {row["name"]: row for row in map(json.loads, REFERENCE.read_text().splitlines())}
STANDS_IN = {"molpcba": "ogbg-molpcba", "molhiv": "ogbg-molhiv", "pcqm4m": "pcqm4mv2"}


@cache
def count(name: str) -> int:
    with torch.device("meta"):  # counted without a number of it in memory
        return count_parameters(get_recipe(name).build_model())


def named() -> list:
    return [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in RECIPES]


def written(build) -> str:
    """What builds a model: its configuration's settings that are not the default, and the rest."""
    rest = [repr(part) for part in build.args if not is_dataclass(part)]
    rest += [f"{name}={value!r}" for name, value in build.keywords.items()]
    for config in filter(is_dataclass, build.args):
        values = {f.name: (getattr(config, f.name), f.default) for f in fields(config)}
        changed = (f"{n}={v!r}" for n, (v, default) in values.items() if v != default)
        rest.append(f"{type(config).__name__}({', '.join(changed)})")
    return f"{build.func.__name__}({', '.join(rest)})"


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_has_the_published_settings(name):
    """Each value beside that of ``reference/recipes.jsonl``, a line for each printed result."""
    recipe = get_recipe(name)
    dataset = name.split("/")[1]
    assert recipe.dataset == STANDS_IN.get(dataset, dataset)
    assert all(key.endswith(f"_{recipe.task.monitor}") for key in recipe.paper_result)
    found = {n: v for n, v in recipe.config().items() if n != "notes"}
    found |= {"build_model": written(recipe.build_model), "parameters": count(name)}
    found |= {n: getattr(recipe, n) for n in ("paper_parameters", "paper_result")}
    assert json.loads(json.dumps(found)) == PUBLISHED[name]


def test_every_printed_result_has_a_recipe():
    assert {*PUBLISHED} == {*RECIPES}


@pytest.mark.parametrize("name", RECIPES)
def test_the_notes_explain_a_size_that_differs_from_the_printed_one(name):
    """It is the printed one, to half a percent, or a note is about the number of parameters."""
    recipe = get_recipe(name)
    printed = recipe.paper_parameters
    said = [note.paper for note in recipe.notes if note.about in PARAMETERS]
    if printed is None:
        assert said == ["not stated"]
    elif abs(count(name) - printed) > 0.005 * printed:
        assert any("print" in text or "leaderboard" in text for text in said)


def test_every_note_is_about_a_recipe_and_says_what_differs():
    differs = Path(__file__).parents[2] / "book" / "differs"
    entries = {
        f"{path.stem}-{row['id']}"
        for path in differs.glob("*.toml")
        for row in tomllib.loads(path.read_text(encoding="utf-8")).get("row", [])
    }
    for pattern, note in NOTES:
        assert any(pattern.fullmatch(name) for name in RECIPES), note
        assert note.paper or note.code or note.here, note
        assert note.here or note.about in (*PARAMETERS, "seeds", "printed result"), note
        assert note.entry in {"", *entries}, note


def test_a_note_is_printed_in_a_line_that_names_each_side():
    note = Note("heads", paper="4", code="8", here="8")
    assert str(note) == "heads (the paper: 4; its code: 8; here: 8)"
    assert str(Note("seeds", paper="10")) == "seeds (the paper: 10)"


def unused(model: nn.Module) -> set[str]:
    """Parameters that the prediction does not depend on."""
    if isinstance(model, EGT):
        return unread(model)
    if isinstance(model, GatedGCN):
        part = "edge_norm"
    elif isinstance(model, GT):
        part = "edges"
    elif isinstance(model, Graphormer):
        part = "edge_values"  # the last layer's reach the nodes, and [VNode] alone is read
    else:
        return set()
    last = f"layers.{model.config.num_layers - 1}.{part}."
    return {name for name, _ in model.named_parameters() if name.startswith(last)}


def shallow(recipe: Recipe) -> Recipe:
    """The recipe, with three layers in place of more.

    All layers but the last are alike. The complete models are counted in
    ``test_a_recipe_has_the_published_settings``.
    """
    build = recipe.build_model
    if not build.args or getattr(build.args[0], "num_layers", 0) <= 3:
        return recipe
    config, *others = build.args
    config = replace(config, num_layers=3)
    return replace(recipe, build_model=partial(build.func, config, *others, **build.keywords))


def test_the_text_of_a_call_is_read_with_all_fields_of_its_configuration():
    for name in RECIPES:
        build = get_recipe(name).build_model
        found = read_call(as_text(build))
        assert found["function"] == build.func.__name__
        if build.args and isinstance(build.args[0], Config):
            config = build.args[0]
            texts = {field: repr(value) for field, value in vars(config).items()}
            expected = {"function": type(config).__name__, "arguments": texts}
            assert found["arguments"]["0"] == expected


def test_texts_of_a_call_from_earlier_releases_are_read_like_todays():
    build = partial(with_weights, get_recipe("grpe-small/zinc").build_model, "grpe-100k/molecules")
    todays = as_text(build)
    assert todays.startswith("with_weights(GRPE(GRPEConfig(")
    before = f"with_weights({build.args[0]!r}, 'grpe-100k/molecules')"
    before = before.replace("'query_context', 'key_context'", "'query', 'key'")
    before = before.replace(", form='direct'", "")
    assert read_call(before) == read_call(todays)
    assert read_call(before.replace("d_model=80", "d_model=72")) != read_call(todays)
    fused = todays.replace("form='direct'", "form='fused'")
    assert read_call(before) != read_call(fused)
    encoded = partial(with_weights, get_recipe("graphormer-base/pcqm4m").build_model, "a")
    assert "at 0x" not in as_text(encoded)
    assert read_call(f"with_weights({encoded.args[0]!r}, 'a')") == read_call(as_text(encoded))


def a_readers_model():
    """What a recipe's ``build_model`` may be."""


def test_functions_and_classes_in_a_call_are_written_by_their_names():
    build = partial(with_weights, a_readers_model, loss=torch.nn.L1Loss)
    text = as_text(build)
    assert text == "with_weights(a_readers_model, loss=L1Loss)"
    arguments = {"0": "a_readers_model", "loss": "L1Loss"}
    assert read_call(text) == {"function": "with_weights", "arguments": arguments}
    earlier = f"with_weights({a_readers_model!r}, loss={torch.nn.L1Loss!r})"
    assert "function a_readers_model at 0x" in earlier
    assert read_call(earlier) == read_call(text)


def test_arguments_of_any_name_are_read():
    assert read_call("build(function=3)") != read_call("build(function=4)")
    assert read_call("build(function=3)")["function"] == "build"
    assert read_call("build(**settings)")["arguments"] == {"**": "settings"}
    of_grpe = read_call("GRPEConfig(terms=3, d_model=f(x))")["arguments"]
    assert [of_grpe["terms"], of_grpe["d_model"]] == ["3", "f(x)"]


def test_other_texts_than_calls_are_left_as_they_are():
    for text in ("GIN", "<lambda>", None, "x = 3"):
        assert read_call(text) == text


@pytest.mark.parametrize("name", named())
def test_a_recipe_trains_for_two_steps_and_is_evaluated(name):
    """The published model, on small graphs with the encodings of the recipe."""
    recipe = shallow(get_recipe(name)).at(epochs=1, batch_size=3)
    data = encode(tiny(recipe.dataset, 6, seed=1), *recipe.transforms)
    train, val, test = (
        DenseLoader(graphs, recipe.batch_size, shuffle=True)
        for graphs in (data.train, data.val, data.test)
    )
    torch.manual_seed(0)
    model = recipe.build_model()
    sizes: dict[str, float] = defaultdict(float)

    def add_size(p: nn.Parameter, name: str) -> None:
        sizes[name] += float(p.grad.abs().sum())

    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    for each, parameter in model.named_parameters():
        parameter.register_post_accumulate_grad_hook(partial(add_size, name=each))
    (row,) = recipe.fit(model, train, val, progress=False).epochs
    assert math.isfinite(row["train_loss"])
    assert math.isfinite(row[f"val_{recipe.task.monitor}"])
    with_gradient = {name for name, size in sizes.items() if 0 < size < math.inf}
    assert with_gradient == {*before} - unused(model)
    unmoved = {name for name, p in model.named_parameters() if torch.equal(p, before[name])}
    assert unmoved <= unused(model)
    assert math.isfinite(evaluate(model, recipe.task, test)[recipe.task.monitor])


# Budgets.

TOY = replace(
    get_recipe("graphormer-slim/zinc"),
    name="toy",
    build_model=small_model,
    steps=8,
    epochs=100,
    batch_size=4,
)


@pytest.mark.parametrize(("task", "mode"), [("regression", "min"), ("binary", "max")])
def test_the_plateau_schedule_on_own_data_uses_the_direction_of_the_metric(task, mode):
    recipe = own_recipe("egt-100k/zinc", task, ["y"])
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    assert recipe.schedule(optimizer, 10).mode == recipe.task.mode == mode


def test_changed_settings_are_recorded():
    published = get_recipe("gin-pe/cycles")
    recipe = published.at(epochs=2, optimizer=partial(Adam, lr=1e-3), schedule=CosineAnnealingLR)
    config = recipe.config()
    changed = {"epochs": 2, "optimizer": "Adam(lr=0.001)", "schedule": "CosineAnnealingLR"}
    assert (config["changed"], config["epochs"]) == (changed, 2)
    assert config["transforms"] == [repr(published.transforms[0])]
    assert published.epochs == 1000


def rates_of(**changes):
    """The rate of every optimizer step of 12 graphs in batches of 4: a bag of atoms."""
    rates = []
    changes = {"schedule": partial(warmup_then_linear, warmup=0.25, end=0.1), **changes}

    def watched(parameters):
        optimizer = torch.optim.SGD(parameters, lr=1.0)
        optimizer.register_step_pre_hook(lambda o, *_: rates.append(o.param_groups[0]["lr"]))
        return optimizer

    recipe = replace(TOY.at(**changes), optimizer=watched)
    train = DenseLoader(graphs(12, seed=0), 4, shuffle=True)
    recipe.fit(recipe.build_model(), train, progress=False)
    return rates


def test_a_recipe_with_steps_trains_to_the_end_of_the_last_epoch():
    falling = [1 - 0.9 * k / 6 for k in range(7)]
    assert rates_of() == pytest.approx([0.5, *falling, 0.1])


def test_epochs_replace_steps_and_set_the_length_of_the_schedule():
    assert TOY.at(epochs=2).changed == {"epochs": 2, "steps": None}
    schedule = partial(warmup_then_linear, warmup=0.5, end=0.1)
    shorter = rates_of(epochs=2, schedule=schedule)
    assert shorter == pytest.approx([1 / 3, 2 / 3, 1.0, 0.7, 0.4, 0.1])
    fewer = TOY.at(steps=4)
    assert (fewer.epochs, fewer.changed) == (100, {"steps": 4})
    assert len(rates_of(steps=4)) == 6
    both = TOY.at(epochs=1, steps=4)
    assert (both.epochs, both.steps) == (1, 4)


def test_a_recipe_passes_all_its_settings_to_fit(monkeypatch):
    given = {}
    monkeypatch.setattr("gtcourse.recipes.recipe.fit", lambda *a, **k: given.update(k, args=a))
    recipe = get_recipe("graphormer-large/molpcba")
    model = small_model()
    train = DenseLoader(graphs(4, seed=0), 2)
    val = object()
    recipe.fit(model, train, val, seed=3, precision="bf16-mixed")
    assert given["args"] == (model, recipe.task, train, val)
    assert (given["grad_clip"], given["flag"], given["epochs"]) == (5.0, recipe.flag, 10)
    assert given["schedule"].optimizer is given["optimizer"]
    assert given["schedule"].total_steps == 20
    assert (given["seed"], given["precision"]) == (3, "bf16-mixed")
    get_recipe("gin/cycles").fit(small_model(), train)
    assert (given["stop_below_lr"], given["grad_clip"], given["flag"]) == (1e-6, None, None)
