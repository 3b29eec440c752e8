"""Which encodings tell which graphs, nodes and pairs of nodes apart: the table of chapter 04.

``python -m experiments.encoding_table write`` computes it; the tests compute it again and compare.
"""

import argparse
import json
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

import networkx as nx
import torch
from torch import Tensor
from torch_geometric.data import Data

from gtcourse.encodings import (
    AddAnchorDistances,
    AddDegrees,
    AddLaplacianEigenvectors,
    AddRandomWalks,
    AddRings,
    AddShortestPaths,
    AddSVD,
    encode,
)
from tools.paths import PACKAGE

PATH = PACKAGE / "recorded" / "encoding-table.json"
STEPS = 16


@dataclass(frozen=True)
class Example:
    """Two graphs, two nodes, or two pairs of nodes; of graphs ``nodes`` is empty."""

    pair: str
    kind: str
    graphs: tuple[nx.Graph, nx.Graph]
    nodes: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())


def examples() -> list[Example]:
    ring, triangles = nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    decalin = nx.Graph([*nx.cycle_graph(10).edges, (0, 5)])
    bicyclopentyl = nx.disjoint_union(nx.cycle_graph(5), nx.cycle_graph(5))
    bicyclopentyl.add_edge(0, 5)
    # The smallest connected graphs with one Laplacian spectrum.
    cospectral = (
        nx.Graph([(0, 2), (1, 2), (1, 3), (1, 4), (2, 5), (3, 5), (4, 5)]),
        nx.Graph([(0, 2), (0, 5), (1, 3), (1, 4), (2, 3), (3, 4), (3, 5)]),
    )
    skips = tuple(nx.circulant_graph(41, [1, skip]) for skip in (2, 3))
    rook = nx.convert_node_labels_to_integers(nx.line_graph(nx.complete_bipartite_graph(4, 4)))
    path, chain = nx.path_graph(5), nx.path_graph(6)
    diamond = nx.Graph([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)])
    together = nx.disjoint_union(nx.cycle_graph(6), nx.cycle_graph(3))
    return [
        Example("ring of 6, two triangles", "graphs", (ring, triangles)),
        Example("decalin, bicyclopentyl", "graphs", (decalin, bicyclopentyl)),
        Example("CSL: 41 nodes, skips 2 and 3", "graphs", skips),
        Example("two graphs of one Laplacian spectrum", "graphs", cospectral),
        Example("rook's graph 4 × 4, Shrikhande's graph", "graphs", (rook, shrikhande())),
        Example(
            "ring and triangle side by side: a node of each", "nodes", (together,) * 2, ((0,), (6,))
        ),
        Example("path of 5: its two ends", "nodes", (path, path), ((0,), (4,))),
        Example("ring of 6: two neighbours", "nodes", (ring, ring), ((0,), (1,))),
        Example(
            "middle edge of the diamond, of the path of 4",
            "pairs",
            (diamond, nx.path_graph(4)),
            ((0, 1), (1, 2)),
        ),
        Example(
            "3 steps apart in a ring of 6, in a path of 6", "pairs", (ring, chain), ((0, 3), (1, 4))
        ),
    ]


def shrikhande() -> nx.Graph:
    """On a torus of 4 × 4, each node beside six: strongly regular as the rook's graph is."""
    places = [(i, j) for i in range(4) for j in range(4)]
    near = ((0, 1), (1, 0), (1, 1))
    edges = [((i, j), ((i + a) % 4, (j + b) % 4)) for i, j in places for a, b in near]
    return nx.convert_node_labels_to_integers(nx.Graph(edges))


def table() -> dict:
    rows = []
    for example in examples():
        told = [colours(graph) for graph in example.graphs]
        cells = {}
        for name, encoding in COLUMNS.items():
            first, second = (
                encoding.of(data, nodes) for data, nodes in zip(told, example.nodes, strict=True)
            )
            cells[name] = None if first is None else first != second
        rows.append({"pair": example.pair, "kind": example.kind, "cells": cells})
    return {
        "name": "encoding-table",
        "columns": [*COLUMNS],
        "rows": rows,
        "command": "python -m experiments.encoding_table write",
    }


