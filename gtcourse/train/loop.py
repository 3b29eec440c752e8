"""The training loop: any model, task, device and budget; a run can be resumed anywhere.

Lightning Fabric handles devices, precision and processes. Each process takes its share of every
batch and weights its loss by it, so that the gradients that DDP averages are those of the batch.
"""

from __future__ import annotations

import csv
import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.optim import Adam, Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from tqdm import tqdm

from gtcourse.graphs.batch import GraphBatch
from gtcourse.graphs.io import check_same, replacing, write_tensors
from gtcourse.graphs.loader import DenseLoader
from gtcourse.train.flag import Flag
from gtcourse.train.tasks import Task

T = TypeVar("T")

# What a budget says about data and steps; its other entries are widths and batch sizes.
AMOUNTS = {"epochs", "graphs", "molecules", "steps"}


def device() -> torch.device:
    """The fastest device of this machine: CUDA, Apple's MPS, or the CPU."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def budget(*, cpu: T, gpu: T, smoke: T | None = None) -> T:
    """Picks what this machine can do in a few minutes, and prints the choice.

    ``GTCOURSE_BUDGET=smoke`` in the environment asks for a quick check that the GPU's choice works
    on any machine. It picks ``smoke`` if that is given, and otherwise ``gpu`` with a fiftieth of
    its data and of its steps. Widths and batch sizes stay the GPU's. "cpu" and "gpu" in the
    environment force one of these.

    Args:
        cpu: a whole number, a tuple of them, or a dictionary of them by name.
        gpu: the same for a GPU.
        smoke: the same for a quick check.

    Raises:
        ValueError: if ``GTCOURSE_BUDGET`` is none of the three.
    """
    choices = {"cpu": cpu, "gpu": gpu, "smoke": _fiftieth(gpu) if smoke is None else smoke}
    name = os.environ.get("GTCOURSE_BUDGET") or ("cpu" if device().type == "cpu" else "gpu")
    if name not in choices:
        raise ValueError(f"GTCOURSE_BUDGET is {name!r}; expected one of {', '.join(choices)}.")
    listed = chosen = choices[name]
    if isinstance(chosen, dict):
        listed = ", ".join(f"{key} = {value}" for key, value in chosen.items())
    print(f"Budget {name} on {device().type}: {listed}")
    return chosen


def _fiftieth(value: T) -> T:
    if isinstance(value, dict):
        return {name: _fiftieth(part) if name in AMOUNTS else part for name, part in value.items()}
    if isinstance(value, tuple):
        return tuple(map(_fiftieth, value))
    return max(1, value // 50)


@dataclass
class History:
    """What a run did.

    Attributes:
        epochs: rows of epoch, lr, train_loss, val_<metric> and seconds.
        best: the row of the weights that the model has: the best by the monitored metric, or the
            last without validation; None if the metric was always NaN.
    """

    epochs: list[dict[str, float]] = field(default_factory=list)
    best: dict[str, float] | None = None
    steps: int = 0

    @property
    def seconds(self) -> float:
        return sum(self.column("seconds"))

    def column(self, name: str) -> list[float]:
        return [row[name] for row in self.epochs]


@dataclass
class Epoch:
    """An unfinished epoch of one process; ``loss`` is summed over its ``graphs`` so far."""

    lr: float
    batches: int = 0
    graphs: int = 0
    loss: float | Tensor = 0.0
    seconds: float = 0.0


@contextmanager
def own_random_state() -> Iterator[None]:
    """What happens inside leaves the global random generators of torch as they were."""
    devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices):
        yield


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Evaluation mode for a while; each module's own mode is restored afterwards."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for module, training in modes.items():
            module.training = training


@own_random_state()
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
    stop_below_lr: float | None = None,
    grad_clip: float | None = None,
    flag: Flag | None = None,
    precision: str = "32-true",
    compile: bool = False,
    devices: int = 1,
    seed: int = 0,
    out: Path | str | None = None,
    checkpoint_every: int | None = None,
    tensorboard: bool = False,
    progress: bool = True,
) -> History:
    """Trains ``model`` in place and leaves it with its best weights by validation.

    Validation is in float32, whatever the precision of training. The global random generators are
    afterwards as they were.

    Args:
        train, val: loaders; fastest on :func:`gtcourse.device`, to which batches are moved.
        epochs: passes over ``train``, at most; lr: Adam's, if no ``optimizer`` is given.
        schedule: of ``optimizer``; stepped after each step, a ``ReduceLROnPlateau`` each epoch.
        stop_below_lr: stop before an epoch whose learning rate would be below this.
        grad_clip: the largest norm of the gradient.
        flag: perturbs the node embeddings; the training loss is then the mean over its passes.
        precision: Fabric's, "32-true" or "bf16-mixed".
        compile: use ``torch.compile`` and replay CUDA graphs, for batches of few shapes.
        devices: processes on this machine; ``torchrun``'s number takes precedence.
        seed: of dropout and everything else random in training but the loader's order.
        out: a folder for ``last.ckpt`` and ``curve.csv``. A run with a checkpoint there is
            continued; on a CPU the result is the same bit for bit.
        checkpoint_every: also save after every so many steps of an epoch.
        tensorboard: also log the curve for TensorBoard, below ``out``.

    Raises:
        ValueError: a plateau without validation data, a graph with a feature that the model does
            not know, targets from which nothing can be learned, or ``out`` holds the checkpoint of
            another run.
        RuntimeError: the training loss is no longer a finite number.
    """
    if val is None and isinstance(schedule, ReduceLROnPlateau):
        raise ValueError("ReduceLROnPlateau needs validation data; expected val.")
    for loader in (train, val):
        if loader is not None and loader.targets is not None:  # None: streamed from a folder
            task.check(loader.targets)
        if isinstance(loader, DenseLoader):
            loader.check_features(model)
    optimizer = optimizer or Adam(model.parameters(), lr=lr)
    fabric = launch(device().type, devices, precision)
    rank, world = fabric.global_rank, fabric.world_size
    if world > 1:
        train = train.shard(rank, world, even=True)
        val = None if val is None else val.shard(rank, world, even=False)
    torch.manual_seed(seed + rank)
    # The wrapped model shares its weights with the caller's.
    trained = compiled(model, compile)
    wrapped, wrapped_optimizer = fabric.setup(trained, optimizer)
    # Validated in float32 like the test set, in any number of processes and in any precision.
    evaluated = trained if world == 1 else model  # DDP's forward waits for the other processes
    history, best_weights, current = History(), None, None
    folder = None if out is None else Path(out)
    writes = folder is not None and rank == 0
    logs = folder / "tensorboard" if writes and tensorboard else None
    parts = {"model": model, "optimizer": optimizer}
    if schedule is not None:
        parts["schedule"] = schedule
    run = _identity(model, task, train, optimizer, schedule, seed, grad_clip, flag)
    if folder is not None and (folder / "last.ckpt").exists():
        state = _load(folder / "last.ckpt", run, parts, rank)
        history, best_weights = History(**state["history"]), state["best_weights"]
        current = state["current"] and Epoch(**state["current"])
        if current and rank > 0:  # the first process continues with the sums of all
            current.loss, current.graphs = 0.0, 0

    def save(current: Epoch | None) -> None:
        if folder is None:
            return
        random = _random_state(fabric)  # gathered from all processes
        if writes:
            state = {name: part.state_dict() for name, part in parts.items()}
            state |= {"run": run, "random": random, "history": asdict(history)}
            state |= {"current": current and asdict(current), "best_weights": best_weights}
            write_tensors(folder / "last.ckpt", state)

    # `disable` only switches the bar off, so that TQDM_DISABLE=1 does so as well.
    silent = {} if progress and rank == 0 else {"disable": True}
    done = len(history.epochs) * len(train) + (current.batches if current else 0)
    bar = tqdm(total=epochs * len(train), initial=done, unit="step", leave=False, **silent)
    with bar, _tensorboard(logs) as log:
        for epoch in range(len(history.epochs), epochs):
            if current is None:
                current = Epoch(optimizer.param_groups[0]["lr"])
                if current.lr < (stop_below_lr or 0):
                    break
            start = time.perf_counter() - current.seconds
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
                    save(_over_processes(fabric, current, epoch))
            total = _over_processes(fabric, current, epoch)
            history.steps += total.batches
            row = {"epoch": epoch, "lr": total.lr, "train_loss": total.loss / total.graphs}
            current, monitored = None, f"val_{task.monitor}"
            if val is not None:
                scores = evaluate(evaluated, task, val)
                row |= {f"val_{name}": value for name, value in scores.items()}
                if isinstance(schedule, ReduceLROnPlateau):
                    schedule.step(scores[task.monitor])
            row["seconds"] = time.perf_counter() - start
            history.epochs.append(row)
            best = history.best
            if val is None or task.improves(row[monitored], best and best[monitored]):
                history.best = row
                best_weights = {k: v.detach().clone() for k, v in model.state_dict().items()}
            if writes:
                _write_curve(folder / "curve.csv", history.epochs)
            save(None)
            log(row, epoch)
            bar.set_postfix({name: f"{v:.4g}" for name, v in row.items() if name != "seconds"})
    if best_weights is not None:
        model.load_state_dict(best_weights)
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
    """One step of an optimizer and a model of Fabric: the loss, without waiting for a GPU."""
    optimizer.zero_grad()
    weight = _weight_among_processes(fabric, task, batch)
    if flag is None:
        loss = task.loss(model(batch, **task.model_options), batch)
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


def compiled(model: nn.Module, compile: bool) -> nn.Module:
    # One graph for each shape: those that serve all shapes cannot be replayed.
    return torch.compile(model, mode="reduce-overhead", dynamic=False) if compile else model


@torch.no_grad()
def evaluate(model: nn.Module, task: Task, loader: DenseLoader) -> dict[str, float]:
    """The task's metric over all graphs of a loader; the model is in eval mode meanwhile.

    Raises a ValueError if a graph has a feature that the model does not know.
    """
    if isinstance(loader, DenseLoader):
        loader.check_features(model)
    where = next(model.parameters()).device
    metric = task.metric().to(where)
    with evaluating(model):
        for batch in loader:
            batch = batch.to(where)
            task.update(metric, model(batch), batch)
    return {task.monitor: float(metric.compute())}


def count_parameters(model: nn.Module) -> int:
    """Trainable numbers of a model."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def launch(accelerator: str, devices: int, precision: str):
    """A Fabric whose processes run; the others run the same program from its start."""
    from lightning_fabric import Fabric  # seconds to import, and only training needs it
    from lightning_fabric.strategies import DDPStrategy

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


