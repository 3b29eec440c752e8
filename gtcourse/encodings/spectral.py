"""Coordinates for nodes: eigenvectors of the Laplacian, singular vectors (EGT, Eqs. 8 and 9).

Shapes: B graphs of n nodes each, k eigenvectors, r singular values.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from gtcourse.encodings.transform import Encoding
from gtcourse.graphs.arguments import at_least, truth

Normalization = Literal["combinatorial", "symmetric", "random_walk"]
NORMALIZATIONS = ("combinatorial", "symmetric", "random_walk")
OTHER_NAMES = {None: "combinatorial", "sym": "symmetric", "rw": "random_walk"}
"""PyG's names for the same three."""


class AddLaplacianEigenvectors(Encoding):
    """Sets ``laplacian_eigenvectors`` ``[n, k]`` and ``laplacian_eigenvalues`` ``[k]``.

    (CS224W, S10.) Of the k smallest eigenvalues, in ascending order, the trivial one included. A
    column has length 1, and its entry largest in magnitude (the first of equals) is positive; this
    is a convention, not a cure: the other sign is as right (chapter 05). Within a repeated
    eigenvalue any basis is as right, and only its projector means something; where the k-th
    eigenvalue is repeated beyond k, not even that. A graph with fewer than k eigenvectors gets
    columns of zeros at the end, with eigenvalue 0. The Laplacian is that of the graph without
    directions and loops: for directed graphs there is :class:`AddSVD`.

    Args:
        k: how many.
        normalization: of :func:`laplacian`; PyG's None, "sym" and "rw" will do.
        skip_first: leave out the first eigenvector, as published code does. In a connected graph it
            tells nothing (it is constant, or given by the degrees); in one of several components
            it is one of several with eigenvalue 0.
    """

    def __init__(
        self, k: int, normalization: Normalization = "combinatorial", skip_first: bool = False
    ):
        at_least(1, k=k)
        truth(skip_first=skip_first)
        if isinstance(normalization, str | None):
            normalization = OTHER_NAMES.get(normalization, normalization)
        normalization = str(normalization).replace("-", "_")
        if normalization not in NORMALIZATIONS:
            raise ValueError(
                f"normalization is {normalization!r}; expected one of {', '.join(NORMALIZATIONS)}."
            )
        self.k, self.normalization, self.skip_first = k, normalization, skip_first

    def compute(self, adjacency: Tensor, edge_attr: Tensor | None) -> dict[str, Tensor]:
        values, vectors = laplacian_eigenvectors(adjacency, self.normalization)
        first = int(self.skip_first)
        values, vectors = values[:, first : first + self.k], vectors[..., first : first + self.k]
        vectors, values = _stored(vectors, self.k), _stored(values, self.k)
        return {"laplacian_eigenvectors": vectors, "laplacian_eigenvalues": values}


class AddSVD(Encoding):
    r"""Sets ``svd`` ``[n, 2r]``: :math:`\hat U \Vert \hat V`, also for directed graphs.

    (EGT, Eqs. 8 and 9.) :math:`A \approx \hat U \hat V^T` with :math:`\hat U = U\sqrt{\Sigma}` and
    :math:`\hat V = V\sqrt{\Sigma}` of the r largest singular values, in descending order. The entry
    of each :math:`u_k` largest in magnitude (the first of equals) is positive; :math:`v_k` takes
    its sign along. Within a repeated singular value any rotation of both is as right. A graph with
    fewer than r nodes gets zeros at the end of both halves.

    Args:
        rank: r.
        self_loops: decompose A + I, as the paper does.
    """

    def __init__(self, rank: int, self_loops: bool = True):
        at_least(1, rank=rank)
        truth(self_loops=self_loops)
        self.rank, self.self_loops = rank, self_loops

    def compute(self, adjacency: Tensor, edge_attr: Tensor | None) -> dict[str, Tensor]:
        if self.self_loops:
            adjacency = adjacency | torch.eye(adjacency.shape[-1]).bool()
        left, right = singular_vectors(adjacency)
        halves = [_stored(half[..., : self.rank], self.rank) for half in (left, right)]
        return {"svd": torch.cat(halves, dim=-1)}


def laplacian(adjacency: Tensor, normalization: Normalization = "combinatorial") -> Tensor:
    """L of the graph without directions and loops (CS224W, S10), ``[B, n, n]`` in float64.

    Args:
        adjacency: ``[B, n, n]`` bool.
        normalization: "combinatorial" D - A, "symmetric" I - D^(-1/2) A D^(-1/2), or "random_walk"
            I - D^(-1) A. The last two have a 1 where a node has no edge, as PyG's have.
    """
    A = _undirected(adjacency).double()
    degree = A.sum(dim=-1)
    if normalization == "combinatorial":
        return degree.diag_embed() - A
    power = 0.5 if normalization == "symmetric" else 1
    scale = degree.clamp(min=1) ** -power  # rows of nodes without edges are zero in A already
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
        degree = _undirected(adjacency).double().sum(dim=-1).clamp(min=1)
        vectors = F.normalize(vectors * degree[..., None] ** -0.5, dim=-2)
    else:
        L = laplacian(adjacency, normalization)
        with _one_thread():
            values, vectors = torch.linalg.eigh(L)
    return values.clamp(min=0), vectors * largest_entry_sign(vectors)


def singular_vectors(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """U√Σ and V√Σ, each ``[B, n, n]``, of a matrix ``[B, n, n]``, in float64."""
    with _one_thread():
        U, S, Vh = torch.linalg.svd(matrix.double())
    scale = S.sqrt()[..., None, :] * largest_entry_sign(U)
    return U * scale, Vh.mT * scale


@contextmanager
def _one_thread() -> Iterator[None]:
    """Of a hundred nodes and more, LAPACK's last bits depend on its threads; a cache's must not."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def largest_entry_sign(vectors: Tensor) -> Tensor:
    """The sign of each column's entry of largest magnitude, the first of equals: ``[B, 1, k]``."""
    size = vectors.abs()
    largest = size >= size.amax(dim=-2, keepdim=True) - 1e-8  # equal, but for rounding
    first = largest.to(torch.uint8).argmax(dim=-2, keepdim=True)
    return vectors.gather(-2, first).sign()


def _undirected(adjacency: Tensor) -> Tensor:
    return (adjacency | adjacency.mT) & ~torch.eye(adjacency.shape[-1]).bool()


def _stored(values: Tensor, width: int) -> Tensor:
    """Zeros appended to the last axis up to ``width``, in torch's default type."""
    padded = F.pad(values, (0, width - values.shape[-1]))
    return padded.to(torch.get_default_dtype())
