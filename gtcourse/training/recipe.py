"""What a recipe is: one published run, with everything that it depends on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from functools import partial

from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from gtcourse.encodings import Encoding
from gtcourse.graphs.loader import DenseLoader
from gtcourse.training.budget import device
from gtcourse.training.fit import History, fit
from gtcourse.training.flag import Flag
from gtcourse.training.tasks import Task

BUDGET = {"epochs", "steps", "batch_size", "optimizer", "schedule", "stop_below_lr", "flag"}


@dataclass(frozen=True)
class Recipe:
    """One published run.

    Attributes:
        name: "model-size/dataset".
        build_model: returns the model, freshly initialised.
        dataset: a name that ``load_dataset`` knows.
        transforms: the encodings that the model reads, for :func:`gtcourse.encodings.encode`.
        task: loss and metric.
        optimizer: of parameters; schedule: of the optimizer and its number of steps.
        epochs: at most; batch_size: graphs in a step.
        source: paper and table.
        paper_parameters: as printed there.
        paper_result: metric to (mean, standard deviation or None), in the metric's own unit; to
            ``{training graphs: (mean, standard deviation)}`` where several sizes were run.
        steps: where the paper counts optimizer steps: the schedule's length, and at most this
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

    def fit(
        self, model: nn.Module, train: DenseLoader, val: DenseLoader | None = None, **options
    ) -> History:
        """Trains ``model`` as the recipe says, with :func:`gtcourse.training.fit.fit`.

        Args:
            train: with batches of ``batch_size`` graphs, shuffled.
            options: ``fit``'s others, such as ``seed``, ``out``, ``precision`` and ``patience``.
        """
        model, optimizer, schedule = self.start(model, len(train))
        epochs = self.epochs
        if self.steps is not None:
            epochs = min(epochs, -(-self.steps // len(train)))
        names = ("stop_below_lr", "grad_clip", "flag")
        options |= {name: getattr(self, name) for name in names}
        options |= {"epochs": epochs, "optimizer": optimizer, "schedule": schedule}
        return fit(model, self.task, train, val, **options)

    def start(
        self, model: nn.Module, steps_per_epoch: int
    ) -> tuple[nn.Module, Optimizer, LRScheduler | ReduceLROnPlateau]:
        """The model on its device, its optimizer (fused on a GPU) and the schedule of that."""
        model, fused = model.to(device()), {"fused": True} if device().type == "cuda" else {}
        optimizer = self.optimizer(model.parameters(), **fused)
        return model, optimizer, self.schedule(optimizer, self.total_steps(steps_per_epoch))

    def total_steps(self, steps_per_epoch: int) -> int:
        """The schedule's length: ``steps``, or those of all epochs where the paper counts these."""
        return self.steps or self.epochs * steps_per_epoch

    def at(self, **changes) -> Recipe:
        """The same recipe at another budget; ``changed`` says what is not the paper's.

        Args:
            changes: any of ``BUDGET``. New ``epochs`` alone also replace ``steps``, so that the
                schedule ends with the run.
        """
        if other := sorted({*changes} - BUDGET):
            raise ValueError(
                f"a budget cannot change {', '.join(other)}; expected {', '.join(sorted(BUDGET))}."
            )
        if self.steps is not None and "epochs" in changes:
            changes.setdefault("steps", None)
        texts = {name: as_text(value) for name, value in changes.items()}
        return replace(self, **changes, changed=self.changed | texts)

    def config(self) -> dict:
        """For a record: the recipe as text and numbers, its changes among them."""
        names = {f.name for f in fields(self)} - {"paper_parameters", "paper_result"}
        return {name: as_text(getattr(self, name)) for name in sorted(names)}


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
