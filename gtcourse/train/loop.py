"""The training loop, for any model, task and device; a run can be resumed after any step.

Lightning Fabric handles devices, precision and processes. Each process takes its share of every
batch and weights its loss by it, so that the gradients that DDP averages are those of the batch.
"""

from __future__ import annotations

import csv
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from inspect import Parameter, signature
from itertools import islice
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Adam, Optimizer
from torch.optim.lr_scheduler import LRScheduler, OneCycleLR, ReduceLROnPlateau
from tqdm import tqdm

from gtcourse.graphs.arguments import check_function, check_path
from gtcourse.graphs.batch import GraphBatch
from gtcourse.graphs.io import replacing
from gtcourse.graphs.loader import DenseLoader
from gtcourse.messages import shown
from gtcourse.models.config import (
    Config,
    NotNegativeFloat,
    NotNegativeInt,
    PositiveFloat,
    PositiveInt,
)
from gtcourse.train.checkpoint import Checkpoint, Epoch, History, Part, Progress
from gtcourse.train.flag import Flag
from gtcourse.train.tasks import Task, check_gradients, check_model, check_task

if TYPE_CHECKING:
    from lightning_fabric import Fabric
    from lightning_fabric.wrappers import _FabricModule

Precision = Literal["32-true", "bf16-mixed"]
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

    The environment variable ``GTCOURSE_BUDGET=smoke`` selects a quick check, on any machine, that
    the GPU's budget works. It picks ``smoke`` if that is given, and otherwise ``gpu`` with a
    fiftieth of the data and steps. Widths and batch sizes remain those of the GPU. The values "cpu"
    and "gpu" force one of these budgets.

    Args:
        cpu: a whole number, a tuple of whole numbers, or a dictionary of them.
        gpu: the same for a GPU.
        smoke: the same for a quick check.

    Raises:
        ValueError: if ``GTCOURSE_BUDGET`` is none of the three, or a choice is something else.
    """
    for name, value in (("cpu", cpu), ("gpu", gpu), ("smoke", gpu if smoke is None else smoke)):
        _check_budget(name, value)
    choices = {"cpu": cpu, "gpu": gpu, "smoke": _fiftieth(gpu) if smoke is None else smoke}
    name = os.environ.get("GTCOURSE_BUDGET") or ("cpu" if device().type == "cpu" else "gpu")
    if name not in choices:
        raise ValueError(f"GTCOURSE_BUDGET is {name!r}; expected one of {', '.join(choices)}.")
    chosen = choices[name]
    listed = str(chosen)
    if isinstance(chosen, dict):
        listed = ", ".join(f"{key} = {value}" for key, value in chosen.items())
    print(f"Budget {name} on {device().type}: {listed}")
    return chosen


def _check_budget(name: str, value: object) -> None:
    """Raises a ValueError unless amounts of data and steps are whole numbers, or tuples of them."""
    if isinstance(value, dict):
        for key in value.keys() & AMOUNTS:
            _check_budget(f"{name}[{key!r}]", value[key])
        return
    numbers = value if isinstance(value, tuple) else (value,)
    if not numbers or not all(isinstance(each, Integral) for each in numbers):
        raise ValueError(
            f"{name} is {shown(value)}; expected a whole number, a tuple of them, or a dictionary."
        )


def _fiftieth(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _fiftieth(part) if name in AMOUNTS else part for name, part in value.items()}
    if isinstance(value, tuple):
        return tuple(map(_fiftieth, value))
    return max(1, value // 50)


@contextmanager
def own_random_state() -> Iterator[None]:
    """A context that restores the global random generators of torch when it ends."""
    devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices):
        yield


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """A context in evaluation mode; the mode of each module is restored when it ends."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for module, training in modes.items():
            module.training = training


