"""The formulas behind chapter 12's calculator: ``python -m experiments.chapter12``, a minute.

Counted on tensors without numbers, so that every machine gets the same ones.
"""

import json
from dataclasses import asdict

import torch
from torch import nn

from gtcourse import collate, load_dataset
from gtcourse.encodings import encode
from gtcourse.graphs.batch import GraphBatch
from gtcourse.training.costs import StepFormula, against_nodes
from gtcourse.training.leaderboard import LEADERBOARD
from gtcourse.training.records import installed_versions
from gtcourse.training.tasks import Task, graph_regression
from tools.paths import PACKAGE

DENSE = ("transformer", "graphormer", "egt", "grpe", "csa")
"""The models that work on padded tensors; the others' costs go with the edges."""

NAMES = [name for name, entry in LEADERBOARD.items() if entry.model in DENSE]


GRAPHS = 8
"""Of the batches that are counted: in a single graph, some operators take another way."""

REGIONS = (12, 48, 96, 160, 272)
"""Where the peak is looked at: for so many nodes and the three next numbers."""


def formula(name: str) -> StepFormula:
    """Of a model of the leaderboard, on graphs like the embedded molecules."""
    entry = LEADERBOARD[name]
    batch = collate(encode(load_dataset("molecules").test[:2], *entry.transforms))
    torch.manual_seed(0)
    return step_formula(entry.build_model(), graph_regression(), batch)


def step_formula(model: nn.Module, task: Task, batch: GraphBatch) -> StepFormula:
    """Counts a few small steps and draws the polynomials through them.

    Args:
        model: one of dense tensors; batch: one that it takes, for its fields.

    Raises:
        ValueError: in no region are the counts those of a polynomial.
    """
    moments = []
    for first in REGIONS:
        nodes = [first, first + 1, first + 2, first + 3]
        costs = against_nodes(model, task, batch, nodes, graphs=GRAPHS)
        moment = _polynomial(first, [cost.activations for cost in costs])
        moments += [moment] if moment is not None and moment not in moments else []
    flops = _polynomial(first, [cost.flops for cost in costs])
    if not moments or flops is None:
        raise ValueError("the step's counts are no polynomials of N; expected a dense model.")
    last = costs[-1]
    return StepFormula(last.parameters, last.gradients, last.optimizer, flops, tuple(moments))


def _polynomial(first: int, values: list[int]) -> tuple[float, float, float] | None:
    """Through the values at N = first and the next two, over the graphs; None where the value at
    the fourth is not on it, as where another moment becomes the worst."""
    u, v, w, x = values
    if x - 3 * w + 3 * v - u:
        return None
    c = (w - 2 * v + u) / 2
    b = v - u - c * (2 * first + 1)
    a = u - b * first - c * first**2
    return a / GRAPHS, b / GRAPHS, c / GRAPHS


def main() -> None:
    content = {
        "command": "python -m experiments.chapter12",
        "versions": {"torch": installed_versions()["torch"]},
        "formulas": {name: asdict(formula(name)) for name in NAMES},
    }
    (PACKAGE / "recorded" / "step-formulas.json").write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
