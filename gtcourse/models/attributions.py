"""What a prediction hangs on: gradients, and what changes when something is taken away.

Attention maps say what a model could have used; these ask the model itself. They work on every
Transformer of the course with one target for each graph.
Shapes: B graphs, L layers, H heads, C = H heads or CSA's d channels, N nodes (padded), T tokens:
virtual nodes, if any, then the nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from gtcourse.graphs.batch import GraphBatch
from gtcourse.models.heads import mean_pool


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

    Raises:
        ValueError: the model does not predict one number for each graph.
    """
    kept = []

    def keep(layer: nn.Module, arguments: tuple) -> tuple:
        kept.append(arguments[0].detach().requires_grad_())
        return (kept[0], *arguments[1:])

    handle = layers_of(model)[0].register_forward_pre_hook(keep)
    try:
        prediction = _one_for_each_graph(model(batch), batch)
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

    Raises:
        ValueError: the model does not predict one number for each graph.
    """
    with _Softmaxes() as softmaxes:
        prediction, _ = model(batch, return_attention=True)
    prediction = _one_for_each_graph(prediction, batch)
    gradients = torch.autograd.grad(prediction.sum(), softmaxes.found)
    products = [(a.detach() * g) for a, g in zip(softmaxes.found, gradients, strict=True)]
    # CSA has its channels by heads, [B, H, K, N, N].
    return torch.stack([p.flatten(1, 2) if p.dim() == 5 else p for p in products], dim=1)


@torch.no_grad()
def leave_one_out(model: nn.Module, batch: GraphBatch) -> Tensor:
    """The prediction less that without the node: what a node contributes, given all others.

    The node is taken out with its edges, as padding is: nobody hears it, and it does not enter the
    prediction. What the others' encodings say of their places (distances, degrees, walks) stays.

    Shapes:
        returns: ``[B, N]``, with a sign, zeros at padding

    Raises:
        ValueError: the model does not predict one number for each graph.
    """
    whole = _one_for_each_graph(model(batch), batch)
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

    Raises:
        ValueError: there is no such layer or head.
    """
    layers, handles = layers_of(model), []
    by_layer: dict[int, list[int]] = {}
    for layer, head in heads:
        if not (0 <= layer < len(layers) and 0 <= head < layers[layer].attention.num_heads):
            raise ValueError(f"there is no head {head} in layer {layer} of the model.")
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


def _one_for_each_graph(prediction: Tensor, batch: GraphBatch) -> Tensor:
    if prediction.shape != (batch.num_graphs,):
        raise ValueError(
            f"the model predicts {list(prediction.shape)} of {batch.num_graphs} graphs; expected "
            "one number for each graph."
        )
    return prediction
