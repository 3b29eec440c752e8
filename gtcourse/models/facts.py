r"""Facts 1 and 2 of Graphormer (Ying et al., 2021) by explicit weights: layers that are GNN steps.

Each function returns an ordinary ``GraphormerLayer`` in float64, with parameters set by hand after
Appendix A.2 and A.3. Its output is within ``TOLERANCE`` of the step that it is named after while
features, results and inputs of hidden units stay within ±1000. Steps can be stacked::

    stream = Stream(width=16, max_degree=4)
    layer, bias = sum_layer(stream), spatial_bias(stream)
    state = layer(stream.write(h, degree), bias(batch), mask=stream.keys(batch.mask))
    stream.read(state)                                              # [B, N, F]

``tests/models/test_facts.py`` builds GIN, GCN and GraphSAGE from the same units. Node i attends to
the nodes that its edges lead to (PyG's convolutions run the other way). What the paper's sketch
leaves out:

- LayerNorm is undone by two large constant channels, GELU by a large scale.
- A node without neighbours attends to [VNode], whose features are zero.
- :math:`-\infty` is a large negative number; exp(-1000) is 0 in floating point.
- A product with the degree is exact: each degree, one-hot, opens hidden units of its own.

Shapes: B graphs, N nodes (padded), F features, H heads, d width, K = d / H, U hidden units; k is a
node's degree, D the largest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from gtcourse.graphs.batch import UNREACHABLE
from gtcourse.models.graphormer import GraphormerLayer, PairBias, SpatialEncoding

TOLERANCE = 1e-6
SINK, FAR = -1e13, -1e15  # the scalars of pairs with [VNode], and of pairs that are masked
CONSTANT = 1e10  # C, the size of the two constant channels
SHARPNESS = 1e8  # s, the scale at which GELU stands for ReLU
BOUND = 1e5  # larger than a hidden unit's input, and subtracted where a unit is shut


@dataclass(frozen=True)
class Stream:
    r"""The residual stream: F features, F messages, the one-hot degree, then 0, +C and -C.

    Messages are zero between layers, and [VNode] has neither features nor a degree. Weights may use
    fewer channels than ``width``, F. The maximum needs F heads, all else works with any number.
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

    def write(self, h: Tensor, degree: Tensor) -> Tensor:
        """The tokens of a batch: h ``[B, N, F]``, degree ``[B, N]`` to ``[B, N + 1, d]`` float64.

        One-hot degrees are rows of the centrality encoding, and each token type's vector holds its
        features and the constants, so all of it is within an embedding's reach.
        """
        start, end = 2 * self.width, 2 * self.width + self.max_degree + 1
        tokens = h.new_zeros(h.shape[0], h.shape[1] + 1, self.d_model, dtype=torch.float64)
        tokens[:, 1:, : h.shape[2]] = h
        tokens[:, 1:, start:end] = F.one_hot(degree.long(), self.max_degree + 1).double()
        tokens[..., end + 1], tokens[..., end + 2] = CONSTANT, -CONSTANT
        return tokens

    def read(self, state: Tensor) -> Tensor:
        """The nodes' features: ``[B, N + 1, d]`` to ``[B, N, F]``."""
        return state[:, 1:, : self.width]

    def keys(self, mask: Tensor, *, virtual: bool = True) -> Tensor:
        """The mask ``[B, N]`` of real nodes with [VNode] in front, ``[B, N + 1]``."""
        return F.pad(mask, (1, 0), value=virtual)


@torch.no_grad()
def spatial_bias(stream: Stream, distances: Sequence[int] = (1,)) -> PairBias:
    """The spatial encoding, shared by all layers, with which nodes attend to these distances."""
    encoding = SpatialEncoding(stream.num_heads, max_distance=2)  # the last row: 2 or farther
    bias = PairBias(stream.num_heads, [encoding]).double()
    encoding.scalars.weight.fill_(FAR)
    for distance in distances:
        encoding.scalars.weight[distance - UNREACHABLE] = 0.0
    bias.virtual.fill_(SINK)
    return bias


def mean_layer(stream: Stream) -> GraphormerLayer:
    r"""MEAN (A.2): :math:`h_i \leftarrow \frac{1}{k} \sum_{j \in N(i)} h_j`; 0 if N(i) is empty.

    (Graphormer, Fact 1.)
    """
    return step(stream, [linear(stream.degrees, message=eye(stream.width))])


