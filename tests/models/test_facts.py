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
    gcn_layer,
    gin_layer,
    max_layer,
    mean_layer,
    readout_layer,
    sage_layer,
    scale_layer,
    spatial_bias,
    sum_layer,
)
from gtcourse.models.facts_weights import Stream
from gtcourse.models.graphormer import (
    GraphormerLayer,
    PairBias,
    SpatialEncoding,
)
from tests.loops.aggregations import aggregate_loop

MAX_NODES = 7


def graph(n, edges, seed=0, width=3, scale=1.0):
    generator = torch.Generator().manual_seed(seed)
    return Data(
        x=scale * torch.randn(n, width, dtype=torch.float64, generator=generator),
        edge_index=torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).T.contiguous(),
    )


def batch_of(*graphs):
    return collate(encode(graphs, AddDegrees(), AddShortestPaths()), num_nodes=MAX_NODES + 1)


@st.composite
def batches(draw, width=3):
    """Graphs of one node and more, with isolated nodes, directed and undirected, padded."""
    graphs = []
    for _ in range(draw(st.integers(1, 3))):
        n = draw(st.integers(1, MAX_NODES))
        node = st.integers(0, n - 1)
        edges = draw(st.sets(st.tuples(node, node).filter(lambda e: e[0] != e[1])))
        if draw(st.booleans()):
            edges |= {(j, i) for i, j in edges}
        scale = draw(st.sampled_from([0.01, 1.0, 10.0]))
        graphs.append(graph(n, sorted(edges), draw(st.integers(0, 2**31)), width, scale))
    return batch_of(*graphs)


def stream_for(batch, width=None, num_heads=1):
    return Stream(width or batch.x.shape[-1], max_degree=MAX_NODES - 1, num_heads=num_heads)


def run(stream, batch, layers, distances=(1,)):
    """The real nodes' features after the layers, ``[ΣN, F]``."""
    bias = spatial_bias(stream, distances)(batch)
    state = stream.write(batch.x, batch.encodings["out_degree"])
    for layer in layers:
        assert isinstance(layer, GraphormerLayer)
        state = layer(state, bias, mask=stream.keys(batch.mask))
    return stream.read(state)[batch.mask]


def looped(batch, kind):
    """The loop's result, in the same order."""
    parts = [
        aggregate_loop(x[mask], edges[mask][:, mask], kind)
        for x, edges, mask in zip(batch.x, batch.adjacency, batch.mask, strict=True)
    ]
    return torch.cat(parts)


def heard_edges(batch):
    """PyG's nodes hear along edges; a Graphormer node hears the nodes its own edges lead to."""
    return batch.edge_index.flip(0)


def random_(*shape, seed):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def filled(module, seed):
    """The module in float64 with random parameters."""
    module = module.double()
    for number, parameter in enumerate(module.parameters()):
        parameter.data = random_(*parameter.shape, seed=seed + number)
    return module


def assert_near(result, expected, tolerance=TOLERANCE):
    torch.testing.assert_close(result, expected, atol=tolerance, rtol=0)


def test_a_path_by_hand():
    """0 - 1 - 2 and a node 3 alone, with features 4, 10, 6 and 8."""
    data = graph(4, [(0, 1), (1, 0), (1, 2), (2, 1)], width=1)
    data.x = torch.tensor([[4.0], [10.0], [6.0], [8.0]])
    batch = batch_of(data)
    stream = stream_for(batch)
    for make, expected in (
        (mean_layer, [10.0, 5.0, 10.0, 0.0]),
        (sum_layer, [10.0, 10.0, 10.0, 0.0]),
        (max_layer, [10.0, 6.0, 10.0, 0.0]),
    ):
        result = run(stream, batch, [make(stream)])
        assert_near(result[:, 0], torch.tensor(expected, dtype=torch.float64))


@pytest.mark.holds("Graphormer, Fact 1")
@pytest.mark.parametrize("num_heads", [1, 2, 5])
@given(batch=batches())
def test_mean_and_sum_equal_the_loop_with_any_number_of_heads(num_heads, batch):
    stream = stream_for(batch, num_heads=num_heads)
    assert_near(run(stream, batch, [mean_layer(stream)]), looped(batch, "mean"))
    assert_near(run(stream, batch, [sum_layer(stream)]), looped(batch, "sum"))


