"""What attention maps look like: how even they are, how alike heads are, what layers add up to.

Virtual nodes are the first V tokens, as in Graphormer and GRPE (V = 1) and in EGT; CSA's channels
stand where other models have heads.
Shapes: B graphs, L layers, H heads (or channels), N nodes (padded), T = V + N tokens.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F


def token_mask(mask: Tensor, virtual_nodes: int) -> Tensor:
    """The mask of all tokens ``[B, V + N]``, of that of the nodes ``[B, N]``."""
    return F.pad(mask, (virtual_nodes, 0), value=True)


def between_nodes(attention: Tensor, virtual_nodes: int) -> Tensor:
    """Attention ``[..., V + N, V + N]`` without the virtual nodes, ``[..., N, N]``.

    What a node gave to them is gone, and its row sums to less than one; the functions below divide
    by the sum.
    """
    return attention[..., virtual_nodes:, virtual_nodes:]


def probabilities(attention: Tensor, mask: Tensor) -> Tensor:
    """Each real token's weights on real tokens, divided by their sum.

    It changes nothing where rows sum to one already. EGT's gated rows do not; the sum, how far a
    head's gates are open, is lost here. Rows without any weight, and those of padding, are zeros.

    Shapes:
        attention: ``[B, ..., T, T]``, not negative; mask: ``[B, T]``, True at real tokens
        returns: ``[B, ..., T, T]``
    """
    pairs = mask[:, :, None] & mask[:, None, :]
    weights = attention * _over(pairs, attention)
    total = weights.sum(dim=-1, keepdim=True)
    return weights / total.clamp(min=torch.finfo(total.dtype).tiny)


def attention_entropy(attention: Tensor, mask: Tensor, *, share: bool = False) -> Tensor:
    r"""How widely each token spreads its attention: :math:`-\sum_j a_{ij} \log a_{ij}`, in nats.

    Args:
        share: divide by :math:`\log n`, the entropy of even attention over the graph's n tokens:
            0 where one token has it all, 1 where all have the same. 0 in a graph of one token.

    Shapes:
        attention: ``[B, L, H, T, T]``; mask: ``[B, T]``, True at real tokens
        returns: ``[tokens, L, H]``, the real tokens of all graphs
    """
    a = probabilities(attention, mask)
    entropy = -torch.special.xlogy(a, a).sum(dim=-1)  # [B, L, H, T]
    if share:
        largest = mask.sum(dim=1).clamp(min=2).to(entropy.dtype).log()
        entropy = entropy / largest[:, None, None, None]
    return entropy.permute(0, 3, 1, 2)[mask]


def head_similarity(one: Tensor, other: Tensor, mask: Tensor) -> Tensor:
    r"""How alike two sets of heads look: 1 less the Jensen-Shannon distance, mean over tokens.

    With :math:`m = (p + q) / 2` of two rows p and q and the Shannon entropy in bits,

    .. math:: 1 - \sqrt{\operatorname{H}(m) - \tfrac12 \operatorname{H}(p) - \tfrac12
              \operatorname{H}(q)} ,

    1 for two rows that are the same, 0 for two that share no token. The root is a metric.

    Args:
        one, other: attention of one layer, or the layers' heads in a row; the same tensor for the
            heads of one model, those of two seeds to compare them.

    Shapes:
        one: ``[B, H, T, T]``; other: ``[B, H', T, T]``; mask: ``[B, T]``, True at real tokens
        returns: ``[H, H']``, each from 0 to 1
    """
    p, q = (probabilities(part, mask).transpose(1, 2)[mask] for part in (one, other))
    of_p, of_q = _bits(p), _bits(q)  # [tokens, H], [tokens, H']
    rows = []
    for h in range(p.shape[1]):  # a head at a time: all pairs at once would be a large table
        divergence = _bits((p[:, h, None] + q) / 2) - (of_p[:, h, None] + of_q) / 2
        rows.append(1 - divergence.clamp(0, 1).sqrt().mean(dim=0))
    return torch.stack(rows)


def attention_rollout(attention: Tensor, mask: Tensor, *, residual: float = 0.5) -> Tensor:
    r"""How much of each token's input is in each token's output, were attention all there is.

    .. math:: \hat A^{(l)} = (1 - r)\, \bar A^{(l)} + r\, I, \qquad
              R = \hat A^{(L)} \cdots \hat A^{(1)}

    (Abnar & Zuidema, 2020.) :math:`\bar A` is the mean over the heads, its rows made to sum to one.

    Args:
        residual: r, the residual connection's share; a half in the paper.

    Shapes:
        attention: ``[B, L, H, T, T]``; mask: ``[B, T]``, True at real tokens
        returns: ``[B, T, T]``; the rows of real tokens sum to one, those of padding are zeros
    """
    layers = probabilities(attention.mean(dim=2), mask)  # [B, L, T, T]
    itself = torch.diag_embed(mask.to(layers.dtype))  # [B, T, T]
    product = itself
    for a in layers.unbind(dim=1):
        product = ((1 - residual) * a + residual * itself) @ product
    return product


def read_by_graph(tokens: Tensor, mask: Tensor, virtual_nodes: int = 0) -> Tensor:
    """What the prediction reads of each node, from what each token reads of each.

    The prediction is read off the virtual nodes where there are any, and off the mean (or the sum)
    of all nodes otherwise.

    Shapes:
        tokens: ``[B, V + N, V + N]``, such as of :func:`attention_rollout`; mask: ``[B, N]``
        returns: ``[B, N]``, zeros at padding. With virtual nodes the sum is less than one: they
            read themselves as well.
    """
    if virtual_nodes:
        return tokens[:, :virtual_nodes, virtual_nodes:].mean(dim=1) * mask
    return (tokens * mask[:, :, None]).sum(dim=1) / mask.sum(dim=1, keepdim=True) * mask


def _bits(p: Tensor) -> Tensor:
    """Shannon entropy over the last axis."""
    return -torch.special.xlogy(p, p).sum(dim=-1) / math.log(2)


def _over(pairs: Tensor, attention: Tensor) -> Tensor:
    """``[B, T, T]`` with as many axes after the first as attention has."""
    return pairs.view(len(pairs), *[1] * (attention.dim() - 3), *pairs.shape[1:])
