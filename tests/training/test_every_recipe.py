"""What holds of every recipe: its values, its size, its schedule step by step, that it trains."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest
import torch
from torch import nn

from gtcourse.encodings import encode
from gtcourse.graphs import DenseLoader
from gtcourse.models import GatedGCN
from gtcourse.recipes import RECIPES, get_recipe
from gtcourse.training.fit import count_parameters, evaluate
from gtcourse.training.recipe import Recipe
from tests.training.tiny_data import tiny

QUICK = (
    "gat-100k/zinc", "gin-pe/cycles", "signnet/zinc", "graphormer-slim/zinc",
    "egt-100k-spe-do/mnist", "egt-100k-epe/pattern", "egt-100k/tsp", "grpe-tiny/cifar10",
    "csa-rings/zinc", "csa/pattern",
)  # fmt: skip
"""Recipes that train with every change, and the others at night."""

REFERENCE = Path(__file__).parents[1] / "reference" / "recipes.jsonl"
PUBLISHED = {row["name"]: row for row in map(json.loads, REFERENCE.read_text().splitlines())}
STANDS_IN = {"molpcba": "ogbg-molpcba", "pcqm4m": "pcqm4mv2"}


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
def test_a_recipe_is_as_published(name):
    """Each value beside that of ``reference/recipes.jsonl``, a line for each printed result."""
    recipe, dataset = get_recipe(name), name.split("/")[1]
    assert recipe.dataset == STANDS_IN.get(dataset, dataset)
    assert all(key.endswith(f"_{recipe.task.monitor}") for key in recipe.paper_result)
    found = {n: v for n, v in recipe.config().items() if n != "notes"}
    found |= {"build_model": written(recipe.build_model), "parameters": count(name)}
    found |= {n: getattr(recipe, n) for n in ("paper_parameters", "paper_result")}
    assert json.loads(json.dumps(found)) == PUBLISHED[name]


def test_every_printed_result_has_a_recipe():
    assert {*PUBLISHED} == {*RECIPES}


def explained(recipe: Recipe, built: int) -> bool:
    """The size is the printed one, to half a percent, or the notes have both numbers in digits."""
    printed = recipe.paper_parameters
    if abs(built - printed) <= 0.005 * printed:
        return True
    forms = f"{printed:,}", f"{printed / 1e3:g}k", f"{printed / 1e6:g}M"
    return f"{built:,} parameters" in recipe.notes and any(form in recipe.notes for form in forms)


@pytest.mark.parametrize("name", RECIPES)
def test_a_size_that_is_not_the_printed_one_is_explained(name):
    assert explained(get_recipe(name), count(name))


def linear(step: int, peak: float, warmup: int, total: int) -> float:
    """Graphormer's, and GRPE's after it: down to 1e-9."""
    if step <= warmup:
        return peak * step / warmup
    left = max(0.0, 1 - (step - warmup) / (total - warmup))
    return 1e-9 + (peak - 1e-9) * left


def half_cosine(step: int, peak: float, warmup: int, total: int) -> float:
    """CSA's."""
    if step <= warmup:
        return peak * step / warmup
    turned = min(1.0, (step - warmup) / (total - warmup)) * 180
    return peak * (1 + math.cos(math.radians(turned))) / 2


def quarter_cosine(step: int, peak: float, warmup: int, total: int) -> float:
    """EGT's on PCQM4M, as its first code has it."""
    if step <= warmup:
        return peak * step / warmup
    turned = min(1.0, (step - warmup) / (total - warmup)) * 90
    return peak * math.cos(math.radians(turned))


# Shape, peak, warm-up and all of it, in the paper's own unit: steps, epochs, or a percentage.
WARMED = {
    "graphormer-slim/zinc": (linear, 2e-4, 40_000, 400_000),
    "graphormer-small/pcqm4m": (linear, 3e-4, 60_000, 1_000_000),
    "graphormer-base/pcqm4m": (linear, 2e-4, 60_000, 1_000_000),
    "graphormer-large/molpcba": (linear, 3e-4, 6, 100),
    "grpe-small/zinc": (linear, 2e-4, 40_000, 400_000),
    "grpe-*/mnist": (linear, 2e-4, 3, 400),
    "grpe-*/cifar10": (linear, 2e-4, 3, 400),
    "grpe-*/pcqm4m*": (linear, 2e-4, 3, 400),
    "grpe-*/molpcba": (linear, 2e-4, 3, 200),
    "egt-*/pcqm4m": (quarter_cosine, 2e-4, 60_000, 1_000_000),
    "csa*/zinc": (half_cosine, 1e-3, 50, 2000),
    "csa/pattern": (half_cosine, 5e-4, 5, 100),
    "csa/cluster": (half_cosine, 5e-4, 5, 100),
    "csa-small/pcqm4mv2": (half_cosine, 5e-4, 10, 300),
    "csa-deep/pcqm4mv2": (half_cosine, 1e-4, 10, 150),
}


def of_egt(scores: list[float], rate: float, patience: int, mode: str) -> Iterator[float]:
    """EGT's: after ``patience`` epochs without a better score half the rate, at least 5e-6."""
    best, waited = None, 0
    for score in scores:
        if best is None or (score < best if mode == "min" else score > best):
            best, waited = score, 0
        else:
            waited += 1
        if waited == patience:
            rate, waited = max(rate / 2, 5e-6), 0
        yield rate


