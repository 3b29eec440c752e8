"""Attention masked to the bonds: a bag Transformer of which some heads see the graph.

Shapes: B graphs, N nodes (padded), H heads, L layers.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gtcourse.graphs.batch import GraphBatch
from gtcourse.models.bag import BagTransformer, BagTransformerConfig


class NeighbourTransformer(BagTransformer):
    """In the first ``masked_heads`` heads of every layer a node hears its neighbours and itself.

    The other heads hear all nodes: with 0 masked heads it is :class:`BagTransformer`, with all of
    them masked it is message passing. The parameters are the same ones in every case.

    Args:
        node_encoding: as of :class:`BagTransformer`.

    Shapes:
        batch: as :class:`BagTransformer`, of which the adjacency is read too; no bond types
        returns: ``[B]`` or ``[B, T]``; with ``return_attention`` also ``[B, L, H, N, N]``

    Raises:
        ValueError: ``masked_heads`` is not between 0 and the number of heads.
    """

    def __init__(
        self,
        config: BagTransformerConfig,
        masked_heads: int,
        node_encoding: nn.Module | None = None,
    ):
        if not 0 <= masked_heads <= config.num_heads:
            raise ValueError(
                f"masked_heads is {masked_heads}; expected 0 to num_heads = {config.num_heads}."
            )
        super().__init__(config, node_encoding)
        self.masked_heads = masked_heads

    def forward(
        self, batch: GraphBatch, *, return_attention: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        masks = [neighbour_mask(batch)] * self.masked_heads
        masks += [batch.pair_mask] * (self.config.num_heads - self.masked_heads)
        h = self.embed(batch)
        h = self.encoder(h, mask=torch.stack(masks, dim=1), return_attention=return_attention)
        h, attention = h if return_attention else (h, None)
        prediction = self.head(h, batch.mask)
        return (prediction, attention) if return_attention else prediction


def neighbour_mask(batch: GraphBatch) -> Tensor:
    """Who hears whom, ``[B, N, N]``: row i is True at i itself and at each j with an edge to i.

    An edge from j to i is ``adjacency[b, j, i]``, hence the transposition.
    """
    itself = torch.diag_embed(batch.mask)
    return batch.adjacency.transpose(1, 2) | itself
