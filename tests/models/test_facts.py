"""Graphormer's Facts 1 and 2: its layers with explicit weights, beside loops and PyG's layers."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv, GINConv, SAGEConv

from gtcourse.encodings import AddDegrees, AddShortestPaths, encode
from gtcourse.graphs import collate
from gtcourse.models.facts import (
    TOLERANCE,
    Stream,
    Units,
    eye,
    linear,
    max_layer,
    mean_layer,
    readout_layer,
    spatial_bias,
    step,
    sum_layer,
)
from gtcourse.models.graphormer import GraphormerLayer, PairBias, SpatialEncoding
from tests.loops.aggregations import aggregate_loop
from tests.models.graphormers import large_weights

MAX_NODES, F = 7, 3


def batch_of(*graphs):
    return collate(encode(graphs, AddDegrees(), AddShortestPaths()), num_nodes=MAX_NODES + 1)


@st.composite
def batches(draw):
    """Graphs of one node and more, with isolated nodes, directed and undirected, padded."""
    graphs = []
    for _ in range(draw(st.integers(1, 3))):
        n = draw(st.integers(1, MAX_NODES))
        node = st.integers(0, n - 1)
        edges = draw(st.sets(st.tuples(node, node).filter(lambda e: e[0] != e[1])))
        if draw(st.booleans()):
            edges |= {(j, i) for i, j in edges}
        generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
        x = torch.randn(n, F, dtype=torch.float64, generator=generator)
        edge_index = torch.tensor(sorted(edges), dtype=torch.int64).reshape(-1, 2).T.contiguous()
        graphs.append(Data(x=draw(st.sampled_from([0.01, 1.0, 10.0])) * x, edge_index=edge_index))
    return batch_of(*graphs)


def stream_of(num_heads=1):
    return Stream(F, max_degree=MAX_NODES - 1, num_heads=num_heads)


def run(stream, batch, layers, distances=(1,)):
    """The real nodes' features after the layers, ``[ΣN, F]``."""
    bias = spatial_bias(stream, distances)(batch)
    state = stream.write(batch.x, batch.encodings["out_degree"])
    for layer in layers:
        assert isinstance(layer, GraphormerLayer)
        state = layer(state, bias, mask=stream.keys(batch.mask))
    return stream.read(state)[batch.mask]


def pyg(convs, batch, activation=torch.relu):
    """PyG sends along edges; a Graphormer node attends to the nodes its own edges lead to."""
    h = batch.x[batch.mask]
    for conv in convs:
        h = activation(conv(h, batch.edge_index.flip(0)))
    return h


def gin_layer(stream, W1, b1, W2, b2, eps):
    """W2 ReLU(W1 ((1 + ε) h_i + Σ_j h_j) + b1) + b2, in one feed-forward network."""
    units = [Units([k], (1 + eps) * W1, k * W1, b1, W2) for k in stream.degrees]
    nothing = torch.zeros_like(W1[:1])
    # A unit that is 1 where it is open, in place of the last map's bias, which [VNode] would get.
    constant = Units(stream.degrees, nothing, nothing, torch.ones_like(b1[:1]), b2[:, None])
    return step(stream, [*units, constant])


def sage_layer(stream, W_neighbours, W_self, b, temperature):
    """ReLU(W_n m_i + W_s h_i + b) of the neighbours' mean, or with a temperature max."""
    units = Units(stream.degrees, W_self, W_neighbours, b, eye(len(b)))
    return step(stream, [units], temperature)


def gcn_layer(stream, W, b):
    """ReLU(W Σ_j h_j / √((k_i + 1)(k_j + 1)) + b) in the variable g_i = h_i / √(k_i + 1).

    The sender's degree is inside of the sum, and a value is linear in the sender: the state
    carries g, which `scale_layer` computes before the first layer and undoes after the last.
    """
    units = []
    for k in stream.degrees:
        root = math.sqrt(k + 1)
        units.append(Units([k], torch.zeros_like(W), root * W, b, eye(len(b)) / root))
    return step(stream, units)


def scale_layer(stream, factor):
    """h_i times a function of the degree."""
    return step(stream, [linear([k], own=factor(k) * eye(stream.width)) for k in stream.degrees])


def assert_near(result, expected):
    torch.testing.assert_close(result, expected, atol=TOLERANCE, rtol=0)


