"""Encodings of nodes by eigenvectors of the Laplacian, and by singular vectors (EGT, Eqs. 8 and 9).

Shapes:
    B: graphs of n nodes each
    k: eigenvectors
    r: singular values
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from gtcourse.encodings.transform import Pairs, WeightedEncoding
from gtcourse.graphs.arguments import check_choice

Normalization = Literal["combinatorial", "symmetric", "random_walk"]
NORMALIZATIONS = ("combinatorial", "symmetric", "random_walk")


@dataclass(eq=False, repr=False)
class AddLaplacianEigenvectors(WeightedEncoding):
    """Sets ``laplacian_eigenvectors`` ``[n, k]`` and ``laplacian_eigenvalues`` ``[k]``.

    They belong to the k smallest eigenvalues, in ascending order, of the Laplacian of the graph
    without directions and loops (CS224W, S10). A column has length 1. By convention its entry of
    largest magnitude (the first of equals) is positive; the other sign would be as correct, and so
    would any basis for a repeated eigenvalue. A graph with fewer eigenvectors gets columns of zeros
    at the end, with eigenvalue 0.

    Args:
        k: Eigenvectors.
        normalization: Which Laplacian, as in :func:`laplacian`.
        skip_first: Whether the first eigenvector is left out. In a connected graph it depends on
            the degrees alone, or on nothing.
        weight: The name of an edge attribute of numbers that are not negative. A then holds these
            weights and D their sums; where the two directions of an edge have different weights,
            the larger one counts. By default all weights are 1.
    """

    k: int
    normalization: Normalization = "combinatorial"
    skip_first: bool = False
    weight: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_normalization(self.normalization)

    def compute(self, pairs: Pairs) -> dict[str, Tensor]:
        values, vectors = laplacian_eigenvectors(self.matrix(pairs), self.normalization)
        first = int(self.skip_first)
        return {
            "laplacian_eigenvectors": _columns(vectors[..., first:], self.k),
            "laplacian_eigenvalues": _columns(values[..., first:], self.k),
        }


@dataclass(eq=False, repr=False)
class AddSVD(WeightedEncoding):
    r"""Sets ``svd`` ``[n, 2r]``: :math:`\hat U \Vert \hat V`, also for directed graphs.

    For the r largest singular values, in descending order, :math:`A + I \approx \hat U \hat V^T`
    with :math:`\hat U = U\sqrt{\Sigma}` and :math:`\hat V = V\sqrt{\Sigma}` (EGT, Eqs. 8 and 9).
    The entry of largest magnitude of each :math:`u_k` (the first of equals) is positive, and
    :math:`v_k` has the sign that belongs to it. A graph with fewer than r nodes gets zeros at the
    end of both halves.

    Args:
        rank: Singular values, r.
        self_loops: Whether I is added to A.
        weight: The name of an edge attribute of any finite numbers. A then holds these weights, as
            the paper allows any matrix of the graph's structure (Section 3.2). The diagonal is 1
            with ``self_loops``; without them it has the weights of loops. By default all weights
            are 1.
    """

    negative_weights = True
    rank: int
    self_loops: bool = True
    weight: str | None = None

    def compute(self, pairs: Pairs) -> dict[str, Tensor]:
        A = self.matrix(pairs)
        if self.self_loops:
            A = A.masked_fill(torch.eye(A.shape[-1]).bool(), 1)
        with _one_thread():
            U, S, Vh = _each(torch.linalg.svd, A)
        scale = S.sqrt()[..., None, :] * largest_entry_sign(U)
        halves = [_columns(vectors * scale, self.rank) for vectors in (U, Vh.mT)]
        return {"svd": torch.cat(halves, dim=-1)}


def laplacian(adjacency: Tensor, normalization: Normalization = "combinatorial") -> Tensor:
    """L of the graph without directions and loops (CS224W, S10), ``[B, n, n]`` in float64.

    ``adjacency`` ``[B, n, n]``, or ``[n, n]`` of one graph, is bool, or holds the weights of the
    edges, which are finite and not negative.

    "combinatorial" is D - A, "symmetric" I - D^(-1/2) A D^(-1/2), "random_walk" I - D^(-1) A; the
    last two have a 1 where a node has no edge, as PyG's have.
    """
    check_normalization(normalization)
    _check_adjacency(adjacency)
    A = undirected_weights(adjacency)
    degree = A.sum(dim=-1)
    if normalization == "combinatorial":
        return degree.diag_embed() - A
    scale = degree.where(degree > 0, 1) ** (-0.5 if normalization == "symmetric" else -1)
    walk = scale[..., :, None] * A
    if normalization == "symmetric":
        walk = walk * scale[..., None, :]
    return torch.eye(A.shape[-1]).double() - walk


def laplacian_eigenvectors(
    adjacency: Tensor, normalization: Normalization = "combinatorial"
) -> tuple[Tensor, Tensor]:
    """All eigenvalues ``[B, n]``, ascending, and eigenvectors ``[B, n, n]`` (columns), float64."""
    check_normalization(normalization)
    _check_adjacency(adjacency)
    if adjacency.dim() != 3:
        raise ValueError(
            f"adjacency is {list(adjacency.shape)}; expected [B, n, n], such as adjacency[None] of "
            "one graph."
        )
    if normalization == "random_walk":
        # D^(-1) A is similar to the symmetric form: its eigenvectors are those times D^(-1/2).
        values, vectors = laplacian_eigenvectors(adjacency, "symmetric")
        degree = undirected_weights(adjacency).sum(dim=-1)
        degree = degree.where(degree > 0, 1)
        vectors = F.normalize(vectors * degree[..., None] ** -0.5, dim=-2)
    else:
        with _one_thread():
            values, vectors = _each(torch.linalg.eigh, laplacian(adjacency, normalization))
    return values.clamp(min=0), vectors * largest_entry_sign(vectors)


def check_normalization(normalization: str) -> None:
    """Raises a ValueError if there is no such Laplacian."""
    check_choice("normalization", normalization, NORMALIZATIONS)


def _check_adjacency(adjacency: Tensor) -> None:
    """Raises a ValueError unless this is a square matrix of weights, or a stack of them."""
    if not isinstance(adjacency, Tensor):
        raise ValueError(f"adjacency is of type {type(adjacency).__name__}; expected a tensor.")
    if adjacency.dim() < 2 or adjacency.shape[-1] != adjacency.shape[-2]:
        raise ValueError(f"adjacency is {list(adjacency.shape)}; expected [B, n, n].")
    if adjacency.is_complex():
        raise ValueError(f"adjacency is {adjacency.dtype}; expected real weights, or bool.")
    allowed = adjacency.isfinite() & (adjacency >= 0)
    if not allowed.all():
        wrong = float(adjacency[~allowed][0])
        raise ValueError(f"adjacency has the weight {wrong:g}; expected finite weights, 0 or more.")


def largest_entry_sign(vectors: Tensor) -> Tensor:
    """The sign of each column's entry of largest magnitude, the first of equals: ``[B, 1, k]``."""
    size = vectors.abs()
    largest = size >= size.amax(dim=-2, keepdim=True) - 1e-8  # equal, but for rounding
    return vectors.gather(-2, largest.byte().argmax(dim=-2, keepdim=True)).sign()


