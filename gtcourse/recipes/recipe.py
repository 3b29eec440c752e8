"""What a recipe is: one published run, with everything that it depends on.

Below it is what recipes of several papers share: each data set's task and the papers' AdamW.
"""

from __future__ import annotations

import ast
import math
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from importlib.resources import files
from types import FunctionType
from typing import Any, get_args, get_type_hints

import numpy as np
from torch import nn
from torch.optim import AdamW, Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from gtcourse import models
from gtcourse.encodings import Encoding
from gtcourse.graphs.arguments import is_one_of
from gtcourse.graphs.loader import DenseLoader
from gtcourse.messages import shown
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
    "zinc": tasks.graph_regression(),
    "zinc-full": tasks.graph_regression(),
    "pcqm4m": tasks.graph_regression(),
    "pcqm4mv2": tasks.graph_regression(),
    "pcqm4mv2-subset": tasks.graph_regression(),
    "mnist": tasks.graph_multiclass(10),
    "cifar10": tasks.graph_multiclass(10),
    "molpcba": tasks.graph_classification(128),
    "molhiv": tasks.graph_classification(),
    "cycles": tasks.graph_multiclass(2),
    "pattern": tasks.node_classification(2, NODES_OF_PATTERN),
    "cluster": tasks.node_classification(6, NODES_OF_CLUSTER),
    "tsp": tasks.edge_classification(),
}
"""By the data set in the name of a recipe."""

DATASETS = {"pcqm4m": "pcqm4mv2", "molpcba": "ogbg-molpcba", "molhiv": "ogbg-molhiv"}
"""What ``load_dataset`` calls the data set in the name of a recipe, where it has another name."""


@dataclass(frozen=True)
class Note:
    """A point in which a run may differ from the published one.

    Attributes:
        about: the point, such as "tested epoch".
        paper: what the paper does, "not stated" if it does not say it. Empty where the authors'
            code is what differs.
        code: what the authors' code does. Empty where the note is about the paper's text alone.
        here: what our runs do. Empty for the number of parameters, the number of seeds and the
            printed result, which are compared with those of a record.
        entry: the entry about the same point on the book's pages "paper, code and course", such as
            "egt-signs", if there is one.
        printed: the mean and the standard deviation by where they are printed, if several papers
            print a result. ``paper`` says the same.
    """

    about: str
    paper: str = ""
    code: str = ""
    here: str = ""
    entry: str = ""
    printed: Mapping[str, tuple[float, float]] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        sides = (("the paper", self.paper), ("its code", self.code), ("here", self.here))
        found = "; ".join(f"{side}: {text}" for side, text in sides if text)
        return f"{self.about} ({found})"


def read_notes() -> tuple[tuple[re.Pattern[str], Note], ...]:
    """The notes in ``notes.toml``, each with the pattern of the recipes that it is about."""
    text = (files("gtcourse.recipes") / "notes.toml").read_text(encoding="utf-8")
    found = []
    for entry in tomllib.loads(text)["note"]:
        recipes = re.compile(entry.pop("recipes"))
        if "printed" in entry:
            places = entry["printed"].items()
            printed = [f"{mean} ± {deviation} in {place}" for place, (mean, deviation) in places]
            entry["paper"] = ", ".join(printed)
        found.append((recipes, Note(**entry)))
    return tuple(found)


NOTES = read_notes()


