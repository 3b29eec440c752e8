"""Shortest paths: their lengths, and for each pair of nodes the edges along one of them.

On the CPU rustworkx searches each graph, and NumPy follows the paths back. On a GPU products of
boolean matrices search a whole stack of graphs at once. Both give the same numbers.

Shapes:
    B: graphs of n nodes each
    E: edges of all graphs
    L: edges of a path that are stored
    F: columns of edge features
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from gtcourse.graphs.batch import UNREACHABLE

KEY_BITS = 62  # of a signed 64-bit number; the largest number itself means "no path yet"


def shortest_paths(adjacency: Tensor) -> Tensor:
    """The number of edges on a shortest path from i to j, or ``UNREACHABLE``.

    Shapes:
        adjacency: ``[B, n, n]`` bool, of directed graphs
        returns: ``[B, n, n]`` int64

    Raises:
        ValueError: The adjacency is not such a tensor.
    """
    if not isinstance(adjacency, Tensor):
        raise ValueError(f"adjacency is of type {type(adjacency).__name__}; expected a tensor.")
    is_square = adjacency.ndim == 3 and adjacency.shape[1] == adjacency.shape[2]
    if adjacency.dtype != torch.bool or not is_square:
        raise ValueError(
            f"adjacency is {adjacency.dtype} {list(adjacency.shape)}; expected a bool tensor "
            "[B, n, n], such as adjacency[None] of one graph."
        )
    if adjacency.device.type == "cpu":
        return distances_by_search(adjacency)
    return distances_by_products(adjacency)


def path_tree(adjacency: Tensor, edge_attr: Tensor, distance: Tensor) -> Tensor:
    """The node before j on the chosen shortest path from i to j, or -1 where there is none.

    Of several shortest paths the one is chosen whose edge features, read from i, come first in
    lexicographic order. Where two paths have the same features, the one is chosen whose node before
    j has the lower number.

    Shapes:
        edge_attr: ``[B, n, n, F]``
        distance: ``[B, n, n]`` of :func:`shortest_paths`
        returns: ``[B, n, n]`` int64
    """
    if adjacency.device.type == "cpu":
        features = edge_attr[adjacency].detach()  # [E, F]
        features = features.double() if features.is_floating_point() else features.long()
        tree = tree_by_search(adjacency.numpy(), features.numpy(), distance.numpy())
        return torch.from_numpy(tree)
    return tree_by_scatter(adjacency, edge_attr, distance)


def path_edges(before: Tensor, edge_attr: Tensor, distance: Tensor, max_length: int) -> Tensor:
    """The features of the first L edges on the chosen path from i to j, and 0 beyond its end.

    Shapes:
        before: ``[B, n, n]`` of :func:`path_tree`
        edge_attr: ``[B, n, n, F]``
        returns: ``[B, n, n, L, F]``, of the type of ``edge_attr``
    """
    if before.device.type == "cpu":
        stored = edge_attr.detach().contiguous().view(torch.uint8)  # NumPy has no bfloat16
        path = edges_by_row(before.numpy(), stored.numpy(), distance.numpy(), max_length)
        return torch.from_numpy(path).view(edge_attr.dtype)
    return edges_by_index(before, edge_attr, distance, max_length)


# On the CPU


def distances_by_search(adjacency: Tensor) -> Tensor:
    """Breadth-first search from every node."""
    import rustworkx  # only graphs on the CPU need it

    distance = torch.empty(adjacency.shape, dtype=torch.int64)
    for graph, result in zip(adjacency.numpy(), distance.numpy(), strict=True):
        digraph = rustworkx.PyDiGraph.from_adjacency_matrix(graph.astype(np.float64))
        result[...] = rustworkx.digraph_distance_matrix(
            digraph,
            parallel_threshold=len(graph) + 1,  # one thread
            null_value=float(UNREACHABLE),
        )
    return distance


def tree_by_search(adjacency: np.ndarray, features: np.ndarray, distance: np.ndarray) -> np.ndarray:
    """:func:`path_tree`, near pairs first; ``features`` ``[E, F]`` are those of the edges alone.

    If a path comes first in lexicographic order, so does every beginning of it. The chosen path of
    length l is therefore the first among the chosen paths to the nodes k that have an edge to j,
    each followed by that edge. The features of a path are written as one number: that of the path
    to k, shifted to the left, and the kind of the last edge. When there are no bits left, the paths
    of one length are replaced by their ranks.
    """
    B, n, _ = adjacency.shape
    node_bits = (n - 1).bit_length()
    distance = distance.astype(np.min_scalar_type(-n - 1))  # NumPy sorts small types by radix

    graph, source, destination = adjacency.nonzero()  # [E] each
    kind = lexicographic_order(features)  # [E]
    kind_bits = int(kind.max(initial=0)).bit_length()
    last_step = kind << node_bits | source
    key_bits = kind_bits + node_bits

    # A path from a start may end with an edge that leads one step further away from it.
    from_starts = np.ascontiguousarray(distance.swapaxes(1, 2)).reshape(B * n, n)
    to_source = from_starts[graph * n + source]  # [E, n starts]
    to_destination = from_starts[graph * n + destination]
    ends_a_path = (to_source >= 0) & (to_source + 1 == to_destination)
    choice = np.flatnonzero(ends_a_path)
    choices = by_length(to_destination.reshape(-1)[choice])
    ends = by_length(distance.reshape(-1))

    best = np.full(B * n * n, np.iinfo(np.int64).max)
    path = np.zeros(B * n * n, dtype=np.int64)  # the features of the chosen path as a number
    path_bits = 0
    pair_to_source = graph * n * n + source  # of the first start; one row further for the next
    pair_to_destination = graph * n * n + destination
    for step, places in enumerate(choices):  # paths of step + 1 edges
        if path_bits + key_bits > KEY_BITS:
            shorter = ends[step - 1]
            ranks, path[shorter] = np.unique(path[shorter], return_inverse=True)
            path_bits = len(ranks).bit_length()
        edge = choice[places] // n
        row = (choice[places] - edge * n) * n
        path_to_source = path[row + pair_to_source[edge]]
        key = path_to_source << key_bits | last_step[edge]
        np.minimum.at(best, row + pair_to_destination[edge], key)
        path[ends[step]] = best[ends[step]] >> node_bits
        path_bits += kind_bits
    before = best & ((1 << node_bits) - 1)
    before[distance.reshape(-1) <= 0] = -1
    return before.reshape(B, n, n)


def edges_by_row(
    before: np.ndarray, edge_attr: np.ndarray, distance: np.ndarray, max_length: int
) -> np.ndarray:
    """:func:`path_edges`: the edges of the path to the node before j, and one more.

    Shapes:
        edge_attr: ``[B, n, n, S]``, the S bytes of an edge's features
        returns: ``[B, n, n, L, S]``
    """
    B, n, _, S = edge_attr.shape
    if S == 0:
        return np.zeros((B, n, n, max_length, 0), dtype=np.uint8)
    one_edge = np.dtype((np.void, S))
    one_path = np.dtype((np.void, max_length * S))
    features = edge_attr.reshape(B * n * n, S).view(one_edge)[:, 0]
    paths = np.zeros((B * n * n, max_length), dtype=one_edge)

    distance = distance.reshape(-1).astype(np.min_scalar_type(-n - 1))
    previous, last_edge = _steps_back(before)
    for place, end in enumerate(by_length(distance)):  # paths whose last edge is at this place
        longer = paths.take(previous[end], axis=0)
        if place < max_length:
            longer[:, place] = features.take(last_edge[end])
        # As one value a row is written three times as fast as by columns.
        paths.view(one_path)[:, 0].put(end, longer.view(one_path))
    return paths.view(np.uint8).reshape(B, n, n, max_length, S)


def _steps_back(before: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each pair (i, j) the places of (i, k) and (k, j), where k is the node before j.

    They mean nothing where there is no such node, and are not read there.
    """
    B, n, _ = before.shape
    graph = n * n * np.arange(B)[:, None, None]
    k = before * n
    to_k = graph + n * np.arange(n)[:, None] + before
    from_k = graph + k + np.arange(n)
    return to_k.reshape(-1), from_k.reshape(-1)


