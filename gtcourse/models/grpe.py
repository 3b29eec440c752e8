r"""GRPE (Park et al., 2022; GSA in its first version): relations that the nodes' features meet.

A pair has a distance and perhaps an edge. The paper gives each its own vector,
:math:`\mathcal{P}_{\psi(i,j)} + \mathcal{E}_{e_{ij}}`. Only few of the sums occur, the *relations*
of a model, T in all: a node to itself, each type of edge, each distance from 2 to L, farther,
unreachable, and [VNode] to a node.

Shapes: B graphs, N nodes (padded), H heads, d width, K = d / H, C classes or targets. [VNode],
where there is one, is token 0 of N + 1; L is the paper's longest distance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gtcourse.graphs.batch import UNREACHABLE, GraphBatch
from gtcourse.models.attention import FeedForward, MultiHeadAttention, over_heads, run_layers
from gtcourse.models.embeddings import (
    CastingLinear,
    CategoryEmbedding,
    combinations,
    masked_edge_attr,
    mean_pool,
    squeeze_one,
)

TERMS = ("query", "key", "value")
TABLE_OF = {"key": "query", "query": "key", "value": "value"}
"""A key meets the table that the paper calls query (Eq. 7), a query the one called key (Eq. 6)."""


@dataclass(frozen=True)
class GRPEConfig:
    """The small model of Table 1 by default, with tables for the embedded molecules and ZINC.

    Attributes:
        num_node_types: rows of the table; value v of column c has row v + 512 c.
            num_node_features: number of float columns instead.
        num_edge_types: number of categories of each column; each combination is a type. edge_step:
            for one column of floats, the width of a type; 0.1 in the paper.
        d_hidden: inner width of the feed-forward network; by default d, as in the paper.
        max_distance: L, the longest distance with a vector of its own.
        terms: of "query" (Eq. 6), "key" (Eq. 7) and "value" (Eq. 9); bias: Graphormer's (Eq. 4).
        key_context: "key_column" as in Eq. 7, or "query_row" as in the authors' code.
        virtual_node: [VNode], the readout of a graph; the nodes' mean without it.
        node_noise: in training, bound of uniform noise on the embeddings (authors' code, 0.2).
    """

    num_node_types: int = 28
    num_node_features: int = 0
    num_edge_types: tuple[int, ...] = (4,)
    edge_step: float | None = None
    target: Literal["graph", "node"] = "graph"
    num_targets: int = 1
    d_model: int = 80
    num_heads: int = 8
    num_layers: int = 12
    d_hidden: int | None = None
    max_distance: int = 5
    terms: tuple[str, ...] = TERMS
    bias: bool = False
    key_context: Literal["key_column", "query_row"] = "key_column"
    virtual_node: bool = True
    dropout: float = 0.1
    attention_dropout: float = 0.1
    node_noise: float = 0.0


class GRPE(nn.Module):
    """The model: embeddings, [VNode], pre-LN layers that share the tables, a linear head.

    Shapes:
        batch.encodings["distance"]: ``[B, N, N]`` of ``AddShortestPaths()``
        returns: ``[B, C]`` of graphs, ``[B, N, C]`` of nodes, without the last axis where C is 1;
            with ``return_attention`` also ``[B, layers, H, N + 1, N + 1]``, N without [VNode]
    """

    def __init__(self, config: GRPEConfig):
        super().__init__()
        self.config, c, d = config, config, config.d_model
        types, features = c.num_node_types, c.num_node_features
        self.embedding = CategoryEmbedding(types, d) if types else CastingLinear(features, d)
        self.virtual_node = nn.Parameter(torch.zeros(d)) if c.virtual_node else None
        self.relations = Relations(c.num_edge_types, c.edge_step, c.max_distance, c.virtual_node)
        widths = {table: d for term, table in TABLE_OF.items() if term in c.terms}
        widths |= {"bias": c.num_heads} if c.bias else {}
        E, L = self.relations.num_edge_types, c.max_distance
        tables = {name: RelationEmbedding(E, L, width) for name, width in widths.items()}
        self.tables = nn.ModuleDict(tables)
        self.layers = nn.ModuleList(
            GRPELayer(
                d, c.num_heads, c.d_hidden, key_context=c.key_context, dropout=c.dropout,
                attention_dropout=c.attention_dropout,
            )
            for _ in range(c.num_layers)
        )  # fmt: skip
        self.norm = nn.LayerNorm(d)
        self.head = nn.Linear(d, c.num_targets)

    def forward(self, batch: GraphBatch, *, return_attention: bool = False):
        h, attention = self.encode(batch, return_attention)
        if self.config.target == "node":
            h = h if self.virtual_node is None else h[:, 1:]
        else:
            h = mean_pool(h, batch.mask) if self.virtual_node is None else h[:, 0]
        prediction = squeeze_one(self.head(h))
        return (prediction, attention) if return_attention else prediction

    def encode(self, batch: GraphBatch, return_attention: bool = False):
        """[VNode], if any, and the nodes after all layers, ``[B, N (+ 1), d]``; the attention."""
        h, mask = self.embed(batch), batch.mask
        if self.virtual_node is not None:
            h = torch.cat([self.virtual_node.expand(h.shape[0], 1, -1), h], dim=1)
            mask = F.pad(mask, (1, 0), value=True)
        # Computed once and shared by all layers.
        tables = RelationTables(**{name: table() for name, table in self.tables.items()})
        options = {"mask": mask, "return_attention": return_attention}
        h, attention = run_layers(self.layers, h, self.relations(batch), tables, **options)
        return self.norm(h), attention

    def embed(self, batch: GraphBatch) -> Tensor:
        """The nodes' embeddings, ``[B, N, d]``; in training with noise."""
        h = self.embedding(batch.x)
        if self.training and self.config.node_noise:
            h = h + torch.empty_like(h).uniform_(-1, 1) * self.config.node_noise
        return h


class GRPEAttention(MultiHeadAttention):
    r"""Graph self-attention: the relation of i to j enters logits and values.

    With r for the relation :math:`r(i, j)`, and the tables' vectors for each relation,

    .. math::
        a_{ij} &= \frac{q_i \cdot k_j + q_i \cdot R^\text{key}_{r} + k_j \cdot R^\text{query}_{r}}
                  {\sqrt{d / H}}, \\
        z_i &= \sum_j \hat a_{ij} \bigl(v_j + R^\text{value}_{r}\bigr),
        \qquad \hat a_i = \operatorname{softmax}(a_i).

    (GRPE, Eqs. 6 to 9; a table of scalars is GRPE, Eq. 4.) The contexts of a query with all T
    relations are one product ``[N, T]``, from which each pair gathers its own; no vector is ever
    written for a pair. Differs from the paper, which writes :math:`\sqrt{d_z}` for a single head.
    ``key_context="query_row"`` is what the authors' code computes in place of GRPE, Eq. 7,
    :math:`k_i \cdot R^\text{query}_r`, a second context of the query's node.

    Shapes:
        x: ``[B, N, d]``; relation: ``[B, N, N]``, 0 to T - 1; mask: ``[B, N]`` or ``[B, N, N]``
        returns: ``[B, N, d]``, zeros before the output projection for a query without keys; with
            ``return_attention`` also :math:`\hat a` ``[B, H, N, N]``, from before dropout
    """

    def __init__(self, d_model: int, num_heads: int, *, dropout=0.0, key_context="key_column"):
        super().__init__(d_model, num_heads, dropout=dropout)
        self.key_context = key_context

    def reset_parameters(self) -> None:
        """PyTorch's own initialisation, as in the authors' code."""
        for projection in (self.query, self.key, self.value, self.output):
            projection.reset_parameters()

    def forward(
        self, x: Tensor, relation: Tensor, tables: RelationTables, *,
        mask: Tensor | None = None, return_attention: bool = False
    ):  # fmt: skip
        query, key, value = self.heads(x, x, x)
        mask = over_heads(mask)
        pair = relation[:, None].expand(-1, self.num_heads, -1, -1)
        attention = self._logits(query, key, pair, tables, mask).softmax(dim=-1)
        weights = F.dropout(attention, self.dropout, self.training)
        z = weights @ value
        if tables.value is not None:
            by_relation = weights.new_zeros(*weights.shape[:-1], len(tables.value))
            by_relation = by_relation.scatter_add(3, pair, weights)  # [B, H, N, T]
            z = z + by_relation @ self.split_heads(tables.value)
        if mask is not None:
            z = z.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)
            attention = attention.masked_fill(~mask, 0.0) if return_attention else attention
        z = self.output(self.join_heads(z))
        return (z, attention) if return_attention else z

    def _logits(self, query, key, pair: Tensor, tables: RelationTables, mask) -> Tensor:
        """Eq. 8, ``[B, H, N, N]``; added up in place, because no gradient needs the parts."""
        query = query * query.shape[-1] ** -0.5  # before the product: float16 overflows early
        logits = query @ key.mT
        for context in self.contexts(query, key, pair, tables):
            logits += context
        if mask is None:
            return logits
        # Finite, so that a row without keys has a softmax; what it gathers is set to zero.
        return logits.masked_fill_(~mask, torch.finfo(logits.dtype).min)

    def contexts(self, query, key, pair: Tensor, tables: RelationTables):
        """What is added to the logits, ``[B, H, N, N]`` each; ``query`` is scaled already."""
        if tables.key is not None:
            yield (query @ self.split_heads(tables.key).mT).gather(3, pair)  # of [B, H, N, T]
        if tables.query is not None:
            vectors = self.split_heads(tables.query) * key.shape[-1] ** -0.5
            if self.key_context == "query_row":
                yield (key @ vectors.mT).gather(3, pair)
            else:  # for pair (i, j) the number of key j: of [B, H, T, N], along the columns
                yield (vectors @ key.mT).gather(2, pair)
        if tables.bias is not None:
            yield tables.bias.T[None, :, None].expand(*pair.shape[:3], -1).gather(3, pair)


