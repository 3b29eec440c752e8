"""Checks of chapter 08: relations, Eqs. 7 and 9 without pairs, a head that counts, and the dial.

Shapes: H heads, N nodes, K width of a head, T relations, E edge types, L longest distance of its
own.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from gtcourse.exercises.verdict import Mistake, checker, expect

H = 2


@checker("itself, edges by type, then distances, far, and unreachable.")
def check_relation_ids(relation_ids: Callable[..., Tensor]) -> None:
    """``relation_ids(distance, bond, E, L)``: ``[N, N]`` twice and two numbers to ``[N, N]``."""
    # A chain of six nodes with edges of three types, and a node alone.
    n, E, L = 7, 3, 3
    kinds = {(0, 1): 2, (1, 2): 0, (2, 3): 1, (3, 4): 2, (4, 5): 1}
    kinds |= {(j, i): kind for (i, j), kind in kinds.items()}
    steps = [[abs(i - j) if 6 not in (i, j) or i == j else -1 for j in range(n)] for i in range(n)]
    bond = torch.tensor([[kinds.get((i, j), 0) for j in range(n)] for i in range(n)])

    def ids(
        itself: int = 0,
        edge: Callable[[int], int] = lambda kind: 1 + kind,
        distance: Callable[[int], int] = lambda d: E + d - 1,
        exact: int = L,
        far: int = E + L,
        unreachable: int = E + L + 1,
    ) -> Tensor:
        def relation(i: int, j: int) -> int:
            d = steps[i][j]
            if d == -1:
                return unreachable
            if d == 0:
                return itself
            if d == 1:
                return edge(kinds[i, j])
            return distance(d) if d <= exact else far

        return torch.tensor([[relation(i, j) for j in range(n)] for i in range(n)])

    expect(
        relation_ids(torch.tensor(steps), bond.clone(), E, L),
        ids(),
        {
            "distances of L are far already (as in the authors' code); far is more than L.": ids(
                exact=L - 1
            ),
            "distances of L are far already, and the rows after them moved up; far is more than "
            "L.": ids(exact=L - 1, far=E + L - 1, unreachable=E + L),
            "nothing is far: all distances beyond L share one relation.": ids(exact=n),
            "nodes without a path are far; they have a relation of their own, the last.": ids(
                unreachable=E + L
            ),
            "far and unreachable are exchanged.": ids(far=E + L + 1, unreachable=E + L),
            "nodes without a path have the relation of a node with itself.": ids(unreachable=0),
            "edges of type 0 were not seen: a 0 in bond is a type where the distance is 1.": ids(
                edge=lambda kind: 1 + kind if kind else E
            ),
            "all edges have the relation 1; each type has its own.": ids(edge=lambda kind: 1),
            "edges begin at 0, which is a node with itself; type 0 is relation 1.": ids(
                edge=lambda kind: kind
            ),
            "a node with itself has the relation of an edge of type 0; it is relation 0.": ids(
                itself=1
            ),
            "distances begin one too late: 2 follows the last type of edge.": ids(
                distance=lambda d: E + d, far=E + L + 1, unreachable=E + L + 2
            ),
            "a distance is used as it is; 2 follows the last type of edge, relation E.": ids(
                distance=lambda d: d
            ),
        },
    )


@checker("T products for each key, and each pair picks its own from column j.")
def check_key_context(key_context: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
    """``key_context(k, R_query, relation)``.

    Shapes:
        ``[H, N, K]``, ``[H, T, K]``, ``[N, N]`` to ``[H, N, N]``
    """
    N, T, K = 11, 4, 13
    k, R = (
        [_numbers(rows, K, shift + 3 * h) for h in range(H)] for rows, shift in ((N, 0), (T, 5))
    )
    relation = _relations(N, T)

    def context(
        of: Callable[[int, int], tuple[int, int]], scale: float = 1.0, heads: range = range(H)
    ) -> Tensor:
        """The key of one node with the vector of one pair's relation, times ``scale``."""
        return torch.tensor([[[scale * _dot(k[h][a], R[h][relation[b][c]]) for a, b, c in
                               (of(i, j) for j in range(N))] for i in range(N)]
                             for h in heads])  # fmt: skip

    got = _watched(key_context, N * N * K)(torch.tensor(k), torch.tensor(R), torch.tensor(relation))
    expect(
        got,
        context(lambda i, j: (j, i, j)),
        {
            "this is k_i, the key of the node that asks, as in the authors' code; Eq. 7 has k_j: "
            "gather from a table [H, T, N] along its second axis.": context(lambda i, j: (i, i, j)),
            "the relation is that of (j, i); Eq. 7 has that of (i, j).": context(
                lambda i, j: (j, j, i)
            ),
            "rows and columns are exchanged: [i, j] has the key of j and the relation of "
            "(i, j).": context(lambda i, j: (i, j, i)),
            "the sum is divided by sqrt(K) already; Eq. 8 does that once for all terms.": context(
                lambda i, j: (j, i, j), K**-0.5
            ),
            "all heads have the numbers of the first; each reads its own k and R.": context(
                lambda i, j: (j, i, j), heads=range(1)
            ).expand(H, N, N),
        },
    )