def by_length(length: np.ndarray) -> list[np.ndarray]:
    """The places at which ``length`` is 1, then those at which it is 2, and so on."""
    order = length.argsort(kind="stable")
    ends = np.bincount(length + 1).cumsum()[1:]  # of the lengths 0, 1, 2, …
    return [order[start:end] for start, end in pairwise(ends)]


def lexicographic_order(features: np.ndarray) -> np.ndarray:
    """A number for each row of ``[E, F]``, from 0, in the lexicographic order of the rows."""
    order = np.zeros(len(features), dtype=np.int64)
    for column in features.T if len(features) else ():
        if column.dtype.kind == "f" or np.ptp(column) >= 2**16:
            column = np.unique(column, return_inverse=True)[1]
        column = column - column.min()
        order = order << int(column.max()).bit_length() | column
        if order.max() >= 2**16:  # too many bits of a path for an edge
            order = np.unique(order, return_inverse=True)[1]
    return order


# On a GPU


def distances_by_products(adjacency: Tensor) -> Tensor:
    r"""Products of boolean matrices, a step of all searches at a time.

    .. math:: R_0 = I, \qquad R_{t+1} = R_t \lor R_t A, \qquad
              d_{ij} = \min \{ t : (R_t)_{ij} \}

    All n - 1 steps are made, because asking a GPU whether any node was new would mean to wait.
    """
    n = adjacency.shape[-1]
    # A sum of ones too large for float16 is infinite, which is above 0 all the same.
    step = adjacency.to(torch.float16 if adjacency.is_cuda else torch.float32)
    reached = torch.eye(n, dtype=torch.bool, device=adjacency.device).expand_as(adjacency)
    distance = torch.zeros_like(adjacency, dtype=torch.int64)
    for _ in range(n - 1):
        distance += ~reached
        reached = reached | (reached.to(step.dtype) @ step > 0)
    return distance.masked_fill(~reached, UNREACHABLE)


