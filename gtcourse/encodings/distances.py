"""How far apart two nodes are: shortest paths, the edges along them, distances to anchors (S9).

Shapes: B graphs of n nodes each, L longest path kept, F edge features, m anchor sets.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import shortest_path
from torch import Tensor

from gtcourse.encodings.transform import Encoding
from gtcourse.graphs.arguments import a_seed, at_least
from gtcourse.graphs.batch import UNREACHABLE


class AddShortestPaths(Encoding):
    """Sets ``distance`` ``[n, n]`` int64: the number of edges on a shortest path from i to j.

    Directions are obeyed; a node has distance 0 to itself, and ``UNREACHABLE`` (-1) is no path.
    Graphormer's spatial encoding and CSA's SPDE read it.

    Args:
        max_distance: store longer distances as this one; by default all are exact, as Graphormer's
            Eq. 7 needs them.
    """

    def __init__(self, max_distance: int | None = None):
        if max_distance is not None:
            at_least(1, max_distance=max_distance)
        self.max_distance = max_distance

    def compute(self, adjacency: Tensor, edge_attr: Tensor | None) -> dict[str, Tensor]:
        distance = shortest_paths(adjacency)
        return {"distance": distance.clamp(max=self.max_distance or adjacency.shape[-1])}


class AddPathEdges(Encoding):
    """Sets ``path_edges`` ``[n, n, L, F]``: the edge features along one shortest path from i to j.

    Place l holds the l-th edge of the path, counted from i, where ``l < distance[i, j]``; behind
    the path's end, and where there is no path, stands 0 and is not data. Of several shortest paths
    it is the one whose features, read from i, come first in lexicographic order: renumbering the
    nodes changes nothing but the order of rows and columns. Whole numbers are stored as int16: with
    L = 20 and several features this is the largest encoding; :class:`AddPathTree` says the same in
    ``[n, n]``. Graphormer's edge encoding reads it.

    Args:
        max_length: L; of a longer path its first L edges.

    Raises:
        ValueError: a graph has no ``edge_attr``, or a whole number in it beyond int16.
    """

    reads_edge_attr = True

    def __init__(self, max_length: int):
        at_least(1, max_length=max_length)
        self.max_length = max_length

    def compute(self, adjacency: Tensor, edge_attr: Tensor | None) -> dict[str, Tensor]:
        distance = shortest_paths(adjacency)
        return {"path_edges": path_edges(adjacency, edge_attr, distance, self.max_length)}


class AddPathTree(Encoding):
    """Sets ``path_tree`` ``[n, n]`` int16: the node before j on the path of :class:`AddPathEdges`.

    Its row i is a tree of shortest paths from i: the path to j is the path to ``path_tree[i, j]``
    and one edge more. At i itself, and where there is no path, it is -1. These are node numbers:
    renumbering the nodes of a graph that has the encoding already makes it wrong.

    Raises:
        ValueError: a graph has no ``edge_attr``, which decides between several shortest paths.
    """

    reads_edge_attr = True

    def compute(self, adjacency: Tensor, edge_attr: Tensor | None) -> dict[str, Tensor]:
        tree = path_tree(adjacency, edge_attr, shortest_paths(adjacency))
        return {"path_tree": tree.to(torch.int16)}


class AddAnchorDistances(Encoding):
    """Sets ``anchor_distances`` ``[n, m]`` int64: from each node to the nearest of each set.

    (CS224W, S9.) The sets are drawn by :func:`anchor_sets`; graphs of one size share them. They are
    sets of node numbers: renumbering the nodes changes the encoding. No path to any of a set is
    ``UNREACHABLE`` (-1).

    Args:
        num_sets: m; seed: of the draw.
    """

    def __init__(self, num_sets: int, seed: int = 0):
        at_least(1, num_sets=num_sets)
        a_seed(seed=seed)
        self.num_sets, self.seed = num_sets, seed

    def compute(self, adjacency: Tensor, edge_attr: Tensor | None) -> dict[str, Tensor]:
        sets = anchor_sets(adjacency.shape[-1], self.num_sets, self.seed)
        return {"anchor_distances": distances_to_sets(shortest_paths(adjacency), sets)}


def shortest_paths(adjacency: Tensor) -> Tensor:
    """A search from every node of every graph, by SciPy.

    Shapes:
        adjacency: ``[B, n, n]`` bool
        returns: ``[B, n, n]`` int64, ``UNREACHABLE`` where there is no path
    """
    found = [shortest_path(csr_matrix(graph), unweighted=True) for graph in adjacency.numpy()]
    distance = torch.from_numpy(np.stack(found))
    return distance.masked_fill(distance.isinf(), UNREACHABLE).long()


def path_tree(adjacency: Tensor, edge_attr: Tensor, distance: Tensor) -> Tensor:
    """The node before j on the chosen shortest path from i to j, near pairs first.

    Every first part of a path that comes first in lexicographic order does so itself. A path of
    length l therefore is the best, over the edges (k, j) that end one, of: the rank of the path to
    k among the paths of length l - 1, then the rank of the edge's features.

    Shapes:
        adjacency: ``[B, n, n]`` bool; edge_attr: ``[B, n, n, F]``; distance: ``[B, n, n]``
        returns: ``[B, n, n]`` int64, -1 where there is no such node
    """
    B, n, _ = adjacency.shape
    graph, source, destination = adjacency.nonzero(as_tuple=True)
    kinds, kind = lexicographic_ranks(edge_attr[adjacency])
    # One row for each edge (source, destination), one column for each start i.
    to_source, to_destination = distance.mT[graph, source], distance.mT[graph, destination]
    edge, start = ((to_source >= 0) & (to_source + 1 == to_destination)).nonzero(as_tuple=True)
    row = graph[edge] * n + start
    parent, pair = row * n + source[edge], row * n + destination[edge]

    best = distance.new_full((B * n * n,), torch.iinfo(torch.int64).max)
    rank, ranks = distance.new_zeros(B * n * n), 1
    ways, pairs = by_length(to_destination[edge, start]), by_length(distance.flatten())
    for way, reached in zip(ways[1:], pairs[1:], strict=True):
        # The node's number in the last digit: of paths with the same features, any will do.
        key = (rank[parent[way]] * kinds + kind[edge[way]]) * n + source[edge[way]]
        best.scatter_reduce_(0, pair[way], key, "amin")
        rank[reached], ranks = best[reached] // n, ranks * kinds
        if ranks > 2**62 // (kinds * n):  # the next keys might not fit in 64 bits
            values, rank[reached] = rank[reached].unique(return_inverse=True)
            ranks = len(values)
    before = torch.where(distance.flatten() > 0, best % n, -1)
    return before.reshape(B, n, n)


def lexicographic_ranks(rows: Tensor) -> tuple[int, Tensor]:
    """How many different rows there are in ``rows`` ``[E, F]``, and the rank of each, ``[E]``."""
    code = rows
    if len(rows) and not rows.is_floating_point():
        lowest = rows.long().amin(dim=0)
        sizes = (rows.long().amax(dim=0) - lowest + 1).tolist()
        if math.prod(sizes) < 2**62:  # a row is then one number, which is sorted far sooner
            code = rows.new_zeros(len(rows), dtype=torch.int64)
            for column, size in zip((rows.long() - lowest).unbind(dim=1), sizes, strict=True):
                code = code * size + column
    kinds, rank = code.unique(dim=None if code.dim() == 1 else 0, return_inverse=True)
    return len(kinds), rank


def by_length(length: Tensor) -> list[Tensor]:
    """Where ``length`` ``[n]`` is 0, 1, 2, … up to the largest; negative ones are left out."""
    counts = (length + 1).bincount().tolist()  # of -1, 0, 1, …
    return list(length.argsort().split(counts)[1:])


def path_edges(adjacency: Tensor, edge_attr: Tensor, distance: Tensor, max_length: int) -> Tensor:
    """The features of the edges along a shortest path for every pair, near pairs first.

    Shapes:
        adjacency: ``[B, n, n]`` bool; edge_attr: ``[B, n, n, F]``; distance: ``[B, n, n]``
        returns: ``[B, n, n, max_length, F]``, 0 beyond the path's end; whole numbers as int16
    """
    if not edge_attr.is_floating_point():
        edge_attr = _as_int16(edge_attr)
    before = path_tree(adjacency, edge_attr, distance)
    path = edge_attr.new_zeros(*adjacency.shape, max_length, edge_attr.shape[-1])
    for length in range(1, int(distance.max()) + 1):
        graph, start, end = (distance == length).nonzero(as_tuple=True)
        previous = before[graph, start, end]
        path[graph, start, end] = path[graph, start, previous]
        if length <= max_length:
            path[graph, start, end, length - 1] = edge_attr[graph, previous, end]
    return path


def _as_int16(edge_attr: Tensor) -> Tensor:
    largest = torch.iinfo(torch.int16).max
    if edge_attr.numel() and edge_attr.abs().max() > largest:
        raise ValueError(
            f"edge_attr holds {int(edge_attr.abs().max())}; expected whole numbers up to {largest}."
        )
    return edge_attr.to(torch.int16)


def anchor_sets(num_nodes: int, num_sets: int, seed: int = 0) -> Tensor:
    """Random sets of half, a quarter, an eighth, … of the nodes, over again: ``[m, n]`` bool.

    Large sets tell near nodes apart, small ones far nodes (You et al., 2019, after Bourgain).
    """
    random = np.random.default_rng([seed, num_nodes]).random((num_sets, num_nodes))
    halvings = 1 + np.arange(num_sets) % max(1, int(np.log2(num_nodes)))
    sizes = np.maximum(1, num_nodes >> halvings)
    ranks = random.argsort(axis=1).argsort(axis=1)
    return torch.from_numpy(ranks < sizes[:, None])


def distances_to_sets(distance: Tensor, sets: Tensor) -> Tensor:
    """How far each node is from the nearest member of each set.

    Shapes:
        distance: ``[B, n, n]``; sets: ``[m, n]`` bool
        returns: ``[B, n, m]``, ``UNREACHABLE`` where no member can be reached
    """
    far = distance.shape[-1]  # no path is as long as the number of nodes
    known = torch.where(distance == UNREACHABLE, far, distance)
    nearest = torch.stack(
        [known.masked_fill(~members, far).amin(dim=-1) for members in sets], dim=-1
    )
    return torch.where(nearest == far, UNREACHABLE, nearest)
