"""GCN, GIN, GAT, GatedGCN and GT: message passing over the edges, beside the graph Transformers.

They are built as in the benchmark whose numbers the papers compare with (Dwivedi et al.,
"Benchmarking graph neural networks"), which the parameter counts confirm. They work on lists of
real nodes and real edges, so that sums and batch statistics cannot count padding. Messages travel
along edges: in all equations node i receives from node j, where ``adjacency[b, j, i]``.

The models share what comes before and after their layers, :class:`MessagePassingModel`, and those
with vectors of edges :class:`EdgeModel`. Only the layers are each paper's own.

Shapes:
    B: graphs in a batch
    N: nodes of the largest graph
    ΣN: real nodes of all graphs
    ΣE: edges of all graphs
    d: width of a node's vector, and of an edge's
    H: attention heads
    K: width of a head, d / H
    C: targets, or classes, of a prediction

In layers h is ``[ΣN, d]``, e is ``[ΣE, d]`` and edge_index ``[2, ΣE]``. Predictions are ``[B, C]``
of graphs, ``[B, N, C]`` of nodes and ``[B, N, N, C]`` of edges, without the last axis if C is 1;
they are zero where there is no node or edge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import (
    GATConv,
    GCNConv,
    GINConv,
    MessagePassing,
    global_add_pool,
    global_mean_pool,
)
from torch_geometric.utils import softmax

from gtcourse.graphs.batch import GraphBatch, padded
from gtcourse.graphs.check import check_batch
from gtcourse.models.batch_norm import NodeBatchNorm
from gtcourse.models.categories import (
    CategoryEmbedding,
    NumberEmbedding,
    edge_features,
    feature_embedding,
)
from gtcourse.models.config import (
    Categories,
    GraphConfig,
    NotNegativeInt,
    PositiveInt,
    check_given,
    check_module,
)
from gtcourse.models.mlp import mlp
from gtcourse.models.old_weights import read_renamed

Readout = Literal["sum", "mean"]


@dataclass(frozen=True)
class MessagePassingConfig(GraphConfig):
    """The data and sizes that all these models have."""

    num_node_types: Categories = ()  #: categories in each column of x
    num_node_features: NotNegativeInt = 1  #: columns of x, if it holds numbers instead
    num_targets: PositiveInt = 1  #: numbers in a prediction, C
    d_model: PositiveInt = 110  #: width of a node's vector, d
    num_layers: PositiveInt = 4  #: layers
    #: how the nodes of a graph are read: their sum, or their mean; may be set only for targets of
    #: graphs
    readout: Readout = "sum"
    target: Literal["graph", "node", "edge"] = "graph"  #: what gets a prediction

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.target != "graph":
            self.check_unread({"readout": f"target is {self.target!r}"})

    @classmethod
    def complete(cls, recorded: Mapping[str, str]) -> dict[str, str]:
        """Recorded fields as today's release writes them.

        Until 0.18 ``readout`` could be set for targets of nodes and edges, where nothing reads it.
        """
        fields = super().complete(recorded)
        if fields["target"] != repr("graph"):
            fields["readout"] = repr(cls.defaults()["readout"])
        return fields


@dataclass(frozen=True)
class GCNConfig(MessagePassingConfig):
    """The benchmark's size for ZINC, mean readout included."""

    d_model: PositiveInt = 145  #: width of a node's vector, d
    readout: Readout = "mean"  #: how nodes are read: their sum, or their mean


@dataclass(frozen=True)
class GINConfig(MessagePassingConfig):
    """The size of the lecture's table on CYCLES.

    It is for graphs whose nodes have a constant feature.
    """


@dataclass(frozen=True)
class GATConfig(MessagePassingConfig):
    """The benchmark's size for ZINC, mean readout included."""

    d_model: PositiveInt = 144  #: width of a node's vector, d
    num_heads: PositiveInt = 8  #: attention heads of all layers but the last, which has one
    readout: Readout = "mean"  #: how nodes are read: their sum, or their mean


@dataclass(frozen=True)
class GatedGCNConfig(MessagePassingConfig):
    """The size of the lecture's table. Without features, all edges are alike."""

    d_model: PositiveInt = 70  #: width of a node's vector, and of an edge's, d
    num_edge_types: Categories = ()  #: categories in each column of edge_attr
    num_edge_features: NotNegativeInt = 0  #: columns of edge_attr, if it holds numbers instead


