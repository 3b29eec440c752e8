"""The message-passing baselines of the lecture's table: GIN, GatedGCN and GAT.

They are built as in the benchmark that the table is from (Dwivedi et al., "Benchmarking graph
neural networks"), which the parameter counts confirm. GIN and GAT stand on PyG's ``GINConv`` and
``GATConv``. PyG's ``ResGatedGraphConv`` has neither the normalised sum nor the edge update of
GatedGCN, so that one is a ``MessagePassing`` of our own (:mod:`gtcourse.models.gated`).

All of them hear along the direction of an edge: node j hears i where ``adjacency[b, i, j]``.
Shapes: B graphs, ΣN real nodes, ΣE edges, d width, T targets or classes.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn import GATConv, GINConv

from gtcourse.graphs.batch import GraphBatch
from gtcourse.models.flat import (
    EdgeInput,
    HalvingMLP,
    NodeInput,
    Readout,
    check_sizes,
    pool,
    squeeze_one,
)
from gtcourse.models.gated import GatedGCNLayer
from gtcourse.models.norms import FlatBatchNorm


@dataclass(frozen=True)
class GINConfig:
    """The size of the lecture's table, for graphs whose nodes have a constant feature.

    Attributes:
        num_node_types: of integer ``x[..., 0]``; 0 where x is not that.
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

    Raises:
        ValueError: nodes have neither types, features nor an encoding, or an unknown readout.

    Differs from the paper: batch normalisation after the layer's network too, and residuals.
    """

    def __init__(self, config: GINConfig, node_encoding: nn.Module | None = None):
        super().__init__()
        check_sizes(config)
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
        num_edge_types: of integer ``edge_attr[..., 0]``; 0 gives every edge the same embedding.
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

    Raises:
        ValueError: nodes have neither types, features nor an encoding, or an unknown readout.
    """

    def __init__(self, config: GatedGCNConfig, node_encoding: nn.Module | None = None):
        super().__init__()
        check_sizes(config)
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

    Raises:
        ValueError: the heads do not divide the width, nodes have neither types, features nor an
            encoding, or an unknown readout.

    Differs from the paper: batch normalisation and residuals, and a node does not attend to itself
    (the residual keeps it); both as in the benchmark.
    """

    def __init__(self, config: GATConfig, node_encoding: nn.Module | None = None):
        super().__init__()
        check_sizes(config)
        if config.d_model % config.num_heads:
            raise ValueError(
                f"d_model is {config.d_model} and num_heads {config.num_heads}; expected a "
                "multiple."
            )
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
