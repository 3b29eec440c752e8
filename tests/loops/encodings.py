"""Encodings after their definitions, in plain Python: a node, a pair, a path at a time."""

from collections import deque
from itertools import combinations

import torch
from torch import Tensor
from torch_geometric.data import Data


def edges_of(graph: Data) -> dict[tuple[int, int], list]:
    """Each edge once, with the features that it was first given with."""
    edges = {}
    attributes = graph.edge_attr.tolist() if graph.get("edge_attr") is not None else None
    for e, (i, j) in enumerate(graph.edge_index.T.tolist()):
        edges.setdefault((i, j), attributes[e] if attributes else [])
    return edges


def undirected(graph: Data) -> set[tuple[int, int]]:
    """Both directions of each edge, without loops."""
    edges = edges_of(graph)
    return {(i, j) for i, j in edges if i != j} | {(j, i) for i, j in edges if i != j}


def distances_loop(graph: Data) -> list[list[int]]:
    """Breadth-first search from each node."""
    edges = edges_of(graph)
    n = graph.num_nodes
    table = []
    for start in range(n):
        distance = {start: 0}
        queue = deque([start])
        while queue:
            i = queue.popleft()
            for j in range(n):
                if (i, j) in edges and j not in distance:
                    distance[j] = distance[i] + 1
                    queue.append(j)
        table.append([distance.get(j, -1) for j in range(n)])
    return table


def path_edges_loop(graph: Data, i: int, j: int) -> list[list]:
    """The edge features of a shortest path from i to j: the first of all in lexicographic order."""
    edges = edges_of(graph)
    distance = distances_loop(graph)

    def paths_to(node: int) -> list[list[list]]:
        if node == i:
            return [[]]
        return [
            [*path, features]
            for (k, end), features in edges.items()
            if end == node and distance[i][k] == distance[i][node] - 1 >= 0
            for path in paths_to(k)
        ]

    return min(paths_to(j)) if distance[i][j] > 0 else []


def weights_of(graph: Data, weight: str | None) -> dict[tuple[int, int], float]:
    """Each edge once, with the weight that it was first given with; 1 without weights."""
    weights = {}
    for e, (i, j) in enumerate(graph.edge_index.T.tolist()):
        weights.setdefault((i, j), float(graph[weight][e]) if weight else 1.0)
    return weights


def walk_loop(graph: Data, start: int, steps: int, weight: str | None = None) -> list[list[float]]:
    """After 1, 2, … steps: the chance to be at each node. A walk that cannot move is lost."""
    weights = weights_of(graph, weight)
    n = graph.num_nodes
    here = {start: 1.0}
    history = []
    for _ in range(steps):
        there = {}
        for i, chance in here.items():
            ways = [j for j in range(n) if weights.get((i, j), 0) > 0]
            total = sum(weights[i, j] for j in ways)
            for j in ways:
                there[j] = there.get(j, 0.0) + chance * weights[i, j] / total
        here = there
        history.append([here.get(j, 0.0) for j in range(n)])
    return history


def laplacian_loop(graph: Data, normalization: str, weight: str | None = None) -> Tensor:
    weights = weights_of(graph, weight)
    n = graph.num_nodes

    def between(i: int, j: int) -> float:
        """The larger weight of both directions."""
        return max(weights.get((i, j), 0.0), weights.get((j, i), 0.0)) if i != j else 0.0

    degree = [sum(between(i, j) for j in range(n)) for i in range(n)]
    L = torch.zeros(n, n, dtype=torch.float64)
    for i in range(n):
        for j in range(n):
            a = between(i, j)
            if normalization == "combinatorial":
                L[i, j] = (degree[i] if i == j else 0.0) - a
            elif normalization == "symmetric":
                L[i, j] = (i == j) - (a / (degree[i] * degree[j]) ** 0.5 if a else 0.0)
            else:
                L[i, j] = (i == j) - (a / degree[i] if a else 0.0)
    return L


def rings_loop(graph: Data, max_size: int) -> list[tuple[int, ...]]:
    """Every set of nodes among which each has exactly two neighbours, and all are connected."""
    edges = undirected(graph)
    rings = []
    for size in range(3, min(max_size, graph.num_nodes) + 1):
        for nodes in combinations(range(graph.num_nodes), size):
            links = {i: [j for j in nodes if (i, j) in edges] for i in nodes}
            if all(len(found) == 2 for found in links.values()):
                seen = {nodes[0]}
                queue = [nodes[0]]
                while queue:
                    for j in links[queue.pop()]:
                        if j not in seen:
                            seen.add(j)
                            queue.append(j)
                if len(seen) == size:
                    rings.append(nodes)
    return rings
