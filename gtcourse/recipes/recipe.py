"""What a recipe is: one published run, with everything that it depends on.

Below it is what recipes of several papers share: each data set's task and the papers' AdamW.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import partial
from importlib.resources import files
from typing import Any

from torch import nn
from torch.optim import AdamW, Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from gtcourse.encodings import Encoding
from gtcourse.graphs.loader import DenseLoader
from gtcourse.models.config import Config, PositiveFloat, PositiveInt
from gtcourse.train import tasks
from gtcourse.train.checkpoint import History
from gtcourse.train.flag import Flag
from gtcourse.train.loop import device, fit, steps_of
from gtcourse.train.tasks import Task

NODES_OF_PATTERN = (979_220, 209_900)
NODES_OF_CLUSTER = (19_695, 19_222, 19_559, 19_417, 19_801, 20_139)
"""Nodes of each class, as EGT's authors count them."""

TASKS = {
    **dict.fromkeys(
        ("zinc", "zinc-full", "pcqm4m", "pcqm4mv2", "pcqm4mv2-subset"), tasks.graph_regression()
    ),
    **dict.fromkeys(("mnist", "cifar10"), tasks.graph_multiclass(10)),
    "molpcba": tasks.graph_classification(128),
    "molhiv": tasks.graph_classification(),
    "cycles": tasks.graph_multiclass(2),
    "pattern": tasks.node_classification(2, NODES_OF_PATTERN),
    "cluster": tasks.node_classification(6, NODES_OF_CLUSTER),
    "tsp": tasks.edge_classification(),
}
DATASETS = {"pcqm4m": "pcqm4mv2", "molpcba": "ogbg-molpcba", "molhiv": "ogbg-molhiv"}
NOTES = tomllib.loads((files("gtcourse.recipes") / "notes.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Recipe(Config):
    """One published run.

    Attributes:
        name: "model-size/dataset"; dataset: a name that ``load_dataset`` knows.
        transforms: the encodings that the model reads, for :func:`gtcourse.encodings.encode`.
        optimizer: of parameters; schedule: of the optimizer and its number of steps.
        epochs: at most; batch_size: graphs in a step.
        source: paper and table; paper_parameters: as printed there, None where they are not.
        paper_result: metric to (mean, standard deviation or None), in the metric's own unit; to
            ``{training graphs: (mean, standard deviation)}`` where several sizes were run; empty
            where nothing is printed.
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
    optimizer: Callable[..., Optimizer]
    schedule: Callable[[Optimizer, int], LRScheduler | ReduceLROnPlateau]
    epochs: PositiveInt
    batch_size: PositiveInt
    source: str
    paper_parameters: int | None
    paper_result: dict[str, Any]
    steps: PositiveInt | None = None
    stop_below_lr: PositiveFloat | None = None
    grad_clip: PositiveFloat | None = None
    flag: Flag | None = None
    notes: str = ""
    changed: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("build_model", "optimizer", "schedule"):
            if not callable(vars(self)[name]):
                raise ValueError(f"{name} is {vars(self)[name]!r}; expected a function.")
        if not isinstance(self.task, Task):
            raise ValueError(f"task is {self.task!r}; expected a Task.")

    def fit(
        self,
        model: nn.Module,
        train: DenseLoader,
        val: DenseLoader | None = None,
        *,
        accumulate: int = 1,
        **options: Any,
    ) -> History:
        """Trains ``model`` as the recipe says.

        Args:
            accumulate: batches in a step of the optimizer, as of ``fit``.
            options: others of ``fit``.
        """
        steps_per_epoch = steps_of(len(train), accumulate)
        model, optimizer, schedule = self.start(model, steps_per_epoch)
        epochs = self.epochs
        if self.steps is not None:
            epochs = min(epochs, -(-self.steps // steps_per_epoch))
        return fit(
            model,
            self.task,
            train,
            val,
            epochs=epochs,
            optimizer=optimizer,
            schedule=schedule,
            stop_below_lr=self.stop_below_lr,
            grad_clip=self.grad_clip,
            accumulate=accumulate,
            flag=self.flag,
            **options,
        )

    def start(
        self, model: nn.Module, steps_per_epoch: int
    ) -> tuple[nn.Module, Optimizer, LRScheduler | ReduceLROnPlateau]:
        """The model on its device, its optimizer (fused on a GPU) and the schedule of that."""
        model = model.to(device())
        fused = {"fused": True} if device().type == "cuda" else {}
        optimizer = self.optimizer(model.parameters(), **fused)
        steps = self.steps or self.epochs * steps_per_epoch
        return model, optimizer, self.schedule(optimizer, steps)

    def at(self, **changes: Any) -> Recipe:
        """The same recipe at another budget; ``changed`` says what is not the paper's.

        New ``epochs`` alone also replace ``steps``, so that the schedule ends with the run. Raises
        a ValueError for a change of what a recipe does not have, or to what is not allowed.
        """
        known = [each.name for each in fields(self)]
        if unknown := [name for name in changes if name not in known]:
            raise ValueError(f"a recipe has no {unknown[0]}; expected one of {', '.join(known)}.")
        if self.steps is not None and "epochs" in changes:
            changes.setdefault("steps", None)
        texts = {name: as_text(value) for name, value in changes.items()}
        return replace(self, **changes, changed=self.changed | texts)

    def config(self) -> dict[str, Any]:
        """For a record: the recipe as text and numbers, its changes among them."""
        names = {f.name for f in fields(self)} - {"paper_parameters", "paper_result"}
        return {name: as_text(getattr(self, name)) for name in sorted(names)}


def recipe(name: str, **settings: Any) -> Recipe:
    """A recipe whose data set, task and notes follow from its name, "model-size/dataset"."""
    data = name.split("/")[1]
    about: dict[str, Any] = {"dataset": DATASETS.get(data, data), "task": TASKS[data]}
    notes = (note for pattern, note in NOTES.items() if re.fullmatch(pattern, name))
    return Recipe(name=name, notes="; ".join(notes), **about | settings)


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
