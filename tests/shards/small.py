"""Small data sets for shards, and what has to be in the batches of them."""

from __future__ import annotations

import torch
from torch_geometric.data import Data

from gtcourse.graphs import GraphBatch, GraphDataset
from tests.graphs.random_graphs import graph_of

RING = [(0, 1), (1, 2), (2, 0)]


def numbered(count: int, split: list[int] | None = None) -> GraphDataset:
    """Graphs of 1 to 6 nodes, without edges, directed, with rings; the target is the number."""
    graphs = []
    for i in range(count):
        n = 1 + 7 * i % 6
        edges = [(a % n, b % n) for a, b in RING[: i % 4]] if n > 1 else []
        edges += [(b, a) for a, b in edges] if i % 2 else []
        graphs.append(plain(graph_of(n, edges, seed=i)))
        graphs[-1].y = torch.tensor([float(i)])
    return dataset(graphs, split)


def plain(graph: Data) -> Data:
    """Without the encodings that it was given."""
    return Data(x=graph.x, edge_index=graph.edge_index, edge_attr=graph.edge_attr, y=graph.y)


def dataset(graphs: list[Data], split: list[int] | None = None, target: str = "graph"):
    split = [0] * len(graphs) if split is None else split
    return GraphDataset("small", "made for a test", graphs, split, target=target)


def assert_same(batch: GraphBatch, expected: GraphBatch) -> None:
    """Every tensor, its type and its values."""
    assert batch.target == expected.target
    assert batch.encodings.keys() == expected.encodings.keys()
    for name in ("x", "adjacency", "edge_attr", "mask", "y"):
        assert_equal(name, getattr(batch, name), getattr(expected, name))
    for name in batch.encodings:
        assert_equal(name, batch.encodings[name], expected.encodings[name])


def assert_equal(name: str, found: torch.Tensor | None, expected: torch.Tensor | None) -> None:
    if expected is None:
        assert found is None, name
        return
    assert found.dtype == expected.dtype, name
    torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True, msg=name)


def seen(batches) -> list[int]:
    """The numbers of the graphs, in the order they came."""
    return [int(number) for batch in batches for number in batch.y]
