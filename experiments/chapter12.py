"""The formulas behind chapter 12's calculator: ``python -m experiments.chapter12``, a minute.

Counted on tensors without numbers, so that every machine gets the same ones.
"""

from dataclasses import asdict

import torch

from gtcourse import collate, load_dataset
from gtcourse.course.costs import StepFormula, against_nodes
from gtcourse.course.leaderboard import LEADERBOARD
from gtcourse.course.records import RECORDS
from gtcourse.encodings import encode
from gtcourse.runs.record import installed_versions, write_json
from gtcourse.train.tasks import graph_regression

# The models that work on padded tensors; the others' costs go with the edges.
DENSE = ("transformer", "graphormer", "egt", "grpe", "csa")
NAMES = [name for name, entry in LEADERBOARD.items() if entry.model in DENSE]
GRAPHS = 8  # of the batches that are counted: for a single graph some operators differ
REGIONS = (12, 48, 96, 160, 272)
"""Where the peak is looked at: for so many nodes and the three next numbers."""


def formula(name: str) -> StepFormula:
    """Polynomials through the costs of a few small steps of a model of the leaderboard."""
    entry = LEADERBOARD[name]
    batch = collate(encode(load_dataset("molecules").test[:2], *entry.transforms))
    torch.manual_seed(0)
    model = entry.build_model()
    moments = []
    for first in REGIONS:
        nodes = range(first, first + 4)
        costs = against_nodes(model, graph_regression(), batch, [*nodes], graphs=GRAPHS)
        moment = polynomial(first, [cost.activations for cost in costs])
        moments += [moment] if moment is not None and moment not in moments else []
    flops = polynomial(first, [cost.flops for cost in costs])
    last = costs[-1]
    return StepFormula(last.parameters, last.gradients, last.optimizer, flops, tuple(moments))


def polynomial(first: int, values: list[int]) -> tuple[float, float, float] | None:
    """Through the values at N = first and the next two, over the graphs; None where the value at
    the fourth is not on it, as where another moment becomes the worst."""
    u, v, w, x = values
    if x - 3 * w + 3 * v - u:
        return None
    c = (w - 2 * v + u) / 2
    b = v - u - c * (2 * first + 1)
    return (u - b * first - c * first**2) / GRAPHS, b / GRAPHS, c / GRAPHS


if __name__ == "__main__":
    content = {
        "command": "python -m experiments.chapter12",
        "versions": {"torch": installed_versions()["torch"]},
        "formulas": {name: asdict(formula(name)) for name in NAMES},
    }
    write_json(RECORDS / "step-formulas.json", content)
