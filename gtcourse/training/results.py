"""Recorded runs of recipes beside what their papers print."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev

from gtcourse.recipes import RECIPES, Recipe
from gtcourse.training.records import Record, read_record


@dataclass(frozen=True)
class Result:
    """Several seeds of one recipe, at one budget on the same data.

    Attributes:
        recipe: as published; None for a reader's own.
        metric: the one that is compared, for instance "test_mae".
        paper: (mean, standard deviation or None), as printed; None for a reader's own.
        records: the runs, by seed; none if the recipe was not run.
    """

    recipe: Recipe | None
    metric: str
    paper: tuple[float, float | None] | None
    records: tuple[Record, ...] = ()

    @property
    def name(self) -> str:
        return self.recipe.name if self.recipe else self.records[0].name

    @property
    def values(self) -> list[float]:
        return [record.result[self.metric] for record in self.records]

    @property
    def gap(self) -> float | None:
        """Our mean less the paper's; None if one of them is missing."""
        return mean(self.values) - self.paper[0] if self.records and self.paper else None

    @property
    def data(self) -> str:
        return self.records[0].data.get("source", "") if self.records else ""

    @property
    def budget(self) -> str:
        """How much of the published run was run."""
        if not self.records:
            return ""
        config = self.records[0].config
        if self.recipe is None:
            return f"{config['epochs']} epochs" if "epochs" in config else ""
        if not (changed := config.get("changed", {})):
            return "the paper's"
        graphs = f", {changed['graphs']} graphs" if "graphs" in changed else ""
        batches = f", batches of {changed['batch_size']}" if "batch_size" in changed else ""
        return f"{config['epochs']} of {self.recipe.epochs:,} epochs{graphs}{batches}"


def read_results(folders: Iterable[Path]) -> list[Record]:
    """Every record of a run in folders and the folders in them.

    Raises:
        ValueError: a file is no record, or lacks a field.
    """
    records = []
    for path in (path for folder in folders for path in sorted(Path(folder).rglob("*-seed*.json"))):
        record = read_record(path)
        records.append(record)
        for part, names in {"config": {"epochs"}, "data": {"checksum", "name"}}.items():
            missing = sorted(names - {*getattr(record, part)})
            if missing and recipe_of(record) in RECIPES:
                raise ValueError(
                    f"{path} has no {', '.join(missing)} in its {part}; expected the record of a "
                    "recipe's run."
                )
    return records


def results(records: Iterable[Record], dataset: str | None = None) -> list[Result]:
    """A result for each recipe, data and budget; one without records for a recipe that has none.

    Runs of recipes that are a reader's own come last, with all metrics of the test set.

    Args:
        dataset: only recipes for this one.
    """
    runs = defaultdict(list)
    for record in sorted(records, key=lambda record: record.seed):
        settings = ("changed", "precision", "compile", "buckets")
        budget = str([record.config.get(name) for name in settings])
        data = record.data.get("source"), record.data.get("checksum")
        runs[_name(record), data, budget].append(record)
    found = []
    for name, recipe in RECIPES.items():
        if dataset is None or recipe.dataset == dataset:
            groups = [group for (of, *_), group in runs.items() if of == name] or [[]]
            found += [
                _result(recipe, *score, group) for score in printed(recipe) for group in groups
            ]
    for (name, *_), group in runs.items():
        if name not in RECIPES and dataset in (None, group[0].data.get("name")):
            metrics = [metric for metric in group[0].result if metric.startswith("test_")]
            found += [_result(None, metric, None, group) for metric in metrics]
    return found


def _result(recipe: Recipe | None, metric: str, paper, group: list[Record]) -> Result:
    """A split without targets gives no score."""
    return Result(recipe, metric, paper, tuple(run for run in group if metric in run.result))


def printed(recipe: Recipe) -> list[tuple[str, tuple[float, float | None]]]:
    """The paper's numbers by metric; without those for several sizes of the training set."""
    return [item for item in recipe.paper_result.items() if isinstance(item[1], tuple)]


def _name(record: Record) -> str:
    """The recipe whose printed number the run can be compared with, else the run's own name."""
    own_data = "own_data" in record.config.get("changed", {})
    return record.name if own_data else recipe_of(record)


def recipe_of(record: Record) -> str:
    """The name of the recipe that was run, perhaps on other data."""
    return record.name.split("-on-")[0]


def spread(values: list[float]) -> str:
    """Mean ± standard deviation over seeds, and how many there are."""
    if not values:
        return "not yet run"
    if len(values) == 1:
        return f"{values[0]:.3f} (1 seed)"
    return f"{mean(values):.3f} ± {stdev(values):.3f} ({len(values)} seeds)"


COLUMNS = ("recipe", "metric", "paper", "recorded", "gap", "budget", "data")


def row(result: Result) -> tuple[str, ...]:
    """A line of the table, as text."""
    value, deviation = result.paper or (None, None)
    return (
        result.name,
        result.metric,
        "" if value is None else f"{value:g}" + (f" ± {deviation:g}" if deviation else ""),
        spread(result.values),
        "" if result.gap is None else f"{result.gap:+.3f}",
        result.budget,
        result.data,
    )
