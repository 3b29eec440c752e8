"""What a recipe is: one published run, with everything that it depends on.

Below it is what recipes of several papers share: each data set's task, the papers' AdamW, and
learning-rate schedules, as functions of an optimizer and the number of its steps. Steps are counted
from 1: the rate at step k is the one of the optimizer's k-th step.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from functools import partial
from importlib.resources import files
from typing import Literal

from torch import nn
from torch.optim import AdamW, Optimizer
from torch.optim.lr_scheduler import LambdaLR, LRScheduler, ReduceLROnPlateau

from gtcourse.encodings import Encoding
from gtcourse.graphs.loader import DenseLoader
from gtcourse.training import tasks
from gtcourse.training.fit import History, device, fit
from gtcourse.training.flag import Flag
from gtcourse.training.tasks import Task

NODES_OF_PATTERN = (979_220, 209_900)
NODES_OF_CLUSTER = (19_695, 19_222, 19_559, 19_417, 19_801, 20_139)
"""Nodes of each class, as EGT's authors count them."""

TASKS = {
    **dict.fromkeys(("zinc", "zinc-full", "pcqm4m", "pcqm4mv2"), tasks.graph_regression()),
    **dict.fromkeys(("mnist", "cifar10"), tasks.graph_multiclass(10)),
    "molpcba": tasks.graph_classification(128),
    "cycles": tasks.graph_multiclass(2),
    "pattern": tasks.node_classification(2, NODES_OF_PATTERN),
    "cluster": tasks.node_classification(6, NODES_OF_CLUSTER),
    "tsp": tasks.edge_classification(),
}
DATASETS = {"pcqm4m": "pcqm4mv2", "molpcba": "ogbg-molpcba"}
NOTES = tomllib.loads((files("gtcourse.recipes") / "notes.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Recipe:
    """One published run.

    Attributes:
        name: "model-size/dataset"; dataset: a name that ``load_dataset`` knows.
        transforms: the encodings that the model reads, for :func:`gtcourse.encodings.encode`.
        optimizer: of parameters; schedule: of the optimizer and its number of steps.
        epochs: at most; batch_size: graphs in a step.
        source: paper and table; paper_parameters: as printed there.
        paper_result: metric to (mean, standard deviation or None), in the metric's own unit; to
            ``{training graphs: (mean, standard deviation)}`` where several sizes were run.
        steps: where the paper counts optimizer steps: the schedule's length, and at most this
            many, to the end of an epoch.
        stop_below_lr: the published run ends when the learning rate falls below this.
        grad_clip, flag: of :func:`gtcourse.training.fit.fit`.
        notes: where ours differs from the source.
        changed: what :meth:`at` set, as text; empty for the published budget.
    """

    name: str
    build_model: Callable[[], nn.Module]
    dataset: str
    transforms: tuple[Encoding, ...]
    task: Task
    optimizer: Callable[[Iterable[nn.Parameter]], Optimizer]
    schedule: Callable[[Optimizer, int], LRScheduler | ReduceLROnPlateau]
    epochs: int
    batch_size: int
    source: str
    paper_parameters: int
    paper_result: dict
    steps: int | None = None
    stop_below_lr: float | None = None
    grad_clip: float | None = None
    flag: Flag | None = None
    notes: str = ""
    changed: dict[str, str] = field(default_factory=dict)

    def fit(
        self, model: nn.Module, train: DenseLoader, val: DenseLoader | None = None, **options
    ) -> History:
        """Trains ``model`` as the recipe says; ``options`` are the others of ``fit``."""
        model, optimizer, schedule = self.start(model, len(train))
        epochs = self.epochs
        if self.steps is not None:
            epochs = min(epochs, -(-self.steps // len(train)))
        return fit(
            model, self.task, train, val, epochs=epochs, optimizer=optimizer, schedule=schedule,
            stop_below_lr=self.stop_below_lr, grad_clip=self.grad_clip, flag=self.flag, **options,
        )  # fmt: skip

    def start(
        self, model: nn.Module, steps_per_epoch: int
    ) -> tuple[nn.Module, Optimizer, LRScheduler | ReduceLROnPlateau]:
        """The model on its device, its optimizer (fused on a GPU) and the schedule of that."""
        model, fused = model.to(device()), {"fused": True} if device().type == "cuda" else {}
        optimizer = self.optimizer(model.parameters(), **fused)
        steps = self.steps or self.epochs * steps_per_epoch
        return model, optimizer, self.schedule(optimizer, steps)

    def at(self, **changes) -> Recipe:
        """The same recipe at another budget; ``changed`` says what is not the paper's.

        New ``epochs`` alone also replace ``steps``, so that the schedule ends with the run.
        """
        if self.steps is not None and "epochs" in changes:
            changes.setdefault("steps", None)
        texts = {name: as_text(value) for name, value in changes.items()}
        return replace(self, **changes, changed=self.changed | texts)

    def config(self) -> dict:
        """For a record: the recipe as text and numbers, its changes among them."""
        names = {f.name for f in fields(self)} - {"paper_parameters", "paper_result"}
        return {name: as_text(getattr(self, name)) for name in sorted(names)}


def recipe(name: str, **settings) -> Recipe:
    """A recipe whose data set, task and notes follow from its name, "model-size/dataset"."""
    data = name.split("/")[1]
    settings = {"dataset": DATASETS.get(data, data), "task": TASKS[data]} | settings
    notes = (note for pattern, note in NOTES.items() if re.fullmatch(pattern, name))
    return Recipe(name=name, notes="; ".join(notes), **settings)


def as_text(value: object) -> object:
    """What JSON can hold."""
    if isinstance(value, partial):
        arguments = [*map(repr, value.args), *(f"{k}={v!r}" for k, v in value.keywords.items())]
        return f"{value.func.__name__}({', '.join(arguments)})"
    if isinstance(value, tuple):
        return [as_text(part) for part in value]
    if isinstance(value, Encoding | Flag):
        return repr(value)
    return value.name if isinstance(value, Task) else getattr(value, "__name__", value)


def adamw(lr: float, weight_decay: float = 0.0) -> partial[AdamW]:
    return partial(AdamW, lr=lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=weight_decay)


def warmup_then_linear(
    optimizer: Optimizer, total: int, *, warmup: int | float, end: float = 1e-9
) -> LambdaLR:
    r"""Linear warm-up to the optimizer's own rate, then linear decay (Graphormer, Sec. 4.1).

    With W warm-up steps of ``total``, T, and the rate :math:`\eta` of the optimizer, step k has

    .. math::
        \eta\,\frac{k}{W} \quad (k \le W), \qquad
        \eta_\text{end} + (\eta - \eta_\text{end}) \Bigl(1 - \frac{k - W}{T - W}\Bigr)
        \quad (W < k \le T),

    and every later step :math:`\eta_\text{end}`, which is 1e-9 in the official code; the paper does
    not say. ``warmup`` is W, or a share of T (a float below 1).
    """
    peak = optimizer.param_groups[0]["lr"]
    return _warmup_then(
        optimizer, total, warmup, lambda done: (end + (peak - end) * (1 - done)) / peak
    )


def warmup_then_cosine(
    optimizer: Optimizer, total: int, *, warmup: int | float, quarter: bool = False
) -> LambdaLR:
    r"""Linear warm-up to the optimizer's own rate, then cosine decay to zero (EGT, Table 6).

    After the warm-up of :func:`warmup_then_linear`, step k has

    .. math:: \frac{\eta}{2} \Bigl(1 + \cos \pi\,\frac{k - W}{T - W}\Bigr)
              \quad\text{or}\quad \eta \cos \frac{\pi}{2} \frac{k - W}{T - W}
              \qquad (W < k \le T),

    and every later step 0. With ``quarter`` the second, as in the code that produced EGT's results.
    The paper says only "cosine"; its authors' later code has the first.

    Differs from the official code: there step W + 1 still has the peak, and step T + 1 is the first
    to have 0.
    """

    def decay(done: float) -> float:
        return math.cos(math.pi / 2 * done) if quarter else (1 + math.cos(math.pi * done)) / 2

    return _warmup_then(optimizer, total, warmup, decay)


def halve_on_plateau(
    optimizer: Optimizer, total: int, *, patience: int, mode: Literal["min", "max"]
) -> ReduceLROnPlateau:
    """Half the rate after more than ``patience`` epochs without a better score (benchmarking-gnns).

    ``total`` is not used; ``mode`` says whether a better score is small or large.
    """
    return ReduceLROnPlateau(optimizer, mode, factor=0.5, patience=patience)


def _warmup_then(
    optimizer: Optimizer, total: int, warmup: int | float, decay: Callable[[float], float]
) -> LambdaLR:
    """Linear warm-up, then a function of the share of the decay that is done."""
    steps = round(warmup * total) if isinstance(warmup, float) else warmup
    if not 0 <= steps < total:
        raise ValueError(f"warmup is {warmup} of {total} steps; expected fewer, or a share.")

    def rate(steps_done: int) -> float:
        step = steps_done + 1
        return step / steps if step <= steps else decay(min(1.0, (step - steps) / (total - steps)))

    schedule = LambdaLR(optimizer, rate)
    schedule.total_steps = total  # compared when a checkpoint is loaded
    return schedule
