"""GRPE (Park et al., 2022; GSA in its first version): relations that the nodes' features meet.

Shapes: B graphs, N nodes (padded), H heads, d width, C classes or targets. [VNode], where there is
one, is token 0 of N + 1; L is the paper's longest distance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gtcourse.graphs.arguments import at_least, exactly_one, kinds, positive
from gtcourse.graphs.batch import GraphBatch
from gtcourse.models.categories import category_rows
from gtcourse.models.grpe_layers import GRPELayer, KeyContext
from gtcourse.models.heads import mean_pool
from gtcourse.models.relations import RelationEmbedding, Relations, RelationTables

TERMS = ("query", "key", "value")
TABLE_OF = {"key": "query", "query": "key", "value": "value"}
"""A key meets the table that the paper calls query (Eq. 7), a query the one called key (Eq. 6)."""


@dataclass(frozen=True)
class GRPEConfig:
    """The small model of Table 1 by default, with tables for the embedded molecules and ZINC.

    Attributes:
        num_node_types: rows of the table of node categories; value v of column c has row
            v + 512 c, as in the authors' code. num_node_features: columns of numbers instead.
        num_edge_types: categories of each column of edge features; each combination is a type.
            Empty where edges have no features. edge_step: where they are one column of numbers,
            the width of a type; 0.1 in the paper, which takes their first decimal.
        target: what is predicted: a graph or its nodes; num_targets: C.
        d_hidden: the feed-forward network's inner width; d, as in the paper, where it is None.
        max_distance: L, the longest distance with a vector of its own.
        terms: which are used of "query", the query context (Eq. 6), "key", the key context (Eq. 7),
            and "value", the value term (Eq. 9).
        bias: also add a scalar for each relation and head to the logits, as Graphormer (Eq. 4).
        key_context: "key_column" as in Eq. 7, or "query_row" as in the authors' code.
        virtual_node: whether there is [VNode], which the head reads of a graph; the nodes' mean
            otherwise.
        dropout: after attention and after the feed-forward network.
        node_noise: in training, uniform noise of at most this size is added to the node embeddings;
            of the authors' code (0.2 for ZINC), not of the paper.
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
    key_context: KeyContext = "key_column"
    virtual_node: bool = True
    dropout: float = 0.1
    attention_dropout: float = 0.1
    node_noise: float = 0.0


