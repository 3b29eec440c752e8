"""The baselines: GIN, GatedGCN and GAT of the lecture's table, and Transformers that see few edges.

The message-passing networks are built as in the benchmark that the table is from (Dwivedi et al.,
"Benchmarking graph neural networks"), which the parameter counts confirm. They work on lists of
real nodes and real edges, so that sums and batch statistics cannot count padding. Messages go along
edges: node j receives from i where ``adjacency[b, i, j]``. Predictions are ``[B]``, or ``[B, T]``.

Shapes: B graphs, N nodes (padded), ΣN real nodes, ΣE edges, d width, H heads, L layers, T targets.
In layers h is ``[ΣN, d]``, e ``[ΣE, d]`` and edge_index ``[2, ΣE]``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn import GATConv, GINConv, MessagePassing, global_add_pool, global_mean_pool

from gtcourse.graphs.batch import GraphBatch
from gtcourse.models.embeddings import (
    CastingLinear,
    CategoryEmbedding,
    NodeBatchNorm,
    category_rows,
    mean_pool,
    mlp,
    squeeze_one,
)
from gtcourse.models.transformer import TransformerEncoder

Readout = Literal["sum", "mean"]


@dataclass(frozen=True)
class _Config:
    """What all message-passing baselines share.

    Attributes:
        num_node_types: rows of the table of integer ``x``, where value v of column c has row
            v + 512 c; num_node_features: columns of float ``x``; each 0 where x is not that.
        num_targets: T, of targets or of classes.
    """

    num_node_types: int = 0
    num_node_features: int = 1
    num_targets: int = 1
    d_model: int = 110
    num_layers: int = 4
    readout: Readout = "sum"


class GINConfig(_Config):
    """The size of the lecture's table, for graphs whose nodes have a constant feature."""


@dataclass(frozen=True)
class GatedGCNConfig(_Config):
    """The size of the lecture's table; 0 ``num_edge_types`` give all edges the same embedding."""

    d_model: int = 70
    num_edge_types: int = 0


@dataclass(frozen=True)
class GATConfig(_Config):
    """The benchmark's size for ZINC, mean read-out included."""

    d_model: int = 144
    num_heads: int = 8
    readout: Readout = "mean"


class GIN(nn.Module):
    r"""Graph isomorphism network (Xu et al., 2019) with learned :math:`\varepsilon`.

    The prediction adds up a linear read-out of every layer, the input included: a READOUT in the
    words of Graphormer, Eq. 2. ``node_encoding`` is added to the nodes' features, if any.

    Differs from the paper: batch normalisation after the layer's network too, and residuals.
    """

    def __init__(self, config: GINConfig, node_encoding: nn.Module | None = None):
        super().__init__()
        self.config, d = config, config.d_model
        self.input = NodeInput(config, node_encoding)
        self.layers = nn.ModuleList(GINLayer(d) for _ in range(config.num_layers))
        heads = (nn.Linear(d, config.num_targets) for _ in range(config.num_layers + 1))
        self.heads = nn.ModuleList(heads)

    def forward(self, batch: GraphBatch) -> Tensor:
        h, edge_index, readout = self.input(batch), batch.edge_index, self.config.readout
        prediction = self.heads[0](pool(h, batch, readout))
        for layer, head in zip(self.layers, self.heads[1:], strict=True):
            h = layer(h, edge_index)
            prediction = prediction + head(pool(h, batch, readout))
        return squeeze_one(prediction)


class GINLayer(nn.Module):
    r"""h + ReLU(BN(MLP((1 + ε) h_i + Σ_{j → i} h_j))), where the MLP is Linear, BN, ReLU, Linear.

    In the words of Graphormer, Eq. 1, AGGREGATE is the sum and COMBINE is all else.
    """

    def __init__(self, d_model: int):
        super().__init__()
        first, second = (nn.Linear(d_model, d_model) for _ in range(2))
        network = nn.Sequential(first, NodeBatchNorm(d_model), nn.ReLU(), second)
        self.conv = GINConv(network, train_eps=True)
        self.norm = NodeBatchNorm(d_model)

    def forward(self, h: Tensor, edge_index: Tensor) -> Tensor:
        return h + F.relu(self.norm(self.conv(h, edge_index)))


