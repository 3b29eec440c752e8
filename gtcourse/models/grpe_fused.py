r"""GRPE for training on a CPU: ``GRPEConfig(form="fused")``.

The same function and the same gradients as :mod:`gtcourse.models.grpe`, which is the specification,
in less time where batches have padding. It needs numba (``pip install 'gtcourse[fast]'``).

- Tokens and pairs are rows without padding (:class:`gtcourse.models.fused.Rows`).
- The attention of a layer is one loop over the pairs, and its gradient another one
  (:class:`_Attention`): dot product, the contexts of the pair's relation, softmax, dropout, the sum
  over the keys, and the sum of the weights for each relation.

Shapes:
    B: graphs in a batch
    N: tokens of the largest graph, [VNode] among them; smaller graphs are padded
    n: real tokens of all graphs
    P: real pairs of tokens of all graphs
    H: attention heads
    K: width of a head
    d: width of a token's vector, H K
    T: relations
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from gtcourse.models.fused import (
    Array,
    Rows,
    as_array,
    check_tensor,
    refuse_second_derivative,
)
from gtcourse.models.fused_loops import Loops, compiled
from gtcourse.models.grpe import GRPE, GRPEAttention, GRPELayer, RelationTables


def encode(
    model: GRPE, h: Tensor, relation: Tensor, tables: RelationTables, mask: Tensor
) -> Tensor:
    """The tokens after all layers, before the last norm, ``[B, N, d]``, with zeros at padding.

    Dropout draws as many random numbers as there are real tokens and pairs, and so other ones than
    the form "direct".

    Args:
        model: Whose layers they are.
        h: Tokens, ``[B, N, d]``.
        relation: The relation of each pair, ``[B, N, N]``.
        tables: The vectors of the relations.
        mask: True at real tokens, ``[B, N]``.

    Raises:
        ValueError: Tensors are on another device than the CPU, or neither float32 nor float64.
    """
    check_tensor(h, "direct")
    rows = Rows(mask)
    h = rows.of_nodes(h)  # [n, d]
    pair = rows.of_pairs(relation)  # [P]
    for layer in model.layers:
        h = layer_of_rows(cast(GRPELayer, layer), h, pair, tables, rows)
    return rows.padded(h)


def layer_of_rows(
    layer: GRPELayer, h: Tensor, pair: Tensor, tables: RelationTables, rows: Rows
) -> Tensor:
    """:class:`gtcourse.models.GRPELayer` of tokens ``[n, d]`` and relations ``[P]``."""
    z = attention_of_rows(layer.attention, layer.attention_norm(h), pair, tables, rows)
    h = h + layer.dropout(z)
    return h + layer.dropout(layer.feed_forward(layer.feed_forward_norm(h)))


def attention_of_rows(
    attention: GRPEAttention, h: Tensor, pair: Tensor, tables: RelationTables, rows: Rows
) -> Tensor:
    """:class:`gtcourse.models.GRPEAttention` of tokens ``[n, d]``: the same shape."""
    H = attention.num_heads
    query = attention.query(h) * (h.shape[1] // H) ** -0.5  # [n, d]
    key = attention.key(h)  # [n, d]
    check_tensor(query, "direct")
    kept: Tensor | None = None
    if attention.training and attention.dropout > 0:
        kept = F.dropout(query.new_ones(len(pair), H), attention.dropout)  # [P, H]
    of_query, of_key = contexts_of_rows(attention, query, key, tables)
    relations = 0 if tables.value is None else len(tables.value)
    heads, by_relation = _Attention.apply(
        query, key, attention.value(h), of_query, of_key, kept, pair, rows.starts, H, relations
    )
    if tables.value is not None:
        vectors = tables.value.unflatten(1, (H, -1)).transpose(0, 1)  # [H, T, K]
        values = by_relation.transpose(0, 1) @ vectors  # [H, n, K], Eq. 9
        heads = heads + values.transpose(0, 1).flatten(1)  # [n, d]
    return attention.output(heads)


def contexts_of_rows(
    attention: GRPEAttention, query: Tensor, key: Tensor, tables: RelationTables
) -> tuple[Tensor | None, Tensor | None]:
    """What each token adds to its logits with every relation, as the query and as the key.

    The query's and the key's are ``[n, H, T]`` each, or None. ``query`` is already divided by the
    root of K.
    """
    H = attention.num_heads
    of_query: list[Tensor] = []
    of_key: Tensor | None = None
    if tables.key is not None:
        of_query.append(products(query, tables.key, H))  # Eq. 6
    if tables.query is not None:
        context = products(key, tables.query * (key.shape[1] // H) ** -0.5, H)
        if attention.key_context == "query_row":
            of_query.append(context)
        else:
            of_key = context  # Eq. 7
    if tables.bias is not None:
        of_query.append(tables.bias.T.expand(len(query), -1, -1))  # Eq. 4
    return (sum(of_query[1:], of_query[0]) if of_query else None), of_key


def products(x: Tensor, table: Tensor, H: int) -> Tensor:
    """The products of tokens ``[n, d]`` with vectors ``[T, d]``, head by head: ``[n, H, T]``."""
    of_tokens = x.unflatten(1, (H, -1)).transpose(0, 1)  # [H, n, K]
    of_relations = table.unflatten(1, (H, -1)).permute(1, 2, 0)  # [H, K, T]
    return (of_tokens @ of_relations).transpose(0, 1)


class _Attention(torch.autograd.Function):
    r"""What each token gathers, ``[n, d]``, and its weights for each relation, ``[n, H, T]``.

    Shapes:
        query, key, value: ``[n, d]``
        of_query, of_key: ``[n, H, T]``, or None
        kept: factors of the weights, ``[P, H]``, or None
        pair: the relation of each pair, ``[P]``
        starts: ``[B + 1]``
        relations: T, or 0 if the weights for each relation are not wanted
    """

    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        of_query: Tensor | None,
        of_key: Tensor | None,
        kept: Tensor | None,
        pair: Tensor,
        starts: Tensor,
        H: int,
        relations: int,
    ) -> tuple[Tensor, Tensor]:
        options = (of_query is not None, of_key is not None, kept is not None, relations > 0)
        loops = loops_of(H, query.shape[1] // H, *options)
        nothing = query.new_empty(0, 0, 0)  # not read
        of_query = nothing if of_query is None else of_query.contiguous()
        of_key = nothing if of_key is None else of_key.contiguous()
        kept = query.new_empty(0, 0) if kept is None else kept
        attention = query.new_empty(len(pair), H)  # [P, H]
        loops.score(
            as_array(query),
            as_array(key),
            as_array(of_query),
            as_array(of_key),
            as_array(pair),
            as_array(starts),
            attention.numpy(),
        )
        attention.exp_()  # PyTorch's exponential is vectorised, and numba's is not
        heads = torch.empty_like(query, memory_format=torch.contiguous_format)  # [n, d]
        by_relation = query.new_zeros(len(query), H, relations)  # [n, H, T]
        loops.gather(
            as_array(value),
            as_array(kept),
            as_array(pair),
            as_array(starts),
            attention.numpy(),
            heads.numpy(),
            by_relation.numpy(),
        )
        ctx.save_for_backward(query, key, value, attention, kept, pair, starts)
        ctx.loops = loops
        ctx.shapes = [of_query.shape, of_key.shape, by_relation.shape]
        ctx.set_materialize_grads(False)
        return heads, by_relation

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        refuse_second_derivative()
        query, key, value, attention, kept, pair, starts = ctx.saved_tensors
        grad_heads, grad_by_relation = gradients
        shape_of_query, shape_of_key, shape_by_relation = ctx.shapes
        if grad_heads is None:
            grad_heads = torch.zeros_like(value)  # [n, d]
        if grad_by_relation is None:
            grad_by_relation = value.new_zeros(shape_by_relation)  # [n, H, T]
        grad_query = torch.zeros_like(value)  # [n, d]
        grad_key = torch.zeros_like(value)
        grad_value = torch.zeros_like(value)
        grad_of_query = value.new_zeros(shape_of_query)  # [n, H, T]
        grad_of_key = value.new_zeros(shape_of_key)
        ctx.loops.spread(
            as_array(query),
            as_array(key),
            as_array(value),
            as_array(attention),
            as_array(kept),
            as_array(pair),
            as_array(starts),
            as_array(grad_heads),
            as_array(grad_by_relation),
            grad_query.numpy(),
            grad_key.numpy(),
            grad_value.numpy(),
            grad_of_query.numpy(),
            grad_of_key.numpy(),
        )
        return (
            grad_query,
            grad_key,
            grad_value,
            grad_of_query if ctx.needs_input_grad[3] else None,
            grad_of_key if ctx.needs_input_grad[4] else None,
            None,
            None,
            None,
            None,
            None,
        )


@lru_cache
def loops_of(
    H: int, K: int, with_query: bool, with_key: bool, dropped: bool, with_value: bool
) -> Loops:
    """The loops for so many heads and channels, with the terms of GRPE that a model has.

    All six are constants for the compiler. In the loops q, k and v are queries, keys and values,
    and the counters are the graph b, the query i, the key j, their pair p, the channel c and the
    head h.

    Shapes:
        q, k, v, heads and their gradients: ``[n, d]``
        of_query, of_key, by_relation and their gradients: ``[n, H, T]``
        attention, kept: ``[P, H]``
        pair: ``[P]``
        starts: ``[B + 1]``
    """
    d = H * K

    @compiled
    def score(
        q: Array,
        k: Array,
        of_query: Array,
        of_key: Array,
        pair: Array,
        starts: Array,
        shifted: Array,
    ) -> None:
        """The logits less the largest of their query."""
        lowest = np.finfo(q.dtype).min
        p = 0
        for b in range(len(starts) - 1):
            first = starts[b]
            n = starts[b + 1] - first
            # Channels before keys, so that the innermost loop runs over neighbouring numbers.
            keys = np.empty((d, n), q.dtype)
            for j in range(n):
                for c in range(d):
                    keys[c, j] = k[first + j, c]
            of_head = np.empty(n, q.dtype)
            for i in range(first, first + n):
                for h in range(H):
                    of_head[:] = 0
                    for c in range(h * K, h * K + K):
                        for j in range(n):
                            of_head[j] += q[i, c] * keys[c, j]
                    largest = lowest  # -inf less -inf would be NaN
                    for j in range(n):
                        relation = pair[p + j]
                        if with_query:
                            of_head[j] += of_query[i, h, relation]
                        if with_key:
                            of_head[j] += of_key[first + j, h, relation]
                        largest = max(largest, of_head[j])
                    for j in range(n):
                        shifted[p + j, h] = of_head[j] - largest
                p += n

    @compiled
    def gather(
        v: Array,
        kept: Array,
        pair: Array,
        starts: Array,
        attention: Array,
        heads: Array,
        by_relation: Array,
    ) -> None:
        """``attention`` holds exponentials before, and afterwards the softmax."""
        factor = np.empty(H, v.dtype)
        weight = np.empty(d, v.dtype)
        gathered = np.empty(d, v.dtype)
        p = 0
        for b in range(len(starts) - 1):
            first = starts[b]
            n = starts[b + 1] - first
            for i in range(first, first + n):
                factor[:] = 0
                for j in range(n):
                    for h in range(H):
                        factor[h] += attention[p + j, h]
                for h in range(H):
                    factor[h] = 1 / factor[h]
                gathered[:] = 0
                for j in range(n):
                    relation = pair[p + j]
                    for h in range(H):
                        share = attention[p + j, h] * factor[h]
                        attention[p + j, h] = share
                        if dropped:
                            share *= kept[p + j, h]
                        if with_value:
                            by_relation[i, h, relation] += share
                        for c in range(h * K, h * K + K):
                            weight[c] = share
                    for c in range(d):
                        gathered[c] += weight[c] * v[first + j, c]
                for c in range(d):
                    heads[i, c] = gathered[c]
                p += n

    @compiled
    def spread(
        q: Array,
        k: Array,
        v: Array,
        attention: Array,
        kept: Array,
        pair: Array,
        starts: Array,
        grad_heads: Array,
        grad_by_relation: Array,
        grad_q: Array,
        grad_k: Array,
        grad_v: Array,
        grad_of_query: Array,
        grad_of_key: Array,
    ) -> None:
        """Adds the gradients to those that are there."""
        weight = np.empty(d, v.dtype)
        product = np.empty(d, v.dtype)
        mean = np.empty(H, v.dtype)
        p = 0
        for b in range(len(starts) - 1):
            first = starts[b]
            n = starts[b + 1] - first
            of_attention = np.empty((n, H), v.dtype)  # the gradient of a query's softmax
            for i in range(first, first + n):
                mean[:] = 0
                for j in range(n):
                    relation = pair[p + j]
                    for c in range(d):
                        product[c] = grad_heads[i, c] * v[first + j, c]
                    for h in range(H):
                        share = attention[p + j, h]
                        of_weight = product[h * K]
                        for c in range(h * K + 1, h * K + K):
                            of_weight += product[c]
                        if with_value:
                            of_weight += grad_by_relation[i, h, relation]
                        dropped_share = share
                        if dropped:
                            dropped_share = share * kept[p + j, h]
                            of_weight *= kept[p + j, h]
                        of_attention[j, h] = of_weight
                        mean[h] += of_weight * share
                        for c in range(h * K, h * K + K):
                            weight[c] = dropped_share
                    for c in range(d):
                        grad_v[first + j, c] += weight[c] * grad_heads[i, c]
                for j in range(n):
                    relation = pair[p + j]
                    for h in range(H):
                        of_logit = attention[p + j, h] * (of_attention[j, h] - mean[h])
                        if with_query:
                            grad_of_query[i, h, relation] += of_logit
                        if with_key:
                            grad_of_key[first + j, h, relation] += of_logit
                        for c in range(h * K, h * K + K):
                            weight[c] = of_logit
                    for c in range(d):
                        grad_q[i, c] += weight[c] * k[first + j, c]
                        grad_k[first + j, c] += weight[c] * q[i, c]
                p += n

    return Loops(score, gather, spread)
