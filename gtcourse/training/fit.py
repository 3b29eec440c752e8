"""The training loop: any model, any task, any device; interrupted anywhere, it resumes.

Lightning Fabric handles devices, precision and processes. Each of several processes takes its
share of every batch. DDP averages their gradients, and a loss is a mean over graphs or known
targets, so each process weighs its loss by its share of these.
"""

from __future__ import annotations

import inspect
import math
import os
import time
import warnings
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.optim import Adam, Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from tqdm import tqdm

from gtcourse.graphs.arguments import a_seed, at_least, one_of, positive
from gtcourse.graphs.batch import GraphBatch
from gtcourse.graphs.loader import DenseLoader
from gtcourse.training.budget import device
from gtcourse.training.flag import Flag
from gtcourse.training.records import Board, Checkpoint, exclusive, write_curve
from gtcourse.training.tasks import Task

PRECISIONS = ("32-true", "bf16-mixed")


@dataclass
class History:
    """What a run did.

    Attributes:
        epochs: rows of epoch, lr, train_loss, val_<metric> and seconds.
        best: the row of the weights that the model has: the best by the monitored metric, or the
            last without validation; None if the metric was always NaN.
        steps: of the optimizer.
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
    """The state of an unfinished epoch, over all processes.

    Attributes:
        lr: the learning rate at its beginning; of: its number of batches; batches: done so far.
        loss: the sum of the graphs' losses; graphs: their number.
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
        train, val: loaders; ``train`` is shuffled by its own seed and the epoch. Fastest on
            :func:`gtcourse.device`; otherwise each batch is moved there.
        epochs: passes over ``train``, at most.
        lr: Adam's, if no ``optimizer`` is given.
        schedule: of ``optimizer``; stepped after each step, a ``ReduceLROnPlateau`` each epoch.
        patience: stop after this many epochs without a better monitored metric.
        stop_below_lr: stop before an epoch whose learning rate would be below this.
        grad_clip: the largest norm of the gradient.
        flag: perturbs the node embeddings; the training loss is then the mean over its passes.
        precision: Fabric's: "32-true" or "bf16-mixed".
        compile: use ``torch.compile``; a string is its mode. "reduce-overhead" replays CUDA graphs,
            for batches of few shapes.
        devices: processes on this machine; ``torchrun``'s number takes precedence.
        seed: of dropout and everything else random in training.
        out: a folder for ``last.ckpt`` and ``curve.csv``. A run with a checkpoint there is
            continued; on a CPU the result is the same bit for bit.
        checkpoint_every: also save after every so many steps of an epoch. Several processes draw
            other random numbers after it.
        tensorboard: also log the curve for TensorBoard, below ``out``.
        progress: show a bar with the remaining time.

    Raises:
        ValueError: arguments do not fit together, nothing can be learned from the targets or with
            the optimizer, ``out`` holds the checkpoint of another run or is in use.
        TypeError: a loader is not one of the course's.
        RuntimeError: the training loss is no longer a finite number.
        OSError: ``out`` cannot be written. The run can be continued from its last checkpoint.
    """
    optional = {"patience": patience, "checkpoint_every": checkpoint_every}
    at_least(1, epochs=epochs, **{k: v for k, v in optional.items() if v is not None})
    optional = {"lr": lr or None, "stop_below_lr": stop_below_lr, "grad_clip": grad_clip}
    positive(**{k: v for k, v in optional.items() if v is not None})
    a_seed(seed=seed)
    for name, wanted in (("checkpoint_every", checkpoint_every), ("tensorboard", tensorboard)):
        if wanted and out is None:
            raise ValueError(f"{name} needs a folder for its files; expected out as well.")
    optimizer = optimizer or Adam(model.parameters(), lr=lr)
    _check_loaders(task, train, val, schedule, patience)
    _check_model(model, task, optimizer, schedule, flag)

    fabric = launch(device().type, devices, precision)
    rank, world = fabric.global_rank, fabric.world_size
    if world > 1:
        train = train.shard(rank, world, even=True)
        val = None if val is None else val.shard(rank, world, even=False)
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
            run = {
                "seed": str(seed),
                **_identity(model, optimizer, schedule),
                "task": task.name,
                "flag": repr(flag),
                "grad_clip": repr(grad_clip),
                "training data": train.order,
            }
            checkpoint = Checkpoint(out, run, model=model, optimizer=optimizer, schedule=schedule)
            if state := checkpoint.load():
                history, best_weights = History(**state["history"]), state["best_weights"]
                current = state["current"] and Progress(**state["current"])
                if history.epochs and rank == 0:  # the kill may have come just before its curve
                    write_curve(out / "curve.csv", history.epochs)
            if tensorboard and rank == 0:
                board = stack.enter_context(closing(Board(out / "tensorboard")))

        # `disable` only switches the bar off, so that TQDM_DISABLE=1 does so as well.
        silent = {} if progress and rank == 0 else {"disable": True}
        done = len(history.epochs) * len(train) + (current.batches if current else 0)
        bar = stack.enter_context(
            tqdm(total=epochs * len(train), initial=done, unit="step", leave=False, **silent)
        )

        def step(batch: GraphBatch) -> Tensor:
            bar.update()
            return train_step(
                fabric, wrapped, task, batch, wrapped_optimizer, schedule, grad_clip, flag
            )

        def reseed(current: Progress) -> None:
            if world > 1:  # the checkpoint holds the random state of one process alone
                torch.manual_seed(hash((seed, current.epoch, current.batches, rank)))

        def save(current: Progress | None) -> None:
            if checkpoint is not None and rank == 0:
                done = current and asdict(current)
                checkpoint.save(history=asdict(history), best_weights=best_weights, current=done)
            if current is not None:
                reseed(current)

        for epoch in range(len(history.epochs), epochs):
            rate = optimizer.param_groups[0]["lr"]
            too_slow = stop_below_lr is not None and rate < stop_below_lr
            waited = epoch - 1 - (history.best["epoch"] if history.best else -1)
            no_better = patience is not None and waited >= patience
            if current is None and (too_slow or no_better):
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
            monitored, best = f"val_{task.monitor}", history.best
            if val is None or task.improves(row[monitored], best and best[monitored]):
                history.best = row
                best_weights = {k: v.detach().clone() for k, v in model.state_dict().items()}
            save(None)
            if checkpoint is not None and rank == 0:
                write_curve(out / "curve.csv", history.epochs)
            if board is not None:
                board.write(row, epoch)
            bar.set_postfix({name: f"{v:.4g}" for name, v in row.items() if name != "seconds"})
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
    """The rest of an epoch; updates ``current``.

    Args:
        step: moves the weights by a batch and returns its loss.
        every: call ``save(current)`` after every so many batches, except at the end.
    """
    start = time.perf_counter() - current.seconds
    loader.set_epoch(current.epoch, current.batches)
    batches = iter(loader)
    stops = range(0, len(loader), every or len(loader))
    for stop in [stop for stop in stops if stop > current.batches] + [len(loader)]:
        # The first process goes on with the sums of all, as it does after a resumption.
        first = fabric.global_rank == 0
        total, graphs = (current.loss, current.graphs) if first else (0.0, 0)
        for batch in islice(batches, stop - current.batches):
            batch = batch.to(fabric.device)
            # Summed on the device: reading it here would make the device wait at every step.
            total = total + step(batch) * batch.num_graphs
            graphs += batch.num_graphs
            current.batches += 1
        current.loss, current.graphs = sums_over_processes(fabric, total, graphs)
        current.seconds = time.perf_counter() - start
        if not math.isfinite(current.loss):
            raise RuntimeError(
                f"the training loss is {current.loss} in epoch {current.epoch}; expected a finite "
                "number. A lower learning rate or a gradient clipped by its norm may help."
            )
        if stop < len(loader):
            save(current)


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

    ``model`` and ``optimizer`` are set up by Fabric; the others are as in :func:`fit`.
    """
    optimizer.zero_grad()
    weight = weight_among_processes(fabric, task, batch)
    if flag is None:
        loss = task.loss(model(batch, **task.asks), batch)
        fabric.backward(loss * weight)
    else:
        loss = flag.backward(model, task, batch, lambda part: fabric.backward(part * weight))
    if grad_clip is not None:
        # To check the norm, the device would have to be waited for.
        fabric.clip_gradients(model, optimizer, max_norm=grad_clip, error_if_nonfinite=False)
    optimizer.step()
    if isinstance(schedule, LRScheduler) and not isinstance(schedule, ReduceLROnPlateau):
        schedule.step()
    return loss.detach()


