"""One training step, for the loop and for whoever measures it."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from gtcourse.graphs.batch import GraphBatch
from gtcourse.training.flag import Flag
from gtcourse.training.processes import weight_among_processes
from gtcourse.training.tasks import Task


def train_step(
    fabric,
    model: nn.Module,
    task: Task,
    batch: GraphBatch,
    optimizer: Optimizer,
    schedule: LRScheduler | ReduceLROnPlateau | None = None,
    grad_clip: float | None = None,
    flag: Flag | None = None,
) -> Tensor:
    """Moves the weights once and returns the loss, without a word that a GPU would be waited for.

    Args:
        fabric, model, optimizer: as set up by Fabric; schedule: moved after the step, unless it
            looks at validation. Others as of :func:`gtcourse.training.fit.fit`.
    """
    optimizer.zero_grad()
    weight = weight_among_processes(fabric, task, batch)
    if flag is None:
        loss = task.loss(model(batch, **task.asks), batch)
        fabric.backward(loss * weight)
    else:
        loss = flag.backward(model, task, batch, lambda part: fabric.backward(part * weight))
    if grad_clip is not None:
        # Whether the norm is finite is not asked here: the answer would have to be waited for.
        fabric.clip_gradients(model, optimizer, max_norm=grad_clip, error_if_nonfinite=False)
    optimizer.step()
    if isinstance(schedule, LRScheduler) and not isinstance(schedule, ReduceLROnPlateau):
        schedule.step()
    return loss.detach()


def compiled(model: nn.Module, mode: bool | str) -> nn.Module:
    """The model by ``torch.compile``, in a mode if it is a word; as it is if that is False."""
    if not mode:
        return model
    # One graph for each shape: those that serve all shapes cannot be replayed.
    return torch.compile(model) if mode is True else torch.compile(model, mode=mode, dynamic=False)
