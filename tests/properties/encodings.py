"""Every encoding of the package: its settings, how it follows a renumbering, and its loop twin."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Data

from gtcourse.encodings import (
    AddAnchorDistances,
    AddDegrees,
    AddLaplacianEigenvectors,
    AddPathEdges,
    AddPathTree,
    AddRandomWalks,
    AddRings,
    AddShortestPaths,
    AddSVD,
    Encoding,
)
from gtcourse.encodings.distances import anchor_sets, distances_to_sets
from gtcourse.graphs.batch import ENCODINGS
from tests.loops.encodings import (
    distances_loop,
    edges_of,
    laplacian_loop,
    path_edges_loop,
    rings_loop,
    walk_loop,
)

Made = dict[str, Tensor]
"""What an encoding has set on a graph, by attribute."""


@dataclass(frozen=True)
class Subject:
    """An encoding.

    Attributes:
        settings: ways to call it.
        follows: what an encoding, a graph that has it and the order of a renumbering make of that
            which must be the same in the renumbered graph; numbers of nodes and bases are not.
        loop: what it makes of a graph and the graph's loops; ``(got, expected)`` each.
    """

    settings: tuple[Encoding, ...]
    follows: Callable[[Encoding, Data, Tensor], Made]
    loop: Callable[[Encoding, Data], list[tuple[Tensor, Tensor]]]


def made(graph: Data) -> Made:
    return {name: graph[name] for name in ENCODINGS if name in graph}


def rows_and_columns(encoding: Encoding, graph: Data, order: Tensor) -> Made:
    """Every node axis in the new order."""
    found = made(graph)
    for name, values in found.items():
        for axis in range(ENCODINGS[name]):
            values = values.index_select(axis, order)
        found[name] = values
    return found


def paths_of_trees(encoding: Encoding, graph: Data, order: Tensor) -> Made:
    """A tree holds node numbers; the features along its paths do not."""
    edges, tree = edges_of(graph), graph.path_tree.tolist()

    def path(i: int, j: int) -> list:
        k = tree[i][j]
        return [*path(i, k), edges[k, j]] if k >= 0 else []

    return {"paths": of_paths(graph, path)[order][:, order]}


def of_paths(graph: Data, path: Callable[[int, int], list]) -> Tensor:
    """Features along the path of each pair as a table, ``[n, n, n, F]``."""
    n = graph.num_nodes
    table = torch.zeros(n, n, n, graph.edge_attr[:1].numel() or 1)
    for i in range(n):
        for j in range(n):
            for step, features in enumerate(path(i, j)):
                table[i, j, step] = torch.tensor(features)
    return table


def distances_to_the_same_sets(encoding: Encoding, graph: Data, order: Tensor) -> Made:
    """The sets are of node numbers; here they are those of the renumbered graph, moved back."""
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order))
    sets = anchor_sets(graph.num_nodes, encoding.num_sets, encoding.seed)[:, place]
    distance = AddShortestPaths()(graph).distance
    return {"anchor_distances": distances_to_sets(distance[None], sets)[0][order]}


def projectors(encoding: AddLaplacianEigenvectors, graph: Data, order: Tensor) -> Made:
    """Of a repeated eigenvalue any basis is right: all of its vectors make one projector.

    Eigenvalues of which some vectors may be missing, before the first or behind the last, are left
    out, and so are the projectors of "random_walk", whose vectors are not orthogonal.
    """
    vectors, values = graph.laplacian_eigenvectors[order], graph.laplacian_eigenvalues
    real = min(encoding.k, graph.num_nodes - int(encoding.skip_first))
    found: Made = {"laplacian_eigenvalues": values}
    if encoding.normalization == "random_walk" or not real:
        return found
    ends = values[:1] if encoding.skip_first else values[:0]
    if real == encoding.k:
        ends = torch.cat([ends, values[-1:]])
    for number, value in enumerate(values[:real]):
        if not bool(((ends - value).abs() < 1e-6).any()):
            same = vectors[:, :real][:, (values[:real] - value).abs() < 1e-6]
            found[f"projector {number}"] = same @ same.T
    return found


def product(encoding: Encoding, graph: Data, order: Tensor) -> Made:
    """All singular vectors together restore the adjacency, whatever their basis is."""
    left, right = graph.svd[order].chunk(2, dim=-1)
    singular = {"sizes": left.norm(dim=0) ** 2}
    return singular | ({"product": left @ right.T} if encoding.rank >= graph.num_nodes else {})


def degrees(encoding: AddDegrees, graph: Data) -> list[tuple]:
    edges = edges_of(graph)
    ends = [
        [sum(edge[end] == i for edge in edges) for i in range(graph.num_nodes)] for end in (1, 0)
    ]
    return [
        (graph.in_degree, torch.tensor(ends[0])),
        (graph.out_degree, torch.tensor(ends[1])),
    ]


def distances(encoding: AddShortestPaths, graph: Data) -> list[tuple]:
    expected = torch.tensor(distances_loop(graph))
    return [(graph.distance, expected.clamp(max=encoding.max_distance or graph.num_nodes))]


def path_edges(encoding: AddPathEdges, graph: Data) -> list[tuple]:
    expected = torch.zeros_like(graph.path_edges)
    for i in range(graph.num_nodes):
        for j in range(graph.num_nodes):
            path = path_edges_loop(graph, i, j)[: encoding.max_length]
            for step, features in enumerate(path):
                expected[i, j, step] = torch.tensor(features)
    return [(graph.path_edges, expected)]


def path_trees(encoding: AddPathTree, graph: Data) -> list[tuple]:
    expected = of_paths(graph, lambda i, j: path_edges_loop(graph, i, j))
    as_it_is = torch.arange(graph.num_nodes)
    return [(paths_of_trees(encoding, graph, as_it_is)["paths"], expected)]


def walks(encoding: AddRandomWalks, graph: Data) -> list[tuple]:
    n = graph.num_nodes
    expected = torch.tensor([walk_loop(graph, i, encoding.steps) for i in range(n)])  # [n, p, n]
    if encoding.pairs:
        return [(graph.random_walks, expected.mT)]
    return [(graph.rwse, expected.diagonal(dim1=0, dim2=2).T)]


def eigenvectors(encoding: AddLaplacianEigenvectors, graph: Data) -> list[tuple]:
    """L v = λ v, columns of length 1, and the eigenvalues are the smallest."""
    L, n = laplacian_loop(graph, encoding.normalization), graph.num_nodes
    vectors, values = graph.laplacian_eigenvectors, graph.laplacian_eigenvalues
    smallest = torch.linalg.eigvals(L).real.sort().values[int(encoding.skip_first) :]
    smallest = torch.nn.functional.pad(smallest, (0, encoding.k))[: encoding.k]
    real = torch.arange(encoding.k) < n - int(encoding.skip_first)
    return [
        (L @ vectors, vectors * values),
        (values, smallest.clamp(min=0)),
        (vectors.norm(dim=0), real.to(vectors.dtype)),
    ]


def singular_vectors(encoding: AddSVD, graph: Data) -> list[tuple]:
    """A v̂ = s û and Aᵀ û = s v̂, with s = û·û = v̂·v̂, in descending order."""
    n = graph.num_nodes
    A = torch.zeros(n, n, dtype=torch.float64)
    loops = [(i, i) for i in range(n)] if encoding.self_loops else []
    for i, j in [*edges_of(graph), *loops]:
        A[i, j] = 1
    left, right = graph.svd.chunk(2, dim=-1)
    sizes = left.square().sum(dim=0)
    return [
        (right.square().sum(dim=0), sizes),
        (A @ right, left * sizes),
        (A.T @ left, right * sizes),
        (sizes, sizes.sort(descending=True).values),
    ]


def rings(encoding: AddRings, graph: Data) -> list[tuple]:
    expected = torch.zeros_like(graph.ring)
    for nodes in rings_loop(graph, encoding.max_size):
        for i in nodes:
            for j in nodes:
                expected[i, j] = i != j
    return [(graph.ring, expected)]


def anchors(encoding: AddAnchorDistances, graph: Data) -> list[tuple]:
    n, distance = graph.num_nodes, distances_loop(graph)
    sets = anchor_sets(n, encoding.num_sets, encoding.seed).tolist()
    nearest = [
        [
            min((distance[i][j] for j in range(n) if chosen[j] and distance[i][j] >= 0), default=-1)
            for chosen in sets
        ]
        for i in range(n)
    ]
    return [(graph.anchor_distances, torch.tensor(nearest))]


EVERY = {
    "AddDegrees": Subject((AddDegrees(),), rows_and_columns, degrees),
    "AddShortestPaths": Subject(
        (AddShortestPaths(), AddShortestPaths(2)), rows_and_columns, distances
    ),
    "AddPathEdges": Subject((AddPathEdges(1), AddPathEdges(5)), rows_and_columns, path_edges),
    "AddPathTree": Subject((AddPathTree(),), paths_of_trees, path_trees),
    "AddRandomWalks": Subject(
        (AddRandomWalks(4), AddRandomWalks(4, pairs=False)), rows_and_columns, walks
    ),
    "AddLaplacianEigenvectors": Subject(
        (
            AddLaplacianEigenvectors(3),
            AddLaplacianEigenvectors(45),
            AddLaplacianEigenvectors(5, "symmetric", skip_first=True),
            AddLaplacianEigenvectors(4, "random_walk"),
        ),
        projectors,
        eigenvectors,
    ),
    "AddSVD": Subject(
        (AddSVD(2), AddSVD(45), AddSVD(4, self_loops=False)), product, singular_vectors
    ),
    "AddRings": Subject((AddRings(3), AddRings(4)), rows_and_columns, rings),
    "AddAnchorDistances": Subject(
        (AddAnchorDistances(3), AddAnchorDistances(7, seed=1)), distances_to_the_same_sets, anchors
    ),
}