def read_tensors(path: Path) -> dict:
    """What ``torch.save`` wrote, or a ValueError if it is something else, or would run code."""
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises anything for a broken pickle
        reason = f"{type(error).__name__}: {error}".partition("\n")[0][:150].rstrip(".")
        raise ValueError(
            f"{path} cannot be read ({reason}); expected tensors that gtcourse saved."
        ) from None


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


def _identity(model, task, train, optimizer, schedule, seed, grad_clip, flag) -> dict[str, str]:
    """What a checkpoint has to share with the run that continues it, by name."""
    config = getattr(model, "config", None)
    # Variants of a model may have weights of the same shapes.
    settings = vars(config) if is_dataclass(config) else {}
    run = {
        "seed": seed,
        "task": task.name,
        "flag": flag,
        "grad_clip": grad_clip,
        "optimizer": (type(optimizer).__name__, optimizer.defaults),
        "schedule": (type(schedule).__name__, getattr(schedule, "total_steps", None)),
        "order of the graphs": train.order,
    }
    return {name: repr(value) for name, value in (settings | run).items()}


def _random_state(fabric) -> dict[str, Tensor]:
    """The state of each random generator in all processes, ``[processes, bytes]``."""
    states = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        states["cuda"] = torch.cuda.get_rng_state()
    gathered = {name: fabric.all_gather(state) for name, state in states.items()}
    return {name: s.reshape(fabric.world_size, -1).cpu() for name, s in gathered.items()}


