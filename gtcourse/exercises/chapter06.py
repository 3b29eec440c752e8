"""Checks of chapter 06: Eqs. 6 and 7, [VNode]'s scalars, a mean by weights, 1-WL.

Shapes: B graphs, N nodes, H heads, d width, D largest distance, L places of a path, T edge types.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import index

import torch
import torch.nn.functional as F
from torch import Tensor

from gtcourse.exercises.checker import Mistake, compare, random

# A path of four nodes and a fifth alone; distance 3 is beyond D = 2.
FAR = torch.tensor(
    [[0, 1, 2, 3, -1], [1, 0, 1, 2, -1], [2, 1, 0, 1, -1], [3, 2, 1, 0, -1], [-1] * 4 + [0]]
)


@compare(
    "unreachable pairs have their own scalar, and all far ones share one.",
    cases=[
        (torch.tensor([[0.5, -0.5], [4, 8], [2, 3], [1, -1]]), FAR),
        (*random((5, 3)), FAR[:4, 1:].repeat(1, 2)[:, :4]),
    ],
    mistakes={
        "the heads are the last axis; attention wants [H, N, N].": lambda s, d: s[
            (d + 1).clamp(max=3)
        ],
        "-1 was read as the last row, not as row 0.": {"rows": lambda d: d.clamp(max=3)},
        "distance k was looked up in row k; use row k + 1.": {"rows": lambda d: d.clamp(0, 3)},
        "pairs without a path have the scalar of distance 0; use row 0.": {
            "rows": lambda d: (d + 1).clamp(1, 3)
        },
        "distances beyond D have the scalar of pairs without a path; use the last row.": {
            "rows": lambda d: (d + 1) % 4
        },
    },
)
def check_spatial_bias(scalars, distance, rows=None):
    """``spatial_bias(scalars, distance)``: ``[D + 2, H]`` and ``[N, N]`` to ``[H, N, N]``."""
    rows = rows or (lambda d: (d + 1).clamp(max=len(scalars) - 1))
    return scalars[rows(distance)].permute(2, 0, 1)


def _chain() -> tuple[Tensor, Tensor]:
    """The paths and distances on a chain of five nodes with edges of types 1, 0, 1 and 1, and a
    sixth node alone; a path is read for L = 3 edges."""
    types = [1, 0, 1, 1]
    path, distance = torch.zeros(6, 6, 3, dtype=torch.int64), torch.full((6, 6), -1)
    for i in range(5):
        for j in range(5):
            walk = types[i:j] if i < j else types[j:i][::-1]
            distance[i, j] = len(walk)
            path[i, j, : len(walk)] = torch.tensor(walk[:3])
    distance[5, 5] = 0
    return path, distance


def _before_end(path: Tensor, distance: Tensor) -> Tensor:
    return torch.arange(path.shape[-1]) < distance[..., None]


@compare(
    "the mean is over the edges that are read, and it is 0 without a path.",
    cases=[
        (torch.tensor([[6.0, 3], [1, 12], [9, 30]]), *_chain()),
        (*random((2, 4)), _chain()[0][1:, 1:, :2], _chain()[1][1:, 1:]),
    ],
    mistakes={
        "a mean over no edges is 0/0; it should be 0.": {"edges": lambda d: d.clamp(max=3)},
        "the sum is divided by L, not by the path's edges.": {"edges": lambda d: 3},
        "one position too many is read: position n is on the path if n < distance.": {
            "on_path": lambda p, d: _before_end(p, d + 1)
        },
        "zeros beyond the end of a path were counted as edges.": {"on_path": lambda p, d: p >= 0},
        "this is the sum along the path; take the mean.": {"edges": lambda d: 1},
        "a path longer than L is divided by its length, not L.": {
            "edges": lambda d: d.clamp(min=1)
        },
        "edges of type 0 were left out; 0 is a type, and the distance ends the path.": {
            "on_path": lambda p, d: p != 0
        },
    },
)
def check_edge_bias(table, path, distance, on_path=_before_end, edges=None):
    """``edge_bias(table, path, distance)``: ``[L, T]``, ``[N, N, L]``, ``[N, N]`` to ``[N, N]``."""
    terms = table[torch.arange(len(table)), path] * on_path(path, distance)
    return terms.sum(dim=-1) / (edges(distance) if edges else distance.clamp(1, len(table)))


@compare(
    "one scalar per head for all pairs with [VNode], and the others unchanged.",
    cases=[
        (torch.tensor([[[1.0, 2], [3, 4]], [[5, 6], [7, 8]]]), torch.tensor([10.0, 20])),
        random((3, 5, 5), (3,)),
    ],
    mistakes={
        "[VNode] is last; it should be token 0.": lambda b, t: check_with_virtual_node.reference(
            b, t
        ).roll((-1, -1), (1, 2)),
        "[VNode]'s pair with itself has 0; it should have t as well.": {"corner": 0},
        "[VNode]'s pair with itself has 2t; it should have t.": {"corner": 2},
        "the column is missing: the nodes attend to [VNode] with t as well.": {"column": 0},
        "the row is missing: [VNode] attends to the nodes with t as well.": {"row": 0},
        "the first row and column are zero; they should be t.": {
            "corner": 0,
            "row": 0,
            "column": 0,
        },
    },
)
def check_with_virtual_node(bias, t, corner=1, row=1, column=1):
    """``with_virtual_node(bias, t)``: ``[H, N, N]`` and ``[H]`` to ``[H, N + 1, N + 1]``."""
    wider = F.pad(bias, (1, 0, 1, 0))
    wider[:, 0, 1:], wider[:, 1:, 0] = row * t[:, None], column * t[:, None]
    wider[:, 0, 0] = corner * t
    return wider


# A triangle with a tail, and an edge beside it: all four kinds of pairs.
DISTANCE = torch.tensor(
    [[0, 1, 1, 2, -1, -1], [1, 0, 1, 2, -1, -1], [1, 1, 0, 1, -1, -1], [2, 2, 1, 0, -1, -1],
     [-1, -1, -1, -1, 0, 1], [-1, -1, -1, -1, 1, 0]]
)  # fmt: skip
FEATURES = torch.tensor(
    [[1.0, 0, 4, 2], [3, -2, 0, 1], [5, 8, -2, 0], [-7, 2, 6, 3], [2, 2, -4, 1], [0, 6, 1, -2]]
)


def _one_head(mean_head: Callable, d: int) -> tuple[Tensor, Tensor]:
    """The attention of the six nodes and, smaller by ten, what they gather."""
    answer = mean_head(d)
    if not isinstance(answer, tuple | list) or len(answer) != 4:
        raise Mistake("expected four things: scalars, W_Q, W_K and W_V.")
    scalars, W_Q, W_K, W_V = (torch.as_tensor(part).detach().float() for part in answer)
    if scalars.shape != (4,) or any(W.shape != (d, d) for W in (W_Q, W_K, W_V)):
        raise Mistake(f"expected scalars of shape [4] and three matrices {[d, d]} for d = {d}.")
    h = FEATURES[:, :d]
    a = ((h @ W_Q) @ (h @ W_K).T / d**0.5 + scalars[DISTANCE + 1]).softmax(dim=1)
    return a, a @ h @ W_V / 10


def _head(*scalars: float, q: float = 0.0, v: float = 1.0) -> Callable:
    return lambda d: (torch.tensor(scalars), q * torch.eye(d), torch.eye(d), v * torch.eye(d))


TWICE = math.log(2)


@compare(
    "each node counts twice, its neighbours once, whatever their features are.",
    cases=[(3,), (4,)],
    run=_one_head,
    parts=["weights", "output"],
    atol=1e-3,
    mistakes={
        "a node attends to nothing; at least one scalar has to be finite.": _head(*[-math.inf] * 4),
        "a node also attends to nodes that it cannot reach: -inf for them.": _head(
            0, TWICE, 0, -99
        ),
        "a node also attends to nodes farther away: -inf for them.": _head(-99, TWICE, 0, 0),
        "a node does not attend to itself; it should count twice.": _head(-99, -99, 0, -99),
        "a node counts as much as a neighbour; it should count twice.": _head(-99, 0, 0, -99),
        "the values are zero; W_V should leave the vectors as they are.": _head(
            -99, TWICE, 0, -99, v=0.0
        ),
    },
)
def check_mean_head(d):
    """``mean_head(d)``: scalars ``[4]`` (no path, 0, 1, 2 or more) and W_Q, W_K, W_V ``[d, d]``."""
    a = (DISTANCE == 1) + 2 * torch.eye(6)
    a = a / a.sum(dim=1, keepdim=True)
    return a, a @ FEATURES[:, :d] / 10


def _stars() -> tuple[list[int], Tensor]:
    """Seven stars, each a colour in the middle and its leaves'."""
    stars = [(0, (1, 3)), (0, (3, 1)), (0, (2, 2)), (0, (1, 1, 3)), (5, (1, 3)), (0, (2,)),
             (0, (3, 1, 1))]  # fmt: skip
    colours, edges = [], []
    for own, leaves in stars:
        edges += [(len(colours), len(colours) + 1 + n) for n in range(len(leaves))]
        colours += [own, *leaves]
    A = torch.zeros(len(colours), len(colours), dtype=torch.bool)
    A[tuple(torch.tensor(edges).T)] = True
    return colours, A | A.T


