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
    FAR,
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
from gtcourse.models.facts_weights import CONSTANT, Stream
from gtcourse.models.graphormer import (
    CentralityEncoding,
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


def test_the_tolerance_holds_up_to_a_thousand():
    n = MAX_NODES
    data = graph(n, [(i, j) for i in range(n) for j in range(n) if i != j and (i + j) % 3])
    data.x = 1000 * data.x / data.x.abs().max()
    batch = batch_of(data)
    stream = stream_for(batch, num_heads=3)
    for kind, layer in (("mean", mean_layer(stream)), ("max", max_layer(stream))):
        assert_near(run(stream, batch, [layer]), looped(batch, kind))
    batch.x = 1000 * batch.x / looped(batch, "sum").abs().max()
    assert_near(run(stream, batch, [sum_layer(stream)]), looped(batch, "sum"))


def test_a_small_temperature_gives_the_softmax_by_hand():
    """T = 2, neighbours 0 and log(9) / 2: weights 1 / 10 and 9 / 10."""
    data = graph(3, [(0, 1), (0, 2)], width=2)
    data.x = torch.tensor([[0.0, 0.0], [0.0, 0.0], [math.log(9) / 2, 0.0]], dtype=torch.float64)
    batch = batch_of(data)
    stream = stream_for(batch, num_heads=2)
    result = run(stream, batch, [max_layer(stream, temperature=2.0)])
    assert_near(result[0, 0], 0.9 * data.x[2, 0])


@pytest.mark.parametrize("temperature", [1.0, 10.0, 1000.0])
@given(batch=batches())
def test_a_softmax_falls_short_of_the_maximum_by_the_stated_bound(temperature, batch):
    stream = stream_for(batch, num_heads=3)
    short = looped(batch, "max") - run(stream, batch, [max_layer(stream, temperature)])
    assert short.min() > -TOLERANCE
    assert short.max() < (MAX_NODES - 1) / (math.e * temperature) + TOLERANCE


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


@given(batches(), st.integers(0, 10_000))
def test_stacked_steps_equal_stacked_pyg_layers(batch, seed):
    """Widths 3, 4, 2: the stream is as wide as the widest; channels a step does not write are 0."""
    convs = [
        filled(GINConv(nn.Sequential(nn.Linear(a, 4), nn.ReLU(), nn.Linear(4, b))), seed + a)
        for a, b in ((3, 4), (4, 2))
    ]
    stream = stream_for(batch, width=4)
    layers = [
        gin_layer(stream, c.nn[0].weight, c.nn[0].bias, c.nn[2].weight, c.nn[2].bias) for c in convs
    ]
    result, expected = run(stream, batch, layers), batch.x[batch.mask]
    for conv in convs:
        expected = conv(expected, heard_edges(batch))
    assert_near(result[:, :2], expected)
    assert_near(result[:, 2:], torch.zeros_like(expected))


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


@given(batches())
def test_the_layout_is_the_same_behind_a_step(batch):
    stream = stream_for(batch)
    before = stream.write(batch.x, batch.encodings["out_degree"])
    after = mean_layer(stream)(before, spatial_bias(stream)(batch), mask=stream.keys(batch.mask))
    assert_near(after[:, :, 3:], before[:, :, 3:])
    assert_near(after[:, 0], before[:, 0])  # [VNode], which has no features


@given(batches())
def test_an_embedding_and_the_centrality_encoding_write_the_state(batch):
    """A token's constants come with its embedding, the one-hot degree with Eq. 5's second table."""
    stream = stream_for(batch)
    centrality = CentralityEncoding(1, MAX_NODES - 1, stream.d_model).double()
    nn.init.zeros_(centrality.incoming.weight)
    nn.init.zeros_(centrality.outgoing.weight)
    rows = range(MAX_NODES)
    centrality.outgoing.weight.data[rows, stream.degree_channels(rows)] = 1.0
    embedded = torch.zeros(*batch.mask.shape, stream.d_model, dtype=torch.float64)
    embedded[..., :3] = batch.x
    embedded[..., stream.zero + 1], embedded[..., stream.zero + 2] = CONSTANT, -CONSTANT
    state = stream.write(batch.x, batch.encodings["out_degree"])
    torch.testing.assert_close(state[:, 1:], embedded + centrality(batch), atol=0, rtol=0)


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


def test_without_the_constants_the_norms_change_the_numbers():
    batch = batch_of(graph(3, [(0, 1), (1, 0)]))
    stream = stream_for(batch)
    state = stream.write(batch.x, batch.encodings["out_degree"])
    state[..., stream.zero + 1 :] = 0
    bias, mask = spatial_bias(stream)(batch), stream.keys(batch.mask)
    result = stream.read(mean_layer(stream)(state, bias, mask=mask))[batch.mask]
    assert not torch.allclose(result, looped(batch, "mean"), atol=0.1)


def test_without_the_sink_a_node_alone_hears_the_others():
    """All its logits are FAR: they cancel in the softmax, and it hears every node."""
    batch = batch_of(graph(3, [(0, 1), (1, 0)]))
    stream = stream_for(batch)
    bias = spatial_bias(stream)
    nn.init.constant_(bias.virtual, 2 * FAR)
    state = stream.write(batch.x, batch.encodings["out_degree"])
    state = mean_layer(stream)(state, bias(batch), mask=stream.keys(batch.mask))
    assert_near(stream.read(state)[0, 2], batch.x[0, :3].mean(dim=0))


def test_a_degree_without_a_channel_is_refused():
    with pytest.raises(ValueError, match="a node has degree 3; expected at most max_degree = 2"):
        Stream(width=1, max_degree=2).write(torch.zeros(1, 1, 1), torch.tensor([[3]]))


def test_a_maximum_with_too_few_heads_is_refused():
    with pytest.raises(ValueError, match="2 heads; expected one for each of its 3 features"):
        max_layer(Stream(width=3, max_degree=2, num_heads=2))
