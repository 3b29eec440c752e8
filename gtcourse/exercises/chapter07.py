"""Checks of chapter 07: pairs at first, Eqs. 4 and 5, virtual nodes, distances, a head that counts.

Shapes: N nodes, n virtual nodes, d_e width of a pair, T edge types, ν farthest distance asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from gtcourse.exercises.checker import Mistake, compare, random

# An edge of type 0 from 0 to 1 and back, one of type 1 from 1 to 2 alone, and a node alone.
BONDED = torch.tensor([[0, 1, 0, 0], [1, 0, 1, 0], [0] * 4, [0] * 4], dtype=torch.bool)
BOND = torch.tensor([[0, 0, 0, 0], [0, 0, 1, 0], [0] * 4, [0] * 4])


@compare(
    "structure with self-loops, features without, and the masking vector elsewhere.",
    cases=[
        (BONDED, BOND, *random((2, 5), (3, 5), (5,))),
        (BONDED[:3, :3], 2 * BOND[:3, :3], *random((2, 6), (4, 6), (6,), seed=2)),
    ],
    mistakes={
        "a node with itself has theta_0; the structure has self-loops, so use theta_1.": {
            "loops": 0
        },
        "where there is no edge you took the embedding of type 0, not the masking vector.": (
            lambda A, bond, theta, x, mu: theta[(A | torch.eye(4).bool()).long()] + x[bond]
        ),
        "where there is no edge nothing was added; add the masking vector.": (
            lambda A, bond, theta, x, mu: check_first_pairs.reference(A, bond, theta, x, 0 * mu)
        ),
        "edges of type 0 were treated as no edge; A says where edges are.": {
            "joined": lambda A, bond: bond > 0
        },
        "rows and columns are swapped: [i, j] is the edge from i to j.": (
            lambda A, bond, *vectors: check_first_pairs.reference(A.T, bond.T, *vectors)
        ),
    },
)
def check_first_pairs(A, bond, theta, x, mu, loops=1, joined=lambda A, bond: A):
    """``first_pairs(A, bond, theta, x, mu)`` to ``[N, N, d_e]``."""
    structure = theta[torch.maximum(A.long(), loops * torch.eye(len(A)).long())]
    return structure + torch.where(joined(A, bond)[..., None], x[bond], mu)


def _real_rows(a: object, dots: Tensor, real: Tensor) -> object:
    """The rows of a padded query may hold anything."""
    fits = isinstance(a, Tensor) and a.shape == dots.shape
    return torch.where(real[:, None], a, 0.0) if fits else a


@compare(
    "only the dot product is clipped, and the gate comes after the softmax.",
    cases=[
        (
            torch.tensor([[9.0, 0, -8, 2], [1, -7, 0, 3], [0, 1, 2, 9], [4, 0, 6, 1]]),
            torch.tensor([[0.5, 7, 1, 2], [0, 3, -1, 0], [2, 0, 6, -2], [1, 1, 0, 4]]),
            torch.tensor([[1.0, -1, 0, 2], [0, 2, -2, 1], [-1, 0.5, 3, 0], [1, 0, -3, 2]]),
            torch.tensor([True, True, True, False]),
        ),
        (*(4 * x for x in random((6, 6), (6, 6), (6, 6))), torch.arange(6) < 4),
    ],
    run=lambda attend, d, b, g, real: _real_rows(attend(d, b, g, real), d, real),
    mistakes={
        "nodes attend to padding; mask its columns in the softmax.": {"fill": 0},
        "nothing is clipped; clip the dot product to [-5, 5].": {"low": -99, "high": 99},
        "the dot product is clipped above but not below.": {"low": -99},
        "the bias was clipped too; only the dot product is, before the bias is added.": (
            lambda d, b, g, real: check_gated_attention.reference((d + b).clamp(-5, 5), 0, g, real)
        ),
        "the softmax runs over the queries; it should run over the keys, the last axis.": {
            "dim": 0
        },
        "the dot product is clipped below but not above.": {"high": 99},
        "the weights were normalized after the gate; they may sum to less than one.": (
            lambda d, b, g, real: F.normalize(
                check_gated_attention.reference(d, b, g, real), p=1, dim=1
            )
        ),
        "the gate is missing (EGT-U).": {"gate": torch.ones_like},
        "the weights are multiplied by g; the gate is its sigmoid.": {"gate": lambda g: g},
        "the gate was added to the logits; it is a factor after the softmax.": (
            lambda d, b, g, real: check_gated_attention.reference(
                d, b + g, g, real, torch.ones_like
            )
        ),
    },
)
def check_gated_attention(
    dots, b, g, real, gate=torch.sigmoid, low=-5, high=5, fill=-math.inf, dim=1
):
    """``gated_attention(dots, b, g, real)``: ``[N, N]`` three times and ``[N]`` to ``[N, N]``."""
    logits = dots.clamp(low, high) + b + torch.where(real, 0.0, fill)
    return _real_rows(logits.softmax(dim) * gate(g), dots, real)


@compare(
    "one vector for all pairs of a virtual node, and the mean for pairs of two.",
    cases=[random((2, 2, 5), (3, 5)), random((4, 4, 3), (2, 3), seed=2)],
    mistakes={
        "the virtual nodes are last; they should be the first tokens.": lambda e, virtual: (
            check_with_virtual_pairs.reference(e, virtual).roll((-3, -3), dims=(0, 1))
        ),
        "between two virtual nodes you have the sum; take half of it.": {"between": torch.add},
        "between two virtual nodes there is 0; it should be the mean of their vectors.": {
            "between": lambda x, y: 0 * (x + y)
        },
        "the columns are missing: the pairs of nodes with virtual nodes.": {"column": 0.0},
        "the rows are missing: the pairs of virtual nodes with nodes.": {"row": 0.0},
    },
)
def check_with_virtual_pairs(e, virtual, between=lambda x, y: (x + y) / 2, row=1.0, column=1.0):
    """``with_virtual_pairs(e, virtual)``: ``[N, N, d_e]``, ``[n, d_e]`` to ``[n + N]`` twice."""
    n = len(virtual)
    wider = F.pad(e, (0, 0, n, 0, n, 0))
    wider[:n, :n] = between(virtual[:, None], virtual)
    wider[:n, n:], wider[n:, :n] = row * virtual[:, None], column * virtual
    return wider


# A path of four nodes and a fifth alone; distance 3 is beyond ν = 2.
FAR = torch.tensor(
    [[0, 1, 2, 3, -1], [1, 0, 1, 2, -1], [2, 1, 0, 1, -1], [3, 2, 1, 0, -1], [-1] * 4 + [0]]
)


@compare(
    "every pair within distance nu counts once, a node with itself included.",
    cases=[(*random((5, 5, 3)), FAR, 2), (*random((4, 4, 2), seed=2), FAR[1:, 1:].triu(), 1)],
    atol=1e-3,
    mistakes={
        "this is the mean over pairs; the authors use the sum.": {"reduction": "mean"},
        "pairs without a path were counted.": {"classes": lambda d: torch.where(d < 0, 2, d)},
        "pairs farther apart than nu were counted as nu.": {"classes": lambda d: d.clamp(max=2)},
        "the pairs of a node with itself were left out; distance 0 is a class too.": {
            "classes": lambda d: torch.where(d == 0, -1, d)
        },
    },
)
def check_distance_objective(logits, distance, nu, classes=lambda d: d, reduction="sum"):
    """``distance_objective(logits, distance, nu)``: ``[N, N, ν + 1]``, ``[N, N]`` to a number."""
    c = classes(distance).flatten()
    within = (c >= 0) & (c <= nu)
    return float(F.cross_entropy(logits.flatten(0, 1)[within], c[within], reduction=reduction))


def _weights(counting_head: Callable, A: Tensor) -> Tensor:
    answer = counting_head(A)
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        raise Mistake("expected two things, b and g.")
    b, g = (torch.as_tensor(part).detach().float() for part in answer)
    if b.shape != A.shape or g.shape != A.shape or not (b + g).isfinite().all():
        raise Mistake(f"expected b and g of shape {list(A.shape)} with finite entries.")
    return b.softmax(dim=1) * g.sigmoid()


def _head(g: Callable, b: Callable = torch.zeros_like) -> Callable:
    return lambda A: (b(A.float()), g(A.float()))


# A star with a tail, and a node alone; without the tail's end and that node, N is another.
STAR = torch.zeros(6, 6, dtype=torch.bool)
STAR[[0, 0, 0, 3], [1, 2, 3, 4]] = STAR[[1, 2, 3, 4], [0, 0, 0, 3]] = True


@compare(
    "attention is uniform, the gates pick the neighbours, and the sum counts them.",
    cases=[(STAR,), (STAR[:4, :4],)],
    run=_weights,
    mistakes={
        "this is the mean over the neighbours: the softmax picks them and loses their number. "
        "Leave b at 0 and let the gates pick.": _head(lambda A: 40 * A - 20, lambda A: 30 * A - 15),
        "a node also counts itself; close its own gate.": _head(
            lambda A: 40 * (A + torch.eye(len(A))) - 20
        ),
        "the gates are inverted: they are open where there is no edge.": _head(
            lambda A: 20 - 40 * A
        ),
        "g is 0 and 1 before the sigmoid, so the gates are neither closed nor open.": _head(
            lambda A: A
        ),
        "all gates are half open: g is zero.": _head(torch.zeros_like),
    },
)
def check_counting_head(A):
    """``counting_head(A)``: ``[N, N]`` bool to b and g, each ``[N, N]``."""
    return A.float() / len(A)  # the weights after the gate
