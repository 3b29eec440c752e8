r"""A ``GraphormerLayer`` whose parameters are set by hand: the workings of ``facts.py``.

Shapes: B graphs, N nodes (padded), F features, H heads, d width, K = d / H, D largest degree,
U hidden units.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gtcourse.models.graphormer import GraphormerAttention, GraphormerLayer

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
