r"""The Chromatic Graph Transformer for training on a CPU: ``CGTConfig(form="fused")``.

The same function and the same gradients as the other forms of :mod:`gtcourse.models.csa`, which is
the specification, in half the time or less. It needs numba (``pip install 'gtcourse[fast]'``).

- Nodes and pairs are rows without padding, so that a batch of mixed sizes costs no more than one of
  similar sizes.
- :math:`E^{(0)}` is linear in a few features of a pair: which bond, which ring, and the walks. The
  maps to logits and values are multiplied with that one first, and no pair has a vector
  :math:`E^{(0)}_{ij}`.
- The attention of a layer is one loop over the pairs, and its gradient another one. Nothing of the
  size of the pairs is stored by a layer, and layers that share the terms of the pairs add their
  gradients to the same memory, where autograd would add up one tensor for each layer.

Shapes: B graphs, N nodes (padded), n real nodes of all graphs, P real pairs of all graphs, H heads,
d width, K = d / H channels of a head, F features of a pair.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numba import njit
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from gtcourse.graphs.batch import GraphBatch, clipped
from gtcourse.models.categories import edge_features
from gtcourse.models.csa import (
    CGT,
    BondEncoding,
    CSALayer,
    EdgeTerms,
    PairEncoding,
    PairWalkEncoding,
    direct,
)


def encode(model: CGT, batch: GraphBatch) -> Tensor:
    """The nodes after all layers, ``[B, N, d]``, with zeros at padding.

    Dropout of weights and channels draws the numbers that the other forms draw, from the same seed.
    Dropout of nodes' vectors draws as many as there are real nodes.

    Raises:
        ValueError: tensors of another device than the CPU, or neither float32 nor float64.
    """
    h = model.node_encoding(batch)
    _check(h)
    rows = Rows(batch.mask)
    h = rows.of_nodes(h)
    features, table, bias = pair_features(model.edge_encoding, batch, rows)
    terms = []
    for maps in model.edge_maps:
        logits = _mapped(maps.logits, features, table, bias)
        _check(logits)
        values = _mapped(maps.values, features, table, bias)
        terms.append(EdgeTerms(logits, values, factor_of(logits.detach(), rows)))
    for number, layer in enumerate(model.layers):
        place = 0 if model.config.share_edges else number
        h, terms[place] = layer_of_rows(layer, h, terms[place], rows)
    return rows.padded(h)


class Rows:
    """Where the real nodes and pairs of a batch are.

    Attributes:
        nodes: ``[n]``, the place of each in ``[B, N]``.
        pairs: ``[P]``, the place of each in ``[B, N, N]``: in the order of graph, query and key.
        graph: ``[n]``, the graph of each node.
        starts: ``[B + 1]``, the first node of each graph, and n.
    """

    def __init__(self, mask: Tensor):
        self.shape = mask.shape
        self.nodes = mask.flatten().nonzero()[:, 0]
        self.pairs = (mask[:, :, None] & mask[:, None, :]).flatten().nonzero()[:, 0]
        self.graph = self.nodes // mask.shape[1]
        self.starts = F.pad(mask.sum(dim=1).cumsum(dim=0), (1, 0))

    def of_nodes(self, h: Tensor) -> Tensor:
        """``[B, N, …]`` to ``[n, …]``."""
        return h.flatten(0, 1).index_select(0, self.nodes)

    def of_pairs(self, e: Tensor) -> Tensor:
        """``[B, N, N, …]`` to ``[P, …]``."""
        return e.flatten(0, 2).index_select(0, self.pairs)

    def padded(self, h: Tensor) -> Tensor:
        """``[n, d]`` to ``[B, N, d]``, with zeros at padding."""
        B, N = self.shape
        return h.new_zeros(B * N, h.shape[1]).index_copy(0, self.nodes, h).unflatten(0, (B, N))


def pair_features(
    encoding: PairEncoding, batch: GraphBatch, rows: Rows
) -> tuple[Tensor, Tensor, Tensor]:
    r""":math:`E^{(0)}` of the real pairs as features ``[P, F]`` @ table ``[F, d]`` + bias ``[d]``.

    Features are 1 at the rows of the tables that are added up, and what the map of the walks reads.
    They depend on no parameter; table and bias are made of the encoding's parameters.
    """
    bonds, dtype = encoding.bonds, encoding.bonds.itself.weight.dtype
    parts = [bonds.edges.weight, bonds.no_edge.weight, bonds.itself.weight]
    table = torch.cat(parts)  # [F, d], or [F, d / 2] beside a relative encoding
    bias = table.new_zeros(table.shape[1])
    features = _hot(_bond_places(bonds, batch, rows), len(table), dtype)
    relative = encoding.relative
    if relative is not None:
        if isinstance(relative, PairWalkEncoding):
            more = rows.of_pairs(batch.encoding("random_walks")).to(dtype)
            weight, more_bias = relative.projection.weight.mT, relative.projection.bias
        else:
            weight = relative.vectors.weight
            more_bias = weight.new_zeros(weight.shape[1])
            distance = rows.of_pairs(batch.encoding("distance")).long()
            more = _hot(clipped(distance, len(weight) - 1)[:, None], len(weight), dtype)
        features = torch.cat([features, more], dim=1)
        table = torch.block_diag(table, weight)
        bias = torch.cat([bias, more_bias])
    if encoding.ring is not None:
        ring = rows.of_pairs(batch.encoding("ring")).long()
        features = torch.cat([features, _hot(ring[:, None], 2, dtype)], dim=1)
        table = torch.cat([table, encoding.ring.weight])
    return features, table, bias


def _bond_places(bonds: BondEncoding, batch: GraphBatch, rows: Rows) -> Tensor:
    """The rows of a pair in the tables of edges, of no edge, and of a node with itself."""
    edge = rows.of_pairs(batch.adjacency)
    ring = torch.zeros_like(edge, dtype=torch.long)
    if bonds.with_rings:
        ring = rows.of_pairs(batch.encoding("ring")).long()
    categories = torch.zeros_like(ring)[:, None]
    if bonds.edge_types:
        categories = rows.of_pairs(edge_features(batch)).masked_fill(~edge[:, None], 0)
    first = bonds.edges.rows(categories, ring)  # [P, F]
    no_edge = len(bonds.edges.weight)
    itself = no_edge + len(bonds.no_edge.weight)
    N = batch.mask.shape[1]
    loop = rows.pairs // N % N == rows.pairs % N
    without = torch.where(loop, itself, no_edge + ring)
    return torch.where(edge[:, None], first, without[:, None])


def _hot(places: Tensor, width: int, dtype: torch.dtype) -> Tensor:
    """1 at the places ``[P, k]`` of each row ``[P, width]``."""
    return torch.zeros(len(places), width, dtype=dtype).scatter_(1, places, 1.0)


def _mapped(linear, features: Tensor, table: Tensor, bias: Tensor) -> Tensor | None:
    """A linear map of :math:`E^{(0)}`, ``[P, d]``."""
    if linear is None:
        return None
    return F.linear(features, linear.weight @ table.mT, linear(bias))


def layer_of_rows(
    layer: CSALayer, h: Tensor, terms: EdgeTerms, rows: Rows
) -> tuple[Tensor, EdgeTerms]:
    """:class:`gtcourse.models.CSALayer` of ``[n, d]``, and the terms for the next layer."""
    attention = layer.attention
    q, k, v = attention.query(h), attention.key(h), attention.value(h)
    drop = attention.ablation(h.new_empty(*rows.shape, 1))
    drop = None if drop is None else rows.of_pairs(drop[:, 0])
    z, terms = attend(q, k, v, attention.num_heads, terms, drop, rows)
    if attention.training and attention.channel_ablation:
        kept = F.dropout(z.new_ones(rows.shape[0], z.shape[1], 1), attention.channel_ablation)
        z = z * kept[rows.graph, :, 0]
    h = layer.attention_norm(h + layer.dropout(attention.output(z)))
    return layer.feed_forward_norm(h + layer.dropout(layer.feed_forward(h))), terms


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    num_heads: int,
    terms: EdgeTerms,
    drop: Tensor | None,
    rows: Rows,
) -> tuple[Tensor, EdgeTerms]:
    """What each node gathers (Eqs. 5 to 7), ``[n, d]``, and the terms for the next layer.

    Each layer passes logits and values on to the next one, which reads them there although they are
    the same numbers. In the backward pass their gradient then goes through the layers, last to
    first, and each adds its part to the same memory.

    Where all products of a row vanish, as for logits that lie hundreds apart, ``direct`` computes
    the result, as in the factorised form.

    Args:
        q, k, v: ``[n, d]``; drop: factors of the weights, ``[P]``, or None.
        terms: logits, values and factor ``[P, d]``; values may be None.
    """
    _check(q)
    weights = q.new_ones(len(rows.pairs)) if drop is None else drop
    values = torch.zeros_like(terms.factor) if terms.values is None else terms.values
    z, total, logits, values = _Fused.apply(
        q, k, v, terms.logits, values, terms.factor, weights, rows.starts, num_heads
    )
    if bool((total < torch.finfo(total.dtype).tiny ** 0.5).any()):
        given = q, k, v, num_heads, terms, drop, rows
        return checkpoint(_attend_by_graph, *given, use_reentrant=False), terms
    return z, terms._replace(logits=logits, values=None if terms.values is None else values)


def _attend_by_graph(q, k, v, num_heads: int, terms: EdgeTerms, drop, rows: Rows) -> Tensor:
    """:func:`attend`, one graph at a time, by ``direct``."""
    sizes = rows.starts.diff().tolist()
    counts = [size * size for size in sizes]
    pairs = [[None] * len(sizes) if t is None else t.split(counts) for t in (*terms[:2], drop)]
    z = []
    for n, *nodes, logits, values, dropped in zip(
        sizes, *(x.split(sizes) for x in (q, k, v)), *pairs, strict=True
    ):
        q_g, k_g, v_g = (x.unflatten(1, (num_heads, -1)).transpose(0, 1)[None] for x in nodes)
        scores = q_g * q_g.shape[-1] ** -0.5 @ k_g.mT  # [1, H, n, n]
        logits, values = (
            None if t is None else t.unflatten(0, (n, n)).permute(2, 0, 1)[None]
            for t in (logits, values)
        )
        dropped = None if dropped is None else dropped.view(1, 1, n, n)
        z_g = direct(scores, v_g.mT, EdgeTerms(logits, values), dropped)  # [1, H, K, n]
        z.append(z_g[0].flatten(0, 1).mT)
    return torch.cat(z)


def factor_of(logits: Tensor, rows: Rows) -> Tensor:
    r""":math:`\exp(E_{ij} - \max_k E_{ik})` for each channel, ``[P, d]``, without a gradient."""
    factor = torch.empty_like(logits)
    less_largest(_array(logits), _array(rows.starts), factor.numpy())
    return factor.exp_()


class _Fused(torch.autograd.Function):
    r"""z and the sum of each row's products, ``[n, d]`` both, and the logits and values again.

    The gradients are those of :class:`gtcourse.models.csa_kernel._Factorised`. What arrives for the
    logits and values that were returned is the sum over later layers. No other node of the graph
    holds that memory, and this layer's part is added in place.
    """

    @staticmethod
    def forward(ctx, q, k, v, logits, values, factor, drop, starts, num_heads):
        loops = loops_of(num_heads, q.shape[1] // num_heads)
        products = q.new_empty(len(factor), num_heads)
        scale = products.numpy().dtype.type((q.shape[1] / num_heads) ** -0.5)
        loops.scores(_array(q), _array(k), scale, _array(starts), products.numpy())
        products.exp_()
        z, total = q.new_zeros(q.shape), q.new_zeros(q.shape)
        given = [_array(t) for t in (products, factor, v, values, drop, starts)]
        loops.gather(*given, z.numpy(), total.numpy())
        ctx.save_for_backward(q, k, v, values, products, factor, drop, starts, z, total)
        ctx.loops, ctx.scale = loops, scale
        ctx.mark_non_differentiable(total)
        ctx.set_materialize_grads(False)
        return z, total, logits, values

    @staticmethod
    def backward(ctx, grad_z, _, grad_logits, grad_values):
        if torch.is_grad_enabled():  # once_differentiable would pass, and leave out terms
            raise RuntimeError("form='fused' has no second derivative; expected 'direct'.")
        rest = None, None, None, None
        if grad_z is None:  # the loss depends on later layers alone
            return None, None, None, grad_logits, grad_values, *rest
        q, k, v, values, products, factor, drop, starts, z, total = ctx.saved_tensors
        above = [_array(t) for t in (z, total, grad_z)]
        given = [_array(t) for t in (v, values, products, factor, drop, starts)]
        grad_q, grad_k, grad_v = (q.new_zeros(q.shape) for _ in range(3))
        if grad_logits is None:
            grad_logits = torch.zeros_like(factor)
        if grad_values is None:
            grad_values = torch.zeros_like(factor)
        grad_logits, grad_values = grad_logits.contiguous(), grad_values.contiguous()
        into = [t.numpy() for t in (grad_q, grad_k, grad_v, grad_logits, grad_values)]
        ctx.loops.spread(_array(q), _array(k), ctx.scale, *given, *above, *into)
        return grad_q, grad_k, grad_v, grad_logits, grad_values, *rest


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().contiguous().numpy()


def _check(tensor: Tensor) -> None:
    if tensor.device.type != "cpu" or tensor.dtype not in (torch.float32, torch.float64):
        raise ValueError(
            f"form='fused' was given {tensor.dtype} on {tensor.device.type}; expected float32 or "
            "float64 on the CPU, or form='factorised'."
        )


# Sums may be reordered, and so vectorised. NaN and infinity stay what they are.
compiled = njit(fastmath={"reassoc", "contract", "nsz"}, error_model="numpy", cache=True)


@compiled
def less_largest(logits, starts, result):
    """Logits ``[P, d]`` less the largest of each query, channel by channel."""
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


class Loops(NamedTuple):
    """What :func:`loops_of` compiles."""

    scores: Callable
    gather: Callable
    spread: Callable


@lru_cache
def loops_of(H: int, K: int):
    """The loops over pairs for so many heads and channels, which are constants for the compiler.

    Shapes: q, k, v, z, total and their gradients ``[n, d]``; values, factor ``[P, d]``; products
    ``[P, H]``; drop ``[P]``; starts ``[B + 1]``.
    """
    d = H * K

    @compiled
    def scores(q, k, scale, starts, result):
        """Scaled products of queries and keys, less the largest of each query and head."""
        part = np.empty(d, q.dtype)
        p = 0
        for b in range(len(starts) - 1):
            for i in range(starts[b], starts[b + 1]):
                first = p
                for j in range(starts[b], starts[b + 1]):
                    for c in range(d):
                        part[c] = q[i, c] * k[j, c]
                    for h in range(H):
                        total = part[h * K]
                        for c in range(h * K + 1, h * K + K):
                            total += part[c]
                        result[p, h] = total * scale
                    p += 1
                for h in range(H):
                    largest = result[first, h]
                    for row in range(first, p):
                        largest = max(largest, result[row, h])
                    for row in range(first, p):
                        result[row, h] -= largest

    @compiled
    def gather(products, factor, v, values, drop, starts, z, total):
        """z and total, which are zeros before."""
        score = np.empty(d, factor.dtype)
        p = 0
        for b in range(len(starts) - 1):
            for i in range(starts[b], starts[b + 1]):
                for j in range(starts[b], starts[b + 1]):
                    for h in range(H):
                        for c in range(h * K, h * K + K):
                            score[c] = products[p, h]
                    kept = drop[p]
                    for c in range(d):
                        product = score[c] * factor[p, c]
                        total[i, c] += product
                        z[i, c] += product * kept * (v[j, c] + values[p, c])
                    p += 1
                for c in range(d):
                    z[i, c] /= total[i, c]

    @compiled
    def spread(
        q,
        k,
        scale,
        v,
        values,
        products,
        factor,
        drop,
        starts,
        z,
        total,
        grad_z,
        grad_q,
        grad_k,
        grad_v,
        grad_logits,
        grad_values,
    ):
        """Adds to the gradients."""
        score = np.empty(d, factor.dtype)
        scaled = np.empty(d, factor.dtype)
        part = np.empty(d, factor.dtype)
        p = 0
        for b in range(len(starts) - 1):
            for i in range(starts[b], starts[b + 1]):
                for c in range(d):
                    scaled[c] = grad_z[i, c] / total[i, c]
                for j in range(starts[b], starts[b + 1]):
                    for h in range(H):
                        for c in range(h * K, h * K + K):
                            score[c] = products[p, h]
                    kept = drop[p]
                    for c in range(d):
                        weighted = score[c] * factor[p, c] * scaled[c]
                        of_value = weighted * kept
                        of_logit = of_value * (v[j, c] + values[p, c]) - weighted * z[i, c]
                        grad_logits[p, c] += of_logit
                        grad_values[p, c] += of_value
                        grad_v[j, c] += of_value
                        part[c] = of_logit
                    for h in range(H):
                        of_score = part[h * K]
                        for c in range(h * K + 1, h * K + K):
                            of_score += part[c]
                        for c in range(h * K, h * K + K):
                            score[c] = of_score * scale
                    for c in range(d):
                        grad_q[i, c] += score[c] * k[j, c]
                        grad_k[j, c] += score[c] * q[i, c]
                    p += 1

    return Loops(scores, gather, spread)
