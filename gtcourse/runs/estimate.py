"""Estimates of the time of a run, from a few steps on this machine, and of its memory.

The memory is counted without being allocated (:mod:`gtcourse.train.costs`).
"""

from __future__ import annotations

import copy
import math
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import mean

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from gtcourse.encodings import encode
from gtcourse.graphs.batch import GraphBatch
from gtcourse.graphs.dataset import GraphDataset, MappedGraphs, collate
from gtcourse.graphs.loader import DenseLoader
from gtcourse.recipes.recipe import Recipe
from gtcourse.train.costs import kept_bytes, step_costs, stretched
from gtcourse.train.loop import device, launch, own_random_state, steps_of, train_step

TIMED = 3
"""Batches that are timed, after one that is not."""


@dataclass(frozen=True)
class Estimate:
    """The time and the memory of a run.

    Attributes:
        batch: mean seconds of training on a batch.
        batches_per_epoch: batches in an epoch.
        steps_per_epoch: steps of the optimizer in an epoch, fewer than batches if gradients are
            accumulated.
        epochs: passes over the training graphs, at most.
        encoding: seconds for the encodings of all graphs. Those of a graph are taken to grow with
            the square of its nodes.
        memory: bytes that training takes on a batch with the largest graph; None where they cannot
            be counted, as for models on lists of edges.
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
def estimate(
    recipe: Recipe, data: GraphDataset, accumulate: int = 1, buckets: int = 1
) -> Estimate | None:
    """Trains a new model on a few batches, and counts the memory of a step.

    Memory is counted first, so that a batch that is too large is detected before it is built. The
    batches that are timed have graphs of ordinary size. The time of the others is in proportion to
    the bytes that a step stores for them, because a padded batch with one large graph can take
    longer than all others together.

    Args:
        recipe: the model and its training.
        data: the graphs of the run.
        accumulate: batches in an optimizer step.
        buckets: size buckets of the run, as of :class:`gtcourse.graphs.DenseLoader`.

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
    # Evenly spaced, and of ordinary size: of the largest tenth only bytes are counted.
    most = max(int(0.9 * len(by_size)), 1)
    count = min(batch_size * (1 + TIMED), most)
    sample = [by_size[i * most // count] for i in range(count)]
    start = time.perf_counter()
    encoded = encode(sample, *recipe.transforms)
    seconds_of_pair = (time.perf_counter() - start) / _pairs(sample)
    work = work_of(recipe, model, data)
    nodes_of_sample, edges_of_sample = _sizes(sample)
    loader = DenseLoader(encoded, batch_size, shuffle=True, target=data.target, device=device())
    batches_per_epoch = math.ceil(len(graphs) / recipe.batch_size)
    steps_per_epoch = steps_of(batches_per_epoch, accumulate)
    fabric = launch(device().type, 1, "32-true")
    model, optimizer, schedule = recipe.start(copy.deepcopy(model), steps_per_epoch)
    model, optimizer = fabric.setup(model, optimizer)
    seconds: list[float] = []
    works: list[float] = []
    while len(seconds) < 1 + TIMED:
        rows_of_batches = loader.graphs_of_batches(loader.epoch)
        for batch, rows in zip(loader, rows_of_batches, strict=True):
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
            works.append(work(nodes_of_sample[rows], edges_of_sample[rows]))
    nodes, edges = _sizes(graphs)
    epoch = DenseLoader(graphs, recipe.batch_size, shuffle=True, buckets=buckets)
    works_of_epoch = [work(nodes[rows], edges[rows]) for rows in epoch.graphs_of_batches(0)]
    return Estimate(
        batch=sum(seconds[1:]) / sum(works[1:]) * mean(works_of_epoch),
        batches_per_epoch=batches_per_epoch,
        steps_per_epoch=steps_per_epoch,
        epochs=recipe.epochs_of(steps_per_epoch),
        encoding=seconds_of_pair * _pairs(data),
        memory=memory,
        largest=largest,
    )


def work_of(
    recipe: Recipe, model: torch.nn.Module, data: GraphDataset
) -> Callable[[Tensor, Tensor], float]:
    """A measure of a step's time, in a unit of its own, of the nodes and edges of a batch's graphs.

    It is the number of bytes that the step stores for the backward pass. For padded batches, this
    is nearly a quadratic function of the largest graph's nodes, which three counts give. Where the
    bytes cannot be counted, as for models on lists of edges, it is the number of nodes and edges.
    """
    sample = _small_batch(recipe, data)
    widths = np.array([8, 16, 32])
    try:
        bytes_of_widths = [
            kept_bytes(model, recipe.task, stretched(sample, 1, width)) for width in widths.tolist()
        ]
    except NotImplementedError:
        return lambda nodes, edges: float(nodes.sum() + edges.sum())
    kept = np.polynomial.Polynomial.fit(widths, bytes_of_widths, deg=2)
    return lambda nodes, edges: float(len(nodes) * kept(int(nodes.max())))


def _sizes(graphs: Iterable[Data]) -> tuple[Tensor, Tensor]:
    """The nodes and the edges of each graph."""
    sizes = torch.tensor([(graph.num_nodes, graph.num_edges) for graph in graphs])
    nodes, edges = sizes.unbind(dim=1)
    return nodes, edges


def _pairs(graphs: Iterable[Data]) -> int:
    """The pairs of nodes of all graphs."""
    nodes, _ = _sizes(graphs)
    return int(nodes.square().sum())


def _small_batch(recipe: Recipe, data: GraphDataset) -> GraphBatch:
    """Two small graphs, which show the tensors of a batch. They are not stretched in memory."""
    small = sorted(data.train, key=lambda graph: (graph.num_edges == 0, graph.num_nodes))[:2]
    return collate(encode(small, *recipe.transforms), target=data.target)


def memory_of(
    recipe: Recipe, model: torch.nn.Module, data: GraphDataset, batch_size: int
) -> tuple[int | None, int]:
    """Bytes that a step takes on a batch with the largest graph, and the nodes of that graph.

    The bytes are None where :func:`gtcourse.train.costs.step_costs` cannot count them.
    """
    largest = max(graph.num_nodes for graph in data)
    sample = _small_batch(recipe, data)
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
