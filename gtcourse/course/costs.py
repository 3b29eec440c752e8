"""What a training step costs: counted with tensors without values, and measured on this machine.

Steps are counted by :mod:`gtcourse.train.costs`. At every moment of a step, a graph of N nodes
takes a + b N + c N² bytes (:class:`StepFormula`). The peak is the largest of these values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, repeat

import numpy as np
import torch
from torch import nn
from torch.utils.benchmark import Timer

from gtcourse.course.records import measurement
from gtcourse.graphs.arguments import whole_number
from gtcourse.graphs.batch import GraphBatch
from gtcourse.graphs.dataset import GraphDataset
from gtcourse.recipes import Recipe, as_recipe
from gtcourse.runs.record import device_name
from gtcourse.runs.run import check_data, loaders
from gtcourse.train.costs import StepCosts, step_costs, stretched
from gtcourse.train.loop import compiled, device, launch, train_step
from gtcourse.train.tasks import Task


def against_nodes(
    model: nn.Module, task: Task, batch: GraphBatch, nodes: Sequence[int], graphs: int = 1
) -> list[StepCosts]:
    """The costs of a step for ``graphs`` graphs like those of ``batch``, at several sizes."""
    return [step_costs(model, task, stretched(batch, graphs, N)) for N in nodes]


@dataclass(frozen=True)
class StepFormula:
    """The costs of one training step for B graphs of N nodes, in single precision.

    Attributes:
        parameters, gradients, optimizer: bytes, for any B and N.
        flops: a, b, c of the operations in matrix products, a + b N + c N² for a graph.
        activations: a, b, c for each of several moments, in bytes for a graph.
    """

    parameters: int
    gradients: int
    optimizer: int
    flops: tuple[float, float, float]
    activations: tuple[tuple[float, float, float], ...]

    def held(self, graphs: int, nodes: int) -> float:
        """Bytes of the graphs at the moment with the largest memory."""
        return graphs * max(float(np.polyval(abc[::-1], nodes)) for abc in self.activations)

    def memory(self, graphs: int, nodes: int) -> float:
        return self.parameters + self.gradients + self.optimizer + self.held(graphs, nodes)

    def products(self, graphs: int, nodes: int) -> float:
        """Floating-point operations in matrix products."""
        return graphs * float(np.polyval(self.flops[::-1], nodes))


def recorded_formulas() -> dict[str, StepFormula]:
    """Formulas of the leaderboard's dense models, by name (``python -m experiments.chapter12``)."""
    formulas = measurement("step-formulas")["formulas"]
    return {name: StepFormula(**formula) for name, formula in formulas.items()}


def measure(
    recipe: Recipe | str,
    data: GraphDataset,
    *,
    steps: int = 20,
    precision: str = "32-true",
    compile: bool = False,
    buckets: int = 1,
) -> dict[str, str]:
    """Mean times of ``steps`` training steps and forward passes, after as many to warm up.

    Both include building the batch. On a CPU, memory is counted for one full batch
    (:func:`step_costs`), in float32 and without compilation.
    """
    recipe = as_recipe(recipe)
    check_data(recipe, data)
    steps = whole_number("steps", steps, 1)
    train, *_ = loaders(recipe, data, 0, buckets, static_shapes=compile)
    fabric = launch(device().type, 1, precision)
    model, optimizer, schedule = recipe.start(recipe.build_model(), len(train))
    model, optimizer = fabric.setup(compiled(model, compile), optimizer)
    batches = chain.from_iterable(repeat(train))

    def step() -> None:
        train_step(
            fabric,
            model,
            recipe.task,
            [next(batches)],
            optimizer,
            schedule,
            recipe.grad_clip,
            recipe.flag,
        )

    @torch.no_grad()
    def forward() -> None:
        model(next(batches))

    trained = _seconds(step, steps)
    model.eval()
    predicted = _seconds(forward, steps)
    if device().type == "cuda":
        memory = f"{torch.cuda.max_memory_allocated() / 2**20:,.0f} MiB"
    else:
        # The last batch of an epoch, or of a bucket, has fewer graphs.
        graphs = min(recipe.batch_size, train.num_graphs)
        full = next(batch for batch in batches if batch.num_graphs == graphs)
        counted = step_costs(recipe.build_model(), recipe.task, full)
        held = f"{counted.activations / 2**20:,.0f} of it for the step alone"
        memory = f"{counted.memory / 2**20:,.0f} MiB, {held} (counted)"
    epochs = recipe.steps / len(train) if recipe.steps else recipe.epochs
    return {
        "device": device_name(),
        "step": f"{1000 * trained:.2f} ms of {recipe.batch_size} graphs",
        "forward": f"{1000 * predicted:.2f} ms",
        "graphs per second": f"{recipe.batch_size / trained:,.0f}",
        "epoch": f"{trained * len(train):.2f} s of {len(train)} steps",
        "whole recipe": f"{trained * len(train) * epochs / 3600:.2f} hours",
        "peak memory": memory,
    }


def _seconds(step: Callable[[], None], steps: int) -> float:
    threads = torch.get_num_threads()
    timer = Timer("step()", globals={"step": step}, num_threads=threads)
    timer.timeit(steps)
    return timer.timeit(steps).mean