class GRPELayer(nn.Module):
    """Graph self-attention, then a feed-forward network, each after a LayerNorm.

    Dropout is after attention and after the network, as in the authors' code; the paper says "the
    input to feed-forward neural networks". Shapes are those of :class:`GRPEAttention`.
    """

    def __init__(
        self, d_model: int, num_heads: int, d_hidden: int | None = None, *, dropout: float = 0.0,
        attention_dropout: float = 0.0, key_context: str = "key_column"
    ):  # fmt: skip
        super().__init__()
        options = {"dropout": attention_dropout, "key_context": key_context}
        self.attention = GRPEAttention(d_model, num_heads, **options)
        self.feed_forward = FeedForward(d_model, d_hidden or d_model, activation="gelu")
        self.attention_norm = nn.LayerNorm(d_model)
        self.feed_forward_norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, h: Tensor, relation: Tensor, tables: RelationTables, *, mask=None,
        return_attention: bool = False
    ):  # fmt: skip
        options = {"mask": mask, "return_attention": return_attention}
        z = self.attention(self.attention_norm(h), relation, tables, **options)
        z, attention = z if return_attention else (z, None)
        h = h + self.dropout(z)
        h = h + self.dropout(self.feed_forward(self.feed_forward_norm(h)))
        return (h, attention) if return_attention else h