def tree_by_scatter(adjacency: Tensor, edge_attr: Tensor, distance: Tensor) -> Tensor:
    """:func:`path_tree`, as :func:`tree_by_search`; the paths of each length are numbered."""
    n = adjacency.shape[-1]
    graph, source, destination = adjacency.nonzero(as_tuple=True)
    features = edge_attr[adjacency].double()
    kind = features.unique(dim=0, return_inverse=True)[1]  # its rank in lexicographic order
    # One row for each edge (source, destination), one column for each start i.
    to_source = distance.mT[graph, source]
    to_destination = distance.mT[graph, destination]
    ends_a_path = (to_source >= 0) & (to_source + 1 == to_destination)
    edge, start = ends_a_path.nonzero(as_tuple=True)
    row = graph[edge] * n + start
    parent = row * n + source[edge]
    pair = row * n + destination[edge]

    best = torch.full_like(distance, torch.iinfo(torch.int64).max).flatten()
    rank = torch.zeros_like(best)
    choices = _by_length(to_destination[edge, start])
    ends = _by_length(distance.flatten())
    for choice, end in zip(choices, ends, strict=True):
        key = (rank[parent[choice]] * len(kind) + kind[edge[choice]]) * n + source[edge[choice]]
        best.scatter_reduce_(0, pair[choice], key, "amin")
        rank[end] = (best[end] // n).unique(return_inverse=True)[1]
    return torch.where(distance > 0, best.view_as(distance) % n, -1)


def edges_by_index(before: Tensor, edge_attr: Tensor, distance: Tensor, max_length: int) -> Tensor:
    """:func:`path_edges`: the edges of the path to the node before j, and one more."""
    path = edge_attr.new_zeros(*distance.shape, max_length, edge_attr.shape[-1])
    for length in range(1, int(distance.max()) + 1):
        graph, start, end = (distance == length).nonzero(as_tuple=True)
        previous = before[graph, start, end]
        path[graph, start, end] = path[graph, start, previous]
        if length <= max_length:
            path[graph, start, end, length - 1] = edge_attr[graph, previous, end]
    return path


def _by_length(length: Tensor) -> tuple[Tensor, ...]:
    """:func:`by_length` on any device."""
    counts = (length + 1).bincount().tolist()  # of -1, 0, 1, …
    return length.argsort().split(counts)[2:]