def _load(path: Path, run: dict[str, str], parts: dict, rank: int) -> dict:
    """Restores the parts and the random generators, and returns the rest of a checkpoint."""
    state = read_tensors(path)
    check_same(f"{path} belongs to another run", run, state.get("run", {}))
    for name, part in parts.items():
        part.load_state_dict(state[name])
    random = {name: each[rank].clone() for name, each in state["random"].items()}
    torch.set_rng_state(random["cpu"])
    if torch.cuda.is_available() and "cuda" in random:
        torch.cuda.set_rng_state(random["cuda"])
    return state


def _write_curve(path: Path, rows: list[dict[str, float]]) -> None:
    with replacing(path) as temporary, open(temporary, "w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


@contextmanager
def _tensorboard(folder: Path | None) -> Iterator[Callable[[dict[str, float], int], None]]:
    """A function that appends a row to a new TensorBoard file in ``folder``, if there is one.

    Without tensorboardX's queue and thread: after Ctrl-C, or on a full disk, closing them can wait
    forever.
    """
    if folder is None:
        yield lambda row, step: None
        return
    from tensorboardX.event_file_writer import EventsWriter  # half a second to import
    from tensorboardX.proto.event_pb2 import Event
    from tensorboardX.proto.summary_pb2 import Summary

    folder.mkdir(parents=True, exist_ok=True)
    # The name has the second in it, within which a run may be continued.
    writer = EventsWriter(str(folder / "events"), filename_suffix=f".{os.getpid()}")

    def write(row: dict[str, float], step: int) -> None:
        values = [Summary.Value(tag=name, simple_value=value) for name, value in row.items()]
        writer.write_event(Event(wall_time=time.time(), step=step, summary=Summary(value=values)))
        writer.flush()

    try:
        yield write
    finally:
        with suppress(OSError):  # write() has reported it
            writer.close()
