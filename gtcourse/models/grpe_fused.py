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
    check_tensor(query, "direct")  # in each layer, because autocast changes what a map returns
    kept: Tensor | None = None
    if attention.training and attention.dropout > 0:
        kept = F.dropout(query.new_ones(len(pair), H), attention.dropout)  # [P, H]
    terms_of_query, terms_of_key = terms_of_rows(attention, query, key, tables)
    relations = 0 if tables.value is None else len(tables.value)
    heads, by_relation = _Attention.apply(
        query,
        key,
        attention.value(h),
        terms_of_query,
        terms_of_key,
        kept,
        pair,
        rows.starts,
        H,
        relations,
    )
    if tables.value is not None:
        vectors = tables.value.unflatten(1, (H, -1)).transpose(0, 1)  # [H, T, K]
        values = by_relation.transpose(0, 1) @ vectors  # [H, n, K], Eq. 9
        heads = heads + values.transpose(0, 1).flatten(1)  # [n, d]
    return attention.output(heads)


def terms_of_rows(
    attention: GRPEAttention, query: Tensor, key: Tensor, tables: RelationTables
) -> tuple[Tensor | None, Tensor | None]:
    """What relations add to the logits: a number for each token, head and relation.

    With r for the relation of query i and key j, the logit of head h is
    ``query · key + terms_of_query[i, h, r] + terms_of_key[j, h, r]``. With ``key_context`` of
    "query_row" the key context has row i as well, and is part of ``terms_of_query``.

    Args:
        attention: The layer's attention.
        query: ``[n, d]``, already divided by the root of K.
        key: ``[n, d]``.
        tables: The vectors of the relations.

    Returns:
        ``terms_of_query`` and ``terms_of_key``, ``[n, H, T]`` each, or None where there are none.
    """
    H = attention.num_heads
    terms_of_query: Tensor | None = None
    terms_of_key: Tensor | None = None
    if tables.key is not None:
        terms_of_query = products(query, tables.key, H)  # Eq. 6
    if tables.query is not None:
        context = products(key, tables.query * (key.shape[1] // H) ** -0.5, H)
        if attention.key_context == "query_row":
            terms_of_query = added(terms_of_query, context)
        else:
            terms_of_key = context  # Eq. 7
    if tables.bias is not None:
        scalars = tables.bias.T.expand(len(query), -1, -1)  # [n, H, T]
        terms_of_query = added(terms_of_query, scalars)  # Eq. 4
    return terms_of_query, terms_of_key


def added(terms: Tensor | None, term: Tensor) -> Tensor:
    """The terms with one more; they are None before the first."""
    return term if terms is None else terms + term


def products(x: Tensor, table: Tensor, H: int) -> Tensor:
    """The products of tokens ``[n, d]`` with vectors ``[T, d]``, head by head: ``[n, H, T]``."""
    of_tokens = x.unflatten(1, (H, -1)).transpose(0, 1)  # [H, n, K]
    of_relations = table.unflatten(1, (H, -1)).permute(1, 2, 0)  # [H, K, T]
    return (of_tokens @ of_relations).transpose(0, 1)


class _Attention(torch.autograd.Function):
    r"""What each token gathers, ``[n, d]``, and its weights for each relation, ``[n, H, T]``.

    Shapes:
        query, key, value: ``[n, d]``
        terms_of_query, terms_of_key: ``[n, H, T]``, or None
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
        terms_of_query: Tensor | None,
        terms_of_key: Tensor | None,
        kept: Tensor | None,
        pair: Tensor,
        starts: Tensor,
        H: int,
        relations: int,
    ) -> tuple[Tensor, Tensor]:
        loops = loops_of(
            H,
            query.shape[1] // H,
            query_terms=terms_of_query is not None,
            key_terms=terms_of_key is not None,
            dropped=kept is not None,
            with_relations=relations > 0,
        )
        nothing = query.new_empty(0, 0, 0)  # not read
        terms_of_query = nothing if terms_of_query is None else terms_of_query.contiguous()
        terms_of_key = nothing if terms_of_key is None else terms_of_key.contiguous()
        kept = query.new_empty(0, 0) if kept is None else kept
        attention = query.new_empty(len(pair), H)  # [P, H]
        loops.score(
            as_array(query),
            as_array(key),
            as_array(terms_of_query),
            as_array(terms_of_key),
            as_array(pair),
            as_array(starts),
            attention.numpy(),
        )
        attention.exp_()  # PyTorch's exponential is vectorised, and numba's is not
        heads = torch.empty_like(query, memory_format=torch.contiguous_format)  # [n, d]
        by_relation = query.new_zeros(len(query), H, relations)  # [n, H, T]
        loops.aggregate(
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
        ctx.shapes = [terms_of_query.shape, terms_of_key.shape, by_relation.shape]
        ctx.set_materialize_grads(False)
        return heads, by_relation

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        refuse_second_derivative("fused")
        query, key, value, attention, kept, pair, starts = ctx.saved_tensors
        grad_heads, grad_by_relation = gradients
        shape_of_query_terms, shape_of_key_terms, shape_by_relation = ctx.shapes
        if grad_heads is None:
            grad_heads = torch.zeros_like(value)  # [n, d]
        if grad_by_relation is None:
            grad_by_relation = value.new_zeros(shape_by_relation)  # [n, H, T]
        grad_query = torch.zeros_like(value)  # [n, d]
        grad_key = torch.zeros_like(value)
        grad_value = torch.zeros_like(value)
        grad_terms_of_query = value.new_zeros(shape_of_query_terms)  # [n, H, T]
        grad_terms_of_key = value.new_zeros(shape_of_key_terms)
        ctx.loops.backward(
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
            grad_terms_of_query.numpy(),
            grad_terms_of_key.numpy(),
        )
        return (
            grad_query,
            grad_key,
            grad_value,
            grad_terms_of_query if ctx.needs_input_grad[3] else None,
            grad_terms_of_key if ctx.needs_input_grad[4] else None,
            None,
            None,
            None,
            None,
            None,
        )


@lru_cache
def loops_of(
    H: int, K: int, query_terms: bool, key_terms: bool, dropped: bool, with_relations: bool
) -> Loops:
    """The loops for so many heads and channels, with the terms of GRPE that a model has.

    All six are constants for the compiler. In the loops q, k and v are queries, keys and values,
    and the counters are the graph b, the query i, the key j, their pair p + j, and the head h.

    Args:
        H: Heads.
        K: Channels of a head.
        query_terms: Whether there are ``terms_of_query``.
        key_terms: Whether there are ``terms_of_key``.
        dropped: Whether weights are multiplied with ``kept``.
        with_relations: Whether the weights for each relation are wanted.

    Shapes:
        q, k, v, heads and their gradients: ``[n, d]``
        terms_of_query, terms_of_key, by_relation and their gradients: ``[n, H, T]``
        attention, kept: ``[P, H]``
        pair: ``[P]``
        starts: ``[B + 1]``
    """
    d = H * K

    steps = STEPS

    @compiled
    def score(
        q: Array,
        k: Array,
        terms_of_query: Array,
        terms_of_key: Array,
        pair: Array,
        starts: Array,
        shifted: Array,
    ) -> None:
        """The logits less the largest of their query."""
        _ = steps
        one = q.dtype.type(1)  # the queries are scaled already
        p = 0
        for b in range(len(starts) - 1):
            first = starts[b]
            n = starts[b + 1] - first
            keys = keys_by_channel(k, first, n, d)
            of_head = np.empty(keys.shape[1], q.dtype)
            for i in range(first, first + n):
                for h in range(H):
                    dot_products(q, i, h, K, one, keys, of_head)
                    for j in range(n):
                        relation = pair[p + j]
                        if query_terms:
                            of_head[j] += terms_of_query[i, h, relation]
                        if key_terms:
                            of_head[j] += terms_of_key[first + j, h, relation]
                    write_shifted(of_head, n, h, p, shifted)
                p += n

    @compiled
    def aggregate(
        v: Array,
        kept: Array,
        pair: Array,
        starts: Array,
        attention: Array,
        heads: Array,
        by_relation: Array,
    ) -> None:
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
                    relation = pair[p + j]
                    for h in range(H):
                        weight = attention[p + j, h] * reciprocal[h]
                        attention[p + j, h] = weight
                        if dropped:
                            weight *= kept[p + j, h]
                        if with_relations:
                            by_relation[i, h, relation] += weight
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
        attention: Array,
        kept: Array,
        pair: Array,
        starts: Array,
        grad_heads: Array,
        grad_by_relation: Array,
        grad_q: Array,
        grad_k: Array,
        grad_v: Array,
        grad_terms_of_query: Array,
        grad_terms_of_key: Array,
    ) -> None:
        """Adds the gradients to those that are there."""
        _ = steps
        of_channel = np.empty(d, v.dtype)
        weights = np.empty(d, v.dtype)
        mean = np.empty(H, v.dtype)
        p = 0
        for b in range(len(starts) - 1):
            first = starts[b]
            n = starts[b + 1] - first
            grad_attention = np.empty((n, H), v.dtype)  # of a query's softmax
            for i in range(first, first + n):
                mean[:] = 0
                for j in range(n):
                    relation = pair[p + j]
                    write_products(grad_heads, i, v, first + j, d, of_channel)
                    for h in range(H):
                        weight = attention[p + j, h]
                        gradient = sum_of_head(of_channel, h, K)
                        if with_relations:
                            gradient += grad_by_relation[i, h, relation]
                        dropped_weight = weight
                        if dropped:
                            dropped_weight = weight * kept[p + j, h]
                            gradient *= kept[p + j, h]
                        grad_attention[j, h] = gradient
                        mean[h] += gradient * weight
                        write_to_head(weights, h, K, dropped_weight)
                    add_products(weights, grad_heads, i, d, grad_v, first + j)
                for j in range(n):
                    relation = pair[p + j]
                    for h in range(H):
                        gradient = attention[p + j, h] * (grad_attention[j, h] - mean[h])
                        if query_terms:
                            grad_terms_of_query[i, h, relation] += gradient
                        if key_terms:
                            grad_terms_of_key[first + j, h, relation] += gradient
                        write_to_head(of_channel, h, K, gradient)
                    add_products(of_channel, k, first + j, d, grad_q, i)
                    add_products(of_channel, q, i, d, grad_k, first + j)
                p += n

    return Loops(score, aggregate, backward)
