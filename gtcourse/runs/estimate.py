"""Estimates of the time of a run, from a few steps on this machine, and of its memory.

The memory is counted without being allocated (:mod:`gtcourse.train.costs`).
"""

from __future__ import annotations

import copy
import math
import os
import time
from dataclasses import dataclass
from statistics import mean

import torch

from gtcourse.encodings import encode
from gtcourse.graphs.dataset import GraphDataset, MappedGraphs, collate
from gtcourse.graphs.loader import DenseLoader
from gtcourse.models import CGTConfig
from gtcourse.recipes.recipe import Recipe
from gtcourse.train.costs import step_costs, stretched
from gtcourse.train.loop import device, launch, own_random_state, steps_of, train_step

TIMED = 3
"""Batches that are timed, after one that is not."""


@dataclass(frozen=True)
class Estimate:
    """The time and the memory of a run.

    Attributes:
        batch: seconds of training on a batch of ordinary size.
        batches_per_epoch: batches in an epoch.
        steps_per_epoch: steps of the optimizer in an epoch, fewer than batches if gradients are
            accumulated.
        epochs: passes over the training graphs, at most.
        encoding: seconds for the encodings of all graphs.
        memory: bytes that training takes on a batch with the largest graph; None for models on
            lists of edges, whose memory depends on the number of edges.
        largest: nodes of that graph.
    """

    batch: float
    batches_per_epoch: int
    steps_per_epoch: int
    epochs: int
    encoding: float
    memory: int | None
    largest: int

    @property
    def seconds(self) -> float:
        """Seconds of the complete run, if every batch takes as long as one with its own step."""
        return self.encoding + self.batch * self.batches_per_epoch * self.epochs

    def sentence(self) -> str:
        """The estimate in one line, for a terminal."""
        text = (
            f"estimate: {in_words(self.seconds)} for {_counted(self.epochs, 'epoch')} of "
            f"{_counted(self.steps_per_epoch, 'step')} on this machine"
        )
        if self.memory is not None:
            text += (
                f"; {size_in_words(self.memory)} for a batch with the largest graph "
                f"({self.largest} nodes)"
            )
        return text


@own_random_state()
def estimate(recipe: Recipe, data: GraphDataset, accumulate: int = 1) -> Estimate | None:
    """Trains a new model on a few batches, and counts the memory of a step.

    Memory is counted first, so that a batch that is too large is detected before it is built.

    Args:
        recipe: the model and its training.
        data: the graphs of the run.
        accumulate: batches in an optimizer step.

    Returns:
        Estimate: None for a folder, whose graphs are not in memory.
    """
    if isinstance(data, MappedGraphs):
        return None
    graphs = data.train
    batch_size = min(recipe.batch_size, len(graphs))
    torch.manual_seed(0)
    model = recipe.build_model()
    memory, largest = memory_of(recipe, model, data, batch_size)
    by_size = sorted(graphs, key=lambda graph: graph.num_nodes)
    # Evenly spaced, and of ordinary size: the largest tenth is left to the count of memory.
    most = max(int(0.9 * len(by_size)), 1)
    count = min(batch_size * (1 + TIMED), most)
    sample = [by_size[i * most // count] for i in range(count)]
    start = time.perf_counter()
    encoded = encode(sample, *recipe.transforms)
    encoding = (time.perf_counter() - start) / count * len(data)
    loader = DenseLoader(encoded, batch_size, shuffle=True, target=data.target, device=device())
    batches_per_epoch = math.ceil(len(graphs) / recipe.batch_size)
    steps_per_epoch = steps_of(batches_per_epoch, accumulate)
    fabric = launch(device().type, 1, "32-true")
    model, optimizer, schedule = recipe.start(copy.deepcopy(model), steps_per_epoch)
    model, optimizer = fabric.setup(model, optimizer)
    seconds: list[float] = []
    while len(seconds) < 1 + TIMED:
        for batch in loader:
            start = time.perf_counter()
            train_step(
                fabric,
                model,
                recipe.task,
                [batch.to(device())],
                optimizer,
                schedule,
                recipe.grad_clip,
                recipe.flag,
            )
            if device().type == "cuda":
                torch.cuda.synchronize()
            seconds.append(time.perf_counter() - start)
    return Estimate(
        batch=mean(seconds[1:]),
        batches_per_epoch=batches_per_epoch,
        steps_per_epoch=steps_per_epoch,
        epochs=recipe.epochs_of(steps_per_epoch),
        encoding=encoding,
        memory=memory,
        largest=largest,
    )


def memory_of(
    recipe: Recipe, model: torch.nn.Module, data: GraphDataset, batch_size: int
) -> tuple[int | None, int]:
    """Bytes that a step takes on a batch with the largest graph, and the nodes of that graph.

    The bytes are None for models on lists of edges, and for CSA's fused form, because the loops
    that numba compiles cannot be counted.
    """
    largest = max(graph.num_nodes for graph in data)
    config = getattr(model, "config", None)
    if isinstance(config, CGTConfig) and config.form == "fused":
        return None, largest
    # Two small graphs show which tensors a batch has; they are not stretched in memory.
    small = sorted(data.train, key=lambda graph: (graph.num_edges == 0, graph.num_nodes))[:2]
    sample = collate(encode(small, *recipe.transforms), target=data.target)
    try:
        costs = step_costs(model, recipe.task, stretched(sample, batch_size, largest))
    except NotImplementedError:
        return None, largest
    return costs.memory, largest


def memory_of_machine() -> int | None:
    """Bytes of memory of the GPU or, without one, of the machine; None if it is unknown."""
    if torch.cuda.is_available():
        return torch.cuda.get_device_properties(torch.cuda.current_device()).total_memory
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def in_words(seconds: float) -> str:
    """Seconds, minutes or hours, to two digits."""
    if seconds < 90:
        return f"about {max(seconds, 1):.0f} s"
    if seconds < 5400:
        return f"about {seconds / 60:.0f} minutes"
    return f"about {seconds / 3600:,.0f} hours"


def size_in_words(size: int) -> str:
    """Bytes in MiB, or in GiB from 0.1 GiB on."""
    if size < 2**30 / 10:
        return f"{max(size / 2**20, 1):.0f} MiB"
    return f"{size / 2**30:.1f} GiB"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
