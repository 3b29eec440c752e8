"""The training loop: any model, any task, any device; interrupted anywhere, it resumes.

Lightning Fabric handles devices, precision and processes. Each of several processes has its share
of every batch, and together they have the same gradient as one.
"""

from __future__ import annotations

import inspect
import math
import time
import warnings
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.optim import Adam, Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from tqdm import tqdm

from gtcourse.graphs.arguments import a_seed, at_least, positive
from gtcourse.graphs.batch import GraphBatch
from gtcourse.graphs.loader import DenseLoader
from gtcourse.training.budget import device
from gtcourse.training.checkpoint import Board, Checkpoint, exclusive, write_curve
from gtcourse.training.flag import Flag
from gtcourse.training.processes import launch, sums_over_processes, weight_among_processes
from gtcourse.training.tasks import Task


@dataclass
class History:
    """What a run did.

    Attributes:
        epochs: a row for each epoch: epoch, lr, train_loss, val_<metric> and the seconds it took.
        best: the row with the best monitored metric, of which the model has the weights; the last
            row where there was no validation; None where the metric was never a number.
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


@dataclass
class Progress:
    """How far an epoch has come, over all processes.

    Attributes:
        epoch: its number; lr: the learning rate that it began with; of: its number of batches.
        batches: that are over; loss: the sum of the graphs' losses; graphs: that had one.
        seconds: that it took.
    """

    epoch: int
    lr: float
    of: int
    batches: int = 0
    loss: float = 0.0
    graphs: int = 0
    seconds: float = 0.0


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
        train, val: loaders; ``train`` is shuffled by its own seed and the epoch. Best on the device
            of :func:`gtcourse.device`; otherwise each batch is moved there.
        epochs: passes over ``train``, at most.
        lr: Adam's, where no ``optimizer`` is given.
        schedule: moves the learning rate of ``optimizer`` after each step; a
            ``ReduceLROnPlateau`` after each epoch.
        patience: stop after this many epochs without a better monitored metric.
        stop_below_lr: stop before an epoch whose learning rate would be below this.
        grad_clip: the largest norm of the gradient.
        flag: perturbs the node embeddings in each step (:class:`gtcourse.training.flag.Flag`); the
            training loss is then the mean over its passes.
        precision: Fabric's: "32-true" or "bf16-mixed".
        compile: use ``torch.compile``; a word is its mode, such as "reduce-overhead", which replays
            CUDA graphs and wants batches of few shapes.
        devices: processes on this machine. Under ``torchrun`` its number counts.
        seed: of dropout, and of whatever else is random in training.
        out: a folder for ``last.ckpt`` and ``curve.csv``. If it holds a run's checkpoint, that run
            is continued: on a CPU, bit for bit what it would have been.
        checkpoint_every: a checkpoint after so many steps of an epoch, besides the one at its end.
            Several processes draw other random numbers after it.
        tensorboard: also log the curve for TensorBoard, below ``out``.
        progress: show a bar while it runs.

    Returns:
        History: the curve. Its seconds include those of the epochs before a resumption.

    Raises:
        ValueError: arguments do not fit together, nothing can be learned from the targets or with
            the optimizer, ``out`` holds the checkpoint of another run, or another process is
            training there.
        TypeError: a loader is not one of the course's.
        RuntimeError: the training loss is no longer a finite number.
        OSError: ``out`` cannot be written. The run can be continued from its last checkpoint.
    """
    at_least(1, epochs=epochs, patience=1 if patience is None else patience)
    a_seed(seed=seed)
    limits = {"lr": lr or None, "stop_below_lr": stop_below_lr, "grad_clip": grad_clip}
    positive(**{name: value for name, value in limits.items() if value is not None})
    _check_loaders(train, val, optimizer, schedule, patience)
    check_output(out, checkpoint_every, tensorboard)
    _check_model(model, task, optimizer, flag)
    for loader in (train, val):
        if getattr(loader, "targets", None) is not None:  # what is streamed is not held anywhere
            task.check(loader.targets, validation=loader is val)

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
    history, best_weights, current, checkpoint, board = History(), None, None, None, None
    with ExitStack() as stack:
        if out is not None:
            out = Path(out)
            if rank == 0:
                stack.enter_context(exclusive(out))
            run = (
                {"seed": str(seed)}
                | _identity(model, optimizer, schedule)
                | {
                    "task": task.name,
                    "flag": repr(flag),
                    "grad_clip": repr(grad_clip),
                    "training data": train.order,
                }
            )
            checkpoint = Checkpoint(out, run, model=model, optimizer=optimizer, schedule=schedule)
            if state := checkpoint.load():
                history, best_weights = History(**state["history"]), state["best_weights"]
                current = state["current"] and Progress(**state["current"])
                if history.epochs and rank == 0:  # the kill may have come just before its curve
                    write_curve(out / "curve.csv", history.epochs)
            if tensorboard and rank == 0:
                board = stack.enter_context(closing(Board(out / "tensorboard")))

        estimate = _Estimate(steps=(epochs - len(history.epochs)) * len(train))
        timed = progress and rank == 0 and fabric.device.type == "cpu"

        def step(batch: GraphBatch) -> Tensor:
            if timed:
                estimate.step()
            return train_step(
                fabric, wrapped, task, batch, wrapped_optimizer, schedule, grad_clip, flag
            )

        def reseed(current: Progress) -> None:
            if world > 1:  # the checkpoint holds the random state of one process alone
                torch.manual_seed(hash((seed, current.epoch, current.batches, rank)))

        def save(current: Progress | None = None) -> None:
            if checkpoint is not None and rank == 0:
                checkpoint.save(
                    history=asdict(history),
                    best_weights=best_weights,
                    current=current and asdict(current),
                )
            if current is not None:
                reseed(current)

        bar = _bar(range(len(history.epochs), epochs), progress and rank == 0)
        for epoch in bar:
            rate = optimizer.param_groups[0]["lr"]
            too_slow = stop_below_lr is not None and rate < stop_below_lr
            if current is None and (too_slow or _patience_is_over(history, patience)):
                break
            current = current or Progress(epoch, rate, len(train))
            start = time.perf_counter() - current.seconds
            reseed(current)
            wrapped.train()
            train_epoch(fabric, train, step, current, checkpoint_every, save)
            history.steps += current.batches
            row = {"epoch": epoch, "lr": current.lr, "train_loss": current.loss / current.graphs}
            current = None
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
                write_curve(out / "curve.csv", history.epochs)
            if board is not None:
                board.write(row, epoch)
            bar.set_postfix(
                {k: f"{v:.4g}" for k, v in row.items() if k not in ("epoch", "seconds")}
            )
    if best_weights is not None:
        model.load_state_dict(best_weights)
    elif history.epochs:
        warnings.warn(
            f"the validation {task.monitor} is NaN in every epoch; the model has the weights of "
            "the last one.",
            stacklevel=2,
        )
    return history