@dataclass(frozen=True)
class Recipe(Config):
    """One published run.

    Attributes:
        name: "model-size/dataset".
        build_model: makes a new model.
        dataset: a name that ``load_dataset`` knows.
        transforms: the encodings that the model reads, for :func:`gtcourse.encodings.encode`.
        task: the loss and the metric.
        optimizer: makes one for parameters.
        schedule: makes one for an optimizer and the number of its steps.
        epochs: passes over the training graphs, at most.
        batch_size: graphs in a step.
        source: the paper and its tables.
        paper_parameters: how many the paper prints, None where it prints none.
        paper_result: the printed mean and standard deviation (or None) by the name of the metric,
            in the metric's own unit. Where training sets of several sizes were run, it is
            ``{training graphs: (mean, standard deviation)}``. Empty where nothing is printed.
        steps: where the paper counts steps of the optimizer: the length of the schedule. The run
            ends with the epoch in which this many are done.
        stop_below_lr: the run ends when the learning rate falls below this.
        grad_clip: the largest norm of the gradient.
        flag: how FLAG perturbs the nodes in training.
        notes: where our runs differ from the source, a :class:`Note` for each point.
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
    notes: tuple[Note, ...] = ()
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
        """Trains ``model`` as the recipe says, with :func:`gtcourse.train.loop.fit`.

        Args:
            model: one that :attr:`build_model` has made.
            train: loader of the training graphs.
            val: loader of the validation graphs.
            accumulate: batches in a step of the optimizer.
            options: other arguments of ``fit``.
        """
        steps_per_epoch = steps_of(len(train), accumulate)
        model, optimizer, schedule = self.start(model, steps_per_epoch)
        return fit(
            model,
            self.task,
            train,
            val,
            epochs=self.epochs_of(steps_per_epoch),
            optimizer=optimizer,
            schedule=schedule,
            stop_below_lr=self.stop_below_lr,
            grad_clip=self.grad_clip,
            accumulate=accumulate,
            flag=self.flag,
            **options,
        )

    def epochs_of(self, steps_per_epoch: int) -> int:
        """How many epochs the run has at most, each with so many steps of the optimizer."""
        if self.steps is None:
            return self.epochs
        return min(self.epochs, math.ceil(self.steps / steps_per_epoch))

    def start(
        self, model: nn.Module, steps_per_epoch: int
    ) -> tuple[nn.Module, Optimizer, LRScheduler | ReduceLROnPlateau]:
        """The model on the device, its optimizer (fused on a GPU) and the optimizer's schedule."""
        model = model.to(device())
        fused = {"fused": True} if device().type == "cuda" else {}
        optimizer = self.optimizer(model.parameters(), **fused)
        steps = self.steps or self.epochs * steps_per_epoch
        return model, optimizer, self.schedule(optimizer, steps)

    def at(self, **changes: Any) -> Recipe:
        """The same recipe at another budget; ``changed`` says what is not the paper's.

        New ``epochs`` alone also replace ``steps``, so that the schedule ends with the run.

        Raises:
            ValueError: a recipe has no such attribute, or the new value is not allowed.
        """
        known = [each.name for each in fields(self)]
        if unknown := [name for name in changes if name not in known]:
            raise ValueError(
                f"a recipe has no setting {unknown[0]}; expected one of {', '.join(known)}."
            )
        for name, value in changes.items():
            if isinstance(value, np.generic):  # the record is JSON, which has no such numbers
                changes[name] = value.item()
        if self.steps is not None and "epochs" in changes:
            changes.setdefault("steps", None)
        texts = {name: as_text(value) for name, value in changes.items()}
        return replace(self, **changes, changed=self.changed | texts)

    def config(self) -> dict[str, Any]:
        """The recipe as text and numbers, its changes among them, for a record."""
        names = {field.name for field in fields(self)} - {"paper_parameters", "paper_result"}
        return {name: as_text(getattr(self, name)) for name in sorted(names)}


def recipe(name: str, **settings: Any) -> Recipe:
    """A recipe whose data set, task and notes follow from its name, "model-size/dataset".

    Args:
        name: of the recipe.
        settings: the other attributes of :class:`Recipe`.
    """
    data = name.split("/")[1]
    notes = tuple(note for pattern, note in NOTES if pattern.fullmatch(name))
    settings.setdefault("dataset", DATASETS.get(data, data))
    settings.setdefault("task", TASKS[data])
    return Recipe(name=name, notes=notes, **settings)


