r"""Graphormer's Facts 1 and 2: layers with explicit weights, beside loops and PyG's layers.

``step`` returns an ordinary ``GraphormerLayer`` in float64 whose parameters are set by hand after
Appendix A.2 and A.3. The residual stream has F features, F messages (zero between layers), the
one-hot degree, and then 0, +C and -C; the first token, [VNode], has neither features nor a degree.
Node i attends to the nodes that its edges lead to (PyG's convolutions run the other way). What the
paper's sketch leaves out:

- LayerNorm is undone by two large constant channels, GELU by a large scale.
- A node without neighbours attends to [VNode], whose features are zero.
- :math:`-\infty` is a large negative number.
- A product with the degree is exact: each degree, one-hot, opens hidden units of its own.
"""

import math
from typing import NamedTuple

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv, GINConv, SAGEConv

from gtcourse.encodings import AddDegrees, AddShortestPaths, encode
from gtcourse.graphs import collate
from gtcourse.models.graphormer import GraphormerLayer, PairBias, SpatialEncoding
from tests.loops.convolutions import aggregate_loop
from tests.models.small import large_weights

MAX_NODES = 7
F = 3
DEGREES = range(MAX_NODES)
ZERO = 2 * F + MAX_NODES  # the channel of 0, before those of the constants
H = F  # a head for each feature, which the maximum needs
D = 18
K = D // H
SINK = -1e13  # the scalar of pairs with [VNode]
FAR = -1e15  # the scalar of pairs that are masked
CONSTANT = 1e10  # C, the size of the two constant channels
SHARPNESS = 1e8  # the scale at which GELU is ReLU
BOUND = 1e5  # larger than a hidden unit's input, and subtracted where a unit is shut
EYE = torch.eye(F, dtype=torch.float64)


class Units(NamedTuple):
    r"""Hidden units that add :math:`V \operatorname{ReLU}(W h_i + M m_i + b)` to the state.

    They are open at nodes of these degrees, or at every token. W, M: ``[U, F]``; V: ``[F, U]``, or
    for features and messages ``[2F, U]``.
    """

    degrees: list[int] | range | None
    own: Tensor
    message: Tensor
    b: Tensor
    V: Tensor


