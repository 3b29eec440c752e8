"""What attention looks at, and what a prediction depends on.

Attention maps show what a model could use; gradients and ablations measure what it does use. They
work on every Transformer of the course, the latter where it predicts one number for each graph.

Shapes: B graphs, L layers, H heads (or CSA's channels), N nodes (padded), T = V + N tokens; the V
virtual nodes are first, as in Graphormer and GRPE (V = 1) and in EGT. Unless a docstring says
otherwise, ``attention`` is ``[B, L, H, T, T]`` and ``mask`` is ``[B, T]``, True at real tokens;
``batch.mask`` and what is given for each node are ``[B, N]``, zeros at padding.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from gtcourse.graphs.batch import UNREACHABLE, GraphBatch, clipped
from gtcourse.models.bag import mean_pool


def token_mask(mask: Tensor, virtual_nodes: int) -> Tensor:
    """The mask of all tokens ``[B, V + N]``, of that of the nodes ``[B, N]``."""
    return F.pad(mask, (virtual_nodes, 0), value=True)


def between_nodes(attention: Tensor, virtual_nodes: int) -> Tensor:
    """Attention without the virtual nodes, ``[..., N, N]``; its rows sum to less than one."""
    return attention[..., virtual_nodes:, virtual_nodes:]


def probabilities(attention: Tensor, mask: Tensor) -> Tensor:
    """Each real token's weights on real tokens, divided by their sum; zeros where it is zero.

    EGT's gated rows do not sum to one; the sum, how far a head's gates are open, is lost here.
    ``attention`` is ``[B, ..., T, T]``, not negative.
    """
    pairs = mask[:, :, None] & mask[:, None]
    weights = attention * pairs.view(len(mask), *[1] * (attention.dim() - 3), *pairs.shape[1:])
    return _divided_by_sum(weights)


def attention_entropy(attention: Tensor, mask: Tensor, *, share: bool = False) -> Tensor:
    """How widely each token spreads its attention: the entropy of its row, in nats.

    ``[tokens, L, H]``, for the real tokens of all graphs. With ``share`` it is divided by log n,
    that of even attention over the graph's n tokens: 0 where one token has it all, or is alone.
    """
    entropy = _entropy(probabilities(attention, mask))  # [B, L, H, T]
    if share:
        largest = mask.sum(dim=1).clamp(min=2).to(entropy.dtype).log()
        entropy = entropy / largest[:, None, None, None]
    return entropy.permute(0, 3, 1, 2)[mask]


def head_similarity(one: Tensor, other: Tensor, mask: Tensor) -> Tensor:
    r"""How alike two sets of heads look: 1 less the Jensen-Shannon distance, mean over tokens.

    With :math:`m = (p + q) / 2` of two rows p and q and the Shannon entropy in bits,

    .. math:: 1 - \sqrt{\operatorname{H}(m) - \tfrac12 \operatorname{H}(p) - \tfrac12
              \operatorname{H}(q)} ,

    1 for two rows that are the same, 0 for two that share no token. The root is a metric. Of one
    layer's ``[B, H, T, T]`` and another's ``[B, H', T, T]``, of any model: ``[H, H']``.
    """
    p, q = (probabilities(part, mask).transpose(1, 2)[mask] for part in (one, other))
    rows = []
    for head in p.split(1, dim=1):  # all pairs of heads at once would be a large table
        divergence = _entropy((head + q) / 2) - (_entropy(head) + _entropy(q)) / 2
        rows.append(1 - (divergence / math.log(2)).clamp(0, 1).sqrt().mean(dim=0))
    return torch.stack(rows)


def attention_rollout(attention: Tensor, mask: Tensor, *, residual: float = 0.5) -> Tensor:
    r"""How much of each token's input is in each token's output, were attention all there is.

    .. math:: \hat A^{(l)} = (1 - r)\, \bar A^{(l)} + r\, I, \qquad
              R = \hat A^{(L)} \cdots \hat A^{(1)}

    (Abnar & Zuidema, 2020.) :math:`\bar A` is the mean over the heads, its rows made to sum to one;
    r is the residual connection's share. ``[B, T, T]``; the rows of real tokens sum to one, those
    of padding are zeros.
    """
    layers = probabilities(attention.mean(dim=2), mask)  # [B, L, T, T]
    product = itself = torch.diag_embed(mask.to(layers.dtype))
    for a in layers.unbind(dim=1):
        product = ((1 - residual) * a + residual * itself) @ product
    return product


def read_by_graph(tokens: Tensor, mask: Tensor, virtual_nodes: int = 0) -> Tensor:
    """What the prediction reads of each node, ``[B, N]``, from what each token reads of each.

    It is read off the virtual nodes where there are any (which also read themselves, so that the
    sum is less than one), or else off all nodes. ``tokens`` is ``[B, T, T]``, such as of
    :func:`attention_rollout`, and ``mask`` that of the nodes.
    """
    if virtual_nodes:
        return tokens[:, :virtual_nodes, virtual_nodes:].mean(dim=1) * mask
    return (tokens * mask[:, :, None]).sum(dim=1) / mask.sum(dim=1, keepdim=True) * mask


def attention_by_hop(attention: Tensor, distance: Tensor, mask: Tensor, hops: int) -> Tensor:
    """Of the attention that a node pays (:func:`between_nodes`), the share to nodes k hops away.

    The heads' weights are added, so that a head that is gated shut counts for little; then each
    node's are divided by their sum. A node without attention in one of the layers is left out.
    ``[nodes, L, hops + 2]`` for k from 0 to hops, and all that is farther or not reachable.
    """
    weights = attention.sum(dim=2) * mask[:, None, None]  # [B, L, N, N]
    share = _divided_by_sum(weights)
    bins = clipped(distance, hops + 1)[:, None].expand_as(share)
    by_hop = share.new_zeros(*share.shape[:-1], hops + 2).scatter_add(-1, bins, share)
    attends = mask & (weights.sum(dim=-1) > 0).all(dim=1)
    return by_hop.transpose(1, 2)[attends]


KINDS = ("itself", "neighbours", "same ring", "near", "far")
"""A node; those joined to it; those on a ring with it, but not joined; the rest, by distance."""


def pair_kinds(batch: GraphBatch, near: int = 3) -> Tensor:
    """The kind of each pair, a place in ``KINDS``, ``[B, N, N]``.

    Reads the encodings "distance" and "ring". Nodes up to ``near`` apart are near, others far.
    """
    distance, ring = (batch.encodings[name] for name in ("distance", "ring"))
    far = (distance > near) | (distance == UNREACHABLE)
    kind = torch.where(ring.bool(), 2, 3 + far.long())
    return kind.masked_fill(distance == 1, 1).masked_fill(distance == 0, 0)


def attention_by_kind(attention: Tensor, kind: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """The share of each channel's attention that goes to each kind of pair, and of an even one's.

    ``[L, C, kinds]`` and ``[kinds]``, means over the real nodes, from attention
    ``[B, L, C, N, N]`` whose rows sum to 1, and :func:`pair_kinds`.
    """
    is_kind = F.one_hot(kind, len(KINDS)).to(attention.dtype)
    is_kind = is_kind * (mask[:, :, None] & mask[:, None])[..., None]  # [B, N, N, kinds]
    share = torch.einsum("blcij,bijk->lck", attention, is_kind)
    even = is_kind.sum(dim=2) / mask.sum(dim=1).clamp(min=1)[:, None, None]
    return share / mask.sum(), even.sum(dim=(0, 1)) / mask.sum()


def gradient_times_input(model: nn.Module, batch: GraphBatch, *, from_mean: bool = False) -> Tensor:
    r"""What a node's vector adds to the prediction, to first order: ``[B, N]``.

    .. math:: \Big\langle \frac{\partial \hat y}{\partial h_i^{(0)}},\, h_i^{(0)} \Big\rangle

    of the vectors :math:`h^{(0)}` that enter the first layer, against a vector of zeros. With
    ``from_mean`` against the mean over the graph's nodes instead: a LayerNorm does not see how long
    a vector is, so that the gradient along the vector itself says little.
    """
    inputs = []

    def record(layer: nn.Module, arguments: tuple) -> tuple:
        inputs.append(arguments[0].detach().requires_grad_())
        return (inputs[0], *arguments[1:])

    with layers_of(model)[0].register_forward_pre_hook(record):
        prediction = model(batch)
    (gradient,) = torch.autograd.grad(prediction.sum(), inputs)
    N = batch.mask.shape[1]
    h, gradient = inputs[0].detach()[:, -N:], gradient[:, -N:]  # behind the virtual nodes
    if from_mean:
        h = h - mean_pool(h, batch.mask)[:, None]
    return (gradient * h).sum(dim=-1) * batch.mask


def attention_times_gradient(model: nn.Module, batch: GraphBatch) -> Tensor:
    r"""Each attention weight times the derivative of the prediction by it: ``[B, L, C, T, T]``.

    .. math:: a_{ij}\, \frac{\partial \hat y}{\partial a_{ij}} = a_{ij}\,
              \Big\langle \frac{\partial \hat y}{\partial z_i},\, v_j \Big\rangle

    in plain attention: a weight counts only if what it carries moves the prediction. The weights
    are taken as free, as if a row did not have to sum to one. A gate behind the softmax (EGT) and
    what pairs add to the value (GRPE, CSA) are in the derivative.
    """
    with _Softmaxes() as softmaxes:
        prediction, _ = model(batch, return_attention=True)
    gradients = torch.autograd.grad(prediction.sum(), softmaxes.found)
    products = [a.detach() * g for a, g in zip(softmaxes.found, gradients, strict=True)]
    return torch.stack([p.flatten(1, -3) for p in products], dim=1)  # of CSA [B, H, K, N, N]


@torch.no_grad()
def leave_one_out(model: nn.Module, batch: GraphBatch) -> Tensor:
    """The prediction less that without the node: ``[B, N]``.

    The node and its edges become padding. The others keep their encodings (distances, walks, …).
    """
    prediction = model(batch)
    change = prediction.new_zeros(batch.mask.shape)
    nodes = torch.arange(batch.mask.shape[1], device=batch.mask.device)
    for i in batch.mask.any(dim=0).nonzero()[:, 0].tolist():
        graphs = batch.mask[:, i].nonzero().squeeze(1)
        some, others = batch.select(graphs), nodes != i
        adjacency = some.adjacency & others & others[:, None]
        without = replace(some, mask=some.mask & others, adjacency=adjacency)
        change[graphs, i] = prediction[graphs] - model(without)
    return change


@contextmanager
def ablated(model: nn.Module, heads: Iterable[tuple[int, int]]) -> Iterator[nn.Module]:
    """The model with some heads silent: what they have gathered is zero before it is mixed.

    ``with ablated(model, [(0, 3)]): ...`` silences head 3 of the first layer: its K channels are
    zero where they enter the projection W_O, whose bias stays.
    """
    with ExitStack() as hooks:
        for layer, head in heads:
            attention = layers_of(model)[layer].attention
            silent = torch.arange(attention.num_heads)[:, None] == head

            def silence(_, arguments: tuple[Tensor], silent=silent) -> Tensor:
                z = arguments[0].unflatten(-1, (len(silent), -1))
                return z.masked_fill(silent.to(z.device), 0.0).flatten(-2)

            hooks.enter_context(attention.output.register_forward_pre_hook(silence))
        yield model


def layers_of(model: nn.Module) -> nn.ModuleList:
    """The attention layers of a Transformer of the course, first to last."""
    return model.layers if hasattr(model, "layers") else model.encoder.layers


class _Softmaxes(TorchFunctionMode):
    """Records every softmax: what a model returns may be a copy, without a derivative."""

    def __init__(self):
        super().__init__()
        self.found: list[Tensor] = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if func is Tensor.softmax:
            self.found.append(result)
        return result


def _divided_by_sum(weights: Tensor) -> Tensor:
    total = weights.sum(dim=-1, keepdim=True)
    return weights / total.clamp(min=torch.finfo(total.dtype).tiny)


def _entropy(p: Tensor) -> Tensor:
    return -torch.special.xlogy(p, p).sum(dim=-1)