def with_form(recipe: Recipe, form: str) -> Recipe:
    """The same recipe of CSA, EGT or GRPE in another form, which computes the same function.

    Args:
        recipe: of one of these models.
        form: a choice of the field ``form`` of the model's configuration.

    Raises:
        ValueError: the form is unknown, or the recipe is one of another model, or none.
    """
    if not isinstance(recipe, Recipe):
        raise ValueError(f"recipe is {shown(recipe)}; expected a Recipe.")
    build = recipe.build_model
    has_forms = models.CGTConfig | models.EGTConfig | models.GRPEConfig
    if not isinstance(build, partial) or not build.args or not isinstance(build.args[0], has_forms):
        raise ValueError(
            f"form is {shown(form)} for {recipe.name}; expected a recipe of CSA, EGT or GRPE."
        )
    config = build.args[0]
    forms = get_args(get_type_hints(type(config))["form"])
    if not is_one_of(form, forms):
        raise ValueError(f"form is {shown(form)}; expected one of {', '.join(forms)}.")
    changed = replace(config, form=form)  # type: ignore[arg-type]  # one of the forms
    changed_build = partial(build.func, changed, *build.args[1:], **build.keywords)
    return replace(recipe, build_model=changed_build)


def printed_score(printed: str, task: Task) -> tuple[float, ...]:
    """The mean and standard deviation in "86.8±0.1", as a share where the papers print percent."""
    scale = 100 if task.monitor == "accuracy" else 1
    return tuple(round(float(number) / scale, 5) for number in printed.split("±"))


def as_text(value: object) -> object:
    """A value as JSON can hold it: functions by their names, and what they are called with."""
    if isinstance(value, partial):
        arguments = [_argument(argument) for argument in value.args]
        arguments += [f"{name}={_argument(each)}" for name, each in value.keywords.items()]
        return f"{value.func.__name__}({', '.join(arguments)})"
    if isinstance(value, tuple):
        return [as_text(part) for part in value]
    if isinstance(value, Note):
        return {name: text for name, text in vars(value).items() if text}
    if isinstance(value, Encoding | Flag):
        return repr(value)
    if isinstance(value, Task):
        return value.name
    if isinstance(value, FunctionType | type):
        return value.__name__
    return value


def _argument(value: object) -> str:
    is_named = isinstance(value, partial | FunctionType | type)
    return str(as_text(value)) if is_named else repr(value)


# How a function or class as an argument was written until 0.12: ``as_text`` writes its name.
EARLIER_NAME = re.compile(r"<(?:class '|function )(?:(?:\w+|<locals>)\.)*(\w+)'?(?: at 0x\w+)?>")

# How an argument that is a ``partial`` was written before 0.11: ``as_text`` writes a call.
EARLIER_PARTIAL = re.compile(
    r"functools\.partial\(<(?:class '(?:\w+\.)*|function )(\w+)'?(?: at 0x\w+)?>(?:, )?"
)


def read_call(text: object) -> object:
    """What :func:`as_text` wrote about a call, so that texts of two releases can be compared.

    A call becomes a dictionary with its "function" and its "arguments", by number or by name. A
    configuration has all of today's fields, with the defaults of those that the text does not have
    (:meth:`gtcourse.models.config.Config.complete`). Anything else stays as it is.
    """
    todays = EARLIER_NAME.sub(r"\1", EARLIER_PARTIAL.sub(r"\1(", str(text)))
    try:
        call = ast.parse(todays, mode="eval").body
    except SyntaxError:
        return text
    return _text_or_call(call) if isinstance(call, ast.Call) else text


def _text_or_call(node: ast.expr) -> Any:
    """The dictionary of a call, or the text of another value."""
    if not isinstance(node, ast.Call):
        return ast.unparse(node)
    function = ast.unparse(node.func)
    given = {str(number): value for number, value in enumerate(node.args)}
    given |= {keyword.arg or "**": keyword.value for keyword in node.keywords}
    kind = vars(models).get(function)
    if isinstance(kind, type) and issubclass(kind, Config):
        texts = {name: ast.unparse(value) for name, value in given.items()}
        return {"function": function, "arguments": kind.complete(texts)}
    arguments = {name: _text_or_call(value) for name, value in given.items()}
    return {"function": function, "arguments": arguments}


def adamw(lr: float, weight_decay: float = 0.0) -> partial[AdamW]:
    """AdamW as the papers use it, with PyTorch's own betas and epsilon written out."""
    return partial(AdamW, lr=lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=weight_decay)
