"""What a recipe is: one published run, with everything that it depends on.

:meth:`Recipe.fit` trains with it; :meth:`Recipe.at` gives a smaller budget and remembers it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from functools import partial

from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from gtcourse.encodings import Encoding
from gtcourse.graphs.arguments import at_least, positive
from gtcourse.graphs.loader import DenseLoader
from gtcourse.training.budget import device
from gtcourse.training.fit import History, fit
from gtcourse.training.flag import Flag
from gtcourse.training.tasks import Task


@dataclass(frozen=True)
class Recipe:
    """One published run.

    Attributes:
        name: "model-size/dataset".
        build_model: makes the model, freshly initialised.
        dataset: a name that ``load_dataset`` knows.
        transforms: the encodings that the model reads, for :func:`gtcourse.encodings.encode`.
        task: loss and metric.
        optimizer: parameters to optimiser.
        schedule: optimiser and number of steps to schedule.
        epochs: at most this many.
        batch_size: graphs in a step.
        source: paper and table.
        paper_parameters: as printed there.
        paper_result: metric to (mean, standard deviation), in the metric's own unit; to
            ``{training graphs: (mean, standard deviation)}`` where several sizes were run. The
            deviation is None where none is printed.
        steps: where the paper counts in optimiser steps: the schedule's length, and at most this
            many, to the end of an epoch.
        stop_below_lr: the published run ends when the learning rate falls below this.
        grad_clip: the largest norm of the gradient.
        flag: perturbs the node embeddings in training.
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

    def __post_init__(self) -> None:
        where = f"recipe {self.name!r}: "
        at_least(1, **{f"{where}{name}": getattr(self, name) for name in ("epochs", "batch_size")})
        if self.steps is not None:
            at_least(1, **{f"{where}steps": self.steps})
        for name in ("stop_below_lr", "grad_clip"):
            if getattr(self, name) is not None:
                positive(**{f"{where}{name}": getattr(self, name)})
        kinds = {
            "name": str, "dataset": str, "task": Task, "build_model": Callable,
            "optimizer": Callable, "schedule": Callable, "flag": Flag | None,
        }  # fmt: skip
        for name, kind in kinds.items():
            if not isinstance(getattr(self, name), kind):
                expected = getattr(kind, "__name__", str(kind)).lower()
                raise ValueError(
                    f"{where}{name} is {getattr(self, name)!r}; expected a {expected}."
                )
        for transform in self.transforms:
            if not isinstance(transform, Encoding):
                raise ValueError(
                    f"{where}transforms holds {transform!r}; expected the course's encodings, such "
                    "as AddDegrees()."
                )

    def fit(
        self, model: nn.Module, train: DenseLoader, val: DenseLoader | None = None, **options
    ) -> History:
        """Trains ``model`` as the recipe says: :func:`gtcourse.training.fit.fit` with all it takes.

        Args:
            model: made by ``build_model``, or one to be compared with it.
            train: with batches of ``batch_size`` graphs, shuffled; val: as ``fit`` takes it.
            options: ``fit``'s others, such as ``seed``, ``out``, ``precision`` and ``patience``.
        """
        model, optimizer, schedule = self.start(model, len(train))
        return fit(
            model,
            self.task,
            train,
            val,
            epochs=self._epochs(len(train)),
            optimizer=optimizer,
            schedule=schedule,
            stop_below_lr=self.stop_below_lr,
            grad_clip=self.grad_clip,
            flag=self.flag,
            **options,
        )

    def start(
        self, model: nn.Module, steps_per_epoch: int
    ) -> tuple[nn.Module, Optimizer, LRScheduler | ReduceLROnPlateau]:
        """The model on its device, its optimiser (fused on a GPU) and the schedule of that."""
        model, fused = model.to(device()), {"fused": True} if device().type == "cuda" else {}
        optimizer = self.optimizer(model.parameters(), **fused)
        return model, optimizer, self.schedule(optimizer, self.total_steps(steps_per_epoch))

    def total_steps(self, steps_per_epoch: int) -> int:
        """The schedule's length: ``steps``, or those of all epochs where the paper counts these."""
        return self.steps or self.epochs * steps_per_epoch

    def _epochs(self, steps_per_epoch: int) -> int:
        if self.steps is None:
            return self.epochs
        return min(self.epochs, -(-self.steps // steps_per_epoch))

    def at(self, **changes) -> Recipe:
        """The same recipe at another budget; ``changed`` says what is not the paper's.

        Args:
            changes: any of ``epochs``, ``steps``, ``batch_size``, ``optimizer``, ``schedule``,
                ``stop_below_lr`` and ``flag``. New ``epochs`` alone also take the place of
                ``steps``, so that the schedule ends with the run.

        Raises:
            ValueError: something else, which would make it another recipe.
        """
        other = sorted({*changes} - BUDGET)
        if other:
            raise ValueError(
                f"a budget cannot change {', '.join(other)}; expected {', '.join(sorted(BUDGET))}."
            )
        if self.steps is not None and "epochs" in changes:
            changes.setdefault("steps", None)
        said = {name: as_text(value) for name, value in changes.items()}
        return replace(self, **changes, changed=self.changed | said)

    def config(self) -> dict:
        """For a record: the recipe as text and numbers, its changes among them."""
        names = {f.name for f in fields(self)} - {"paper_parameters", "paper_result"}
        return {name: as_text(getattr(self, name)) for name in sorted(names)}


BUDGET = {"epochs", "steps", "batch_size", "optimizer", "schedule", "stop_below_lr", "flag"}


def as_text(value: object) -> object:
    """What JSON can hold."""
    if isinstance(value, partial):
        arguments = [*map(repr, value.args), *(f"{k}={v!r}" for k, v in value.keywords.items())]
        return f"{value.func.__name__}({', '.join(arguments)})"
    if isinstance(value, Task):
        return value.name
    if isinstance(value, tuple):
        return [as_text(part) for part in value]
    if isinstance(value, Encoding | Flag):
        return repr(value)
    return getattr(value, "__name__", value)
