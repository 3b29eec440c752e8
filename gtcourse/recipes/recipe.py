"""What a recipe is: one published run, with everything that it depends on.

Below it is what recipes of several papers share: each data set's task and the papers' AdamW.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from functools import partial
from importlib.resources import files

from torch import nn
from torch.optim import AdamW, Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from gtcourse.encodings import Encoding
from gtcourse.graphs.loader import DenseLoader
from gtcourse.train import tasks
from gtcourse.train.flag import Flag
from gtcourse.train.loop import History, device, fit
from gtcourse.train.tasks import Task

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
        grad_clip, flag: of :func:`gtcourse.train.loop.fit`.
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
