"""Graphormer (Ying et al., 2021): a Transformer whose attention logits know the graph.

Shapes: B graphs, N nodes (padded), H heads, d width, L layers. [VNode] is token 0 of N + 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gtcourse.graphs.arguments import at_least, kinds
from gtcourse.graphs.batch import GraphBatch
from gtcourse.models.attention import MultiHeadAttention
from gtcourse.models.categories import category_rows
from gtcourse.models.graphormer_edges import EdgeEncoding, EdgeValues, NodeEdges, flat_edges
from gtcourse.models.graphormer_encodings import CentralityEncoding, PairBias, SpatialEncoding

EdgeUse = Literal["bias", "node", "aggregation"]


@dataclass(frozen=True)
class GraphormerConfig:
    """The slim model of Table 10 by default, with tables for the embedded molecules and ZINC.

    Attributes:
        num_node_types, num_edge_types: rows of the tables of categories; value v of column c has
            row v + 512 c, as in the authors' code.
        d_hidden: the feed-forward network's inner width; d, as in the paper, where it is None.
        dropout: after the feed-forward network (Tables 7 to 10) and, as in the authors' code, after
            attention.
        max_distance, max_in_degree, max_out_degree: what is larger is looked up as these.
        path_positions: vectors :math:`w_n` of Eq. 7; max_path_length: edges of a path that are
            read. The authors' ZINC model has 40 and reads 20.
        centrality, spatial: whether Eqs. 5 and 6 are used.
        edges: where edge features go, as in Table 5: "bias" (Eq. 7), "node", "aggregation", or
            None.
    """

    num_node_types: int = 28
    num_edge_types: int = 4
    num_targets: int = 1
    d_model: int = 80
    num_heads: int = 8
    num_layers: int = 12
    d_hidden: int | None = None
    dropout: float = 0.1
    attention_dropout: float = 0.1
    input_dropout: float = 0.0
    max_distance: int = 38
    max_in_degree: int = 63
    max_out_degree: int = 63
    path_positions: int = 40
    max_path_length: int = 20
    centrality: bool = True
    spatial: bool = True
    edges: EdgeUse | None = "bias"


class Graphormer(nn.Module):
    """The whole model: embeddings, [VNode], pre-LN layers that share one bias, a linear head.

    Args:
        node_encodings: modules that make ``[B, N, d]`` of a batch, instead of those that the
            configuration asks for.
        pair_encodings: modules that make ``[B, H, N, N]`` of a batch, likewise.

    Shapes:
        batch.x: ``[B, N, F]`` categories; batch.encodings: what the encodings read, by default
            of ``AddDegrees()``, ``AddShortestPaths()`` and ``AddPathEdges(20)``
        perturbation: ``[B, N, d]``, added to the node embeddings (FLAG)
        returns: ``[B]``, or ``[B, T]`` for T targets above 1; with ``return_attention`` also
            ``[B, L, H, N + 1, N + 1]``, where row and column 0 are [VNode]'s

    Raises:
        ValueError: the configuration, or in the forward pass the batch, is not what is described.
    """

    def __init__(
        self,
        config: GraphormerConfig,
        node_encodings: Iterable[nn.Module] | None = None,
        pair_encodings: Iterable[nn.Module] | None = None,
    ):
        super().__init__()
        _check(config)
        self.config = config
        self.embedding = nn.Embedding(config.num_node_types, config.d_model)
        self.virtual_node = nn.Parameter(torch.empty(config.d_model))
        own_nodes, own_pairs = default_encodings(config)
        self.node_encodings = nn.ModuleList(own_nodes if node_encodings is None else node_encodings)
        pairs = [*(own_pairs if pair_encodings is None else pair_encodings)]
        self.bias = PairBias(config.num_heads, pairs) if pairs else None
        self.dropout = nn.Dropout(config.input_dropout)
        self.layers = nn.ModuleList(
            GraphormerLayer(
                config.d_model,
                config.num_heads,
                config.d_hidden,
                dropout=config.dropout,
                attention_dropout=config.attention_dropout,
                num_edge_types=config.num_edge_types if config.edges == "aggregation" else 0,
            )
            for _ in range(config.num_layers)
        )
        self.norm = nn.LayerNorm(config.d_model)
        self.head = nn.Linear(config.d_model, config.num_targets)
        self._start(own_nodes + own_pairs)

    def _start(self, encodings: Iterable[nn.Module]) -> None:
        """The authors' start: small, and smaller the deeper. Encodings from outside keep theirs."""
        nn.init.normal_(self.virtual_node, std=0.02)
        for part in (self.embedding, self.layers, self.head, *encodings):
            for module in part.modules():
                if isinstance(module, nn.Embedding):
                    nn.init.normal_(module.weight, std=0.02)
                elif isinstance(module, nn.Linear):
                    nn.init.normal_(module.weight, std=0.02 / self.config.num_layers**0.5)
                    nn.init.zeros_(module.bias)

    def forward(
        self,
        batch: GraphBatch,
        *,
        perturbation: Tensor | None = None,
        return_attention: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        h, attention = self.encode(batch, perturbation, return_attention)
        prediction = self.head(h[:, 0])  # the graph is what [VNode] has gathered
        prediction = prediction.squeeze(-1) if self.config.num_targets == 1 else prediction
        return (prediction, attention) if return_attention else prediction

    def encode(
        self,
        batch: GraphBatch,
        perturbation: Tensor | None = None,
        return_attention: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """[VNode] and the nodes after all layers, ``[B, N + 1, d]``, and the attention."""
        h = self.embed(batch) if perturbation is None else self.embed(batch) + perturbation
        virtual_node = self.virtual_node.expand(len(h), 1, -1)
        h = self.dropout(torch.cat([virtual_node, h], dim=1))
        mask = F.pad(batch.mask, (1, 0), value=True)
        # Computed once, padded keys included, and shared by all layers. Rows of -inf alone would be
        # NaN after the softmax; there are none, because every token may attend to [VNode].
        bias, edges = None, self.edges_between_tokens(batch)
        if self.bias is not None:
            bias, mask = self.bias(batch).masked_fill(~mask[:, None, None, :], -torch.inf), None
        attentions = []
        for layer in self.layers:
            h = layer(h, bias, mask=mask, edges=edges, return_attention=return_attention)
            if return_attention:
                h, attention = h
                attentions.append(attention)
        return self.norm(h), torch.stack(attentions, dim=1) if return_attention else None

    def embed(self, batch: GraphBatch) -> Tensor:
        """What each node is, and what the encodings say of it: ``[B, N, d]`` (Eq. 5)."""
        x = category_rows(batch.x, "x", self.config.num_node_types)
        h = self.embedding(x).sum(dim=-2)
        for encoding in self.node_encodings:
            h = h + encoding(batch)
        return h

    def edges_between_tokens(self, batch: GraphBatch) -> tuple[Tensor, ...] | None:
        if self.config.edges != "aggregation":
            return None
        graph, receiver, sender, rows = flat_edges(batch, self.config.num_edge_types)
        return graph, receiver + 1, sender + 1, rows


class GraphormerLayer(nn.Module):
    r"""Attention with a bias, then a feed-forward network, each after a LayerNorm.

    .. math::
        h' &= \operatorname{MHA}(\operatorname{LN}(h)) + h \\
        h'' &= \operatorname{FFN}(\operatorname{LN}(h')) + h'

    (Graphormer, Eqs. 8 and 9.)

    Args:
        d_model: d; d_hidden: the feed-forward network's inner width, d where it is None.
        num_edge_types: categories of edges whose features are carried along with the values
            ("via aggregation" of Table 5); 0 for none.

    Shapes:
        h: ``[B, N, d]``; bias: ``[B, H, N, N]``; mask: ``[B, N]`` or ``[B, N, N]``
        edges: of :func:`~gtcourse.models.graphormer_edges.flat_edges`, where there are types
        returns: ``[B, N, d]``; with ``return_attention`` also ``[B, H, N, N]``
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_hidden: int | None = None,
        *,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        num_edge_types: int = 0,
    ):
        super().__init__()
        self.attention = GraphormerAttention(d_model, num_heads, dropout=attention_dropout)
        self.edge_values = (
            EdgeValues(num_edge_types, d_model, num_heads) if num_edge_types else None
        )
        self.feed_forward = nn.Sequential(
            nn.Linear(d_model, d_hidden or d_model),
            nn.GELU(),
            nn.Linear(d_hidden or d_model, d_model),
        )
        self.attention_norm = nn.LayerNorm(d_model)
        self.feed_forward_norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        h: Tensor,
        bias: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        edges: tuple[Tensor, ...] | None = None,
        return_attention: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        probabilities = return_attention or self.edge_values is not None
        z = self.attention(self.attention_norm(h), bias, mask=mask, return_attention=probabilities)
        z, attention = z if probabilities else (z, None)
        if self.edge_values is not None:
            z = z + self.edge_values(attention, edges)
        h = h + self.dropout(z)
        h = h + self.dropout(self.feed_forward(self.feed_forward_norm(h)))
        return (h, attention) if return_attention else h


class GraphormerAttention(MultiHeadAttention):
    r"""Self-attention whose logits are shifted by what is known of each pair.

    .. math:: A_{ij} = \frac{(h_i W_Q)(h_j W_K)^T}{\sqrt{d / H}} + b_{\phi(v_i, v_j)} + c_{ij}

    (Graphormer, Eqs. 6 and 7.)

    Args:
        as of :class:`~gtcourse.models.attention.MultiHeadAttention`.

    Shapes:
        h: ``[B, N, d]``; bias: ``[B, H, N, N]``, the sum of b and c, or None
        mask: True where attention may go: ``[B, N]`` for keys, or ``[B, N, N]``
        returns: ``[B, N, d]``; with ``return_attention`` also the probabilities ``[B, H, N, N]``

    Differs from the paper, which writes sqrt(d): its code has sqrt(d / H), and so has Eq. 4.
    """

    def forward(
        self,
        h: Tensor,
        bias: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        return_attention: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        return super().forward(h, bias=bias, mask=mask, return_attention=return_attention)


def default_encodings(config: GraphormerConfig) -> tuple[list[nn.Module], list[nn.Module]]:
    """The node encodings and the pair encodings that a configuration asks for."""
    nodes, pairs = [], []
    if config.centrality:
        nodes.append(
            CentralityEncoding(config.max_in_degree, config.max_out_degree, config.d_model)
        )
    if config.edges == "node":
        nodes.append(NodeEdges(config.num_edge_types, config.d_model))
    if config.spatial:
        pairs.append(SpatialEncoding(config.num_heads, config.max_distance))
    if config.edges == "bias":
        pairs.append(
            EdgeEncoding(
                config.num_heads,
                config.num_edge_types,
                config.path_positions,
                config.max_path_length,
            )
        )
    return nodes, pairs


def _check(config: GraphormerConfig) -> None:
    kinds(config)
    counts = ("num_node_types", "num_edge_types", "num_targets", "d_model", "num_heads")
    counts += ("num_layers", "path_positions", "max_path_length")
    counts += () if config.d_hidden is None else ("d_hidden",)
    at_least(1, **{name: getattr(config, name) for name in counts})
    largest = ("max_distance", "max_in_degree", "max_out_degree")
    at_least(0, **{name: getattr(config, name) for name in largest})
    if config.edges not in (*get_args(EdgeUse), None):
        raise ValueError(
            f"edges is {config.edges!r}; expected one of {', '.join(get_args(EdgeUse))}, or None."
        )
