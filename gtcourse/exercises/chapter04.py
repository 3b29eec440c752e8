"""Checks of chapter 04: where a node is.

Shapes: N nodes, E edges, k eigenvectors, r singular values, m anchor sets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from gtcourse.exercises.verdict import Mistake, checker, expect

ARROWS = ((0, 1), (0, 2), (1, 2), (2, 0), (2, 3))
"""Directed; from node 3 no edge leaves."""

TREE = ((0, 1), (1, 2), (2, 3), (1, 4), (4, 5), (5, 6))
"""Undirected; no eigenvalue of D - A or of A + I comes twice."""


@checker("each row is a chance for each node, and a dead end is a row of zeros.")
def check_walk_matrix(walk_matrix: Callable[[Tensor], Tensor]) -> None:
    """``walk_matrix(A)``: ``[N, N]`` bool to the chances ``[N, N]``."""
    A = _adjacency(ARROWS, 4)
    right = torch.tensor([[0, 1 / 2, 1 / 2, 0], [0, 0, 1, 0], [1 / 2, 0, 0, 1 / 2], [0, 0, 0, 0]])
    got = walk_matrix(A.clone())
    edges = A.float()
    leaving, arriving = edges.sum(dim=1), edges.sum(dim=0)
    wrong_axis = (
        "the sums run along the wrong axis: column j is divided by the sum of row j. Divide each "
        "row by its own sum; keepdim=True keeps the sums in a column."
    )
    if isinstance(got, Tensor) and got.isnan().any():
        known = (edges / leaving).nan_to_num()
        if got.shape == known.shape and torch.allclose(got.nan_to_num().to(known), known):
            raise Mistake(wrong_axis)
        raise Mistake(
            "the row of a node without an edge out is 0/0, NaN; it has to be a row of zeros."
        )
    staying = right.clone()
    staying[3, 3] = 1
    expect(
        got,
        right,
        {
            "these are the edges themselves; divide each row by its number of edges.": edges,
            "the columns sum to one: divide each row by its own sum, not by the column's.": (
                edges / arriving
            ),
            wrong_axis: edges / leaving.clamp(min=1),
            "rows and columns are exchanged: row i holds the steps from i.": right.T,
            "this is the symmetric form, divided by the roots of both degrees; divide by the "
            "degree of the node that the step leaves.": (
                edges / (leaving.clamp(min=1)[:, None] * arriving).sqrt()
            ),
            "the edges were made to go both ways; this graph is directed.": (
                (A | A.T).float() / (A | A.T).sum(dim=1, keepdim=True)
            ),
            "a walk at a dead end stays there in your matrix; its row has to be zeros.": staying,
            "self-loops were added; a walk has to leave its node.": (
                (edges + torch.eye(4)) / (leaving + 1)[:, None]
            ),
        },
    )


@checker("squared differences along edges, each edge once, over the squared length of the vector.")
def check_rayleigh_quotient(quotient: Callable[[Tensor, Tensor], Tensor]) -> None:
    """``rayleigh_quotient(u, edge_index)``: ``[N]`` and ``[2, E]`` to a number."""
    edge_index = _both_ways(TREE)
    u = torch.tensor([3.0, 1.0, -1.0, 0.0, 2.0, 2.0, -2.0])
    # Differences along the edges: 2, 2, -1, -1, 0, 4; their squares sum to 26, those of u to 23.
    right = torch.tensor(26 / 23)
    got = quotient(u, edge_index)
    got = torch.tensor(float(got)) if isinstance(got, int | float) else got
    expect(
        got.reshape(()).float() if isinstance(got, Tensor) and got.numel() == 1 else got,
        right,
        {
            "every edge counts twice: edge_index holds both of its directions.": 2 * right,
            "divide by the sum of the squares of u.": torch.tensor(26.0),
            "divide by the sum of the squares of u, and count every edge once.": torch.tensor(52.0),
            "you divide by the length of u; the Rayleigh quotient has its square.": (
                torch.tensor(26 / 23**0.5)
            ),
            "you divide by the length of u; the quotient has its square; and every edge counts "
            "twice.": torch.tensor(52 / 23**0.5),
            "these are the differences themselves; square them.": torch.tensor(10 / 23),
            "this is a mean over the edges; it has to be the sum.": torch.tensor(26 / 6 / 23),
            "you divide by the mean of the squares of u; divide by their sum.": (
                torch.tensor(26 / (23 / 7))
            ),
        },
    )


@checker("the nearest member counts, and an unreachable one is not near.")
def check_anchor_distances(anchor_distances: Callable[[Tensor, Tensor], Tensor]) -> None:
    """``anchor_distances(distance, members)``: ``[N, N]`` and ``[m, N]`` bool to ``[N, m]``."""
    # The directed path 0 -> 1 -> 2 -> 3, and node 4 alone.
    distance = torch.tensor(
        [
            [0, 1, 2, 3, -1],
            [-1, 0, 1, 2, -1],
            [-1, -1, 0, 1, -1],
            [-1, -1, -1, 0, -1],
            [-1, -1, -1, -1, 0],
        ]
    )
    members = torch.tensor([[0, 0, 1, 0, 0], [0, 1, 0, 1, 0], [1, 0, 0, 0, 1]]).bool()
    right = torch.tensor([[2, 1, 0], [1, 0, -1], [0, 1, -1], [-1, 0, -1], [-1, -1, 0]])
    backwards = torch.tensor([[-1, -1, 0], [-1, 0, 1], [0, 1, 2], [1, 0, 3], [-1, -1, 0]])
    farthest = torch.tensor([[2, 3, 0], [1, 2, -1], [0, 1, -1], [-1, 0, -1], [-1, -1, 0]])
    naive = torch.stack([distance[:, chosen].amin(dim=1) for chosen in members], dim=1)
    large = right.masked_fill(right < 0, 5)
    got = anchor_distances(distance.clone(), members.clone())
    expect(
        _numbers(got),
        right.float(),
        {
            "-1 wins as the smallest number; a member that cannot be reached must not count.": (
                naive.float()
            ),
            "these are the distances from the anchors to the node; row i of distance starts at "
            "i.": backwards.float(),
            "this is the farthest member that can be reached; the nearest counts.": (
                farthest.float()
            ),
            "where no member can be reached stands a large number; it has to be -1.": large.float(),
            "the shape is turned: one row for each node, one column for each set.": right.T.float(),
        },
    )


@checker("slow waves first, and small graphs padded at the end.")
def check_laplacian_rows(laplacian_rows: Callable[[Tensor, int], Tensor]) -> None:
    """``laplacian_rows(A, k)``: ``[N, N]`` bool to ``[N, k]``, each column with either sign."""
    A = _adjacency(TREE, 7) | _adjacency(TREE, 7).T
    vectors = _eigenvectors(A)
    degree = A.double().sum(dim=1)
    symmetric = torch.eye(7) - A / (degree[:, None] * degree).sqrt()
    got = laplacian_rows(A.clone(), 4)
    _expect_columns(
        got,
        vectors[:, :4],
        {
            "the constant vector is missing: keep the first.": vectors[:, 1:5],
            "these are the largest eigenvalues; the smallest k are wanted.": vectors[:, -4:],
            "these are the largest eigenvalues, in falling order; the smallest k are wanted.": (
                vectors.flip(1)[:, :4]
            ),
            "these are rows of the matrix of eigenvectors; eigh puts a vector in each column.": (
                vectors.T[:, :4]
            ),
            "these are eigenvectors of A; take them of D - A.": (
                torch.linalg.eigh(A.double()).eigenvectors[:, :4]
            ),
            "these are eigenvectors of the symmetric Laplacian; D - A is wanted.": (
                torch.linalg.eigh(symmetric).eigenvectors[:, :4]
            ),
        },
    )
    small = _adjacency(((0, 1), (1, 2)), 3)
    small = small | small.T
    vectors = _eigenvectors(small)
    got = laplacian_rows(small, 5)
    if isinstance(got, Tensor) and got.shape == (3, 3):
        raise Mistake(
            "right for large graphs; one of 3 nodes with k = 5 needs 2 columns of zeros at the end."
        )
    _expect_columns(
        got,
        F.pad(vectors, (0, 2)),
        {
            "right for large graphs; the columns of zeros belong at the end.": F.pad(
                vectors, (2, 0)
            ),
        },
    )


@checker("the dot product of i's first half and j's second half gives back the edge.")
def check_svd_rows(svd_rows: Callable[[Tensor, int], Tensor]) -> None:
    """``svd_rows(A, r)``: ``[N, N]`` bool to ``[N, 2r]``, the pairs with either sign."""
    A = _adjacency(TREE, 7)
    loops = A.double() + torch.eye(7)
    U, S, Vt = torch.linalg.svd(loops)
    right = _halves(U, S.sqrt(), Vt.T, slice(3))
    bare = torch.linalg.svd(A.double())
    both = torch.linalg.svd((A | A.T).double() + torch.eye(7))
    ones = torch.ones(7).double()
    got = svd_rows(A.clone(), 3)
    if isinstance(got, Tensor) and got.shape == (7, 3):
        raise Mistake(
            "the shape is [N, r]; put the rows of U and of V side by side, 2r columns in all."
        )
    _expect_pairs(
        got,
        right,
        {
            "the loops are missing: decompose A + I.": _halves(
                bare.U, bare.S.sqrt(), bare.Vh.T, slice(3)
            ),
            "the edges were made to go both ways; this graph is directed.": _halves(
                both.U, both.S.sqrt(), both.Vh.T, slice(3)
            ),
            "the singular values are missing: multiply both halves by their roots.": _halves(
                U, ones, Vt.T, slice(3)
            ),
            "both halves are multiplied by the singular values; each gets the root.": _halves(
                U, S, Vt.T, slice(3)
            ),
            "the right half holds columns of V^T; the vectors are its rows.": _halves(
                U, S.sqrt(), Vt, slice(3)
            ),
            "the halves are exchanged: U comes first.": right.roll(3, dims=1),
            "both halves are U; the second is V.": _halves(U, S.sqrt(), U, slice(3)),
            "these are the smallest singular values; the largest r are wanted.": _halves(
                U, S.sqrt(), Vt.T, slice(4, 7)
            ),
        },
    )


def _expect_columns(got: object, right: Tensor, mistakes: dict[str, Tensor]) -> None:
    """As :func:`expect`, but each column may have the other sign: u u^T is compared."""
    if not isinstance(got, Tensor) or got.shape != right.shape:
        expect(got, right, mistakes)
    expect(_squares(got), _squares(right), {say: _squares(m) for say, m in mistakes.items()})


def _expect_pairs(got: object, right: Tensor, mistakes: dict[str, Tensor]) -> None:
    """As :func:`expect`, but columns m and m + r may have the other sign together."""
    if not isinstance(got, Tensor) or got.shape != right.shape:
        expect(got, right, mistakes)
    apart = "each half is right; the signs of u_m and v_m belong together and were changed apart."
    if torch.allclose(_squares(got), _squares(right), atol=1e-4) and not torch.allclose(
        _couples(got), _couples(right), atol=1e-4
    ):
        raise Mistake(apart)
    expect(_couples(got), _couples(right), {say: _couples(m) for say, m in mistakes.items()})


def _squares(columns: Tensor) -> Tensor:
    """``[N, k]`` to ``[k, N, N]``: the outer product of each column with itself."""
    columns = columns.double()
    return torch.einsum("im,jm->mij", columns, columns)


def _couples(halves: Tensor) -> Tensor:
    """``[N, 2r]`` to ``[r, 2N, 2N]``: the same for u_m and v_m stacked on each other."""
    return _squares(torch.cat(halves.double().chunk(2, dim=1), dim=0))


def _halves(left: Tensor, scale: Tensor, right: Tensor, kept: slice) -> Tensor:
    return torch.cat([(left * scale)[:, kept], (right * scale)[:, kept]], dim=1)


def _eigenvectors(A: Tensor) -> Tensor:
    A = A.double()
    return torch.linalg.eigh(A.sum(dim=1).diag() - A).eigenvectors


def _adjacency(edges: Sequence[tuple[int, int]], n: int) -> Tensor:
    A = torch.zeros(n, n, dtype=torch.bool)
    A[tuple(torch.tensor(edges).T)] = True
    return A


def _both_ways(edges: Sequence[tuple[int, int]]) -> Tensor:
    index = torch.tensor(edges).T
    return torch.cat([index, index.flip(0)], dim=1)


def _numbers(answer: object) -> object:
    return answer.float() if isinstance(answer, Tensor) else answer