def colours(graph: nx.Graph) -> Data:
    """A graph with all its encodings, and its nodes' colours after the Weisfeiler-Leman test."""
    edges = torch.tensor(sorted(graph.to_directed().edges)).T
    data = Data(x=torch.zeros(len(graph), 1), edge_index=edges)
    (data,) = encode(
        [data],
        AddDegrees(),
        AddShortestPaths(),
        AddRandomWalks(STEPS),
        AddRings(6),
        AddLaplacianEigenvectors(len(graph)),
        AddSVD(4),
        AddAnchorDistances(4),
    )
    alike = graph.copy()
    nx.set_node_attributes(alike, "", "colour")
    hashes = nx.weisfeiler_lehman_subgraph_hashes(alike, node_attr="colour", iterations=len(graph))
    data.colour = [hashes[node][-1] for node in range(len(graph))]
    return data


@dataclass(frozen=True)
class Column:
    """What an encoding says of a node, of a pair; of a graph, all that it says of the nodes."""

    node: Callable[[Data, int], Hashable] | None = None
    pair: Callable[[Data, int, int], Hashable] | None = None
    graph: Callable[[Data], Hashable] | None = None

    def of(self, data: Data, nodes: tuple[int, ...]) -> Hashable:
        match nodes:
            case ():
                return self.graph(data) if self.graph else None
            case (i,):
                return self.node(data, i) if self.node else None
            case (i, j):
                return self.pair(data, i, j) if self.pair else None


def of_nodes(node: Callable[[Data, int], Hashable]) -> Column:
    """An encoding of nodes: of a pair the two ends, of a graph the multiset."""
    return Column(
        node=node,
        pair=lambda data, i, j: (node(data, i), node(data, j)),
        graph=lambda data: multiset(node(data, i) for i in range(data.num_nodes)),
    )


def of_pairs(pair: Callable[[Data, int, int], Hashable]) -> Column:
    """An encoding of pairs: of a node the multiset over the others, of a graph that over nodes."""

    def node(data: Data, i: int) -> Hashable:
        return pair(data, i, i), multiset(pair(data, i, j) for j in range(data.num_nodes))

    return Column(
        node=node,
        pair=pair,
        graph=lambda data: multiset(node(data, i) for i in range(data.num_nodes)),
    )


def multiset(values: Iterable[Hashable]) -> tuple:
    return tuple(sorted(values, key=repr))


def rounded(values: Tensor) -> tuple:
    # Adding 0 makes -0.0 and 0.0 one number.
    return tuple((values.double() * 1e4).round().add(0.0).flatten().tolist())


def projections(data: Data, i: int, j: int) -> Hashable:
    """Entry (i, j) of the projector on each eigenvalue: the same for all signs and bases."""
    products = data.laplacian_eigenvectors[i] * data.laplacian_eigenvectors[j]
    sums = {}
    for value, product in zip(data.laplacian_eigenvalues.tolist(), products, strict=True):
        sums[round(value, 3)] = sums.get(round(value, 3), 0) + product
    return tuple((value, rounded(total)) for value, total in sums.items())


COLUMNS = {
    "degrees": of_nodes(lambda data, i: int(data.in_degree[i])),
    "1-WL colours": of_nodes(lambda data, i: data.colour[i]),
    "shortest paths": of_pairs(lambda data, i, j: int(data.distance[i, j])),
    "rings": of_pairs(lambda data, i, j: bool(data.ring[i, j])),
    "RWSE": of_nodes(lambda data, i: rounded(data.random_walks[i, i])),
    "random walks": of_pairs(lambda data, i, j: rounded(data.random_walks[i, j])),
    "Laplacian eigenvalues": Column(graph=lambda data: rounded(data.laplacian_eigenvalues)),
    "Laplacian projectors": of_pairs(projections),
    "Laplacian coordinates": Column(node=lambda d, i: rounded(d.laplacian_eigenvectors[i])),
    "SVD coordinates": Column(node=lambda data, i: rounded(data.svd[i])),
    "anchor distances": Column(node=lambda data, i: rounded(data.anchor_distances[i])),
}
"""Coordinates depend on signs, bases or node numbers, so that two graphs' cannot be compared."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=["write", "show"])
    content = table()
    if parser.parse_args().action == "write":
        PATH.write_text(json.dumps(content, indent=1) + "\n")
    for row in content["rows"]:
        marks = {None: " ", True: "1", False: "0"}
        print("".join(marks[cell] for cell in row["cells"].values()), row["pair"])


if __name__ == "__main__":
    main()
