"""A training step's costs as formulas in B and N, which a page can calculate without a model.

The counts of :mod:`gtcourse.training.costs` are polynomials: what is held for a graph of N nodes is
a + b N + c N² bytes, at every moment of the step (CSA's is that up to two hundredths, because it
works in blocks). The peak is the largest of these moments, and not always the same one; so there
are several polynomials, and the largest counts.
Shapes: B graphs of N nodes each.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.resources import files

from torch import nn

from gtcourse.graphs.batch import GraphBatch
from gtcourse.training.costs import StepCosts, against_nodes
from gtcourse.training.tasks import Task

GRAPHS = 8
"""Of the batches that are counted: in a single graph, some operators take another way."""

REGIONS = (12, 48, 96, 160, 272)
"""Where the peak is looked at: for so many nodes and the three next numbers."""

RECORD = "step-formulas.json"


@dataclass(frozen=True)
class StepFormula:
    """The costs of one training step for B graphs of N nodes, in single precision.

    Attributes:
        parameters, gradients, optimizer: bytes, whatever B and N.
        flops: a, b, c of the products' a + b N + c N², for a graph.
        activations: of several moments a, b, c each, in bytes for a graph.
    """

    parameters: int
    gradients: int
    optimizer: int
    flops: tuple[float, float, float]
    activations: tuple[tuple[float, float, float], ...]

    def held(self, graphs: int, nodes: int) -> float:
        """Bytes held for the graphs at the worst moment."""
        return graphs * max(_at(moment, nodes) for moment in self.activations)

    def memory(self, graphs: int, nodes: int) -> float:
        """Bytes, all together."""
        return self.parameters + self.gradients + self.optimizer + self.held(graphs, nodes)

    def products(self, graphs: int, nodes: int) -> float:
        """Floating-point operations in products of matrices."""
        return graphs * _at(self.flops, nodes)


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
    last: StepCosts = costs[-1]
    return StepFormula(last.parameters, last.gradients, last.optimizer, flops, tuple(moments))


def recorded_formulas() -> dict[str, StepFormula]:
    """Those of the leaderboard's dense models, by name, as ``python -m experiments.chapter12``
    has stored them."""
    text = (files("gtcourse") / "recorded" / RECORD).read_text(encoding="utf-8")
    return {name: from_json(stored) for name, stored in json.loads(text)["formulas"].items()}


def as_json(formula: StepFormula) -> dict:
    """For a file; :func:`from_json` reads it."""
    return asdict(formula)


def from_json(stored: Mapping) -> StepFormula:
    """A formula from a file."""
    moments = tuple(tuple(moment) for moment in stored["activations"])
    return StepFormula(**{**stored, "flops": tuple(stored["flops"]), "activations": moments})


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


def _at(polynomial: tuple[float, float, float], nodes: int) -> float:
    a, b, c = polynomial
    return a + b * nodes + c * nodes**2
