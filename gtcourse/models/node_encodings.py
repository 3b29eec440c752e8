"""What tells a node where it is: modules that make ``[B, N, d]`` of a batch's encodings.

Every model of the course adds one to its node embedding. Adding a projection of the encoding is
what concatenating and then projecting does, with the projection's rows in two blocks.
Shapes: B graphs, N nodes (padded), d width, k eigenvectors, r pairs of singular vectors, p steps.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from gtcourse.encodings import signs
from gtcourse.graphs.batch import GraphBatch


class LaplacianEncoding(nn.Module):
    """A linear map of the node's row of the k Laplacian eigenvectors (CS224W, S10).

    Added to a node's features it is GRPE, Eq. 5, which has no map. It is not invariant to the
    eigenvectors' signs.

    Args:
        k: eigenvectors; d_model: d.
        flip_signs: in training mode, draw a sign for each eigenvector of each graph, each time.

    Shapes:
        batch.encodings["laplacian_eigenvectors"]: ``[B, N, k]``
        returns: ``[B, N, d]``

    Raises:
        ValueError: in the forward pass, where the batch has no eigenvectors, or not k of them.
    """

    def __init__(self, k: int, d_model: int, flip_signs: bool = False):
        super().__init__()
        self.projection = nn.Linear(k, d_model)
        self.flip_signs = flip_signs

    def forward(self, batch: GraphBatch) -> Tensor:
        vectors = read_encoding(batch, "laplacian_eigenvectors", self.projection.in_features)
        if self.training and self.flip_signs:
            vectors = signs.flip_signs(vectors)
        return self.projection(vectors.to(self.projection.weight.dtype))


class WalkEncoding(nn.Module):
    """A linear map of the chances to be back after 1 … p steps of a random walk (RWSE).

    Args:
        steps: p; d_model: d.
        norm: a module that is given the chances and the mask of real nodes first, as CSA has it.

    Shapes:
        batch.encodings["rwse"]: ``[B, N, p]``; without it the diagonal of "random_walks",
            ``[B, N, N, p]``
        returns: ``[B, N, d]``

    Raises:
        ValueError: in the forward pass, where the batch has neither, or not p steps.
    """

    def __init__(self, steps: int, d_model: int, norm: nn.Module | None = None):
        super().__init__()
        self.norm = norm
        self.projection = nn.Linear(steps, d_model)

    def forward(self, batch: GraphBatch) -> Tensor:
        if "rwse" not in batch.encodings and "random_walks" in batch.encodings:
            pairs = read_encoding(batch, "random_walks", self.projection.in_features)
            returning = torch.diagonal(pairs, dim1=1, dim2=2).transpose(1, 2)
        else:
            returning = read_encoding(batch, "rwse", self.projection.in_features)
        returning = returning.to(self.projection.weight.dtype)
        if self.norm is not None:
            returning = self.norm(returning, batch.mask)
        return self.projection(returning)


class SVDEncoding(nn.Module):
    r"""A linear map of :math:`U\sqrt S \,\|\, V\sqrt S`, the r largest of the SVD (EGT, Eq. 9).

    Args:
        rank: r; d_model: d.
        flip_signs: in training mode, "pairs" (or True) draws a sign for each pair :math:`(u_m,
            v_m)` of each graph; "nodes" one for each *node*, for all that it has, as EGT's first
            code did. That is no symmetry of the SVD; the authors mended it later.

    Shapes:
        batch.encodings["svd"]: ``[B, N, 2r]``
        returns: ``[B, N, d]``

    Raises:
        ValueError: ``flip_signs`` is something else; in the forward pass, where the batch has no
            singular vectors, or not r pairs.
    """

    def __init__(
        self, rank: int, d_model: int, flip_signs: bool | Literal["pairs", "nodes"] | None = None
    ):
        super().__init__()
        if flip_signs not in FLIPS:
            raise ValueError(f"flip_signs is {flip_signs!r}; expected 'pairs', 'nodes' or None.")
        self.projection = nn.Linear(2 * rank, d_model)
        self.flip_signs = flip_signs

    def forward(self, batch: GraphBatch) -> Tensor:
        svd = read_encoding(batch, "svd", self.projection.in_features)
        if self.training and self.flip_signs:
            svd = FLIPS[self.flip_signs](svd)
        return self.projection(svd.to(self.projection.weight.dtype))


FLIPS = {
    None: None,
    False: None,
    True: signs.flip_pairs,
    "pairs": signs.flip_pairs,
    "nodes": signs.flip_nodes,
}
"""What ``flip_signs`` of :class:`SVDEncoding` can be."""


def read_encoding(batch: GraphBatch, name: str, columns: int | None = None) -> Tensor:
    """One encoding of a batch.

    Args:
        columns: how many there must be; None takes any number.

    Raises:
        ValueError: the batch has none of that name, or another number of columns.
    """
    if name not in batch.encodings:
        raise ValueError(
            f"the graphs have no {name}; expected what {_MADE_BY[name]} of gtcourse.encodings adds."
        )
    encoding = batch.encodings[name]
    if columns is not None and encoding.shape[-1] != columns:
        raise ValueError(
            f"the graphs' {name} have {encoding.shape[-1]} columns; expected {columns}."
        )
    return encoding


_MADE_BY = {
    "in_degree": "AddDegrees",
    "out_degree": "AddDegrees",
    "distance": "AddShortestPaths",
    "path_edges": "AddPathEdges (or AddPathTree)",
    "laplacian_eigenvectors": "AddLaplacianEigenvectors",
    "rwse": "AddRandomWalks(pairs=False)",
    "random_walks": "AddRandomWalks",
    "svd": "AddSVD",
    "ring": "AddRings",
}
