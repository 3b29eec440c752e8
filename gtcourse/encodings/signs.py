"""Random signs for eigenvectors and singular vectors: augmentation, or a test of invariance.

Shapes: B graphs, N nodes, k eigenvectors, r pairs of singular vectors.
"""

from __future__ import annotations

import torch
from torch import Tensor


def flip_signs(vectors: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """Multiplies each eigenvector of each graph by 1 or -1, with equal chances (CS224W, S12).

    Differs from published code, where one sign for each column serves the whole batch
    (benchmarking-gnns, GraphGPS).

    Args:
        generator: of the signs; torch's own by default.

    Shapes:
        vectors: ``[B, N, k]``, an eigenvector in each column
        returns: the same
    """
    return vectors * _signs(vectors, vectors.shape[-1], generator)


def flip_pairs(svd: Tensor, generator: torch.Generator | None = None) -> Tensor:
    r"""Flips :math:`u_m` together with :math:`v_m`, which leaves :math:`u_m s_m v_m^T` as it is.

    Shapes:
        svd: ``[B, N, 2r]``, the columns :math:`u_1 … u_r, v_1 … v_r`
        returns: the same
    """
    signs = _signs(svd, svd.shape[-1] // 2, generator)
    return svd * torch.cat([signs, signs], dim=-1)


def flip_nodes(svd: Tensor, generator: torch.Generator | None = None) -> Tensor:
    r"""Multiplies all that a node has by one sign: EGT's first augmentation, and no symmetry.

    It changes the products :math:`\hat u_i \cdot \hat v_j` that the encoding is made of.

    Shapes:
        svd: ``[B, N, 2r]``
        returns: the same
    """
    return svd * _draw((*svd.shape[:2], 1), svd, generator)


def _signs(vectors: Tensor, k: int, generator: torch.Generator | None) -> Tensor:
    """``[B, 1, k]``: one sign for all nodes of a graph."""
    return _draw((len(vectors), 1, k), vectors, generator)


def _draw(shape: tuple[int, ...], like: Tensor, generator: torch.Generator | None) -> Tensor:
    device = like.device if generator is None else generator.device
    bits = torch.randint(0, 2, shape, generator=generator, device=device)
    return (2 * bits - 1).to(like)
