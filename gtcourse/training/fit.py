"""The training loop: any model, task and device; a run can be interrupted and resumed anywhere.

Lightning Fabric handles devices, precision and processes. Each process takes its share of every
batch and weights its loss by it, so that the gradients that DDP averages are those of the batch.
"""

from __future__ import annotations

import math
import os
import time
import warnings
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.optim import Adam, Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from tqdm import tqdm

from gtcourse.graphs.batch import GraphBatch
from gtcourse.graphs.files import write_tensors
from gtcourse.graphs.loader import DenseLoader
from gtcourse.training.arguments import a_seed, at_least, one_of, positive
from gtcourse.training.budget import device
from gtcourse.training.flag import Flag
from gtcourse.training.records import Board, exclusive, read_tensors, write_curve
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
class Epoch:
    """An unfinished epoch; ``loss`` is summed over its graphs so far."""

    lr: float
    batches: int = 0
    graphs: int = 0
    loss: float | Tensor = 0.0
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
        train, val: loaders; fastest on :func:`gtcourse.device`, to which batches are moved.
        epochs: passes over ``train``, at most.
        lr: Adam's, if no ``optimizer`` is given.
        schedule: of ``optimizer``; stepped after each step, a ``ReduceLROnPlateau`` each epoch.
        patience: stop after this many epochs without a better monitored metric.
        stop_below_lr: stop before an epoch whose learning rate would be below this.
        grad_clip: the largest norm of the gradient.
        flag: perturbs the node embeddings; the training loss is then the mean over its passes.
        precision: Fabric's, "32-true" or "bf16-mixed".
        compile: use ``torch.compile``, in a mode if it is a string: "reduce-overhead" replays CUDA
            graphs, for batches of few shapes.
        devices: processes on this machine; ``torchrun``'s number takes precedence.
        seed: of dropout and everything else random in training but the loader's order.
        out: a folder for ``last.ckpt`` and ``curve.csv``. A run with a checkpoint there is
            continued; on a CPU the result is the same bit for bit.
        checkpoint_every: also save after every so many steps of an epoch. Several processes draw
            other random numbers after it.
        tensorboard: also log the curve for TensorBoard, below ``out``.
        progress: show a bar with the remaining time.

    Raises:
        ValueError: arguments do not fit together, nothing can be learned from the targets or with
            the optimizer, ``out`` holds the checkpoint of another run or is in use.
        RuntimeError: the training loss is no longer a finite number.
    """
    counts = {"epochs": epochs, "patience": patience, "checkpoint_every": checkpoint_every}
    at_least(1, **{name: count for name, count in counts.items() if count is not None})
    rates = {"lr": lr, "stop_below_lr": stop_below_lr, "grad_clip": grad_clip}
    positive(**{name: rate for name, rate in rates.items() if rate is not None})
    a_seed(seed=seed)
    optimizer = optimizer or Adam(model.parameters(), lr=lr)
    if (checkpoint_every or tensorboard) and out is None:
        raise ValueError("checkpoints and TensorBoard logs need a folder; expected out as well.")
    if val is None and (patience or isinstance(schedule, ReduceLROnPlateau)):
        raise ValueError("patience and ReduceLROnPlateau need validation data; expected val.")
    _check_loaders(task, training=train, validation=val)
    _check_optimizer(model, optimizer, schedule)
    fabric = launch(device().type, devices, precision)
    rank, world = fabric.global_rank, fabric.world_size
    if world > 1:
        train = train.shard(rank, world, even=True)
        val = None if val is None else val.shard(rank, world, even=False)
    torch.manual_seed(seed)
    # The wrapped model shares its weights with the caller's.
    wrapped, wrapped_optimizer = fabric.setup(compiled(model, compile), optimizer)
    judged = wrapped if world == 1 else model  # DDP's forward waits for the other processes
    history, best_weights, current, board = History(), None, None, None
    writes = out is not None and rank == 0
    with ExitStack() as stack:
        if writes:
            stack.enter_context(exclusive(Path(out)))
        if writes and tensorboard:
            board = stack.enter_context(closing(Board(Path(out) / "tensorboard")))
        if out is not None:
            path = Path(out) / "last.ckpt"
            parts = {"model": model, "optimizer": optimizer, "schedule": schedule}
            run = _identity(model, task, train, optimizer, schedule, seed, grad_clip, flag)
            if state := _load_checkpoint(path, run, parts):
                history, best_weights = History(**state["history"]), state["best_weights"]
                current = state["current"] and _share(Epoch(**state["current"]), rank)

        def save(current: Epoch | None) -> None:
            if writes:
                progress = {"history": asdict(history), "current": current and asdict(current)}
                _save_checkpoint(path, run, parts, progress | {"best_weights": best_weights})

        def reseed() -> None:
            if world > 1:  # the checkpoint holds the random state of one process alone
                torch.manual_seed(hash((seed, epoch, current.batches, rank)))

        # `disable` only switches the bar off, so that TQDM_DISABLE=1 does so as well.
        silent = {} if progress and rank == 0 else {"disable": True}
        done = len(history.epochs) * len(train) + (current.batches if current else 0)
        bar = tqdm(total=epochs * len(train), initial=done, unit="step", leave=False, **silent)
        stack.enter_context(bar)

        for epoch in range(len(history.epochs), epochs):
            if current is None:
                current = Epoch(optimizer.param_groups[0]["lr"])
                best_epoch = history.best["epoch"] if history.best else -1
                if current.lr < (stop_below_lr or 0) or epoch > best_epoch + (patience or epochs):
                    break
            start = time.perf_counter() - current.seconds
            reseed()
            wrapped.train()
            train.set_epoch(epoch, current.batches)
            for batch in train:
                batch = batch.to(fabric.device)
                loss = train_step(
                    fabric, wrapped, task, batch, wrapped_optimizer, schedule, grad_clip, flag
                )
                # Summed on the device: reading it here would make the device wait at every step.
                current.loss = current.loss + loss * batch.num_graphs
                current.graphs += batch.num_graphs
                current.batches += 1
                current.seconds = time.perf_counter() - start
                bar.update()
                unfinished = current.batches < len(train)
                if checkpoint_every and unfinished and current.batches % checkpoint_every == 0:
                    current = _over_processes(fabric, current, epoch)
                    save(current)
                    current = _share(current, rank)
                    reseed()
            total = _over_processes(fabric, current, epoch)
            history.steps += total.batches
            row = {"epoch": epoch, "lr": total.lr, "train_loss": total.loss / total.graphs}
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
            if writes:
                write_curve(path.with_name("curve.csv"), history.epochs)
            save(None)
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
    """Takes one optimizer step and returns the loss, without waiting for a GPU.

    ``model`` and ``optimizer`` are set up by Fabric; the others are as in :func:`fit`.
    """
    optimizer.zero_grad()
    weight = _weight_among_processes(fabric, task, batch)
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
    """A Fabric whose processes run; the others run the same program from its start."""
    from lightning_fabric import Fabric  # seconds to import, and only training needs it
    from lightning_fabric.strategies import DDPStrategy

    at_least(1, devices=devices)
    one_of(PRECISIONS, precision=precision)
    devices, machines = processes(devices)
    several = devices * machines > 1
    # The loss does not depend on GatedGCN's last edges, nor on EGT's heads for other targets.
    strategy = DDPStrategy(find_unused_parameters=True) if several else "auto"
    fabric = Fabric(
        accelerator=accelerator, devices=devices, num_nodes=machines, strategy=strategy,
        precision=precision,
    )  # fmt: skip
    if several:
        fabric.launch()
    return fabric


def processes(devices: int) -> tuple[int, int]:
    """A run's processes on this machine, and its machines; ``torchrun``'s if it started them."""
    here = int(os.environ.get("LOCAL_WORLD_SIZE", devices))
    return here, int(os.environ.get("GROUP_WORLD_SIZE", 1))


def is_first_process() -> bool:
    """True in the process that writes the files."""
    return int(os.environ.get("RANK", os.environ.get("LOCAL_RANK", 0))) == 0


def _weight_among_processes(fabric, task: Task, batch: GraphBatch) -> Tensor | float:
    r""":math:`W s_r / \sum_{r'} s_{r'}` in process r of W, whose share has :attr:`Task.size` s_r.

    With this factor the mean of the processes' losses is the loss of the batch.
    """
    if fabric.world_size == 1:
        return 1.0
    own = torch.as_tensor(task.size(batch), dtype=torch.float64, device=fabric.device)
    of_all = fabric.all_reduce(own.clone(), reduce_op="sum")
    return own * fabric.world_size / of_all.clamp(min=torch.finfo(own.dtype).tiny)


def _over_processes(fabric, current: Epoch, epoch: int) -> Epoch:
    """The epoch with the sums of all processes; they have to be finite."""
    sums = torch.tensor([float(current.loss), current.graphs], dtype=torch.float64)
    if fabric.world_size > 1:
        sums = fabric.all_reduce(sums.to(fabric.device), reduce_op="sum")
    loss, graphs = sums.tolist()
    if not math.isfinite(loss):
        raise RuntimeError(
            f"the training loss is {loss} in epoch {epoch}; expected a finite number. A lower "
            "learning rate or a gradient clipped by its norm may help."
        )
    return replace(current, loss=loss, graphs=round(graphs))


def _share(current: Epoch, rank: int) -> Epoch:
    """After a checkpoint the first process continues with the sums of all, the others with none."""
    return current if rank == 0 else replace(current, loss=0.0, graphs=0)


def _check_loaders(task: Task, **loaders: DenseLoader | None) -> None:
    for name, loader in loaders.items():
        if loader is None:
            continue
        if not hasattr(loader, "set_epoch") or not len(loader):
            raise ValueError(
                f"the {name} data are a {type(loader).__name__} of {len(loader)} batches; expected "
                "a DenseLoader with one or more."
            )
        if getattr(loader, "targets", None) is not None:  # not of data streamed from a folder
            task.check(loader.targets)


def _check_optimizer(model: nn.Module, optimizer: Optimizer, schedule) -> None:
    if schedule is not None and schedule.optimizer is not optimizer:
        raise ValueError("the schedule is of another optimizer; expected the one that is given.")
    updated = {id(p) for group in optimizer.param_groups for p in group["params"]}
    if not any(p.requires_grad and id(p) in updated for p in model.parameters()):
        raise ValueError(
            f"the optimizer has no trainable parameter of this {type(model).__name__}; expected "
            "one that is built from model.parameters(), not all of them frozen."
        )


def _identity(model, task, train, optimizer, schedule, seed, grad_clip, flag) -> dict[str, str]:
    """What a checkpoint has to share with the run that continues it, by name."""
    config = getattr(model, "config", None)
    # Variants of a model may have weights of the same shapes.
    settings = vars(config) if is_dataclass(config) else {}
    run = {
        "seed": seed,
        "optimizer": (type(optimizer).__name__, optimizer.defaults),
        "schedule": (type(schedule).__name__, getattr(schedule, "total_steps", None)),
        "task": task.name,
        "flag": flag,
        "grad_clip": grad_clip,
        "order of the graphs": getattr(train, "order", None),
    }
    return {name: repr(value) for name, value in (settings | run).items()}


def _save_checkpoint(path: Path, run: dict[str, str], parts: dict, progress: dict) -> None:
    state = {name: part.state_dict() for name, part in parts.items() if part is not None}
    cuda = torch.cuda.get_rng_state() if torch.cuda.is_available() else None
    state |= {"run": run, "rng": torch.get_rng_state(), "cuda_rng": cuda}
    write_tensors(path, state | progress)


def _load_checkpoint(path: Path, run: dict[str, str], parts: dict) -> dict:
    """Restores the parts and the random state, if there is a checkpoint, and returns the rest."""
    if not path.exists():
        return {}
    state = read_tensors(path)
    theirs = state.get("run", {})
    if differs := sorted(name for name in {*run, *theirs} if run.get(name) != theirs.get(name)):
        raise ValueError(
            f"{path} belongs to another run, which differs in {', '.join(differs)}; expected the "
            "run that began there. Choose another folder, or delete it."
        )
    for name, part in parts.items():
        if part is not None:
            part.load_state_dict(state[name])
    torch.set_rng_state(state["rng"])
    if torch.cuda.is_available() and state["cuda_rng"] is not None:
        torch.cuda.set_rng_state(state["cuda_rng"])
    return state
