r"""SignNet (Lim et al., 2023): a node encoding from eigenvectors, invariant to their signs.

.. math:: f(u_1, …, u_k) = \rho\big([\varphi(u_m) + \varphi(-u_m)]_{m = 1 … k}\big)

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
from gtcourse.models.embeddings import FlatBatchNorm


@dataclass(frozen=True)
class SignNetConfig:
    """Sizes; by default of phi and rho as in the authors' sparse Transformer of width 64 for ZINC.

    Attributes:
        k: eigenvectors; None for any number, which needs ``rho="sum"``.
        d_model: d, the width of the encoding.
        phi: "gin" lets every eigenvector's entries travel along the edges; "mlp" treats each entry
            on its own, so that the result does not know which nodes have the same sign.
        rho: "mlp" reads the k results of a node beside each other; "sum" adds them up first, which
            makes their order meaningless and their number free (DeepSets).
        phi_layers, phi_hidden, phi_out: layers, width and output channels of phi.
        rho_layers, rho_hidden: linear layers and width of rho.
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

    .. math:: \rho\bigl([\varphi(u_m) + \varphi(-u_m)]_m\bigr)

    (CS224W, S13 and S14.) A column of zeros is padding of a graph with fewer eigenvectors and takes
    no part, not even in the batch normalisations.

    Differs from the authors' code:

    - both signs pass phi together and not in two calls, so that in training mode too the batch's
      statistics do not depend on the signs;
    - there rho ends in k numbers, which a linear map takes to d; here rho ends in d;
    - there padding takes part in phi's normalisations, and "all eigenvectors" counts one column of
      padding as real.

    Shapes:
        batch.encodings["laplacian_eigenvectors"]: ``[B, N, k]``
        returns: ``[B, N, d]``, zeros at padding
    """

    def __init__(self, config: SignNetConfig):
        super().__init__()
        self.config = config
        phi_sizes = config.phi_layers, config.phi_hidden, config.phi_out
        self.phi = GINPhi(*phi_sizes) if config.phi == "gin" else MLPPhi(*phi_sizes)
        width = config.phi_out * (config.k if config.rho == "mlp" else 1)
        self.rho = mlp(config.rho_layers, width, config.rho_hidden, config.d_model)

    def forward(self, batch: GraphBatch) -> Tensor:
        vectors = batch.encodings["laplacian_eigenvectors"]
        return self.encode(vectors, batch.adjacency, batch.mask)

    def encode(self, vectors: Tensor, adjacency: Tensor, mask: Tensor) -> Tensor:
        """The same on plain tensors.

        Shapes:
            vectors: ``[B, N, k]``; adjacency: ``[B, N, N]`` bool; mask: ``[B, N]`` bool
            returns: ``[B, N, d]``
        """
        vectors = vectors.to(next(self.parameters()).dtype)
        h = self.even(vectors, adjacency, mask)  # [B, N, k, C]
        h = h.flatten(2) if self.config.rho == "mlp" else h.sum(dim=2)
        return scatter_rows(self.rho(h[mask]), mask)

    def even(self, vectors: Tensor, adjacency: Tensor, mask: Tensor) -> Tensor:
        r""":math:`\varphi(u_m) + \varphi(-u_m)` for every eigenvector: ``[B, N, k, C]``."""
        vectors = vectors.masked_fill(~mask[:, :, None], 0)  # whatever stands at padding
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
            mlp(2, width, hidden, following) for width, following in pairwise(widths)
        )
        self.norms = nn.ModuleList(FlatBatchNorm(hidden) for _ in range(num_layers - 1))

    def forward(self, vectors: Tensor, real: Tensor, adjacency: Tensor) -> Tensor:
        incoming = adjacency.transpose(1, 2).to(vectors.dtype)  # row i: nodes with an edge to i
        h = vectors[real][:, None]  # [R, 1]
        for depth, layer in enumerate(self.layers):
            if depth > 0:
                h = self.norms[depth - 1](h)
            nodes = scatter_rows(h, real).flatten(2)  # [B, N, M·C]
            messages = (incoming @ nodes).view(*real.shape, -1)
            h = layer(h + messages[real])
        return scatter_rows(h, real)


class MLPPhi(nn.Module):
    """One network on every entry of every eigenvector; it does not look at the edges.

    Shapes:
        as :class:`GINPhi`
    """

    def __init__(self, num_layers: int, hidden: int, out: int):
        super().__init__()
        self.network = mlp(num_layers, 1, hidden, out)

    def forward(self, vectors: Tensor, real: Tensor, adjacency: Tensor) -> Tensor:
        return scatter_rows(self.network(vectors[real][:, None]), real)


def mlp(num_layers: int, width: int, hidden: int, out: int) -> nn.Sequential:
    """Linear maps; between two of them ReLU and then batch normalisation, as in SignNet's code."""
    widths = [width] + [hidden] * (num_layers - 1)
    layers: list[nn.Module] = []
    for inner, outer in pairwise(widths):
        layers += [nn.Linear(inner, outer), nn.ReLU(), FlatBatchNorm(outer)]
    return nn.Sequential(*layers, nn.Linear(widths[-1], out))


def scatter_rows(rows: Tensor, mask: Tensor) -> Tensor:
    """``[R, C]`` to ``[*mask.shape, C]``: a row at each True, in order, and zeros elsewhere."""
    dense = rows.new_zeros(*mask.shape, rows.shape[-1])
    dense[mask] = rows
    return dense