@pytest.mark.holds("Graphormer, Fact 1")
@pytest.mark.parametrize(
    ("kind", "make", "num_heads"),
    [
        *((kind, make, heads) for kind, make in (("mean", mean_layer), ("sum", sum_layer))
          for heads in (1, 2, 5)),
        ("max", max_layer, F),  # one head a feature
    ],
)  # fmt: skip
@given(batch=batches())
def test_aggregations_equal_the_loop_over_neighbours(kind, make, num_heads, batch):
    stream = stream_of(num_heads)
    expected = [
        aggregate_loop(x[mask], edges[mask][:, mask], kind)
        for x, edges, mask in zip(batch.x, batch.adjacency, batch.mask, strict=True)
    ]
    assert_near(run(stream, batch, [make(stream)]), torch.cat(expected))


@pytest.mark.holds("Graphormer, Fact 1")
@given(batches(), st.integers(0, 10_000), st.sampled_from([0.0, -1.0, 0.3]))
def test_gin_equals_pyg(batch, seed, eps):
    conv = GINConv(nn.Sequential(nn.Linear(F, 5), nn.ReLU(), nn.Linear(5, F)))
    large_weights(conv, seed).eps.fill_(eps)
    first, _, second = conv.nn
    stream = stream_of()
    layer = gin_layer(stream, first.weight, first.bias, second.weight, second.bias, eps)
    assert_near(run(stream, batch, [layer]), pyg([conv], batch, nn.Identity()))


@pytest.mark.holds("Graphormer, Fact 1")
@given(batches(), st.integers(0, 10_000))
def test_stacked_gcn_equals_pyg(batch, seed):
    convs = [large_weights(GCNConv(F, F), seed), large_weights(GCNConv(F, F), seed + 1)]
    stream = stream_of()
    layers = [
        scale_layer(stream, lambda k: (k + 1) ** -0.5),
        *(gcn_layer(stream, conv.lin.weight, conv.bias) for conv in convs),
        scale_layer(stream, lambda k: (k + 1) ** 0.5),
    ]
    assert_near(run(stream, batch, layers, distances=(0, 1)), pyg(convs, batch))


@pytest.mark.holds("Graphormer, Fact 1")
@pytest.mark.parametrize(("aggregation", "temperature"), [("mean", None), ("max", 1e8)])
@given(batch=batches(), seed=st.integers(0, 10_000))
def test_sage_equals_pyg(aggregation, temperature, batch, seed):
    conv = large_weights(SAGEConv(F, F, aggr=aggregation), seed)
    stream = stream_of(num_heads=F)
    layer = sage_layer(stream, conv.lin_l.weight, conv.lin_r.weight, conv.lin_l.bias, temperature)
    assert_near(run(stream, batch, [layer]), pyg([conv], batch))


def readout(stream, batch, layer, bias=None):
    state = stream.write(batch.x, batch.encodings["out_degree"])
    return layer(state, bias, mask=stream.keys(batch.mask, virtual=False))[..., : stream.width]


def graph_means(batch):
    return torch.stack([x[mask].mean(dim=0) for x, mask in zip(batch.x, batch.mask, strict=True)])


@pytest.mark.holds("Graphormer, Fact 2")
@given(batches())
def test_every_token_becomes_the_mean_readout(batch):
    stream = stream_of()
    result = readout(stream, batch, readout_layer(stream))
    assert_near(result, graph_means(batch)[:, None].expand_as(result))


@pytest.mark.parametrize("temperature", [1.0, 1000.0])
def test_a_constant_on_all_logits_does_not_dominate_the_spatial_encoding(temperature):
    """The proof of Fact 2 sets the biases of query and key to T; the output is that of T = 0."""
    path = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]])
    batch = batch_of(Data(x=torch.randn(5, F).double(), edge_index=path))
    stream = stream_of()
    bias = large_weights(PairBias(1, [SpatialEncoding(1, max_distance=4)]))(batch)
    layer = readout_layer(stream)
    without = readout(stream, batch, layer, bias)
    nn.init.constant_(layer.attention.query.bias, temperature)
    nn.init.constant_(layer.attention.key.bias, temperature)
    result = readout(stream, batch, layer, bias)[:, 1:]
    assert_near(result, without[:, 1:])
    assert (result - graph_means(batch)[:, None])[batch.mask].abs().max() > 0.1
