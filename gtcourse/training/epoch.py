"""One pass over the training graphs, which can stop in the middle and go on from there."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from torch import Tensor

from gtcourse.graphs.batch import GraphBatch
from gtcourse.training.processes import sums_over_processes


@dataclass(frozen=True)
class Part:
    """How far an epoch has come, over all processes.

    Attributes:
        epoch: its number; lr: the learning rate that it began with.
        of: how many batches it has; batches: that are over.
        loss: the sum of the graphs' losses; graphs: that had one; seconds: that it took.
    """

    epoch: int
    lr: float
    of: int
    batches: int = 0
    loss: float = 0.0
    graphs: int = 0
    seconds: float = 0.0


def train_epoch(
    fabric,
    loader,
    step: Callable[[GraphBatch], Tensor],
    part: Part,
    every: int | None,
    save: Callable[[Part], None],
) -> Part:
    """The rest of an epoch: all of it, where ``part`` is its beginning.

    Args:
        loader: a :class:`~gtcourse.graphs.loader.DenseLoader`, or another with its ``set_epoch``.
        step: moves the weights by a batch and returns its loss.
        every: call ``save`` after so many batches, again and again, except at the epoch's end.

    Raises:
        ValueError: ``part`` is of an epoch of more or fewer batches than the loader's.
        RuntimeError: the loss is no longer a finite number.
    """
    _refuse_another_epoch(part, loader)
    start = time.perf_counter()
    loader.set_epoch(part.epoch, part.batches)
    batches, total, graphs = part.batches, *_own(fabric, part)

    def so_far() -> Part:
        loss, number = sums_over_processes(fabric, total, graphs)
        seconds = part.seconds + time.perf_counter() - start
        reached = replace(part, batches=batches, loss=loss, graphs=number, seconds=seconds)
        _refuse_divergence(reached)
        return reached

    for batch in loader:
        batch = batch.to(fabric.device)
        # Summed on the device: reading it here would make the device wait at every step.
        total = total + step(batch) * batch.num_graphs
        graphs += batch.num_graphs
        batches += 1
        if every is not None and batches % every == 0 and batches < len(loader):
            reached = so_far()
            save(reached)
            total, graphs = _own(fabric, reached)  # as they will be, should it go on from here
    return so_far()


def _own(fabric, part: Part) -> tuple[float, int]:
    """The first process goes on with the sums of all."""
    return (part.loss, part.graphs) if fabric.global_rank == 0 else (0.0, 0)


def _refuse_another_epoch(part: Part, loader) -> None:
    if part.of != len(loader):
        raise ValueError(
            f"the run stopped after {part.batches} of {part.of} batches of epoch {part.epoch}, and "
            f"the loader has {len(loader)}; expected the data, batch size and number of processes "
            "that the epoch began with."
        )


def _refuse_divergence(part: Part) -> None:
    loss = part.loss / part.graphs
    if not math.isfinite(loss):
        raise RuntimeError(
            f"the training loss is {loss} in epoch {part.epoch}; expected a finite number. A lower "
            "learning rate or a gradient clipped by its norm may help."
        )
