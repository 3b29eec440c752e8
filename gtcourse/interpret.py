"""What attention looks at, and what a prediction depends on.

Attention maps show what a model could use; gradients and ablations measure what it does use. They
work on every Transformer of this package, gradients and ablations where it predicts one number for
each graph. Gradients and :func:`leave_one_out` put the model in evaluation mode and restore its
mode afterwards.

Shapes:
    B: graphs in a batch
    L: layers
    H: attention heads, or CSA's channels
    N: nodes of the largest graph; smaller graphs are padded
    V: virtual nodes, which come before the nodes; 1 in Graphormer and GRPE
    T: tokens, V + N

Unless a docstring says otherwise, ``attention`` is ``[B, L, H, T, T]`` and ``mask`` is ``[B, T]``,
True at real tokens. ``batch.mask`` and results for nodes are ``[B, N]``, with zeros at padding.
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

from gtcourse.graphs.batch import UNREACHABLE, GraphBatch, clipped
from gtcourse.graphs.check import check_batch, whole_number
from gtcourse.models.attention import AttentionProjections
from gtcourse.models.bag import mean_pool
from gtcourse.models.egt import EGTAttention
from gtcourse.train.loop import evaluating


def token_mask(mask: Tensor, virtual_nodes: int) -> Tensor:
    """The mask of all tokens, ``[B, V + N]``, from that of the nodes, ``[B, N]``."""
    virtual_nodes = whole_number("virtual_nodes", virtual_nodes, 0)
    _check_tensors(mask=mask)
    return F.pad(mask, (virtual_nodes, 0), value=True)


def between_nodes(attention: Tensor, virtual_nodes: int) -> Tensor:
    """Attention without the virtual nodes, ``[..., N, N]``; its rows sum to less than one."""
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
    """The weights of each real token on real tokens, divided by their sum; zeros where it is zero.

    The gated rows of EGT do not sum to one. Their sum, how far the gates of a head are open, is
    lost here. ``attention`` is ``[B, ..., T, T]``, not negative.

    Raises:
        ValueError: The mask is not that of the tokens, such as that of the nodes where there are
            virtual nodes.
    """
    check_mask(attention, mask, "B, ..., T, T")
    pairs = mask[:, :, None] & mask[:, None]
    weights = attention * pairs.view(len(mask), *[1] * (attention.dim() - 3), *pairs.shape[1:])
    return _divided_by_sum(weights)


def attention_entropy(attention: Tensor, mask: Tensor, *, share: bool = False) -> Tensor:
    """How widely each token spreads its attention: the entropy of its row, in nats.

    Returns ``[tokens, L, H]``, for the real tokens of all graphs. With ``share`` the entropy is
    divided by log n, that of even attention over the n tokens of a graph. It is then 1 for even
    attention, and 0 where one token gets all of it or is the only one.
    """
    check_mask(attention, mask)
    entropy = _entropy(probabilities(attention, mask))  # [B, L, H, T]
    if share:
        n = mask.sum(dim=1).clamp(min=2)  # [B]; log 1 is zero, as is the entropy of a single token
        largest = n.to(entropy.dtype).log()  # [B]
        entropy = entropy / largest[:, None, None, None]
    return entropy.permute(0, 3, 1, 2)[mask]


def head_similarity(one: Tensor, other: Tensor, mask: Tensor) -> Tensor:
    r"""How alike two sets of heads look: 1 less the Jensen-Shannon distance, mean over tokens.

    With :math:`m = (p + q) / 2` of two rows p and q and the Shannon entropy in bits,

    .. math:: 1 - \sqrt{\operatorname{H}(m) - \tfrac12 \operatorname{H}(p) - \tfrac12
              \operatorname{H}(q)} ,

    which is 1 for two equal rows, and 0 for two that attend to no common token. The root is a
    metric. The two sets are layers of any models, ``[B, H, T, T]`` and ``[B, H', T, T]``. Returns
    ``[H, H']``.
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
    r"""The share of each token's input in each token's output, if there were only attention.

    .. math:: \hat A^{(l)} = (1 - r)\, \bar A^{(l)} + r\, I, \qquad
              R = \hat A^{(L)} \cdots \hat A^{(1)}

    (Abnar & Zuidema, 2020.) :math:`\bar A` is the mean over the heads, with rows that are divided
    by their sum, and r, from 0 to 1, is the share of the residual connection. Returns
    ``[B, T, T]``; the rows of real tokens sum to one, those of padding are zeros.
    """
    check_mask(attention, mask)
    if not isinstance(residual, int | float) or not 0 <= residual <= 1:
        raise ValueError(f"residual is {residual!r}; expected a share from 0 to 1.")
    layers = probabilities(attention.mean(dim=2), mask)  # [B, L, T, T]
    identity = torch.diag_embed(mask.to(layers.dtype))  # [B, T, T], zeros at padding
    product = identity
    for layer in layers.unbind(dim=1):
        product = ((1 - residual) * layer + residual * identity) @ product
    return product


def read_by_graph(tokens: Tensor, mask: Tensor, virtual_nodes: int = 0) -> Tensor:
    """The share of each node in the prediction, ``[B, N]``, from its share in each token.

    It is the mean over the virtual nodes where there are any, or else over all nodes. Virtual nodes
    have a share in themselves, so that the sum over the nodes is then less than one.

    Args:
        tokens: The share of each token in each token, ``[B, T, T]``, such as
            :func:`attention_rollout` returns.
        mask: True at real nodes, ``[B, N]``.
        virtual_nodes: V.

    Raises:
        ValueError: The tokens are not V virtual nodes and the nodes of the mask.
    """
    virtual_nodes = whole_number("virtual_nodes", virtual_nodes, 0)
    _check_tensors(tokens=tokens, mask=mask)
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
    """The share of a node's attention that goes to the nodes k hops away.

    The weights of all heads are added, so that a head whose gates are closed counts for little, and
    those of a node are then divided by their sum. A node without attention in one of the layers is
    left out.

    Args:
        attention: Without the virtual nodes (:func:`between_nodes`), ``[B, L, H, N, N]``.
        distance: The encoding "distance", ``[B, N, N]``.
        mask: True at real nodes, ``[B, N]``.
        hops: The largest k.

    Returns:
        ``[nodes, L, hops + 2]``, for k from 0 to ``hops`` and for all nodes that are farther away
        or cannot be reached.

    Raises:
        ValueError: ``hops`` is negative, or the attention or the distances are not those between
            the nodes.
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
"""A node itself, its neighbours, others on a common ring with it, and the rest by distance."""

ITSELF, NEIGHBOURS, SAME_RING, NEAR, FAR = range(len(KINDS))


def pair_kinds(batch: GraphBatch, near: int = 3) -> Tensor:
    """The kind of each pair, ``[B, N, N]``, as its place in ``KINDS``.

    Reads the encodings "distance" and "ring". Nodes up to ``near`` apart are near, others far.
    """
    check_batch(batch, "pair_kinds")
    near = whole_number("near", near, 1)
    distance = batch.encoding("distance")
    is_far = (distance > near) | (distance == UNREACHABLE)
    kind = torch.where(is_far, FAR, NEAR)
    kind = kind.masked_fill(batch.encoding("ring").bool(), SAME_RING)
    kind = kind.masked_fill(distance == 1, NEIGHBOURS)
    return kind.masked_fill(distance == 0, ITSELF)


def attention_by_kind(attention: Tensor, kind: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """The share of attention that goes to each kind of pair, and that of even attention.

    Args:
        attention: With rows that sum to 1, ``[B, L, H, N, N]``.
        kind: The result of :func:`pair_kinds`, ``[B, N, N]``.
        mask: True at real nodes, ``[B, N]``.

    Returns:
        The shares of each head or channel, ``[L, H, kinds]``, and those of attention that is the
        same for all nodes, ``[kinds]``; both are means over the real nodes.

    Raises:
        ValueError: The rows do not sum to 1, as those of EGT, and those of a model with virtual
            nodes until :func:`probabilities` has divided them by their sums. Or the shapes do not
            fit.
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
    is_kind = F.one_hot(kind, len(KINDS)).to(attention.dtype) * pairs[..., None]  # [B, N, N, kinds]
    share = torch.einsum("blhij,bijk->lhk", attention, is_kind)
    num_nodes = mask.sum(dim=1).clamp(min=1)[:, None, None]  # [B, 1, 1]
    even = is_kind.sum(dim=2) / num_nodes  # [B, N, kinds]
    return share / mask.sum(), even.sum(dim=(0, 1)) / mask.sum()


def gradient_times_input(model: nn.Module, batch: GraphBatch, *, from_mean: bool = False) -> Tensor:
    r"""The effect of each node's vector on the prediction, to first order: ``[B, N]``.

    .. math:: \Big\langle \frac{\partial \hat y}{\partial h_i^{(0)}},\, h_i^{(0)} \Big\rangle

    for the vectors :math:`h^{(0)}` that enter the first layer, compared with a vector of zeros.
    With ``from_mean`` they are compared with the mean over the graph's nodes instead. A LayerNorm
    does not depend on the length of a vector, so that the gradient along the vector itself is small
    whatever the node is worth.

    Raises:
        ValueError: The model does not predict one number for each graph, or is no Transformer.
    """
    layers = layers_of(model)
    inputs: list[Tensor] = []

    def record(layer: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        inputs.append(arguments[0].detach().requires_grad_())
        return (inputs[0], *arguments[1:])

    with (
        torch.enable_grad(),
        evaluating(model),
        layers[0].register_forward_pre_hook(record),
    ):
        total = one_number(model(batch), batch).sum()
    (gradient,) = torch.autograd.grad(total, inputs)
    N = batch.mask.shape[1]
    h = inputs[0].detach()[:, -N:]  # [B, N, d], without the virtual nodes
    gradient = gradient[:, -N:]  # [B, N, d]
    if from_mean:
        h = h - mean_pool(h, batch.mask)[:, None]
    return (gradient * h).sum(dim=-1) * batch.mask


def attention_times_gradient(model: nn.Module, batch: GraphBatch) -> Tensor:
    r"""Each attention weight times the derivative of the prediction by it: ``[B, L, H, T, T]``.

    .. math:: a_{ij}\, \frac{\partial \hat y}{\partial a_{ij}} = a_{ij}\,
              \Big\langle \frac{\partial \hat y}{\partial z_i},\, v_j \Big\rangle

    in plain attention. A weight counts only if the value that it multiplies changes the prediction.
    The weights are varied one by one, as if a row did not have to sum to one. The derivative
    includes a gate after the softmax (EGT) and what pairs add to the value (GRPE, CSA).

    Raises:
        ValueError: The model does not predict one number for each graph, or is no Transformer.
    """
    layers_of(model)
    with torch.enable_grad(), evaluating(model), _Softmaxes() as softmaxes:
        prediction, _ = model(batch, return_attention=True)
        total = one_number(prediction, batch).sum()
    gradients = torch.autograd.grad(total, softmaxes.found)
    products = []
    for attention, gradient in zip(softmaxes.found, gradients, strict=True):
        product = attention.detach() * gradient
        # CSA has two axes for its channels: the heads, and the channels of each head.
        products.append(product.flatten(1, -3))  # [B, H, T, T]
    return torch.stack(products, dim=1)


@torch.no_grad()
def leave_one_out(model: nn.Module, batch: GraphBatch) -> Tensor:
    """The prediction less the prediction without a node, for each node: ``[B, N]``.

    The node and its edges become padding. The other nodes keep their encodings (distances, walks,
    …), which are still those of the complete graph.

    Raises:
        ValueError: The model does not predict one number for each graph, or is none of PyTorch.
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
    """The model without some of its heads, whose results are zero.

    ``with ablated(model, [(0, 3)]): ...`` takes out head 3 of the first layer: its K channels are
    zero where they enter the output projection W_O, whose bias stays.

    Args:
        model: A Transformer of this package.
        heads: Number of the layer and number of the head, counted from 0: tuples, lists, or the
            rows ``[heads, 2]`` of an array or a tensor.

    Raises:
        ValueError: There is no such layer or head, ``heads`` is something else, or the model is no
            Transformer.
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
            # EGT's last layer has no output of nodes where only edges are predicted.
            assert attention.output is not None
            silenced = partial(without_head, head=head, num_heads=attention.num_heads)
            hooks.enter_context(attention.output.register_forward_pre_hook(silenced))
        yield model


def _as_pairs(heads: Iterable[Iterable[int]] | Tensor) -> list[tuple[int, int]]:
    """The layers and heads, in Python's own numbers; a ValueError if they are no pairs."""
    try:
        return [(index(layer), index(head)) for layer, head in heads]
    except (TypeError, ValueError):  # no whole numbers, or not two of them
        given = " ".join(repr(heads).split())
        raise ValueError(
            f"heads is {given[:200]}; expected pairs of a layer and a head, such as [(0, 3)]."
        ) from None


def without_head(
    output: nn.Module, arguments: tuple[Tensor], *, head: int, num_heads: int
) -> Tensor:
    """A pre-hook of an output projection, which sets the channels of one head to zero."""
    z = arguments[0].unflatten(-1, (num_heads, -1))  # [..., H, K]
    is_silent = torch.arange(num_heads, device=z.device)[:, None] == head  # [H, 1]
    return z.masked_fill(is_silent, 0.0).flatten(-2)


def layers_of(model: nn.Module) -> nn.ModuleList:
    """The attention layers of a Transformer of this package, first to last.

    Raises:
        ValueError: The model is another one, such as a GIN.
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
    """The prediction ``[B]``, or a ValueError if it is not one number for each graph."""
    if prediction.shape != (batch.num_graphs,):
        raise ValueError(
            f"the model predicts {list(prediction.shape)}; expected [{batch.num_graphs}], one "
            "number for each graph."
        )
    return prediction


def check_mask(attention: Tensor, mask: Tensor, axes: str = "B, L, H, T, T") -> None:
    """Raises a ValueError unless ``mask`` ``[B, T]`` is that of the tokens of the attention.

    ``axes`` are those of the attention; ``...`` stands for any number of them.
    """
    _check_tensors(attention=attention, mask=mask)
    if mask.dtype != torch.bool:
        raise ValueError(f"mask is {mask.dtype}; expected torch.bool, True at real tokens.")
    has_axes = attention.dim() == len(axes.split(", ")) or ("..." in axes and attention.dim() > 2)
    of_tokens = (attention.shape[0], attention.shape[-1], attention.shape[-1])  # B, T, T
    if not has_axes or (*mask.shape, attention.shape[-2]) != of_tokens:
        raise ValueError(
            f"attention has shape {list(attention.shape)} and mask {list(mask.shape)}; expected "
            f"[{axes}] and [B, T]: see token_mask and between_nodes for virtual nodes."
        )


def _check_tensors(**arguments: object) -> None:
    """Raises a ValueError for the first argument that is no tensor, but an array, say."""
    for name, given in arguments.items():
        if not isinstance(given, Tensor):
            raise ValueError(f"{name} is of type {type(given).__name__}; expected a tensor.")


def _check_pairs(name: str, values: Tensor, mask: Tensor) -> None:
    """Raises a ValueError unless the values are an integer for each pair of nodes of the mask."""
    _check_tensors(**{name: values})
    B, N = mask.shape
    if values.shape != (B, N, N) or values.dtype != torch.int64:
        raise ValueError(
            f"{name} is {values.dtype} {list(values.shape)}; expected torch.int64 [{B}, {N}, {N}]."
        )


class _Softmaxes(TorchFunctionMode):
    """Records every softmax, because the attention that a model returns may be a copy.

    A copy is no part of the prediction, and the prediction has no derivative by it. The same holds
    for the factors that CSA computes without gradients, so they are left out.
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
