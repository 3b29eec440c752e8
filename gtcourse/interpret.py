"""What attention looks at, and what a prediction depends on.

Attention maps show which tokens a model reads. Gradients and ablations measure how much its
prediction depends on them. All functions here work on every Transformer of this package. Gradients,
and :func:`leave_one_out`, need a model that predicts one number for each graph. They put it in
evaluation mode and restore its mode afterwards.

Shapes:
    B: graphs in a batch
    L: layers
    H: attention heads, or CSA's channels
    N: nodes of the largest graph; smaller graphs are padded
    V: virtual nodes, which come before the nodes; 1 in Graphormer and GRPE
    T: tokens, V + N

Unless a docstring says otherwise, ``attention`` is ``[B, L, H, T, T]`` and ``mask`` is ``[B, T]``,
True at real tokens. In a row of attention are the weights that one token, the query, gives to all
tokens. ``batch.mask`` and results for nodes are ``[B, N]``, with zeros at padding.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from operator import index
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from gtcourse.graphs.arguments import check_bools, number, whole_number
from gtcourse.graphs.batch import UNREACHABLE, GraphBatch, clipped, has_lowered_distances
from gtcourse.graphs.check import check_batch
from gtcourse.messages import shown
from gtcourse.models.attention import AttentionProjections
from gtcourse.models.bag import mean_pool
from gtcourse.models.egt import EGTAttention
from gtcourse.train.loop import evaluating
from gtcourse.train.tasks import check_gradients


def token_mask(mask: Tensor, virtual_nodes: int) -> Tensor:
    """Puts V virtual nodes, which are always real, before a mask of nodes.

    Args:
        mask: True at real nodes, ``[B, N]``.
        virtual_nodes: V.

    Returns:
        True at real tokens, ``[B, V + N]``.

    Raises:
        ValueError: ``mask`` is no such tensor, or V is no whole number, 0 or more.
    """
    virtual_nodes = whole_number("virtual_nodes", virtual_nodes, 0)
    check_node_mask(mask)
    return F.pad(mask, (virtual_nodes, 0), value=True)


def between_nodes(attention: Tensor, virtual_nodes: int) -> Tensor:
    """Cuts the virtual nodes off attention, so that rows and columns are those of the nodes.

    What a node attends to virtual nodes is cut off as well. Its row then sums to less than one;
    :func:`probabilities` divides it by its sum.

    Args:
        attention: ``[..., T, T]``.
        virtual_nodes: V.

    Returns:
        The attention between the nodes, ``[..., N, N]``, as a view of the tensor given.

    Raises:
        ValueError: ``attention`` is no such tensor, or V is no whole number from 0 to T - 1.
    """
    virtual_nodes = whole_number("virtual_nodes", virtual_nodes, 0)
    _check_tensors(attention=attention)
    if attention.dim() < 2 or attention.shape[-1] != attention.shape[-2]:
        raise ValueError(f"attention has shape {list(attention.shape)}; expected [..., T, T].")
    tokens = attention.shape[-1]
    if virtual_nodes >= tokens:
        raise ValueError(
            f"virtual_nodes is {virtual_nodes}, and there are {tokens} tokens; expected fewer "
            "virtual nodes than tokens."
        )
    return attention[..., virtual_nodes:, virtual_nodes:]


def probabilities(attention: Tensor, mask: Tensor) -> Tensor:
    """Divides each row of attention by its sum over the real tokens.

    Rows of real tokens then sum to one, except rows of zeros, which stay zero. Rows and columns of
    padding are zero. EGT's gates make the sum of a row smaller than one. The size of that sum,
    which says how far the gates of a head are open, is lost.

    Args:
        attention: Weights that are not negative, ``[B, ..., T, T]``.
        mask: True at real tokens, ``[B, T]``.

    Returns:
        The divided weights, in the shape of ``attention``.

    Raises:
        ValueError: A weight of a real token is negative or NaN, or the mask is not that of the
            tokens. If there are virtual nodes, a mask of the nodes alone is too short
            (:func:`token_mask`).
    """
    check_mask(attention, mask, "B, ..., T, T")
    pairs = mask[:, :, None] & mask[:, None]
    pairs = pairs.view(len(mask), *[1] * (attention.dim() - 3), *pairs.shape[1:])
    weights = attention.masked_fill(~pairs, 0)
    if not (weights >= 0).all():  # NaN is not 0 or more either
        raise ValueError(
            f"attention has the weight {weights.min():.3g}; expected the weights that a model "
            "returns, 0 or more, and not its logits."
        )
    return _divided_by_sum(weights)


def attention_entropy(attention: Tensor, mask: Tensor, *, share: bool = False) -> Tensor:
    """How widely each token spreads its attention: the entropy of its row, in nats.

    Args:
        attention: Attention of all layers, ``[B, L, H, T, T]``.
        mask: True at real tokens, ``[B, T]``.
        share: Divide the entropy by log n, which is the entropy of even attention over the n tokens
            of a graph. The result is then 1 for even attention. It is 0 if one token gets all of
            the attention, and for a graph of one token.

    Returns:
        One entropy for each real token of all graphs, ``[tokens, L, H]``.

    Raises:
        ValueError: Attention and mask do not fit together, or ``share`` is neither True nor False.
    """
    check_mask(attention, mask)
    check_bools(share=share)
    entropy = _entropy(probabilities(attention, mask))  # [B, L, H, T]
    if share:
        n = mask.sum(dim=1).clamp(min=2)  # [B]; log 1 is zero, as is the entropy of a single token
        largest = n.to(entropy.dtype).log()  # [B]
        entropy = entropy / largest[:, None, None, None]
    return entropy.permute(0, 3, 1, 2)[mask]


def head_similarity(one: Tensor, other: Tensor, mask: Tensor) -> Tensor:
    r"""How similar the heads of two layers are: one minus the mean Jensen-Shannon distance.

    A row p of one head and the row q of the same token in another head have the similarity

    .. math:: 1 - \sqrt{\operatorname{H}(m) - \tfrac12 \operatorname{H}(p) - \tfrac12
              \operatorname{H}(q)} , \qquad m = \tfrac12 (p + q),

    where :math:`\operatorname{H}` is the Shannon entropy in bits. It is 1 if the rows are equal,
    and 0 if they have no token in common. The root is the Jensen-Shannon distance, which is a
    metric. The similarity of two heads is the mean over all real tokens.

    Args:
        one: The attention of a layer, ``[B, H, T, T]``.
        other: The attention of another layer for the same graphs, ``[B, H', T, T]``; it may be that
            of another model.
        mask: True at real tokens, ``[B, T]``.

    Returns:
        The similarity of each head of one layer to each head of the other, ``[H, H']``.

    Raises:
        ValueError: Attention and mask do not fit together.
    """
    for heads in (one, other):
        check_mask(heads, mask, "B, H, T, T")
    p = probabilities(one, mask).transpose(1, 2)[mask]  # [tokens, H, T]
    q = probabilities(other, mask).transpose(1, 2)[mask]  # [tokens, H', T]
    rows = []
    for head in p.split(1, dim=1):  # [tokens, 1, T]; all pairs of heads would be a large tensor
        divergence = _entropy((head + q) / 2) - (_entropy(head) + _entropy(q)) / 2
        distance = (divergence / math.log(2)).clamp(0, 1).sqrt()  # [tokens, H']
        rows.append(1 - distance.mean(dim=0))
    return torch.stack(rows)


def attention_rollout(attention: Tensor, mask: Tensor, *, residual: float = 0.5) -> Tensor:
    r"""How much of each token's input reaches each token's output through attention alone.

    .. math:: \hat A^{(l)} = (1 - r)\, \bar A^{(l)} + r\, I, \qquad
              R = \hat A^{(L)} \cdots \hat A^{(1)}

    (Abnar & Zuidema, 2020.) :math:`\bar A` is the mean over the heads, with each row divided by its
    sum. The method ignores values, norms and feed-forward networks.

    Args:
        attention: Attention of all layers, ``[B, L, H, T, T]``.
        mask: True at real tokens, ``[B, T]``.
        residual: r, the share of the residual connection, from 0 to 1.

    Returns:
        R, ``[B, T, T]``. Row i has the share of each token's input in the output of token i. Rows
        of real tokens sum to one, and rows of padding are zero.

    Raises:
        ValueError: Attention and mask do not fit together, or r is not from 0 to 1.
    """
    check_mask(attention, mask)
    residual = number("residual", residual, 0, 1)
    layers = probabilities(attention.mean(dim=2), mask)  # [B, L, T, T]
    identity = torch.diag_embed(mask.to(layers.dtype))  # [B, T, T], zeros at padding
    product = identity
    for layer in layers.unbind(dim=1):
        product = ((1 - residual) * layer + residual * identity) @ product
    return product


def read_by_graph(tokens: Tensor, mask: Tensor, virtual_nodes: int = 0) -> Tensor:
    """The share of each node in what the readout of a graph reads.

    The readout reads the virtual nodes if there are any, or else the mean of all nodes. Part of a
    virtual node's output comes from its own input, so that the shares of the nodes then sum to less
    than one.

    Args:
        tokens: The share of each token's input in each token's output, ``[B, T, T]``, such as
            :func:`attention_rollout` returns.
        mask: True at real nodes, ``[B, N]``.
        virtual_nodes: V.

    Returns:
        The share of each node, ``[B, N]``, zero at padding.

    Raises:
        ValueError: T is not V + N, or an argument is of the wrong type.
    """
    virtual_nodes = whole_number("virtual_nodes", virtual_nodes, 0)
    _check_tensors(tokens=tokens)
    check_node_mask(mask)
    B, N = mask.shape
    T = virtual_nodes + N
    if tokens.shape != (B, T, T):
        raise ValueError(
            f"tokens is {list(tokens.shape)} for {virtual_nodes} virtual nodes and a mask of {N} "
            f"nodes; expected [{B}, {T}, {T}]."
        )
    if virtual_nodes > 0:
        return tokens[:, :virtual_nodes, virtual_nodes:].mean(dim=1) * mask
    num_nodes = mask.sum(dim=1, keepdim=True)  # [B, 1]
    return (tokens * mask[:, :, None]).sum(dim=1) / num_nodes * mask


def attention_by_hop(attention: Tensor, distance: Tensor, mask: Tensor, hops: int) -> Tensor:
    """The share of each node's attention that goes to nodes at each distance.

    First, the weights of all heads are added, so that a head with closed gates counts for little.
    Then the weights of a node are divided by their sum. A node that has no attention in one of the
    layers is left out.

    Args:
        attention: Attention between nodes (:func:`between_nodes`), ``[B, L, H, N, N]``.
        distance: The encoding "distance", ``[B, N, N]``, exact up to ``hops``.
        mask: True at real nodes, ``[B, N]``.
        hops: The largest distance that has a column of its own.

    Returns:
        One row for each node and layer, ``[nodes, L, hops + 2]``. Column k, from 0 to ``hops``, has
        the share of the nodes at distance k. The last column has that of all nodes that are farther
        away or cannot be reached.

    Raises:
        ValueError: ``hops`` is no whole number, 0 or more, or attention, distances and mask do not
            fit together.
    """
    hops = whole_number("hops", hops, 0)
    check_mask(attention, mask)
    _check_pairs("distance", distance, mask)
    weights = attention.sum(dim=2) * mask[:, None, None]  # [B, L, N, N]
    share = _divided_by_sum(weights)
    hop = clipped(distance, hops + 1)[:, None].expand_as(share)  # [B, L, N, N]
    by_hop = share.new_zeros(*share.shape[:-1], hops + 2)  # [B, L, N, hops + 2]
    by_hop = by_hop.scatter_add(-1, hop, share)
    attends = mask & (weights.sum(dim=-1) > 0).all(dim=1)  # [B, N]
    return by_hop.transpose(1, 2)[attends]


KINDS = ("itself", "neighbours", "same ring", "near", "far")
"""A node and itself, two neighbours, two nodes on a ring, and the other pairs by distance."""

ITSELF, NEIGHBOURS, SAME_RING, NEAR, FAR = range(len(KINDS))


def pair_kinds(batch: GraphBatch, near: int = 3) -> Tensor:
    """The kind of each pair of nodes.

    Two neighbours on a common ring count as neighbours.

    Args:
        batch: A batch with the encodings "distance" and "ring".
        near: Two nodes are near if they are at most so many hops apart, and far otherwise.

    Returns:
        The place of each pair's kind in ``KINDS``, ``[B, N, N]``. It has no meaning at padding.

    Raises:
        ValueError: The batch lacks an encoding, its distances are lowered to ``near`` or less, or
            ``near`` is no whole number above 0.
    """
    check_batch(batch, "pair_kinds")
    near = whole_number("near", near, 1)
    distance = batch.encoding("distance")
    largest = distance.amax(dim=(1, 2))  # [B]
    is_wrong = has_lowered_distances(distance, batch.adjacency) & (largest <= near)  # [B]
    if is_wrong.any():
        raise ValueError(
            f"distances are lowered to {int(largest[is_wrong].max())} or less, and nodes up to "
            f"{near} hops apart are near; expected exact distances, as AddShortestPaths() computes."
        )
    is_far = (distance > near) | (distance == UNREACHABLE)
    kind = torch.where(is_far, FAR, NEAR)
    kind = kind.masked_fill(batch.encoding("ring").bool(), SAME_RING)
    kind = kind.masked_fill(distance == 1, NEIGHBOURS)
    return kind.masked_fill(distance == 0, ITSELF)


def attention_by_kind(attention: Tensor, kind: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """The share of attention that goes to each kind of pair, beside the share in even attention.

    Args:
        attention: Attention between nodes, in which the row of each node sums to one,
            ``[B, L, H, N, N]``. :func:`probabilities` makes such rows of EGT's attention, and of
            attention from which virtual nodes were cut off.
        kind: The result of :func:`pair_kinds`, ``[B, N, N]``.
        mask: True at real nodes, ``[B, N]``.

    Returns:
        The shares of each head or channel, ``[L, H, kinds]``, and those of attention with the same
        weight for all nodes, ``[kinds]``. Both are means over the real nodes of all graphs.

    Raises:
        ValueError: A row of a node does not sum to one, a kind is none of ``KINDS``, or attention,
            kinds and mask do not fit together.
    """
    check_mask(attention, mask)
    _check_pairs("kind", kind, mask)
    sums = attention.sum(dim=-1).movedim(-1, 1)[mask]  # [nodes, L, H]
    if not torch.allclose(sums, torch.ones_like(sums), atol=1e-3):
        lowest, highest = sums.aminmax()
        raise ValueError(
            f"the rows of attention have sums from {lowest:.3g} to {highest:.3g}; expected sums of "
            "1, as probabilities(attention, mask) returns."
        )
    pairs = mask[:, :, None] & mask[:, None]  # [B, N, N]
    kind = kind.masked_fill(~pairs, 0)
    first, last = (int(each) for each in kind.aminmax())
    if first < 0 or last >= len(KINDS):
        raise ValueError(
            f"kind has values from {first} to {last}; expected 0 to {len(KINDS) - 1}, as "
            "pair_kinds(batch) returns."
        )
    is_kind = F.one_hot(kind, len(KINDS)).to(attention.dtype) * pairs[..., None]  # [B, N, N, kinds]
    share = torch.einsum("blhij,bijk->lhk", attention, is_kind)
    num_nodes = mask.sum(dim=1).clamp(min=1)[:, None, None]  # [B, 1, 1]
    even = is_kind.sum(dim=2) / num_nodes  # [B, N, kinds]
    return share / mask.sum(), even.sum(dim=(0, 1)) / mask.sum()


def gradient_times_input(model: nn.Module, batch: GraphBatch, *, from_mean: bool = False) -> Tensor:
    r"""The effect of each node's vector on the prediction, to first order.

    .. math:: \Big\langle \frac{\partial \hat y}{\partial h_i^{(0)}},\, h_i^{(0)} - c \Big\rangle

    :math:`h_i^{(0)}` is the vector of node i that enters the first layer, and c is the vector that
    it is compared with, by default zeros. Layer norm does not depend on the length of a vector, so
    the gradient along the vector itself is small even for a node that matters. With ``from_mean`` c
    is therefore the mean over the nodes of the graph.

    Args:
        model: A Transformer of this package that predicts one number for each graph.
        batch: The graphs, with the encodings that the model reads.
        from_mean: Compare with the mean over the nodes instead of zeros.

    Returns:
        The effect of each node in the unit of the prediction, ``[B, N]``, zero at padding.

    Raises:
        ValueError: The model does not predict one number for each graph, or is no Transformer, or
            PyTorch's inference mode is on.
    """
    check_bools(from_mean=from_mean)
    inputs: list[Tensor] = []
    with _gradients_of(model, batch, inputs):
        # With return_attention no fused kernel is used, which would call no layer.
        prediction, _ = model(batch, return_attention=True)
        total = one_number(prediction, batch).sum()
    (gradient,) = torch.autograd.grad(total, inputs)
    N = batch.mask.shape[1]
    h = inputs[0].detach()[:, -N:]  # [B, N, d], without the virtual nodes
    gradient = gradient[:, -N:]  # [B, N, d]
    if from_mean:
        h = h - mean_pool(h, batch.mask)[:, None]
    return (gradient * h).sum(dim=-1) * batch.mask


def attention_times_gradient(model: nn.Module, batch: GraphBatch) -> Tensor:
    r"""Each attention weight times the derivative of the prediction with respect to it.

    In plain attention this is

    .. math:: a_{ij}\, \frac{\partial \hat y}{\partial a_{ij}} = a_{ij}\,
              \Big\langle \frac{\partial \hat y}{\partial z_i},\, v_j \Big\rangle .

    A weight counts only if the value that it multiplies changes the prediction. Each weight is
    varied on its own, although a row of weights sums to one. The derivative includes the gate after
    the softmax (EGT) and what a pair adds to the value (GRPE, CSA).

    Args:
        model: A Transformer of this package that predicts one number for each graph.
        batch: The graphs, with the encodings that the model reads.

    Returns:
        The products in the unit of the prediction, ``[B, L, H, T, T]``.

    Raises:
        ValueError: The model does not predict one number for each graph, or is no Transformer, or
            PyTorch's inference mode is on.
    """
    with _gradients_of(model, batch, []), _Softmaxes() as softmaxes:
        prediction, _ = model(batch, return_attention=True)
        total = one_number(prediction, batch).sum()
    gradients = torch.autograd.grad(total, softmaxes.found)
    products = []
    for attention, gradient in zip(softmaxes.found, gradients, strict=True):
        product = attention.detach() * gradient
        # CSA has two axes for its channels: the heads, and the channels of each head.
        products.append(product.flatten(1, -3))  # [B, H, T, T]
    return torch.stack(products, dim=1)


@contextmanager
def _gradients_of(model: nn.Module, batch: GraphBatch, inputs: list[Tensor]) -> Iterator[None]:
    """A context for gradients of a prediction, with the model in evaluation mode.

    The vectors that enter the first layer are added to ``inputs``, as leaves that need a gradient.
    What is computed from them has one even if no weight of the model is trained.

    Raises:
        ValueError: The model is no Transformer, or PyTorch's inference mode is on, or was when the
            model or the batch was made.
    """
    layers = layers_of(model)
    check_gradients([*model.parameters(), batch.x, *batch.encodings.values()])

    def record(layer: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        inputs.append(arguments[0].detach().requires_grad_())
        return (inputs[0], *arguments[1:])

    with torch.enable_grad(), evaluating(model), layers[0].register_forward_pre_hook(record):
        yield


@torch.no_grad()
def leave_one_out(model: nn.Module, batch: GraphBatch) -> Tensor:
    """How much the prediction changes if a node is left out, for each node.

    The node and its edges become padding. The other nodes keep their encodings, such as distances
    and walks, which are still those of the complete graph.

    Args:
        model: A model of this package that predicts one number for each graph.
        batch: The graphs, with the encodings that the model reads.

    Returns:
        The prediction minus the prediction without the node, ``[B, N]``, zero at padding. The only
        node of a graph gets the prediction minus that for a graph without nodes.

    Raises:
        ValueError: The model does not predict one number for each graph, or is no model of PyTorch.
    """
    if not isinstance(model, nn.Module):
        raise ValueError(
            f"model is of type {type(model).__name__}; expected a model, such as "
            "load('csa/zinc').model."
        )
    with evaluating(model):
        return _changes_without_a_node(model, batch)


def _changes_without_a_node(model: nn.Module, batch: GraphBatch) -> Tensor:
    prediction = one_number(model(batch), batch)
    change = prediction.new_zeros(batch.mask.shape)
    nodes = torch.arange(batch.mask.shape[1], device=batch.mask.device)
    for i in batch.mask.any(dim=0).nonzero()[:, 0].tolist():
        graphs = batch.mask[:, i].nonzero().squeeze(1)  # those that have so many nodes
        some = batch.select(graphs)
        others = nodes != i
        adjacency = some.adjacency & others & others[:, None]
        without = replace(some, mask=some.mask & others, adjacency=adjacency)
        change[graphs, i] = prediction[graphs] - model(without)
    return change


@contextmanager
def ablated(model: nn.Module, heads: Iterable[Iterable[int]] | Tensor) -> Iterator[nn.Module]:
    """A context in which some heads of a model have no effect.

    Inside ``with ablated(model, [(0, 3)]):``, head 3 of the first layer is switched off: its K
    channels are zero where they enter the output projection W_O. The bias of W_O stays.

    Args:
        model: A Transformer of this package.
        heads: The layer and the head of each, counted from 0, as pairs or as the rows of an array
            or a tensor ``[heads, 2]``.

    Yields:
        The model itself. All its heads work again when the context ends.

    Raises:
        ValueError: There is no such layer or head, ``heads`` holds no such pairs, or the model is
            no Transformer.
    """
    layers = layers_of(model)
    with ExitStack() as hooks:
        for layer, head in _as_pairs(heads):
            if layer not in range(len(layers)):
                raise ValueError(f"there is no layer {layer}; expected 0 to {len(layers) - 1}.")
            attention = cast(AttentionProjections | EGTAttention, layers[layer].attention)
            if head not in range(attention.num_heads):
                raise ValueError(
                    f"there is no head {head}; expected 0 to {attention.num_heads - 1}."
                )
            if attention.output is None:  # of EGT, where only edges are predicted
                raise ValueError(
                    f"layer {layer} of {type(model).__name__} updates no nodes; expected a layer "
                    "before it."
                )
            silenced = partial(without_head, head=head, num_heads=attention.num_heads)
            hooks.enter_context(attention.output.register_forward_pre_hook(silenced))
        yield model


def _as_pairs(heads: Iterable[Iterable[int]] | Tensor) -> list[tuple[int, int]]:
    """The layer and the head of each pair as Python's integers; a ValueError for other values."""
    try:
        return [(index(layer), index(head)) for layer, head in heads]
    except (TypeError, ValueError):  # no whole numbers, or not two of them
        raise ValueError(
            f"heads is {shown(heads)}; expected pairs of a layer and a head, such as [(0, 3)]."
        ) from None


def without_head(
    output: nn.Module, arguments: tuple[Tensor], *, head: int, num_heads: int
) -> Tensor:
    """A forward pre-hook of an output projection that sets the channels of one head to zero."""
    z = arguments[0].unflatten(-1, (num_heads, -1))  # [..., H, K]
    is_silent = torch.arange(num_heads, device=z.device)[:, None] == head  # [H, 1]
    return z.masked_fill(is_silent, 0.0).flatten(-2)


def layers_of(model: nn.Module) -> nn.ModuleList:
    """The layers of a Transformer of this package, first to last.

    Raises:
        ValueError: The model has no layers of attention between all nodes. A GIN has none.
    """
    owner = model if hasattr(model, "layers") else getattr(model, "encoder", None)
    layers = getattr(owner, "layers", None)
    attentions = [getattr(layer, "attention", None) for layer in layers or ()]
    if not attentions or not all(hasattr(each, "num_heads") for each in attentions):
        raise ValueError(
            f"{type(model).__name__} has no layers of attention between all nodes; expected a "
            "Transformer, such as Graphormer, EGT, GRPE or CGT."
        )
    return cast(nn.ModuleList, layers)


def one_number(prediction: Tensor, batch: GraphBatch) -> Tensor:
    """Returns a prediction ``[B]`` as it is; a ValueError for one of another shape."""
    if prediction.shape != (batch.num_graphs,):
        raise ValueError(
            f"the model predicts {list(prediction.shape)}; expected [{batch.num_graphs}], one "
            "number for each graph."
        )
    return prediction


def check_node_mask(mask: Tensor) -> None:
    """Raises a ValueError unless this is a mask of nodes, ``[B, N]``."""
    _check_tensors(mask=mask)
    if mask.dim() != 2 or mask.dtype != torch.bool:
        raise ValueError(f"mask is {mask.dtype} {list(mask.shape)}; expected torch.bool [B, N].")


def check_mask(attention: Tensor, mask: Tensor, axes: str = "B, L, H, T, T") -> None:
    """Raises a ValueError unless attention and the mask of its tokens fit together.

    Args:
        attention: What should have these axes.
        mask: What should be True at real tokens, ``[B, T]``.
        axes: The axes of the attention; ``...`` stands for any number of them.
    """
    _check_tensors(attention=attention, mask=mask)
    if mask.dtype != torch.bool:
        raise ValueError(f"mask is {mask.dtype}; expected torch.bool, True at real tokens.")
    has_axes = attention.dim() == len(axes.split(", ")) or ("..." in axes and attention.dim() > 2)
    fits = False
    if has_axes:  # three or more
        B, tokens = attention.shape[0], attention.shape[-1]
        fits = mask.shape == (B, tokens) and attention.shape[-2] == tokens
    if not fits:
        raise ValueError(
            f"attention has shape {list(attention.shape)} and mask {list(mask.shape)}; expected "
            f"[{axes}] and [B, T]: see token_mask and between_nodes for virtual nodes."
        )


def _check_tensors(**arguments: object) -> None:
    """Raises a ValueError for the first argument that is no tensor, such as an array."""
    for name, given in arguments.items():
        if not isinstance(given, Tensor):
            raise ValueError(f"{name} is of type {type(given).__name__}; expected a tensor.")


def _check_pairs(name: str, values: Tensor, mask: Tensor) -> None:
    """Raises a ValueError unless there is one integer for each pair of nodes of the mask."""
    _check_tensors(**{name: values})
    B, N = mask.shape
    if values.shape != (B, N, N) or values.dtype != torch.int64:
        raise ValueError(
            f"{name} is {values.dtype} {list(values.shape)}; expected torch.int64 [{B}, {N}, {N}]."
        )


class _Softmaxes(TorchFunctionMode):
    """A context that records the result of every softmax that has a gradient.

    The attention that a model returns may be a copy. The prediction is not computed from a copy and
    has no derivative with respect to it. CSA also computes some softmaxes without gradients, which
    are not recorded.
    """

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Tensor] = []

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if func is Tensor.softmax and torch.is_grad_enabled():
            self.found.append(result)
        return result


def _divided_by_sum(weights: Tensor) -> Tensor:
    total = weights.sum(dim=-1, keepdim=True)
    return weights / total.clamp(min=torch.finfo(total.dtype).tiny)


def _entropy(p: Tensor) -> Tensor:
    return -torch.special.xlogy(p, p).sum(dim=-1)
