r"""CSA's attention for training on a GPU, in four Triton kernels.

The same function as :mod:`gtcourse.models.csa`, by the factors of its kernel and by the features of
its fused form: a step never writes a tensor with d channels for each pair and layer. Layers that
share the terms of the pairs add their gradients to the same memory.

    B: graphs in a batch
    N: nodes of the largest graph; smaller graphs are padded
    H: attention heads
    K: channels of a head
    d: width of a node's vector, H K
    M: features of a pair, one of which is always 1
    J: the smallest power of two that is at least N

Each program of a kernel works for one node: for a query, it reads all keys at once, and for a key
all queries. This suits molecules; J K H numbers have to fit into the registers of a program.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, cast

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch import Tensor, nn
from triton import next_power_of_2

from gtcourse.graphs.batch import GraphBatch
from gtcourse.models.csa import CGT, CGTConfig, ChromaticSelfAttention, CSALayer, EdgeMaps
from gtcourse.models.csa_pairs import features_of_pairs, pair_table
from gtcourse.models.fused import Rows

FEATURES = "pair_features"
"""The encoding of a batch that holds the features of pairs, ``[B, N, N, M]``."""

GRAPHS_AT_ONCE = 500
"""Graphs whose features are computed at a time, which bounds the memory."""

LARGEST_CLIP = 40.0
"""Of a bound of logits: no largest one is subtracted, and exp(-40) is above :data:`LOST`."""

LOST = torch.finfo(torch.float32).tiny ** 0.5
"""Below such a sum products may have been lost, as in the factorised form."""


class CGTOnGPU(CGT):
    """The Chromatic Graph Transformer, which reads :data:`FEATURES`: see :func:`with_features`.

    Raises:
        ValueError: The configuration is one that the kernels do not compute.
    """

    generator: torch.Generator | None = None
    """Of the ablated pairs; the default generator if it is None."""

    compile_parts = False
    """Whether torch.compile merges the kernels between two attentions."""

    def __init__(self, config: CGTConfig):
        super().__init__(config)
        is_computed = (
            config.chromatic
            and config.share_edges
            and config.edge_values
            and config.score == "dot"
            and (math.isinf(config.clip) or config.clip <= LARGEST_CLIP)
            and config.num_edge_features == 0
            and config.dropout == config.node_ablation == config.channel_ablation == 0
            and next_power_of_2(config.d_model) == config.d_model
            and next_power_of_2(config.num_heads) == config.num_heads
        )
        if not is_computed:
            raise ValueError(
                f"{config} was given; expected chromatic attention with shared maps and values of "
                "pairs, score='dot', categories of edges, no dropout but that of pairs, powers of "
                f"two as d_model and num_heads, and a clip of at most {LARGEST_CLIP:g}, or none."
            )

    def encode(
        self, batch: GraphBatch, return_attention: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """The nodes after all layers, ``[B, N, d]``."""
        if return_attention or FEATURES not in batch.encodings:
            return super().encode(batch, return_attention)
        between = compiled_between if self.compile_parts else between_attentions
        mask = batch.mask
        sizes = mask.sum(dim=1, dtype=torch.int32)  # [B]
        layers = [cast(CSALayer, layer) for layer in self.layers]
        drop = self.ablation(mask)  # [layers, B, N, N]
        terms = self.terms(batch)  # [B, N, N, 2, d]
        clip = self.config.clip
        # With a clip the kernels compute each exponential, and read no factor.
        factor = factor_of(terms.detach(), sizes) if math.isinf(clip) else None  # [B, N, N, d]
        h = self.node_encoding(batch)  # [B, N, d]
        qkv = projected(layers[0].attention, h)  # [B, N, 3 d]
        for number, layer in enumerate(layers):
            z, terms = Attend.apply(
                qkv, terms, factor, drop[number], sizes, layer.attention.num_heads, clip
            )
            following = layers[number + 1].attention if number + 1 < len(layers) else None
            h, qkv = between(layer, following, h, z, mask)
        return h, None

    def ablation(self, mask: Tensor) -> Tensor:
        """Factors of the weights by edge ablation, ``[layers, B, N, N]``."""
        B, N = mask.shape
        share = self.config.edge_ablation if self.training else 0.0
        drop = torch.ones(self.config.num_layers, B, N, N, device=mask.device)
        if share > 0:
            drop.bernoulli_(1 - share, generator=self.generator).div_(1 - share)
        return drop

    def terms(self, batch: GraphBatch) -> Tensor:
        """Logits and values of all pairs, ``[B, N, N, 2, d]``."""
        table, bias = pair_table(self.edge_encoding)  # [M - 1, d] and [d]
        maps = cast(EdgeMaps, self.edge_maps[0])
        weights = []
        for linear in (maps.logits, cast(nn.Linear, maps.values)):
            # The feature that is always 1 meets the bias.
            weights.append(torch.cat([linear.weight @ table.mT, linear(bias)[:, None]], dim=1))
        weight = torch.cat(weights).mT  # [M, 2 d]
        features = batch.encoding(FEATURES)  # [B, N, N, M]
        B, N = batch.mask.shape
        # A product for each graph: in the gradient of the small weight, which is a sum over all
        # pairs, a single product would keep few multiprocessors busy.
        terms = torch.bmm(features.flatten(1, 2), weight.expand(B, -1, -1))  # [B, N N, 2 d]
        return terms.unflatten(1, (N, N)).unflatten(-1, (2, -1))


def with_features(model: CGT, batch: GraphBatch) -> GraphBatch:
    """The batch with the features of its pairs, and without the encodings that these replace."""
    parts = []
    for index in torch.arange(batch.num_graphs, device=batch.mask.device).split(GRAPHS_AT_ONCE):
        part = batch.select(index)
        rows = Rows(part.mask)
        features = features_of_pairs(model.edge_encoding, part, rows)  # [P, M - 1]
        features = F.pad(features, (0, 1), value=1.0)  # [P, M]
        B, N = part.mask.shape
        padded = features.new_zeros(B * N * N, features.shape[1])
        padded.index_copy_(0, rows.pairs, features)
        parts.append(padded.unflatten(0, (B, N, N)))
    encodings = dict(batch.encodings)
    walks = encodings.pop("random_walks", None)  # [B, N, N, p]
    if walks is not None:
        encodings["rwse"] = walks.diagonal(dim1=1, dim2=2).mT.contiguous()  # [B, N, p]
    encodings.pop("ring", None)
    encodings.pop("distance", None)
    encodings[FEATURES] = torch.cat(parts)
    return replace(batch, edge_attr=None, encodings=encodings)


def projected(attention: ChromaticSelfAttention, h: Tensor) -> Tensor:
    """Queries, keys and values, ``[B, N, 3 d]``."""
    projections = (attention.query, attention.key, attention.value)
    return F.linear(h, torch.cat([projection.weight for projection in projections]))


def between_attentions(
    layer: CSALayer, following: nn.Module | None, h: Tensor, z: Tensor, mask: Tensor
) -> tuple[Tensor, Tensor | None]:
    """The rest of a layer after its attention has gathered z, and the next layer's projections."""
    h = layer.attention_norm(h + layer.attention.output(z), mask)
    h = layer.feed_forward_norm(h + layer.feed_forward(h), mask)
    if following is None:
        return h, None
    return h, projected(cast(ChromaticSelfAttention, following), h)


