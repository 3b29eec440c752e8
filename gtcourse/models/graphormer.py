"""Graphormer (Ying et al., 2021): a Transformer whose attention logits depend on the graph.

Shapes: B graphs, N nodes (padded), H heads, d width, L edges of a path that are read, F columns of
categories. [VNode] is token 0 of N + 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gtcourse.graphs.batch import UNREACHABLE, GraphBatch
from gtcourse.models.attention import MultiHeadAttention, run_layers
from gtcourse.models.embeddings import (
    CategoryEmbedding,
    EdgeValues,
    NodeEdges,
    mean_over_paths,
    mlp,
    squeeze_one,
)


@dataclass(frozen=True)
class GraphormerConfig:
    """The slim model of Table 10 by default, with tables for the embedded molecules and ZINC.

    Attributes:
        num_node_types, num_edge_types: rows of the tables; value v of column c has row v + 512 c.
        d_hidden: inner width of the feed-forward network; by default d, as in the paper.
        dropout: after the feed-forward network and, as in the authors' code, after attention.
        max_distance, max_in_degree, max_out_degree: what is larger is looked up as these.
        path_positions: vectors :math:`w_n` of Eq. 7; max_path_length: edges that are read.
        centrality, spatial: whether Eqs. 5 and 6 are used; edges: their features' place in Table 5.
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
    edges: Literal["bias", "node", "aggregation"] | None = "bias"


class Graphormer(nn.Module):
    """The model: embeddings, [VNode], pre-LN layers that share one bias, a linear head.

    Encodings in place of the configuration's map a batch to ``[B, N, d]``, or ``[B, H, N, N]``.

    Shapes:
        batch.encodings: of AddDegrees, AddShortestPaths and AddPathEdges (or AddPathTree)
        perturbation: ``[B, N, d]``, added to the node embeddings (FLAG)
        returns: ``[B]``, or ``[B, T]`` for T targets above 1; with ``return_attention`` also
            ``[B, L, H, N + 1, N + 1]``, where row and column 0 are [VNode]'s
    """

    def __init__(
        self, config: GraphormerConfig, node_encodings: Iterable[nn.Module] | None = None,
        pair_encodings: Iterable[nn.Module] | None = None,
    ):  # fmt: skip
        super().__init__()
        self.config = c = config
        self.embedding = CategoryEmbedding(c.num_node_types, c.d_model)
        self.virtual_node = nn.Parameter(torch.empty(c.d_model))
        nodes, pairs = [], []
        if c.centrality:
            nodes.append(CentralityEncoding(c.max_in_degree, c.max_out_degree, c.d_model))
        if c.edges == "node":
            nodes.append(NodeEdges(c.num_edge_types, c.d_model))
        if c.spatial:
            pairs.append(SpatialEncoding(c.num_heads, c.max_distance))
        if c.edges == "bias":
            lengths = c.path_positions, c.max_path_length
            pairs.append(EdgeEncoding(c.num_heads, c.num_edge_types, *lengths))
        defaults = nodes + pairs
        nodes = nodes if node_encodings is None else node_encodings
        pairs = pairs if pair_encodings is None else [*pair_encodings]
        self.node_encodings = nn.ModuleList(nodes)
        self.bias = PairBias(c.num_heads, pairs) if pairs else None
        self.dropout = nn.Dropout(c.input_dropout)
        self.layers = nn.ModuleList(
            GraphormerLayer(
                c.d_model, c.num_heads, c.d_hidden, dropout=c.dropout,
                attention_dropout=c.attention_dropout,
                num_edge_types=c.num_edge_types if c.edges == "aggregation" else 0,
            )
            for _ in range(c.num_layers)
        )  # fmt: skip
        self.norm = nn.LayerNorm(c.d_model)
        self.head = nn.Linear(c.d_model, c.num_targets)
        self.reset_parameters(defaults)

    def reset_parameters(self, encodings: Iterable[nn.Module] = ()) -> None:
        """As the authors: small, and smaller in deeper models. Encodings from outside stay."""
        nn.init.normal_(self.virtual_node, std=0.02)
        for part in (self.embedding, self.layers, self.head, *encodings):
            for module in part.modules():
                if isinstance(module, nn.Embedding):
                    nn.init.normal_(module.weight, std=0.02)
                elif isinstance(module, nn.Linear):
                    nn.init.normal_(module.weight, std=0.02 / self.config.num_layers**0.5)
                    nn.init.zeros_(module.bias)

    def forward(self, batch: GraphBatch, *, perturbation=None, return_attention: bool = False):
        h, attention = self.encode(batch, perturbation, return_attention)
        prediction = squeeze_one(self.head(h[:, 0]))  # the graph is what [VNode] has gathered
        return (prediction, attention) if return_attention else prediction

    def encode(self, batch: GraphBatch, perturbation: Tensor | None = None, return_attention=False):
        """[VNode] and the nodes after all layers, ``[B, N + 1, d]``, and the attention."""
        h = self.embed(batch) if perturbation is None else self.embed(batch) + perturbation
        h = self.dropout(torch.cat([self.virtual_node.expand(h.shape[0], 1, -1), h], dim=1))
        mask, bias = F.pad(batch.mask, (1, 0), value=True), None
        # Computed once, padded keys included, and shared by all layers. Rows of -inf alone would be
        # NaN after the softmax; there are none, because every token may attend to [VNode].
        if self.bias is not None:
            bias, mask = self.bias(batch).masked_fill(~mask[:, None, None, :], -torch.inf), None
        inputs = {"mask": mask, "edges": batch, "return_attention": return_attention}
        h, attention = run_layers(self.layers, h, bias, **inputs)
        return self.norm(h), attention

    def embed(self, batch: GraphBatch) -> Tensor:
        """Node embeddings and encodings, ``[B, N, d]`` (Eq. 5)."""
        h = self.embedding(batch.x)
        for encoding in self.node_encodings:
            h = h + encoding(batch)
        return h


