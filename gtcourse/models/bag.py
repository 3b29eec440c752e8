"""A Transformer on a bag of nodes: every node is a token, no edge is seen.

It is what every graph Transformer of the course adds structure to.
Shapes: B graphs, N nodes (padded), d width, H heads, L layers.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from gtcourse.graphs.arguments import at_least, kinds
from gtcourse.graphs.batch import GraphBatch
from gtcourse.models.heads import GraphHead
from gtcourse.models.transformer import TransformerEncoder


@dataclass(frozen=True)
class BagTransformerConfig:
    """Node categories, size, and number of graph targets."""

    num_node_types: int = 28
    d_model: int = 64
    num_heads: int = 4
    num_layers: int = 2
    d_hidden: int = 128
    dropout: float = 0.0
    num_targets: int = 1


class BagTransformer(nn.Module):
    """Embeds each node's type, lets all nodes attend to each other, and pools.

    The prediction depends on the proportions of the node types alone: no edge, no order and,
    because attention and pooling are averages, no number of nodes (CS224W, S8).

    Args:
        node_encoding: tells each node where it is: a module that makes ``[B, N, d]`` of a batch
            (:mod:`gtcourse.models.node_encodings`), added to the embedding.

    Shapes:
        batch.x: ``[B, N, 1]`` integers; batch.mask: ``[B, N]``
        returns: ``[B]`` or ``[B, T]``; with ``return_attention`` also ``[B, L, H, N, N]``
    """

    def __init__(self, config: BagTransformerConfig, node_encoding: nn.Module | None = None):
        super().__init__()
        kinds(config)
        counts = ("num_node_types", "d_model", "num_heads", "num_layers", "d_hidden", "num_targets")
        at_least(1, **{name: getattr(config, name) for name in counts})
        self.config = config
        self.node_encoding = node_encoding
        self.embedding = nn.Embedding(config.num_node_types, config.d_model)
        self.encoder = TransformerEncoder(
            config.num_layers,
            d_model=config.d_model,
            num_heads=config.num_heads,
            d_hidden=config.d_hidden,
            dropout=config.dropout,
            norm_first=True,
            activation="gelu",
        )
        self.head = GraphHead(config.d_model, config.num_targets)

    def forward(
        self, batch: GraphBatch, *, return_attention: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        h = self.embed(batch)
        h = self.encoder(h, mask=batch.mask, return_attention=return_attention)
        h, attention = h if return_attention else (h, None)
        prediction = self.head(h, batch.mask)
        return (prediction, attention) if return_attention else prediction

    def embed(self, batch: GraphBatch) -> Tensor:
        """What each node is and, with a node encoding, where it is: ``[B, N, d]``."""
        h = self.embedding(batch.x[..., 0])
        return h if self.node_encoding is None else h + self.node_encoding(batch)