@dataclass(frozen=True)
class Settings(Config):
    """How a model is trained; the values are checked when the object is created.

    Attributes:
        epochs: the largest number of passes over the training data.
        lr: Adam's learning rate, 1e-3 by default; not allowed together with ``optimizer``. At 0
            nothing is learned, but the running statistics of batch norm change.
        stop_below_lr: stop before an epoch whose learning rate would be below this.
        grad_clip: gradients with a larger norm are scaled down to this norm.
        accumulate: batches whose gradients are added up for one step of the optimizer. The step
            equals that of one batch with all their graphs, except that batch norm uses the
            statistics of each batch.
        precision: of training, as in Lightning Fabric; validation is in float32.
        compile: use ``torch.compile`` and replay CUDA graphs, for batches of few shapes.
        devices: processes on this machine; ``torchrun``'s number takes precedence.
        seed: of dropout and all other randomness in training, except the order of the loader.
        checkpoint_every: also save each time this many steps of an epoch have passed; needs a
            folder.
        tensorboard: also log the curve for TensorBoard; needs a folder.
        progress: show a bar in a terminal.
    """

    epochs: PositiveInt
    lr: NotNegativeFloat | None = None
    stop_below_lr: NotNegativeFloat | None = None
    grad_clip: PositiveFloat | None = None
    accumulate: PositiveInt = 1
    precision: Precision = "32-true"
    compile: bool = False
    devices: PositiveInt = 1
    seed: NotNegativeInt = 0
    checkpoint_every: PositiveInt | None = None
    tensorboard: bool = False
    progress: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.seed >= 2**63:
            raise ValueError(f"seed is {self.seed}; expected a number below 2**63.")


def settings_of(given: dict[str, Any]) -> Settings:
    """The :class:`Settings` with these fields.

    Raises:
        TypeError: there is no such argument of :func:`fit`, or ``epochs`` is missing.
        ValueError: a value is not allowed.
    """
    known = [each.name for each in fields(Settings)]
    for name in given:
        if name not in known:
            raise TypeError(f"fit has no argument {name!r}; expected one of {', '.join(known)}.")
    if "epochs" not in given:
        raise TypeError("fit needs the argument epochs; expected a number above 0.")
    return Settings(**given)


EpochHook = Callable[[nn.Module, dict[str, float]], object]
"""Called with the model and the row of an epoch; True ends the training."""


@own_random_state()
def fit(
    model: nn.Module,
    task: Task,
    train: DenseLoader,
    val: DenseLoader | None = None,
    *,
    optimizer: Optimizer | None = None,
    schedule: LRScheduler | ReduceLROnPlateau | None = None,
    flag: Flag | None = None,
    out: Path | str | None = None,
    on_epoch_end: EpochHook | None = None,
    **settings: Any,
) -> History:
    """Trains ``model`` in place; afterwards it has the weights of the best validation epoch.

    Validation is in float32 for any training precision. The global random generators are restored
    afterwards.

    Args:
        model: called as ``model(batch)``.
        task: the loss and the metric.
        train: loader of the training graphs. Loading is fastest if the graphs are already on
            :func:`gtcourse.device`, to which batches are moved.
        val: loader of the validation graphs.
        optimizer: an optimizer of the model's parameters; Adam by default.
        schedule: a schedule of ``optimizer``. It advances after each step, or after each epoch if
            it is a ``ReduceLROnPlateau``. A ``OneCycleLR`` needs the steps of all epochs, unless
            ``stop_below_lr`` or ``on_epoch_end`` may end the training earlier.
        flag: perturbs the node embeddings; the training loss is then the mean over its passes.
        out: a folder for ``last.ckpt`` and ``curve.csv``. If there is a checkpoint, the run is
            resumed; on a CPU the result is the same bit for bit.
        on_epoch_end: called in every process with the model and the row of the epoch, once its
            checkpoint is written. If it returns True in the first process, training ends. Random
            numbers drawn in it do not change the run.
        settings: fields of :class:`Settings`, such as ``lr``, ``grad_clip``, ``accumulate``,
            ``precision`` and ``seed``; ``epochs`` is required.

    Raises:
        ValueError: a setting is not allowed or has no effect, a plateau schedule has no validation
            data, the model does not know a feature of a graph, nothing can be learned from the
            targets, or ``out`` holds the checkpoint of another run.
        RuntimeError: the training loss or a prediction is no longer a finite number.
    """
    chosen = settings_of(settings)
    if out is not None:
        check_path("out", out, "the path of a folder, or None")
    folder = None if out is None else Path(out)
    _check_types(model, task, train, val, optimizer, schedule, flag, on_epoch_end)
    _check_effects(chosen, model, task, optimizer, schedule, flag, val, folder)
    if chosen.stop_below_lr is None and on_epoch_end is None:  # which may end the training earlier
        _check_length(chosen, schedule, train)
    _check_data(model, task, train)
    if val is not None:
        _check_data(model, task, val)
    if optimizer is None:
        optimizer = Adam(model.parameters(), lr=1e-3 if chosen.lr is None else chosen.lr)
    fabric = launch(device().type, chosen.devices, chosen.precision)
    if fabric.world_size > 1:
        train = train.shard(fabric.global_rank, fabric.world_size, even=True)
        if val is not None:
            val = val.shard(fabric.global_rank, fabric.world_size, even=False)
    torch.manual_seed(chosen.seed + fabric.global_rank)
    with torch.enable_grad():  # fit may be called where gradients are off
        run = _Run(fabric, model, task, train, val, optimizer, schedule, flag, chosen, folder)
        return run.train_and_validate(on_epoch_end)