compiled_between = torch.compile(between_attentions, dynamic=False)


def factor_of(terms: Tensor, sizes: Tensor) -> Tensor:
    r""":math:`\exp(E_{ij} - \max_k E_{ik})` of each channel, ``[B, N, N, d]``."""
    B, N, _, _, d = terms.shape
    factor = terms.new_empty(B, N, N, d)
    factor_kernel[(B * N,)](terms, sizes, factor, N, d, next_power_of_2(N), num_warps=8)
    return factor


class Attend(torch.autograd.Function):
    """What each node gathers, z, and the terms once more, for the next layer.

    Shapes:
        qkv: ``[B, N, 3 d]``
        terms: logits and values, ``[B, N, N, 2, d]``
        factor: ``[B, N, N, d]``, or None with a clip
        drop: ``[B, N, N]``
        sizes: ``[B]``, the nodes of each graph
        z: ``[B, N, d]``, zeros at padding
    """

    @staticmethod
    def forward(
        ctx: Any,
        qkv: Tensor,
        terms: Tensor,
        factor: Tensor | None,
        drop: Tensor,
        sizes: Tensor,
        num_heads: int,
        clip: float,
    ) -> tuple[Tensor, Tensor]:
        qkv = qkv.contiguous()
        B, N, _, _, d = terms.shape
        z = qkv.new_empty(B, N, d)
        total = torch.empty_like(z)
        largest = qkv.new_empty(B, N, num_heads)
        # N, and what the kernels are compiled for
        bound = clip if math.isfinite(clip) else 0.0  # 0 for none
        ctx.shape = (N, num_heads, d // num_heads, next_power_of_2(N), bound)
        scale = (d // num_heads) ** -0.5
        gather_kernel[(B * N,)](
            qkv, terms, factor, drop, sizes, z, total, largest, scale, LOST, *ctx.shape, num_warps=8
        )
        ctx.scale = scale
        ctx.save_for_backward(qkv, terms, factor, drop, sizes, z, total, largest)
        ctx.set_materialize_grads(False)
        return z, terms

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        grad_z, grad_terms = gradients
        assert grad_z is not None
        qkv, terms, factor, drop, sizes, z, total, largest = ctx.saved_tensors
        if grad_terms is None:  # of the last layer
            grad_terms = torch.zeros_like(terms)
        # No other code holds this memory, so that each layer adds its part in place.
        grad_terms = grad_terms.contiguous()
        grad_z = grad_z.contiguous()
        grad_qkv = torch.empty_like(qkv)
        saved = (qkv, terms, factor, drop, sizes, z, total, largest, grad_z)
        programs = (z.shape[0] * z.shape[1],)
        query_kernel[programs](*saved, grad_terms, grad_qkv, ctx.scale, *ctx.shape, num_warps=8)
        key_kernel[programs](*saved, grad_qkv, ctx.scale, *ctx.shape, num_warps=8)
        return grad_qkv, grad_terms, None, None, None, None, None


@triton.jit
def num_real(node, sizes, N):
    """The real nodes of a node's graph, to which it attends; 0 if the node is padding."""
    n = tl.load(sizes + node // N)
    return tl.where(node % N < n, n, 0)


@triton.jit
def channels(H: tl.constexpr, K: tl.constexpr):
    """The number of each channel by head and channel of the head, ``[H, K]``."""
    return tl.arange(0, H)[:, None] * K + tl.arange(0, K)[None, :]


@triton.jit
def products(score, top, terms, factor, pair, c, real, d: tl.constexpr, CLIP: tl.constexpr):
    """The exponentials of the logits, ``[J, H, K]``, and whether their logits have a gradient.

    Without a clip (0) they lack a factor for each query and channel, which a division removes.
    """
    if CLIP == 0.0:
        product = tl.exp(tl.where(real, (score - top)[:, :, None], float("-inf")))
        product = product * tl.load(factor + pair * d + c[None], mask=real, other=0.0)
        has_gradient = real
    else:
        logit = score[:, :, None] + tl.load(terms + pair * 2 * d + c[None], mask=real, other=0.0)
        bounded = tl.clamp(logit, -CLIP, CLIP, propagate_nan=tl.PropagateNan.ALL)
        product = tl.where(real, tl.exp(bounded), 0.0)
        has_gradient = bounded == logit
    return product, has_gradient


@triton.jit
def factor_kernel(terms, sizes, factor, N, d: tl.constexpr, J: tl.constexpr):
    row = tl.program_id(0)  # the query i of a graph, counted over all graphs
    n = num_real(row, sizes, N)
    j = tl.arange(0, J)[:, None]
    c = tl.arange(0, d)[None, :]
    is_real = j < n
    logits = tl.load(terms + (row * N + j) * 2 * d + c, mask=is_real, other=float("-inf"))
    largest = tl.max(logits, axis=0)[None, :]
    largest = tl.where(largest == float("-inf"), 0.0, largest)
    tl.store(factor + (row * N + j) * d + c, tl.exp(logits - largest), mask=j < N)


@triton.jit
def gather_kernel(
    qkv,
    terms,
    factor,
    drop,
    sizes,
    z,
    total,
    largest,
    scale,
    lost,
    N,
    H: tl.constexpr,
    K: tl.constexpr,
    J: tl.constexpr,
    CLIP: tl.constexpr,
):
    """One query i and all keys j."""
    d: tl.constexpr = H * K
    row = tl.program_id(0)
    graph = row // N
    n = num_real(row, sizes, N)
    h = tl.arange(0, H)
    c = channels(H, K)  # [H, K]
    j = tl.arange(0, J)
    is_real = j < n  # [J]
    real = is_real[:, None, None]
    key = (graph * N + j)[:, None, None] * 3 * d + c[None]  # [J, H, K]
    pair = (row * N + j)[:, None, None]

    q = tl.load(qkv + row * 3 * d + c)  # [H, K]
    k = tl.load(qkv + key + d, mask=real, other=0.0)  # [J, H, K]
    score = tl.sum(q[None] * k, axis=2) * scale  # [J, H]
    score = tl.where(is_real[:, None], score, float("-inf"))
    top = tl.max(score, axis=0)  # [H]
    top = tl.where(n > 0, top, 0.0)
    product, _ = products(score, top[None, :], terms, factor, pair, c, real, d, CLIP)
    sums = tl.sum(product, axis=0)  # [H, K]
    sums = tl.where(n > 0, sums, 1.0)

    v = tl.load(qkv + key + 2 * d, mask=real, other=0.0)
    v += tl.load(terms + pair * 2 * d + d + c[None], mask=real, other=0.0)
    kept = tl.load(drop + row * N + j, mask=is_real, other=0.0)
    gathered = tl.sum(product * kept[:, None, None] * v, axis=0) / sums
    gathered = tl.where(sums < lost, float("nan"), gathered)
    tl.store(z + row * d + c, gathered)
    tl.store(total + row * d + c, sums)
    tl.store(largest + row * H + h, top)


@triton.jit
def query_kernel(
    qkv,
    terms,
    factor,
    drop,
    sizes,
    z,
    total,
    largest,
    grad_z,
    grad_terms,
    grad_qkv,
    scale,
    N,
    H: tl.constexpr,
    K: tl.constexpr,
    J: tl.constexpr,
    CLIP: tl.constexpr,
):
    """Adds the gradients of the pairs of one query i, and writes the query's."""
    d: tl.constexpr = H * K
    row = tl.program_id(0)
    graph = row // N
    n = num_real(row, sizes, N)
    h = tl.arange(0, H)
    c = channels(H, K)  # [H, K]
    j = tl.arange(0, J)
    is_real = j < n  # [J]
    real = is_real[:, None, None]
    key = (graph * N + j)[:, None, None] * 3 * d + c[None]  # [J, H, K]
    pair = (row * N + j)[:, None, None]

    q = tl.load(qkv + row * 3 * d + c)  # [H, K]
    k = tl.load(qkv + key + d, mask=real, other=0.0)  # [J, H, K]
    top = tl.load(largest + row * H + h)  # [H]
    score = tl.sum(q[None] * k, axis=2) * scale  # [J, H]
    product, has_gradient = products(
        score, top[None, :], terms, factor, pair, c, real, d, CLIP
    )  # [J, H, K]
    scaled = tl.load(grad_z + row * d + c) / tl.load(total + row * d + c)  # [H, K]
    weighted = product * scaled[None]
    kept = tl.load(drop + row * N + j, mask=is_real, other=0.0)
    of_value = weighted * kept[:, None, None]
    v = tl.load(qkv + key + 2 * d, mask=real, other=0.0)
    v += tl.load(terms + pair * 2 * d + d + c[None], mask=real, other=0.0)
    gathered = tl.load(z + row * d + c)  # [H, K]
    of_logit = tl.where(has_gradient, of_value * v - weighted * gathered[None], 0.0)

    place = grad_terms + pair * 2 * d + c[None]
    tl.store(place, tl.load(place, mask=real, other=0.0) + of_logit, mask=real)
    place += d
    tl.store(place, tl.load(place, mask=real, other=0.0) + of_value, mask=real)
    of_score = tl.sum(of_logit, axis=2) * scale  # [J, H]
    tl.store(grad_qkv + row * 3 * d + c, tl.sum(of_score[:, :, None] * k, axis=0))


@triton.jit
def key_kernel(
    qkv,
    terms,
    factor,
    drop,
    sizes,
    z,
    total,
    largest,
    grad_z,
    grad_qkv,
    scale,
    N,
    H: tl.constexpr,
    K: tl.constexpr,
    J: tl.constexpr,
    CLIP: tl.constexpr,
):
    """Writes the gradients of one key j and of its value, from all queries i."""
    d: tl.constexpr = H * K
    column = tl.program_id(0)
    graph = column // N
    n = num_real(column, sizes, N)
    h = tl.arange(0, H)
    c = channels(H, K)  # [H, K]
    i = tl.arange(0, J)
    is_real = i < n  # [J]
    real = is_real[:, None, None]
    row = graph * N + i  # [J]
    node = row[:, None, None] * d + c[None]  # [J, H, K]
    pair = (row * N + column % N)[:, None, None]

    q = tl.load(qkv + row[:, None, None] * 3 * d + c[None], mask=real, other=0.0)  # [J, H, K]
    k = tl.load(qkv + column * 3 * d + d + c)  # [H, K]
    top = tl.load(largest + row[:, None] * H + h[None], mask=is_real[:, None], other=0.0)
    score = tl.sum(q * k[None], axis=2) * scale  # [J, H]
    product, has_gradient = products(score, top, terms, factor, pair, c, real, d, CLIP)  # [J, H, K]
    sums = tl.load(total + node, mask=real, other=1.0)
    weighted = product * tl.load(grad_z + node, mask=real, other=0.0) / sums
    kept = tl.load(drop + row * N + column % N, mask=is_real, other=0.0)
    of_value = weighted * kept[:, None, None]
    v = tl.load(qkv + column * 3 * d + 2 * d + c)  # [H, K]
    v = v[None] + tl.load(terms + pair * 2 * d + d + c[None], mask=real, other=0.0)
    gathered = tl.load(z + node, mask=real, other=0.0)
    of_logit = tl.where(has_gradient, of_value * v - weighted * gathered, 0.0)
    of_score = tl.sum(of_logit, axis=2) * scale  # [J, H]
    place = grad_qkv + column * 3 * d + d + c
    tl.store(place, tl.sum(of_score[:, :, None] * q, axis=0))
    tl.store(place + d, tl.sum(of_value, axis=0))
