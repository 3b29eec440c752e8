"""Coordinates for nodes: eigenvectors of the Laplacian, singular vectors (EGT, Eqs. 8 and 9).

Shapes: B graphs of n nodes each, k eigenvectors, r singular values.
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

Normalization = Literal["combinatorial", "symmetric", "random_walk"]
NORMALIZATIONS = ("combinatorial", "symmetric", "random_walk")


@dataclass(eq=False, repr=False)
class AddLaplacianEigenvectors(WeightedEncoding):
    """Sets ``laplacian_eigenvectors`` ``[n, k]`` and ``laplacian_eigenvalues`` ``[k]``.

    (CS224W, S10.) Of the k smallest eigenvalues, ascending, of the graph without directions and
    loops. A column has length 1, and its entry largest in magnitude (the first of equals) is
    positive, by convention: the other sign, and any basis of a repeated eigenvalue, is as right. A
    graph with fewer eigenvectors gets columns of zeros at the end, with eigenvalue 0.

    The normalization is that of :func:`laplacian`; ``skip_first`` leaves out the first eigenvector,
    which in a connected graph tells nothing.

    With ``weight``, the name of an edge attribute of numbers that are not negative, A holds these
    weights and D their sums. Of two directions with different weights the larger counts.
    """

    k: int
    normalization: Normalization = "combinatorial"
    skip_first: bool = False
    weight: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.normalization not in NORMALIZATIONS:
            raise ValueError(f"normalization is {self.normalization!r}; expected {NORMALIZATIONS}.")

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

    (EGT, Eqs. 8 and 9.) :math:`A + I \approx \hat U \hat V^T` with :math:`\hat U = U\sqrt{\Sigma}`
    and :math:`\hat V = V\sqrt{\Sigma}` of the r largest singular values, in descending order; A
    alone without ``self_loops``. The entry of each :math:`u_k` largest in magnitude (the first of
    equals) is positive; :math:`v_k` takes its sign along. A graph with fewer than r nodes gets
    zeros at the end of both halves.

    With ``weight``, the name of an edge attribute of any finite numbers, A holds these weights: the
    paper allows any matrix of the graph's structure (Section 3.2). The diagonal is 1 with
    ``self_loops``; without them it has the weights of loops.
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

    ``adjacency`` ``[B, n, n]`` is bool, or holds the weights of the edges.

    "combinatorial" is D - A, "symmetric" I - D^(-1/2) A D^(-1/2), "random_walk" I - D^(-1) A; the
    last two have a 1 where a node has no edge, as PyG's have.
    """
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
    """Of a hundred nodes and more, LAPACK's last bits depend on its threads; a cache's must not."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _each(decomposition: Callable[[Tensor], Iterable[Tensor]], matrices: Tensor) -> list[Tensor]:
    """The decomposition of each matrix ``[B, n, n]``, a call for each, stacked.

    In one call for the stack, a matrix's last bits depend on where in memory it lies, and with them
    the vectors of repeated values: the same graph twice in a stack would get two encodings.
    """
    parts = zip(*(decomposition(matrix) for matrix in matrices), strict=True)
    return [torch.stack(part) for part in parts]


def _columns(values: Tensor, width: int) -> Tensor:
    """The first columns, or all of them and zeros; in torch's default type."""
    values = values[..., :width]
    return F.pad(values, (0, width - values.shape[-1])).to(torch.get_default_dtype())