def compiled(model: nn.Module, mode: bool | str) -> nn.Module:
    """The model by ``torch.compile``, in a mode if it is a string; unchanged if that is False."""
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
        batch = batch.to(where)
        task.update(metrics, model(batch), batch)
    model.train(was_training)
    return {name: float(value) for name, value in metrics.compute().items()}


def count_parameters(model: nn.Module) -> int:
    """Trainable numbers of a model."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def launch(accelerator: str, devices: int, precision: str):
    """A Fabric whose processes run; the others run the same program from its start.

    Raises:
        ValueError: ``devices`` is below 1 or more than there are, or the precision is unknown.
    """
    at_least(1, devices=devices)
    one_of(PRECISIONS, precision=precision)
    if accelerator == "cuda" and devices > torch.cuda.device_count():
        raise ValueError(
            f"devices is {devices}; expected at most {torch.cuda.device_count()}, as many as this "
            "machine has."
        )
    from lightning_fabric import Fabric  # seconds to import, and only training needs it
    from lightning_fabric.strategies import DDPStrategy

    devices, machines = processes(devices)
    several = devices * machines > 1
    fabric = Fabric(
        accelerator=accelerator,
        devices=devices,
        num_nodes=machines,
        # The loss does not depend on GatedGCN's last edges, nor on EGT's heads for other targets.
        strategy=DDPStrategy(find_unused_parameters=True) if several else "auto",
        precision=precision,
    )
    if several:
        fabric.launch()
    return fabric


def processes(devices: int) -> tuple[int, int]:
    """A run's processes on this machine, and its machines; ``torchrun``'s if it started them."""
    names = {"LOCAL_WORLD_SIZE": devices, "GROUP_WORLD_SIZE": 1}
    here, machines = (int(os.environ.get(name, number)) for name, number in names.items())
    return here, machines


def is_first_process() -> bool:
    """Whether this is the process that writes, of one or of several."""
    return int(os.environ.get("RANK", os.environ.get("LOCAL_RANK", 0))) == 0


def take_own_gpu() -> None:
    """Makes "cuda" this process's own GPU; until then all would put their data on the first."""
    number = int(os.environ.get("LOCAL_RANK", 0))
    if 0 < number < torch.cuda.device_count():
        torch.cuda.set_device(number)