class _Run:
    """A run of :func:`fit` in one of its processes.

    The arguments are those of :func:`fit`, checked and complete. If the folder has a checkpoint,
    the run starts from the step at which that was saved.

    Attributes:
        wrapped: the model as Fabric trains it, which shares its weights with ``model``.
        wrapped_optimizer: the optimizer as Fabric calls it.
        evaluated: the model as it is validated, which also shares its weights.
        checkpoint: saves the run, if it has a folder.
        progress: how far the run has come.
    """

    def __init__(
        self,
        fabric: Fabric,
        model: nn.Module,
        task: Task,
        train: DenseLoader,
        val: DenseLoader | None,
        optimizer: Optimizer,
        schedule: LRScheduler | ReduceLROnPlateau | None,
        flag: Flag | None,
        settings: Settings,
        folder: Path | None,
    ):
        self.fabric = fabric
        self.model = model
        self.task = task
        self.train = train
        self.val = val
        self.optimizer = optimizer
        self.schedule = schedule
        self.flag = flag
        self.settings = settings
        self.folder = folder
        trained = compiled(model, settings.compile)
        self.wrapped, self.wrapped_optimizer = fabric.setup(trained, optimizer)
        # DDP's forward pass waits for the other processes, which may have fewer batches. Without
        # Fabric's wrapper, validation is in float32 like the test, whatever the precision.
        self.evaluated = trained if fabric.world_size == 1 else model
        self.checkpoint = None if folder is None else self._checkpoint_in(folder)
        self.progress = Progress() if self.checkpoint is None else self.checkpoint.restore()
        done = len(self.progress.history.epochs)
        if done > settings.epochs:
            raise ValueError(
                f"epochs is {settings.epochs}, and the run in {folder} has {done} epochs already; "
                "expected as many or more, or another folder."
            )

    def train_and_validate(self, on_epoch_end: EpochHook | None) -> History:
        """Trains the remaining epochs, and then loads the best weights."""
        progress = self.progress
        history = progress.history
        with self._bar() as bar, _tensorboard(self._log_folder()) as log:
            for epoch in range(len(history.epochs), self.settings.epochs):
                if progress.current is None:  # otherwise the checkpoint is from within this epoch
                    lr = self.optimizer.param_groups[0]["lr"]
                    if lr < (self.settings.stop_below_lr or 0):
                        break
                    progress.current = Epoch(lr)
                start = time.perf_counter() - progress.current.seconds
                row = self._train_epoch(epoch, progress.current, start, bar)
                row |= self._validate()
                row["seconds"] = time.perf_counter() - start
                self._end_epoch(row)
                log(row, epoch)
                _show(bar, row)
                if on_epoch_end is not None and self._ends_run(on_epoch_end, row):
                    break
        if progress.best_weights is not None:
            self.model.load_state_dict(progress.best_weights)
        return history

    def _train_epoch(self, epoch: int, current: Epoch, start: float, bar: tqdm) -> dict[str, float]:
        """Takes the remaining steps of an epoch; returns its learning rate and mean training loss.

        Args:
            epoch: its number.
            current: the part that is already done; it is updated.
            start: when the epoch began, on the clock of ``time.perf_counter``.
            bar: counts the batches.
        """
        self.wrapped.train()
        self.train.set_epoch(epoch, current.batches)
        for group in _groups(self.train, self.settings.accumulate):
            batches = [batch.to(self.fabric.device) for batch in group]
            loss = train_step(
                self.fabric,
                self.wrapped,
                self.task,
                batches,
                self.wrapped_optimizer,
                self.schedule,
                self.settings.grad_clip,
                self.flag,
            )
            # Summed on the device: reading it here would make the device wait at every step.
            current.loss = current.loss + loss
            current.graphs += sum(batch.num_graphs for batch in batches)
            current.batches += len(batches)
            current.seconds = time.perf_counter() - start
            bar.update(len(batches))
            if self.checkpoint is not None and self._is_due(current):
                total = _over_processes(self.fabric, current, epoch)
                self.checkpoint.save(self.progress, total)
        total = _over_processes(self.fabric, current, epoch)
        self.progress.current = None
        self.progress.history.steps += steps_of(total.batches, self.settings.accumulate)
        return {"epoch": epoch, "lr": total.lr, "train_loss": float(total.loss) / total.graphs}

    def _validate(self) -> dict[str, float]:
        """The scores on the validation graphs, if there are any; a plateau schedule reads them."""
        if self.val is None:
            return {}
        scores = evaluate(self.evaluated, self.task, self.val)
        if isinstance(self.schedule, ReduceLROnPlateau):
            self.schedule.step(scores[self.task.monitor])
        return {f"val_{name}": value for name, value in scores.items()}

    def _end_epoch(self, row: dict[str, float]) -> None:
        """Adds the row to the history, keeps the weights if they are the best, and saves."""
        history = self.progress.history
        history.epochs.append(row)
        if self._is_best(row):
            history.best = row
            self.progress.best_weights = {
                name: values.detach().clone() for name, values in self.model.state_dict().items()
            }
        if self.folder is not None and self.fabric.global_rank == 0:
            _write_curve(self.folder / "curve.csv", history.epochs)
        if self.checkpoint is not None:
            self.checkpoint.save(self.progress, None)

    def _is_best(self, row: dict[str, float]) -> bool:
        """Whether an epoch has the best score so far; without validation the last one is best."""
        if self.val is None:
            return True
        monitored = f"val_{self.task.monitor}"
        best_row = self.progress.history.best
        best = None if best_row is None else best_row.get(monitored)
        return self.task.improves(row[monitored], best)

    def _ends_run(self, on_epoch_end: EpochHook, row: dict[str, float]) -> bool:
        """Calls the hook with its own copy of the row; the first process's answer counts."""
        with own_random_state():
            answer = on_epoch_end(self.model, dict(row))
        # A comparison of NumPy or torch gives a truth value of its own.
        ends = isinstance(answer, bool | np.bool_ | Tensor) and bool(answer)
        return self.fabric.broadcast(ends)

    def _is_due(self, current: Epoch) -> bool:
        """Whether to save in the middle of an epoch."""
        every = self.settings.checkpoint_every
        if every is None or current.batches == len(self.train):
            return False
        return steps_of(current.batches, self.settings.accumulate) % every == 0

    def _bar(self) -> tqdm:
        """A bar that counts the batches of all epochs."""
        done = len(self.progress.history.epochs) * len(self.train)
        if self.progress.current is not None:
            done += self.progress.current.batches
        is_shown = self.settings.progress and self.fabric.global_rank == 0
        # `disable` only switches the bar off, so that TQDM_DISABLE=1 does so as well.
        silent = {} if is_shown else {"disable": True}
        total = self.settings.epochs * len(self.train)
        return tqdm(total=total, initial=done, unit="batch", leave=False, **silent)

    def _log_folder(self) -> Path | None:
        """Where this process logs for TensorBoard, if it does."""
        if self.folder is None or self.fabric.global_rank > 0 or not self.settings.tensorboard:
            return None
        return self.folder / "tensorboard"

    def _checkpoint_in(self, folder: Path) -> Checkpoint:
        parts: dict[str, Part] = {"model": self.model, "optimizer": self.optimizer}
        if self.schedule is not None:
            parts["schedule"] = self.schedule
        config = getattr(self.model, "config", None)
        complete = config.complete if isinstance(config, Config) else dict
        return Checkpoint(folder, self.fabric, self._identity(config), parts, complete)

    def _identity(self, config: object) -> dict[str, str]:
        """What a checkpoint has to share with the run that continues it, by name.

        The model's configuration may be of a class of the reader's own.
        """
        # Variants of a model may have weights of the same shapes.
        identity = vars(config).copy() if is_dataclass(config) else {}
        identity["seed"] = self.settings.seed
        identity["task"] = self.task.name
        identity["flag"] = self.flag
        identity["grad_clip"] = self.settings.grad_clip
        identity["accumulate"] = self.settings.accumulate
        identity["precision"] = self.settings.precision
        types = {str(each.dtype) for each in self.model.parameters()}
        identity["type of the weights"] = sorted(types)
        identity["optimizer"] = (type(self.optimizer).__name__, self.optimizer.defaults)
        total_steps = getattr(self.schedule, "total_steps", None)
        identity["schedule"] = (type(self.schedule).__name__, total_steps)
        identity["order of the graphs"] = self.train.order
        # Of loaders of a reader's own the content is not known.
        loaders = [each for each in (self.train, self.val) if isinstance(each, DenseLoader)]
        identity["data"] = [loader.digest() for loader in loaders]
        identity["encodings"] = [loader.digest_of_encodings() for loader in loaders]
        return {name: repr(value) for name, value in identity.items()}


