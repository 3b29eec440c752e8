r"""Facts 1 and 2 of Graphormer (Ying et al., 2021) by explicit weights: layers that are GNN steps.

Each function returns an ordinary ``GraphormerLayer`` in float64, with parameters set by hand after
Appendix A.2 and A.3. Its output is within ``TOLERANCE`` of the step that it is named after while
features, results and inputs of hidden units stay within ±1000. Steps can be stacked::

    stream = Stream(width=16, max_degree=4)
    layer, bias = gin_layer(stream, W1, b1, W2, b2), spatial_bias(stream)
    state = layer(stream.write(h, degree), bias(batch), mask=stream.keys(batch.mask))
    stream.read(state)                                              # [B, N, F]

Node i attends to the nodes that its edges lead to (PyG's convolutions run the other way). What the
paper's sketch leaves out:

- LayerNorm is undone by two large constant channels, GELU by a large scale.
- A node without neighbours attends to [VNode], whose features are zero.
- :math:`-\infty` is a large negative number; exp(-1000) is 0 in floating point.
- A product with the degree is exact: each degree, one-hot, opens hidden units of its own.
- GCN weighs each sender by its degree inside the sum: see :func:`gcn_layer`.

Shapes: B graphs, N nodes (padded), F features, H heads, d width, K = d / H, U hidden units; k is a
node's degree, D the largest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gtcourse.graphs.batch import UNREACHABLE
from gtcourse.models.graphormer import (
    GraphormerAttention,
    GraphormerLayer,
    PairBias,
    SpatialEncoding,
)

TOLERANCE = 1e-6
"""The largest error of a step, in the range given above."""

SINK, FAR = -1e13, -1e15
"""The scalars of pairs with [VNode], and of pairs that are masked."""

CONSTANT = 1e10
"""C, the size of the two constant channels."""

SHARPNESS = 1e8
"""s, the scale at which GELU stands for ReLU."""

BOUND = 1e5
"""A hidden unit's input is smaller than this; so much is taken from it where it has to be shut."""


@dataclass(frozen=True)
class Stream:
    r"""Which channels of the residual stream hold what.

    ======================  =================================================================
    ``[0, F)``              the features :math:`h_i`; zero at [VNode]
    ``[F, 2F)``             what attention brings; zero between layers
    ``[2F, 2F + D + 1)``    the degree, one-hot (the centrality encoding); zero at [VNode]
    the next three          0, +C and -C, for the norms
    the rest                unused, zero
    ======================  =================================================================

    Args:
        width: F; weights may use fewer channels than F, the first ones.
        max_degree: D.
        num_heads: H; MAX needs F heads, everything else works with any number.
    """

    width: int
    max_degree: int
    num_heads: int = 1

    @property
    def d_model(self) -> int:
        used = 2 * self.width + self.max_degree + 4
        return math.ceil(used / self.num_heads) * self.num_heads

    @property
    def degrees(self) -> range:
        return range(self.max_degree + 1)

    @property
    def zero(self) -> int:
        return 2 * self.width + self.max_degree + 1

    def degree_channels(self, degrees: Sequence[int]) -> list[int]:
        return [2 * self.width + degree for degree in degrees]

    def write(self, h: Tensor, degree: Tensor) -> Tensor:
        """The tokens of a batch: h ``[B, N, F]``, degree ``[B, N]`` to ``[B, N + 1, d]`` float64.

        One-hot degrees are rows of the centrality encoding, and each token type's vector holds its
        features and the constants, so all of it is within an embedding's reach.
        """
        tokens = h.new_zeros(h.shape[0], h.shape[1] + 1, self.d_model, dtype=torch.float64)
        tokens[:, 1:, : h.shape[2]] = h
        tokens[:, 1:, self.degree_channels(self.degrees)] = F.one_hot(
            degree.long(), self.max_degree + 1
        ).double()
        tokens[..., self.zero + 1], tokens[..., self.zero + 2] = CONSTANT, -CONSTANT
        return tokens

    def read(self, state: Tensor) -> Tensor:
        """The nodes' features: ``[B, N + 1, d]`` to ``[B, N, F]``."""
        return state[:, 1:, : self.width]

    def keys(self, mask: Tensor, *, virtual: bool = True) -> Tensor:
        """The mask ``[B, N]`` of real nodes with [VNode] in front, ``[B, N + 1]``."""
        return F.pad(mask, (1, 0), value=virtual)


def spatial_bias(stream: Stream, distances: Sequence[int] = (1,)) -> PairBias:
    """The spatial encoding with which a node attends to exactly these distances (0 or 1).

    0 for those, ``FAR`` for other nodes, ``SINK`` for [VNode]. All layers of a stack share it.
    """
    encoding = SpatialEncoding(stream.num_heads, max_distance=2)  # the last row: 2 or farther
    bias = PairBias(stream.num_heads, [encoding]).double()
    with torch.no_grad():
        encoding.scalars.weight.fill_(FAR)
        for distance in distances:
            encoding.scalars.weight[distance - UNREACHABLE] = 0.0
        bias.virtual.fill_(SINK)
    return bias