class MessagePassingModel(nn.Module):
    """What the models share: embedded nodes, layers, and an MLP on what a prediction reads.

    A model adds its ``layers`` and, after them, its ``head``; GIN has ``heads``, one for each layer
    and one for the input.

    Args:
        config: Data and sizes.
        node_encoding: A module that maps a batch to ``[B, N, d]``, which is added to the nodes.
    """

    config: MessagePassingConfig
    layers: nn.ModuleList
    head: nn.Module

    def __init__(self, config: MessagePassingConfig, node_encoding: nn.Module | None = None):
        super().__init__()
        self.config = config
        self.input = NodeInput(config, node_encoding)

    def check_features(self, x: Tensor, edge_attr: Tensor | None) -> None:
        """Raises a ValueError if a node, ``x [ΣN, F]``, has an unknown category."""
        self.input.check(x)

    def forward(self, batch: GraphBatch) -> Tensor:
        """Predicts C numbers for each graph, node or edge."""
        h = self.input(batch)  # [ΣN, d]
        edge_index = batch.edge_index  # [2, ΣE]
        for layer in self.layers:
            h = layer(h, edge_index)
        return self.squeeze(predict(self.head, h, batch, self.config))

    def squeeze(self, prediction: Tensor) -> Tensor:
        """A prediction ``[..., C]``, without the last axis if there is one target."""
        return prediction.squeeze(-1) if self.config.num_targets == 1 else prediction


class EdgeModel(MessagePassingModel):
    """What GatedGCN and the Graph Transformer share: their layers update vectors of edges, too.

    A model adds its ``edge_input``, its ``layers`` and its ``head``. Without an edge input there
    are no vectors of edges, and the layers are given None.
    """

    edge_input: EdgeInput | None

    def check_features(self, x: Tensor, edge_attr: Tensor | None) -> None:
        """Raises a ValueError if a node, ``x [ΣN, F]``, or an edge has an unknown category."""
        super().check_features(x, edge_attr)
        if self.edge_input is not None and edge_attr is not None:
            self.edge_input.check(edge_attr)

    def forward(self, batch: GraphBatch) -> Tensor:
        """Predicts C numbers for each graph, node or edge."""
        h = self.input(batch)  # [ΣN, d]
        e = None if self.edge_input is None else self.edge_input(batch)  # [ΣE, d]
        edge_index = batch.edge_index  # [2, ΣE]
        for layer in self.layers:
            h, e = layer(h, e, edge_index)
        return self.squeeze(predict(self.head, h, batch, self.config))


class GCN(MessagePassingModel):
    """Graph convolutional network (Kipf and Welling, 2017); features of edges are not read.

    Differs from the paper: batch normalisation and residuals, as in the benchmark.

    Args:
        config: Data and sizes.
        node_encoding: A module that maps a batch to ``[B, N, d]``, which is added to the nodes.
    """

    def __init__(self, config: GCNConfig, node_encoding: nn.Module | None = None):
        check_given(self, config, GCNConfig)
        super().__init__(config, node_encoding)
        self.layers = nn.ModuleList(GCNLayer(config.d_model) for _ in range(config.num_layers))
        self.head = benchmark_head(config)


class GCNLayer(nn.Module):
    r"""A convolution, batch normalisation, ReLU and a residual.

    .. math:: h_i' = h_i + \operatorname{ReLU}\Big(\operatorname{BN}\Big(
        \sum_{j \to i \text{ or } j = i} \frac{W h_j}{\sqrt{d_i d_j}}\Big)\Big)

    where :math:`d_i` is one more than the number of edges into node i from other nodes.
    """

    def __init__(self, d_model: int):
        super().__init__()
        # Without a bias, which the normalisation would subtract again.
        self.conv = GCNConv(d_model, d_model, bias=False)
        self.norm = NodeBatchNorm(d_model)

    def forward(self, h: Tensor, edge_index: Tensor) -> Tensor:
        return h + F.relu(self.norm(self.conv(h, edge_index)))