class RelationTables(NamedTuple):
    """A vector for each of T relations, ``[T, d]``; None for a term that is left out."""

    key: Tensor | None = None  # met by queries (Eq. 6)
    query: Tensor | None = None  # met by keys (Eq. 7)
    value: Tensor | None = None  # added to values (Eq. 9)
    bias: Tensor | None = None  # Graphormer's scalars (Eq. 4), [T, H]


class RelationEmbedding(nn.Module):
    """The vectors of all relations, ``[T, width]``: a table for distances and one for edges."""

    def __init__(self, num_edge_types: int, max_distance: int, width: int):
        super().__init__()
        self.max_distance = max_distance
        self.distances = nn.Embedding(max_distance + 4, width)  # 0 to L, far, unreachable, virtual
        self.edges = nn.Embedding(num_edge_types + 3, width)  # 0 to E - 1, no edge, self, virtual

    def forward(self) -> Tensor:
        P, E = self.distances.weight, self.edges.weight
        no, itself, virtual = E[-3:]
        far = self.max_distance + 1  # where L = 0, the ends of an edge are far as well
        rows = P[:1] + itself, P[1:2] + E[:-3], P[min(2, far) : -1] + no, P[-1:] + virtual
        return torch.cat(rows)


class Relations(nn.Module):
    """The relation of each pair of tokens, ``[B, N, N]``, or ``[B, N + 1, N + 1]`` with [VNode].

    Row i is the query's. Distances are those of the graph without [VNode], exact up to L + 1.

    Differs from the authors' code: there distances ignore the edges' directions, L and more is far,
    a node's edge to itself is *no*, and a bond that is listed twice is two steps long.
    """

    def __init__(self, edge_types: tuple[int, ...], edge_step, max_distance, virtual_node: bool):
        super().__init__()
        self.edge_types, self.edge_step = edge_types, edge_step
        self.virtual_node = virtual_node
        self.num_edge_types = math.prod(edge_types)  # E, all combinations of categories
        # T: itself, the types of edges, distances 2 to L, far, unreachable and [VNode].
        self.num_relations = 1 + self.num_edge_types + max(max_distance - 1, 0) + 3

    def forward(self, batch: GraphBatch) -> Tensor:
        far = self.num_relations - 3
        distance = batch.encodings["distance"].long()
        relation = (distance + self.num_edge_types - 1).clamp(max=far)  # two steps come after E
        relation = relation.masked_fill(distance == UNREACHABLE, far + 1)
        relation = torch.where(batch.adjacency, 1 + self._type(batch), relation)
        if self.virtual_node:
            relation = F.pad(relation, (1, 0, 1, 0), value=far + 2)
        itself = torch.eye(relation.shape[-1], dtype=torch.bool, device=relation.device)
        return relation.masked_fill(itself, 0)  # a loop is no edge to another

    def _type(self, batch: GraphBatch) -> Tensor:
        """The type of each edge, ``[B, N, N]``, 0 to E - 1; anything elsewhere."""
        if not self.edge_types:
            return torch.zeros_like(batch.adjacency, dtype=torch.long)
        values = masked_edge_attr(batch)
        if self.edge_step is None:
            return combinations(values, self.edge_types)
        types = values[..., 0] * (1 / self.edge_step)  # 0.3 * 10 is 3, 0.3 / 0.1 is less
        return types.clamp(max=self.num_edge_types - 1).long()