def train_epoch(fabric, loader, step, current: Progress, every: int | None, save) -> None:
    """The rest of an epoch, all of it where ``current`` is its beginning; updates ``current``.

    Args:
        loader: a :class:`~gtcourse.graphs.loader.DenseLoader`, or another with its ``set_epoch``.
        step: moves the weights by a batch and returns its loss.
        every: call ``save(current)`` after so many batches, again and again, except at the end.

    Raises:
        ValueError: ``current`` is of an epoch of more or fewer batches than the loader's.
        RuntimeError: the loss is no longer a finite number.
    """
    if current.of != len(loader):
        raise ValueError(
            f"the run stopped after {current.batches} of {current.of} batches of epoch "
            f"{current.epoch}, and the loader has {len(loader)}; expected the data, batch size and "
            "number of processes that the epoch began with."
        )
    before, start = current.seconds, time.perf_counter()
    loader.set_epoch(current.epoch, current.batches)

    def own() -> tuple[float, int]:  # the first process goes on with the sums of all
        return (current.loss, current.graphs) if fabric.global_rank == 0 else (0.0, 0)

    def update() -> None:
        current.loss, current.graphs = sums_over_processes(fabric, total, graphs)
        current.seconds = before + time.perf_counter() - start
        loss = current.loss / current.graphs
        if not math.isfinite(loss):
            raise RuntimeError(
                f"the training loss is {loss} in epoch {current.epoch}; expected a finite number. "
                "A lower learning rate or a gradient clipped by its norm may help."
            )

    total, graphs = own()
    for batch in loader:
        batch = batch.to(fabric.device)
        # Summed on the device: reading it here would make the device wait at every step.
        total = total + step(batch) * batch.num_graphs
        graphs += batch.num_graphs
        current.batches += 1
        if every is not None and current.batches % every == 0 and current.batches < len(loader):
            update()
            save(current)
            total, graphs = own()  # as they will be, should it go on from here
    update()


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
    """Moves the weights once and returns the loss, without waiting for a GPU.

    Args:
        fabric, model, optimizer: as set up by Fabric. Others as of :func:`fit`.
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


@torch.no_grad()
def evaluate(model: nn.Module, task: Task, loader: DenseLoader) -> dict[str, float]:
    """The task's metrics over all graphs of a loader; the model is in eval mode meanwhile."""
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


