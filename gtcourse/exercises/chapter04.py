"""Checks of chapter 04: where a node is.

Shapes: N nodes, E edges, k eigenvectors, r singular values, m anchor sets.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from gtcourse.exercises.checker import compare


def _adjacency(edges: list[tuple[int, int]], n: int) -> Tensor:
    A = torch.zeros(n, n, dtype=torch.bool)
    A[tuple(torch.tensor(edges).T)] = True
    return A


ARROWS = _adjacency([(0, 1), (0, 2), (1, 2), (2, 0), (2, 3)], 4)
"""Directed; from node 3 no edge leaves."""

TREE = _adjacency([(0, 1), (1, 2), (2, 3), (1, 4), (4, 5), (5, 6)], 7)
"""Directed; made symmetric, no eigenvalue of D - A comes twice, nor one of A + I."""


@compare(
    "each row sums to one, and a dead end has a row of zeros.",
    cases=[(ARROWS,), (TREE | torch.eye(7, dtype=torch.bool).roll(3, 0),)],
    mistakes={
        "a node without outgoing edges has NaN, 0/0; it must have a row of zeros.": {"least": 0},
        "these are the edges themselves; divide each row by its sum.": lambda A: A.float(),
        "a dead end has a uniform row; it must have a row of zeros.": lambda A: (
            A / A.sum(1, keepdim=True)
        ).nan_to_num(1 / len(A)),
        "this is a softmax; divide each row by its sum instead.": lambda A: (
            A.float().softmax(1) * A.any(1, keepdim=True)
        ),
        "the columns sum to one: divide each row by its own sum.": {"axis": 0},
        "column j is divided by the sum of row j; keepdim=True keeps the sums in a column.": (
            lambda A: A / A.sum(1).clamp(min=1)
        ),
        "rows and columns are swapped: row i is the step from i.": lambda A: (
            check_walk_matrix.reference(A).T
        ),
        "self-loops were added; a walk always leaves its node.": lambda A: (
            check_walk_matrix.reference(A | torch.eye(4, dtype=torch.bool))
        ),
    },
)
def check_walk_matrix(A, axis=1, least=1):
    """``walk_matrix(A)``: ``[N, N]`` bool to the chances ``[N, N]``."""
    return A.float() / A.sum(dim=axis, keepdim=True).clamp(min=least)


@compare(
    "squared differences, each edge once, divided by the squared length.",
    cases=[
        (torch.tensor([3.0, 1, -1, 0, 2, 2, -2]), (TREE | TREE.T).nonzero().T),
        (torch.tensor([0.5, -1.5, 2.25, 4]), torch.tensor([(0, 1), (1, 0), (3, 1), (1, 3)]).T),
    ],
    mistakes={
        "every edge counts twice: edge_index holds both of its directions.": {"count": 1},
        "divide by the sum of the squares of u.": {"over": lambda u: 1},
        "you divide by the length of u; divide by its square.": {"over": torch.norm},
        "these are the differences themselves; square them.": {"power": 1},
    },
)
def check_rayleigh_quotient(u, edge_index, count=0.5, power=2, over=lambda u: (u**2).sum()):
    """``rayleigh_quotient(u, edge_index)``: ``[N]`` and ``[2, E]`` to a number."""
    i, j = edge_index
    return float(count * ((u[i] - u[j]).abs() ** power).sum() / over(u))


ONE_WAY = torch.tensor(  # the directed path 0 -> 1 -> 2 -> 3, and node 4 alone
    [[0, 1, 2, 3, -1], [-1, 0, 1, 2, -1], [-1, -1, 0, 1, -1], [-1, -1, -1, 0, -1], [-1] * 4 + [0]]
)
MEMBERS = torch.tensor([[0, 0, 1, 0, 0], [0, 1, 0, 1, 0], [1, 0, 0, 0, 1]], dtype=torch.bool)


@compare(
    "the nearest member counts, and unreachable ones do not.",
    cases=[
        (ONE_WAY, MEMBERS),
        (ONE_WAY[:4, :4].mT, torch.tensor([[0, 1, 1, 0], [1, 0, 0, 0]], dtype=torch.bool)),
    ],
    mistakes={
        "-1 was taken as the minimum; ignore members that cannot be reached.": (
            lambda d, s: torch.stack([d[:, chosen].amin(1) for chosen in s], 1)
        ),
        "these are the distances from the anchors to the node.": lambda d, s: (
            check_anchor_distances.reference(d.T, s)
        ),
        "this is the farthest reachable member; take the nearest.": {"nearest": max},
        "an unreachable set has a large number; it must have -1.": {"never": 5},
    },
)
def check_anchor_distances(distance, members, nearest=min, never=-1):
    """``anchor_distances(distance, members)``: ``[N, N]`` and ``[m, N]`` bool to ``[N, m]``."""
    steps = [[row[chosen & (row >= 0)].tolist() for chosen in members] for row in distance]
    return torch.tensor([[nearest(reached, default=never) for reached in row] for row in steps])


def _squares(columns: Tensor) -> Tensor:
    """``[N, k]`` to ``[k, N, N]``: each column's outer product with itself, free of its sign."""
    return torch.einsum("im,jm->mij", columns.double(), columns.double())