class GIN(MessagePassingModel):
    r"""Graph isomorphism network (Xu et al., 2019) with learned :math:`\varepsilon`.

    The prediction adds up a linear readout of every layer, the input included: a READOUT in the
    words of Graphormer, Eq. 2. Features of edges are not read. A readout of edges has a hidden
    layer, as in the benchmark.

    Differs from the paper: a batch normalisation after the network of a layer as well as inside it,
    and residuals.

    Args:
        config: Data and sizes.
        node_encoding: A module that maps a batch to ``[B, N, d]``, which is added to the nodes.
    """

    def __init__(self, config: GINConfig, node_encoding: nn.Module | None = None):
        check_given(self, config, GINConfig)
        super().__init__(config, node_encoding)
        self.layers = nn.ModuleList(GINLayer(config.d_model) for _ in range(config.num_layers))
        self.heads = nn.ModuleList(gin_head(config) for _ in range(config.num_layers + 1))

    def forward(self, batch: GraphBatch) -> Tensor:
        """Predicts C numbers for each graph, node or edge."""
        h = self.input(batch)  # [ΣN, d]
        edge_index = batch.edge_index  # [2, ΣE]
        first_head, *heads = self.heads
        prediction = predict(first_head, h, batch, self.config)
        for layer, head in zip(self.layers, heads, strict=True):
            h = layer(h, edge_index)
            prediction = prediction + predict(head, h, batch, self.config)
        return self.squeeze(prediction)


class GINLayer(nn.Module):
    r"""A sum over neighbours and a network, batch normalisation, ReLU and a residual.

    .. math:: h_i' = h_i + \operatorname{ReLU}\Big(\operatorname{BN}\Big(\operatorname{MLP}\Big(
        (1 + \varepsilon)\, h_i + \sum_{j \to i} h_j\Big)\Big)\Big)

    The MLP is Linear, BN, ReLU, Linear. In the words of Graphormer, Eq. 1, AGGREGATE is the sum and
    COMBINE is everything else.
    """

    def __init__(self, d_model: int):
        super().__init__()
        first = nn.Linear(d_model, d_model)
        second = nn.Linear(d_model, d_model)
        network = nn.Sequential(first, NodeBatchNorm(d_model), nn.ReLU(), second)
        self.conv = GINConv(network, train_eps=True)
        self.norm = NodeBatchNorm(d_model)

    def forward(self, h: Tensor, edge_index: Tensor) -> Tensor:
        return h + F.relu(self.norm(self.conv(h, edge_index)))


class GAT(MessagePassingModel):
    """Graph attention network (Veličković et al., 2018); features of edges are not read.

    The last layer has a single head of width d, the others ``num_heads`` heads side by side.

    Differs from the paper: batch normalisation and residuals, and a node does not attend to itself,
    because the residual adds it; both as in the benchmark.

    Args:
        config: Data and sizes.
        node_encoding: A module that maps a batch to ``[B, N, d]``, which is added to the nodes.
    """

    def __init__(self, config: GATConfig, node_encoding: nn.Module | None = None):
        check_given(self, config, GATConfig)
        super().__init__(config, node_encoding)
        heads = [config.num_heads] * (config.num_layers - 1) + [1]
        self.layers = nn.ModuleList(GATLayer(config.d_model, count) for count in heads)
        self.head = benchmark_head(config)


class GATLayer(nn.Module):
    r"""Attention over the neighbours, batch normalisation, ELU and a residual.

    .. math::
        e_{ij} = \operatorname{LeakyReLU}(a_s \cdot W h_j + a_t \cdot W h_i), \qquad
        h_i \leftarrow h_i + \operatorname{ELU}\Big(\operatorname{BN}\Big(
        \sum_{j \to i} \operatorname{softmax}_j(e_{ij})\, W h_j\Big)\Big)

    The softmax runs over the neighbours of node i, and each head has its own maps
    (Veličković et al., "Graph attention networks"; the slope of LeakyReLU for negative numbers is
    0.2).
    """

    def __init__(self, d_model: int, num_heads: int):
        super().__init__()
        # Without a bias, which the normalisation would subtract again.
        width = d_model // num_heads
        self.conv = GATConv(d_model, width, num_heads, add_self_loops=False, bias=False)
        self.norm = NodeBatchNorm(d_model)

    def forward(self, h: Tensor, edge_index: Tensor) -> Tensor:
        return h + F.elu(self.norm(self.conv(h, edge_index)))


