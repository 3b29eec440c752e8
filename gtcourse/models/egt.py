"""EGT (Hussain et al., 2021): a Transformer with a channel for every pair of nodes.

Shapes: B graphs, N nodes (padded), q virtual nodes, which are tokens 0 to q - 1, P pairs that are
computed, H heads, d and d_e widths of nodes and pairs, L layers, C classes or targets.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gtcourse.graphs.batch import GraphBatch
from gtcourse.models import waiting
from gtcourse.models.egt_config import EGTConfig, check
from gtcourse.models.egt_inputs import EdgeInput, NodeInput
from gtcourse.models.egt_layers import EGTLayer
from gtcourse.models.heads import mean_pool
from gtcourse.models.node_encodings import SVDEncoding
from gtcourse.models.pairs import Pairs


class EGT(nn.Module):
    """The whole model: inputs, layers, final norms and the head of what is predicted.

    Args:
        node_encodings: modules that make ``[B, N, d]`` of a batch, instead of the SVD encoding that
            the configuration asks for.

    Shapes:
        batch.x: ``[B, N, F]``; batch.edge_attr: ``[B, N, N, F_e]`` where edges have features;
            batch.encodings: "svd" of ``AddSVD(r)`` and "distance" of ``AddShortestPaths()``, where
            the configuration reads them
        returns: ``[B, C]`` of graphs, ``[B, N, C]`` of nodes, ``[B, N, N, C]`` of edges (0 where
            there is none); without the last axis where C is 1. With ``return_distances`` also the
            logits of distances 0 to ν, ``[B, N, N, ν + 1]``; with ``return_attention`` also the
            gated attention :math:`\\tilde A` of Eq. 4, ``[B, L, H, q + N, q + N]``, last.

    Raises:
        ValueError: the configuration, or in the forward pass the batch, is not what is described.
    """

    def __init__(self, config: EGTConfig, node_encodings: Iterable[nn.Module] | None = None):
        super().__init__()
        check(config)
        self.config = config
        d, d_edge, q = config.d_model, config.d_edge, config.virtual_nodes
        self.node_input = NodeInput(config.num_node_types, config.num_node_features, d)
        self.edge_input = EdgeInput(
            config.num_edge_types,
            config.num_edge_features,
            d_edge,
            config.max_distance if config.structure == "distance" else None,
            q,
        )
        own = [SVDEncoding(config.svd_rank, d, config.flip_signs)] if config.svd_rank else []
        self.node_encodings = nn.ModuleList(own if node_encodings is None else node_encodings)
        self.virtual_nodes = nn.Parameter(torch.empty(q, d)) if q else None
        self.layers = nn.ModuleList(_layer(config, n) for n in range(config.num_layers))
        self.node_norm = nn.LayerNorm(d, config.norm_eps) if config.reads_nodes else None
        self.edge_norm = nn.LayerNorm(d_edge, config.norm_eps) if config.reads_edges else None
        self.head = _head(config, _readout_width(config), config.num_targets)
        self.distance_head = None
        if config.distance_hops:
            self.distance_head = _head(config, d_edge, config.distance_hops + 1)
        self._start(own)

    def _start(self, encodings: Iterable[nn.Module]) -> None:
        """The authors' start (Keras's own). Encodings from outside keep theirs."""
        parts = [self.node_input, self.edge_input, self.layers, self.head, *encodings]
        parts += [] if self.distance_head is None else [self.distance_head]
        for module in (module for part in parts for module in part.modules()):
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                nn.init.uniform_(module.weight, -0.05, 0.05)
        for vectors in (self.virtual_nodes, self.edge_input.virtual, self.edge_input.no_edge):
            if vectors is not None:
                nn.init.uniform_(vectors, -0.05, 0.05)

    def forward(
        self, batch: GraphBatch, *, return_distances: bool = False, return_attention: bool = False
    ) -> Tensor | tuple[Tensor, ...]:
        if return_distances and self.distance_head is None:
            raise ValueError("the model has no distance objective; expected distance_hops above 0.")
        pairs = self.pairs(batch)
        h, e, first, attention = self.encode(batch, pairs, return_attention)
        results = [self.predict(batch, pairs, h, e, first)]
        if return_distances:
            results.append(pairs.unpack(self.distance_head(e))[:, self.q :, self.q :])
        if return_attention:
            results.append(torch.stack(attention, dim=1))
        return results[0] if len(results) == 1 else tuple(results)

    def encode(
        self, batch: GraphBatch, pairs: Pairs, return_attention: bool = False
    ) -> tuple[Tensor, Tensor, Tensor, list[Tensor]]:
        """Nodes and pairs after all layers, the pairs at first, and the attention of each layer."""
        h, e = self.embed(batch), self.edge_input(batch, pairs)
        first, attentions = e, []
        for layer in self.layers:
            h, e, *attention = layer(h, e, pairs=pairs, return_attention=return_attention)
            attentions += attention
        return *self.normed(h, e), first, attentions

    def normed(self, h: Tensor, e: Tensor) -> tuple[Tensor, Tensor]:
        """After the last layer: nodes and pairs as the heads read them."""
        h = h if self.node_norm is None else self.node_norm(h)
        e = e if self.edge_norm is None else self.edge_norm(e)
        return h, e

    def predict(
        self, batch: GraphBatch, pairs: Pairs, h: Tensor, e: Tensor, first: Tensor
    ) -> Tensor:
        """The head, on what :meth:`encode` has made."""
        if self.config.target == "edge":
            prediction = self._of_edges(batch, pairs, h, e, first)
        else:
            prediction = self.head(self._readout(h, batch.mask))
        return prediction.squeeze(-1) if self.config.num_targets == 1 else prediction

    def embed(self, batch: GraphBatch) -> Tensor:
        """The tokens at first, ``[B, q + N, d]``."""
        h = self.node_input(batch)
        for encoding in self.node_encodings:
            h = h + encoding(batch)
        if self.virtual_nodes is None:
            return h
        return torch.cat([self.virtual_nodes.expand(len(h), -1, -1), h], dim=1)

    def pairs(self, batch: GraphBatch) -> Pairs:
        """The pairs that attend and have a vector: all of a graph's, or neighbours and itself."""
        mask, dense = batch.pair_mask, not waiting.may_wait(batch.mask)
        if self.config.variant == "constrained":
            loops = torch.eye(mask.shape[1], dtype=torch.bool, device=mask.device)
            mask = mask & (batch.adjacency | loops)
        if self.q == 0:
            return Pairs(mask, dense)
        real = F.pad(batch.mask, (self.q, 0), value=True)
        virtual = torch.arange(real.shape[1], device=mask.device) < self.q
        with_virtual = real[:, :, None] & real[:, None, :] & (virtual[:, None] | virtual)
        return Pairs(F.pad(mask, (self.q, 0, self.q, 0)) | with_virtual, dense)

    @property
    def q(self) -> int:
        return self.config.virtual_nodes

    def _readout(self, h: Tensor, mask: Tensor) -> Tensor:
        """What the head reads: each node, or of a graph the nodes' mean or the virtual nodes."""
        if self.config.target == "node":
            return h[:, self.q :]
        return h.flatten(1, 2)[:, : self.q * h.shape[-1]] if self.q else mean_pool(h, mask)

    def _of_edges(self, batch, pairs: Pairs, h: Tensor, e: Tensor, first: Tensor) -> Tensor:
        """``[B, N, N, C]``: the head on the edges, and on nothing else."""
        edges = Pairs(F.pad(batch.adjacency, (self.q, 0, self.q, 0)))
        chosen = pairs.pack(edges.mask)
        read = e[chosen]
        if self.config.variant == "simple":
            i, j = edges.ends
            nodes = h.flatten(0, 1)
            read = torch.cat([nodes[i], nodes[j], first[chosen]], dim=-1)
        return edges.unpack(self.head(read))[:, self.q :, self.q :]