def _laplacian(A: Tensor) -> Tensor:
    return A.sum(dim=1).diag() - A.double()


@compare(
    "the smallest eigenvalues first, and small graphs padded at the end.",
    cases=[(TREE | TREE.T, 4), (_adjacency([(0, 1), (1, 0), (1, 2), (2, 1)], 3), 5)],
    view=_squares,
    mistakes={
        "the constant vector is missing: keep the first.": {"first": 1},
        "these belong to the largest eigenvalues; take the smallest k.": {"largest": True},
        "these are rows of the matrix of eigenvectors; eigh puts a vector in each column.": (
            lambda A, k: torch.linalg.eigh(_laplacian(A)).eigenvectors.T[:, :k]
        ),
        "these are eigenvectors of A; take them of D - A.": {"matrix": lambda A: A.double()},
        "right for large graphs; one of 3 nodes with k = 5 needs 2 columns of zeros at the end.": (
            lambda A, k: torch.linalg.eigh(_laplacian(A)).eigenvectors[:, :k]
        ),
        "right for large graphs; the columns of zeros belong at the end.": {"before": True},
    },
)
def check_laplacian_rows(A, k, matrix=_laplacian, first=0, largest=False, before=False):
    """``laplacian_rows(A, k)``: ``[N, N]`` bool to ``[N, k]``, each column with either sign."""
    vectors = torch.linalg.eigh(matrix(A)).eigenvectors
    vectors = vectors[:, -k:] if largest else vectors[:, first : first + k]
    missing = max(0, k - len(A))
    return F.pad(vectors, (missing, 0) if before else (0, missing))


def _couples(halves: Tensor) -> Tensor:
    """``[N, 2r]`` to ``[r, 2N, 2N]``: free of the sign that u_m and v_m share."""
    return _squares(torch.cat(halves.double().chunk(2, dim=1), dim=0))


@compare(
    "the dot product of i's first half and j's second half gives back the edge.",
    cases=[(TREE, 3), (TREE[:5, :5] | torch.eye(5, dtype=torch.bool).roll(2, 0), 2)],
    view=_couples,
    mistakes={
        "the self-loops are missing: decompose A + I.": {"loops": 0},
        "the singular values are missing: multiply both halves by their roots.": {"power": 0},
        "both halves are multiplied by the singular values; use their roots.": {"power": 1},
        "the right half holds columns of V^T; the vectors are its rows.": {"turned": True},
        "these belong to the smallest singular values; take the largest r.": {"start": -3},
        "the signs of u_m and v_m must change together.": lambda A, r: (
            check_svd_rows.reference(A, r) * torch.tensor([-1] * r + [1] * r)
        ),
    },
)
def check_svd_rows(A, r, loops=1, power=0.5, turned=False, start=0):
    """``svd_rows(A, r)``: ``[N, N]`` bool to ``[N, 2r]``, the pairs with either sign."""
    U, S, Vt = torch.linalg.svd(A.double() + loops * torch.eye(len(A)))
    halves = (U * S**power, (Vt if turned else Vt.T) * S**power)
    return torch.cat([half[:, start : start + r or None] for half in halves], dim=1)