class GraphormerLayer(nn.Module):
    r"""Attention with a bias, then a feed-forward network (Graphormer, Eqs. 8 and 9).

    .. math::
        h' = \operatorname{MHA}(\operatorname{LN}(h)) + h, \qquad
        h'' = \operatorname{FFN}(\operatorname{LN}(h')) + h'

    With weights set by hand it is a step of GIN, GCN or GraphSAGE (Graphormer, Fact 1), or the mean
    of all nodes (Graphormer, Fact 2). With ``num_edge_types`` the features of the edges of a batch,
    ``edges``, join the values (Table 5).

    Shapes:
        h: ``[B, N, d]``; bias: ``[B, H, N, N]``; mask: ``[B, N]`` or ``[B, N, N]``
        returns: ``[B, N, d]``; with ``return_attention`` also ``[B, H, N, N]``
    """

    def __init__(
        self, d_model: int, num_heads: int, d_hidden: int | None = None, *, dropout: float = 0.0,
        attention_dropout: float = 0.0, num_edge_types: int = 0
    ):  # fmt: skip
        super().__init__()
        self.attention = GraphormerAttention(d_model, num_heads, dropout=attention_dropout)
        self.edge_values = EdgeValues(num_edge_types, d_model) if num_edge_types else None
        self.feed_forward = mlp(d_model, d_hidden or d_model, d_model, activation=nn.GELU)
        self.attention_norm = nn.LayerNorm(d_model)
        self.feed_forward_norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, h: Tensor, bias: Tensor | None = None, *, mask: Tensor | None = None, edges=None,
        return_attention: bool = False
    ):  # fmt: skip
        needed = return_attention or self.edge_values is not None
        z = self.attention(self.attention_norm(h), bias, mask=mask, return_attention=needed)
        z, attention = z if needed else (z, None)
        if self.edge_values is not None:
            z = z + self.edge_values(attention, edges)
        h = h + self.dropout(z)
        h = h + self.dropout(self.feed_forward(self.feed_forward_norm(h)))
        return (h, attention) if return_attention else h


class GraphormerAttention(MultiHeadAttention):
    r"""Self-attention whose logits are shifted for each pair (Graphormer, Eqs. 6 and 7).

    .. math:: A_{ij} = \frac{(h_i W_Q)(h_j W_K)^T}{\sqrt{d / H}} + b_{\phi(v_i, v_j)} + c_{ij}

    ``bias`` is b + c, ``[B, H, N, N]``. Differs from the paper, which writes sqrt(d): its code has
    sqrt(d / H), as heads need it.
    """

    def forward(self, h: Tensor, bias: Tensor | None = None, **options):
        return super().forward(h, bias=bias, **options)