def _partition(refine: Callable, colours: list[int], A: Tensor) -> list[int]:
    """The colours by the first node that has them: any numbers will do."""
    got = refine(colours, A)
    got = got.tolist() if hasattr(got, "tolist") else got  # a tensor or an array
    if not isinstance(got, list | tuple) or len(got) != len(A):
        raise Mistake(f"expected a list of {len(A)} integers, one for each node.")
    try:
        got = [index(colour) for colour in got]
    except TypeError:
        raise Mistake("the new colours are not integers; number the signatures.") from None
    return [got.index(colour) for colour in got]


@compare(
    "colours are equal exactly where the old ones and the neighbours' are.",
    cases=[_stars()],
    run=_partition,
    mistakes={
        "nodes of different colours became equal; a node's own colour counts.": {
            "signature": lambda own, near: sorted(near)
        },
        "neighbours of colours 1, 3 and 1, 1, 3 became equal; repetitions count.": {
            "signature": lambda own, near: (own, set(near))
        },
        "neighbours of colours 1, 3 and 3, 1 became different; order does not count.": {
            "signature": lambda own, near: (own, near)
        },
        "one neighbour and two of its colour became equal, as in a mean; both count.": {
            "signature": lambda own, near: (own, sum(near) / len(near))
        },
        "neighbours of colours 1, 3 and 2, 2 became equal, as in a sum; compare sorted lists.": {
            "signature": lambda own, near: (own, sum(near))
        },
    },
)
def check_refine(colours, A, signature=lambda own, near: (own, sorted(near))):
    """``refine(colours, A)``: N whole numbers and ``[N, N]`` bool to N whole numbers."""
    neighbours = [[colours[j] for j in row.nonzero().flatten().tolist()] for row in A]
    signatures = [signature(own, near) for own, near in zip(colours, neighbours, strict=True)]
    return [signatures.index(one) for one in signatures]
