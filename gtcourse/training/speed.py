"""How long a recipe's training step takes on this machine, and so its whole run."""

from __future__ import annotations

import time
from itertools import chain, repeat
from statistics import median

import torch

from gtcourse.graphs.dataset import GraphDataset
from gtcourse.training.budget import device
from gtcourse.training.processes import launch
from gtcourse.training.recipe import Recipe
from gtcourse.training.records import device_name
from gtcourse.training.run import for_compiler, loaders
from gtcourse.training.step import compiled, train_step


def measure(
    recipe: Recipe,
    data: GraphDataset,
    *,
    steps: int = 20,
    precision: str = "32-true",
    compile: bool | str = False,
    buckets: int = 1,
) -> dict[str, str]:
    """The median of ``steps`` steps, after as many to warm up, as text with units.

    A step begins with making its batch. A GPU is waited for once a step, or what is measured would
    be how fast it is given work.

    Raises:
        ValueError: ``steps`` is below 1.
    """
    if steps < 1:
        raise ValueError(f"steps is {steps}; expected 1 or more.")
    recipe = for_compiler(recipe) if compile else recipe
    train, *_ = loaders(recipe, data, 0, buckets, few_shapes=isinstance(compile, str))
    fabric = launch(device().type, 1, precision)
    model, optimizer, schedule = recipe.start(recipe.build_model(), len(train))
    model, optimizer = fabric.setup(compiled(model, compile), optimizer)
    seconds = []
    batches = chain.from_iterable(repeat(train))
    for _ in range(2 * steps):
        start = time.perf_counter()
        batch = next(batches)
        train_step(
            fabric, model, recipe.task, batch, optimizer, schedule, recipe.grad_clip, recipe.flag
        )
        if batch.mask.is_cuda:
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    step = median(seconds[steps:])
    epochs = recipe.steps / len(train) if recipe.steps else recipe.epochs
    measured = {
        "device": device_name(),
        "step": f"{1000 * step:.2f} ms of {recipe.batch_size} graphs",
        "graphs per second": f"{recipe.batch_size / step:,.0f}",
        "epoch": f"{step * len(train):.2f} s of {len(train)} steps",
        "whole recipe": f"{step * len(train) * epochs / 3600:.2f} hours",
    }
    if device().type == "cuda":
        measured["peak memory"] = f"{torch.cuda.max_memory_allocated() / 2**20:,.0f} MiB"
    return measured
