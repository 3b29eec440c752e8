"""Every encoding of the package: its settings and its loop twin."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Data

from gtcourse import encodings as enc
from gtcourse.encodings.structure import anchor_sets
from gtcourse.graphs.batch import ENCODINGS
from tests.loops.encodings import (
    distances_loop,
    edges_of,
    laplacian_loop,
    path_edges_loop,
    rings_loop,
    walk_loop,
    weights_of,
)


@dataclass(frozen=True)
class Subject:
    """An encoding.

    Attributes:
        settings: ways to call it.
        loop: what it makes of a graph and the graph's loops; ``(got, expected)`` each.
        by_number: whether it holds numbers of nodes, or one of several right bases, which a
            renumbering does not permute.
    """

    settings: tuple[enc.Encoding, ...]
    loop: Callable[[enc.Encoding, Data], list[tuple[Tensor, Tensor]]]
    by_number: bool = False


def encodings_of(graph: Data) -> dict[str, Tensor]:
    return {name: graph[name] for name in ENCODINGS if name in graph}


def along_paths(table: Tensor, path: Callable[[int, int], list]) -> Tensor:
    """The table ``[n, n, L, F]`` with the features along the path of each pair."""
    for i in range(len(table)):
        for j in range(len(table)):
            for step, features in enumerate(path(i, j)):
                table[i, j, step] = torch.tensor(features)
    return table


def degrees(encoding: enc.AddDegrees, graph: Data) -> list[tuple]:
    edges = edges_of(graph)
    incoming, outgoing = (
        torch.tensor([sum(edge[end] == i for edge in edges) for i in range(graph.num_nodes)])
        for end in (1, 0)
    )
    return [(graph.in_degree, incoming), (graph.out_degree, outgoing)]


def distances(encoding: enc.AddShortestPaths, graph: Data) -> list[tuple]:
    expected = torch.tensor(distances_loop(graph))
    return [(graph.distance, expected.clamp(max=encoding.max_distance or graph.num_nodes))]


def path_edges(encoding: enc.AddPathEdges, graph: Data) -> list[tuple]:
    def path(i: int, j: int) -> list:
        return path_edges_loop(graph, i, j)[: encoding.max_length]

    return [(graph.path_edges, along_paths(torch.zeros_like(graph.path_edges), path))]


def path_trees(encoding: enc.AddPathTree, graph: Data) -> list[tuple]:
    edges = edges_of(graph)
    tree = graph.path_tree.tolist()
    n = graph.num_nodes

    def path(i: int, j: int) -> list:
        k = tree[i][j]
        return [*path(i, k), edges[k, j]] if k >= 0 else []

    got, expected = torch.zeros(2, n, n, n, graph.edge_attr[:1].numel() or 1)
    along_paths(expected, lambda i, j: path_edges_loop(graph, i, j))
    return [(along_paths(got, path), expected)]


def walks(encoding: enc.AddRandomWalks, graph: Data) -> list[tuple]:
    n = graph.num_nodes
    expected = torch.tensor(
        [walk_loop(graph, i, encoding.steps, encoding.weight) for i in range(n)]
    )  # [n, p, n]
    if encoding.pairs:
        return [(graph.random_walks, expected.mT)]
    return [(graph.rwse, expected.diagonal(dim1=0, dim2=2).T)]


def eigenvectors(encoding: enc.AddLaplacianEigenvectors, graph: Data) -> list[tuple]:
    """L v = λ v, and the eigenvalues are the smallest; columns of length 1, for a symmetric L
    orthogonal to each other, and with a positive entry where they are largest."""
    L = laplacian_loop(graph, encoding.normalization, encoding.weight)
    n = graph.num_nodes
    vectors = graph.laplacian_eigenvectors
    values = graph.laplacian_eigenvalues
    smallest = torch.linalg.eigvals(L).real.sort().values[int(encoding.skip_first) :]
    smallest = torch.nn.functional.pad(smallest, (0, encoding.k))[: encoding.k]
    real = torch.arange(encoding.k) < n - int(encoding.skip_first)
    products = vectors.T @ vectors
    if encoding.normalization == "random_walk":
        products = products.diagonal().diag()
    largest = vectors.abs() >= vectors.abs().amax(dim=0) - 1e-8
    first = vectors.gather(0, largest.int().argmax(dim=0, keepdim=True))
    return [
        (L @ vectors, vectors * values),
        (values, smallest.clamp(min=0)),
        (products, real.to(vectors.dtype).diag()),
        (first.sign()[0], real.to(vectors.dtype)),
    ]


def singular_vectors(encoding: enc.AddSVD, graph: Data) -> list[tuple]:
    """A v̂ = s û and Aᵀ û = s v̂ for the largest s, which both kinds of columns share."""
    n = graph.num_nodes
    A = torch.zeros(n, n, dtype=torch.float64)
    for (i, j), value in weights_of(graph, encoding.weight).items():
        A[i, j] = value
    for i in range(n) if encoding.self_loops else []:
        A[i, i] = 1
    left, right = graph.svd.chunk(2, dim=-1)
    sizes = torch.nn.functional.pad(torch.linalg.svdvals(A), (0, encoding.rank))[: encoding.rank]
    return [
        (left.T @ left, sizes.diag()),
        (right.T @ right, sizes.diag()),
        (A @ right, left * sizes),
        (A.T @ left, right * sizes),
    ]


def rings(encoding: enc.AddRings, graph: Data) -> list[tuple]:
    expected = torch.zeros_like(graph.ring)
    for nodes in rings_loop(graph, encoding.max_size):
        for i in nodes:
            for j in nodes:
                expected[i, j] = i != j
    return [(graph.ring, expected)]


def anchors(encoding: enc.AddAnchorDistances, graph: Data) -> list[tuple]:
    n = graph.num_nodes
    distance = distances_loop(graph)
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
    "AddDegrees": Subject((enc.AddDegrees(),), degrees),
    "AddShortestPaths": Subject((enc.AddShortestPaths(), enc.AddShortestPaths(2)), distances),
    "AddPathEdges": Subject((enc.AddPathEdges(1), enc.AddPathEdges(5)), path_edges),
    "AddPathTree": Subject((enc.AddPathTree(),), path_trees, by_number=True),
    "AddRandomWalks": Subject(
        (
            enc.AddRandomWalks(4),
            enc.AddRandomWalks(4, pairs=False),
            enc.AddRandomWalks(3, weight="edge_attr"),
        ),
        walks,
    ),
    "AddLaplacianEigenvectors": Subject(
        (
            enc.AddLaplacianEigenvectors(3),
            enc.AddLaplacianEigenvectors(45),
            enc.AddLaplacianEigenvectors(5, "symmetric", skip_first=True),
            enc.AddLaplacianEigenvectors(4, "random_walk"),
            enc.AddLaplacianEigenvectors(4, weight="edge_attr"),
            enc.AddLaplacianEigenvectors(3, "symmetric", weight="edge_attr"),
            enc.AddLaplacianEigenvectors(3, "random_walk", weight="edge_attr"),
        ),
        eigenvectors,
        by_number=True,
    ),
    "AddSVD": Subject(
        (
            enc.AddSVD(2),
            enc.AddSVD(45),
            enc.AddSVD(4, self_loops=False),
            enc.AddSVD(3, weight="edge_attr"),
            enc.AddSVD(4, self_loops=False, weight="edge_attr"),
        ),
        singular_vectors,
        by_number=True,
    ),
    "AddRings": Subject((enc.AddRings(3), enc.AddRings(4)), rings),
    "AddAnchorDistances": Subject(
        (enc.AddAnchorDistances(3), enc.AddAnchorDistances(7, seed=1)), anchors, by_number=True
    ),
}
