"""Transformers that read no edges, or let some heads attend to neighbours: where the course starts.

Shapes:
    B: graphs in a batch
    N: nodes of the largest graph; smaller graphs are padded
    H: attention heads
    L: layers
    d: width of a node's vector
    C: targets, or classes, of a prediction
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from gtcourse.graphs.batch import GraphBatch
from gtcourse.models.categories import feature_embedding, real_node_features
from gtcourse.models.config import (
    Categories,
    GraphConfig,
    NotNegativeInt,
    PositiveInt,
    Probability,
    check_given,
    check_module,
)
from gtcourse.models.mlp import mlp
from gtcourse.models.transformer import TransformerEncoder


@dataclass(frozen=True)
class BagTransformerConfig(GraphConfig):
    """Data and sizes. The defaults are for the molecules that come with the package."""

    num_node_types: Categories = (28,)  #: categories in each column of x
    d_model: PositiveInt = 64  #: width of a node's vector, d
    num_heads: PositiveInt = 4  #: attention heads, H
    num_layers: PositiveInt = 2  #: layers, L
    d_hidden: PositiveInt = 128  #: inner width of the feed-forward networks
    #: share that is set to zero in training: of what each sub-layer adds, of attention weights, and
    #: of the hidden layer of the feed-forward networks
    dropout: Probability = 0.0
    num_targets: PositiveInt = 1  #: numbers in a prediction, C
    num_node_features: NotNegativeInt = 0  #: columns of x, if it holds numbers instead


class BagTransformer(nn.Module):
    """Embeds the type of each node, lets all nodes attend to each other, and pools.

    The prediction depends on the shares of the node types alone. It reads no edge and no order of
    the nodes (CS224W, S8), and because attention and pooling are averages, it cannot tell how many
    nodes there are.

    Args:
        config: Data and sizes.
        node_encoding: A module that maps a batch to ``[B, N, d]``, which is added to the nodes.
    """

    def __init__(self, config: BagTransformerConfig, node_encoding: nn.Module | None = None):
        super().__init__()
        check_given(self, config, BagTransformerConfig)
        if node_encoding is not None:
            check_module("node_encoding", node_encoding)
        self.config = config
        self.node_encoding = node_encoding
        self.embedding = feature_embedding(
            "node", config.num_node_types, config.num_node_features, config.d_model, bias=True
        )
        self.encoder = TransformerEncoder(
            config.num_layers,
            config.d_model,
            config.num_heads,
            config.d_hidden,
            dropout=config.dropout,
            norm_first=True,
            activation="gelu",
        )
        self.head = GraphHead(config.d_model, config.num_targets)

    def check_features(self, x: Tensor, edge_attr: Tensor | None) -> None:
        """Raises a ValueError if a node, ``x [..., F]``, has an unknown category."""
        self.embedding.check(x)

    def forward(
        self, batch: GraphBatch, *, return_attention: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Predicts a number, or C of them, for each graph.

        Returns:
            The prediction, ``[B]``, or ``[B, C]`` for several targets; with ``return_attention``
            also the attention of all layers, ``[B, L, H, N, N]``.
        """
        h = self.embed(batch)  # [B, N, d]
        mask = self.attention_mask(batch)
        if return_attention:
            h, attention = self.encoder(h, mask=mask, return_attention=True)
            return self.head(h, batch.mask), attention
        return self.head(self.encoder(h, mask=mask), batch.mask)

    def embed(self, batch: GraphBatch) -> Tensor:
        """The nodes' embeddings with their encoding, ``[B, N, d]``."""
        h = self.embedding(real_node_features(batch))  # [B, N, d]
        return h if self.node_encoding is None else h + self.node_encoding(batch)

    def attention_mask(self, batch: GraphBatch) -> Tensor:
        """True where a node may attend to another, ``[B, 1, N]``: to all real nodes."""
        return batch.mask[:, None]


class NeighbourTransformer(BagTransformer):
    """A Transformer in which some heads of every layer attend to neighbours and the node itself.

    The other heads attend to all nodes. With 0 masked heads it is :class:`BagTransformer`, with all
    of them masked it is message passing. The parameters are the same in every case.

    Args:
        config: Data and sizes.
        masked_heads: How many heads attend to neighbours: the first ones.
        node_encoding: A module that maps a batch to ``[B, N, d]``, which is added to the nodes.
    """

    def __init__(
        self,
        config: BagTransformerConfig,
        masked_heads: int,
        node_encoding: nn.Module | None = None,
    ):
        super().__init__(config, node_encoding)
        if not 0 <= masked_heads <= config.num_heads:
            raise ValueError(f"masked_heads is {masked_heads}; expected 0 to {config.num_heads}.")
        self.masked_heads = masked_heads

    def extra_repr(self) -> str:
        return f"masked_heads={self.masked_heads}"

    def attention_mask(self, batch: GraphBatch) -> Tensor:
        """True where a node may attend to another, ``[B, H, N, N]``.

        Messages travel along edges: over an edge from j to i, ``adjacency[b, j, i]``, node i
        attends to node j.
        """
        neighbours = batch.adjacency.mT | torch.diag_embed(batch.mask)  # [B, N, N]
        free_heads = self.config.num_heads - self.masked_heads
        masks = [neighbours] * self.masked_heads + [batch.pair_mask] * free_heads
        return torch.stack(masks, dim=1)


class GraphHead(nn.Module):
    """The mean over the nodes, then a two-layer network: ``[B, N, d]`` to ``[B]``, or ``[B, C]``.

    Args:
        d_model: Width of a node's vector, d.
        num_targets: Numbers in a prediction, C.
    """

    def __init__(self, d_model: int, num_targets: int = 1):
        super().__init__()
        self.num_targets = num_targets
        self.network = mlp(d_model, d_model, num_targets, activation=nn.GELU)

    def forward(self, h: Tensor, mask: Tensor) -> Tensor:
        prediction = self.network(mean_pool(h, mask))  # [B, C]
        return prediction.squeeze(-1) if self.num_targets == 1 else prediction


def mean_pool(h: Tensor, mask: Tensor) -> Tensor:
    """The mean over each graph's real nodes, ``[B, d]`` (a READOUT: Graphormer, Eq. 2)."""
    is_real = mask.to(h.dtype)[:, :, None]  # [B, N, 1]
    return (h * is_real).sum(dim=1) / is_real.sum(dim=1).clamp(min=1)
