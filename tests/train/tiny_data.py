"""A few small random graphs in the form of each data set that recipes train on."""

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch_geometric.data import Data

from gtcourse.graphs import write_graphs
from gtcourse.graphs.dataset import SPLITS, GraphDataset
from tests.graphs.small import random_features

SIZES = (5, 1, 7, 3, 4, 6)
"""Nodes, in turn. The graph of three has no edges, where a graph is allowed to have none."""


@dataclass(frozen=True)
class Form:
    """What a data set's graphs hold.

    Attributes:
        atoms: categories of each column of the nodes.
        numbers: columns of floats of the nodes.
        bonds: categories of each column of the edges.
        edge_numbers: columns of floats of the edges.
        target: what has a target, "graph", "node" or "edge".
        labels: classes of a target, or None for a number.
        targets: of a graph.
        directed: whether an edge may lack the one back.
        binary: whether labels are the floats 0 and 1.
    """

    atoms: tuple[int, ...] = ()
    numbers: int = 0
    bonds: tuple[int, ...] = ()
    edge_numbers: int = 0
    target: str = "graph"
    labels: int | None = None
    targets: int = 1
    directed: bool = False
    binary: bool = False


OF_OGB = (119, 5, 12, 12, 10, 6, 6, 2, 2)
FORMS = {
    "zinc": Form((28,), bonds=(4,)),
    "zinc-full": Form((28,), bonds=(4,)),
    # What occurs in it, by EGT's authors: of OGB's vocabulary a part.
    "pcqm4mv2": Form((53, 3, 7, 10, 5, 5, 6, 2, 2), bonds=(4, 3, 2)),
    "pcqm4mv2-subset": Form(OF_OGB, bonds=(5, 6, 2)),
    "ogbg-molpcba": Form(OF_OGB, bonds=(5, 3, 2), labels=2, targets=128),
    "ogbg-molhiv": Form(OF_OGB, bonds=(5, 6, 2), labels=2, binary=True),
    "pattern": Form((3,), target="node", labels=2),
    "cluster": Form((7,), target="node", labels=6),
    "cycles": Form(numbers=1, labels=2),
    "mnist": Form(numbers=3, edge_numbers=1, labels=10, directed=True),
    "cifar10": Form(numbers=5, edge_numbers=1, labels=10, directed=True),
    "tsp": Form(numbers=2, edge_numbers=1, target="edge", labels=2, directed=True),
}


def tiny(dataset: str, count: int, seed: int = 0) -> GraphDataset:
    """``count`` graphs in each split; among six are one of one node and one without edges."""
    generator = torch.Generator().manual_seed(seed)
    form = FORMS[dataset]
    graphs = [_graph(form, i % count, generator) for i in range(count * len(SPLITS))]
    split = torch.arange(len(SPLITS)).repeat_interleave(count)
    return GraphDataset(dataset, "random graphs, for tests", graphs, split, target=form.target)


def _graph(form: Form, number: int, generator: torch.Generator) -> Data:
    n = SIZES[number % len(SIZES)]
    if form.target == "edge":
        n = max(n, 4)  # without an edge there would be nothing to predict
    edges = _edges(n, form.directed) if n not in (1, 3) else []
    index = torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).T.contiguous()
    graph = Data(x=_features(generator, n, form.atoms, form.numbers), edge_index=index)
    if form.bonds or form.edge_numbers:
        graph.edge_attr = _features(generator, len(edges), form.bonds, form.edge_numbers)
    count = {"graph": 1, "node": n, "edge": len(edges)}[form.target]
    if form.labels is None:
        graph.y = torch.randn(count, generator=generator)
    elif form.targets == 1:
        graph.y = torch.randint(0, form.labels, (count,), generator=generator)
        if form.binary:
            graph.y = graph.y.float()
    else:
        graph.y = torch.randint(0, form.labels, (count, form.targets), generator=generator).float()
        graph.y[:, ::3] = torch.nan  # questions that nobody asked
    return graph


def _edges(n: int, directed: bool) -> list[tuple[int, int]]:
    """A ring with a tail; directed, a ring and one chord from each node."""
    if directed:
        return sorted({(i, (i + step) % n) for i in range(n) for step in (1, 2)})
    ring = [(i, (i + 1) % (n - 1)) for i in range(n - 1)] + [(0, n - 1)]
    return sorted({*ring, *((j, i) for i, j in ring)})


def _features(generator, count: int, types: tuple[int, ...], numbers: int) -> Tensor:
    """The first row has the last category of each column."""
    values = random_features(generator, count, types, numbers)
    if types:
        values[:1] = torch.tensor(types) - 1
    return values


def tiny_zinc_file(folder: Path) -> Path:
    """Six graphs a split as a graph file of ZINC."""
    write_graphs(folder / "zinc.npz", tiny("zinc", 6))
    return folder / "zinc.npz"
