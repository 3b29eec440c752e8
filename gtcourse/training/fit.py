"""The training loop: any model, any task, any device; interrupted anywhere, it resumes.

One epoch reads as in a textbook. Around it: Lightning Fabric for devices and precision, a progress
bar, the best weights by validation, early stopping, and checkpoints.
"""

from __future__ import annotations

import time
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.optim import Adam, Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from tqdm import tqdm

from gtcourse.graphs.batch import GraphBatch
from gtcourse.graphs.loader import DenseLoader
from gtcourse.training.board import Board
from gtcourse.training.budget import device
from gtcourse.training.checkpoints import Checkpoint, alone_in, write_curve
from gtcourse.training.epoch import Part, train_epoch
from gtcourse.training.fit_arguments import (
    refuse_a_model_that_cannot_be_asked,
    refuse_empty,
    refuse_numbers,
    refuse_to_keep_nowhere,
    refuse_what_does_not_fit,
)
from gtcourse.training.flag import Flag
from gtcourse.training.processes import launch
from gtcourse.training.step import compiled, train_step
from gtcourse.training.tasks import Task


@dataclass
class History:
    """What a run did.

    Attributes:
        epochs: a row for each epoch: epoch, lr, train_loss, val_<metric> and the seconds it took.
        best: the row with the best monitored metric, of which the model has the weights; the last
            row where there was no validation.
        steps: of the optimiser.
    """

    epochs: list[dict[str, float]] = field(default_factory=list)
    best: dict[str, float] | None = None
    steps: int = 0

    @property
    def seconds(self) -> float:
        return sum(row["seconds"] for row in self.epochs)

    def column(self, name: str) -> list[float]:
        return [row[name] for row in self.epochs]