def undirected(adjacency: Tensor) -> Tensor:
    """Edges in both directions, without loops."""
    return (adjacency | adjacency.mT) & ~torch.eye(adjacency.shape[-1]).bool()


def undirected_weights(weights: Tensor) -> Tensor:
    """The larger weight of both directions, without loops: float64."""
    weights = weights.double()
    return torch.maximum(weights, weights.mT).masked_fill(torch.eye(weights.shape[-1]).bool(), 0)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Runs LAPACK on one thread: above a hundred nodes its last bits depend on their number."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _each(decomposition: Callable[[Tensor], Iterable[Tensor]], matrices: Tensor) -> list[Tensor]:
    """The decompositions of the matrices ``[B, n, n]``, stacked; each has a call of its own.

    In one call for all of them, the last bits of a result depend on where in memory its matrix
    lies, and with them the vectors of repeated values. The same graph twice in a stack would then
    get two encodings.
    """
    parts = zip(*(decomposition(matrix) for matrix in matrices), strict=True)
    return [torch.stack(part) for part in parts]


def _columns(values: Tensor, width: int) -> Tensor:
    """The first ``width`` columns, filled up with zeros, in torch's default dtype."""
    values = values[..., :width]
    return F.pad(values, (0, width - values.shape[-1])).to(torch.get_default_dtype())