def _show(bar: tqdm, row: dict[str, float]) -> None:
    """Shows the numbers of an epoch next to the progress bar."""
    printed = {name: f"{value:.4g}" for name, value in row.items() if name != "seconds"}
    bar.set_postfix(printed)


def train_step(
    fabric: Fabric,
    model: _FabricModule,
    task: Task,
    batches: Sequence[GraphBatch],
    optimizer: Optimizer,
    schedule: LRScheduler | ReduceLROnPlateau | None = None,
    grad_clip: float | None = None,
    flag: Flag | None = None,
) -> Tensor:
    """Takes one step with an optimizer and a model of Fabric, without waiting for a GPU.

    The gradient is that of one batch with the graphs of all ``batches``: each loss is weighted by
    its share of :attr:`Task.size`. Returns the sum over all graphs of the loss of their batch.
    """
    optimizer.zero_grad()
    losses = []
    shares = _shares(fabric, task, batches)
    for number, (batch, share) in enumerate(zip(batches, shares, strict=True), start=1):
        waits = number < len(batches)
        with fabric.no_backward_sync(model, enabled=waits):
            if flag is None:
                loss = task.loss(model(batch, **task.model_options), batch)
                fabric.backward(loss * share)
            else:
                backward = partial(_backward, fabric, share)
                loss = flag.backward(model, task, batch, backward)
        losses.append(loss.detach() * batch.num_graphs)
    if grad_clip is not None:
        # To check the norm, the device would have to be waited for.
        fabric.clip_gradients(model, optimizer, max_norm=grad_clip, error_if_nonfinite=False)
    optimizer.step()
    if isinstance(schedule, LRScheduler) and not isinstance(schedule, ReduceLROnPlateau):
        schedule.step()
    return torch.stack(losses).sum()


