"""The Chromatic Graph Transformer (Menegaux et al., 2023): attention with a filter for each pair.

Shapes: B graphs, N nodes (padded), H heads, d width, C classes or targets.
"""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn

from gtcourse.graphs.batch import GraphBatch
from gtcourse.models.csa_config import CGTConfig, check
from gtcourse.models.csa_edges import ALL, EdgeMaps, PairEncoding
from gtcourse.models.csa_filters import EdgeTerms, EdgeTermsOfRows
from gtcourse.models.csa_layers import CSALayer
from gtcourse.models.features import Features
from gtcourse.models.flat import HalvingMLP, squeeze_one
from gtcourse.models.node_encodings import WalkEncoding
from gtcourse.models.norms import NodeBatchNorm


class CGT(nn.Module):
    """The whole model: node and edge encodings, CSA layers, a network on each node, then pooling.

    Shapes:
        batch.x: ``[B, N, F]`` categories, or numbers; batch.edge_attr: ``[B, N, N, F_e]`` where
            edges have features; batch.encodings: "random_walks" ``[B, N, N, p]`` of
            ``AddRandomWalks(p)`` (or "rwse" for the nodes alone), "distance" ``[B, N, N]`` of
            ``AddShortestPaths()``, "ring" ``[B, N, N]`` of ``AddRings(max_size)``, as they are read
        returns: ``[B, C]`` of graphs, ``[B, N, C]`` of nodes, without the last axis where C is 1;
            with ``return_attention`` also the filters ``[B, layers, d, N, N]``, or ``[B, layers, H,
            N, N]`` where they are monochrome

    Raises:
        ValueError: the configuration, or in the forward pass the batch, is not what is described.
    """

    def __init__(self, config: CGTConfig):
        super().__init__()
        check(config)
        self.config = config
        d = config.d_model
        self.node_encoding = NodeEncoding(config)
        self.edge_encoding = PairEncoding(
            config.num_edge_types, d, config.relative, config.relative_steps, config.rings
        )
        self.edge_maps = nn.ModuleList(
            EdgeMaps(
                d,
                d if config.chromatic else config.num_heads,
                values=config.edge_values,
                bias=config.share_edges,
            )
            for _ in range(1 if config.share_edges else config.num_layers)
        )
        self.layers = nn.ModuleList(
            CSALayer(
                d,
                config.num_heads,
                dropout=config.dropout,
                activation=config.activation,
                score=config.score,
                form=config.form,
                node_ablation=config.node_ablation,
                edge_ablation=config.edge_ablation,
                channel_ablation=config.channel_ablation,
            )
            for _ in range(config.num_layers)
        )
        self.head = _head(config)

    def forward(
        self, batch: GraphBatch, *, return_attention: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        h, attention = self.encode(batch, return_attention)
        prediction = self.head(h)
        if self.config.target == "graph":
            nodes = batch.mask if prediction.dim() == 2 else batch.mask[..., None]
            prediction = (prediction * nodes).sum(dim=1)
            if self.config.readout == "mean":
                prediction = prediction / nodes.sum(dim=1).clamp(min=1)
        return (prediction, attention) if return_attention else prediction

    def encode(
        self, batch: GraphBatch, return_attention: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """The nodes after all layers, ``[B, N, d]``; the attention of all."""
        h, attentions = self.node_encoding(batch), []
        for layer, edges in zip(self.layers, self._edges(batch), strict=True):
            h = layer(h, edges, mask=batch.mask, return_attention=return_attention)
            if return_attention:
                h, attention = h
                attentions.append(attention)
        return h, torch.stack(attentions, dim=1) if return_attention else None

    def _edges(self, batch: GraphBatch) -> list[EdgeTerms] | list[EdgeTermsOfRows]:
        """What the pairs add in each layer."""
        config = self.config
        if config.form == "chunked":
            terms = [partial(self._of_rows, batch, maps) for maps in self.edge_maps]
        else:
            E = self.edge_encoding(batch)
            terms = [maps(E) for maps in self.edge_maps]
            if config.share_edges and config.form == "factorised" and config.score == "dot":
                terms = [shared.with_factor() for shared in terms]
        return terms * config.num_layers if config.share_edges else terms

    def _of_rows(self, batch: GraphBatch, maps: EdgeMaps, rows: slice = ALL) -> EdgeTerms:
        return maps(self.edge_encoding(batch, rows))


class NodeEncoding(nn.Module):
    """What a node is beside where it is: an embedding, and a map of its walks' returns.

    The returns are normalised first, with the statistics of real nodes.

    Shapes:
        returns: ``[B, N, d]``
    """

    def __init__(self, config: CGTConfig):
        super().__init__()
        width = config.d_model - config.d_position
        self.features = Features(config.num_node_types, config.num_node_features, width, "x")
        self.walks = None
        if config.node_steps:
            self.walks = WalkEncoding(
                config.node_steps, config.d_position, NodeBatchNorm(config.node_steps)
            )

    def forward(self, batch: GraphBatch) -> Tensor:
        h = self.features(batch.x)
        return h if self.walks is None else torch.cat([h, self.walks(batch)], dim=-1)


class NodeHead(nn.Sequential):
    """Three linear maps with ReLU between: a class of each node."""

    def __init__(self, d_model: int, num_targets: int):
        super().__init__(
            nn.Linear(d_model, d_model),
            nn.ReLU(),
            nn.Linear(d_model, d_model),
            nn.ReLU(),
            nn.Linear(d_model, num_targets),
        )

    def forward(self, h: Tensor) -> Tensor:
        return squeeze_one(super().forward(h))


def _head(config: CGTConfig) -> nn.Module:
    kind = HalvingMLP if config.target == "graph" else NodeHead
    return kind(config.d_model, config.num_targets)
