r"""EGT (Hussain et al., 2021): a Transformer with a residual channel for every pair of nodes.

Shapes: B graphs, N nodes (padded), q virtual nodes, which are tokens 0 to q - 1, T = q + N tokens,
H heads, K = d / H, d and d_e widths of nodes and pairs, L layers, C classes or targets.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gtcourse.graphs.batch import GraphBatch
from gtcourse.models.embeddings import (
    EdgeInput,
    NodeInput,
    SVDEncoding,
    mean_pool,
    mlp,
    squeeze_one,
)


@dataclass(frozen=True)
class EGTConfig:
    r"""The 500K model of Table 5 for ZINC and the embedded molecules by default.

    Attributes:
        num_node_types, num_edge_types: number of categories of each column of x and edge_attr;
            num_node_features, num_edge_features: number of float columns instead.
        node_multiplier, edge_multiplier: inner widths of the feed-forward networks over d and d_e.
        structure: pairs start from "adjacency" and self-loops, or "distance" up to max_distance.
        svd_rank: r (Eqs. 8, 9); flip_signs: in training, of pairs of singular vectors ("pairs"), or
            of nodes ("nodes"), as the authors' first code did by mistake.
        variant: "full"; "simple" (Eqs. 10, 11), pairs never change; "constrained" (Eq. 12),
            attention to neighbours and itself. gated: False for EGT-U (Eqs. 13, 14).
        virtual_nodes: q; they are the graph's readout, in place of the nodes' mean.
        head_widths: of the heads' hidden layers, by default d / 2 and d / 4.
        distance_hops: ν of the distance-prediction objective; 0 for none.
        norm_eps: 1e-3 in the paper's runs (Keras). scaled: False for the authors' code of early
            2022, which forgot to divide the dot product by :math:`\sqrt K`.
    """

    num_node_types: tuple[int, ...] = (28,)
    num_node_features: int = 0
    num_edge_types: tuple[int, ...] = (4,)
    num_edge_features: int = 0
    target: Literal["graph", "node", "edge"] = "graph"
    num_targets: int = 1
    d_model: int = 64
    d_edge: int = 64
    num_heads: int = 8
    num_layers: int = 10
    node_multiplier: float = 2.0
    edge_multiplier: float = 2.0
    structure: Literal["adjacency", "distance"] = "adjacency"
    max_distance: int = 16
    svd_rank: int = 0
    flip_signs: Literal["pairs", "nodes"] | None = None
    variant: Literal["full", "simple", "constrained"] = "full"
    gated: bool = True
    virtual_nodes: int = 0
    head_widths: tuple[int, int] | None = None
    distance_hops: int = 0
    clip: float = 5.0
    node_dropout: float = 0.0
    edge_dropout: float = 0.0
    norm_eps: float = 1e-5
    scaled: bool = True


class EGT(nn.Module):
    r"""The model: inputs, layers, final norms and the head of what is predicted.

    Args:
        node_encodings: modules that make ``[B, N, d]`` of a batch, instead of the SVD encoding.

    Shapes:
        batch.encodings: "svd" of ``AddSVD(r)`` and "distance", where the configuration reads them
        returns: ``[B, C]`` of graphs, ``[B, N, C]`` of nodes, ``[B, N, N, C]`` of edges; without
            the last axis where C is 1. Then, where they are asked for, logits of distances 0 to ν,
            ``[B, N, N, ν + 1]``, and :math:`\tilde A` of Eq. 4, ``[B, L, H, T, T]``
    """

    def __init__(self, config: EGTConfig, node_encodings: Iterable[nn.Module] | None = None):
        super().__init__()
        self.config, c, q = config, config, config.virtual_nodes
        self.node_input = NodeInput(c.num_node_types, c.num_node_features, c.d_model)
        k = c.max_distance if c.structure == "distance" else None
        self.edge_input = EdgeInput(c.num_edge_types, c.num_edge_features, c.d_edge, k, q)
        defaults = [SVDEncoding(c.svd_rank, c.d_model, c.flip_signs)] if c.svd_rank else []
        self.node_encodings = nn.ModuleList(defaults if node_encodings is None else node_encodings)
        self.virtual_nodes = nn.Parameter(torch.empty(q, c.d_model)) if q else None
        # What the heads read; the last layer does not compute the rest.
        nodes = c.target != "edge" or c.variant == "simple"
        edges = not nodes or c.distance_hops > 0
        self.layers = nn.ModuleList(
            EGTLayer(
                c.d_model, c.d_edge, c.num_heads, update_nodes=nodes or not last,
                update_edges=edges or not last, edge_channels=c.variant != "simple",
                node_multiplier=c.node_multiplier, edge_multiplier=c.edge_multiplier,
                node_dropout=c.node_dropout, edge_dropout=c.edge_dropout,
                norm_eps=c.norm_eps, gated=c.gated, clip=c.clip, scaled=c.scaled,
            )
            for last in [False] * (c.num_layers - 1) + [True]
        )  # fmt: skip
        self.node_norm = nn.LayerNorm(c.d_model, c.norm_eps) if nodes else nn.Identity()
        self.edge_norm = nn.LayerNorm(c.d_edge, c.norm_eps) if edges else nn.Identity()
        edge = c.d_edge + (2 * c.d_model if c.variant == "simple" else 0)
        width = {"graph": max(q, 1) * c.d_model, "node": c.d_model, "edge": edge}[c.target]
        hidden = c.head_widths or (c.d_model // 2, c.d_model // 4)  # Table 4
        self.head = mlp(width, *hidden, c.num_targets, activation=nn.ELU)
        hops = c.distance_hops
        self.distance_head = mlp(c.d_edge, *hidden, hops + 1, activation=nn.ELU) if hops else None
        self.reset_parameters(defaults)

    def reset_parameters(self, encodings: Iterable[nn.Module] = ()) -> None:
        """As Keras, the authors' library: Glorot for linear maps, uniform for tables."""
        parts = self.node_input, self.edge_input, self.layers, self.head, *encodings
        for module in nn.ModuleList([*parts, self.distance_head]).modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                nn.init.uniform_(module.weight, -0.05, 0.05)
        for vectors in (self.virtual_nodes, self.edge_input.virtual, self.edge_input.no_edge):
            if vectors is not None:
                nn.init.uniform_(vectors, -0.05, 0.05)
        for layer in self.layers:
            # The authors have a map for E and one for G, and Glorot's bound of each is wider.
            for part in layer.attention.edge_input.weight.split(self.config.num_heads):
                nn.init.xavier_uniform_(part)

    def forward(
        self, batch: GraphBatch, *, return_distances: bool = False, return_attention: bool = False
    ):
        h, e, mask = self.embed(batch), self.edge_input(batch), self.pair_mask(batch)
        first, attentions, q = e, [], self.config.virtual_nodes
        for layer in self.layers:
            h, e, *attention = layer(h, e, mask=mask, return_attention=return_attention)
            attentions += attention
        h, e = self.node_norm(h), self.edge_norm(e)
        prediction = self.head(self._readout(batch, h, e, first))
        if self.config.target == "edge":
            prediction = prediction.masked_fill(~batch.adjacency[..., None], 0.0)
        results = [squeeze_one(prediction)]
        if return_distances:
            logits = self.distance_head(e[:, q:, q:])
            results.append(logits.masked_fill(~batch.pair_mask[..., None], 0.0))
        if return_attention:
            results.append(torch.stack(attentions, dim=1))
        return results[0] if len(results) == 1 else tuple(results)

    def embed(self, batch: GraphBatch) -> Tensor:
        """Virtual nodes and nodes before the first layer, ``[B, T, d]``."""
        h = self.node_input(batch)
        for encoding in self.node_encodings:
            h = h + encoding(batch)
        if self.virtual_nodes is None:
            return h
        return torch.cat([self.virtual_nodes.expand(h.shape[0], -1, -1), h], dim=1)

    def pair_mask(self, batch: GraphBatch) -> Tensor:
        """The pairs that attend, ``[B, T, T]``: all of a graph's, or neighbours and the node."""
        q, pairs = self.config.virtual_nodes, batch.pair_mask
        if self.config.variant == "constrained":
            loop = torch.eye(pairs.shape[-1], dtype=torch.bool, device=pairs.device)
            pairs = pairs & (batch.adjacency | loop)
        # Virtual nodes attend to all real nodes, and these to them.
        token = F.pad(batch.mask, (q, 0), value=True)
        return F.pad(pairs, (q, 0, q, 0), value=True) & token[:, :, None] & token[:, None, :]

    def _readout(self, batch: GraphBatch, h: Tensor, e: Tensor, first: Tensor) -> Tensor:
        """What the head reads of each graph, node or edge."""
        q, target = self.config.virtual_nodes, self.config.target
        if target == "graph":
            return h[:, :q].flatten(1) if q else mean_pool(h, batch.mask)
        if target == "node":
            return h[:, q:]
        if self.config.variant != "simple":
            return e[:, q:, q:]
        i = h[:, q:, None].expand(-1, -1, h.shape[1] - q, -1)
        return torch.cat([i, i.transpose(1, 2), first[:, q:, q:]], dim=-1)