def _check_loaders(train, val, optimizer, schedule, patience) -> None:
    for name, loader in (("train", train), ("val", val)):
        if loader is None and name == "val":
            continue
        if not hasattr(loader, "set_epoch") or not hasattr(loader, "order"):
            raise TypeError(
                f"{name} is a {type(loader).__name__}; expected gtcourse's loader of dense "
                "batches, DenseLoader(graphs, batch_size)."
            )
        if len(loader) == 0:
            raise ValueError("the loader has no batches; expected at least one.")
    plateau = isinstance(schedule, ReduceLROnPlateau)
    if val is None and (patience is not None or plateau):
        name = "ReduceLROnPlateau" if plateau else "patience"
        raise ValueError(f"{name} needs validation data; expected val as well.")
    if schedule is not None and schedule.optimizer is not optimizer:
        raise ValueError("the schedule is of another optimizer; expected the one that is given.")


def check_output(out, checkpoint_every, tensorboard) -> None:
    """Options that need a folder."""
    if checkpoint_every is not None:
        at_least(1, checkpoint_every=checkpoint_every)
    for name, wanted in (("checkpoint_every", checkpoint_every), ("tensorboard", tensorboard)):
        if wanted and out is None:
            raise ValueError(f"{name} needs a folder for its files; expected out as well.")


def _check_model(
    model: nn.Module, task: Task, optimizer: Optimizer | None, flag: Flag | None
) -> None:
    trained = [p for p in model.parameters() if p.requires_grad]
    if not trained:
        raise ValueError(
            f"no parameter of {type(model).__name__} requires a gradient; expected one or more "
            "that do."
        )
    if optimizer is not None:
        moved = {id(p) for group in optimizer.param_groups for p in group["params"]}
        if not moved & {*map(id, trained)}:
            raise ValueError(
                f"the optimizer has no trainable parameter of this {type(model).__name__}; "
                "expected one that is made with model.parameters()."
            )
    try:
        inspect.signature(model.forward).bind(None, **task.asks)
    except TypeError:
        asked = "".join(f", {name}={value!r}" for name, value in task.asks.items())
        raise ValueError(
            f"{type(model).__name__} cannot be trained on {task.name}; expected a model that is "
            f"called as model(batch{asked})."
        ) from None
    if flag is not None:
        flag.check(model)


def _identity(model: nn.Module, optimizer: Optimizer, schedule) -> dict[str, str]:
    """What a checkpoint has to share with the run that continues it, by name."""
    config = getattr(model, "config", None)
    # Variants of a model may have weights of the same shapes.
    settings = fields(config) if is_dataclass(config) else ()
    return {
        "optimizer": f"{type(optimizer).__name__} {optimizer.defaults}",
        "schedule": f"{type(schedule).__name__} {getattr(schedule, 'total_steps', '')}",
        **{f"model's {f.name}": repr(getattr(config, f.name)) for f in settings},
    }


def _is_best(task: Task, row: dict, best: dict | None, validated: bool) -> bool:
    name = f"val_{task.monitor}"
    return not validated or task.improves(row[name], best and best[name])


def _patience_is_over(history: History, patience: int | None) -> bool:
    best = -1 if history.best is None else history.best["epoch"]
    return patience is not None and len(history.epochs) - 1 - best >= patience


class _Estimate:
    """Prints, after the first steps, how long all of them will take if that is an hour or more."""

    def __init__(self, steps: int, first: int = 5):
        self.steps, self.first, self.done, self.start = steps, first, 0, 0.0

    def step(self) -> None:
        """To be called before each step; the first one, which is slower, is not timed."""
        self.done += 1
        if self.done == 2:
            self.start = time.perf_counter()
        if self.done == 2 + self.first:
            each = (time.perf_counter() - self.start) / self.first
            hours = each * self.steps / 3600
            if hours >= 1:
                tqdm.write(
                    f"About {hours:,.0f} hours on this machine: {self.steps:,} steps of "
                    f"{each:.2g} s. A smaller budget is shorter."
                )


def _bar(epochs: range, progress: bool) -> tqdm:
    # `disable` is given only to switch the bar off, so that TQDM_DISABLE=1 can do so as well.
    return tqdm(epochs, unit="epoch", leave=False, **({} if progress else {"disable": True}))