class CentralityEncoding(nn.Module):
    r"""A vector for the number of edges into a node, and one for those out of it.

    .. math:: h_i^{(0)} = x_i + z^-_{\deg^-(v_i)} + z^+_{\deg^+(v_i)}

    (Graphormer, Eq. 5.) ``[B, N, d]``. Nodes beyond the largest degree share its vectors. Differs
    from the authors' code, which looks both up by the same degree.
    """

    def __init__(self, max_in_degree: int, max_out_degree: int, d_model: int):
        super().__init__()
        self.incoming = nn.Embedding(max_in_degree + 1, d_model)
        self.outgoing = nn.Embedding(max_out_degree + 1, d_model)

    def forward(self, batch: GraphBatch) -> Tensor:
        incoming, outgoing = (batch.encodings[name] for name in ("in_degree", "out_degree"))
        z_in = self.incoming(incoming.clamp(max=self.incoming.num_embeddings - 1))
        return z_in + self.outgoing(outgoing.clamp(max=self.outgoing.num_embeddings - 1))


class SpatialEncoding(nn.Module):
    r"""A learned scalar :math:`b_{\phi(i,j)}` for each distance and head (Graphormer, Eq. 6).

    It tells the graphs of Graphormer, Figure 2, apart. The paper writes one scalar, its code learns
    one for each head. Distances beyond the largest share its scalars; pairs without a path have row
    0 of ``scalars``, and distance d has row d + 1. Returns ``[B, H, N, N]``.
    """

    def __init__(self, num_heads: int, max_distance: int):
        super().__init__()
        self.scalars = nn.Embedding(max_distance + 2, num_heads)

    def forward(self, batch: GraphBatch) -> Tensor:
        return self.of(batch.encodings["distance"])

    def of(self, distance: Tensor) -> Tensor:
        """The scalars of distances ``[B, N, N]``, -1 where j cannot be reached from i."""
        row = (distance - UNREACHABLE).clamp(max=self.scalars.num_embeddings - 1)
        return self.scalars(row).permute(0, 3, 1, 2)


class PairBias(nn.Module):
    """The one place where structure enters attention: computed once, added in every layer.

    The sum of the pair encodings, ``[B, H, N + 1, N + 1]``, with a first row and column for
    [VNode], whose pairs share one learned scalar for each head (Section 3.2), as in the authors'
    code; the text allows two.
    """

    def __init__(self, num_heads: int, encodings: Iterable[nn.Module]):
        super().__init__()
        self.encodings = nn.ModuleList(encodings)
        self.virtual = nn.Parameter(torch.empty(num_heads))
        nn.init.normal_(self.virtual, std=0.02)

    def forward(self, batch: GraphBatch) -> Tensor:
        bias = F.pad(sum(encoding(batch) for encoding in self.encodings), (1, 0, 1, 0))
        virtual = F.pad(torch.zeros_like(bias[:1, :1, 1:, 1:]), (1, 0, 1, 0), value=1.0)
        return (bias + self.virtual[:, None, None] * virtual).contiguous()


class EdgeEncoding(nn.Module):
    r"""The mean over a shortest path of each edge's vector times its place's (Graphormer, Eq. 7).

    .. math:: c_{ij} = \frac{1}{\ell} \sum_{n=1}^{\ell} x_{e_n} w_n^T

    over the edges of the path from i to j; the paper has N for :math:`\ell`, and the lecture the
    sum (CS224W, S11). With categories :math:`x_e \cdot w_n` is a table, and :math:`c_{ij}` a mean
    of its rows, ``[B, H, N, N]``; 0 for a node itself and without a path. H is also the width of
    :math:`x_e`. Reads exact distances and "path_edges", or "path_tree": the same from N² numbers.

    Differs from the authors' code, which adds a vector for "no edge" behind a path's end up to the
    longest path of the *batch*, so that a prediction depends on the batch.
    """

    def __init__(
        self, num_heads: int, num_edge_types: int, positions: int, max_length: int,
        reduce: Literal["mean", "sum"] = "mean"
    ):  # fmt: skip
        super().__init__()
        self.max_length, self.reduce = max_length, reduce
        self.edges = nn.Embedding(num_edge_types, num_heads)
        self.positions = nn.Parameter(torch.empty(positions, num_heads, num_heads))
        nn.init.normal_(self.positions, std=0.02)

    def forward(self, batch: GraphBatch) -> Tensor:
        c = mean_over_paths(batch, self.table())
        if self.reduce == "sum":
            c = c * batch.encodings["distance"].clamp(0, self.max_length)[..., None]
        return c.permute(0, 3, 1, 2)

    def table(self) -> Tensor:
        """:math:`x_e \\cdot w_n` for each place, category and head: ``[L, types, H]``."""
        w = self.positions[: self.max_length]
        return torch.einsum("ek,nkh->neh", self.edges.weight, w).to(w.dtype)