def _layer(config: EGTConfig, number: int) -> EGTLayer:
    last = number == config.num_layers - 1
    return EGTLayer(
        config.d_model,
        config.d_edge,
        config.num_heads,
        node_multiplier=config.node_multiplier,
        edge_multiplier=config.edge_multiplier,
        edge_channels=config.variant != "simple",
        update_nodes=config.reads_nodes or not last,
        update_edges=config.reads_edges or not last,
        node_dropout=config.node_dropout,
        edge_dropout=config.edge_dropout,
        norm_eps=config.norm_eps,
        gated=config.gated,
        clip=config.clip,
        dropout=config.attention_dropout,
        random_mask=config.random_mask,
        degree_scaler=config.degree_scaler,
        scaled=config.scaled,
        virtual_nodes=config.virtual_nodes,
    )


def _readout_width(config: EGTConfig) -> int:
    if config.target == "edge":
        both_ends = 2 * config.d_model if config.variant == "simple" else 0
        return both_ends + config.d_edge
    of_virtual = config.target == "graph" and config.virtual_nodes
    return config.virtual_nodes * config.d_model if of_virtual else config.d_model


def _head(config: EGTConfig, width: int, outputs: int) -> nn.Sequential:
    """A network with two hidden layers (Table 4)."""
    one, other = config.head_widths or (config.d_model // 2, config.d_model // 4)
    return nn.Sequential(
        nn.Linear(width, one), nn.ELU(), nn.Linear(one, other), nn.ELU(), nn.Linear(other, outputs)
    )