def linear(degrees, own: Tensor, message: Tensor) -> Units:
    """A linear map: x = ReLU(x) - ReLU(-x), which GELU satisfies too."""
    own, message = (torch.cat([W, -W]) for W in (own, message))
    signs = torch.eye(len(own) // 2, dtype=torch.float64)
    return Units(degrees, own, message, own.new_zeros(len(own)), torch.cat([signs, -signs], dim=1))


@torch.no_grad()
def step(units: list[Units], temperature: float | None = None) -> GraphormerLayer:
    """A layer whose attention brings the mean over the bias's neighbours, or with a temperature the
    maximum, and whose units write the new features; the old ones and the messages are erased.
    """
    units = [*units, linear(None, *(-torch.eye(2 * F).double()).chunk(2, dim=1))]
    layer = GraphormerLayer(D, H, sum(len(u.b) for u in units)).double()
    for parameter in layer.parameters():
        parameter.zero_()
    for norm in (layer.attention_norm, layer.feed_forward_norm):
        norm.weight.fill_(CONSTANT * math.sqrt(2 / D))

    # Head t averages feature t, or takes its maximum, and writes it to the channel F + t.
    attention = layer.attention
    first, _, second = layer.feed_forward
    for t in range(F):
        attention.value.weight[t * K, t] = 1.0
        attention.output.weight[F + t, t * K] = 1.0
        if temperature is not None:  # W_Q = 0: every query is T, every key is feature t
            attention.key.weight[t * K, t] = 1.0
            attention.query.bias[t * K] = temperature * math.sqrt(K)

    # Units beside each other: GELU(s (x + B o - B)) / s of each, where o is 1 if it is open.
    end = 0
    for degrees, own, message, b, V in units:
        rows = slice(end, end := end + len(b))
        first.weight[rows, :F] = SHARPNESS * own
        first.weight[rows, F : 2 * F] = SHARPNESS * message
        first.bias[rows] = SHARPNESS * b
        second.weight[: len(V), rows] = V / SHARPNESS
        if degrees is not None:
            first.weight[rows, [2 * F + k for k in degrees]] = SHARPNESS * BOUND
            first.bias[rows] -= SHARPNESS * BOUND

    for reader in (attention.key, attention.value, first):
        reader.weight[:, ZERO] = -reader.weight.sum(dim=1)  # blind to the norm's mean
    return layer


NOTHING = 0 * EYE
AGGREGATIONS = {
    "mean": step([linear(DEGREES, NOTHING, EYE)]),
    "sum": step([linear([k], NOTHING, k * EYE) for k in DEGREES]),
    "max": step([linear(DEGREES, NOTHING, EYE)], temperature=1e8),
}


def gin_layer(W1, b1, W2, b2, eps):
    """W2 ReLU(W1 ((1 + ε) h_i + Σ_j h_j) + b1) + b2, in one feed-forward network."""
    units = [Units([k], (1 + eps) * W1, k * W1, b1, W2) for k in DEGREES]
    # A unit that is 1 where it is open, in place of the last map's bias, which [VNode] would get.
    nothing = torch.zeros_like(W1[:1])
    one = torch.ones_like(b1[:1])
    return step([*units, Units(DEGREES, nothing, nothing, one, b2[:, None])])


def sage_layer(W_neighbours, W_self, b, temperature):
    """ReLU(W_n m_i + W_s h_i + b) of the neighbours' mean, or with a temperature maximum."""
    return step([Units(DEGREES, W_self, W_neighbours, b, EYE)], temperature)


def gcn_layer(W, b):
    """ReLU(W Σ_j h_j / √((k_i + 1)(k_j + 1)) + b) in the variable g_i = h_i / √(k_i + 1).

    The sender's degree is inside of the sum, and a value is linear in the sender: the state
    carries g, which `scale_layer` computes before the first layer and undoes after the last.
    """
    roots = {k: math.sqrt(k + 1) for k in DEGREES}
    return step([Units([k], 0 * W, root * W, b, EYE / root) for k, root in roots.items()])


def scale_layer(power):
    """h_i times a power of its degree plus one."""
    return step([linear([k], (k + 1) ** power * EYE, NOTHING) for k in DEGREES])


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


def tokens(batch):
    """[VNode] and the nodes, ``[B, N + 1, D]``: all of it is within an embedding's reach."""
    state = torch.zeros(len(batch.x), batch.x.shape[1] + 1, D, dtype=torch.float64)
    state[:, 1:, :F] = batch.x
    degree = batch.encodings["out_degree"].long()
    state[:, 1:, 2 * F : ZERO] = functional.one_hot(degree, MAX_NODES)
    state[..., ZERO + 1] = CONSTANT
    state[..., ZERO + 2] = -CONSTANT
    return state


@torch.no_grad()
def run(batch, layers, distances=(1,)):
    """The real nodes' features after the layers, ``[ΣN, F]``; the distances are attended to."""
    encoding = SpatialEncoding(H, max_distance=2)  # the last row: 2 or farther
    bias = PairBias(H, [encoding]).double()
    encoding.scalars.weight.fill_(FAR)
    encoding.scalars.weight[[distance + 1 for distance in distances]] = 0.0
    bias.virtual.fill_(SINK)
    state = tokens(batch)
    for layer in layers:
        state = layer(state, bias(batch), mask=functional.pad(batch.mask, (1, 0), value=True))
    return state[:, 1:, :F][batch.mask]


def pyg(convs, batch, activation=torch.relu):
    """PyG sends along edges; a Graphormer node attends to the nodes its own edges lead to."""
    h = batch.x[batch.mask]
    for conv in convs:
        h = activation(conv(h, batch.edge_index.flip(0)))
    return h


def assert_near(result, expected):
    torch.testing.assert_close(result, expected, atol=1e-6, rtol=0)


@pytest.mark.holds("Graphormer, Fact 1")
@pytest.mark.parametrize("kind", AGGREGATIONS)
@given(batch=batches())
def test_aggregations_equal_the_loop_over_neighbours(kind, batch):
    expected = [
        aggregate_loop(x[mask], edges[mask][:, mask], kind)
        for x, edges, mask in zip(batch.x, batch.adjacency, batch.mask, strict=True)
    ]
    assert_near(run(batch, [AGGREGATIONS[kind]]), torch.cat(expected))


@pytest.mark.holds("Graphormer, Fact 1")
@given(batches(), st.integers(0, 10_000), st.sampled_from([0.0, -1.0, 0.3]))
def test_gin_equals_pyg(batch, seed, eps):
    conv = GINConv(nn.Sequential(nn.Linear(F, 5), nn.ReLU(), nn.Linear(5, F)))
    large_weights(conv, seed).eps.fill_(eps)
    first, _, second = conv.nn
    layer = gin_layer(first.weight, first.bias, second.weight, second.bias, eps)
    assert_near(run(batch, [layer]), pyg([conv], batch, nn.Identity()))


@pytest.mark.holds("Graphormer, Fact 1")
@given(batches(), st.integers(0, 10_000))
def test_stacked_gcn_equals_pyg(batch, seed):
    convs = [large_weights(GCNConv(F, F), seed), large_weights(GCNConv(F, F), seed + 1)]
    middle = [gcn_layer(conv.lin.weight, conv.bias) for conv in convs]
    layers = [scale_layer(-0.5), *middle, scale_layer(0.5)]
    assert_near(run(batch, layers, distances=(0, 1)), pyg(convs, batch))


@pytest.mark.holds("Graphormer, Fact 1")
@pytest.mark.parametrize(("aggregation", "temperature"), [("mean", None), ("max", 1e8)])
@given(batch=batches(), seed=st.integers(0, 10_000))
def test_sage_equals_pyg(aggregation, temperature, batch, seed):
    conv = large_weights(SAGEConv(F, F, aggr=aggregation), seed)
    layer = sage_layer(conv.lin_l.weight, conv.lin_r.weight, conv.lin_l.bias, temperature)
    assert_near(run(batch, [layer]), pyg([conv], batch))


def readout(batch, layer, bias=None):
    """Every token's features; with W_Q = W_K = 0 and no bias all logits are equal."""
    return layer(tokens(batch), bias, mask=functional.pad(batch.mask, (1, 0)))[..., :F]


def graph_means(batch):
    return torch.stack([x[mask].mean(dim=0) for x, mask in zip(batch.x, batch.mask, strict=True)])


READOUT = step([linear(None, NOTHING, EYE)])


@pytest.mark.holds("Graphormer, Fact 2")
@given(batches())
def test_a_graphormer_layer_can_give_every_token_the_mean_readout(batch):
    result = readout(batch, READOUT)
    assert_near(result, graph_means(batch)[:, None].expand_as(result))


@pytest.mark.parametrize("temperature", [1.0, 1000.0])
def test_a_constant_added_to_all_logits_does_not_change_the_output(temperature):
    """The proof of Fact 2 sets the biases of query and key to T; the output is that of T = 0."""
    path = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]])
    batch = batch_of(Data(x=torch.randn(5, F).double(), edge_index=path))
    bias = large_weights(PairBias(H, [SpatialEncoding(H, max_distance=4)]))(batch)
    layer = step([linear(None, NOTHING, EYE)])
    without = readout(batch, layer, bias)
    nn.init.constant_(layer.attention.query.bias, temperature)
    nn.init.constant_(layer.attention.key.bias, temperature)
    result = readout(batch, layer, bias)[:, 1:]
    assert_near(result, without[:, 1:])
    assert (result - graph_means(batch)[:, None])[batch.mask].abs().max() > 0.1
