r"""EGT for training on a CPU: ``EGTConfig(form="fused")``.

The same function and the same gradients as :mod:`gtcourse.models.egt`, which is the specification,
in less time where batches have padding. It needs numba (``pip install 'gtcourse[fast]'``).

- Tokens and pairs are rows without padding (:class:`gtcourse.models.fused.Rows`). The norms and the
  linear maps of the pairs, which take most of EGT's time, then compute nothing for padding.
- The attention of a layer is one loop over the pairs, and its gradient another one
  (:class:`_Attention`): dot product, clipping, softmax, gates, and the sum over the keys.

Shapes:
    B: graphs in a batch
    N: nodes of the largest graph; smaller graphs are padded
    q: virtual nodes
    T: tokens, q + N; the virtual nodes come first
    n: real tokens of all graphs
    P: real pairs of tokens of all graphs
    H: attention heads
    K: width of a head
    d: width of a token's vector, H K
    d_e: width of a pair's vector
    E: edges of all graphs
    C: targets, or classes, of a prediction
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from gtcourse.graphs.batch import GraphBatch, clipped
from gtcourse.models.categories import CategoryEmbedding, real_edge_features
from gtcourse.models.egt import EGT, EdgeInput, EGTAttention, EGTLayer
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
    write_products,
    write_reciprocal_sums,
    write_shifted,
    write_to_head,
)


def predict(
    model: EGT, batch: GraphBatch, *, return_distances: bool
) -> tuple[Tensor, Tensor | None]:
    """What the two heads of the model compute, as :meth:`gtcourse.models.EGT.forward` reads it.

    Dropout draws as many random numbers as there are real tokens and pairs, and so other ones than
    the form "direct".

    Args:
        model: The model.
        batch: The graphs.
        return_distances: Whether to compute the logits of distances, which need a distance head.

    Returns:
        The prediction, ``[B, C]``, ``[B, N, C]`` or ``[B, N, N, C]``, with zeros where there is no
        edge; and the logits of distances, ``[B, N, N, ν + 1]``, with zeros at padding, or None.

    Raises:
        ValueError: Tensors are on another device than the CPU, or neither float32 nor float64.
    """
    config = model.config
    q = config.virtual_nodes
    h = model.embed(batch)  # [B, N, d]
    check_tensor(h, "direct")
    e = pairs_of_nodes(model.edge_input, batch, Rows(batch.mask))
    mask = batch.mask
    if model.virtual_nodes is not None:
        e = with_virtual_pairs(model.virtual_nodes.pairs.weight, e, batch.mask)
        virtual = model.virtual_nodes.nodes.weight.expand(len(h), -1, -1)  # [B, q, d]
        h = torch.cat([virtual, h], dim=1)  # [B, T, d]
        mask = F.pad(mask, (q, 0), value=True)  # [B, T]
    rows = Rows(mask)
    allowed: Tensor | None = None
    if config.variant == "constrained":
        allowed = rows.of_pairs(model.attention_mask(batch))  # [P]
    h = rows.of_nodes(h)  # [n, d]
    first_e = e  # [P, d_e]
    for layer in model.layers:
        h, e = layer_of_rows(cast(EGTLayer, layer), h, e, rows, allowed)
    if model.node_norm is not None:
        h = model.node_norm(h)
    if model.edge_norm is not None:
        e = model.edge_norm(e)

    tokens = rows.padded(h)  # [B, T, d]
    if config.target == "edge":
        prediction = predict_edges(model, batch, tokens, e, first_e, rows)  # [B, N, N, C]
    else:
        prediction = model.head(model.readout(batch, tokens, e, first_e))  # [B, C] or [B, N, C]
    distances: Tensor | None = None
    if return_distances and model.distance_head is not None:
        logits = padded_pairs(model.distance_head(e), rows.pairs, rows)  # [B, T, T, ν + 1]
        distances = logits[:, q:, q:]  # [B, N, N, ν + 1]
    return prediction, distances


def pairs_of_nodes(edge_input: EdgeInput, batch: GraphBatch, rows: Rows) -> Tensor:
    """What :class:`gtcourse.models.egt.EdgeInput` computes, of the real pairs of nodes alone."""
    is_edge = rows.of_pairs(batch.adjacency)  # [P]
    if edge_input.max_distance is None:
        row = (is_edge | rows.is_itself()).long()  # [P]
    else:
        row = clipped(rows.of_pairs(batch.encoding("distance")), edge_input.max_distance)
    e = edge_input.structure(row)  # [P, d_e]
    if edge_input.features is None:
        return e
    values = real_edge_features(batch)  # [B, N, N, F]
    of_pairs = rows.of_pairs(values)  # [P, F]
    if isinstance(edge_input.features, CategoryEmbedding):
        edge_input.features.check_rows(of_pairs, values, batch.adjacency)
    features = edge_input.features(of_pairs)  # [P, d_e]
    return e + torch.where(is_edge[:, None], features, edge_input.no_edge)


def with_virtual_pairs(virtual: Tensor, e: Tensor, mask: Tensor) -> Tensor:
    """The pairs of all tokens, from those of the nodes (:class:`gtcourse.models.egt.VirtualNodes`).

    Args:
        virtual: A vector for each virtual node, ``[q, d_e]``.
        e: The real pairs of nodes.
        mask: True at real nodes, ``[B, N]``.
    """
    q, d_e = virtual.shape
    B, N = mask.shape
    among = (virtual[:, None] + virtual) / 2  # [q, q, d_e]
    table = torch.cat([e, virtual, among.view(-1, d_e)])
    numbers = torch.arange(len(table))
    of_nodes, of_virtual, of_two = numbers.split([len(e), q, q * q])
    row = torch.zeros(B * N * N, dtype=torch.long)
    row = row.index_copy(0, Rows(mask).pairs, of_nodes).view(B, N, N)
    row = F.pad(row, (q, 0, q, 0))  # [B, T, T], the row of the table for each pair of tokens
    row[:, :q, q:] = of_virtual[:, None]
    row[:, q:, :q] = of_virtual
    row[:, :q, :q] = of_two.view(q, q)
    return table.index_select(0, Rows(F.pad(mask, (q, 0), value=True)).of_pairs(row))


def predict_edges(
    model: EGT, batch: GraphBatch, tokens: Tensor, e: Tensor, first_e: Tensor, rows: Rows
) -> Tensor:
    """The prediction for each edge, ``[B, N, N, C]``, 0 where there is none.

    Args:
        model: Its head reads the edges.
        batch: The graphs.
        tokens: ``[B, T, d]``, after the last layer.
        e: ``[P, d_e]``, after the last layer.
        first_e: ``[P, d_e]``, before the first layer.
        rows: Where the tokens and pairs are.
    """
    q = model.config.virtual_nodes
    T = rows.shape[1]
    adjacency = F.pad(batch.adjacency, (q, 0, q, 0))  # [B, T, T]
    edges = rows.of_pairs(adjacency).nonzero()[:, 0]  # [E], rows of e
    place = rows.pairs[edges]  # [E], of [B, T, T]
    if model.config.variant == "simple":
        flat = tokens.flatten(0, 1)  # [B T, d]
        query = place // T
        key = place // (T * T) * T + place % T
        read = torch.cat([flat[query], flat[key], first_e[edges]], dim=1)  # [E, 2 d + d_e]
    else:
        read = e[edges]  # [E, d_e]
    return padded_pairs(model.head(read), place, rows)[:, q:, q:]


def padded_pairs(x: Tensor, place: Tensor, rows: Rows) -> Tensor:
    """Rows ``[…, C]`` at these places of the flattened ``[B, T, T]``: ``[B, T, T, C]``."""
    B, T = rows.shape
    return x.new_zeros(B * T * T, x.shape[1]).index_copy(0, place, x).view(B, T, T, -1)


def layer_of_rows(
    layer: EGTLayer, h: Tensor, e: Tensor, rows: Rows, allowed: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """:class:`gtcourse.models.EGTLayer` of rows.

    Args:
        layer: The layer.
        h: Tokens, ``[n, d]``.
        e: Pairs, ``[P, d_e]``.
        rows: Where the tokens and pairs are.
        allowed: True where a token may attend to another, ``[P]``, or None if it may everywhere.
            Each token has to be allowed to attend to itself. For one that may attend to none, the
            layer returns zeros, and this function does not.

    Returns:
        The tokens, ``[n, d]``, and the pairs, ``[P, d_e]``.
    """
    z, logits = attention_of_rows(
        layer.attention, layer.node_norm(h), layer.edge_norm(e), rows, allowed
    )
    if layer.update_nodes:
        h = h + layer.node_dropout(z)
        h = h + layer.node_dropout(layer.node_ffn(h))
    if layer.update_edges:
        e = e + layer.edge_dropout(layer.edge_output(logits))
        e = e + layer.edge_dropout(layer.edge_ffn(e))
    return h, e


def attention_of_rows(
    attention: EGTAttention, h: Tensor, e: Tensor, rows: Rows, allowed: Tensor | None = None
) -> tuple[Tensor | None, Tensor]:
    """The update of the tokens, ``[n, d]`` or None, and the logits H-hat, ``[P, H]``.

    The arguments are those of :func:`layer_of_rows`, here after the norms.
    """
    terms = attention.edge_terms_of_rows(e)  # [P, 2 H], or [P, H] without gates
    check_tensor(terms, "direct")  # in each layer, because autocast changes what a map returns
    query = attention.query(h)  # [n, d]
    # Where no token is updated, the value's weights have no gradient, as in the form "direct".
    value = torch.zeros_like(query) if attention.output is None else attention.value(h)
    heads, logits = _Attention.apply(
        query,
        attention.key(h),
        value,
        terms,
        allowed,
        rows.starts,
        attention.num_heads,
        attention.scale,
        attention.clip,
    )
    z = None if attention.output is None else attention.output(heads)
    return z, logits


class _Attention(torch.autograd.Function):
    r"""What each token gathers, ``[n, d]``, and the logits :math:`\hat H` (Eq. 5), ``[P, H]``.

    Shapes:
        query, key, value: ``[n, d]``
        terms: E and G, ``[P, 2 H]``, or E alone, ``[P, H]``
        allowed: ``[P]``, or None
        starts: ``[B + 1]``
    """

    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        terms: Tensor,
        allowed: Tensor | None,
        starts: Tensor,
        H: int,
        scale: float,
        clip: float,
    ) -> tuple[Tensor, Tensor]:
        gated = terms.shape[1] == 2 * H
        loops = loops_of(H, query.shape[1] // H, gated, allowed is not None)
        if allowed is None:
            allowed = torch.empty(0, dtype=torch.bool)  # not read
        dot = terms.new_empty(len(terms), H)  # [P, H], the paper's A-hat
        logits = torch.empty_like(dot)  # [P, H]
        attention = torch.empty_like(dot)  # [P, H]
        number = dot.numpy().dtype.type  # in the arrays' precision, not Python's
        loops.score(
            as_array(query),
            as_array(key),
            as_array(terms),
            as_array(allowed),
            as_array(starts),
            number(scale),
            number(clip),
            dot.numpy(),
            logits.numpy(),
            attention.numpy(),
        )
        attention.exp_()  # PyTorch's exponential is vectorised, and numba's is not
        gate = terms[:, H:].sigmoid().contiguous()  # [P, H], or [P, 0] without gates
        heads = torch.empty_like(query, memory_format=torch.contiguous_format)  # [n, d]
        loops.aggregate(
            as_array(gate), as_array(value), as_array(starts), attention.numpy(), heads.numpy()
        )
        ctx.save_for_backward(query, key, value, dot, attention, gate, starts)
        ctx.loops = loops
        ctx.scale = number(scale)
        ctx.clip = number(clip)
        ctx.set_materialize_grads(False)
        return heads, logits

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        refuse_second_derivative("fused")
        query, key, value, dot, attention, gate, starts = ctx.saved_tensors
        grad_heads, grad_logits = gradients
        if grad_heads is None:
            grad_heads = torch.zeros_like(value)  # [n, d]
        if grad_logits is None:
            grad_logits = torch.zeros_like(dot)  # [P, H]
        grad_query = torch.zeros_like(value)  # [n, d]
        grad_key = torch.zeros_like(value)
        grad_value = torch.zeros_like(value)
        grad_terms = dot.new_empty(len(dot), dot.shape[1] + gate.shape[1])  # [P, 2 H] or [P, H]
        ctx.loops.backward(
            as_array(query),
            as_array(key),
            as_array(value),
            as_array(dot),
            as_array(attention),
            as_array(gate),
            as_array(starts),
            ctx.scale,
            ctx.clip,
            as_array(grad_heads),
            as_array(grad_logits),
            grad_query.numpy(),
            grad_key.numpy(),
            grad_value.numpy(),
            grad_terms.numpy(),
        )
        return grad_query, grad_key, grad_value, grad_terms, None, None, None, None, None


@lru_cache
def loops_of(H: int, K: int, gated: bool, masked: bool) -> Loops:
    """The loops for so many heads and channels, with or without gates and forbidden pairs.

    The four are constants for the compiler. In the loops q, k and v are queries, keys and values,
    and the counters are the graph b, the query i, the key j, their pair p + j, and the head h.

    Shapes:
        q, k, v, heads and their gradients: ``[n, d]``
        terms: ``[P, 2 H]`` with gates, else ``[P, H]``
        dot, logits, attention, gate: ``[P, H]``
        allowed: ``[P]``
        starts: ``[B + 1]``
    """
    d = H * K

    steps = STEPS

    @compiled
    def score(
        q: Array,
        k: Array,
        terms: Array,
        allowed: Array,
        starts: Array,
        scale: float,
        clip: float,
        dot: Array,
        logits: Array,
        shifted: Array,
    ) -> None:
        """The dot products, the logits, and these less the largest that the query may attend to."""
        _ = steps
        lowest = np.finfo(q.dtype).min
        p = 0
        for b in range(len(starts) - 1):
            first = starts[b]
            n = starts[b + 1] - first
            keys = keys_by_channel(k, first, n, d)
            of_head = np.empty(keys.shape[1], q.dtype)
            for i in range(first, first + n):
                for h in range(H):
                    dot_products(q, i, h, K, scale, keys, of_head)
                    for j in range(n):
                        product = of_head[j]
                        dot[p + j, h] = product
                        if product > clip:  # NaN stays NaN
                            product = clip
                        elif product < -clip:
                            product = -clip
                        logit = product + terms[p + j, h]
                        logits[p + j, h] = logit
                        if masked and not allowed[p + j]:
                            logit = lowest
                        of_head[j] = logit
                    write_shifted(of_head, n, h, p, shifted)
                p += n

    @compiled
    def aggregate(gate: Array, v: Array, starts: Array, attention: Array, heads: Array) -> None:
        """``attention`` holds exponentials before, and afterwards the softmax."""
        _ = steps
        reciprocal = np.empty(H, v.dtype)
        weights = np.empty(d, v.dtype)
        total = np.empty((1, d), v.dtype)
        p = 0
        for b in range(len(starts) - 1):
            first = starts[b]
            n = starts[b + 1] - first
            for i in range(first, first + n):
                write_reciprocal_sums(attention, p, n, H, reciprocal)
                total[:] = 0
                for j in range(n):
                    for h in range(H):
                        weight = attention[p + j, h] * reciprocal[h]
                        attention[p + j, h] = weight
                        if gated:
                            weight *= gate[p + j, h]
                        write_to_head(weights, h, K, weight)
                    add_products(weights, v, first + j, d, total, 0)
                for c in range(d):
                    heads[i, c] = total[0, c]
                p += n

    @compiled
    def backward(
        q: Array,
        k: Array,
        v: Array,
        dot: Array,
        attention: Array,
        gate: Array,
        starts: Array,
        scale: float,
        clip: float,
        grad_heads: Array,
        grad_logits: Array,
        grad_q: Array,
        grad_k: Array,
        grad_v: Array,
        grad_terms: Array,
    ) -> None:
        """Adds the gradients of q, k and v to those that are there, and writes those of terms."""
        _ = steps
        of_channel = np.empty(d, v.dtype)
        weights = np.empty(d, v.dtype)
        mean = np.empty(H, v.dtype)
        zero = 0 * scale  # of the arrays' precision
        p = 0
        for b in range(len(starts) - 1):
            first = starts[b]
            n = starts[b + 1] - first
            grad_attention = np.empty((n, H), v.dtype)  # of a query's softmax
            for i in range(first, first + n):
                mean[:] = 0
                for j in range(n):
                    write_products(grad_heads, i, v, first + j, d, of_channel)
                    for h in range(H):
                        weight = attention[p + j, h]
                        gradient = sum_of_head(of_channel, h, K)
                        gated_weight = weight
                        if gated:
                            opening = gate[p + j, h]
                            gated_weight = weight * opening
                            grad_terms[p + j, H + h] = gradient * gated_weight * (1 - opening)
                            gradient *= opening
                        grad_attention[j, h] = gradient
                        mean[h] += gradient * weight
                        write_to_head(weights, h, K, gated_weight)
                    add_products(weights, grad_heads, i, d, grad_v, first + j)
                for j in range(n):
                    for h in range(H):
                        gradient = attention[p + j, h] * (grad_attention[j, h] - mean[h])
                        gradient += grad_logits[p + j, h]
                        grad_terms[p + j, h] = gradient
                        is_inside = -clip <= dot[p + j, h] <= clip
                        write_to_head(of_channel, h, K, gradient * scale if is_inside else zero)
                    add_products(of_channel, k, first + j, d, grad_q, i)
                    add_products(of_channel, q, i, d, grad_k, first + j)
                p += n

    return Loops(score, aggregate, backward)
