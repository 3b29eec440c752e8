r"""Node encodings from Laplacian eigenvectors, whose signs are arbitrary.

If u is an eigenvector, so is -u, and no rule that chooses one of them is better than another. A
linear map of the eigenvectors depends on this choice; drawing the signs anew in training is the
usual remedy. SignNet (Lim et al., 2023) does not depend on it, whatever its networks learn.

Shapes:
    B: graphs in a batch
    N: nodes of the largest graph; smaller graphs are padded
    k: eigenvectors
    d: width of a node's encoding
    C: channels of an eigenvector after :math:`\varphi`
    R: rows of :math:`\varphi`: all (graph, node, eigenvector, sign) that are real
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import torch
from torch import Tensor, nn

from gtcourse.graphs.arguments import check_choice
from gtcourse.graphs.batch import GraphBatch, padded
from gtcourse.models.batch_norm import NodeBatchNorm
from gtcourse.models.categories import NumberEmbedding
from gtcourse.models.config import Config, PositiveInt, check_given
from gtcourse.models.mlp import mlp


class LaplacianEncoding(nn.Module):
    """A linear map of a node's entries in the k Laplacian eigenvectors (CS224W, S10).

    Added to a node's features it is GRPE, Eq. 5, but for the map, which the paper does not have.

    Args:
        k: Eigenvectors.
        d_model: Width of the encoding, d.
        flip_signs: Which signs are drawn in training: with True one for each eigenvector of each
            graph, and with "batch" one for each eigenvector, which all graphs of a batch share, as
            in the code of benchmarking-gnns. With False no sign is drawn.
    """

    flip_signs: bool | Literal["batch"]

    def __init__(self, k: int, d_model: int, flip_signs: bool | Literal["batch"] = False):
        super().__init__()
        check_choice("flip_signs", flip_signs, (False, True, "batch"))
        self.flip_signs = flip_signs
        self.projection = NumberEmbedding(k, d_model, "laplacian_eigenvectors")

    def extra_repr(self) -> str:
        return f"flip_signs={self.flip_signs!r}"

    def forward(self, batch: GraphBatch) -> Tensor:
        """Reads the encoding "laplacian_eigenvectors", ``[B, N, k]``; returns ``[B, N, d]``."""
        vectors = batch.encoding("laplacian_eigenvectors")
        if self.training and self.flip_signs == "batch":
            vectors = vectors * random_signs(vectors[:1, :1])  # [1, 1, k]
        elif self.training and self.flip_signs:
            vectors = flip_signs(vectors)
        return self.projection(vectors)


def flip_signs(vectors: Tensor) -> Tensor:
    """Multiplies each eigenvector of each graph, ``[B, N, k]``, by 1 or -1 (CS224W, S12).

    Differs from published code, where all graphs of a batch share the sign of a column
    (benchmarking-gnns, GraphGPS).
    """
    return vectors * random_signs(vectors[:, :1])  # [B, 1, k]


def random_signs(like: Tensor) -> Tensor:
    """1 or -1, with equal chances, for each entry of a tensor."""
    bits = torch.randint(0, 2, like.shape, device=like.device)
    return (2 * bits - 1).to(like)


@dataclass(frozen=True)
class SignNetConfig(Config):
    r"""Sizes and variants. The defaults of :math:`\varphi` and :math:`\rho` are those of the
    authors' sparse Transformer of width 64 for ZINC.
    """

    k: PositiveInt | None = 8  #: eigenvectors; None for any number of them, with ``rho="sum"``
    d_model: PositiveInt = 64  #: width of the encoding, d
    #: "gin" passes an eigenvector's entries along the edges; "mlp" treats each entry on its own, so
    #: that it reads absolute values only and cannot tell which nodes have the same sign
    phi: Literal["gin", "mlp"] = "gin"
    #: "mlp" reads the k results of a node beside each other; "sum" adds them up first, after which
    #: their order does not matter and there may be any number of them (DeepSets)
    rho: Literal["mlp", "sum"] = "mlp"
    phi_layers: PositiveInt = 8  #: layers of φ
    phi_hidden: PositiveInt = 64  #: inner width of φ
    phi_out: PositiveInt = 4  #: channels of an eigenvector after φ, C
    rho_layers: PositiveInt = 8  #: layers of ρ
    rho_hidden: PositiveInt = 64  #: inner width of ρ

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k is None and self.rho != "sum":
            raise ValueError(f"k is None and rho is {self.rho!r}; expected rho 'sum', or a number.")


class SignNet(nn.Module):
    r"""A node encoding that is the same for :math:`u_m` and :math:`-u_m`, whatever it learns.

    .. math:: f(u_1, …, u_k) = \rho\big([\varphi(u_m) + \varphi(-u_m)]_{m = 1 … k}\big)

    (CS224W, S13 and S14.) A column of zeros pads a graph with fewer eigenvectors. It takes no part,
    not even in the batch normalisations.

    Differs from the authors' code. There each sign passes phi in a call of its own, whose batch
    statistics depend on the sign. There rho ends in k numbers, which a linear map takes to d. There
    padding takes part in the normalisations of phi, and with all eigenvectors one column of padding
    counts as real.

    Args:
        config: Sizes and variants.
    """

    def __init__(self, config: SignNetConfig):
        super().__init__()
        check_given(self, config, SignNetConfig)
        self.config = config
        self.phi: GINPhi | MLPPhi
        if config.phi == "gin":
            self.phi = GINPhi(config.phi_layers, config.phi_hidden, config.phi_out)
        else:
            self.phi = MLPPhi(config.phi_layers, config.phi_hidden, config.phi_out)
        # What rho reads: the sum over the eigenvectors, or all k of them beside each other.
        width = config.phi_out
        if config.rho == "mlp" and config.k is not None:
            width = config.phi_out * config.k
        hidden = [config.rho_hidden] * (config.rho_layers - 1)
        self.rho = mlp(width, *hidden, config.d_model, norm=NodeBatchNorm)

    def forward(self, batch: GraphBatch) -> Tensor:
        """Reads the encoding "laplacian_eigenvectors", ``[B, N, k]``.

        Returns ``[B, N, d]``, zeros at padding.
        """
        vectors = batch.encoding("laplacian_eigenvectors")
        return self.encode(vectors, batch.adjacency, batch.mask)

    def encode(self, vectors: Tensor, adjacency: Tensor, mask: Tensor) -> Tensor:
        """What :meth:`forward` computes, from plain tensors.

        Args:
            vectors: Eigenvectors, ``[B, N, k]``.
            adjacency: True where there is an edge from i to j, ``[B, N, N]``.
            mask: True at real nodes, ``[B, N]``.
        """
        k = self.config.k
        if k is not None and vectors.shape[-1] != k:
            raise ValueError(
                f"laplacian_eigenvectors has {vectors.shape[-1]} columns; expected {k}."
            )
        dtype = next(self.parameters()).dtype
        h = self.even(vectors.to(dtype), adjacency, mask)  # [B, N, k, C]
        # Beside each other, [B, N, k C], or their sum, [B, N, C].
        h = h.flatten(start_dim=2) if self.config.rho == "mlp" else h.sum(dim=2)
        encoding = self.rho(h[mask])  # [n, d] for n real nodes
        return padded(encoding, mask)  # [B, N, d]

    def even(self, vectors: Tensor, adjacency: Tensor, mask: Tensor) -> Tensor:
        r""":math:`\varphi(u_m) + \varphi(-u_m)` for every eigenvector: ``[B, N, k, C]``."""
        vectors = vectors.masked_fill(~mask[:, :, None], 0)
        is_vector = (vectors != 0).any(dim=1, keepdim=True)  # [B, 1, k], False at columns of zeros
        is_real = mask[:, :, None] & is_vector  # [B, N, k]
        both_signs = torch.cat([vectors, -vectors], dim=-1)  # [B, N, 2 k]
        # One call, so that u and -u are normalised by the same batch statistics.
        are_real = torch.cat([is_real, is_real], dim=-1)  # [B, N, 2 k]
        both = self.phi(both_signs, are_real, adjacency)  # [B, N, 2 k, C]
        plus, minus = both.chunk(2, dim=2)  # [B, N, k, C] each
        return plus + minus


class GINPhi(nn.Module):
    r"""A graph isomorphism network on one channel, the same for each eigenvector.

    .. math:: h_i \leftarrow \mathrm{MLP}\big(h_i + \sum_{j \to i} h_j\big)

    (GIN with epsilon fixed at 0.) The MLP is a linear map, ReLU, batch normalisation and another
    linear map. Between two layers there is a batch normalisation, but no activation.

    Args:
        num_layers: Layers.
        hidden: Width between the layers and inside them.
        out: Channels at the end, C.
    """

    def __init__(self, num_layers: int, hidden: int, out: int):
        super().__init__()
        widths = [1] + [hidden] * (num_layers - 1) + [out]
        self.layers = nn.ModuleList(
            mlp(width, hidden, following, norm=NodeBatchNorm)
            for width, following in pairwise(widths)
        )
        self.norms = nn.ModuleList(NodeBatchNorm(hidden) for _ in range(num_layers - 1))

    def forward(self, vectors: Tensor, is_real: Tensor, adjacency: Tensor) -> Tensor:
        """Passes the entries of M eigenvectors along the edges.

        Args:
            vectors: Eigenvectors, ``[B, N, M]``.
            is_real: True at entries that are not padding, ``[B, N, M]``.
            adjacency: True where there is an edge from i to j, ``[B, N, N]``.

        Returns:
            ``[B, N, M, C]``, zeros at padding.
        """
        # Row i has the nodes with an edge to i.
        neighbours = adjacency.mT.to(vectors.dtype)  # [B, N, N]
        h = vectors[is_real][:, None]  # [R, 1]
        for depth, layer in enumerate(self.layers):
            if depth > 0:
                h = self.norms[depth - 1](h)
            nodes = padded(h, is_real)  # [B, N, M, width]; width is 1, then hidden
            # One product for all eigenvectors, each of which sums over the same neighbours.
            sums = neighbours @ nodes.flatten(2)  # [B, N, M width]
            messages = sums.view_as(nodes)[is_real]  # [R, width]
            h = layer(h + messages)  # [R, hidden], or [R, C] after the last layer
        return padded(h, is_real)


class MLPPhi(nn.Module):
    """One network on every entry of every eigenvector; it ignores the edges.

    The arguments are those of :class:`GINPhi`.
    """

    def __init__(self, num_layers: int, hidden: int, out: int):
        super().__init__()
        self.network = mlp(1, *[hidden] * (num_layers - 1), out, norm=NodeBatchNorm)

    def forward(self, vectors: Tensor, is_real: Tensor, adjacency: Tensor) -> Tensor:
        """The arguments and what is returned are those of :meth:`GINPhi.forward`."""
        h = vectors[is_real][:, None]  # [R, 1]
        return padded(self.network(h), is_real)