def readout_layer(stream: Stream) -> GraphormerLayer:
    r"""MEAN READOUT (A.3): every token's features become the mean over the real nodes.

    (Graphormer, Fact 2.) With W_Q = W_K = 0 and no bias all logits are equal, and that is all it
    takes: call the layer without a bias, and with ``mask=stream.keys(batch.mask, virtual=False)``.

    Differs from the paper's proof, which keeps the spatial encoding and sets the biases of query
    and key to T, so that "T² 1 1ᵀ dominates the Spatial Encoding term". It dominates nothing: a
    softmax does not change when the same number is added to all logits, however large.
    """
    return step(stream, [linear(None, message=eye(stream.width))])


def sum_layer(stream: Stream) -> GraphormerLayer:
    r"""SUM (A.2): :math:`h_i \leftarrow \sum_{j \in N(i)} h_j`, the mean times the degree.

    (Graphormer, Fact 1.)
    """
    return step(stream, [linear([k], message=k * eye(stream.width)) for k in stream.degrees])


def max_layer(stream: Stream, temperature: float = 1e8) -> GraphormerLayer:
    r"""MAX (A.2): :math:`h_{it} \leftarrow \max_{j \in N(i)} h_{jt}`; 0 if N(i) is empty.

    (Graphormer, Fact 1.) Head t has the logits :math:`T h_{jt}`, where T is called a temperature as
    in A.2. A softmax falls short of a maximum over n numbers by at most (n - 1) / (e T).
    """
    return step(stream, [linear(stream.degrees, message=eye(stream.width))], temperature)


class Units(NamedTuple):
    r"""Hidden units that add :math:`V \operatorname{ReLU}(W h_i + M m_i + b)` to the state.

    They are open at nodes of these degrees, or at every token. W, M: ``[U, F]`` or narrower; V:
    ``[F, U]``, or fewer rows, or up to 2F.
    """

    degrees: Sequence[int] | None
    own: Tensor
    message: Tensor
    b: Tensor
    V: Tensor


def linear(degrees, own: Tensor | None = None, message: Tensor | None = None) -> Units:
    """A linear map: x = ReLU(x) - ReLU(-x), which GELU satisfies too."""
    own = torch.zeros_like(message) if own is None else own
    message = torch.zeros_like(own) if message is None else message
    own, message = (torch.cat([W, -W]) for W in (own, message))
    signs = torch.cat([eye(len(own) // 2), -eye(len(own) // 2)], dim=1)
    return Units(degrees, own, message, own.new_zeros(len(own)), signs)


def eye(size: int) -> Tensor:
    return torch.eye(size, dtype=torch.float64)


@torch.no_grad()
def step(stream: Stream, units: list[Units], temperature: float | None = None) -> GraphormerLayer:
    """A layer whose attention brings the mean over the bias's neighbours, or with a temperature the
    maximum, and whose units write the new features; the old ones and the messages are erased.
    """
    width, K = stream.width, stream.d_model // stream.num_heads
    units = [*units, linear(None, *(-eye(2 * width)).chunk(2, dim=1))]
    layer = GraphormerLayer(stream.d_model, stream.num_heads, sum(len(u.b) for u in units)).double()
    for parameter in layer.parameters():
        parameter.zero_()
    for norm in (layer.attention_norm, layer.feed_forward_norm):
        norm.weight.fill_(CONSTANT * math.sqrt(2 / stream.d_model))

    # Feature t lies in head t mod H; its average, or maximum, goes to the channel F + t.
    attention, (first, _, second) = layer.attention, layer.feed_forward
    for t in range(width):
        place = t % stream.num_heads * K + t // stream.num_heads
        attention.value.weight[place, t] = 1.0
        attention.output.weight[width + t, place] = 1.0
        if temperature is not None:  # W_Q = 0: every query is T, every key is feature t
            attention.key.weight[place, t] = 1.0
            attention.query.bias[place] = temperature * math.sqrt(K)

    # Units beside each other: GELU(s (x + B o - B)) / s of each, where o is 1 if it is open.
    end = 0
    for degrees, own, message, b, V in units:
        rows = slice(end, end := end + len(b))
        first.weight[rows, : own.shape[1]] = SHARPNESS * own
        first.weight[rows, width : width + message.shape[1]] = SHARPNESS * message
        first.bias[rows] = SHARPNESS * b
        second.weight[: len(V), rows] = V / SHARPNESS
        if degrees is not None:
            first.weight[rows, [2 * width + k for k in degrees]] = SHARPNESS * BOUND
            first.bias[rows] -= SHARPNESS * BOUND

    zero = 2 * width + stream.max_degree + 1
    for reader in (attention.key, attention.value, first):
        reader.weight[:, zero] = -reader.weight.sum(dim=1)  # blind to the norm's mean
    return layer
