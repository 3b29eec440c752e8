"""Every published configuration that the course runs, by name: ``get_recipe("gin-pe/cycles")``.

A recipe holds what a paper says: model, data, encodings, optimiser, schedule, and the parameter
count and result to compare with. :meth:`Recipe.at` gives a smaller budget and remembers it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from functools import partial

from torch import nn
from torch.optim import Adam, Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from gtcourse.encodings import AddLaplacianEigenvectors, Encoding
from gtcourse.models import GIN, GatedGCN, GatedGCNConfig, GINConfig, LaplacianEncoding
from gtcourse.training.tasks import Task, graph_multiclass


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
            ``{training graphs: (mean, standard deviation)}`` where several sizes were run.
        stop_below_lr: the published run ends when the learning rate falls below this.
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
    stop_below_lr: float | None = None
    notes: str = ""
    changed: dict[str, str] = field(default_factory=dict)

    def at(self, **changes) -> Recipe:
        """The same recipe at another budget; ``changed`` says what is not the paper's.

        Args:
            changes: any of ``epochs``, ``batch_size``, ``optimizer``, ``schedule`` and
                ``stop_below_lr``.

        Raises:
            ValueError: something else, which would make it another recipe.
        """
        other = sorted({*changes} - BUDGET)
        if other:
            raise ValueError(
                f"a budget cannot change {', '.join(other)}; expected {', '.join(sorted(BUDGET))}."
            )
        said = {name: _text(value) for name, value in changes.items()}
        return replace(self, **changes, changed=self.changed | said)

    def config(self) -> dict:
        """For a record: the recipe as text and numbers, its changes among them."""
        names = {f.name for f in fields(self)} - {"paper_parameters", "paper_result"}
        return {name: _text(getattr(self, name)) for name in sorted(names)}


BUDGET = {"epochs", "batch_size", "optimizer", "schedule", "stop_below_lr"}


def get_recipe(name: str) -> Recipe:
    """A recipe by name.

    Raises:
        ValueError: there is none of this name.
    """
    if name not in RECIPES:
        raise ValueError(f"there is no recipe {name!r}; expected one of {', '.join(RECIPES)}.")
    return RECIPES[name]


def _cycles(name: str, build_model, parameters: int, *percent: tuple[float, float]) -> Recipe:
    """A row of the lecture's table, for 200, 500, 1000 and 5000 training graphs."""
    scores = [tuple(round(value / 100, 5) for value in score) for score in percent]
    with_pe = name.split("/")[0].endswith("-pe")
    eigenvectors = AddLaplacianEigenvectors(20, "symmetric", skip_first=True)
    return Recipe(
        name=name,
        build_model=build_model,
        dataset="cycles",
        transforms=(eigenvectors,) if with_pe else (),
        task=graph_multiclass(2),
        optimizer=partial(Adam, lr=1e-4),
        schedule=_halve_on_plateau,
        epochs=1000,
        batch_size=25,
        source="CS224W, Laplacian Eigenvectors in Practice; settings of benchmarking-gnns, CYCLES",
        paper_parameters=parameters,
        paper_result={"test_accuracy": dict(zip((200, 500, 1000, 5000), scores, strict=True))},
        stop_below_lr=1e-6,
        notes=(
            "our own CYCLES, whose published generator is not public; a plateau is one of "
            "validation accuracy, there of validation loss; random signs for each graph, there "
            "for each batch; the weights best in validation, there the last"
        ),
    )


def _halve_on_plateau(optimizer: Optimizer, steps: int) -> ReduceLROnPlateau:
    return ReduceLROnPlateau(optimizer, mode="max", factor=0.5, patience=10)


def _gin(pe: bool) -> GIN:
    config = GINConfig(num_targets=2, num_node_features=0 if pe else 1)
    return GIN(config, LaplacianEncoding(20, config.d_model, flip_signs=True) if pe else None)


def _gated_gcn(pe: bool) -> GatedGCN:
    config = GatedGCNConfig(num_targets=2, num_node_features=0 if pe else 1)
    return GatedGCN(config, LaplacianEncoding(20, config.d_model, flip_signs=True) if pe else None)


def _text(value: object) -> object:
    """What JSON can hold."""
    if isinstance(value, partial):
        arguments = [*map(repr, value.args), *(f"{k}={v!r}" for k, v in value.keywords.items())]
        return f"{value.func.__name__}({', '.join(arguments)})"
    if isinstance(value, Task):
        return value.name
    if isinstance(value, tuple):
        return [_text(part) for part in value]
    if isinstance(value, Encoding):
        return repr(value)
    return getattr(value, "__name__", value)


RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        _cycles(
            "gin/cycles", partial(_gin, pe=False), 100_774,
            (70.585, 0.636), (74.995, 1.226), (78.083, 1.083), (86.130, 1.140),
        ),
        _cycles(
            "gin-pe/cycles", partial(_gin, pe=True), 102_864,
            (86.720, 3.376), (95.960, 0.393), (97.998, 0.300), (99.570, 0.089),
        ),
        _cycles(
            "gatedgcn/cycles", partial(_gated_gcn, pe=False), 103_933,
            (50.000, 0.000), (50.000, 0.000), (50.000, 0.000), (50.000, 0.000),
        ),
        _cycles(
            "gatedgcn-pe/cycles", partial(_gated_gcn, pe=True), 105_263,
            (95.082, 0.346), (96.700, 0.381), (98.230, 0.473), (99.725, 0.027),
        ),
    )
}  # fmt: skip