def of_the_benchmark(scores: list[float], rate: float, patience: int, mode: str) -> Iterator[float]:
    """After *more* than ``patience`` epochs half the rate; better is by a part in ten thousand."""
    best, waited = None, 0
    for score in scores:
        least = None if best is None else best * (1 - 1e-4 if mode == "min" else 1 + 1e-4)
        if best is None or (score < least if mode == "min" else score > least):
            best, waited = score, 0
        else:
            waited += 1
        if waited > patience:
            rate, waited = rate / 2, 0
        yield rate


# Kind, first rate, patience, and the rate below which the run ends.
PLATEAUS = {
    "*/cycles": (of_the_benchmark, 1e-4, 10, 1e-6),
    "gin*/zinc": (of_the_benchmark, 1e-3, 10, 1e-5),
    "gat*/zinc": (of_the_benchmark, 1e-3, 10, 1e-5),
    "signnet*/zinc": (of_the_benchmark, 1e-3, 25, 1e-6),
    "egt-*/pattern": (of_egt, 5e-4, 10, None),
    "egt-*/cluster": (of_egt, 5e-4, 10, None),
    "egt-*/mnist": (of_egt, 5e-4, 10, None),
    "egt-*/cifar10": (of_egt, 5e-4, 10, None),
    "egt-*/tsp": (of_egt, 5e-4, 5, None),
    "egt-*/zinc": (of_egt, 5e-4, 20, None),
    "egt-*/zinc-full": (of_egt, 5e-4, 5, None),
}


def published(table: dict, name: str) -> tuple | None:
    found = [row for pattern, row in table.items() if fnmatch(name, pattern)]
    assert len(found) < 2, name
    return found[0] if found else None


@pytest.mark.parametrize("name", RECIPES)
def test_the_rate_of_every_step_is_that_of_the_published_formula(name):
    recipe, parameter = get_recipe(name), nn.Parameter(torch.ones(1))
    warmed, plateau = published(WARMED, name), published(PLATEAUS, name)
    assert (warmed is None) != (plateau is None)
    optimizer = recipe.optimizer([parameter])
    if warmed is not None:
        formula, peak, warmup, total = warmed
        if total > 2000:  # optimiser steps
            warmup, total = warmup // 1000, total // 1000
        expected = [formula(step, peak, warmup, total) for step in range(1, total + 3)]
        assert walked(optimizer, recipe.schedule(optimizer, total), len(expected)) == pytest.approx(
            expected, rel=1e-12, abs=1e-18
        )
        assert recipe.stop_below_lr is None
    else:
        loop, first, patience, stop = plateau
        scores = wandering(recipe.task.mode)
        expected = list(loop(scores, first, patience, recipe.task.mode))
        assert recipe.stop_below_lr == stop
        expected = [rate for rate in expected if stop is None or rate >= stop]
        schedule = recipe.schedule(optimizer, 1)
        rates = [(schedule.step(score), lr_of(optimizer))[1] for score in scores]
        assert rates[: len(expected)] == pytest.approx(expected, rel=1e-12)
        assert len({*expected}) >= 3


def walked(optimizer, schedule, steps: int) -> list[float]:
    """The rate that each step of the optimiser is taken with."""
    rates = []
    for _ in range(steps):
        rates.append(lr_of(optimizer))
        optimizer.step()
        schedule.step()
    return rates


def lr_of(optimizer: torch.optim.Optimizer) -> float:
    return optimizer.param_groups[0]["lr"]


def wandering(mode: str) -> list[float]:
    """Scores of 400 epochs: better and better, with noise, and some better by next to nothing."""
    generator, scores = random.Random(0), []
    for epoch in range(400):
        score = 0.2 + 0.5 / (1 + epoch / 5) + 0.02 * generator.random()
        if epoch % 60 == 59:
            score = min(scores) * (1 - 5e-5)
        scores.append(score)
    return scores if mode == "min" else [1 - score for score in scores]


def silent(model: nn.Module) -> set[str]:
    """Parameters that the prediction does not depend on."""
    if not isinstance(model, GatedGCN):
        return set()
    last = f"layers.{model.config.num_layers - 1}.edge_norm."
    return {name for name, _ in model.named_parameters() if name.startswith(last)}


@pytest.mark.parametrize("name", named())
def test_a_recipe_trains_for_two_steps_and_is_judged(name):
    """The whole published model, on small graphs with the encodings of the recipe."""
    recipe = get_recipe(name).at(epochs=1, batch_size=3)
    data = encode(tiny(recipe.dataset, 6, seed=1), *recipe.transforms)
    train, val, test = (
        DenseLoader(graphs, recipe.batch_size, shuffle=True)
        for graphs in (data.train, data.val, data.test)
    )
    torch.manual_seed(0)
    model = recipe.build_model()
    heard: dict[str, float] = {}

    def listen(name: str, parameter: nn.Parameter) -> None:
        def add(p: nn.Parameter) -> None:
            heard[name] = heard.get(name, 0.0) + float(p.grad.abs().sum())

        parameter.register_post_accumulate_grad_hook(add)

    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    for each, parameter in model.named_parameters():
        listen(each, parameter)
    history = recipe.fit(model, train, val, progress=False)

    (row,) = history.epochs
    assert math.isfinite(row["train_loss"])
    assert math.isfinite(row[f"val_{recipe.task.monitor}"])
    assert {name for name, size in heard.items() if 0 < size < math.inf} == {*before} - silent(
        model
    )
    still = {name for name, p in model.named_parameters() if torch.equal(p, before[name])}
    assert still <= silent(model)
    assert math.isfinite(evaluate(model, recipe.task, test)[recipe.task.monitor])