def _backward(fabric: Fabric, share: Tensor | float, loss: Tensor) -> None:
    fabric.backward(loss * share)


def steps_of(batches: int, accumulate: int) -> int:
    """The number of steps for this many batches; the last step may have fewer of them."""
    if accumulate < 1:
        raise ValueError(f"accumulate is {accumulate}; expected a number above 0.")
    return -(-batches // accumulate)


def _groups(batches: Iterable[GraphBatch], size: int) -> Iterator[list[GraphBatch]]:
    """The batches of each step."""
    remaining = iter(batches)
    while group := list(islice(remaining, size)):
        yield group


def compiled(model: nn.Module, compile: bool) -> nn.Module:
    """The model, or its compiled form, which shares its weights."""
    if not compile:
        return model
    # One graph for each shape: those that serve all shapes cannot be replayed.
    return cast(nn.Module, torch.compile(model, mode="reduce-overhead", dynamic=False))


@torch.no_grad()
def evaluate(model: nn.Module, task: Task, loader: DenseLoader) -> dict[str, float]:
    """The task's metric over all graphs of a loader, with the model in evaluation mode.

    It is NaN if no target is known.

    Raises:
        ValueError: a graph has a feature that the model does not know, a target is not a class of
            the task, or there are no targets.
        RuntimeError: a prediction is not a finite number, in this process or in another one. An
            output for one of several classes may be minus infinity, which excludes the class.
    """
    check_task(task)
    check_model(model)
    _check_loader("loader", loader)
    _check_data(model, task, loader, all_may_be_missing=True)
    first = next(model.parameters(), None)
    where = torch.device("cpu") if first is None else first.device
    metric = task.metric().to(where)
    known: Tensor | int = 0
    wrong: Tensor | int = 0
    with evaluating(model):
        for batch in loader:
            batch = batch.to(where)
            prediction = model(batch)
            task.update(metric, prediction, batch)
            if isinstance(prediction, Tensor):  # that of a reader's own task may be something else
                wrong = wrong + _wrong_numbers(task, prediction, batch)
            known = known + task.size(batch)
    # No process raises or returns for its own numbers alone: the others would wait for it below.
    if _sum_with_others(wrong, where) > 0:
        raise RuntimeError(
            f"a prediction of {type(model).__name__} is not a finite number; expected finite ones. "
            "If the training has diverged, a lower learning rate or a gradient clipped by its norm "
            "may help."
        )
    if _sum_with_others(known, where) == 0:  # torchmetrics' accuracy of no target would be 0
        return {task.monitor: math.nan}
    return {task.monitor: float(metric.compute())}


def _wrong_numbers(task: Task, prediction: Tensor, batch: GraphBatch) -> Tensor:
    """How many predictions for graphs, real nodes or edges are not the numbers of a task, ``[]``.

    They have to be finite. Of the outputs for several classes, some may be minus infinity: the
    probability of such a class is 0.
    """
    is_wrong = ~prediction.isfinite()
    if task.kind == "probabilities":
        no_class = prediction.isneginf().all(dim=-1, keepdim=True)  # softmax would be NaN
        is_wrong = prediction.isnan() | prediction.isposinf() | no_class
    if batch.target != "graph":
        has_prediction = batch.mask if batch.target == "node" else batch.adjacency
        axes_of_values = [1] * (is_wrong.dim() - has_prediction.dim())
        is_wrong = is_wrong & has_prediction.view(*has_prediction.shape, *axes_of_values)
    return is_wrong.sum()


def _sum_with_others(number: Tensor | float, where: torch.device) -> float:
    """The sum of a number over all processes, each of which waits for the others."""
    from torchmetrics import SumMetric  # over a second, as in tasks.py

    total = SumMetric().to(where)
    total.update(number)
    return float(total.compute())


def count_parameters(model: nn.Module) -> int:
    """The number of trainable parameters of a model.

    Raises:
        ValueError: this is no model of PyTorch.
    """
    check_model(model)
    return sum(each.numel() for each in model.parameters() if each.requires_grad)


def launch(accelerator: str, devices: int, precision: Precision) -> Fabric:
    """A Fabric with its processes started; the others run the program from its start."""
    from lightning_fabric import Fabric  # seconds to import, and only training needs it
    from lightning_fabric.strategies import DDPStrategy

    devices, machines = processes(devices)
    several = devices * machines > 1
    # The loss does not depend on GatedGCN's last edges, nor on EGT's heads for other targets.
    strategy = DDPStrategy(find_unused_parameters=True) if several else "auto"
    fabric = Fabric(
        accelerator=accelerator,
        devices=devices,
        num_nodes=machines,
        strategy=strategy,
        precision=precision,
    )
    if several:
        fabric.launch()
    return fabric


def processes(devices: int) -> tuple[int, int]:
    """The numbers of processes on this machine and of machines, from ``torchrun`` if it is used."""
    here = int(os.environ.get("LOCAL_WORLD_SIZE", devices))
    return here, int(os.environ.get("GROUP_WORLD_SIZE", 1))


def is_first_process() -> bool:
    """True in the process that writes the files."""
    return int(os.environ.get("RANK", os.environ.get("LOCAL_RANK", 0))) == 0


def _check_types(
    model: nn.Module,
    task: Task,
    train: DenseLoader,
    val: DenseLoader | None,
    optimizer: Optimizer | None,
    schedule: LRScheduler | ReduceLROnPlateau | None,
    flag: Flag | None,
    on_epoch_end: EpochHook | None,
) -> None:
    """Raises a ValueError for an argument of the wrong type, before anything is trained or written.

    A loader of your own needs a length and :attr:`DenseLoader.targets`. The loader of the training
    graphs also needs :meth:`DenseLoader.set_epoch`.
    """
    check_model(model)
    check_task(task)
    _check_loader("train", train)
    if val is not None:
        _check_loader("val", val)
    kinds = {
        "optimizer": (optimizer, Optimizer),
        "schedule": (schedule, LRScheduler | ReduceLROnPlateau),
        "flag": (flag, Flag),
    }
    for name, (given, kind) in kinds.items():
        if given is not None and not isinstance(given, kind):
            expected = getattr(kind, "__name__", "LRScheduler")
            raise ValueError(f"{name} is {shown(given)}; expected an object of type {expected}.")
    check_hook(on_epoch_end)


def check_hook(on_epoch_end: EpochHook | None) -> None:
    """Raises a ValueError unless this is a function of the model and a row, or None."""
    if on_epoch_end is not None:
        check_function("on_epoch_end", on_epoch_end, 2, "a function of the model and a row")


def _check_loader(name: str, loader: DenseLoader) -> None:
    """Raises a ValueError unless a loader has batches that can be read."""
    if not hasattr(loader, "targets"):
        raise ValueError(
            f"{name} is of type {type(loader).__name__}; expected a DenseLoader, such as "
            "DenseLoader(graphs, batch_size=64)."
        )
    if len(loader) == 0:
        raise ValueError(
            f"{name} has no batches; expected one or more (drop_last leaves out smaller ones)."
        )


def _check_effects(
    settings: Settings,
    model: nn.Module,
    task: Task,
    optimizer: Optimizer | None,
    schedule: LRScheduler | ReduceLROnPlateau | None,
    flag: Flag | None,
    val: DenseLoader | None,
    folder: Path | None,
) -> None:
    """Raises a ValueError for an option that has no effect, or an effect on something else."""
    if val is None and isinstance(schedule, ReduceLROnPlateau):
        raise ValueError("ReduceLROnPlateau needs validation data; expected val.")
    if isinstance(schedule, ReduceLROnPlateau) and schedule.mode != task.mode:
        raise ValueError(
            f"schedule has the mode {schedule.mode!r}, but the best {task.monitor} is the "
            f"{task.mode}imum; expected ReduceLROnPlateau(optimizer, {task.mode!r})."
        )
    if flag is not None and "perturbation" not in signature(model.forward).parameters:
        raise ValueError(
            f"flag perturbs the embeddings of nodes, which {type(model).__name__} does not take; "
            "expected a model whose forward has an argument perturbation, such as Graphormer."
        )
    if optimizer is not None and settings.lr is not None:
        raise ValueError(
            f"lr is {settings.lr:g}, which has no effect because the optimizer has its own; "
            "expected only one of lr and optimizer."
        )
    accepted = signature(model.forward).parameters
    takes_any = any(each.kind is Parameter.VAR_KEYWORD for each in accepted.values())
    for name in task.model_options:
        if not takes_any and name not in accepted:
            raise ValueError(
                f"the task {task.name!r} calls the model with {name}, which {type(model).__name__} "
                "does not take; expected a model whose forward has this argument, such as EGT."
            )
    if optimizer is not None and _needs_closure(optimizer):
        raise ValueError(
            f"optimizer is {type(optimizer).__name__}, which computes the loss several times in a "
            "step; expected one that steps after a backward pass, such as Adam."
        )
    groups: Any = [{"lr": settings.lr}] if optimizer is None else optimizer.param_groups
    lr = 1e-3 if groups[0]["lr"] is None else float(groups[0]["lr"])
    if settings.stop_below_lr is not None and lr < settings.stop_below_lr:
        raise ValueError(
            f"the learning rate is {lr:g} and stop_below_lr is {settings.stop_below_lr:g}, at "
            "which the run would stop before its first epoch; expected a larger rate."
        )
    if schedule is not None and schedule.optimizer is not optimizer:
        raise ValueError("schedule belongs to another optimizer; expected a schedule of optimizer.")
    check_gradients(model.parameters())
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise ValueError(
            f"no parameter of {type(model).__name__} is trained; expected one or more with "
            "requires_grad."
        )
    if optimizer is not None:
        own = {id(parameter) for parameter in model.parameters()}
        given = [each for group in optimizer.param_groups for each in group["params"]]
        if not any(id(parameter) in own for parameter in given):
            raise ValueError(
                "optimizer has none of the model's parameters; expected model.parameters()."
            )
    if folder is not None:
        check_folder(folder)
    if folder is None:
        without_effect = {
            "checkpoint_every": settings.checkpoint_every is not None,
            "tensorboard": settings.tensorboard,
        }
        for name, is_given in without_effect.items():
            if is_given:
                raise ValueError(f"{name} has no effect without out; expected a folder.")


def _needs_closure(optimizer: Optimizer) -> bool:
    """Whether a step has to be given a function that computes the loss, as that of LBFGS."""
    closure = signature(optimizer.step).parameters.get("closure")
    return closure is not None and closure.default is Parameter.empty


def _check_length(
    settings: Settings, schedule: LRScheduler | ReduceLROnPlateau | None, train: DenseLoader
) -> None:
    """Raises a ValueError for a schedule that ends before the training, as only this class does."""
    steps = settings.epochs * steps_of(len(train), settings.accumulate)
    if isinstance(schedule, OneCycleLR) and schedule.total_steps < steps:
        raise ValueError(
            f"schedule ends after {schedule.total_steps} steps, and {settings.epochs} epochs have "
            f"{steps}; expected OneCycleLR with total_steps={steps}."
        )


def check_folder(folder: Path) -> None:
    """Raises a ValueError if a run cannot have this folder, because there is a file in its path."""
    for path in (folder, *folder.parents):
        if path.exists():
            if not path.is_dir():
                raise ValueError(f"{path} is a file; expected a folder for the run.")
            return


def _check_data(
    model: nn.Module, task: Task, loader: DenseLoader, *, all_may_be_missing: bool = False
) -> None:
    """Raises a ValueError for graphs from which the model cannot learn the task.

    Targets are missing or are not classes of the task, no target is known (unless all may be
    missing), the nodes of a graph belong to several splits, or the model does not know a feature.
    """
    if loader.targets is not None:
        task.check(loader.targets, all_may_be_missing=all_may_be_missing)
    elif isinstance(loader, DenseLoader) and not loader.has_targets:
        raise ValueError("the graphs have no targets y; expected one for each prediction.")
    if isinstance(loader, DenseLoader):
        loader.check_masks()
        loader.check_features(model)


def _shares(fabric: Fabric, task: Task, batches: Sequence[GraphBatch]) -> list[Tensor | float]:
    r""":math:`W s_{rk} / \sum_{r'k'} s_{r'k'}` of each batch k of process r of W.

    :math:`s_{rk}` is the :attr:`Task.size` of its share of the batch. With these factors the sum of
    the batches' losses, as a mean over the processes, is the loss of one batch with all graphs.
    """
    if fabric.world_size == 1 and len(batches) == 1:
        return [1.0]
    dtype = torch.float32 if fabric.device.type == "mps" else torch.float64  # it has no other
    sizes = [
        torch.as_tensor(task.size(batch), dtype=dtype, device=fabric.device) for batch in batches
    ]
    total = torch.stack(sizes).sum()
    if fabric.world_size > 1:
        total = _sum_over_processes(fabric, total)
    total = total.clamp(min=torch.finfo(total.dtype).tiny)
    return [size * fabric.world_size / total for size in sizes]


def _sum_over_processes(fabric: Fabric, values: Tensor) -> Tensor:
    total = fabric.all_reduce(values, reduce_op="sum")
    assert isinstance(total, Tensor)  # as what was given
    return total


def _over_processes(fabric: Fabric, current: Epoch, epoch: int) -> Epoch:
    """The epoch with the sums of all processes; they have to be finite."""
    sums = torch.tensor([float(current.loss), current.graphs], dtype=torch.float64)
    if fabric.world_size > 1:
        sums = _sum_over_processes(fabric, sums.to(fabric.device))
    loss, graphs = sums.tolist()
    if not math.isfinite(loss):
        raise RuntimeError(
            f"the training loss is {loss} in epoch {epoch}; expected a finite number. A lower "
            "learning rate or a gradient clipped by its norm may help."
        )
    return replace(current, loss=loss, graphs=round(graphs))


def _write_curve(path: Path, rows: list[dict[str, float]]) -> None:
    with replacing(path) as temporary, open(temporary, "w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


@contextmanager
def _tensorboard(folder: Path | None) -> Iterator[Callable[[dict[str, float], int], None]]:
    """A function that appends a row to a new TensorBoard file, if ``folder`` is given.

    Without the queue and the thread that Fabric's logger has from tensorboardX: a write that fails,
    as on a disk that is full for a moment, ends the thread, and a few values later the training
    waits for it forever (``tests/train/test_loggers.py``).
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
