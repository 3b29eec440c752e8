"""Recipes and runs: budgets, schedules, and data that a recipe cannot take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from gtcourse.graphs import DenseLoader
from gtcourse.recipes import get_recipe
from gtcourse.training.fit import fit
from gtcourse.training.flag import Flag
from gtcourse.training.run import BUDGETS, at_budget, train
from gtcourse.training.schedules import halve_on_plateau, warmup_then_cosine, warmup_then_linear
from gtcourse.training.tasks import graph_regression
from tests.bad_input.case import Case
from tests.graphs.small import three_chains
from tests.training.small_run import small_model
from tests.training.tiny_data import tiny

NAN, INF = float("nan"), float("inf")
RECIPE = get_recipe("gin-100k/zinc")
BONDS = get_recipe("gatedgcn-100k/zinc")


def call(function: Callable, *arguments, **named) -> Callable:
    return lambda folder: lambda: function(*arguments, **named)


RECIPES = [
    Case(
        "a recipe's name that is none", call(get_recipe, "gin/zync"), "there is no recipe 'gin/zy"
    ),
    Case("no recipe's name", call(get_recipe, None), "there is no recipe None; expected one of"),
] + [
    Case(f"a recipe with {name} = {value!r}", call(replace, RECIPE, **{name: value}), says)
    for name, value, says in [
        ("epochs", "10", "recipe 'gin-100k/zinc': epochs is '10'; expected a whole number, 1 or"),
        ("epochs", 2.5, "recipe 'gin-100k/zinc': epochs is 2.5; expected a whole number, 1 or"),
        ("batch_size", 0, "recipe 'gin-100k/zinc': batch_size is 0; expected a whole number"),
        ("steps", -1, "recipe 'gin-100k/zinc': steps is -1; expected a whole number, 1 or more"),
        ("stop_below_lr", NAN, "stop_below_lr is nan; expected a number above 0"),
        ("grad_clip", -1.0, "grad_clip is -1.0; expected a number above 0"),
        ("optimizer", "adam", "optimizer is 'adam'; expected a callable"),
        ("task", "regression", "task is 'regression'; expected a task"),
        ("flag", 3, "flag is 3; expected a"),
        ("name", None, "recipe None: name is None; expected a str"),
        ("transforms", ("degrees",), "transforms holds 'degrees'; expected the course's encodings"),
    ]
]

AT = [
    Case(f"a budget of {changes}", call(RECIPE.at, **changes), says)
    for changes, says in [
        ({"epochs": 0}, "epochs is 0; expected a whole number, 1 or more"),
        ({"epochs": "3"}, "epochs is '3'; expected a whole number, 1 or more"),
        ({"batch_size": True}, "batch_size is True; expected a whole number, 1 or more"),
        ({"lr": 0.1}, "a budget cannot change lr; expected batch_size, epochs, flag, optimizer,"),
        ({"dataset": "csl"}, "a budget cannot change dataset; expected batch_size, epochs, flag"),
    ]
] + [
    Case(
        f"a run at {name} = {value!r}",
        call(at_budget, RECIPE, tiny("zinc", 2), BUDGETS["paper"], **{name: value}),
        f"{name} is {value!r}; expected a whole number, 1 or more",
    )
    for name, value in [("epochs", -1), ("batch_size", 1.5), ("graphs", 0), ("graphs", "all")]
]


def fitted(folder: Path, **options) -> None:
    given = {"epochs": 1, "progress": False, "out": folder}
    loader = DenseLoader(three_chains().graphs, 2)
    fit(small_model(), graph_regression(), loader, loader, **given | options)


FIT = [
    Case(
        f"training with {name} = {value!r}",
        lambda folder, given={name: value}: lambda: fitted(folder, **given),
        says,
    )
    for name, value, says in [
        ("epochs", 1.5, "epochs is 1.5; expected a whole number, 1 or more"),
        ("lr", NAN, "lr is nan; expected a number above 0"),
        ("lr", -0.1, "lr is -0.1; expected a number above 0"),
        ("lr", "fast", "lr is 'fast'; expected a number above 0"),
        ("seed", -1, "seed is -1; expected a whole number from 0 to 4294967295"),
        ("seed", "0", "seed is '0'; expected a whole number from 0 to 4294967295"),
        ("patience", 0, "patience is 0; expected a whole number, 1 or more"),
        ("grad_clip", INF, "grad_clip is inf; expected a number above 0"),
        ("checkpoint_every", 0.5, "checkpoint_every is 0.5; expected a whole number, 1 or more"),
        ("devices", 0, "devices is 0; expected a whole number, 1 or more"),
        ("devices", "two", "devices is 'two'; expected a whole number, 1 or more"),
        ("precision", "8-bit", "precision is '8-bit'; expected one of 32-true, bf16-mixed"),
    ]
]


def trained(change: Callable, recipe=RECIPE, name: str = "zinc", **options) -> Callable:
    """A run on data of which something is spoiled."""

    def make(folder: Path) -> Callable:
        data = tiny(name, 6)
        change(data)
        recipe_ = recipe.at(epochs=1, batch_size=4)
        return lambda: train(recipe_, data, command="none", out=folder / "run", **options)

    return make


def nothing(data) -> None:
    pass


def category(name: str, value: int) -> Callable:
    def change(data) -> None:
        data.graphs[2][name][0] = value

    return change


RUNS = [
    Case(
        "an atom that the model has no row for",
        trained(category("x", 28)),
        "graph 2 of zinc does not fit gin-100k/zinc: it has a category or class beyond",
    ),
    Case(
        "a bond that the model has no row for",
        trained(category("edge_attr", 4), BONDS),
        "graph 2 of zinc does not fit gatedgcn-100k/zinc: it has a category or class beyond",
    ),
    Case(
        "targets that are of nodes",
        trained(nothing, name="pattern"),
        "graph 0 of pattern does not fit gin-100k/zinc: the model predicts [1] and the node",
    ),
    Case(
        "a class beyond the classes",
        trained(lambda data: data.graphs[4].y.fill_(2), get_recipe("gin/cycles"), "cycles"),
        "graph 4 of cycles does not fit gin/cycles: it has a category or class beyond",
    ),
    Case(
        "no graphs to validate with",
        trained(lambda data: data.split.masked_fill_(data.split == 1, 0)),
        "has no graphs in its split 'val'; expected one or more in each",
    ),
    Case(
        "a run of seed -3",
        trained(nothing, seed=-3),
        "seed is -3; expected a whole number from 0 to 4294967295",
    ),
    Case(
        "a run of half a bucket",
        trained(nothing, buckets=0.5),
        "buckets is 0.5; expected a whole number, 1 or more",
    ),
    Case(
        "a run in an unknown precision",
        trained(nothing, precision="high"),
        "precision is 'high'; expected one of 32-true, bf16-mixed",
    ),
    Case(
        "a run with checkpoints every 0 steps",
        trained(nothing, checkpoint_every=0),
        "checkpoint_every is 0; expected a whole number, 1 or more",
    ),
]


def optimizer() -> torch.optim.Optimizer:
    return torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)


OTHERS = [
    Case("FLAG in 0 steps", call(Flag, 0, 0.1), "steps is 0; expected a whole number, 1 or more"),
    Case("FLAG of NaN", call(Flag, 3, NAN), "step_size is nan; expected a number above 0"),
    Case(
        "FLAG bounded by a word", call(Flag, 3, 0.1, "x"), "bound is 'x'; expected a number above"
    ),
    Case(
        "a warm-up of all steps",
        call(warmup_then_linear, optimizer(), 10, warmup=10),
        "warmup is 10 and total 10; expected fewer warm-up steps than there are",
    ),
    Case(
        "a warm-up in words",
        call(warmup_then_cosine, optimizer(), 10, warmup="short"),
        "warmup is 'short' and total 10; expected fewer warm-up steps",
    ),
    Case(
        "a decay that ends at NaN",
        call(warmup_then_linear, optimizer(), 10, warmup=2, end=NAN),
        "end is nan and the optimiser's learning rate 0.1; expected an end from 0",
    ),
    Case(
        "a plateau of negative length",
        call(halve_on_plateau, optimizer(), 10, patience=-1, mode="min"),
        "patience is -1; expected a whole number, 0 or more",
    ),
    Case(
        "a plateau of neither kind",
        call(halve_on_plateau, optimizer(), 10, patience=1, mode="up"),
        "mode is 'up'; expected one of min, max",
    ),
]


CASES = [*RECIPES, *AT, *FIT, *RUNS, *OTHERS]