@checker("weights are added up by relation, and only T vectors are met.")
def check_value_term(value_term: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
    """``value_term(a, R_value, relation)``.

    Shapes:
        ``[H, N, N]``, ``[H, T, K]``, ``[N, N]`` to ``[H, N, K]``
    """
    N, T, K = 11, 4, 13
    R, relation = [_numbers(T, K, 5 + 3 * h) for h in range(H)], _relations(N, T)
    raw = [
        [[1.0 + (3 * i + (5 - h) * j) % 7 for j in range(N)] for i in range(N)] for h in range(H)
    ]
    a = [[[weight / sum(row) for weight in row] for row in head] for head in raw]

    def term(weight: Callable[[list, int, int], float], pair: Callable[[int, int], int]) -> Tensor:
        return torch.tensor(
            [[[sum(weight(a[h], i, j) * R[h][pair(i, j)][c] for j in range(N)) for c in range(K)]
              for i in range(N)] for h in range(H)]
        )  # fmt: skip

    def of_pair(i: int, j: int) -> int:
        return relation[i][j]

    last = [[{relation[i][j]: head[i][j] for j in range(N)} for i in range(N)] for head in a]
    kept = torch.tensor(
        [[[sum(w * R[h][r][c] for r, w in row.items()) for c in range(K)] for row in last[h]]
         for h in range(H)]
    )  # fmt: skip
    got = _watched(value_term, N * N * K)(torch.tensor(a), torch.tensor(R), torch.tensor(relation))
    expect(
        got,
        term(lambda a, i, j: a[i][j], of_pair),
        {
            "of each relation only one weight is kept: scatter_ overwrites, scatter_add_ adds.": (
                kept
            ),
            "the weights are added up by column: row i sums over j.": term(
                lambda a, i, j: a[j][i], lambda i, j: relation[j][i]
            ),
            "the relation is that of (j, i); Eq. 9 has that of (i, j).": term(
                lambda a, i, j: a[i][j], lambda i, j: relation[j][i]
            ),
            "the weight is that of (j, i); row i of a holds what node i gives.": term(
                lambda a, i, j: a[j][i], of_pair
            ),
            "pairs were counted, not weighed: add up a.": term(lambda a, i, j: 1.0, of_pair),
            "this is the mean over nodes; the weights are the only factor.": term(
                lambda a, i, j: a[i][j] / N, of_pair
            ),
        },
    )


@checker("edges of every type count one, and everything else nothing.")
def check_counting_table(counting_table: Callable[[int, int], Tensor]) -> None:
    """``counting_table(E, L)`` to ``[T, 1]``."""
    for E, L in ((3, 5), (1, 2)):
        T = E + L + 2

        def table(ones: range, value: float = 1.0, T: int = T) -> Tensor:
            R = torch.zeros(T, 1)
            R[ones] = value
            return R

        edges = range(1, 1 + E)
        got = counting_table(E, L)
        if isinstance(got, Tensor):
            got = got.detach().float()
        mistakes = {
            "a node counts itself as well; relation 0 is to be 0.": table(range(1 + E)),
            "you counted a node itself and missed the last type of edge; relation 0 is a node with "
            "itself.": table(range(E)),
            "all nodes are counted; only edges make a neighbour.": table(range(T)),
            "all others are counted; only edges make a neighbour.": table(range(1, T)),
            "there is no row for [VNode] here: T is 1 + E + (L - 1) + 2.": torch.cat(
                [table(edges), torch.zeros(1, 1)]
            ),
            "the shape is [T, 1], not [T].": table(edges)[:, 0],
        }
        if E > 1:
            mistakes["only edges of type 0 are counted; relations 1 to E are edges."] = table(
                range(1, 2)
            )
        expect(got, table(edges), mistakes)


@checker("dial and distance meet in a dot product: a diagonal.")
def check_dial_table(dial_table: Callable[[], Tensor]) -> None:
    """``dial_table()`` to ``[11, 8]``: self, an edge, distances 2 to 8, far, unreachable."""
    R = dial_table()
    if not isinstance(R, Tensor):
        raise Mistake(f"expected a tensor, got a {type(R).__name__}.")
    R = R.detach().float()
    if list(R.shape) != [11, 8]:
        turned = " (rows are relations, columns the places of the query)" * (R.shape == (8, 11))
        raise Mistake(f"expected the shape [11, 8]{turned}, got {list(R.shape)}.")
    if not R.isfinite().all():
        raise Mistake("an entry is not finite.")
    logits = R[:9].T / 8**0.5  # row n - 1: the asker with dial n, at distances 0 to 8
    weight = logits.softmax(dim=1)
    right = weight[torch.arange(8), torch.arange(1, 9)]
    if (right >= 0.99).all():
        return
    loudest = weight.argmax(dim=1)
    if (logits - logits[:, :1]).abs().max() < 1e-6:
        raise Mistake("all distances have one logit, so the asker listens to all alike.")
    if (logits - logits[:1]).abs().max() < 1e-6:
        raise Mistake("the dial makes no difference: every asker has the same weights, as with a "
                      "bias.")  # fmt: skip
    if (loudest == torch.arange(8)).all():
        raise Mistake("every asker listens one step too near: relation 1 is distance 1.")
    if (loudest == torch.arange(2, 10)).sum() >= 6:
        raise Mistake("every asker listens one step too far: relation 1 is distance 1, and "
                      "relation d distance d.")  # fmt: skip
    if (weight.argmin(dim=1) == torch.arange(1, 9)).all():
        raise Mistake("every asker listens to all but the right speaker: the sign is the wrong "
                      "one.")  # fmt: skip
    if (loudest == torch.arange(1, 9)).all():
        raise Mistake(
            f"the right speaker is heard most, but gets only {right.min():.1%} of the attention: "
            "the numbers are too small for a division by sqrt(8)."
        )
    wrong = int((loudest != torch.arange(1, 9)).nonzero()[0])
    raise Mistake(f"the asker with dial {wrong + 1} listens at distance {int(loudest[wrong])}.")


class _LargestTensor(TorchDispatchMode):
    """Refuses every tensor of as many numbers as a vector for each pair would have."""

    def __init__(self, too_many: int):
        super().__init__()
        self.too_many = too_many

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        made = result if isinstance(result, tuple | list) else (result,)
        for tensor in made:
            if isinstance(tensor, Tensor) and tensor.numel() >= self.too_many:
                raise Mistake(
                    f"a tensor of shape {list(tensor.shape)} was made, a vector for every pair; "
                    "gather or scatter numbers, not vectors."
                )
        return result


def _watched(answer: Callable[..., Tensor], too_many: int) -> Callable[..., Tensor]:
    def call(*arguments: Tensor) -> Tensor:
        with _LargestTensor(too_many):
            return answer(*arguments)

    return call


def _numbers(rows: int, columns: int, shift: int = 0) -> list[list[float]]:
    """Round numbers that repeat in no row or column."""
    return [[((7 * i + 11 * c + shift * (i + 1)) % 19 - 9) / 2 for c in range(columns)]
            for i in range(rows)]  # fmt: skip


def _relations(N: int, T: int) -> list[list[int]]:
    """Not symmetric, so that (i, j) and (j, i) can be told apart."""
    return [[(i * i + 3 * j + (i * j) % 5) % T for j in range(N)] for i in range(N)]


def _dot(x: list[float], y: list[float]) -> float:
    return sum(a * b for a, b in zip(x, y, strict=True))
