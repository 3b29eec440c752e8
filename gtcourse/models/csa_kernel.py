r"""Two forms of CSA's attention that need less memory than the equations as they read.

Written out, the weights of a layer are N² d numbers for each graph, and a backward pass stores
them. The form "factorised" writes a weight as a product of two factors, of which one is for each
head and the other is the same in all layers; it stores the factors and no product. The form
"chunked" computes the weights of a few queries at a time, and again in the backward pass. Both give
the same numbers as :func:`gtcourse.models.csa.direct`, which is passed to them, because its module
imports this one.

Shapes:
    B: graphs in a batch
    N: nodes of the largest graph; smaller graphs are padded
    H: attention heads
    d: width of a node's vector, and of a pair's
    K: channels of a head, d / H
    R: rows of a pair tensor, that is, nodes that attend
    G: graphs times heads, B H
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from gtcourse.models.fused import refuse_second_derivative

if TYPE_CHECKING:
    from gtcourse.models.csa import EdgeTerms, RowsOfTerms

Direct = Callable[[Tensor, Tensor, "EdgeTerms", Tensor | None], Tensor]
"""The type of :func:`gtcourse.models.csa.direct`."""

# Numbers worked on at a time; on the CPU a few such blocks stay in the cache of a core.
BLOCK = {"cpu": 2**18, "cuda": 2**26}
CHUNK = 2**20  # numbers in each tensor of a chunk of rows


def rows_of(edges: EdgeTerms | RowsOfTerms, rows: slice = slice(None)) -> EdgeTerms:
    """Some rows of the terms of pairs, or all; if ``edges`` is a function, it computes them."""
    if callable(edges):
        return edges(rows)
    return edges._replace(
        logits=edges.logits[:, :, rows],
        values=None if edges.values is None else edges.values[:, :, rows],
        factor=None if edges.factor is None else edges.factor[:, :, rows],
    )


def factorised(
    direct: Direct,
    scores: Tensor,
    value: Tensor,
    edges: EdgeTerms | RowsOfTerms,
    drop: Tensor | None = None,
) -> Tensor:
    r"""What each node gathers, from two factors whose product is never stored.

    .. math:: \exp(Q_i \cdot K_j + E_{ij}) = \exp(Q_i \cdot K_j) \exp(E_{ij})

    The first factor has one number for each head, and layers that share E share the second. In each
    row the first is divided by its largest, and the second by its sum, so that both are at most 1.
    Where all products of a row vanish, as for logits that lie hundreds apart, ``direct`` computes
    the result, and again in the backward pass. On a GPU, where the host does not wait for that
    answer, the row becomes NaN, and so does the loss, at which ``fit`` stops; the form "direct" has
    no such limit. Monochrome terms go to ``direct`` as well.

    Args:
        direct: :func:`gtcourse.models.csa.direct`.
        scores: :math:`Q_i \cdot K_j` of each head, ``[B, H, R, N]``.
        value: :math:`V_j`, ``[B, H, K, N]``.
        edges: What the pairs add, or a function that computes it.
        drop: Factors of dropout, ``[B, 1, R, N]``, or None.

    Returns:
        ``[B, H, K, R]``.
    """
    B, H, R, N = scores.shape
    K = value.shape[2]
    terms = rows_of(edges)
    if terms.logits.shape[1] < H * K:  # monochrome
        return direct(scores, value, terms, drop)
    factor = factor_of(terms.logits) if terms.factor is None else terms.factor  # [B, d, R, N]
    edge_values = None
    if terms.values is not None:
        edge_values = by_head(terms.values, H)  # [G, K, R, N]
    drop_of_heads = None
    if drop is not None:
        drop_of_heads = drop.expand(B, H, R, N).flatten(0, 1)  # [G, R, N]
    compute = without_gradient
    if torch.is_grad_enabled() or factor.device.type != "cpu":
        compute = _Factorised.apply
    z, total = compute(
        scores.flatten(0, 1),  # [G, R, N]
        value.flatten(0, 1),  # [G, K, N]
        by_head(terms.logits, H),  # [G, K, R, N]
        edge_values,
        by_head(factor, H),  # [G, K, R, N]
        drop_of_heads,
    )  # [G, K, R] each, what is gathered and the sum of a row's products
    # Products below the smallest number of the precision are lost. Where the sum of a row is far
    # above that number, above its root, the lost products do not change the sum.
    vanished = total < torch.finfo(total.dtype).tiny ** 0.5  # [G, K, R]
    if total.device.type == "cpu":
        if bool(vanished.any()):
            return checkpoint(direct, scores, value, terms, drop, use_reentrant=False)
    elif total.device.type != "meta":  # there, costs are counted as on the CPU
        z = z.masked_fill(vanished, torch.nan)
    return z.unflatten(0, (B, H))  # [B, H, K, R]


def by_head(pairs: Tensor, num_heads: int) -> Tensor:
    """Gives each head its channels: ``[B, d, R, N]`` to ``[G, K, R, N]``."""
    return pairs.unflatten(1, (num_heads, -1)).flatten(0, 1)


def chunked(
    direct: Direct,
    scores: Tensor,
    value: Tensor,
    edges: EdgeTerms | RowsOfTerms,
    drop: Tensor | None = None,
) -> Tensor:
    """What each node gathers, a few queries at a time; the backward pass computes each chunk again.

    The arguments and the result are those of :func:`factorised`.
    """
    B, H, K, N = value.shape
    numbers_of_a_row = max(1, B * H * K * N)  # a batch may have no graph
    rows_at_a_time = max(1, CHUNK // numbers_of_a_row)

    def chunk(rows: slice) -> Tensor:
        drop_of_rows = None
        if drop is not None:
            drop_of_rows = drop[:, :, rows]  # [B, 1, rows, N]
        return direct(scores[:, :, rows], value, rows_of(edges, rows), drop_of_rows)

    parts = []
    for start in range(0, N, rows_at_a_time):
        rows = slice(start, min(start + rows_at_a_time, N))
        parts.append(checkpoint(chunk, rows, use_reentrant=False))  # [B, H, K, rows]
    return torch.cat(parts, dim=-1)  # [B, H, K, N]


@torch.no_grad()
def factor_of(logits: Tensor) -> Tensor:
    r""":math:`\exp(E_{ij})` for each channel (or head), each row divided by its sum, in float32.

    In float64 if the logits are. The scale of a row does not matter: the weights are divided by
    their sum again. No gradient flows through it: :class:`_Factorised` returns that of the logits.
    """
    dtype = torch.promote_types(logits.dtype, torch.float32)
    return logits.softmax(dim=-1, dtype=dtype)


def without_gradient(
    scores: Tensor,
    value: Tensor,
    logits: Tensor,
    edge_values: Tensor | None,
    factor: Tensor,
    drop: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """What :class:`_Factorised` computes, faster on a CPU; the sums may have another scale.

    The arguments and the results are those of :class:`_Factorised`. All blocks of heads are
    computed in the same memory, which therefore stays in the cache, and the sums over the keys are
    products of a matrix with a vector of ones.
    """
    N = factor.shape[-1]
    # Divided by their sum, which one kernel does, and not by the largest. The scale of a row
    # cancels where z is divided by total.
    exp_scores = scores.to(factor.dtype).softmax(dim=-1)  # [G, R, N]
    total = factor.new_empty(factor.shape[:-1])  # [G, K, R]
    z = torch.empty_like(total)  # [G, K, R]
    ones = factor.new_ones(N)
    blocks = list(_blocks(factor))
    product_memory = factor.new_empty(factor[blocks[0]].shape)  # [g, K, R, N] of g heads
    messages_memory = torch.empty_like(product_memory)
    for block in blocks:
        heads = len(factor[block])  # g, or fewer in the last block
        product = product_memory[:heads]  # [g, K, R, N], not yet divided by the row's sum
        torch.mul(exp_scores[block, None], factor[block], out=product)
        torch.mv(product.view(-1, N), ones, out=total[block].view(-1))  # sums over the keys
        if drop is not None:
            product.mul_(drop[block, None])
        messages = value[block][..., None, :]  # [g, K, 1, N]
        if edge_values is not None:
            torch.add(messages, edge_values[block], out=messages_memory[:heads])
            messages = messages_memory[:heads]  # [g, K, R, N]
        product.mul_(messages)
        torch.mv(product.view(-1, N), ones, out=z[block].view(-1))  # sums over the keys
    z /= total.clamp(min=torch.finfo(total.dtype).tiny)
    return z.to(value.dtype), total


class _Factorised(torch.autograd.Function):
    r"""What each node gathers, z, and the sum of each row's products, ``[G, K, R]`` both.

    With :math:`g_i` the gradient of :math:`z_i`, and :math:`m_{ij} = V_j + E^\text{value}_{ij}`,

    .. math::
        \frac{\partial \ell}{\partial E_{ij}} = \tilde a(i,j) \odot g_i \odot (m_{ij} - z_i),
        \qquad
        \frac{\partial \ell}{\partial E^\text{value}_{ij}} = \tilde a(i,j) \odot g_i,

    where :math:`\ell` is the loss. The gradient of a score is the sum of the first over the
    channels of its head, and that of :math:`V_j` is the sum of the second over i. So the factors,
    the two parts of :math:`m_{ij}`, the sums and z are saved, and no product of two factors.
    Dropout multiplies :math:`m_{ij}` in the first, and all of the second.

    Shapes:
        scores: ``[G, R, N]``
        value: ``[G, K, N]``
        logits: ``[G, K, R, N]``; they are read through ``factor`` alone
        edge_values: ``[G, K, R, N]`` or None
        factor: ``[G, K, R, N]``
        drop: ``[G, R, N]`` or None
    """

    @staticmethod
    def forward(
        ctx: Any,
        scores: Tensor,
        value: Tensor,
        logits: Tensor,
        edge_values: Tensor | None,
        factor: Tensor,
        drop: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        largest = scores.amax(dim=-1, keepdim=True)  # [G, R, 1]
        exp_scores = (scores.to(factor.dtype) - largest).exp_()  # [G, R, N]
        total = factor.new_empty(factor.shape[:-1])  # [G, K, R]
        z = torch.empty_like(total)  # [G, K, R]
        for block in _blocks(factor):
            # The filters of g heads, not yet divided by the row's sum.
            product = exp_scores[block, None] * factor[block]  # [g, K, R, N]
            torch.sum(product, dim=-1, out=total[block])
            if drop is not None:
                product.mul_(drop[block, None])
            product.mul_(_messages(value, edge_values, block))
            torch.sum(product, dim=-1, out=z[block])
        z /= total.clamp(min=torch.finfo(total.dtype).tiny)
        ctx.save_for_backward(exp_scores, value, edge_values, factor, drop, total, z)
        ctx.scores_dtype = scores.dtype
        ctx.logits_dtype = logits.dtype
        ctx.mark_non_differentiable(total)
        return z.to(value.dtype), total

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        refuse_second_derivative("factorised")
        gradient = gradients[0]  # of z, [G, K, R]; the sums have none
        exp_scores, value, edge_values, factor, drop, total, z = ctx.saved_tensors
        grad_scores = torch.empty_like(exp_scores)  # [G, R, N]
        grad_value = torch.empty_like(value)  # [G, K, N]
        grad_logits = torch.empty_like(factor)  # [G, K, R, N]
        grad_edge_values = None if edge_values is None else torch.empty_like(factor)
        # The gradient of z, g_i, and with it the division of the filters by their row's sum.
        scaled = (gradient / total).to(factor.dtype)[..., None]  # [G, K, R, 1]
        for block in _blocks(factor):
            # The filters times the gradient of z. That is the gradient of the edges' values as
            # well, and is written there if the edges have values.
            buffer = None if grad_edge_values is None else grad_edge_values[block]
            weighted = torch.mul(exp_scores[block, None], scaled[block], out=buffer)
            weighted.mul_(factor[block])  # [g, K, R, N]
            messages = _messages(value, edge_values, block)  # [g, K, R, N] or [g, K, 1, N]
            # m_ij - z_i, written to where the gradient of the logits is to be.
            difference = grad_logits[block]  # [g, K, R, N]
            if drop is None:
                torch.sub(messages, z[block][..., None], out=difference)
            else:
                torch.addcmul(-z[block][..., None], messages, drop[block, None], out=difference)
            difference.mul_(weighted)  # now the gradient of the logits
            grad_scores[block] = difference.sum(dim=1)  # over the channels of a head
            if drop is not None:
                weighted.mul_(drop[block, None])
            grad_value[block] = weighted.sum(dim=2)  # over the queries
        if grad_edge_values is not None:
            grad_edge_values = grad_edge_values.to(edge_values.dtype)
        return (
            grad_scores.to(ctx.scores_dtype),
            grad_value,
            grad_logits.to(ctx.logits_dtype),
            grad_edge_values,
            None,  # of factor, whose gradient is that of the logits
            None,  # of drop
        )


def _messages(value: Tensor, edge_values: Tensor | None, block: slice) -> Tensor:
    r""":math:`V_j + E^\text{value}_{ij}` of some heads, ``[g, K, R, N]`` or with 1 for R."""
    messages = value[block][..., None, :]  # [g, K, 1, N]
    return messages if edge_values is None else messages + edge_values[block]


def _blocks(pairs: Tensor) -> Iterator[slice]:
    """Slices of the first axis with ``BLOCK`` numbers or fewer each, or with a single head."""
    largest = BLOCK.get(pairs.device.type, BLOCK["cuda"])
    numbers_of_a_head = math.prod(pairs.shape[1:])
    heads = max(1, largest // numbers_of_a_head)
    return (slice(first, first + heads) for first in range(0, len(pairs), heads))