class GatedGCN(nn.Module):
    """Gated graph convolutions with edge features (Bresson and Laurent, 2017).

    On nodes that are all alike its normalised sum is a mean of equal things: without a node
    encoding they stay alike. The last layer's norm of the edges has no effect, as in the benchmark;
    it counts among the parameters.
    """

    def __init__(self, config: GatedGCNConfig, node_encoding: nn.Module | None = None):
        super().__init__()
        self.config, d = config, config.d_model
        self.input = NodeInput(config, node_encoding)
        self.edge_input = EdgeInput(d, config.num_edge_types)
        self.layers = nn.ModuleList(GatedGCNLayer(d) for _ in range(config.num_layers))
        self.head = mlp(d, d // 2, d // 4, config.num_targets)

    def forward(self, batch: GraphBatch) -> Tensor:
        edge_index = batch.edge_index
        h, e = self.input(batch), self.edge_input(batch)
        for layer in self.layers:
            h, e = layer(h, e, edge_index)
        return squeeze_one(self.head(pool(h, batch, self.config.readout)))


class GatedGCNConv(MessagePassing):
    r"""The convolution of GatedGCN: every edge has a state, and gates what passes along it.

    .. math::
        \hat e_{ji} = C e_{ji} + D h_j + E h_i, \qquad
        \hat h_i = A h_i +
            \frac{\sum_{j \to i} \sigma(\hat e_{ji}) \odot B h_j}
                 {\sum_{j \to i} \sigma(\hat e_{ji}) + 10^{-6}}

    A case of CSA, Eq. 1: messages that depend on the edge.

    Differs from PyG's ``ResGatedGraphConv``, which has neither the normalised sum nor a state of
    the edges that the next layer reads.
    """

    def __init__(self, d_model: int):
        super().__init__(aggr="add")
        self.A, self.B, self.C, self.D, self.E = (nn.Linear(d_model, d_model) for _ in range(5))

    def forward(self, h: Tensor, e: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
        source, destination = edge_index
        e = self.C(e) + self.D(h)[source] + self.E(h)[destination]
        gated, gates = self.propagate(edge_index, value=self.B(h), gate=e.sigmoid()).chunk(2, -1)
        return self.A(h) + gated / (gates + 1e-6), e

    def message(self, value_j: Tensor, gate: Tensor) -> Tensor:
        return torch.cat([gate * value_j, gate], dim=-1)


class GatedGCNLayer(nn.Module):
    """:class:`GatedGCNConv`, then batch normalisation, ReLU and a residual for nodes and edges."""

    def __init__(self, d_model: int):
        super().__init__()
        self.conv = GatedGCNConv(d_model)
        self.node_norm = NodeBatchNorm(d_model)
        self.edge_norm = NodeBatchNorm(d_model)

    def forward(self, h: Tensor, e: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
        new_h, new_e = self.conv(h, e, edge_index)
        return h + F.relu(self.node_norm(new_h)), e + F.relu(self.edge_norm(new_e))


class GAT(nn.Module):
    """Graph attention network (Veličković et al., 2018); edge features are not read.

    Layers of ``num_heads`` heads side by side, the last of one head as wide as all of them.

    Differs from the paper: batch normalisation and residuals, and a node does not attend to itself
    (the residual keeps it); both as in the benchmark.
    """

    def __init__(self, config: GATConfig, node_encoding: nn.Module | None = None):
        super().__init__()
        self.config, d = config, config.d_model
        self.input = NodeInput(config, node_encoding)
        heads = [config.num_heads] * (config.num_layers - 1) + [1]
        self.layers = nn.ModuleList(GATLayer(d, count) for count in heads)
        self.head = mlp(d, d // 2, d // 4, config.num_targets)

    def forward(self, batch: GraphBatch) -> Tensor:
        h, edge_index = self.input(batch), batch.edge_index
        for layer in self.layers:
            h = layer(h, edge_index)
        return squeeze_one(self.head(pool(h, batch, self.config.readout)))


class GATLayer(nn.Module):
    """h + ELU(BN(attention over the neighbours))."""

    def __init__(self, d_model: int, num_heads: int):
        super().__init__()
        # Without a bias, which the normalisation would take away again.
        width = d_model // num_heads
        self.conv = GATConv(d_model, width, num_heads, add_self_loops=False, bias=False)
        self.norm = NodeBatchNorm(d_model)

    def forward(self, h: Tensor, edge_index: Tensor) -> Tensor:
        return h + F.elu(self.norm(self.conv(h, edge_index)))


class NodeInput(nn.Module):
    """The sum of a node's embedded types, its mapped features and its encoding: ``[ΣN, d]``."""

    def __init__(self, config: _Config, node_encoding: nn.Module | None):
        super().__init__()
        types, features, d = config.num_node_types, config.num_node_features, config.d_model
        self.types = CategoryEmbedding(types, d) if types else None
        self.features = CastingLinear(features, d) if features else None
        self.encoding = node_encoding

    def forward(self, batch: GraphBatch) -> Tensor:
        inputs = [f(batch.x[batch.mask]) for f in (self.types, self.features) if f is not None]
        if self.encoding is not None:
            inputs.append(self.encoding(batch)[batch.mask])
        return sum(inputs)


class EdgeInput(nn.Module):
    """An embedding of integer ``edge_attr``, or of a constant 1 without types: ``[ΣE, d]``."""

    def __init__(self, d_model: int, num_edge_types: int):
        super().__init__()
        self.types = CategoryEmbedding(num_edge_types, d_model) if num_edge_types else None
        self.constant = None if num_edge_types else nn.Linear(1, d_model)

    def forward(self, batch: GraphBatch) -> Tensor:
        if self.types is not None:
            return self.types(batch.edge_attr[batch.adjacency])
        return self.constant(self.constant.weight.new_ones(int(batch.adjacency.sum()), 1))


def pool(h: Tensor, batch: GraphBatch, readout: Readout) -> Tensor:
    """A READOUT (Graphormer, Eq. 2), the sum or the mean of nodes: ``[ΣN, d]`` to ``[B, d]``."""
    pooling = global_add_pool if readout == "sum" else global_mean_pool
    return pooling(h, batch.graph_index, size=batch.num_graphs)


@dataclass(frozen=True)
class BagTransformerConfig:
    """Sizes; ``num_node_types`` are the rows of the embedding."""

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
    because attention and pooling are averages, no number of nodes (CS224W, S8). A module
    ``node_encoding`` maps a batch to ``[B, N, d]``, which is added to the embedding of
    ``batch.x`` ``[B, N, c]``; the attention is ``[B, L, H, N, N]``.
    """

    def __init__(self, config: BagTransformerConfig, node_encoding: nn.Module | None = None):
        super().__init__()
        self.config, d = config, config.d_model
        self.node_encoding = node_encoding
        self.embedding = nn.Embedding(config.num_node_types, d)
        self.encoder = TransformerEncoder(
            config.num_layers, d_model=d, num_heads=config.num_heads, d_hidden=config.d_hidden,
            dropout=config.dropout, norm_first=True, activation="gelu",
        )  # fmt: skip
        self.head = GraphHead(d, config.num_targets)

    def forward(self, batch: GraphBatch, *, return_attention: bool = False):
        h = self.embed(batch)
        h = self.encoder(h, mask=self.attention_mask(batch), return_attention=return_attention)
        if return_attention:
            return self.head(h[0], batch.mask), h[1]
        return self.head(h, batch.mask)

    def embed(self, batch: GraphBatch) -> Tensor:
        """The nodes' embeddings with their encoding: ``[B, N, d]``."""
        h = self.embedding(category_rows(batch.x)).sum(dim=-2)
        return h if self.node_encoding is None else h + self.node_encoding(batch)

    def attention_mask(self, batch: GraphBatch) -> Tensor:
        return batch.mask


class NeighbourTransformer(BagTransformer):
    """The first ``masked_heads`` heads of every layer attend to neighbours and the node itself.

    The other heads attend to all nodes: with 0 masked heads it is :class:`BagTransformer`, with all
    of them masked it is message passing. The parameters are the same in every case.
    """

    def __init__(self, config: BagTransformerConfig, masked_heads: int, node_encoding=None):
        super().__init__(config, node_encoding)
        self.masked_heads = masked_heads

    def attention_mask(self, batch: GraphBatch) -> Tensor:
        """``[B, H, N, N]``; along an edge from j to i, ``adjacency[b, j, i]``, i attends to j."""
        neighbours = batch.adjacency.mT | torch.diag_embed(batch.mask)
        masks = [neighbours] * self.masked_heads
        masks += [batch.pair_mask] * (self.config.num_heads - self.masked_heads)
        return torch.stack(masks, dim=1)


class GraphHead(nn.Module):
    """Mean over the nodes, then a two-layer network: ``[B, N, d]`` to ``[B]``, or ``[B, T]``."""

    def __init__(self, d_model: int, num_targets: int = 1):
        super().__init__()
        self.network = mlp(d_model, d_model, num_targets, activation=nn.GELU)

    def forward(self, h: Tensor, mask: Tensor) -> Tensor:
        return squeeze_one(self.network(mean_pool(h, mask)))
