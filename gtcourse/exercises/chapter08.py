"""Checks of chapter 08: relations, Eqs. 7 and 9 without pairs, a head that counts, and the dial.

Shapes: H heads, N nodes, K width of a head, T relations, E edge types, L longest distance of its
own.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from gtcourse.exercises.checker import Mistake, checker, compare, random


def _chain() -> tuple[Tensor, Tensor]:
    """The distances on a chain of six nodes with edges of three types, and a node alone."""
    place = torch.arange(6)
    distance, bond = torch.full((7, 7), -1), torch.zeros(7, 7, dtype=torch.int64)
    distance[:6, :6] = (place[:, None] - place).abs()
    distance[6, 6] = 0
    for i, kind in enumerate((2, 0, 1, 2, 1)):
        bond[i, i + 1] = bond[i + 1, i] = kind
    return distance, bond


@compare(
    "the order is itself, edges by type, distances, far, unreachable.",
    cases=[(*_chain(), 3, 3), (*_chain(), 4, 2), (*(x[1:, 1:] for x in _chain()), 3, 5)],
    mistakes={
        "distances of L are far (as in the authors' code); far means more than L.": {"longest": 2},
        "nothing is far: all distances beyond L share one relation.": {"longest": 99},
        "nodes without a path are far; they should have the last relation.": {"unreachable": 6},
        "far and unreachable are swapped.": {"far": 7, "unreachable": 6},
        "nodes without a path have the relation of a node with itself.": {"unreachable": 0},
        "edges of type 0 are missing: a 0 in bond is a type where the distance is 1.": {
            "edge": lambda bond: torch.where(bond > 0, 1 + bond, 3)
        },
        "distances start one too late: 2 follows the last edge type.": {"shift": 1},
    },
)
def check_relation_ids(
    distance, bond, E, L, edge=lambda bond: 1 + bond, longest=None, far=None, unreachable=None,
    shift=0,
):  # fmt: skip
    """``relation_ids(distance, bond, E, L)``: ``[N, N]`` twice and two numbers to ``[N, N]``."""
    d, last = distance, E + L + 1 + shift
    ids = torch.where(d <= (longest or L), E + d - 1 + shift, last - 1 if far is None else far)
    ids = torch.where(d == -1, last if unreachable is None else unreachable, ids)
    return torch.where(d == 0, 0, torch.where(d == 1, edge(bond), ids))


class _LargestTensor(TorchDispatchMode):
    """Raises at every tensor of as many numbers as a vector for each pair would have."""

    def __init__(self, too_many: int):
        super().__init__()
        self.too_many = too_many

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, tuple | list) else (result,):
            if isinstance(tensor, Tensor) and tensor.numel() >= self.too_many:
                raise Mistake(
                    f"a tensor of shape {list(tensor.shape)} was created, a vector for every pair; "
                    "gather or scatter numbers, not vectors."
                )
        return result


def _without_pairs(answer: Callable[..., Tensor], x: Tensor, R: Tensor, relation: Tensor) -> Tensor:
    with _LargestTensor(relation.numel() * R.shape[-1]):
        return answer(x, R, relation)


# Not symmetric, so that (i, j) and (j, i) can be told apart.
RELATION = torch.tensor([[(i * i + 3 * j + (i * j) % 5) % 4 for j in range(11)] for i in range(11)])
KEYS, WEIGHTS, VECTORS = random((2, 11, 13), (2, 11, 11), (2, 4, 13))


def _by_head(answer: Callable) -> Callable:
    """An answer for all heads from one for a single head."""
    return lambda x, R, r: torch.stack([answer(x[h], R[h], r) for h in range(len(x))])


@compare(
    "T products for each key, from which each pair picks its own.",
    cases=[
        (KEYS, VECTORS, RELATION),
        (*random((3, 9, 8), (3, 6, 8), seed=2), RELATION[:9, 1:10]),
    ],
    run=_without_pairs,
    mistakes={
        "this is k_i, as in the authors' code; Eq. 7 has k_j, the key that is attended to.": (
            _by_head(lambda k, R, r: (k @ R.T).gather(1, r))
        ),
        "the relation is that of (j, i); Eq. 7 uses that of (i, j).": _by_head(
            lambda k, R, r: (R @ k.T).gather(0, r.T)
        ),
        "rows and columns are swapped: [i, j] has the key of j.": _by_head(
            lambda k, R, r: (R @ k.T).gather(0, r).T
        ),
        "the sum is already divided by sqrt(K); Eq. 8 does that once for all terms.": _by_head(
            lambda k, R, r: (R @ k.T).gather(0, r) / k.shape[1] ** 0.5
        ),
    },
)
def check_key_context(k, R_query, relation):
    """``key_context(k, R_query, relation)``: ``[H, N, K]``, ``[H, T, K]`` to ``[H, N, N]``."""
    return torch.einsum("hjc,hijc->hij", k, R_query[:, relation])


def _added(a: Tensor, R: Tensor, relation: Tensor) -> Tensor:
    return a.new_zeros(len(a), len(R)).scatter_add(1, relation, a) @ R


@compare(
    "weights are summed by relation, so only T vectors are needed.",
    cases=[
        (WEIGHTS.softmax(dim=-1), VECTORS, RELATION),
        (*random((3, 9, 9), (3, 6, 8), seed=2), RELATION[:9, 1:10]),
    ],
    run=_without_pairs,
    mistakes={
        "each relation has only one weight left: scatter_ overwrites, scatter_add_ adds.": (
            _by_head(lambda a, R, r: a.new_zeros(len(a), len(R)).scatter(1, r, a) @ R)
        ),
        "the weights are summed by column; row i sums over j.": _by_head(
            lambda a, R, r: _added(a.T, R, r.T)
        ),
        "the relation is that of (j, i); Eq. 9 uses that of (i, j).": _by_head(
            lambda a, R, r: _added(a, R, r.T)
        ),
        "pairs were counted; sum their weights a.": _by_head(
            lambda a, R, r: _added(a * 0 + 1, R, r)
        ),
    },
)
def check_value_term(a, R_value, relation):
    """``value_term(a, R_value, relation)``: ``[H, N, N]``, ``[H, T, K]`` to ``[H, N, K]``."""
    return torch.einsum("hij,hijc->hic", a, R_value[:, relation])


@compare(
    "every edge counts 1, everything else 0.",
    cases=[(3, 5), (1, 2)],
    mistakes={
        "a node also counts itself; relation 0 should be 0.": {"first": 0},
        "all other nodes are counted; only edges make neighbours.": {"end": 99},
        "all nodes are counted; only edges make neighbours.": {"first": 0, "end": 99},
        "there is no row for [VNode] here: T is 1 + E + (L - 1) + 2.": {"more": 1},
        "the shape is [T, 1], not [T].": lambda E, L: check_counting_table.reference(E, L)[:, 0],
        "only edges of type 0 are counted; relations 1 to E are edges.": {"end": 2},
    },
)
def check_counting_table(E, L, first=1, end=None, more=0):
    """``counting_table(E, L)`` to ``[T, 1]``."""
    R = torch.zeros(E + L + 2 + more, 1)
    R[first : end or 1 + E] = 1
    return R


@checker("dial and distance meet in a dot product, so the table is diagonal.")
def check_dial_table(dial_table: Callable[[], Tensor]) -> None:
    """``dial_table()`` to ``[11, 8]``: self, an edge, distances 2 to 8, far, unreachable."""
    R = dial_table()
    if not isinstance(R, Tensor) or R.shape != (11, 8) or not R.isfinite().all():
        raise Mistake("expected a finite tensor [11, 8]: rows are relations, columns the query's.")
    weight = (R.detach().float()[:9].T / 8**0.5).softmax(dim=1)  # row n - 1: the query with dial n
    right, largest, dial = weight.diagonal(1), weight.argmax(dim=1), torch.arange(1, 9)
    if (right >= 0.99).all():
        return
    for wrong, message in (
        (weight.std(dim=1).max() < 1e-6, "all distances have one logit, so all weights are equal."),
        (weight.std(dim=0).max() < 1e-6, "the dial makes no difference, as with a bias."),
        ((weight.argmin(dim=1) == dial).all(), "the sign is wrong."),
        ((largest == dial).all(), f"the right distance gets only {right.min():.1%}: the numbers "
         "are too small for a division by sqrt(8)."),
    ):  # fmt: skip
        if wrong:
            raise Mistake(message)
    n = int((largest != dial).nonzero()[0])
    raise Mistake(f"the query with dial {n + 1} attends to distance {int(largest[n])}.")
