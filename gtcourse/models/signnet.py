"""SignNet (Lim et al., 2023): a node encoding from eigenvectors, invariant to their signs.

Shapes: B graphs, N nodes (padded), k eigenvectors, d width, C channels,
R rows: all (graph, node, eigenvector, sign) that are real.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import torch
from torch import Tensor, nn

from gtcourse.graphs.batch import GraphBatch
from gtcourse.models.embeddings import NodeBatchNorm, mlp


@dataclass(frozen=True)
class SignNetConfig:
    """Sizes; by default of phi and rho as in the authors' sparse Transformer of width 64 for ZINC.

    Attributes:
        k: eigenvectors; None for any number, which needs ``rho="sum"``.
        phi: "gin" passes an eigenvector's entries along the edges; "mlp" treats each entry on its
            own, so that the result does not know which nodes have the same sign.
        rho: "mlp" reads the k results of a node beside each other; "sum" adds them up first, which
            makes their order meaningless and their number free (DeepSets).
    """

    k: int | None = 8
    d_model: int = 64
    phi: Literal["gin", "mlp"] = "gin"
    rho: Literal["mlp", "sum"] = "mlp"
    phi_layers: int = 8
    phi_hidden: int = 64
    phi_out: int = 4
    rho_layers: int = 8
    rho_hidden: int = 64


class SignNet(nn.Module):
    r"""The same for :math:`u_m` and :math:`-u_m`, whatever the networks learn.

    .. math:: f(u_1, …, u_k) = \rho\big([\varphi(u_m) + \varphi(-u_m)]_{m = 1 … k}\big)

    (CS224W, S13 and S14.) A column of zeros is padding of a graph with fewer eigenvectors and takes
    no part, not even in the batch normalisations.

    Shapes:
        batch.encodings["laplacian_eigenvectors"]: ``[B, N, k]``
        returns: ``[B, N, d]``, zeros at padding

    Differs from the authors' code: there each sign passes phi in a call of its own, whose batch
    statistics depend on the sign; rho ends in k numbers, which a linear map takes to d; padding
    takes part in phi's normalisations, and "all eigenvectors" counts one column of it as real.
    """

    def __init__(self, config: SignNetConfig):
        super().__init__()
        self.config, c = config, config
        phi = GINPhi if c.phi == "gin" else MLPPhi
        self.phi = phi(c.phi_layers, c.phi_hidden, c.phi_out)
        width = c.phi_out * (c.k if c.rho == "mlp" else 1)
        hidden = [c.rho_hidden] * (c.rho_layers - 1)
        self.rho = mlp(width, *hidden, c.d_model, norm=NodeBatchNorm)

    def forward(self, batch: GraphBatch) -> Tensor:
        vectors = batch.encodings["laplacian_eigenvectors"]
        return self.encode(vectors, batch.adjacency, batch.mask)

    def encode(self, vectors: Tensor, adjacency: Tensor, mask: Tensor) -> Tensor:
        """The same on plain tensors: ``[B, N, k]``, ``[B, N, N]`` and ``[B, N]``."""
        h = self.even(vectors.to(next(self.parameters()).dtype), adjacency, mask)
        h = h.flatten(2) if self.config.rho == "mlp" else h.sum(dim=2)
        return scatter_rows(self.rho(h[mask]), mask)

    def even(self, vectors: Tensor, adjacency: Tensor, mask: Tensor) -> Tensor:
        r""":math:`\varphi(u_m) + \varphi(-u_m)` for every eigenvector: ``[B, N, k, C]``."""
        vectors = vectors.masked_fill(~mask[:, :, None], 0)
        real = mask[:, :, None] & (vectors != 0).any(dim=1, keepdim=True)  # [B, N, k]
        both = self.phi(torch.cat([vectors, -vectors], -1), torch.cat([real, real], -1), adjacency)
        plus, minus = both.chunk(2, dim=2)
        return plus + minus


class GINPhi(nn.Module):
    r"""A graph isomorphism network on one channel, the same for each eigenvector.

    :math:`h_i \leftarrow \mathrm{MLP}(h_i + \sum_{j \in \mathcal N(i)} h_j)`, and a batch
    normalisation, without an activation, between two layers (GIN with epsilon fixed at 0).

    Shapes:
        vectors: ``[B, N, M]``; real: ``[B, N, M]`` bool; adjacency: ``[B, N, N]`` bool
        returns: ``[B, N, M, C]``, zeros where not real
    """

    def __init__(self, num_layers: int, hidden: int, out: int):
        super().__init__()
        widths = [1] + [hidden] * (num_layers - 1) + [out]
        self.layers = nn.ModuleList(
            mlp(one, hidden, two, norm=NodeBatchNorm) for one, two in pairwise(widths)
        )
        self.norms = nn.ModuleList(NodeBatchNorm(hidden) for _ in range(num_layers - 1))

    def forward(self, vectors: Tensor, real: Tensor, adjacency: Tensor) -> Tensor:
        incoming = adjacency.mT.to(vectors.dtype)  # row i: nodes with an edge to i
        h = vectors[real][:, None]  # [R, 1]
        for depth, layer in enumerate(self.layers):
            if depth > 0:
                h = self.norms[depth - 1](h)
            nodes = scatter_rows(h, real).flatten(2)  # [B, N, M·C]
            messages = (incoming @ nodes).view(*real.shape, -1)
            h = layer(h + messages[real])
        return scatter_rows(h, real)


class MLPPhi(nn.Module):
    """One network on every entry of every eigenvector; it ignores the edges."""

    def __init__(self, num_layers: int, hidden: int, out: int):
        super().__init__()
        self.network = mlp(1, *[hidden] * (num_layers - 1), out, norm=NodeBatchNorm)

    def forward(self, vectors: Tensor, real: Tensor, adjacency: Tensor) -> Tensor:
        return scatter_rows(self.network(vectors[real][:, None]), real)


def scatter_rows(rows: Tensor, mask: Tensor) -> Tensor:
    """``[R, C]`` to ``[*mask.shape, C]``: a row at each True, in order, and zeros elsewhere."""
    dense = rows.new_zeros(*mask.shape, rows.shape[-1])
    dense[mask] = rows
    return dense
