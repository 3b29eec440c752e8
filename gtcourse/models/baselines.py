"""The baselines: GIN, GatedGCN and GAT of the lecture's table, and Transformers that see few edges.

The message-passing networks are built as in the benchmark that the table is from (Dwivedi et al.,
"Benchmarking graph neural networks"), which the parameter counts confirm. GIN and GAT stand on
PyG's ``GINConv`` and ``GATConv``. PyG's ``ResGatedGraphConv`` has neither the normalised sum nor
the edge update of GatedGCN, so that one is a ``MessagePassing`` of our own. They work on lists of
real nodes and real edges, so that sums and batch statistics cannot count padding. Messages go along
an edge: node j receives from i where ``adjacency[b, i, j]``.

Shapes: B graphs, N nodes (padded), ΣN real nodes, ΣE edges, d width, H heads, L layers, T targets
or classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn import (
    GATConv,
    GINConv,
    MessagePassing,
    global_add_pool,
    global_mean_pool,
)

from gtcourse.graphs.batch import GraphBatch
from gtcourse.models.embeddings import (
    FlatBatchNorm,
    HalvingMLP,
    category_rows,
    mean_pool,
    squeeze_one,
)
from gtcourse.models.transformer import TransformerEncoder

Readout = Literal["sum", "mean"]


@dataclass(frozen=True)
class GINConfig:
    """The size of the lecture's table, for graphs whose nodes have a constant feature.

    Attributes:
        num_node_types: rows of the table of integer ``x``, where value v of column c has row
            v + 512 c; 0 where x is not that.
        num_node_features: of float ``x``; 0 where it is not read.
        num_targets: T, of targets or of classes.
        readout: "sum" or "mean" over the nodes.
    """

    num_node_types: int = 0
    num_node_features: int = 1
    num_targets: int = 1
    d_model: int = 110
    num_layers: int = 4
    readout: Readout = "sum"


class GIN(nn.Module):
    r"""Graph isomorphism network (Xu et al., 2019) with learned :math:`\varepsilon`.

    The prediction adds up a linear read-out of every layer, the input included: a READOUT in the
    words of Graphormer, Eq. 2.

    Args:
        node_encoding: added to the nodes' features, or in their place where there are none.

    Shapes:
        returns: ``[B]``, or ``[B, T]``

    Differs from the paper: batch normalisation after the layer's network too, and residuals.
    """

    def __init__(self, config: GINConfig, node_encoding: nn.Module | None = None):
        super().__init__()
        self.config = config
        d = config.d_model
        self.input = NodeInput(d, config.num_node_types, config.num_node_features, node_encoding)
        self.layers = nn.ModuleList(GINLayer(d) for _ in range(config.num_layers))
        self.heads = nn.ModuleList(
            nn.Linear(d, config.num_targets) for _ in range(config.num_layers + 1)
        )

    def forward(self, batch: GraphBatch) -> Tensor:
        edge_index = batch.edge_index
        h = self.input(batch)
        prediction = self.heads[0](pool(h, batch, self.config.readout))
        for layer, head in zip(self.layers, self.heads[1:], strict=True):
            h = layer(h, edge_index)
            prediction = prediction + head(pool(h, batch, self.config.readout))
        return squeeze_one(prediction)


class GINLayer(nn.Module):
    r"""h + ReLU(BN(MLP((1 + ε) h_i + Σ_{j → i} h_j))), where the MLP is Linear, BN, ReLU, Linear.

    In the words of Graphormer, Eq. 1, AGGREGATE is the sum and COMBINE is all else.

    Shapes:
        h: ``[ΣN, d]``; edge_index: ``[2, ΣE]``; returns: ``[ΣN, d]``
    """

    def __init__(self, d_model: int):
        super().__init__()
        network = nn.Sequential(
            nn.Linear(d_model, d_model),
            FlatBatchNorm(d_model),
            nn.ReLU(),
            nn.Linear(d_model, d_model),
        )
        self.conv = GINConv(network, train_eps=True)
        self.norm = FlatBatchNorm(d_model)

    def forward(self, h: Tensor, edge_index: Tensor) -> Tensor:
        return h + F.relu(self.norm(self.conv(h, edge_index)))


@dataclass(frozen=True)
class GatedGCNConfig:
    """The size of the lecture's table; as :class:`GINConfig`, and

    Attributes:
        num_edge_types: rows of the table of integer ``edge_attr``, as of ``x``; 0 gives every edge
            the same embedding.
    """

    num_node_types: int = 0
    num_node_features: int = 1
    num_edge_types: int = 0
    num_targets: int = 1
    d_model: int = 70
    num_layers: int = 4
    readout: Readout = "sum"


class GatedGCN(nn.Module):
    """Gated graph convolutions with edge features (Bresson and Laurent, 2017).

    On nodes that are all alike its normalised sum is a mean of equal things: without a node
    encoding every node of a graph (but those without edges) stays like every other. The edges'
    normalisation in the last layer has no effect on the prediction, as in the benchmark; it counts
    among the parameters.

    Args:
        node_encoding: added to the nodes' features, or in their place where there are none.

    Shapes:
        returns: ``[B]``, or ``[B, T]``
    """

    def __init__(self, config: GatedGCNConfig, node_encoding: nn.Module | None = None):
        super().__init__()
        self.config = config
        d = config.d_model
        self.input = NodeInput(d, config.num_node_types, config.num_node_features, node_encoding)
        self.edge_input = EdgeInput(d, config.num_edge_types)
        self.layers = nn.ModuleList(GatedGCNLayer(d) for _ in range(config.num_layers))
        self.head = HalvingMLP(d, config.num_targets)

    def forward(self, batch: GraphBatch) -> Tensor:
        edge_index = batch.edge_index
        h, e = self.input(batch), self.edge_input(batch)
        for layer in self.layers:
            h, e = layer(h, e, edge_index)
        return self.head(pool(h, batch, self.config.readout))


class GatedGCNConv(MessagePassing):
    r"""The convolution of GatedGCN: every edge has a state, and gates what passes along it.

    .. math::
        \hat e_{ji} = C e_{ji} + D h_j + E h_i, \qquad
        \hat h_i = A h_i +
            \frac{\sum_{j \to i} \sigma(\hat e_{ji}) \odot B h_j}
                 {\sum_{j \to i} \sigma(\hat e_{ji}) + 10^{-6}}

    A case of CSA, Eq. 1: messages that know the edge.

    Shapes:
        h: ``[ΣN, d]``; e: ``[ΣE, d]``; edge_index: ``[2, ΣE]``, messages along the edges
        returns: ``[ΣN, d]`` and ``[ΣE, d]``

    Differs from PyG's ``ResGatedGraphConv``: that one adds gated messages without dividing by the
    sum of the gates, and edges have no state that the next layer reads.
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
    """The convolution, then batch normalisation, ReLU and a residual for nodes and for edges.

    Shapes:
        as :class:`GatedGCNConv`
    """

    def __init__(self, d_model: int):
        super().__init__()
        self.conv = GatedGCNConv(d_model)
        self.node_norm = FlatBatchNorm(d_model)
        self.edge_norm = FlatBatchNorm(d_model)

    def forward(self, h: Tensor, e: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
        new_h, new_e = self.conv(h, e, edge_index)
        return h + F.relu(self.node_norm(new_h)), e + F.relu(self.edge_norm(new_e))


@dataclass(frozen=True)
class GATConfig:
    """The benchmark's size for ZINC, mean read-out included; attributes as :class:`GINConfig`."""

    num_node_types: int = 0
    num_node_features: int = 1
    num_targets: int = 1
    d_model: int = 144
    num_heads: int = 8
    num_layers: int = 4
    readout: Readout = "mean"


class GAT(nn.Module):
    """Graph attention network (Veličković et al., 2018); edge features are not read.

    Layers of ``num_heads`` heads side by side, the last of one head as wide as all of them.

    Args:
        node_encoding: added to the nodes' features, or in their place where there are none.

    Shapes:
        returns: ``[B]``, or ``[B, T]``

    Differs from the paper: batch normalisation and residuals, and a node does not attend to itself
    (the residual keeps it); both as in the benchmark.
    """

    def __init__(self, config: GATConfig, node_encoding: nn.Module | None = None):
        super().__init__()
        self.config = config
        d = config.d_model
        self.input = NodeInput(d, config.num_node_types, config.num_node_features, node_encoding)
        heads = [config.num_heads] * (config.num_layers - 1) + [1]
        self.layers = nn.ModuleList(GATLayer(d, count) for count in heads)
        self.head = HalvingMLP(d, config.num_targets)

    def forward(self, batch: GraphBatch) -> Tensor:
        edge_index = batch.edge_index
        h = self.input(batch)
        for layer in self.layers:
            h = layer(h, edge_index)
        return self.head(pool(h, batch, self.config.readout))


class GATLayer(nn.Module):
    """h + ELU(BN(attention over the neighbours)).

    Shapes:
        h: ``[ΣN, d]``; edge_index: ``[2, ΣE]``; returns: ``[ΣN, d]``
    """

    def __init__(self, d_model: int, num_heads: int):
        super().__init__()
        # Without a bias, which the normalisation would take away again.
        self.conv = GATConv(
            d_model, d_model // num_heads, num_heads, add_self_loops=False, bias=False
        )
        self.norm = FlatBatchNorm(d_model)

    def forward(self, h: Tensor, edge_index: Tensor) -> Tensor:
        return h + F.elu(self.norm(self.conv(h, edge_index)))


class NodeInput(nn.Module):
    """A vector for each node: its features and, with a node encoding, its position.

    Args:
        d_model: d.
        num_node_types: an embedding of integer ``x``, summed over its columns (``category_rows``);
            0 where nodes have no types.
        num_node_features: a linear map of this many floats ``x``; 0 where they are not read.
        node_encoding: a module that makes ``[B, N, d]`` of a batch, added to the above; on its own
            where neither is given, as the benchmark has it for CYCLES.

    Shapes:
        returns: ``[ΣN, d]``
    """

    def __init__(
        self,
        d_model: int,
        num_node_types: int,
        num_node_features: int,
        node_encoding: nn.Module | None,
    ):
        super().__init__()
        self.types = nn.Embedding(num_node_types, d_model) if num_node_types else None
        self.features = nn.Linear(num_node_features, d_model) if num_node_features else None
        self.encoding = node_encoding

    def forward(self, batch: GraphBatch) -> Tensor:
        parts = []
        if self.types is not None:
            parts.append(self.types(category_rows(batch.x[batch.mask])).sum(dim=-2))
        if self.features is not None:
            parts.append(self.features(batch.x[batch.mask].to(self.features.weight.dtype)))
        if self.encoding is not None:
            parts.append(self.encoding(batch)[batch.mask])
        return sum(parts[1:], start=parts[0])


class EdgeInput(nn.Module):
    """An embedding of integer ``edge_attr``, or of a constant 1 where edges have no types.

    Shapes:
        returns: ``[ΣE, d]``, in the order of ``batch.edge_index``
    """

    def __init__(self, d_model: int, num_edge_types: int):
        super().__init__()
        self.types = nn.Embedding(num_edge_types, d_model) if num_edge_types else None
        self.constant = None if num_edge_types else nn.Linear(1, d_model)

    def forward(self, batch: GraphBatch) -> Tensor:
        if self.types is not None:
            return self.types(category_rows(batch.edge_attr[batch.adjacency])).sum(dim=-2)
        ones = self.constant.weight.new_ones(int(batch.adjacency.sum()), 1)
        return self.constant(ones)


def pool(h: Tensor, batch: GraphBatch, readout: Readout) -> Tensor:
    """A READOUT (Graphormer, Eq. 2), the sum or the mean of nodes: ``[ΣN, d]`` to ``[B, d]``."""
    pooled = {"sum": global_add_pool, "mean": global_mean_pool}[readout]
    return pooled(h, batch.graph_index, size=batch.num_graphs)


@dataclass(frozen=True)
class BagTransformerConfig:
    """Node categories, size, and number of graph targets."""

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
    because attention and pooling are averages, no number of nodes (CS224W, S8).

    Args:
        node_encoding: tells each node where it is: a module that makes ``[B, N, d]`` of a batch
            (:mod:`gtcourse.models.embeddings`), added to the embedding.

    Shapes:
        batch.x: ``[B, N, c]`` integers in c columns; batch.mask: ``[B, N]``
        returns: ``[B]`` or ``[B, T]``; with ``return_attention`` also ``[B, L, H, N, N]``
    """

    def __init__(self, config: BagTransformerConfig, node_encoding: nn.Module | None = None):
        super().__init__()
        self.config = config
        self.node_encoding = node_encoding
        self.embedding = nn.Embedding(config.num_node_types, config.d_model)
        self.encoder = TransformerEncoder(
            config.num_layers,
            d_model=config.d_model,
            num_heads=config.num_heads,
            d_hidden=config.d_hidden,
            dropout=config.dropout,
            norm_first=True,
            activation="gelu",
        )
        self.head = GraphHead(config.d_model, config.num_targets)

    def forward(
        self, batch: GraphBatch, *, return_attention: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        h = self.embed(batch)
        h = self.encoder(h, mask=batch.mask, return_attention=return_attention)
        h, attention = h if return_attention else (h, None)
        prediction = self.head(h, batch.mask)
        return (prediction, attention) if return_attention else prediction

    def embed(self, batch: GraphBatch) -> Tensor:
        """The nodes' embeddings with their encoding: ``[B, N, d]``."""
        h = self.embedding(category_rows(batch.x)).sum(dim=-2)
        return h if self.node_encoding is None else h + self.node_encoding(batch)


class NeighbourTransformer(BagTransformer):
    """The first ``masked_heads`` heads of every layer attend to neighbours and the node itself.

    The other heads attend to all nodes: with 0 masked heads it is :class:`BagTransformer`, with all
    of them masked it is message passing. The parameters are the same in every case.

    Args:
        node_encoding: as of :class:`BagTransformer`.

    Shapes:
        batch: as :class:`BagTransformer`, of which the adjacency is read too; no bond types
        returns: ``[B]`` or ``[B, T]``; with ``return_attention`` also ``[B, L, H, N, N]``
    """

    def __init__(
        self,
        config: BagTransformerConfig,
        masked_heads: int,
        node_encoding: nn.Module | None = None,
    ):
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
    """Pairs that attend, ``[B, N, N]``: row i is True at i itself and at j with an edge to i.

    An edge from j to i is ``adjacency[b, j, i]``, hence the transposition.
    """
    itself = torch.diag_embed(batch.mask)
    return batch.adjacency.transpose(1, 2) | itself


class GraphHead(nn.Module):
    """Mean over the nodes, then a two-layer network: one prediction, or T, for each graph.

    Shapes:
        h: ``[B, N, d]``; mask: ``[B, N]``
        returns: ``[B]``, or ``[B, T]`` where ``num_targets`` T is above 1
    """

    def __init__(self, d_model: int, num_targets: int = 1):
        super().__init__()
        self.network = nn.Sequential(
            nn.Linear(d_model, d_model), nn.GELU(), nn.Linear(d_model, num_targets)
        )

    def forward(self, h: Tensor, mask: Tensor) -> Tensor:
        return squeeze_one(self.network(mean_pool(h, mask)))