def fit(
    model: nn.Module,
    task: Task,
    train: DenseLoader,
    val: DenseLoader | None = None,
    *,
    epochs: int,
    lr: float = 1e-3,
    optimizer: Optimizer | None = None,
    schedule: LRScheduler | ReduceLROnPlateau | None = None,
    patience: int | None = None,
    stop_below_lr: float | None = None,
    grad_clip: float | None = None,
    flag: Flag | None = None,
    precision: str = "32-true",
    compile: bool | str = False,
    devices: int = 1,
    seed: int = 0,
    out: Path | str | None = None,
    checkpoint_every: int | None = None,
    tensorboard: bool = False,
    progress: bool = True,
) -> History:
    """Trains ``model`` in place and leaves it with its best weights by validation.

    Args:
        train, val: loaders; ``train`` is shuffled by its own seed and the epoch, and says so in its
            ``order``. Best on the device of :func:`gtcourse.device`, where the model is trained;
            otherwise each batch is moved there.
        epochs: passes over ``train``, at most.
        lr: Adam's, where no ``optimizer`` is given.
        schedule: moves the learning rate of ``optimizer`` after each step; a
            ``ReduceLROnPlateau`` after each epoch.
        patience: stop after this many epochs without a better monitored metric.
        stop_below_lr: stop before an epoch whose learning rate would be below this.
        grad_clip: the largest norm of the gradient.
        flag: takes each step against node embeddings that it perturbs
            (:class:`gtcourse.training.flag.Flag`); the training loss is then the mean over its
            passes.
        precision: Fabric's: "32-true" or "bf16-mixed".
        compile: use ``torch.compile``; a word is its mode, such as "reduce-overhead", which replays
            CUDA graphs and wants batches of few shapes
            (:class:`~gtcourse.graphs.loader.DenseLoader`).
        devices: processes on this machine, each with a device of its own, or on a CPU with one
            thread; each takes its share of every batch. Under ``torchrun`` its number counts.
        seed: of dropout, and of whatever else is random in training.
        out: a folder for ``last.ckpt`` and ``curve.csv``. If it holds a run's checkpoint, that run
            is continued after it: on a CPU, bit for bit what it would have been.
        checkpoint_every: a checkpoint after so many steps of an epoch, besides the one at its end.
            Several processes draw other random numbers after it, so for them it is a part of what
            the run is.
        tensorboard: also log the curve for TensorBoard, below ``out``.
        progress: show a bar while it runs.

    Returns:
        History: the curve. Its seconds include those of the epochs before a resumption.

    Raises:
        ValueError: there is nothing to do, arguments do not fit together, ``out`` holds the
            checkpoint of another run, or another process is training there.
        RuntimeError: the training loss is no longer a finite number.
        OSError: ``out`` cannot be written. The run goes on from its last checkpoint when it can.
    """
    refuse_numbers(epochs, lr, patience, stop_below_lr, grad_clip, seed)
    refuse_what_does_not_fit(train, val, optimizer, schedule, patience)
    refuse_to_keep_nowhere(out, checkpoint_every, tensorboard)
    refuse_a_model_that_cannot_be_asked(model, task)
    if flag is not None:
        flag.refuse(model)

    fabric = launch(device().type, devices, precision)
    rank, world = fabric.global_rank, fabric.world_size
    if world > 1:
        train = train.shard(rank, world, even=True)
        val = None if val is None else val.shard(rank, world, even=False)
    optimizer = optimizer or Adam(model.parameters(), lr=lr)
    torch.manual_seed(seed)
    # The wrapped model shares its weights with the caller's.
    wrapped, wrapped_optimizer = fabric.setup(compiled(model, compile), optimizer)
    judged = wrapped if world == 1 else model  # DDP's forward waits for the other processes
    with alone_in(out), ExitStack() as to_close:
        history = History()
        checkpoint = None
        if out is not None:
            settings = {"task": task.name, "flag": repr(flag), "grad_clip": repr(grad_clip)}
            settings |= {"training data": train.order}
            settings |= _config(model)  # variants of a model may have weights of the same shapes
            checkpoint = Checkpoint(Path(out), model, optimizer, schedule, seed, **settings)
            history = History(**checkpoint.load())
            if history.epochs and rank == 0:  # the kill may have come just before its curve
                write_curve(Path(out) / "curve.csv", history.epochs)
        best_weights = checkpoint.best_weights if checkpoint else None
        reached = checkpoint.part if checkpoint else None  # of an epoch that was interrupted
        board = None
        if tensorboard and rank == 0:
            board = to_close.enter_context(closing(Board(Path(out) / "tensorboard")))

        def step(batch: GraphBatch) -> Tensor:
            return train_step(
                fabric, wrapped, task, batch, wrapped_optimizer, schedule, grad_clip, flag
            )

        def begin(part: Part) -> None:
            if world > 1:  # the checkpoint holds the random state of one process alone
                torch.manual_seed(hash((seed, part.epoch, part.batches, rank)))

        def save(part: Part | None = None) -> None:
            if checkpoint is not None and rank == 0:
                checkpoint.save(asdict(history), best_weights, part)
            if part is not None:
                begin(part)

        bar = _bar(range(len(history.epochs), epochs), progress and rank == 0)
        for epoch in bar:
            rate = optimizer.param_groups[0]["lr"]
            too_slow = stop_below_lr is not None and rate < stop_below_lr
            if not reached and (too_slow or _patience_is_over(history, patience)):
                break
            part, reached = reached or Part(epoch, rate, len(train)), None
            start = time.perf_counter() - part.seconds
            begin(part)
            wrapped.train()
            done = train_epoch(fabric, train, step, part, checkpoint_every, save)
            history.steps += done.batches
            row = {"epoch": epoch, "lr": part.lr, "train_loss": done.loss / done.graphs}
            if val is not None:
                scores = evaluate(judged, task, val)
                row |= {f"val_{name}": value for name, value in scores.items()}
                if isinstance(schedule, ReduceLROnPlateau):
                    schedule.step(scores[task.monitor])
            row["seconds"] = time.perf_counter() - start
            history.epochs.append(row)
            if _is_best(task, row, history.best, val is not None):
                history.best = row
                best_weights = {k: v.detach().clone() for k, v in model.state_dict().items()}
            save()
            if checkpoint is not None and rank == 0:
                write_curve(Path(out) / "curve.csv", history.epochs)
            if board is not None:
                board.write(row, epoch)
            bar.set_postfix(
                {k: f"{v:.4g}" for k, v in row.items() if k not in ("epoch", "seconds")}
            )
        if best_weights is not None:
            model.load_state_dict(best_weights)
        return history


@torch.no_grad()
def evaluate(model: nn.Module, task: Task, loader: DenseLoader) -> dict[str, float]:
    """The task's metrics over all graphs of a loader; the model is in eval mode meanwhile."""
    refuse_empty(loader)
    was_training = model.training
    model.eval()
    where = next(model.parameters()).device
    metrics = task.metrics().to(where)
    for batch in loader:
        batch = batch.to(where)  # costs nothing where the loader is there already
        task.update(metrics, model(batch), batch)
    model.train(was_training)
    return {name: float(value) for name, value in metrics.compute().items()}


def count_parameters(model: nn.Module) -> int:
    """Trainable numbers of a model."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def _config(model: nn.Module) -> dict[str, str]:
    """Each setting of a model that has a configuration, by name."""
    config = getattr(model, "config", None)
    if not is_dataclass(config):
        return {}
    return {f"model's {f.name}": repr(getattr(config, f.name)) for f in fields(config)}


def _is_best(task: Task, row: dict, best: dict | None, validated: bool) -> bool:
    if not validated:
        return True
    name = f"val_{task.monitor}"
    return task.improves(row[name], None if best is None else best[name])


def _patience_is_over(history: History, patience: int | None) -> bool:
    if patience is None or not history.epochs:
        return False
    best_epoch = -1 if history.best is None else history.best["epoch"]
    return history.epochs[-1]["epoch"] - best_epoch >= patience


def _bar(epochs: range, progress: bool) -> tqdm:
    # `disable` is given only to switch the bar off, so that TQDM_DISABLE=1 can do so as well.
    return tqdm(epochs, unit="epoch", leave=False, **({} if progress else {"disable": True}))
