r"""Two forms of CSA's attention that need less memory than the equations as they read.

Written out, a layer's weights are N² d numbers, and a backward pass that stores them.

Shapes: as in :mod:`gtcourse.models.csa`, with G = B H and R rows of the queries. Both forms take
that file's ``direct`` and its arguments, and return z ``[B, H, K, N]``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

# Numbers worked on at a time; on the CPU a few such blocks stay in the cache of a core.
BLOCK = {"cpu": 2**18, "cuda": 2**26}
CHUNK = 2**20  # numbers in each tensor of a chunk of rows


def rows_of(edges, rows: slice = slice(None)):
    """The terms of some rows, of those of all, or of a function that computes them."""
    if callable(edges):
        return edges(rows)
    return type(edges)(*(None if term is None else term[:, :, rows] for term in edges))


def factorised(direct: Callable, scores: Tensor, value: Tensor, edges, drop=None) -> Tensor:
    r"""The same z of two factors, :math:`\exp(Q_i \cdot K_j + E_{ij}) = \exp(Q_i \cdot K_j)
    \exp(E_{ij})`, whose product is never stored.

    The first has one number for each head, and layers that share E share the second. Each is at
    most 1. Where all products of a row vanish, as for logits that lie hundreds apart, ``direct``
    computes the result, and again in the backward pass. On a GPU, where the host does not wait for
    that answer, the row becomes NaN, and so does the loss, at which ``fit`` stops; the form
    "direct" has no such limit. Monochrome terms go to ``direct`` as well.
    """
    (B, H, R, N), K, terms = scores.shape, value.shape[2], rows_of(edges)
    if terms.logits.shape[1] < H * K:
        return direct(scores, value, terms, drop)
    factor = factor_of(terms.logits) if terms.factor is None else terms.factor
    dropout = None if drop is None else drop.expand(B, H, R, N).flatten(0, 1)
    parts = terms.logits, terms.values, factor
    pairs = (None if p is None else p.unflatten(1, (H, -1)).flatten(0, 1) for p in parts)
    z, total = _Factorised.apply(scores.flatten(0, 1), value.flatten(0, 1), *pairs, dropout)
    vanished = total < torch.finfo(total.dtype).tiny ** 0.5  # [G, K, R]
    if total.device.type == "cpu" and bool(vanished.any()):
        return checkpoint(direct, scores, value, terms, drop, use_reentrant=False)
    if total.is_cuda:
        z = z.masked_fill(vanished, torch.nan)
    return z.unflatten(0, (B, H))


def chunked(direct: Callable, scores: Tensor, value: Tensor, edges, drop=None) -> Tensor:
    """The same z, a few queries at a time; the backward pass computes each chunk again."""
    B, H, K, N = value.shape
    step = max(1, CHUNK // (B * H * K * N))

    def chunk(rows: slice) -> Tensor:
        dropout = None if drop is None else drop.expand(-1, -1, N, -1)[:, :, rows]
        return direct(scores[:, :, rows], value, rows_of(edges, rows), dropout)

    chunks = (slice(start, min(start + step, N)) for start in range(0, N, step))
    return torch.cat([checkpoint(chunk, rows, use_reentrant=False) for rows in chunks], dim=-1)


@torch.no_grad()
def factor_of(logits: Tensor) -> Tensor:
    r""":math:`\exp(E_{ij} - \max_k E_{ik})` for each channel (or head), in float32 at least."""
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    lowest = torch.finfo(logits.dtype).min  # -inf less -inf would be NaN
    return (logits - logits.amax(dim=-1, keepdim=True).clamp(min=lowest)).exp_()


class _Factorised(torch.autograd.Function):
    r"""z, and the sum of each row's products, ``[G, K, R]`` both.

    With :math:`g_i` the gradient of :math:`z_i`, and :math:`m_{ij} = V_j + E^\text{value}_{ij}`,

    .. math::
        \frac{\partial}{\partial E_{ij}} = \tilde a(i,j) \odot g_i \odot (m_{ij} - z_i), \qquad
        \frac{\partial}{\partial E^\text{value}_{ij}} = \tilde a(i,j) \odot g_i,

    whose sums over a head's channels, and over i, are those of the scores and of :math:`V_j`. So
    factors, sums and z are all that is saved. Dropout multiplies :math:`m_{ij}`, and the second.
    Scores and drop are ``[G, R, N]``, value ``[G, K, N]``, the others ``[G, K, R, N]``.
    """

    @staticmethod
    def forward(ctx, scores, value, logits, values, factor, drop):
        exp_scores = (scores.to(factor.dtype) - scores.amax(dim=-1, keepdim=True)).exp_()
        total = factor.new_empty(factor.shape[:-1])
        z = torch.empty_like(total)
        for block in _blocks(factor):
            product = exp_scores[block, None] * factor[block]
            torch.sum(product, dim=-1, out=total[block])
            if drop is not None:
                product.mul_(drop[block, None])
            torch.sum(product.mul_(_messages(value, values, block)), dim=-1, out=z[block])
        z /= total.clamp(min=torch.finfo(total.dtype).tiny)
        ctx.save_for_backward(exp_scores, value, values, factor, drop, total, z)
        ctx.dtypes = scores.dtype, logits.dtype
        ctx.mark_non_differentiable(total)
        return z.to(value.dtype), total

    @staticmethod
    def backward(ctx, gradient, _):
        if torch.is_grad_enabled():  # once_differentiable would pass, and leave out terms
            raise RuntimeError("form='factorised' has no second derivative; expected 'direct'.")
        exp_scores, value, values, factor, drop, total, z = ctx.saved_tensors
        grad_scores, grad_value, grad_logits = map(torch.empty_like, (exp_scores, value, factor))
        grad_values = None if values is None else torch.empty_like(factor)
        scaled = (gradient / total).to(factor.dtype)[..., None]
        for block in _blocks(factor):
            # The filters, times what arrives from above.
            buffer = None if values is None else grad_values[block]
            weighted = torch.mul(exp_scores[block, None], scaled[block], out=buffer)
            weighted.mul_(factor[block])
            messages, difference = _messages(value, values, block), grad_logits[block]
            if drop is None:
                torch.sub(messages, z[block][..., None], out=difference)
            else:
                torch.addcmul(-z[block][..., None], messages, drop[block, None], out=difference)
            grad_scores[block] = difference.mul_(weighted).sum(dim=1)
            if drop is not None:
                weighted.mul_(drop[block, None])
            grad_value[block] = weighted.sum(dim=2)
        grad_values = None if values is None else grad_values.to(values.dtype)
        grad_scores, grad_logits = grad_scores.to(ctx.dtypes[0]), grad_logits.to(ctx.dtypes[1])
        return grad_scores, grad_value, grad_logits, grad_values, None, None


def _messages(value: Tensor, values: Tensor | None, block: slice) -> Tensor:
    messages = value[block][..., None, :]
    return messages if values is None else messages + values[block]


def _blocks(pairs: Tensor) -> Iterator[slice]:
    step = max(1, BLOCK.get(pairs.device.type, BLOCK["cuda"]) // pairs[0].numel())
    return (slice(start, start + step) for start in range(0, len(pairs), step))
