"""What :func:`gtcourse.training.fit.fit` refuses before it begins."""

from __future__ import annotations

import inspect

from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau

from gtcourse.graphs.arguments import a_seed, at_least, positive
from gtcourse.graphs.loader import DenseLoader
from gtcourse.training.tasks import Task


def refuse_numbers(epochs, lr, patience, stop_below_lr, grad_clip, seed) -> None:
    at_least(1, epochs=epochs, **({} if patience is None else {"patience": patience}))
    if lr != 0:  # which moves nothing, and is of use to look on
        positive(lr=lr)
    a_seed(seed=seed)
    for name, value in (("stop_below_lr", stop_below_lr), ("grad_clip", grad_clip)):
        if value is not None:
            positive(**{name: value})


def refuse_what_does_not_fit(train, val, optimizer, schedule, patience) -> None:
    for loader in (train, val):
        if loader is not None:
            refuse_empty(loader)
    if patience is not None and val is None:
        raise ValueError("patience needs validation data to look at; expected val as well.")
    if schedule is not None and schedule.optimizer is not optimizer:
        raise ValueError(
            "the schedule moves the learning rate of another optimizer; expected the one that is "
            "given as optimizer."
        )
    if isinstance(schedule, ReduceLROnPlateau) and val is None:
        raise ValueError(
            "ReduceLROnPlateau needs validation data to look at; expected val as well."
        )


def refuse_to_keep_nowhere(out, checkpoint_every, tensorboard) -> None:
    if checkpoint_every is not None:
        at_least(1, checkpoint_every=checkpoint_every)
    for name, wanted in (("checkpoint_every", checkpoint_every), ("tensorboard", tensorboard)):
        if wanted and out is None:
            raise ValueError(f"{name} needs a folder for its files; expected out as well.")


def refuse_a_model_that_cannot_be_asked(model: nn.Module, task: Task) -> None:
    try:
        inspect.signature(model.forward).bind(None, **task.asks)
    except TypeError:
        asked = "".join(f", {name}={value!r}" for name, value in task.asks.items())
        raise ValueError(
            f"{type(model).__name__} cannot be trained on {task.name}; expected a model that is "
            f"called as model(batch{asked})."
        ) from None


def refuse_empty(loader: DenseLoader) -> None:
    if len(loader) == 0:
        raise ValueError(
            "the loader has no batches; expected at least one (drop_last leaves out a batch that "
            "is not full)."
        )
