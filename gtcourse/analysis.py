"""What attention looks at, and what a prediction depends on.

Attention maps show what a model could use; gradients and ablations measure what it does use. They
work on every Transformer of the course, the latter where it predicts one number for each graph.

Shapes: B graphs, L layers, H heads (or CSA's channels), N nodes (padded), T = V + N tokens; the V
virtual nodes are first, as in Graphormer and GRPE (V = 1) and in EGT.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from gtcourse.graphs.batch import UNREACHABLE, GraphBatch
from gtcourse.models.embeddings import mean_pool


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


def attention_by_hop(attention: Tensor, distance: Tensor, mask: Tensor, hops: int) -> Tensor:
    """Of the attention that a node pays, the share that goes to nodes k hops away.

    The heads' weights are added, so that a head that is gated shut counts for little; then each
    node's are divided by their sum. A node without attention in one of the layers is left out.

    Args:
        hops: k goes from 0 to this; the share of all that is farther, or not reachable, is the
            last column.

    Shapes:
        attention: ``[B, L, H, N, N]``, without virtual nodes; distance: ``[B, N, N]``, -1 where
            there is no path; mask: ``[B, N]``, True at real nodes
        returns: ``[nodes, L, hops + 2]``; each row sums to 1
    """
    weights = attention.sum(dim=2) * mask[:, None, None]  # [B, L, N, N]
    total = weights.sum(dim=-1, keepdim=True)
    share = weights / total.clamp(min=torch.finfo(total.dtype).tiny)
    bins = distance.masked_fill(distance == UNREACHABLE, hops + 1).clamp(max=hops + 1)
    bins = bins[:, None].expand_as(share)
    by_hop = share.new_zeros(*share.shape[:-1], hops + 2).scatter_add(-1, bins, share)
    attends = mask & (total[..., 0] > 0).all(dim=1)
    return by_hop.transpose(1, 2)[attends]


KINDS = ("itself", "neighbours", "same ring", "near", "far")
"""A node; those joined to it; those on a ring with it, but not joined; the rest, by distance."""


def pair_kinds(batch: GraphBatch, near: int = 3) -> Tensor:
    """The kind of each pair, a place in ``KINDS``, ``[B, N, N]``.

    Args:
        batch: with the encodings "distance" and "ring".
        near: the longest distance that is near; farther and unreachable nodes are far.
    """
    distance, ring = (batch.encodings[name] for name in ("distance", "ring"))
    far = (distance > near) | (distance == UNREACHABLE)
    kind = torch.where(ring.bool(), 2, 3 + far.long())
    return kind.masked_fill(distance == 1, 1).masked_fill(distance == 0, 0)


def attention_by_kind(attention: Tensor, kind: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """The share of each channel's attention that goes to each kind of pair, and of an even one's.

    Both are means over the real nodes. A channel that gives a kind twice the share of an even
    attention prefers it.

    Shapes:
        attention: ``[B, L, C, N, N]``, rows that sum to 1; kind: ``[B, N, N]``, as of
            :func:`pair_kinds`; mask: ``[B, N]``, True at real nodes
        returns: ``[L, C, kinds]``, and ``[kinds]`` of the even attention
    """
    is_kind = torch.nn.functional.one_hot(kind, len(KINDS)).to(attention.dtype)
    is_kind = is_kind * (mask[:, :, None] & mask[:, None, :])[..., None]  # [B, N, N, kinds]
    nodes = mask.sum()
    share = torch.einsum("blcij,bijk->lck", attention, is_kind) / nodes
    of_all = is_kind.sum(dim=2) / mask.sum(dim=1).clamp(min=1)[:, None, None]
    return share, of_all.sum(dim=(0, 1)) / nodes


def gradient_times_input(model: nn.Module, batch: GraphBatch, *, from_mean: bool = False) -> Tensor:
    r"""What a node's vector adds to the prediction, to first order.

    .. math:: \Big\langle \frac{\partial \hat y}{\partial h_i^{(0)}},\, h_i^{(0)} \Big\rangle

    of the vectors :math:`h^{(0)}` that enter the first layer, against a vector of zeros.

    Args:
        from_mean: take :math:`h_i^{(0)}` less the mean over the graph's nodes instead: against an
            average node. A LayerNorm does not see how long a vector is, so that the gradient along
            the vector itself says little.

    Shapes:
        returns: ``[B, N]``, zeros at padding
    """
    kept = []

    def keep(layer: nn.Module, arguments: tuple) -> tuple:
        kept.append(arguments[0].detach().requires_grad_())
        return (kept[0], *arguments[1:])

    handle = layers_of(model)[0].register_forward_pre_hook(keep)
    try:
        prediction = model(batch)
    finally:
        handle.remove()
    (gradient,) = torch.autograd.grad(prediction.sum(), kept)
    N = batch.mask.shape[1]
    h, gradient = kept[0].detach()[:, -N:], gradient[:, -N:]  # behind the virtual nodes
    if from_mean:
        h = h - mean_pool(h, batch.mask)[:, None]
    return (gradient * h).sum(dim=-1) * batch.mask


def attention_times_gradient(model: nn.Module, batch: GraphBatch) -> Tensor:
    r"""Each attention weight times the derivative of the prediction by it.

    .. math:: a_{ij}\, \frac{\partial \hat y}{\partial a_{ij}} = a_{ij}\,
              \Big\langle \frac{\partial \hat y}{\partial z_i},\, v_j \Big\rangle

    in plain attention: a weight counts only if what it carries moves the prediction. The weights
    are taken as free, as if a row did not have to sum to one. A gate behind the softmax (EGT) and
    what pairs add to the value (GRPE, CSA) are in the derivative.

    Shapes:
        returns: ``[B, L, C, T, T]``, with a sign
    """
    with _Softmaxes() as softmaxes:
        prediction, _ = model(batch, return_attention=True)
    gradients = torch.autograd.grad(prediction.sum(), softmaxes.found)
    products = [(a.detach() * g) for a, g in zip(softmaxes.found, gradients, strict=True)]
    # CSA has its channels by heads, [B, H, K, N, N].
    return torch.stack([p.flatten(1, 2) if p.dim() == 5 else p for p in products], dim=1)


@torch.no_grad()
def leave_one_out(model: nn.Module, batch: GraphBatch) -> Tensor:
    """The prediction less that without the node: what a node contributes, given all others.

    The node is taken out with its edges, as padding is: no node attends to it, and it does not
    enter the prediction. The others keep their encodings (distances, degrees, walks).

    Shapes:
        returns: ``[B, N]``, with a sign, zeros at padding
    """
    whole = model(batch)
    change = whole.new_zeros(batch.mask.shape)
    for i in range(batch.mask.shape[1]):
        graphs = batch.mask[:, i].nonzero().squeeze(1)
        if len(graphs) == 0:
            continue
        change[graphs, i] = whole[graphs] - model(_without(batch.select(graphs), i))
    return change


@contextmanager
def ablated(model: nn.Module, heads: Iterable[tuple[int, int]]) -> Iterator[nn.Module]:
    """The model with some heads silent: what they have gathered is zero before it is mixed.

    ``with ablated(model, [(0, 3)]): ...`` silences head 3 of the first layer. All K channels of the
    head are set to zero where they enter the projection W_O, whose bias stays. Of CSA this is a
    head of K channels as well. (What Graphormer's "via aggregation" adds from edges is not part of
    a head.)

    Args:
        heads: pairs of a layer and a head, both from 0.
    """
    layers, handles = layers_of(model), []
    by_layer: dict[int, list[int]] = {}
    for layer, head in heads:
        by_layer.setdefault(layer, []).append(head)
    try:
        for layer, silent in by_layer.items():
            attention = layers[layer].attention
            hook = _silence(silent, attention.num_heads)
            handles.append(attention.output.register_forward_pre_hook(hook))
        yield model
    finally:
        for handle in handles:
            handle.remove()


def layers_of(model: nn.Module) -> nn.ModuleList:
    """The attention layers of a Transformer of the course, first to last."""
    return model.layers if hasattr(model, "layers") else model.encoder.layers


def _without(batch: GraphBatch, i: int) -> GraphBatch:
    others = torch.arange(batch.mask.shape[1], device=batch.mask.device) != i
    adjacency = batch.adjacency & others & others[:, None]
    return replace(batch, mask=batch.mask & others, adjacency=adjacency)


def _silence(heads: list[int], num_heads: int):
    def hook(output: nn.Module, arguments: tuple[Tensor]) -> Tensor:
        keep = arguments[0].new_ones(num_heads)
        keep[heads] = 0.0
        return (arguments[0].unflatten(-1, (num_heads, -1)) * keep[:, None]).flatten(-2)

    return hook


class _Softmaxes(TorchFunctionMode):
    """Every softmax that is taken, in order: what a model returns may be a copy of its attention,
    of which the prediction has no derivative."""

    def __init__(self):
        super().__init__()
        self.found: list[Tensor] = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if func is Tensor.softmax:
            self.found.append(result)
        return result