class EGTLayer(nn.Module):
    r"""Pre-norm residual updates of nodes and pairs (EGT, Eqs. 6 and 7).

    .. math::
        \hat h_i &= h_i + O_h \big\Vert_k \textstyle\sum_j
            \tilde A_{ij}^k V^k \operatorname{LN}(h_j), &
        h_i' &= \hat h_i + \operatorname{FFN}_h(\operatorname{LN}(\hat h_i)), \\
        \hat e_{ij} &= e_{ij} + O_e \big\Vert_k \hat H_{ij}^k, &
        e_{ij}' &= \hat e_{ij} + \operatorname{FFN}_e(\operatorname{LN}(\hat e_{ij}))

    Differs from the print, which has :math:`V^k \hat h_i` in the sum and :math:`\tilde H` in the
    second line: the sum is over nodes j, and pairs receive the softmax's input. Without edge
    channels it is EGT-Simple (EGT, Eqs. 10 and 11); with a mask of neighbours, EGT-Constrained
    (EGT, Eq. 12).

    ``update_nodes`` and ``update_edges`` are False in the last layer for what no head reads.

    Shapes:
        h: ``[B, T, d]``; e: ``[B, T, T, d_e]``; mask: ``[B, T]`` or ``[B, T, T]``
        returns: h and e; with ``return_attention`` also ``[B, H, T, T]``
    """

    def __init__(
        self, d_model: int, d_edge: int, num_heads: int, *, node_multiplier: float = 2.0,
        edge_multiplier: float = 2.0, edge_channels: bool = True, update_nodes: bool = True,
        update_edges: bool = True, node_dropout: float = 0.0, edge_dropout: float = 0.0,
        norm_eps: float = 1e-5, **attention
    ):  # fmt: skip
        super().__init__()
        self.update_nodes, self.update_edges = update_nodes, update_edges and edge_channels
        self.node_norm = nn.LayerNorm(d_model, norm_eps)
        self.edge_norm = nn.LayerNorm(d_edge, norm_eps) if edge_channels else nn.Identity()
        attention["aggregate"] = update_nodes
        self.attention = EGTAttention(d_model, d_edge, num_heads, **attention)
        if self.update_nodes:
            self.node_network = _network(d_model, node_multiplier, norm_eps)
            self.node_dropout = nn.Dropout(node_dropout)
        if self.update_edges:
            self.edge_output = nn.Linear(num_heads, d_edge)
            self.edge_network = _network(d_edge, edge_multiplier, norm_eps)
            self.edge_dropout = nn.Dropout(edge_dropout)

    def forward(
        self, h: Tensor, e: Tensor, *, mask: Tensor | None = None, return_attention: bool = False
    ) -> tuple[Tensor, ...]:
        z, logits, *attention = self.attention(
            self.node_norm(h), self.edge_norm(e), mask=mask, return_attention=return_attention
        )
        if self.update_nodes:
            h = h + self.node_dropout(z)
            h = h + self.node_dropout(self.node_network(h))
        if self.update_edges:
            e = e + self.edge_dropout(self.edge_output(logits))
            e = e + self.edge_dropout(self.edge_network(e))
        return h, e, *attention


