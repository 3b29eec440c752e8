r"""The Chromatic Graph Transformer for training on a CPU: ``CGTConfig(form="fused")``.

The same function and the same gradients as the other forms of :mod:`gtcourse.models.csa`, which is
the specification, in half the time or less. It needs numba (``pip install 'gtcourse[fast]'``).

- Nodes and pairs are rows without padding, so that a batch of mixed sizes costs no more than one of
  similar sizes (:class:`gtcourse.models.fused.Rows`).
- :math:`E^{(0)}` is linear in a few features of a pair: which bond, which ring, and the walks. That
  map and those to logits and values are multiplied first, so that the vector
  :math:`E^{(0)}_{ij}` of a pair is never computed (:mod:`gtcourse.models.csa_pairs`).
- The attention of a layer is one loop over the pairs, and its gradient another one. No layer stores
  a tensor with d channels for each pair. Layers that share the terms of the pairs add their
  gradients to the same memory, where autograd would add up one tensor for each layer
  (:class:`_Fused`).
- The exponential of a logit is the product of two, of :math:`Q_i \cdot K_j` for each head and of
  :math:`E_{ij}` for each channel, so that a layer computes few of them. With a bound on the logits
  (``clip``) there is no such product, and each layer computes one for each channel of each pair.

Shapes:
    B: graphs in a batch
    N: nodes of the largest graph; smaller graphs are padded
    n: real nodes of all graphs
    P: real pairs of all graphs
    H: attention heads
    d: width of a node's vector, and of a pair's
    K: channels of a head, d / H
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise
from typing import Any, cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from gtcourse.graphs.batch import GraphBatch
from gtcourse.models.csa import CGT, CSALayer, EdgeMaps, EdgeTerms, direct
from gtcourse.models.csa_pairs import PairFeatures, pair_features
from gtcourse.models.fused import (
    Array,
    Rows,
    as_array,
    check_tensor,
    refuse_second_derivative,
)
from gtcourse.models.fused_loops import (
    STEPS,
    Loops,
    add_products,
    compiled,
    dot_products,
    keys_by_channel,
    sum_of_head,
    write_shifted,
    write_to_head,
)


def encode(model: CGT, batch: GraphBatch) -> Tensor:
    """The nodes after all layers, ``[B, N, d]``, with zeros at padding.

    Dropout of weights and channels draws the numbers that the other forms draw, from the same seed.
    Dropout of nodes' vectors draws as many as there are real nodes.

    Raises:
        ValueError: Tensors are on another device than the CPU, or neither float32 nor float64.
    """
    h = model.node_encoding(batch)  # [B, N, d]
    check_tensor(h, "factorised")
    rows = Rows(batch.mask)
    h = rows.of_nodes(h)  # [n, d]
    pairs = pair_features(model.edge_encoding, batch, rows)
    terms = [
        terms_of(cast(EdgeMaps, maps), pairs, rows, model.config.clip) for maps in model.edge_maps
    ]
    for number, layer in enumerate(model.layers):
        which = 0 if model.config.share_edges else number
        h, terms[which] = layer_of_rows(cast(CSALayer, layer), h, terms[which], rows)
    return rows.padded(h)


def terms_of(maps: EdgeMaps, pairs: PairFeatures, rows: Rows, clip: float = math.inf) -> EdgeTerms:
    """Logits, values and factor of all pairs, ``[P, d]`` each.

    Values may be None, and there is no factor if the logits have a bound.
    """
    logits = pairs.mapped(maps.logits)
    check_tensor(logits, "factorised")
    values = None if maps.values is None else pairs.mapped(maps.values)
    factor = None if math.isfinite(clip) else factor_of(logits.detach(), rows)
    return EdgeTerms(logits, values, factor)


def layer_of_rows(
    layer: CSALayer, h: Tensor, terms: EdgeTerms, rows: Rows
) -> tuple[Tensor, EdgeTerms]:
    """:class:`gtcourse.models.CSALayer` of ``[n, d]``, and the terms for the next layer."""
    attention = layer.attention
    query = attention.query(h)  # [n, d]
    key = attention.key(h)  # [n, d]
    value = attention.value(h)  # [n, d]
    # Drawn with padding, as in the other forms; only the shape and dtype of the argument count.
    drop = attention.ablation(h.new_empty(*rows.shape, 1))  # [B, 1, N, N] or None
    drop_of_pairs = None if drop is None else rows.of_pairs(drop[:, 0])  # [P]
    z, terms = attend(
        query, key, value, attention.num_heads, terms, drop_of_pairs, rows, clip=attention.clip
    )
    if attention.training and attention.channel_ablation > 0:
        ones = z.new_ones(rows.shape[0], z.shape[1], 1)  # [B, d, 1]
        kept = F.dropout(ones, attention.channel_ablation)
        z = z * kept[rows.graph, :, 0]  # [n, d]
    h = layer.attention_norm(h + layer.dropout(attention.output(z)))
    h = layer.feed_forward_norm(h + layer.dropout(layer.feed_forward(h)))
    return h, terms


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    num_heads: int,
    terms: EdgeTerms,
    drop: Tensor | None,
    rows: Rows,
    *,
    clip: float = math.inf,
) -> tuple[Tensor, EdgeTerms]:
    """What each node gathers (Eqs. 5 to 7), ``[n, d]``, and the terms for the next layer.

    Logits and values are returned unchanged, and the next layer reads these results. In the
    backward pass their gradient then goes through the layers, last to first, and each layer adds
    its part to the same memory.

    Where all products of a row vanish, as for logits that lie hundreds apart, ``direct`` computes
    the result, as in the factorised form.

    Args:
        query: ``[n, d]``, as key and value.
        key: ``[n, d]``.
        value: ``[n, d]``.
        num_heads: H.
        terms: Logits, values and factor, ``[P, d]`` each; values may be None.
        drop: Factors of the weights, ``[P]``, or None.
        rows: Where the nodes and pairs are.
        clip: Bound of the logits, with which the factor is not read.
    """
    check_tensor(query, "factorised")
    factor = None if math.isfinite(clip) else terms.factor
    drop_factors = query.new_ones(len(rows.pairs)) if drop is None else drop  # [P]
    edge_values = torch.zeros_like(terms.logits) if terms.values is None else terms.values
    z, total, logits, edge_values = _Fused.apply(
        query,
        key,
        value,
        terms.logits,
        edge_values,
        factor,
        drop_factors,
        rows.starts,
        num_heads,
        clip,
    )
    # A product below `tiny` is lost; beside a sum above the root of `tiny` it does not count.
    # NumPy compares in a tenth of PyTorch's time.
    if (total.numpy() < torch.finfo(total.dtype).tiny ** 0.5).any():
        z = checkpoint(
            _attend_by_graph,
            query,
            key,
            value,
            num_heads,
            terms,
            drop,
            rows,
            clip,
            use_reentrant=False,
        )
        return z, terms
    if terms.values is None:
        return z, terms._replace(logits=logits)
    return z, terms._replace(logits=logits, values=edge_values)


def _attend_by_graph(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    num_heads: int,
    terms: EdgeTerms,
    drop: Tensor | None,
    rows: Rows,
    clip: float,
) -> Tensor:
    """What :func:`attend` computes, ``[n, d]``, one graph at a time, by ``direct``."""
    parts = []
    first_pair = 0
    for start, end in pairwise(rows.starts.tolist()):
        n = end - start  # nodes of this graph
        pairs = slice(first_pair, first_pair + n * n)
        first_pair += n * n
        q = nodes_by_head(query[start:end], num_heads)  # [1, H, n, K]
        k = nodes_by_head(key[start:end], num_heads)  # [1, H, n, K]
        v = nodes_by_head(value[start:end], num_heads)  # [1, H, n, K]
        scores = q * q.shape[-1] ** -0.5 @ k.mT  # [1, H, n, n]
        logits = matrix_of_pairs(terms.logits[pairs], n)  # [1, d, n, n]
        edge_values = None
        if terms.values is not None:
            edge_values = matrix_of_pairs(terms.values[pairs], n)  # [1, d, n, n]
        drop_of_graph = None
        if drop is not None:
            drop_of_graph = drop[pairs].view(1, 1, n, n)
        terms_of_graph = EdgeTerms(logits, edge_values)
        z = direct(scores, v.mT, terms_of_graph, drop_of_graph, clip=clip)  # [1, H, K, n]
        parts.append(z[0].flatten(0, 1).mT)  # [n, d]
    return torch.cat(parts)


def nodes_by_head(x: Tensor, num_heads: int) -> Tensor:
    """Nodes of one graph as a batch of one: ``[n, d]`` to ``[1, H, n, K]``."""
    return x.unflatten(1, (num_heads, -1)).transpose(0, 1)[None]


def matrix_of_pairs(x: Tensor, n: int) -> Tensor:
    """Pairs of one graph of n nodes as a batch of one: ``[n², d]`` to ``[1, d, n, n]``."""
    return x.unflatten(0, (n, n)).permute(2, 0, 1)[None]


def factor_of(logits: Tensor, rows: Rows) -> Tensor:
    r""":math:`\exp(E_{ij} - \max_k E_{ik})` for each channel, ``[P, d]``, without a gradient."""
    factor = torch.empty_like(logits)
    write_shifted_by_channel(as_array(logits), as_array(rows.starts), factor.numpy())
    return factor.exp_()


class _Fused(torch.autograd.Function):
    r"""What each node gathers, z, and the sum of each row's products; logits and values again.

    z and the sums are ``[n, d]``. The gradients are those of
    :class:`gtcourse.models.csa_kernel._Factorised`. The gradient that arrives for the logits and
    values is the sum over the later layers. No other code holds that memory, so this layer adds its
    part in place.

    Shapes:
        query, key, value: ``[n, d]``
        logits, edge_values: ``[P, d]``
        factor: ``[P, d]``, or None if there is a bound on the logits
        drop: ``[P]``
        starts: ``[B + 1]``
    """

    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        logits: Tensor,
        edge_values: Tensor,
        factor: Tensor | None,
        drop: Tensor,
        starts: Tensor,
        num_heads: int,
        clip: float,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        K = query.shape[1] // num_heads
        loops = loops_of(num_heads, K, math.isfinite(clip))
        products = query.new_empty(len(logits), num_heads)  # [P, H]
        scale = products.numpy().dtype.type(K**-0.5)  # in the arrays' precision, not Python's
        loops.score(as_array(query), as_array(key), scale, as_array(starts), products.numpy())
        if factor is None:
            sums = products.repeat_interleave(K, dim=1).add_(logits)  # [P, d]
            is_inside = sums.abs() <= clip  # [P, d], where the bound lets the gradient through
            factor = sums.clamp_(-clip, clip).sub_(clip).exp_()  # [P, d], at most 1
            products.fill_(1)
        else:
            is_inside = torch.empty(0, query.shape[1], dtype=torch.bool)  # not read
            products.exp_()
        z = torch.empty_like(query, memory_format=torch.contiguous_format)  # [n, d]
        total = torch.empty_like(z)  # [n, d]
        loops.aggregate(
            as_array(products),
            as_array(factor),
            as_array(value),
            as_array(edge_values),
            as_array(drop),
            as_array(starts),
            z.numpy(),
            total.numpy(),
        )
        ctx.save_for_backward(
            query, key, value, edge_values, products, factor, is_inside, drop, starts, z, total
        )
        ctx.loops = loops
        ctx.scale = scale
        ctx.mark_non_differentiable(total)
        ctx.set_materialize_grads(False)
        return z, total, logits, edge_values

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        refuse_second_derivative("fused")
        grad_z, _, grad_logits, grad_edge_values = gradients
        if grad_z is None:  # the loss depends on later layers alone
            return None, None, None, grad_logits, grad_edge_values, None, None, None, None, None
        query, key, value, edge_values, products, factor = ctx.saved_tensors[:6]
        is_inside, drop, starts, z, total = ctx.saved_tensors[6:]
        grad_query = torch.zeros_like(z)  # [n, d]
        grad_key = torch.zeros_like(z)
        grad_value = torch.zeros_like(z)
        if grad_logits is None:
            grad_logits = torch.zeros_like(factor)  # [P, d]
        if grad_edge_values is None:
            grad_edge_values = torch.zeros_like(factor)
        grad_logits = grad_logits.contiguous()
        grad_edge_values = grad_edge_values.contiguous()
        ctx.loops.backward(
            as_array(query),
            as_array(key),
            ctx.scale,
            as_array(value),
            as_array(edge_values),
            as_array(products),
            as_array(factor),
            as_array(is_inside),
            as_array(drop),
            as_array(starts),
            as_array(z),
            as_array(total),
            as_array(grad_z),
            grad_query.numpy(),
            grad_key.numpy(),
            grad_value.numpy(),
            grad_logits.numpy(),
            grad_edge_values.numpy(),
        )
        return (
            grad_query,
            grad_key,
            grad_value,
            grad_logits,
            grad_edge_values,
            None,
            None,
            None,
            None,
            None,
        )


@compiled
def write_shifted_by_channel(logits: Array, starts: Array, result: Array) -> None:
    """Writes logits ``[P, d]`` less the largest of their query, channel by channel."""
    d = logits.shape[1]
    largest = np.empty(d, logits.dtype)
    lowest = np.finfo(logits.dtype).min  # -inf less -inf would be NaN
    p = 0
    for b in range(len(starts) - 1):
        n = starts[b + 1] - starts[b]
        for _ in range(n):
            largest[:] = lowest
            for row in range(p, p + n):
                for c in range(d):
                    largest[c] = max(largest[c], logits[row, c])
            for row in range(p, p + n):
                for c in range(d):
                    result[row, c] = logits[row, c] - largest[c]
            p += n


@lru_cache
def loops_of(H: int, K: int, bounded: bool) -> Loops:
    """The loops over pairs for so many heads and channels, with or without a bound on the logits.

    The three are constants for the compiler. With a bound, ``factor`` holds the exponentials of the
    bounded logits, ``products`` is 1, and ``is_inside`` says which logits the bound leaves as they
    are.

    In them q, k and v are queries, keys and values, and the counters are the graph b, the query i,
    the key j, their pair p + j, the channel c and the head h.

    Shapes:
        q, k, v, z, total and their gradients: ``[n, d]``
        values, factor, is_inside: ``[P, d]``
        products: ``[P, H]``
        drop: ``[P]``
        starts: ``[B + 1]``
    """
    d = H * K

    steps = STEPS

    @compiled
    def score(q: Array, k: Array, scale: float, starts: Array, result: Array) -> None:
        """Scaled products of queries and keys; without a bound, less the query's largest."""
        _ = steps
        p = 0
        for b in range(len(starts) - 1):
            first = starts[b]
            n = starts[b + 1] - first
            keys = keys_by_channel(k, first, n, d)
            of_head = np.empty(keys.shape[1], q.dtype)
            for i in range(first, first + n):
                for h in range(H):
                    dot_products(q, i, h, K, scale, keys, of_head)
                    if bounded:
                        for j in range(n):
                            result[p + j, h] = of_head[j]
                    else:
                        write_shifted(of_head, n, h, p, result)
                p += n

    @compiled
    def aggregate(
        products: Array,
        factor: Array,
        v: Array,
        values: Array,
        drop: Array,
        starts: Array,
        z: Array,
        total: Array,
    ) -> None:
        """The sums over the keys: ``total`` of the products, and ``z``, which it divides."""
        _ = steps
        of_channel = np.empty(d, factor.dtype)
        total_of_query = np.empty(d, factor.dtype)
        z_of_query = np.empty(d, factor.dtype)
        p = 0
        for b in range(len(starts) - 1):
            first = starts[b]
            n = starts[b + 1] - first
            for i in range(first, first + n):
                total_of_query[:] = 0
                z_of_query[:] = 0
                for j in range(n):
                    for h in range(H):
                        write_to_head(of_channel, h, K, products[p + j, h])
                    kept = drop[p + j]
                    for c in range(d):
                        product = of_channel[c] * factor[p + j, c]
                        total_of_query[c] += product
                        z_of_query[c] += product * kept * (v[first + j, c] + values[p + j, c])
                for c in range(d):
                    total[i, c] = total_of_query[c]
                    z[i, c] = z_of_query[c] / total_of_query[c]
                p += n

    @compiled
    def backward(
        q: Array,
        k: Array,
        scale: float,
        v: Array,
        values: Array,
        products: Array,
        factor: Array,
        is_inside: Array,
        drop: Array,
        starts: Array,
        z: Array,
        total: Array,
        grad_z: Array,
        grad_q: Array,
        grad_k: Array,
        grad_v: Array,
        grad_logits: Array,
        grad_values: Array,
    ) -> None:
        """Adds the gradients of a layer to those that are there."""
        _ = steps
        of_channel = np.empty(d, factor.dtype)
        scaled = np.empty(d, factor.dtype)
        part = np.empty(d, factor.dtype)
        p = 0
        for b in range(len(starts) - 1):
            first = starts[b]
            n = starts[b + 1] - first
            for i in range(first, first + n):
                for c in range(d):
                    scaled[c] = grad_z[i, c] / total[i, c]
                for j in range(n):
                    for h in range(H):
                        write_to_head(of_channel, h, K, products[p + j, h])
                    kept = drop[p + j]
                    for c in range(d):
                        weighted = of_channel[c] * factor[p + j, c] * scaled[c]
                        of_value = weighted * kept
                        message = v[first + j, c] + values[p + j, c]
                        of_logit = of_value * message - weighted * z[i, c]
                        if bounded:
                            of_logit *= is_inside[p + j, c]
                        grad_logits[p + j, c] += of_logit
                        grad_values[p + j, c] += of_value
                        grad_v[first + j, c] += of_value
                        part[c] = of_logit
                    for h in range(H):
                        write_to_head(of_channel, h, K, sum_of_head(part, h, K) * scale)
                    add_products(of_channel, k, first + j, d, grad_q, i)
                    add_products(of_channel, q, i, d, grad_k, first + j)
                p += n

    return Loops(score, aggregate, backward)