class GRPE(nn.Module):
    """The whole model: embeddings, [VNode], pre-LN layers that share the tables, a linear head.

    Shapes:
        batch.x: ``[B, N, F]`` categories, or numbers; batch.encodings["distance"]: ``[B, N, N]`` of
            ``AddShortestPaths()``; batch.edge_attr: ``[B, N, N, F_e]`` where edges have features
        returns: ``[B, C]`` of graphs, ``[B, N, C]`` of nodes, without the last axis where C is 1;
            with ``return_attention`` also ``[B, layers, H, N + 1, N + 1]``, where row and column 0
            are [VNode]'s; ``[B, layers, H, N, N]`` without it

    Raises:
        ValueError: the configuration, or in the forward pass the batch, is not what is described.
    """

    def __init__(self, config: GRPEConfig):
        super().__init__()
        _check(config)
        self.config = config
        d = config.d_model
        if config.num_node_types:
            self.embedding = nn.Embedding(config.num_node_types, d)
        else:
            self.embedding = nn.Linear(config.num_node_features, d)
        self.virtual_node = nn.Parameter(torch.zeros(d)) if config.virtual_node else None
        self.relations = Relations(
            config.num_edge_types, config.edge_step, config.max_distance, config.virtual_node
        )
        widths = {table: d for term, table in TABLE_OF.items() if term in config.terms}
        if config.bias:
            widths["bias"] = config.num_heads
        self.tables = nn.ModuleDict(
            {
                table: RelationEmbedding(self.relations.num_edge_types, config.max_distance, width)
                for table, width in widths.items()
            }
        )
        self.layers = nn.ModuleList(
            GRPELayer(
                d,
                config.num_heads,
                config.d_hidden,
                dropout=config.dropout,
                attention_dropout=config.attention_dropout,
                key_context=config.key_context,
            )
            for _ in range(config.num_layers)
        )
        self.norm = nn.LayerNorm(d)
        self.head = nn.Linear(d, config.num_targets)

    def forward(
        self, batch: GraphBatch, *, return_attention: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        h, attention = self.encode(batch, return_attention)
        prediction = self.head(self._readout(h, batch.mask))
        prediction = prediction.squeeze(-1) if self.config.num_targets == 1 else prediction
        return (prediction, attention) if return_attention else prediction

    def encode(
        self, batch: GraphBatch, return_attention: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """[VNode], if any, and the nodes after all layers, ``[B, N (+ 1), d]``; the attention."""
        h, mask = self.embed(batch), batch.mask
        if self.virtual_node is not None:
            h = torch.cat([self.virtual_node.expand(len(h), 1, -1), h], dim=1)
            mask = F.pad(mask, (1, 0), value=True)
        # Computed once and shared by all layers.
        relation = self.relations(batch)
        tables = RelationTables(**{name: table() for name, table in self.tables.items()})
        attentions = []
        for layer in self.layers:
            h = layer(h, relation, tables, mask=mask, return_attention=return_attention)
            if return_attention:
                h, attention = h
                attentions.append(attention)
        return self.norm(h), torch.stack(attentions, dim=1) if return_attention else None

    def embed(self, batch: GraphBatch) -> Tensor:
        """What each node is, ``[B, N, d]``; in training with noise."""
        if self.config.num_node_types:
            h = self.embedding(category_rows(batch.x, "x", self.config.num_node_types)).sum(dim=-2)
        else:
            h = self.embedding(self._numbers(batch.x))
        if self.training and self.config.node_noise:
            h = h + torch.empty_like(h).uniform_(-1, 1) * self.config.node_noise
        return h

    def _numbers(self, x: Tensor) -> Tensor:
        columns = self.config.num_node_features
        if not x.is_floating_point() or x.shape[-1] != columns:
            raise ValueError(
                f"x has {x.shape[-1]} columns of {x.dtype}; expected {columns} of floating point."
            )
        return x.to(self.embedding.weight.dtype)

    def _readout(self, h: Tensor, mask: Tensor) -> Tensor:
        """What the head reads: each node, or of a graph [VNode] or the nodes' mean."""
        if self.config.target == "node":
            return h if self.virtual_node is None else h[:, 1:]
        return mean_pool(h, mask) if self.virtual_node is None else h[:, 0]


def _check(config: GRPEConfig) -> None:
    kinds(config)
    counts = ("num_targets", "d_model", "num_heads", "num_layers")
    counts += () if config.d_hidden is None else ("d_hidden",)
    at_least(1, **{name: getattr(config, name) for name in counts})
    none = ("num_node_types", "num_node_features", "max_distance")
    at_least(0, **{name: getattr(config, name) for name in none})
    exactly_one(num_node_types=config.num_node_types, num_node_features=config.num_node_features)
    if config.target not in ("graph", "node"):
        raise ValueError(f"target is {config.target!r}; expected 'graph' or 'node'.")
    terms = config.terms if isinstance(config.terms, tuple) else (None,)
    if not {*terms} <= {*TERMS} or len({*terms}) != len(terms):
        raise ValueError(
            f"terms is {config.terms!r}; expected a tuple of some of {', '.join(TERMS)}, once."
        )
    _check_edges(config)
    if not 0 <= config.node_noise < math.inf:
        raise ValueError(f"node_noise is {config.node_noise}; expected a number from 0 on.")


def _check_edges(config: GRPEConfig) -> None:
    types, step = config.num_edge_types, config.edge_step
    for count in types:
        at_least(1, num_edge_types=count)
    if step is not None:
        positive(edge_step=step)
    if step is not None and len(types) != 1:
        raise ValueError(
            f"edge_step is {step} and num_edge_types {types}; expected a number above 0 and how "
            "many types come of one column."
        )
