r"""GRPE (Park et al., 2022; "GSA" in its first version): relations enter logits and values.

Two nodes have a distance, and perhaps an edge. The paper gives each a vector, and adds both:
:math:`\mathcal{P}_{\psi(i,j)} + \mathcal{E}_{e_{ij}}`. Only a few of these sums can occur, because
only pairs at distance 1 have an edge. They are the *relations* of a model, T in all. Each term has
a table of its own, with one row for each relation. In the attention's logits a pair's row of one
table is multiplied with the query (Eq. 6), and that of another with the key (Eq. 7). The row of a
third table is added to the value (Eq. 9).

Equations, sections and tables are those of the first version. "The authors' code" is that of the
repository lenscloth/GRPE.

Shapes:
    B: graphs in a batch
    N: nodes of the largest graph; smaller graphs are padded
    H: attention heads
    d: width of a node's vector
    K: width of a head, d / H
    E: types of edges
    L: longest distance with a vector of its own
    T: relations
    F: columns of features
    C: targets, or classes, of a prediction

[VNode], where there is one, is token 0 of 1 + N. Row i is the query's: node i receives from node j,
by the relation of the way from i to j.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.compiler import is_compiling

from gtcourse.graphs.arguments import check_choice
from gtcourse.graphs.batch import UNREACHABLE, GraphBatch
from gtcourse.models.attention import AttentionProjections, FeedForward, over_heads
from gtcourse.models.categories import (
    CategoryEmbedding,
    can_read,
    check_columns,
    feature_embedding,
    real_edge_features,
    real_node_features,
    unknown_category,
)
from gtcourse.models.config import (
    Categories,
    GraphConfig,
    NotNegativeFloat,
    NotNegativeInt,
    PositiveFloat,
    PositiveInt,
    Probability,
    check_given,
)
from gtcourse.models.fused import check_numba

KeyContext = Literal["key_column", "query_row"]

OLD_TERMS = {"query": "query_context", "key": "key_context"}
"""What releases before 0.10 called the terms of Eqs. 6 and 7, and wrote about a run."""


@dataclass(frozen=True)
class GRPEConfig(GraphConfig):
    """Data, sizes and variants. The defaults are the small model of Table 1 for ZINC.

    The categories are those of ZINC and of the molecules that come with the package.
    """

    num_node_types: Categories = (28,)  #: categories in each column of x
    num_node_features: NotNegativeInt = 0  #: columns of x, if it holds numbers instead
    #: categories in each column of edge_attr; each combination of them is a type of edge
    num_edge_types: Categories = (4,)
    #: for one column of floats, the width of a type, 0.1 in the paper; num_edge_types is then the
    #: number of types, of which the first has all values below 0 and the last all larger
    #: ones, too; else None
    edge_step: PositiveFloat | None = None
    target: Literal["graph", "node"] = "graph"  #: what gets a prediction
    num_targets: PositiveInt = 1  #: numbers in a prediction, C
    d_model: PositiveInt = 80  #: width of a node's vector, d
    num_heads: PositiveInt = 8  #: attention heads, H
    num_layers: PositiveInt = 12  #: layers
    d_hidden: PositiveInt | None = None  #: inner width of the feed-forward network; by default d
    #: longest distance with a vector of its own, L; may be set only with a term or the bias
    max_distance: NotNegativeInt = 5
    #: where relations enter: the query context (Eq. 6), the key context (Eq. 7), the values (Eq. 9)
    terms: tuple[Literal["query_context", "key_context", "value"], ...] = (
        "query_context",
        "key_context",
        "value",
    )
    bias: bool = False  #: whether each relation has a scalar for each head (Eq. 4)
    #: "key_column" as in Eq. 7, or "query_row" as in the authors' code; may be set only if terms
    #: has "key_context"
    key_context: KeyContext = "key_column"
    virtual_node: bool = True  #: [VNode], from which a graph is read; False for the nodes' mean
    dropout: Probability = 0.1  #: after attention and after the feed-forward network
    attention_dropout: Probability = 0.1  #: of attention weights
    #: in training, bound of uniform noise on the embeddings; 0.2 in the authors' code
    node_noise: NotNegativeFloat = 0.0
    #: how the layers are computed: "direct" as the equations read, or "fused", the same function on
    #: rows without padding, with loops that numba compiles for the CPU
    #: (:mod:`gtcourse.models.grpe_fused`); "fused" computes as "direct" does where the attention is
    #: asked for, and in a compiled model
    form: Literal["direct", "fused"] = "direct"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.edge_step is not None and len(self.num_edge_types) != 1:
            raise ValueError(
                f"edge_step is {self.edge_step} and num_edge_types is {self.num_edge_types}; "
                "expected the number of types of the only column, such as num_edge_types=(11,), or "
                "edge_step=None."
            )
        if "key_context" not in self.terms and self.key_context != GRPEConfig.key_context:
            raise ValueError(
                f"key_context is {self.key_context!r} and terms is {self.terms}; expected terms "
                f"with 'key_context', or key_context={GRPEConfig.key_context!r}, the default."
            )
        has_relations = self.bias or len(self.terms) > 0
        if not has_relations and self.max_distance != GRPEConfig.max_distance:
            raise ValueError(
                f"max_distance is {self.max_distance} with terms=() and bias=False, where no "
                f"relation is read; expected a term, bias=True, or "
                f"max_distance={GRPEConfig.max_distance}, the default."
            )

    @classmethod
    def complete(cls, recorded: Mapping[str, str]) -> dict[str, str]:
        """Recorded fields as today's release writes them, with today's names of the terms.

        Until 0.17 ``key_context`` and ``max_distance`` could be set where nothing reads them.
        """
        fields = super().complete(recorded)
        terms = re.sub(r"'(query|key)'", lambda name: repr(OLD_TERMS[name[1]]), fields["terms"])
        fields["terms"] = terms
        if "'key_context'" not in terms:
            fields["key_context"] = repr(cls.key_context)
        if terms == "()" and fields["bias"] == "False":
            fields["max_distance"] = repr(cls.max_distance)
        return fields


# Sections 4.1 and 4.2: the layer


class RelationTables(NamedTuple):
    """A vector for each of T relations, ``[T, d]``; None for a term that is left out.

    The names are the paper's: the query context multiplies a query with the table called key, as
    the dot product multiplies it with a key.
    """

    key: Tensor | None = None  #: multiplied with queries in the query context (Eq. 6)
    query: Tensor | None = None  #: multiplied with keys in the key context (Eq. 7)
    value: Tensor | None = None  #: added to values (Eq. 9)
    bias: Tensor | None = None  #: added to logits (Eq. 4), ``[T, H]``


class GRPEAttention(AttentionProjections):
    r"""Graph self-attention: the relation of i to j enters logits and values.

    With r for the relation :math:`r(i, j)`, and the tables' vectors for each relation,

    .. math::
        a_{ij} &= \frac{q_i \cdot k_j + q_i \cdot R^\text{key}_{r} + k_j \cdot R^\text{query}_{r}}
                  {\sqrt{d / H}}, \\
        z_i &= \sum_j \hat a_{ij} \bigl(v_j + R^\text{value}_{r}\bigr),
        \qquad \hat a_i = \operatorname{softmax}(a_i).

    (GRPE, Eqs. 6 to 9; a table of scalars is GRPE, Eq. 4.) The products of all queries with all T
    rows of a table are one matrix ``[N, T]``, from which each pair takes the entry of its relation;
    no pair ever has a vector of its own. Differs from the paper, which writes :math:`\sqrt{d_z}`
    for a single head.

    Args:
        d_model: Width of a node's vector, d.
        num_heads: Attention heads, H, which have to divide d.
        dropout: Share of the attention weights that are set to zero in training.
        key_context: "key_column" for GRPE, Eq. 7; "query_row" for what the authors' code computes
            in its place, :math:`k_i \cdot R^\text{query}_r`, with the key of node i.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        dropout: float = 0.0,
        key_context: KeyContext = "key_column",
    ):
        check_choice("key_context", key_context, ("key_column", "query_row"))
        super().__init__(d_model, num_heads, dropout=dropout)
        self.key_context = key_context

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, key_context={self.key_context!r}"

    def reset_parameters(self) -> None:
        """PyTorch's own initialisation, as in the authors' code."""
        for projection in (self.query, self.key, self.value, self.output):
            projection.reset_parameters()

    def forward(
        self,
        x: Tensor,
        relation: Tensor,
        tables: RelationTables,
        *,
        mask: Tensor | None = None,
        return_attention: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        r"""Lets the nodes attend to each other.

        Args:
            x: Nodes, ``[B, N, d]``.
            relation: The relation of each pair, ``[B, N, N]``, 0 to T - 1.
            tables: The vectors of the relations.
            mask: True where attention may go: ``[B, N]`` or ``[B, 1, N]`` for keys, ``[B, N, N]``
                for pairs.
            return_attention: Also return the probabilities before dropout.

        Returns:
            ``[B, N, d]``, zeros before the output projection for a query without keys; with
            ``return_attention`` also :math:`\hat a`, ``[B, H, N, N]``, zeros outside the mask.

        Raises:
            ValueError: The mask is not bool, has none of these shapes, or has two axes where B = N,
                so that it could be of keys or of pairs.
        """
        query, key, value = self.project(x, x, x)  # [B, H, N, K] each
        # Divided by the root before the product, which could be too large for float16.
        query = query * query.shape[-1] ** -0.5  # [B, H, N, K]
        pair = relation[:, None].expand(-1, self.num_heads, -1, -1)  # [B, H, N, N], of each pair
        mask = over_heads(mask, x, num_heads=self.num_heads)  # [B, 1, N, N] or [B, 1, 1, N]

        logits = query @ key.mT  # [B, H, N, N]
        for context in self.contexts(query, key, pair, tables):
            logits += context  # Eq. 8; in place, because no gradient reads these logits
        if mask is not None:
            # Finite, so that a row without keys has a softmax; its result is set to zero below.
            logits.masked_fill_(~mask, torch.finfo(logits.dtype).min)
        attention = logits.softmax(dim=-1)  # [B, H, N, N]
        weights = F.dropout(attention, self.dropout, self.training)

        z = weights @ value  # [B, H, N, K]
        if tables.value is not None:
            # Eq. 9: a row's weights are added up for each relation, and then multiplied with the
            # relation's vector.
            vectors = self.split_heads(tables.value)  # [H, T, K]
            zeros = weights.new_zeros(*weights.shape[:-1], len(tables.value))  # [B, H, N, T]
            by_relation = zeros.scatter_add(3, pair, weights)  # [B, H, N, T]
            z = z + by_relation @ vectors  # [B, H, N, K]
        if mask is not None:
            has_keys = mask.any(dim=-1, keepdim=True)  # [B, 1, N, 1] or [B, 1, 1, 1]
            z = z.masked_fill(~has_keys, 0.0)
        z = self.output(self.join_heads(z))  # [B, N, d]
        if not return_attention:
            return z
        if mask is not None:
            attention = attention.masked_fill(~mask, 0.0)  # a row without keys was uniform
        return z, attention

    def contexts(
        self, query: Tensor, key: Tensor, pair: Tensor, tables: RelationTables
    ) -> Iterator[Tensor]:
        """The terms that are added to the logits, ``[B, H, N, N]`` each.

        A product of all queries, or keys, with the vectors of all T relations is computed first.
        ``gather`` then takes the entry of its relation for each pair.

        Args:
            query: Queries, already divided by the root of K, ``[B, H, N, K]``.
            key: Keys, ``[B, H, N, K]``.
            pair: The relation of each pair, ``[B, H, N, N]``.
            tables: The vectors of the relations.
        """
        if tables.key is not None:
            vectors = self.split_heads(tables.key)  # [H, T, K]
            of_relations = query @ vectors.mT  # [B, H, N, T], query i with each relation
            yield of_relations.gather(3, pair)  # Eq. 6
        if tables.query is not None:
            # The queries have been divided by the root, but the keys have not.
            vectors = self.split_heads(tables.query) * key.shape[-1] ** -0.5  # [H, T, K]
            if self.key_context == "query_row":
                of_relations = key @ vectors.mT  # [B, H, N, T], key i with each relation
                yield of_relations.gather(3, pair)  # with key i, as in the authors' code
            else:
                of_relations = vectors @ key.mT  # [B, H, T, N], each relation with key j
                yield of_relations.gather(2, pair)  # Eq. 7
        if tables.bias is not None:
            scalars = tables.bias.T[None, :, None]  # [1, H, 1, T]
            scalars = scalars.expand(*pair.shape[:3], -1)  # [B, H, N, T]
            yield scalars.gather(3, pair)  # Eq. 4, not divided by the root


class GRPELayer(nn.Module):
    """Graph self-attention, then a feed-forward network, each behind a LayerNorm.

    Dropout acts on what each of the two adds, as in the authors' code; in the paper it acts on "the
    input to feed-forward neural networks".

    Args:
        d_model: Width of a node's vector, d.
        num_heads: Attention heads, H.
        d_hidden: Inner width of the feed-forward network; by default d.
        dropout: After attention and after the feed-forward network.
        attention_dropout: Of attention weights.
        key_context: As in :class:`GRPEAttention`.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_hidden: int | None = None,
        *,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        key_context: KeyContext = "key_column",
    ):
        super().__init__()
        self.attention = GRPEAttention(
            d_model, num_heads, dropout=attention_dropout, key_context=key_context
        )
        d_hidden = d_model if d_hidden is None else d_hidden
        self.feed_forward = FeedForward(d_model, d_hidden, activation="gelu")
        self.attention_norm = nn.LayerNorm(d_model)
        self.feed_forward_norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        h: Tensor,
        relation: Tensor,
        tables: RelationTables,
        *,
        mask: Tensor | None = None,
        return_attention: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Updates the nodes, ``[B, N, d]``.

        The arguments and the results are those of :meth:`GRPEAttention.forward`.
        """
        normed = self.attention_norm(h)
        if return_attention:
            z, attention = self.attention(
                normed, relation, tables, mask=mask, return_attention=True
            )
        else:
            z = self.attention(normed, relation, tables, mask=mask)
            attention = None
        h = h + self.dropout(z)
        h = h + self.dropout(self.feed_forward(self.feed_forward_norm(h)))
        return (h, attention) if return_attention else h


# Section 4.3: relations


class RelationEmbedding(nn.Module):
    r"""The vectors :math:`\mathcal{P}_{\psi} + \mathcal{E}_{e}` of all relations, ``[T, width]``.

    The rows are in the order of :class:`Relations`.

    Args:
        num_edge_types: Types of edges, E.
        max_distance: Longest distance with a vector of its own, L.
        width: Width of a vector, d, or H for scalars.
    """

    def __init__(self, num_edge_types: int, max_distance: int, width: int):
        super().__init__()
        self.max_distance = max_distance
        self.distances = nn.Embedding(max_distance + 4, width)  # 0 to L, far, unreachable, virtual
        self.edges = nn.Embedding(num_edge_types + 3, width)  # 0 to E - 1, no edge, self, virtual

    def forward(self) -> Tensor:
        """Adds up the two vectors of each relation, ``[T, width]``."""
        P = self.distances.weight  # [L + 4, width], the paper's table of distances
        edge_types = self.edges.weight[:-3]  # [E, width]
        no_edge, self_edge, virtual_edge = self.edges.weight[-3:]  # [width] each
        itself = P[:1] + self_edge  # [1, width]
        neighbours = P[1:2] + edge_types  # [E, width]
        first_without_edge = min(2, self.max_distance + 1)  # 1 for L = 0, where distance 1 is far
        others = P[first_without_edge:-1] + no_edge  # distances 2 to L, far and unreachable
        virtual = P[-1:] + virtual_edge  # [1, width]
        return torch.cat([itself, neighbours, others, virtual])  # [T, width]


class Relations(nn.Module):
    """The relation of each pair of tokens, 0 to T - 1.

    =====================  =====================================
    0                      a token and itself, [VNode] included
    1 to E                 an edge of each type
    E + 1 to E + L - 1     distances 2 to L
    T - 3                  a distance above L
    T - 2                  no path
    T - 1                  [VNode] and a node, in both directions
    =====================  =====================================

    Distances are those of the graph without [VNode], exact up to L + 1.

    Differs from the authors' code. There distances ignore the directions of edges, a distance of L
    is far already, a node and itself have the vector of "no edge", and a bond that is listed twice
    is two steps long.

    Args:
        edge_types: Number of categories of each column of edge_attr; empty if all edges are alike.
        edge_step: For one column of floats, the width of a type; else None.
        max_distance: Longest distance with a vector of its own, L.
        virtual_node: Whether there is a [VNode].
    """

    def __init__(
        self,
        edge_types: tuple[int, ...],
        edge_step: float | None,
        max_distance: int,
        virtual_node: bool,
    ):
        super().__init__()
        self.edge_types = edge_types
        self.edge_step = edge_step
        self.virtual_node = virtual_node
        self.num_edge_types = math.prod(edge_types)  # E, all combinations of categories
        distances_without_edge = max(max_distance - 1, 0)  # 2 to L
        self.num_relations = 1 + self.num_edge_types + distances_without_edge + 3  # T

    def extra_repr(self) -> str:
        return f"edge_types={self.edge_types}, num_relations={self.num_relations}"

    def forward(self, batch: GraphBatch) -> Tensor:
        """Reads the encoding "distance" and the features of edges.

        Returns ``[B, N, N]``, or ``[B, 1 + N, 1 + N]`` with [VNode].
        """
        far = self.num_relations - 3
        unreachable = far + 1
        virtual = far + 2
        distance = batch.encoding("distance").long()  # [B, N, N]
        # Distance 2 is relation E + 1, distance 3 is E + 2, and so on. Pairs with an edge, without
        # a path, and of a token with itself are replaced below.
        first_without_edge = self.num_edge_types + 1  # far for L = 0, where a distance may be 1
        relation = (distance + self.num_edge_types - 1).clamp(first_without_edge, far)  # [B, N, N]
        relation = relation.masked_fill(distance == UNREACHABLE, unreachable)
        relation = torch.where(batch.adjacency, 1 + self.edge_type(batch), relation)
        if self.virtual_node:
            relation = F.pad(relation, (1, 0, 1, 0), value=virtual)  # [B, 1 + N, 1 + N]
        tokens = relation.shape[-1]
        itself = torch.eye(tokens, dtype=torch.bool, device=relation.device)
        return relation.masked_fill(itself, 0)  # also where the graph has a loop

    def edge_type(self, batch: GraphBatch) -> Tensor:
        """The type of each edge, ``[B, N, N]``, 0 to E - 1; 0 where there is no edge."""
        if not self.edge_types:
            return torch.zeros_like(batch.adjacency, dtype=torch.long)
        values = real_edge_features(batch)  # [B, N, N, F]
        self.check_columns(values)
        if self.edge_step is not None:
            # In floating point 0.3 * 10 is 3, but 0.3 / 0.1 is less.
            types = values[..., 0] * (1 / self.edge_step)
            return types.clamp(0, self.num_edge_types - 1).long()
        if can_read(values):
            self.check(values)
        # The columns are the digits of a number, the first one least significant.
        place_value = 1
        types = torch.zeros_like(values[..., 0], dtype=torch.long)  # [B, N, N]
        for column, size in zip(values.long().unbind(-1), self.edge_types, strict=True):
            # An unknown category has some row of the tables. GRPE.encode makes its graph NaN.
            digit = column.clamp(0, size - 1)  # [B, N, N]
            types = types + place_value * digit
            place_value = place_value * size
        return types

    def has_unknown(self, batch: GraphBatch) -> Tensor:
        """True for each graph with an edge of an unknown category, ``[B]``."""
        if not self.edge_types or self.edge_step is not None:
            return batch.mask.new_zeros(batch.mask.shape[0])  # no graph has one
        is_unknown = self.unknown(real_edge_features(batch))  # [B, N, N, F]
        return is_unknown.flatten(start_dim=1).any(dim=1)

    def unknown(self, values: Tensor) -> Tensor:
        """True for each category that is not in its column's vocabulary, ``[..., F]``."""
        columns = [
            (column < 0) | (column >= size)
            for column, size in zip(values.long().unbind(-1), self.edge_types, strict=True)
        ]
        return torch.stack(columns, dim=-1)

    def check(self, edge_attr: Tensor) -> None:
        """Raises a ValueError if the features of an edge, ``[..., F]``, have no type."""
        if not self.edge_types:
            return
        self.check_columns(edge_attr)
        if self.edge_step is not None:
            return
        is_unknown = self.unknown(edge_attr)
        if bool(is_unknown.any()):
            sentence = unknown_category(edge_attr, is_unknown, self.edge_types, "edge_attr")
            raise ValueError(sentence)

    def check_columns(self, edge_attr: Tensor) -> None:
        """Raises a ValueError for a wrong dtype or number of columns; it reads no value."""
        if self.edge_step is None and edge_attr.is_floating_point():
            raise ValueError(
                f"edge_attr has dtype {edge_attr.dtype}; expected whole numbers (categories), or "
                "edge_step, the width of a type, for one column of floats."
            )
        if self.edge_step is not None and not edge_attr.is_floating_point():
            raise ValueError(
                f"edge_attr has dtype {edge_attr.dtype}; expected floats, of which edge_step, "
                f"{self.edge_step}, is the width of a type, or edge_step=None for categories."
            )
        if self.edge_step is None:
            check_columns(edge_attr, self.edge_types, "edge_attr")
        elif edge_attr.shape[-1] != 1:
            raise ValueError(f"edge_attr has {edge_attr.shape[-1]} columns; expected 1.")


# The model


class GRPE(nn.Module):
    """The complete model: embeddings, [VNode], layers that share the tables, norm, linear head.

    Args:
        config: Data, sizes and variants.
    """

    def __init__(self, config: GRPEConfig):
        super().__init__()
        check_given(self, config, GRPEConfig)
        self.config = config
        if config.form == "fused":
            check_numba(other_form="direct")
        d_model = config.d_model
        self.embedding = feature_embedding(
            "node", config.num_node_types, config.num_node_features, d_model, bias=True
        )
        self.virtual_node: nn.Parameter | None = None
        if config.virtual_node:
            self.virtual_node = nn.Parameter(torch.zeros(d_model))
        self.relations = Relations(
            config.num_edge_types, config.edge_step, config.max_distance, config.virtual_node
        )
        edge_types = self.relations.num_edge_types
        distances = config.max_distance
        self.tables = nn.ModuleDict()
        # A key is multiplied with the table called query, and a query with the one called key.
        if "key_context" in config.terms:  # Eq. 7
            self.tables["query"] = RelationEmbedding(edge_types, distances, d_model)
        if "query_context" in config.terms:  # Eq. 6
            self.tables["key"] = RelationEmbedding(edge_types, distances, d_model)
        if "value" in config.terms:  # Eq. 9
            self.tables["value"] = RelationEmbedding(edge_types, distances, d_model)
        if config.bias:  # Eq. 4
            self.tables["bias"] = RelationEmbedding(edge_types, distances, config.num_heads)
        self.layers = nn.ModuleList(
            GRPELayer(
                d_model,
                config.num_heads,
                config.d_hidden,
                dropout=config.dropout,
                attention_dropout=config.attention_dropout,
                key_context=config.key_context,
            )
            for _ in range(config.num_layers)
        )
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, config.num_targets)

    def reset_parameters(self) -> None:
        """Draws all weights anew, by PyTorch's defaults, as in the authors' code; [VNode] is 0."""
        # The projections of the attention are linear maps, too.
        kinds = CategoryEmbedding | nn.Linear | nn.Embedding | nn.LayerNorm
        for module in self.modules():
            if isinstance(module, kinds):
                module.reset_parameters()
        if self.virtual_node is not None:
            nn.init.zeros_(self.virtual_node)

    def check_features(self, x: Tensor, edge_attr: Tensor | None) -> None:
        """Raises a ValueError if a node, ``x [..., F]``, or an edge has an unknown category."""
        self.embedding.check(x)
        if edge_attr is not None:
            self.relations.check(edge_attr)

    def forward(
        self, batch: GraphBatch, *, return_attention: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Predicts the target of each graph or node.

        Args:
            batch: Graphs, with the encoding of ``AddShortestPaths()``.
            return_attention: Also return the attention of all layers.

        Returns:
            The prediction, ``[B, C]`` for graphs or ``[B, N, C]`` for nodes, without the last axis
            if C is 1; at padding it means nothing. With ``return_attention`` also ``[B, layers, H,
            1 + N, 1 + N]``, without [VNode] N for 1 + N.

        Raises:
            ValueError: An encoding or the features of edges are missing, or, on the CPU, a
                category is unknown.
        """
        h, attention = self.encode(batch, return_attention)
        if self.config.target == "node":
            read = h if self.virtual_node is None else h[:, 1:]  # [B, N, d]
        elif self.virtual_node is not None:
            read = h[:, 0]  # [B, d]
        else:
            is_real = batch.mask[..., None].to(h.dtype)  # [B, N, 1]
            read = (h * is_real).sum(dim=1) / is_real.sum(dim=1).clamp(min=1)  # [B, d]
        prediction = self.head(read)
        if self.config.num_targets == 1:
            prediction = prediction.squeeze(-1)
        return prediction if attention is None else (prediction, attention)

    def encode(
        self, batch: GraphBatch, return_attention: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """The tokens after the layers and the norm, ``[B, 1 + N, d]``; all attention, or None.

        Without [VNode] there are N tokens.
        """
        h = self.embed(batch)  # [B, N, d]
        mask = batch.mask  # [B, N]
        if self.virtual_node is not None:
            virtual_node = self.virtual_node.expand(h.shape[0], 1, -1)  # [B, 1, d]
            h = torch.cat([virtual_node, h], dim=1)  # [B, 1 + N, d]
            mask = F.pad(mask, (1, 0), value=True)  # [B, 1 + N]
        if not can_read(batch.x):
            # Nothing can be raised here. The prediction for a graph with an edge of an unknown
            # category becomes NaN instead.
            has_unknown = self.relations.has_unknown(batch)  # [B]
            h = h.masked_fill(has_unknown[:, None, None], torch.nan)
        # Computed once and shared by all layers.
        relation = self.relations(batch)  # [B, 1 + N, 1 + N]
        tables = RelationTables(**{name: table() for name, table in self.tables.items()})
        # The fused loops do not keep the attention, and torch.compile cannot read them.
        if self.config.form == "fused" and not return_attention and not is_compiling():
            from gtcourse.models import grpe_fused  # needs numba

            return self.norm(grpe_fused.encode(self, h, relation, tables, mask)), None
        # With an axis for queries, because [B, 1 + N] could be of pairs if B = 1 + N.
        real_keys = mask[:, None]  # [B, 1, 1 + N]
        attentions = []
        for layer in self.layers:
            if return_attention:
                h, attention = layer(h, relation, tables, mask=real_keys, return_attention=True)
                attentions.append(attention)
            else:
                h = layer(h, relation, tables, mask=real_keys)
        h = self.norm(h)
        if not return_attention:
            return h, None
        return h, torch.stack(attentions, dim=1)  # [B, layers, H, 1 + N, 1 + N]

    def embed(self, batch: GraphBatch) -> Tensor:
        """The nodes' embeddings, ``[B, N, d]``; in training with noise, but not on [VNode]."""
        h = self.embedding(real_node_features(batch))  # [B, N, d]
        if self.training and self.config.node_noise > 0:
            noise = torch.empty_like(h).uniform_(-1, 1)  # [B, N, d]
            h = h + noise * self.config.node_noise
        return h