def mean_layer(stream: Stream) -> GraphormerLayer:
    r"""MEAN (A.2): :math:`h_i \leftarrow \frac{1}{k} \sum_{j \in N(i)} h_j`; 0 if N(i) is empty.

    (Graphormer, Fact 1.)
    """
    return step(stream, [linear(stream.degrees, reads(stream, message=eye(stream.width)))])


def sum_layer(stream: Stream) -> GraphormerLayer:
    r"""SUM (A.2): :math:`h_i \leftarrow \sum_{j \in N(i)} h_j`, the mean times the degree.

    (Graphormer, Fact 1.)
    """
    identity = eye(stream.width)
    return step(stream, [linear([k], reads(stream, message=k * identity)) for k in stream.degrees])


def max_layer(stream: Stream, temperature: float = 1e8) -> GraphormerLayer:
    r"""MAX (A.2): :math:`h_{it} \leftarrow \max_{j \in N(i)} h_{jt}`; 0 if N(i) is empty.

    (Graphormer, Fact 1.) Head t has the logits :math:`T h_{jt}`. A softmax falls short of a maximum
    over n numbers by at most (n - 1) / (e T).

    Args:
        stream: with a head for each feature, or more.
        temperature: T, as A.2 calls it (the inverse of a softmax's usual temperature).

    Raises:
        ValueError: there are fewer heads than features.
    """
    network = linear(stream.degrees, reads(stream, message=eye(stream.width)))
    return step(stream, [network], temperature)


def gin_layer(
    stream: Stream, W1: Tensor, b1: Tensor, W2: Tensor, b2: Tensor, eps: float = 0.0
) -> GraphormerLayer:
    r"""GIN's step: :math:`h_i \leftarrow W_2 \operatorname{ReLU}(W_1 z_i + b_1) + b_2` of

    .. math:: z_i = (1 + \epsilon)\, h_i + \sum_{j \in N(i)} h_j

    (Graphormer, Fact 1.) Both the product with the degree and the step's own network fit into one
    feed-forward network.

    Shapes:
        W1: ``[U, F]``; b1: ``[U]``; W2: ``[F, U]``; b2: ``[F]``
    """
    networks = []
    for k in stream.degrees:
        U = reads(stream, own=(1 + eps) * W1, message=k * W1)
        networks.append(with_output_bias(Network([k], U, b1, W2), b2))
    return step(stream, networks)


def sage_layer(
    stream: Stream,
    W_neighbours: Tensor,
    W_self: Tensor,
    b: Tensor,
    temperature: float | None = None,
) -> GraphormerLayer:
    r"""GraphSAGE's step: :math:`h_i \leftarrow \operatorname{ReLU}(W_n m_i + W_s h_i + b)`.

    (Graphormer, Fact 1.)

    Args:
        temperature: None, then m is the MEAN over the neighbours; otherwise it is their MAX, as in
            :func:`max_layer`.

    Shapes:
        W_neighbours, W_self: ``[F, F]``; b: ``[F]``
    """
    U = reads(stream, own=W_self, message=W_neighbours)
    return step(stream, [Network(stream.degrees, U, b, eye(len(b)))], temperature)


def gcn_layer(stream: Stream, W: Tensor, b: Tensor) -> GraphormerLayer:
    r"""GCN's step, ReLU included, in the variable :math:`g_i = h_i / \sqrt{k_i + 1}`, k the degree.

    .. math:: h_i \leftarrow \operatorname{ReLU}\Big(W \sum_{j \in N(i) \cup \{i\}}
              \frac{h_j}{\sqrt{(k_i + 1)(k_j + 1)}} + b\Big)
              = \operatorname{ReLU}\big(\sqrt{k_i + 1}\; W \operatorname{mean}_j g_j + b\big)

    (Graphormer, Fact 1.) The sender's degree stands inside of the sum, and a value is a linear map
    of the sender. (Logits of -log(k_j + 1) / 2 weigh the senders rightly, but the softmax divides
    by the weights' sum, and the network would have to multiply by it.) So the state carries g,
    before and after: ``scale_layer(stream, lambda k: (k + 1) ** -0.5)`` makes it from h, and
    ``(k + 1) ** 0.5`` gives h back. The bias is ``spatial_bias(stream, distances=(0, 1))``.

    Shapes:
        W: ``[F, F]``; b: ``[F]``
    """
    networks = []
    for k in stream.degrees:
        root = math.sqrt(k + 1)
        networks.append(Network([k], reads(stream, message=root * W), b, eye(len(b)) / root))
    return step(stream, networks)


def scale_layer(stream: Stream, factor: Callable[[int], float]) -> GraphormerLayer:
    r"""Multiplies by a function of the degree: :math:`h_i \leftarrow f(k_i)\, h_i`."""
    identity = eye(stream.width)
    return step(
        stream, [linear([k], reads(stream, own=factor(k) * identity)) for k in stream.degrees]
    )