@pytest.mark.holds("Graphormer, Fact 1")
@given(batches())
def test_max_equals_the_loop_with_one_head_a_feature(batch):
    stream = stream_for(batch, num_heads=3)
    assert_near(run(stream, batch, [max_layer(stream)]), looped(batch, "max"))


@pytest.mark.holds("Graphormer, Fact 1")
@given(batches(), st.integers(0, 10_000), st.sampled_from([0.0, -1.0, 0.3]))
def test_gin_equals_pyg(batch, seed, eps):
    conv = filled(GINConv(nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 3))), seed)
    conv.eps.fill_(eps)
    first, _, second = conv.nn
    stream = stream_for(batch)
    layer = gin_layer(stream, first.weight, first.bias, second.weight, second.bias, eps)
    expected = conv(batch.x[batch.mask], heard_edges(batch))
    assert_near(run(stream, batch, [layer]), expected)


@pytest.mark.holds("Graphormer, Fact 1")
@given(batches(), st.integers(0, 10_000))
def test_stacked_gcn_equals_pyg(batch, seed):
    convs = [filled(GCNConv(3, 3), seed), filled(GCNConv(3, 3), seed + 10)]
    stream = stream_for(batch)
    layers = [
        scale_layer(stream, lambda k: (k + 1) ** -0.5),
        *(gcn_layer(stream, conv.lin.weight, conv.bias) for conv in convs),
        scale_layer(stream, lambda k: (k + 1) ** 0.5),
    ]
    result, expected = run(stream, batch, layers, distances=(0, 1)), batch.x[batch.mask]
    for conv in convs:
        expected = conv(expected, heard_edges(batch)).relu()
    assert_near(result, expected)


@pytest.mark.holds("Graphormer, Fact 1")
@pytest.mark.parametrize(("aggregation", "temperature"), [("mean", None), ("max", 1e8)])
@given(batch=batches(), seed=st.integers(0, 10_000))
def test_sage_equals_pyg(aggregation, temperature, batch, seed):
    conv = filled(SAGEConv(3, 3, aggr=aggregation), seed)
    stream = stream_for(batch, num_heads=3)
    layer = sage_layer(stream, conv.lin_l.weight, conv.lin_r.weight, conv.lin_l.bias, temperature)
    expected = conv(batch.x[batch.mask], heard_edges(batch)).relu()
    assert_near(run(stream, batch, [layer]), expected)


def readout(stream, batch, layer, bias=None):
    state = stream.write(batch.x, batch.encodings["out_degree"])
    state = layer(state, bias, mask=stream.keys(batch.mask, virtual=False))
    return state[..., : stream.width]


def graph_means(batch):
    return torch.stack([x[mask].mean(dim=0) for x, mask in zip(batch.x, batch.mask, strict=True)])


@pytest.mark.holds("Graphormer, Fact 2")
@given(batches())
def test_every_token_becomes_the_mean_readout(batch):
    stream = stream_for(batch)
    result = readout(stream, batch, readout_layer(stream))
    assert_near(result, graph_means(batch)[:, None].expand_as(result))


@pytest.mark.parametrize("temperature", [1.0, 30.0, 1000.0])
def test_a_constant_on_all_logits_does_not_dominate_the_spatial_encoding(temperature):
    """The proof of Fact 2 sets the biases of query and key to T; the output is that of T = 0."""
    batch = batch_of(graph(5, [(0, 1), (1, 2), (2, 3), (3, 4)], width=2))
    stream = stream_for(batch)
    spatial = PairBias(1, [SpatialEncoding(1, max_distance=4)]).double()
    spatial.encodings[0].scalars.weight.data = random_(6, 1, seed=0)
    layer = readout_layer(stream)
    without = readout(stream, batch, layer, spatial(batch))
    nn.init.constant_(layer.attention.query.bias, temperature)
    nn.init.constant_(layer.attention.key.bias, temperature)
    result = readout(stream, batch, layer, spatial(batch))[:, 1:]
    assert_near(result, without[:, 1:])
    assert (result - graph_means(batch)[:, None])[batch.mask].abs().max() > 0.1
