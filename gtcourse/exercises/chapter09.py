"""Checks of chapter 09: what a pair is, heat, rings, filters, and their gradients.

Shapes: N nodes, d width, H heads, K = d / H channels of a head, T types of edges.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from gtcourse.exercises.checker import compare, random


def _small_graph() -> tuple[Tensor, Tensor]:
    """One way from 3 to 0, a loop at 2, nothing at 4."""
    A, bond = torch.zeros(5, 5, dtype=torch.bool), torch.zeros(5, 5, dtype=torch.int64)
    for (i, j), kind in {(0, 1): 2, (1, 0): 2, (1, 2): 0, (2, 1): 0, (2, 2): 1, (3, 0): 1}.items():
        A[i, j], bond[i, j] = True, kind
    return A, bond


@compare(
    "edges by type, then pairs without an edge, then a node with itself.",
    cases=[(*_small_graph(), 3), (*(x[:4, :4] for x in _small_graph()), 5)],
    mistakes={
        "a self-loop among the edges keeps its type; write the diagonal before the edges.": (
            lambda A, bond, T: check_pair_rows.reference(A, bond, T).fill_diagonal_(T + 1)
        ),
        "a node with itself has its own row, T + 1.": {"itself": 3},
        "the rows for no edge and for a node with itself are swapped.": {"no_edge": 4, "itself": 3},
        "edges of type 0 are missing: a 0 in bond is a type where adjacency is True.": (
            lambda A, bond, T: check_pair_rows.reference(A & (bond > 0), bond, T)
        ),
        "pairs without an edge have the row of type 0; use row T.": {"no_edge": 0},
    },
)
def check_pair_rows(adjacency, bond, T, no_edge=None, itself=None):
    """``pair_rows(adjacency, bond, T)``: ``[N, N]`` twice and a number to ``[N, N]``."""
    no_edge = T if no_edge is None else no_edge
    others = torch.full_like(bond, no_edge).fill_diagonal_(itself or T + 1)
    return torch.where(adjacency, bond, others)


# A path of three nodes, and two that are joined to each other alone.
PATH = torch.zeros(5, 5, dtype=torch.float64)
PATH[[0, 1, 3], [1, 2, 4]] = PATH[[1, 2, 4], [0, 1, 3]] = 1


def _laplacian(A: Tensor) -> Tensor:
    return torch.diag(A.sum(dim=1)) - A


def _with_large_negatives(table: Tensor) -> Tensor:
    """-inf, and the logarithm of a rounding error below 0, as a number that can be compared."""
    return table.double().nan_to_num(nan=-math.inf).clamp(min=-1e3)


@compare(
    "the bias is the logarithm of the kernel, and no heat flows between components.",
    cases=[(PATH, 0.4), (PATH[1:, 1:], 1.3)],
    gradients=False,  # the logarithm of 0 has none
    view=_with_large_negatives,
    mistakes={
        "this is the kernel itself; the bias is its logarithm.": lambda A, t: (
            check_heat_bias.reference(A, t).exp()
        ),
        "this is -t L: take the matrix's exponential, not each entry's.": lambda A, t: (
            -t * _laplacian(A)
        ),
        "the heat grows: the sign of t L is wrong.": {"sign": 1},
        "this is exp(t A); use the Laplacian D - A.": {"matrix": lambda A: -A},
        "t is missing.": lambda A, t: check_heat_bias.reference(A, 1.0),
    },
)
def check_heat_bias(A, t, matrix=_laplacian, sign=-1):
    """``heat_bias(A, t)``: ``[N, N]`` to ``[N, N]``."""
    return torch.matrix_exp(sign * t * matrix(A)).log()


def _followers(rings: list[list[int]], N: int) -> Tensor:
    bound = torch.zeros(N, N, dtype=torch.bool)
    for ring in rings:
        bound[ring, ring[1:] + ring[:1]] = bound[ring[1:] + ring[:1], ring] = True
    return bound


# Two rings that share the nodes 2 and 3, one apart, and a node in none.
RINGS = [[0, 1, 2, 3], [2, 3, 4, 5, 6], [7, 8, 9]]


@compare(
    "all nodes of a ring are bound to one another, and none to itself.",
    cases=[(RINGS, 11), ([[5, 1, 3, 0], [6, 2, 7]], 9)],
    mistakes={
        "a node is bound to itself; the diagonal should be False.": {"itself": True},
        "only consecutive nodes are bound; bind all nodes of a ring.": _followers,
        "each pair is bound in one direction only; the relation is symmetric.": lambda rings, N: (
            check_ring_bound.reference(rings, N).triu()
        ),
        "rings that share nodes were merged; the relation is not transitive.": (
            lambda rings, N: check_ring_bound.reference([[*range(7)], rings[2]], N)
        ),
        "an entry is larger than 1: pairs on two rings were counted twice.": lambda rings, N: sum(
            check_ring_bound.reference([ring], N).int() for ring in rings
        ),
    },
)
def check_ring_bound(rings, N, itself=False):
    """``ring_bound(rings, N)`` to ``[N, N]`` bool."""
    bound = torch.zeros(N, N, dtype=torch.bool)
    for ring in rings:
        bound[torch.tensor(ring)[:, None], torch.tensor(ring)] = True
    return bound if itself else bound.fill_diagonal_(False)


@compare(
    "each head's dot product serves its K channels, and each channel has its own softmax.",
    cases=[
        (*random((4, 6), (4, 6), (6, 4, 4)), 2),
        (*random((5, 12), (5, 12), (12, 5, 5), seed=2), 3),
    ],
    mistakes={
        "the softmax runs over the queries i; it should run over j, the last axis.": {"dim": 1},
        "the softmax runs over the channels; each channel has its own, over j.": {"dim": 0},
        "the dot product is not divided by sqrt(K).": {"scale": 1},
        "the dot product is divided by sqrt(d); a head's width is K = d / H.": {"scale": 6**-0.5},
        "the heads alternate; each serves K consecutive channels (repeat_interleave).": {
            "repeat": lambda dots, K: dots.repeat(K, 1, 1)
        },
        "the dot product is k_i · q_j; it should be q_i · k_j.": lambda q, k, E, H: (
            check_attention_filters.reference(k, q, E, H)
        ),
        "H and K are swapped: there are H heads of K = d / H channels.": lambda q, k, E, H: (
            check_attention_filters.reference(q, k, E, len(E) // H)
        ),
        "E is missing.": lambda q, k, E, H: check_attention_filters.reference(q, k, 0 * E, H),
        "all channels of a head use the first one's E: this is CSA-mono.": (
            lambda q, k, E, H: check_attention_filters.reference(
                q, k, E[::3].repeat_interleave(3, dim=0), H
            )
        ),
    },
)
def check_attention_filters(
    q, k, E, H, scale=None, dim=-1, repeat=lambda dots, K: dots.repeat_interleave(K, dim=0)
):
    """``attention_filters(q, k, E, H)``: ``[N, d]`` twice, ``[d, N, N]`` to ``[d, N, N]``."""
    K = len(E) // H
    q, k = (x.unflatten(1, (H, K)).transpose(0, 1) for x in (q, k))
    return (repeat(q @ k.mT * (scale or K**-0.5), K) + E).softmax(dim)


def _way_back(K: int, N: int) -> tuple[Tensor, ...]:
    s, m, g = random((K, N, N), (K, N, N), (K, N))
    ablated = torch.tensor([[(i + 2 * j) % 3 == 0 for j in range(N)] for i in range(N)])
    return s.softmax(dim=-1), m, 2.0 * ~ablated, g


@compare(
    "an ablated pair sends no message but still takes weight from the others.",
    cases=[_way_back(3, 4), _way_back(2, 5)],
    parts=["the gradient of E", "the gradient of s"],
    mistakes={
        "keep is missing: this is the gradient without ablation.": lambda a, m, keep, g: (
            check_backward.reference(a, m, torch.ones_like(keep), g)
        ),
        "an ablated pair has a gradient, since its weight is taken from the others: keep "
        "multiplies m, not z.": {"of_a": lambda m, keep, z: keep * (m - z)},
        "z lacks keep: the output excludes the messages of ablated pairs.": {
            "z": lambda a, m, keep: (a * m).sum(dim=-1, keepdim=True)
        },
        "m lacks keep: an ablated pair's message is 0.": {"of_a": lambda m, keep, z: m - z},
        "z is missing: the weight that j gains, the others lose.": {
            "of_a": lambda m, keep, z: keep * m
        },
        "this is a mean over channels; sum their gradients.": {"of_s": lambda E: E.mean(dim=0)},
        "the sum runs over the queries; it should run over the channels.": {
            "of_s": lambda E: E.sum(dim=1)
        },
    },
)
def check_backward(
    a, m, keep, g,
    z=lambda a, m, keep: (a * keep * m).sum(dim=-1, keepdim=True),
    of_a=lambda m, keep, z: keep * m - z,
    of_s=lambda E: E.sum(dim=0),
):  # fmt: skip
    """``backward(a, m, keep, g)`` to the gradients of E and s.

    Shapes:
        ``[K, N, N]`` twice, ``[N, N]``, ``[K, N]`` to ``[K, N, N]`` and ``[N, N]``
    """
    of_E = a * g[..., None] * of_a(m, keep, z(a, m, keep))
    return of_E, of_s(of_E)