def readout_layer(stream: Stream) -> GraphormerLayer:
    r"""MEAN READOUT (A.3): every token's features become the mean over the real nodes.

    (Graphormer, Fact 2.) With W_Q = W_K = 0 and no bias all logits are equal, and that is all it
    takes: call the layer without a bias, and with ``mask=stream.keys(batch.mask, virtual=False)``,
    because [VNode] would be one more node of the mean.

    Differs from the paper's proof, which keeps the spatial encoding and sets the biases of query
    and key to T, so that "T² 1 1ᵀ dominates the Spatial Encoding term". It dominates nothing: a
    softmax does not change when the same number is added to all logits, however large.
    """
    return step(stream, [linear(None, reads(stream, message=eye(stream.width)))])


class Network(NamedTuple):
    r"""Hidden units adding :math:`V \operatorname{ReLU}(U x + b)` to the state, x = (own, message).

    Shapes:
        degrees: the units are shut at all other nodes, and at [VNode]; None: open at every token
        U: ``[U, 2F]``; b: ``[U]``; V: ``[F, U]``, or fewer rows, or up to 2F
    """

    degrees: Sequence[int] | None
    U: Tensor
    b: Tensor
    V: Tensor


def reads(stream: Stream, own: Tensor | None = None, message: Tensor | None = None) -> Tensor:
    """The maps of a node's own features and of its message, side by side: ``[U, 2F]``."""
    units = len(message if own is None else own)
    U = torch.zeros(units, 2 * stream.width, dtype=torch.float64)
    for start, weight in ((0, own), (stream.width, message)):
        if weight is not None:
            U[:, start : start + weight.shape[1]] = weight
    return U


def linear(degrees: Sequence[int] | None, W: Tensor) -> Network:
    """A linear map as a network: x = ReLU(x) - ReLU(-x), which GELU satisfies too."""
    V = eye(len(W))
    return Network(degrees, torch.cat([W, -W]), W.new_zeros(2 * len(W)), torch.cat([V, -V], dim=1))


def eye(size: int) -> Tensor:
    return torch.eye(size, dtype=torch.float64)


def with_output_bias(network: Network, bias: Tensor) -> Network:
    """One unit more, ReLU(1): shut with the others, which a bias of the last map would not be."""
    degrees, U, b, V = network
    return Network(
        degrees,
        torch.cat([U, torch.zeros_like(U[:1])]),
        torch.cat([b, torch.ones_like(b[:1])]),
        torch.cat([V, bias[:, None]], dim=1),
    )


@torch.no_grad()
def step(
    stream: Stream, networks: list[Network], temperature: float | None = None
) -> GraphormerLayer:
    """A layer whose attention brings the mean over the bias's neighbours, or with a temperature the
    maximum, and whose networks make the new features of it; the old ones and the mean are erased.
    """
    erase = linear(None, -eye(2 * stream.width))
    networks = [*networks, erase]
    units = sum(len(network.b) for network in networks)
    layer = GraphormerLayer(stream.d_model, stream.num_heads, units).double()
    for parameter in layer.parameters():
        parameter.zero_()
    for norm in (layer.attention_norm, layer.feed_forward_norm):
        norm.weight.fill_(CONSTANT * math.sqrt(2 / stream.d_model))
    _attend(stream, layer.attention, temperature)
    _combine(stream, layer.feed_forward, networks)
    for reader in (layer.attention.key, layer.attention.value, layer.feed_forward[0]):
        reader.weight[:, stream.zero] = -reader.weight.sum(dim=1)  # blind to the norm's mean
    return layer


def _attend(stream: Stream, attention: GraphormerAttention, temperature: float | None) -> None:
    """Feature t lies in head t mod H; its average, or maximum, goes to the channel F + t."""
    if temperature is not None and stream.num_heads < stream.width:
        raise ValueError(
            f"the stream has {stream.num_heads} heads; expected one for each of its "
            f"{stream.width} features, because the maximum needs that."
        )
    K = stream.d_model // stream.num_heads
    for t in range(stream.width):
        place = t % stream.num_heads * K + t // stream.num_heads
        attention.value.weight[place, t] = 1.0
        attention.output.weight[stream.width + t, place] = 1.0
        if temperature is not None:  # W_Q = 0: every query is T, every key is feature t
            attention.key.weight[place, t] = 1.0
            attention.query.bias[place] = temperature * math.sqrt(K)


def _combine(stream: Stream, feed_forward: nn.Sequential, networks: list[Network]) -> None:
    """The networks beside each other, GELU(s (x + B o - B)) / s for each unit, o its gate."""
    first, _, second = feed_forward
    end = 0
    for degrees, U, b, V in networks:
        units = slice(end, end := end + len(b))
        first.weight[units, : 2 * stream.width] = SHARPNESS * U
        first.bias[units] = SHARPNESS * b
        second.weight[: len(V), units] = V / SHARPNESS
        if degrees is not None:
            first.weight[units, stream.degree_channels(degrees)] = SHARPNESS * BOUND
            first.bias[units] -= SHARPNESS * BOUND
