"""What a GPU would run of each notebook: cells at the GPU's budget, on a CPU and on tiny data.

``make notebook-tests`` runs every cell, with a fiftieth of the GPU's data and steps. Here the
budget is the GPU's own, and only the cells that depend on it run, with those that they need. So
that this takes seconds, :func:`made_tiny` cuts the data and the loops, and nothing else:

- a dataset has the first graphs of each split, and a generated one as many at most; a single graph
  is still the one of its number in the whole dataset;
- ``fit`` ends after two epochs, and in a cell that depends on the budget a loop over
  ``range(steps)`` or ``range(epochs)`` after two passes. Schedules span all steps.

Widths, batch sizes and all other values are the GPU's. Models that have hardly been trained know
nothing, so that what an ``assert`` of such a cell says is computed, and need not be true.
"""

import ast
from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import cache, wraps
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import matplotlib.pyplot as plt
import nbformat
import pytest
import torch

import gtcourse
from gtcourse import GraphDataset
from gtcourse.course import tasks
from gtcourse.course.exercises import chapter08
from gtcourse.train import loop
from tests.course.budget_cells import Cell, depending, with_needed
from tools.notebooks import pairs
from tools.paths import ROOT

KEPT = (128, 32, 32)
"""Graphs for training, validation and testing: two full batches of training, at least."""

KEPT_OF_CHAPTER = {
    "02_transformer": (128, 32, 40),  # draws a molecule with a ring and a branch
    "05_signnet": (128, 32, 8),  # predicts each with 100 bases, and with all signs
    "09_csa": (128, 32, 430),  # draws indole, and a molecule with two fused rings
}

WHOLE = cache(gtcourse.load_dataset)
"""Read once for all notebooks."""

PASSES = 2
"""Epochs of a training, and passes of a loop over steps or epochs."""

AMOUNTS = {"steps", "epochs"}


def cells_of(path) -> list[Cell]:
    notebook = nbformat.read(path, as_version=4)
    return [Cell(cell.source) for cell in notebook.cells if cell.cell_type == "code"]


NOTEBOOKS = [path for _, path in pairs() if "budget(" in path.read_text(encoding="utf-8")]


class Cut(ast.NodeTransformer):
    """Shortens loops over steps and epochs, and lets assertions only be computed."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if ast.unparse(node.func) == "range" and len(node.args) == 1 and is_amount(node.args[0]):
            node.args = [ast.parse(f"min({PASSES}, {ast.unparse(node.args[0])})", mode="eval").body]
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        return ast.copy_location(ast.Expr(node.test), node)


def is_amount(node: ast.expr) -> bool:
    """Whether it is ``steps`` or ``epochs``, or such an item of a budget."""
    name = node.slice if isinstance(node, ast.Subscript) else node
    if isinstance(name, ast.Constant):
        return name.value in AMOUNTS
    return isinstance(name, ast.Name) and name.id in AMOUNTS


class FewGraphs(GraphDataset):
    """The first graphs of each split of a dataset, whose single graphs keep their numbers."""

    whole: GraphDataset | None = None

    def __getitem__(self, key):
        if self.whole is not None and isinstance(key, int):
            return self.whole[key]
        return super().__getitem__(key)


def few_graphs(
    load: Callable[..., GraphDataset], counts: tuple[int, int, int]
) -> Callable[..., GraphDataset]:
    @cache
    @wraps(load)
    def tiny(*args, **options) -> GraphDataset:
        whole = load(*args, **options)
        rows = [(whole.split == part).nonzero()[:kept, 0] for part, kept in enumerate(counts)]
        few = whole[torch.cat(rows).sort().values]
        small = FewGraphs(**{each.name: getattr(few, each.name) for each in fields(few)})
        small.whole = whole
        return small

    return tiny


def few_of_each(generate: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(generate)
    def tiny(counts, *args, **options):
        return generate(tuple(map(min, counts, KEPT)), *args, **options)

    return tiny


def two_epochs(train: Callable[..., Any]) -> Callable[..., Any]:
    def tiny(run, on_epoch_end):
        def end(model, row):
            asked = on_epoch_end is not None and on_epoch_end(model, row)
            return asked or row["epoch"] + 1 >= PASSES

        return train(run, end)

    return tiny


@pytest.fixture
def made_tiny(monkeypatch, path) -> Iterator[None]:
    """Cuts what the cells load, generate and train; see the text at the head of this file."""
    counts = KEPT_OF_CHAPTER.get(path.stem, KEPT)
    monkeypatch.setattr(gtcourse, "load_dataset", few_graphs(WHOLE, counts))
    of_tasks = ("tsp", "pattern", "agreement")
    for module, names in ((tasks, of_tasks), (chapter08, ("dials", "edge_labels"))):
        for name in names:
            monkeypatch.setattr(module, name, few_of_each(getattr(module, name)))
    monkeypatch.setattr(loop._Run, "train_and_validate", two_epochs(loop._Run.train_and_validate))
    monkeypatch.setenv("GTCOURSE_BUDGET", "gpu")
    monkeypatch.setenv("TQDM_DISABLE", "1")
    monkeypatch.chdir(ROOT / "notebooks")
    with plt.ioff(), patch("IPython.display.display"):
        yield
    plt.close("all")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore", "error:::__main__")  # only those of the cells' own code
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_at_the_gpus_budget(path, made_tiny, capsys):
    cells = cells_of(path)
    dependent = depending(cells)
    names: dict[str, object] = {"__name__": "__main__"}
    for number in with_needed(cells, dependent):
        tree = ast.parse(cells[number].source)
        if number in dependent:
            tree = ast.fix_missing_locations(Cut().visit(tree))
        exec(compile(tree, f"{path.name}, code cell {number}", "exec"), names)
    for value in names.values():
        if isinstance(value, TemporaryDirectory):
            value.cleanup()
    printed = capsys.readouterr().out
    assert "Budget gpu on" in printed
    assert "Budget cpu" not in printed
    assert "Budget smoke" not in printed


def test_cells_that_depend_on_the_budget_are_found_with_their_dependencies():
    sources = [
        "import math\nunused = 1",
        "width = math.pi",
        "data = 1\nsize = budget(cpu=1, gpu=2)",
        "def train(data):\n    return width * size * data",
        "other = data",
        "model = train(data)",
        "size = 3\nprint(size)",
        "size",
        "model.name = other",
        "model = model.cpu()",
        "model += 1",
    ]
    cells = [Cell(source) for source in sources]
    dependent = [2, 3, 5, 8, 9, 10]
    assert depending(cells) == dependent
    assert with_needed(cells, dependent) == [0, 1, 2, 3, 4, 5, 8, 9, 10]


def test_loops_over_steps_and_epochs_are_shortened_and_assertions_only_evaluated():
    tree = ast.parse("for _ in range(size['epochs']):\n    pass\nassert f(range(n))\nrange(steps)")
    assert ast.unparse(Cut().visit(tree)) == (
        "for _ in range(min(2, size['epochs'])):\n    pass\nf(range(n))\nrange(min(2, steps))"
    )