class GatedGCN(EdgeModel):
    """Gated graph convolutions with vectors of edges (Bresson and Laurent, 2017).

    A node receives a weighted mean of its neighbours. Where all nodes have the same features and no
    encoding, they therefore stay the same in all layers. The last layer's norm of the edges has no
    effect, as in the benchmark, but it counts among the parameters.

    Args:
        config: Data and sizes.
        node_encoding: A module that maps a batch to ``[B, N, d]``, which is added to the nodes.
    """

    def __init__(self, config: GatedGCNConfig, node_encoding: nn.Module | None = None):
        check_given(self, config, GatedGCNConfig)
        super().__init__(config, node_encoding)
        self.edge_input = EdgeInput(config)
        self.layers = nn.ModuleList(GatedGCNLayer(config.d_model) for _ in range(config.num_layers))
        self.head = benchmark_head(config)


class GatedGCNConv(MessagePassing):  # type: ignore[misc] # PyG has no types
    r"""The convolution of GatedGCN: the vector of an edge gates the message along it.

    .. math::
        \hat e_{ji} = C e_{ji} + D h_j + E h_i, \qquad
        \hat h_i = A h_i +
            \frac{\sum_{j \to i} \sigma(\hat e_{ji}) \odot B h_j}
                 {\sum_{j \to i} \sigma(\hat e_{ji}) + 10^{-6}}

    A case of CSA, Eq. 1: messages that depend on the edge.

    Differs from PyG's ``ResGatedGraphConv``, which neither divides by the sum of the gates nor
    returns vectors of edges for the next layer.
    """

    def __init__(self, d_model: int):
        super().__init__(aggr="add")
        self.A = nn.Linear(d_model, d_model)
        self.B = nn.Linear(d_model, d_model)
        self.C = nn.Linear(d_model, d_model)
        self.D = nn.Linear(d_model, d_model)
        self.E = nn.Linear(d_model, d_model)

    def forward(self, h: Tensor, e: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the updates of the nodes, ``[ΣN, d]``, and of the edges, ``[ΣE, d]``."""
        source, destination = edge_index
        e = self.C(e) + self.D(h)[source] + self.E(h)[destination]  # [ΣE, d]
        sums = self.propagate(edge_index, value=self.B(h), gate=e.sigmoid())  # [ΣN, 2 d]
        gated, gates = sums.chunk(2, dim=-1)  # [ΣN, d] each
        updates = self.A(h) + gated / (gates + 1e-6)  # [ΣN, d]
        return updates, e

    def message(self, value_j: Tensor, gate: Tensor) -> Tensor:
        return torch.cat([gate * value_j, gate], dim=-1)  # [ΣE, 2 d]


class GatedGCNLayer(nn.Module):
    """:class:`GatedGCNConv`, then batch normalisation, ReLU and a residual for nodes and edges."""

    def __init__(self, d_model: int):
        super().__init__()
        self.conv = GatedGCNConv(d_model)
        self.node_norm = NodeBatchNorm(d_model)
        self.edge_norm = NodeBatchNorm(d_model)

    def forward(self, h: Tensor, e: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
        new_h, new_e = self.conv(h, e, edge_index)
        h = h + F.relu(self.node_norm(new_h))
        e = e + F.relu(self.edge_norm(new_e))
        return h, e


@dataclass(frozen=True)
class GTConfig(MessagePassingConfig):
    """The authors' size for ZINC, mean readout included. Edges have vectors if they have features.

    The authors' size for PATTERN and CLUSTER has ``d_model=80``.
    """

    d_model: PositiveInt = 64  #: width of a node's vector, and of an edge's, d
    num_layers: PositiveInt = 10  #: layers
    num_heads: PositiveInt = 8  #: attention heads, H
    num_edge_types: Categories = ()  #: categories in each column of edge_attr
    num_edge_features: NotNegativeInt = 0  #: columns of edge_attr, if it holds numbers instead
    readout: Readout = "mean"  #: how nodes are read: their sum, or their mean


class GT(EdgeModel):
    """The Graph Transformer of Dwivedi and Bresson (2020): attention over the neighbours.

    A node attends to the nodes with an edge to it, and not to itself. Otherwise this is a
    Transformer with queries, keys and values, several heads, and a feed-forward network, and with
    batch normalisation in place of layer normalisation. The paper adds Laplacian eigenvectors
    (:class:`~gtcourse.models.LaplacianEncoding`) to the nodes, with signs drawn for each batch.
    The last layer's update of the edges has no effect, as in the authors' code; it counts among the
    parameters.

    Args:
        config: Data and sizes.
        node_encoding: A module that maps a batch to ``[B, N, d]``, which is added to the nodes.
    """

    def __init__(self, config: GTConfig, node_encoding: nn.Module | None = None):
        check_given(self, config, GTConfig)
        super().__init__(config, node_encoding)
        reads_edges = bool(config.num_edge_types or config.num_edge_features)
        self.edge_input = EdgeInput(config) if reads_edges else None
        self.layers = nn.ModuleList(
            GTLayer(config.d_model, config.num_heads, reads_edges) for _ in range(config.num_layers)
        )
        self.head = benchmark_head(config)


class GTAttention(MessagePassing):  # type: ignore[misc] # PyG has no types
    r"""Attention over the neighbours of a node, whose scores an edge's vector scales.

    For each head, of :math:`d_k = d / H` channels, K in shapes, and with :math:`\odot` channel by
    channel,

    .. math::
        s_{ij} = \frac{Q h_i \odot K h_j}{\sqrt{d_k}} \odot E e_{ji}, \qquad
        w_{ij} = \operatorname{softmax}_{j \to i}\Bigl(
            \operatorname{clip}_{[-5, 5]} \sum_c s_{ij, c}\Bigr), \qquad
        \hat h_i = \sum_{j \to i} w_{ij}\, V h_j .

    The :math:`s_{ij}` of all heads are the edge's new vector. Without vectors of edges the factor
    :math:`E e_{ji}` is left out. The paper has no bias in Q, K, V and E.

    Differs from the authors' code: with vectors of edges that adds 1e-6 to the softmax's
    denominator.
    """

    def __init__(self, d_model: int, num_heads: int, reads_edges: bool):
        super().__init__(aggr="add", node_dim=0)
        self.num_heads = num_heads
        self.query = nn.Linear(d_model, d_model, bias=False)
        self.key = nn.Linear(d_model, d_model, bias=False)
        self.value = nn.Linear(d_model, d_model, bias=False)
        self.edge = nn.Linear(d_model, d_model, bias=False) if reads_edges else None

    def forward(
        self, h: Tensor, e: Tensor | None, edge_index: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        """Takes nodes ``[ΣN, d]`` and edges ``[ΣE, d]``, and returns what is added to both."""
        source, destination = edge_index
        query = self.split_heads(self.query(h))  # [ΣN, H, K]
        key = self.split_heads(self.key(h))  # [ΣN, H, K]
        value = self.split_heads(self.value(h))  # [ΣN, H, K]
        scores = query[destination] * key[source] / query.shape[-1] ** 0.5  # [ΣE, H, K]
        new_e = None
        if self.edge is not None:
            scores = scores * self.split_heads(self.edge(e))  # [ΣE, H, K]
            new_e = scores.flatten(-2)  # [ΣE, d]
        logits = scores.sum(dim=-1, keepdim=True).clamp(-5, 5)  # [ΣE, H, 1]
        # Over the edges into a node.
        weights = softmax(logits, destination, num_nodes=len(h))  # [ΣE, H, 1]
        attended = self.propagate(edge_index, value=value, weights=weights)  # [ΣN, H, K]
        return attended.flatten(-2), new_e

    def split_heads(self, x: Tensor) -> Tensor:
        """Gives each head K of the channels: ``[..., d]`` to ``[..., H, K]``."""
        return x.unflatten(-1, (self.num_heads, -1))

    def message(self, value_j: Tensor, weights: Tensor) -> Tensor:
        return weights * value_j  # [ΣE, H, K]


class GTLayer(nn.Module):
    """:class:`GTAttention`, then a :class:`GTResidual` for the nodes, and one for the edges."""

    def __init__(self, d_model: int, num_heads: int, reads_edges: bool):
        super().__init__()
        self.attention = GTAttention(d_model, num_heads, reads_edges)
        self.nodes = GTResidual(d_model)
        self.edges = GTResidual(d_model) if reads_edges else None

    def forward(
        self, h: Tensor, e: Tensor | None, edge_index: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        attended, new_e = self.attention(h, e, edge_index)
        h = self.nodes(h, attended)
        if self.edges is not None:
            e = self.edges(e, new_e)
        return h, e


class GTResidual(nn.Module):
    """A linear map of what attention found and a network, each with a residual and BN after it."""

    def __init__(self, d_model: int):
        super().__init__()
        self.output = nn.Linear(d_model, d_model)
        self.first_norm = NodeBatchNorm(d_model)
        self.network = mlp(d_model, 2 * d_model, d_model)
        self.second_norm = NodeBatchNorm(d_model)

    def forward(self, h: Tensor, attended: Tensor) -> Tensor:
        h = self.first_norm(h + self.output(attended))
        return self.second_norm(h + self.network(h))


class NodeInput(nn.Module):
    """The nodes before the first layer: their features, and their encoding if there is one.

    Args:
        config: Data and sizes; without features if the model is to read an encoding alone.
        node_encoding: A module that maps a batch to ``[B, N, d]``, or None.
    """

    def __init__(self, config: MessagePassingConfig, node_encoding: nn.Module | None):
        super().__init__()
        if node_encoding is not None:
            check_module("node_encoding", node_encoding)
        types = config.num_node_types
        numbers = config.num_node_features
        self.features: CategoryEmbedding | NumberEmbedding | None = None
        if types or numbers or node_encoding is None:
            self.features = feature_embedding("node", types, numbers, config.d_model, bias=True)
        self.encoding = node_encoding
        read_renamed(self, {"types.": "features."})

    def check(self, x: Tensor) -> None:
        """Raises a ValueError if a node, ``[ΣN, F]``, has an unknown category."""
        if self.features is not None:
            self.features.check(x)

    def forward(self, batch: GraphBatch) -> Tensor:
        """Returns ``[ΣN, d]``."""
        check_batch(batch)
        if self.features is None:
            assert self.encoding is not None  # or else __init__ has made an embedding
            return self.encoding(batch)[batch.mask]  # [ΣN, d]
        h = self.features.of_rows(batch.x, batch.mask)  # [ΣN, d]
        return h if self.encoding is None else h + self.encoding(batch)[batch.mask]


class EdgeInput(nn.Module):
    """The edges before the first layer; without features all have one learned vector."""

    def __init__(self, config: GatedGCNConfig | GTConfig):
        super().__init__()
        types = config.num_edge_types
        numbers = config.num_edge_features
        self.features: CategoryEmbedding | NumberEmbedding | None = None
        if types or numbers:
            self.features = feature_embedding("edge", types, numbers, config.d_model, bias=True)
        else:
            self.constant = nn.Linear(1, config.d_model)  # of a 1, as in the benchmark
        read_renamed(self, {"types.": "features."})

    def check(self, edge_attr: Tensor) -> None:
        """Raises a ValueError if an edge, ``edge_attr [ΣE, F]``, has an unknown category."""
        if self.features is not None:
            self.features.check(edge_attr)

    def forward(self, batch: GraphBatch) -> Tensor:
        """Returns ``[ΣE, d]``."""
        if self.features is not None:
            return self.features.of_rows(edge_features(batch), batch.adjacency)
        ones = self.constant.weight.new_ones(int(batch.adjacency.sum()), 1)  # [ΣE, 1]
        return self.constant(ones)


def benchmark_head(config: MessagePassingConfig) -> nn.Sequential:
    """A network of three linear maps from what a prediction reads: a node, or both of an edge."""
    width = 2 * config.d_model if config.target == "edge" else config.d_model
    return mlp(width, width // 2, width // 4, config.num_targets)


def gin_head(config: GINConfig) -> nn.Sequential | nn.Linear:
    """GIN's readout of one layer."""
    if config.target == "edge":
        return mlp(2 * config.d_model, config.d_model, config.num_targets)
    return nn.Linear(config.d_model, config.num_targets)


def predict(head: nn.Module, h: Tensor, batch: GraphBatch, config: MessagePassingConfig) -> Tensor:
    """A head's prediction from the nodes, ``[ΣN, d]``.

    It is ``[B, C]`` of graphs, ``[B, N, C]`` of nodes or ``[B, N, N, C]`` of edges, and zero where
    there is no node or edge.
    """
    if config.target == "graph":
        return head(pool(h, batch, config.readout))
    if config.target == "node":
        return padded(head(h), batch.mask)
    source, destination = batch.edge_index
    ends = torch.cat([h[source], h[destination]], dim=-1)  # [ΣE, 2 d]
    return padded(head(ends), batch.adjacency)  # [B, N, N, C]


def pool(h: Tensor, batch: GraphBatch, readout: Readout) -> Tensor:
    """A READOUT (Graphormer, Eq. 2), the sum or the mean of nodes: ``[ΣN, d]`` to ``[B, d]``."""
    if readout == "sum":
        return global_add_pool(h, batch.graph_index, size=batch.num_graphs)
    return global_mean_pool(h, batch.graph_index, size=batch.num_graphs)
