"""Which encodings tell which graphs, nodes and pairs of nodes apart: the table of chapter 04.

``python -m experiments.encoding_table write`` computes it; the tests compute it again and compare.
"""

import json
import sys
from collections.abc import Callable, Hashable

import networkx as nx
import torch
from torch import Tensor
from torch_geometric.data import Data

from gtcourse import encodings
from gtcourse.course.records import RECORDS

PATH = RECORDS / "encoding-table.json"
STEPS = 16
KINDS = ("graphs", "nodes", "pairs")  # by the number of nodes that are compared


def examples() -> dict[str, tuple]:
    """Name to (graph, its nodes…), (graph, its nodes…): two graphs, nodes or pairs of nodes."""
    ring = nx.cycle_graph(6)
    path = nx.path_graph(5)
    decalin = nx.Graph([*nx.cycle_graph(10).edges, (0, 5)])
    bicyclopentyl = nx.disjoint_union(nx.cycle_graph(5), nx.cycle_graph(5))
    bicyclopentyl.add_edge(0, 5)
    # The smallest connected graphs with one Laplacian spectrum.
    one = nx.Graph([(0, 2), (1, 2), (1, 3), (1, 4), (2, 5), (3, 5), (4, 5)])
    other = nx.Graph([(0, 2), (0, 5), (1, 3), (1, 4), (2, 3), (3, 4), (3, 5)])
    rook = nx.convert_node_labels_to_integers(nx.line_graph(nx.complete_bipartite_graph(4, 4)))
    diamond = nx.Graph([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)])
    triangles = nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    together = nx.disjoint_union(ring, nx.cycle_graph(3))
    skips = [nx.circulant_graph(41, [1, skip]) for skip in (2, 3)]
    return {
        "ring of 6, two triangles": ((ring,), (triangles,)),
        "decalin, bicyclopentyl": ((decalin,), (bicyclopentyl,)),
        "CSL: 41 nodes, skips 2 and 3": ((skips[0],), (skips[1],)),
        "two graphs of one Laplacian spectrum": ((one,), (other,)),
        "rook's graph 4 × 4, Shrikhande's graph": ((rook,), (shrikhande(),)),
        "ring and triangle side by side: a node of each": ((together, 0), (together, 6)),
        "path of 5: its two ends": ((path, 0), (path, 4)),
        "ring of 6: two neighbours": ((ring, 0), (ring, 1)),
        "middle edge of the diamond, of the path of 4": ((diamond, 0, 1), (nx.path_graph(4), 1, 2)),
        "3 steps apart in a ring of 6, in a path of 6": ((ring, 0, 3), (nx.path_graph(6), 1, 4)),
    }


def shrikhande() -> nx.Graph:
    """On a torus of 4 × 4, each node beside six: strongly regular as the rook's graph is."""
    places = [(i, j) for i in range(4) for j in range(4)]
    near = ((0, 1), (1, 0), (1, 1))
    edges = [((i, j), ((i + a) % 4, (j + b) % 4)) for i, j in places for a, b in near]
    return nx.convert_node_labels_to_integers(nx.Graph(edges))


def table() -> dict:
    rows = []
    for name, compared in examples().items():
        (first, *i), (second, *j) = compared
        graphs = (encoded(first), encoded(second))
        cells = {}
        for column, encoding in COLUMNS.items():
            value = encoding.get(len(i))
            cells[column] = value and value(graphs[0], *i) != value(graphs[1], *j)
        rows.append({"pair": name, "kind": KINDS[len(i)], "cells": cells})
    command = "python -m experiments.encoding_table write"
    return {"name": "encoding-table", "columns": [*COLUMNS], "rows": rows, "command": command}


def encoded(graph: nx.Graph) -> Data:
    """A graph with all its encodings, and its nodes' colours after the Weisfeiler-Leman test."""
    edges = torch.tensor(sorted(graph.to_directed().edges)).T
    (data,) = encodings.encode(
        [Data(x=torch.zeros(len(graph), 1), edge_index=edges)],
        encodings.AddDegrees(),
        encodings.AddShortestPaths(),
        encodings.AddRandomWalks(STEPS),
        encodings.AddRings(6),
        encodings.AddLaplacianEigenvectors(len(graph)),
        encodings.AddSVD(4),
        encodings.AddAnchorDistances(4),
    )
    alike = graph.copy()
    nx.set_node_attributes(alike, "", "colour")
    hashes = nx.weisfeiler_lehman_subgraph_hashes(alike, node_attr="colour", iterations=len(graph))
    data.colour = [hashes[node][-1] for node in range(len(graph))]
    return data


Encoding = dict[int, Callable[..., Hashable]]
"""What an encoding tells of a graph (0), a node of it (1) and a pair of nodes (2)."""


def of_nodes(node: Callable[[Data, int], Hashable]) -> Encoding:
    """An encoding of nodes: of a pair the two ends, of a graph the multiset."""
    return {
        0: lambda data: multiset(node(data, i) for i in range(data.num_nodes)),
        1: node,
        2: lambda data, i, j: (node(data, i), node(data, j)),
    }


def of_pairs(pair: Callable[[Data, int, int], Hashable]) -> Encoding:
    """An encoding of pairs: of a node the multiset over the others, of a graph that over nodes."""

    def node(data: Data, i: int) -> Hashable:
        return pair(data, i, i), multiset(pair(data, i, j) for j in range(data.num_nodes))

    return of_nodes(node) | {2: pair}


def multiset(values) -> tuple:
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
    "Laplacian eigenvalues": {0: lambda data: rounded(data.laplacian_eigenvalues)},
    "Laplacian projectors": of_pairs(projections),
    # Coordinates depend on signs, bases or node numbers: two graphs' cannot be compared.
    "Laplacian coordinates": {1: lambda data, i: rounded(data.laplacian_eigenvectors[i])},
    "SVD coordinates": {1: lambda data, i: rounded(data.svd[i])},
    "anchor distances": {1: lambda data, i: rounded(data.anchor_distances[i])},
}

if __name__ == "__main__" and sys.argv[1:] == ["write"]:
    PATH.write_text(json.dumps(table(), indent=1) + "\n")