class EGTAttention(nn.Module):
    r"""Attention whose logits the pairs shift and whose weights they gate (EGT, Eqs. 4 and 5).

    .. math::
        \hat H = \operatorname{clip}(Q K^T / \sqrt{K}) + E, \qquad
        \tilde A = \operatorname{softmax}(\hat H) \odot \sigma(G)

    E and G are linear in the pairs' vectors. The dot product alone is clipped. Without gates it is
    EGT-Ungated (EGT, Eqs. 13 and 14).

    Args:
        aggregate: False where only :math:`\hat H` is wanted; scaled: False to not divide by √K.

    Shapes:
        h: ``[B, T, d]`` and e: ``[B, T, T, d_e]``, normalised; mask: ``[B, T]`` or ``[B, T, T]``
        returns: ``[B, T, d]`` (None without ``aggregate``; zeros for a token without keys) and
            :math:`\hat H` ``[B, T, T, H]``; with ``return_attention`` also :math:`\tilde A`
            ``[B, H, T, T]``
    """

    def __init__(
        self, d_model: int, d_edge: int, num_heads: int, *, gated: bool = True, clip: float = 5.0,
        aggregate: bool = True, scaled: bool = True
    ):  # fmt: skip
        super().__init__()
        self.num_heads, self.gated, self.clip = num_heads, gated, clip
        self.scale = (d_model // num_heads) ** -0.5 if scaled else 1.0
        self.qkv = nn.Linear(d_model, 3 * d_model)
        # E and G in one product: the pairs are the longest table of the model.
        self.edge_input = nn.Linear(d_edge, (1 + gated) * num_heads)
        self.output = nn.Linear(d_model, d_model) if aggregate else None

    def forward(
        self, h: Tensor, e: Tensor, *, mask: Tensor | None = None, return_attention: bool = False
    ) -> tuple[Tensor | None, ...]:
        query, key, value = self.qkv(h).unflatten(-1, (3, self.num_heads, -1)).unbind(-3)
        dot = query.transpose(1, 2) @ key.permute(0, 2, 3, 1) * self.scale  # [B, H, T, T]
        E, *G = self.edge_input(e).permute(0, 3, 1, 2).chunk(1 + self.gated, dim=1)
        logits = dot.clamp(-self.clip, self.clip) + E
        if self.output is None and not return_attention:
            return None, logits.permute(0, 2, 3, 1)
        mask = h.new_ones(h.shape[:2], dtype=torch.bool) if mask is None else mask
        mask = (mask if mask.dim() == 3 else mask[:, :, None] & mask[:, None])[:, None]
        # Finite, so that a row of padding has a softmax; it is set to zero below.
        attention = logits.masked_fill(~mask, torch.finfo(logits.dtype).min).softmax(dim=-1)
        attention = attention * G[0].sigmoid() if self.gated else attention
        z = None
        if self.output is not None:
            z = self.output((attention @ value.transpose(1, 2)).transpose(1, 2).flatten(-2))
            z = z.masked_fill(~mask[:, 0].any(dim=-1, keepdim=True), 0.0)
        attention = [attention.masked_fill(~mask, 0.0)] if return_attention else []
        return z, logits.permute(0, 2, 3, 1), *attention


def _network(width: int, multiplier: float, norm_eps: float) -> nn.Sequential:
    """LayerNorm and a two-layer network, ``[…, width]`` to the same."""
    widths = width, round(multiplier * width), width
    network = mlp(*widths, activation=partial(nn.ELU, inplace=True))
    return nn.Sequential(nn.LayerNorm(width, norm_eps), *network)
