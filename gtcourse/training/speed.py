"""How long a recipe's training step takes on this machine, what it holds, and the whole run."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import chain, repeat
from statistics import median

import torch

from gtcourse.graphs.arguments import at_least
from gtcourse.graphs.batch import GraphBatch
from gtcourse.training.budget import device
from gtcourse.training.costs import step_costs
from gtcourse.training.fit import compiled, launch, train_step
from gtcourse.training.recipe import Recipe
from gtcourse.training.records import device_name
from gtcourse.training.run import Graphs, for_compiler, loaders


def measure(
    recipe: Recipe,
    data: Graphs,
    *,
    steps: int = 20,
    precision: str = "32-true",
    compile: bool | str = False,
    buckets: int = 1,
) -> dict[str, str]:
    """The medians of ``steps`` steps and forward passes, after as many to warm up, with units.

    Both include making the batch. On a CPU, memory is counted for one batch
    (:func:`~gtcourse.training.costs.step_costs`), in float32 and not compiled.

    Raises:
        ValueError: ``steps`` is below 1.
    """
    at_least(1, steps=steps, buckets=buckets)
    recipe = for_compiler(recipe) if compile else recipe
    train, *_ = loaders(recipe, data, 0, buckets, few_shapes=isinstance(compile, str))
    fabric = launch(device().type, 1, precision)
    model, optimizer, schedule = recipe.start(recipe.build_model(), len(train))
    model, optimizer = fabric.setup(compiled(model, compile), optimizer)
    batches = chain.from_iterable(repeat(train))

    def step() -> None:
        rest = optimizer, schedule, recipe.grad_clip, recipe.flag
        train_step(fabric, model, recipe.task, next(batches), *rest)

    @torch.no_grad()
    def forward() -> None:
        model(next(batches))

    trained = seconds(step, steps)
    model.eval()
    predicted = seconds(forward, steps)
    epochs = recipe.steps / len(train) if recipe.steps else recipe.epochs
    return {
        "device": device_name(),
        "step": f"{1000 * trained:.2f} ms of {recipe.batch_size} graphs",
        "forward": f"{1000 * predicted:.2f} ms",
        "graphs per second": f"{recipe.batch_size / trained:,.0f}",
        "epoch": f"{trained * len(train):.2f} s of {len(train)} steps",
        "whole recipe": f"{trained * len(train) * epochs / 3600:.2f} hours",
        "peak memory": peak_memory(recipe, next(batches)),
    }


def seconds(step: Callable[[], None], steps: int) -> float:
    """The median of ``steps`` calls, after as many to warm up."""
    times = []
    for _ in range(2 * steps):
        start = time.perf_counter()
        step()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return median(times[steps:])


def peak_memory(recipe: Recipe, batch: GraphBatch) -> str:
    """As it was on a GPU; elsewhere as it is counted for this batch."""
    if device().type == "cuda":
        return f"{torch.cuda.max_memory_allocated() / 2**20:,.0f} MiB"
    counted = step_costs(recipe.build_model(), recipe.task, batch)
    held = f"{counted.activations / 2**20:,.0f} of it for the step alone"
    return f"{counted.memory / 2**20:,.0f} MiB, {held} (counted)"