def weight_among_processes(fabric, task: Task, batch: GraphBatch) -> Tensor | float:
    r"""The factor of this process's loss with which the mean of all is the loss of the batch.

    .. math:: w_r = W \frac{s_r}{\sum_{r'} s_{r'}}

    with W processes and :math:`s_r` the size of process r's share (:attr:`Task.size`).
    """
    if fabric.world_size == 1:
        return 1.0
    own = torch.as_tensor(task.size(batch), dtype=torch.float64, device=fabric.device)
    of_all = fabric.all_reduce(own.clone(), reduce_op="sum")
    return own * fabric.world_size / of_all.clamp(min=torch.finfo(own.dtype).tiny)


def sums_over_processes(fabric, total: Tensor | float, count: int) -> tuple[float, int]:
    """``total`` and ``count``, each summed over the processes."""
    if fabric.world_size > 1:
        own = torch.tensor([float(total), count], dtype=torch.float64, device=fabric.device)
        total, count = fabric.all_reduce(own, reduce_op="sum").tolist()
    return float(total), round(count)


def _check_loaders(task, train, val, schedule, patience) -> None:
    for name, loader in {"train": train, "val": val}.items():
        if loader is None and name == "val":
            continue
        if not hasattr(loader, "set_epoch") or not hasattr(loader, "order"):
            raise TypeError(
                f"{name} is a {type(loader).__name__}; expected gtcourse's loader of dense "
                "batches, DenseLoader(graphs, batch_size)."
            )
        if len(loader) == 0:
            raise ValueError("the loader has no batches; expected at least one.")
        if getattr(loader, "targets", None) is not None:  # not of data streamed from a folder
            task.check(loader.targets, validation=loader is val)
    if val is None and (patience is not None or isinstance(schedule, ReduceLROnPlateau)):
        raise ValueError("patience and ReduceLROnPlateau need validation data; expected val.")


def _check_model(model, task, optimizer, schedule, flag) -> None:
    name = type(model).__name__
    if schedule is not None and schedule.optimizer is not optimizer:
        raise ValueError("the schedule is of another optimizer; expected the one that is given.")
    moved = {id(p) for group in optimizer.param_groups for p in group["params"]}
    if not any(p.requires_grad and id(p) in moved for p in model.parameters()):
        raise ValueError(
            f"the optimizer has no trainable parameter of this {name}; expected one that is made "
            "with model.parameters(), not all of them frozen."
        )
    try:
        inspect.signature(model.forward).bind(None, **task.asks)
    except TypeError:
        asked = "".join(f", {key}={value!r}" for key, value in task.asks.items())
        raise ValueError(
            f"{name} cannot be trained on {task.name}; expected a model that is called as "
            f"model(batch{asked})."
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
