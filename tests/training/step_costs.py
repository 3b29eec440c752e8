"""What a training step of each model is known to cost: written once, compared in every test run.

python -m tests.training.step_costs write    count afresh, and keep it as what is known

Nothing is timed. The counts hold for the release of torch that they were made with, that of
constraints.txt, whatever the machine and however many threads. Each model is counted on a CPU, and
the dense ones also without numbers, on graphs of another size: the way that they take on a GPU.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
from torch import nn
from torch_geometric.data import Data

from gtcourse.encodings import Encoding, encode
from gtcourse.graphs.batch import GraphBatch, collate
from gtcourse.training.costs import StepCosts, step_costs, stretched
from gtcourse.training.leaderboard import LEADERBOARD
from gtcourse.training.recipes import get_recipe
from gtcourse.training.task import Task
from gtcourse.training.tasks import graph_regression
from tests.graphs.random_graphs import random_features
from tests.training.tiny_data import FORMS

KNOWN = Path(__file__).with_suffix(".json")
SIZES = (24, 9, 17, 1, 22, 13)
RECIPES = (
    "graphormer-slim/zinc",
    "egt-500k/zinc",
    "grpe-small/zinc",
    "csa-rings/zinc",
    "signnet/zinc",
    "gin/cycles",
)
LISTS_OF_EDGES = ("gin", "gat", "gatedgcn", "signnet")
"""Models without a step without numbers: how many edges there are is one."""

MORE = {"kept": 0.005, "activations": 0.005}
"""The share by which memory may rise: when exactly Python lets go of a tensor is not promised."""

FEWER = 0.02
"""The share by which any count may fall before it is to be written afresh."""


@dataclass(frozen=True)
class Subject:
    """A model, what it learns and what it reads.

    Attributes:
        meta: counted without numbers, in the way that is taken on a GPU.
    """

    build_model: Callable[[], nn.Module]
    task: Task
    transforms: tuple[Encoding, ...]
    dataset: str = "zinc"
    meta: bool = False

    def batch(self) -> GraphBatch:
        batch = collate(encode(_graphs(self.dataset), *self.transforms))
        return stretched(batch, 8, 128) if self.meta else batch

    def costs(self, model: nn.Module | None = None) -> StepCosts:
        torch.manual_seed(0)
        model = self.build_model() if model is None else model
        return step_costs(model, self.task, self.batch())


def subjects() -> dict[str, Subject]:
    found = {}
    for name, entry in LEADERBOARD.items():
        if entry.size == "100k":
            found[name] = Subject(entry.build_model, graph_regression(), entry.transforms)
    for name in RECIPES:
        recipe = get_recipe(name)
        found[name] = Subject(recipe.build_model, recipe.task, recipe.transforms, recipe.dataset)
    for name, subject in [*found.items()]:
        if not name.startswith(LISTS_OF_EDGES):
            found[f"{name} without numbers"] = replace(subject, meta=True)
    return found


def _graphs(dataset: str) -> list[Data]:
    """Rings with one chord and a tail, of the sizes of small molecules; no random number counts."""
    form, generator, graphs = FORMS[dataset], torch.Generator().manual_seed(0), []
    for n in SIZES:
        edges = [(i, (i + 1) % (n - 1)) for i in range(n - 1)] + [(0, n // 2), (0, n - 1)]
        both = sorted({*edges, *((j, i) for i, j in edges)}) if n > 1 else []
        graph = Data(x=random_features(generator, n, form.atoms, form.numbers))
        graph.edge_index = torch.tensor(both, dtype=torch.int64).reshape(-1, 2).T.contiguous()
        if form.bonds:
            graph.edge_attr = random_features(generator, len(both), form.bonds, 0).clamp(min=1)
        graph.y = torch.tensor([n % 2]) if form.labels else torch.randn(1, generator=generator)
        graphs.append(graph)
    return graphs


def compared(known: dict[str, int], costs: StepCosts) -> list[str]:
    """A sentence for each count that is not what is known of it."""
    sentences = []
    for field, found in asdict(costs).items():
        before = known[field]
        change = (found - before) / before
        if not -FEWER <= change <= MORE.get(field, 0):
            way = "rose" if found > before else "fell"
            sentences.append(f"{field} {way} from {before:,} to {found:,} ({change:+.2%})")
    return sentences


def known() -> dict:
    return json.loads(KNOWN.read_text(encoding="utf-8"))


def torch_release() -> str:
    """ "2.13" of "2.13.0+cpu"."""
    return ".".join(torch.__version__.split(".")[:2])


def write(path: Path = KNOWN, names: Iterable[str] | None = None) -> None:
    costs = {
        name: asdict(subject.costs())
        for name, subject in subjects().items()
        if names is None or name in names
    }
    text = json.dumps({"torch": torch_release(), "costs": costs}, indent=1)
    path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] != ["write"]:
        sys.exit(__doc__)
    write()
