"""Checks of chapter 06: Eqs. 6 and 7, [VNode]'s scalars, a mean by weights, 1-WL.

Shapes: B graphs, N nodes, H heads, d width, D largest distance, L places of a path, T edge types.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import index

import torch
from torch import Tensor

from gtcourse.exercises.verdict import Mistake, checker, expect


@checker("unreachable pairs have a scalar of their own, and far ones share theirs.")
def check_spatial_bias(spatial_bias: Callable[[Tensor, Tensor], Tensor]) -> None:
    """``spatial_bias(scalars, distance)``: ``[D + 2, H]`` and ``[N, N]`` to ``[H, N, N]``."""
    # A path of four nodes and a fifth alone; distance 3 is beyond D = 2.
    distance = torch.tensor(
        [[0, 1, 2, 3, -1], [1, 0, 1, 2, -1], [2, 1, 0, 1, -1], [3, 2, 1, 0, -1], [-1] * 4 + [0]]
    )
    none, zero, one, two = (0.5, -0.5), (4.0, 8.0), (2.0, 3.0), (1.0, -1.0)

    def bias(of: dict[int, tuple[float, float]]) -> Tensor:
        return torch.tensor(
            [[[of[k][h] for k in row] for row in distance.tolist()] for h in (0, 1)]
        )

    right = bias({-1: none, 0: zero, 1: one, 2: two, 3: two})
    expect(
        spatial_bias(torch.tensor([none, zero, one, two]), distance.clone()),
        right,
        {
            "the heads are the last axis; attention wants [H, N, N].": right.permute(1, 2, 0),
            "pairs without a path have the scalar of the largest distance: -1 was read as the last "
            "row. Row 0 is theirs, and distance k has row k + 1.": bias(
                {-1: two, 0: none, 1: zero, 2: one, 3: two}
            ),
            "distance k was looked up in row k; row 0 is that of pairs without a path, and "
            "distance k has row k + 1.": bias({-1: none, 0: none, 1: zero, 2: one, 3: two}),
            "pairs without a path have the scalar of distance 0; theirs is row 0.": bias(
                {-1: zero, 0: zero, 1: one, 2: two, 3: two}
            ),
            "pairs without a path got nothing; they have a learned scalar too, in row 0.": bias(
                {-1: (0.0, 0.0), 0: zero, 1: one, 2: two, 3: two}
            ),
            "distances beyond D got nothing; they share the last row.": bias(
                {-1: none, 0: zero, 1: one, 2: two, 3: (0.0, 0.0)}
            ),
            "distances beyond D have the scalar of pairs without a path; they share the last "
            "row.": bias({-1: none, 0: zero, 1: one, 2: two, 3: none}),
        },
    )


@checker("the mean is over the edges that are read, and no path adds nothing.")
def check_edge_bias(edge_bias: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
    """``edge_bias(table, path, distance)``: ``[L, T]``, ``[N, N, L]``, ``[N, N]`` to ``[N, N]``."""
    # A path of five nodes with edges of types 1, 0, 1 and 1, a sixth node alone, and L = 3.
    types, L = (1, 0, 1, 1), 3
    table = torch.tensor([[6.0, 3.0], [1.0, 12.0], [9.0, 30.0]])
    walks = {
        (i, j): list(types[i:j]) if i < j else list(types[j:i])[::-1]
        for i in range(5)
        for j in range(5)
    }
    distance, path = torch.full((6, 6), -1), torch.zeros(6, 6, L, dtype=torch.int64)
    for (i, j), walk in walks.items():
        distance[i, j] = len(walk)
        path[i, j, : len(walk)] = torch.tensor(walk[:L])
    distance[5, 5] = 0

    def bias(value: Callable[[list[int], int, int], float], elsewhere: float = 0.0) -> Tensor:
        c = torch.full((6, 6), elsewhere)
        for i, j in walks:
            c[i, j] = value(walks[i, j], i, j)
        return c

    def total(walk: list[int]) -> float:
        return sum(float(table[n, edge]) for n, edge in enumerate(walk[:L]))

    def padded(walk: list[int]) -> list[int]:
        return (walk + [0] * L)[:L]

    right = bias(lambda walk, i, j: total(walk) / min(len(walk), L) if walk else 0.0)
    empty = total([0] * L)
    everything = bias(lambda walk, i, j: total(padded(walk)) / min(max(len(walk), 1), L), empty)
    one_more = bias(
        lambda walk, i, j: total(padded(walk)[: len(walk) + 1]) / min(max(len(walk), 1), L)
    )
    one_more[5, 5] = table[0, 0]
    got = edge_bias(table.clone(), path.clone(), distance.clone())
    if isinstance(got, Tensor) and got.shape == right.shape and not got.isfinite().all():
        raise Mistake("a mean over no edges is 0/0; where there is no path the result is 0.")
    expect(
        got,
        right,
        {
            "the sum is divided by L; divide by the number of edges on the path.": bias(
                lambda walk, i, j: total(walk) / L
            ),
            "the zeros behind a path's end were counted as edges of type 0; only the places "
            "before distance[i, j] are on the path.": everything,
            "the zeros behind a path's end were counted as edges of type 0, and the mean is over "
            "all L places.": bias(lambda walk, i, j: total(padded(walk)) / L, empty / L),
            "this is the sum along the path; take the mean.": bias(lambda walk, i, j: total(walk)),
            "a path with more than L edges is divided by its whole length; the mean is over the L "
            "edges that are read.": bias(
                lambda walk, i, j: total(walk) / len(walk) if walk else 0.0
            ),
            "every edge was looked up at the first place; the n-th edge has row n.": bias(
                lambda walk, i, j: (
                    sum(float(table[0, edge]) for edge in walk[:L]) / min(len(walk), L)
                    if walk
                    else 0.0
                )
            ),
            "edges of type 0 were left out; 0 is a type, and whether a place is on the path is a "
            "matter of the distance.": bias(
                lambda walk, i, j: (
                    sum(float(table[n, edge]) for n, edge in enumerate(walk[:L]) if edge)
                    / min(len(walk), L)
                    if walk
                    else 0.0
                )
            ),
            "one place too many was read: place n is on the path where n < distance[i, j].": (
                one_more
            ),
            "rows and columns are exchanged: c[i, j] belongs to the path from i to j.": right.T,
        },
    )


@checker("one scalar a head for all pairs with [VNode], and the others as they were.")
def check_with_virtual_node(with_virtual_node: Callable[[Tensor, Tensor], Tensor]) -> None:
    """``with_virtual_node(bias, t)``: ``[H, N, N]`` and ``[H]`` to ``[H, N + 1, N + 1]``."""
    bias = torch.tensor([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]])
    t = torch.tensor([10.0, 20.0])

    def whole(h: int, corner: float = 1.0, row: float = 1.0, column: float = 1.0) -> list:
        s, (first, second) = float(t[h]), bias[h].tolist()
        return [
            [corner * s, row * s, row * s],
            [column * s, *first],
            [column * s, *second],
        ]

    def of(**factors: float) -> Tensor:
        return torch.tensor([whole(h, **factors) for h in (0, 1)])

    right = of()
    added = right.clone()
    added[:, 1:, 1:] += t[:, None, None]
    expect(
        with_virtual_node(bias.clone(), t.clone()),
        right,
        {
            "[VNode] came last; it is token 0.": right.roll((-1, -1), dims=(1, 2)),
            "[VNode]'s pair with itself has nothing; it has t as well.": of(corner=0.0),
            "[VNode]'s pair with itself has t twice.": of(corner=2.0),
            "the column is missing: the nodes attend to [VNode] with t as well.": of(column=0.0),
            "the row is missing: [VNode] attends to the nodes with t as well.": of(row=0.0),
            "the first row and column are zero; they hold t.": of(corner=0, row=0, column=0),
            "t was added to the pairs of nodes as well.": added,
            "the heads have each other's t, or one t for all.": torch.stack(
                [right[0], torch.where(right[1] == 20, 10.0, right[1])]
            ),
        },
    )


@checker("each node counts twice, its neighbours once, whatever their features are.")
def check_mean_head(mean_head: Callable[[int], tuple]) -> None:
    """``mean_head(d)``: scalars ``[4]`` (no path, 0, 1, 2 or more) and W_Q, W_K, W_V ``[d, d]``."""
    # A triangle with a tail, and an edge beside it: all four kinds of pairs.
    distance = torch.tensor(
        [
            [0, 1, 1, 2, -1, -1],
            [1, 0, 1, 2, -1, -1],
            [1, 1, 0, 1, -1, -1],
            [2, 2, 1, 0, -1, -1],
            [-1, -1, -1, -1, 0, 1],
            [-1, -1, -1, -1, 1, 0],
        ]
    )
    features = torch.tensor(
        [[1.0, 0, 4, 2], [3, -2, 0, 1], [5, 8, -2, 0], [-7, 2, 6, 3], [2, 2, -4, 1], [0, 6, 1, -2]]
    )
    for d in (3, 4):
        _check_one_head(_four_parts(mean_head(d), d), distance, features[:, :d])


def _four_parts(answer: object, d: int) -> list[Tensor]:
    if not isinstance(answer, tuple | list) or len(answer) != 4:
        raise Mistake("expected four things: scalars, W_Q, W_K and W_V.")
    parts = []
    names = ("scalars", "W_Q", "W_K", "W_V")
    for name, part, shape in zip(names, answer, ([4], [d, d], [d, d], [d, d]), strict=True):
        part = torch.as_tensor(part).detach().float()
        if list(part.shape) != shape:
            raise Mistake(f"expected {name} of shape {shape} for d = {d}, got {list(part.shape)}.")
        parts.append(part)
    return parts


def _check_one_head(parts: list[Tensor], distance: Tensor, h: Tensor) -> None:
    scalars, W_Q, W_K, W_V = parts
    a = ((h @ W_Q) @ (h @ W_K).T / h.shape[1] ** 0.5 + scalars[distance + 1]).softmax(dim=1)
    if a.isnan().any():
        raise Mistake("a node attends to nothing; some scalar has to be other than -inf.")
    for kind, name in ((-1, "nodes that it cannot reach"), (2, "nodes farther off")):
        if a[distance == kind].max() > 1e-4:
            raise Mistake(
                f"a node also attends to {name}; their scalar is to be -inf, or much smaller."
            )
    neighbours = torch.tensor([2, 2, 3, 1, 1, 1])
    itself = a.diagonal() * (neighbours + 2)  # 2 where it counts twice
    for weight, message in (
        (0.0, "a node does not hear itself; it is to count twice."),
        (1.0, "a node counts as much as a neighbour; it is to count twice."),
    ):
        expected = weight * (neighbours + 2) / (neighbours + weight)
        if torch.allclose(itself, expected, atol=1e-3):
            raise Mistake(message)
    if not torch.allclose(a[2, [0, 1, 3]], torch.full((3,), 0.2), atol=1e-3):
        raise Mistake(
            "the neighbours do not count alike, or not once each: with W_Q = 0 or W_K = 0 features "
            "have no say, and exp(b) of a node itself is to be twice that of a neighbour."
        )
    weights = torch.where(distance == 1, 1.0, 0.0) + 2 * torch.eye(6)
    right = weights / weights.sum(dim=1, keepdim=True) @ h
    expect(
        a @ h @ W_V,
        right,
        {"the values are zero; W_V hands the vectors over as they are.": torch.zeros_like(right)},
        atol=1e-2,
    )


@checker("equal colours exactly where the old ones and the neighbours' agree.")
def check_refine(refine: Callable[[list[int], Tensor], list[int]]) -> None:
    """``refine(colours, A)``: N whole numbers and ``[N, N]`` bool to N whole numbers."""
    # Seven stars: the first node of each is asked, its leaves have the listed colours.
    stars = [(0, (1, 3)), (0, (3, 1)), (0, (2, 2)), (0, (1, 1, 3)), (5, (1, 3)), (0, (2,)),
             (0, (3, 1, 1))]  # fmt: skip
    colours, edges, centres = [], [], []
    for own, leaves in stars:
        centres.append(len(colours))
        edges += [(len(colours), len(colours) + 1 + n) for n in range(len(leaves))]
        colours += [own, *leaves]
    A = torch.zeros(len(colours), len(colours), dtype=torch.bool)
    for i, j in edges:
        A[i, j] = A[j, i] = True
    got = refine(list(colours), A)
    got = got.tolist() if hasattr(got, "tolist") else got  # a tensor or an array
    if not isinstance(got, list | tuple) or len(got) != len(colours):
        raise Mistake(f"expected a list of {len(colours)} whole numbers, one for each node.")
    try:
        got = [index(colour) for colour in got]
    except TypeError:
        raise Mistake("the new colours are no whole numbers; give each sign a number.") from None
    new = [got[centre] for centre in centres]
    if new[0] == new[4]:
        raise Mistake("two nodes of different colours became alike; a node's own colour counts.")
    if new[0] == new[3]:
        raise Mistake(
            "neighbours of colours 1, 3 and 1, 1, 3 were taken for the same; repetitions count."
        )
    if new[0] != new[1] or new[3] != new[6]:
        raise Mistake("neighbours of colours 1, 3 and 3, 1 were told apart; order does not count.")
    if new[2] == new[5]:
        raise Mistake("one neighbour and two of its colour became alike, as in a mean; both count.")
    if new[0] == new[2]:
        raise Mistake(
            "neighbours of colours 1, 3 and 2, 2 became alike: a sum forgets which colours it was "
            "made of. Compare sorted lists."
        )
    signs = [
        (own, *sorted(colours[j] for j in range(len(colours)) if A[i, j]))
        for i, own in enumerate(colours)
    ]
    for i in range(len(colours)):
        for j in range(i):
            if (signs[i] == signs[j]) != (got[i] == got[j]):
                apart = "alike" if got[i] == got[j] else "apart"
                raise Mistake(
                    f"nodes {j} and {i} of the check's graph came out {apart}: their own colours "
                    f"and their neighbours' are {signs[j]} and {signs[i]}."
                )
