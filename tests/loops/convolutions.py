"""The baselines' layers on one graph, a node and an edge at a time, in float64, in eval mode.

``edges`` are pairs (j, i): node i hears j.
"""

import math

import torch
from torch import Tensor

from tests.loops.aggregations import readout_loop
from tests.loops.attention import linear_loop, softmax_loop


def batch_norm_loop(x: Tensor, norm: torch.nn.BatchNorm1d) -> Tensor:
    """With running statistics."""
    out = torch.zeros_like(x)
    for n in range(x.shape[0]):
        for c in range(x.shape[1]):
            spread = math.sqrt(norm.running_var[c].item() + norm.eps)
            scaled = (x[n, c].item() - norm.running_mean[c].item()) / spread
            out[n, c] = scaled * norm.weight[c].item() + norm.bias[c].item()
    return out


def gin_layer_loop(layer, h: Tensor, edges: list[tuple[int, int]]) -> Tensor:
    summed = torch.zeros_like(h)
    for i in range(len(h)):
        summed[i] = (1 + layer.conv.eps.item()) * h[i]
        for j, k in edges:
            if k == i:
                summed[i] += h[j]
    first, norm, _, second = layer.conv.nn
    hidden = batch_norm_loop(linear_loop(summed, first), norm).clamp(min=0)
    return h + batch_norm_loop(linear_loop(hidden, second), layer.norm).clamp(min=0)


def gated_gcn_layer_loop(
    layer, h: Tensor, e: Tensor, edges: list[tuple[int, int]]
) -> tuple[Tensor, Tensor]:
    conv = layer.conv
    A, B, D, E = (linear_loop(h, part) for part in (conv.A, conv.B, conv.D, conv.E))
    new_e = linear_loop(e, conv.C)
    for row, (j, i) in enumerate(edges):
        new_e[row] += D[j] + E[i]
    new_h = torch.zeros_like(h)
    for i in range(len(h)):
        for c in range(h.shape[1]):
            gated = gates = 0.0
            for row, (j, k) in enumerate(edges):
                if k == i:
                    gate = 1 / (1 + math.exp(-new_e[row, c].item()))
                    gated += gate * B[j, c].item()
                    gates += gate
            new_h[i, c] = A[i, c] + gated / (gates + 1e-6)
    return (
        h + batch_norm_loop(new_h, layer.node_norm).clamp(min=0),
        e + batch_norm_loop(new_e, layer.edge_norm).clamp(min=0),
    )


def gat_layer_loop(layer, h: Tensor, edges: list[tuple[int, int]]) -> Tensor:
    """a_ij = softmax over j → i of LeakyReLU(a_src · W h_j + a_dst · W h_i), a head at a time."""
    conv = layer.conv
    projected = torch.stack([torch.stack([dot(w, row) for w in conv.lin.weight]) for row in h])
    width = conv.out_channels
    heard = torch.zeros_like(h)
    for head in range(conv.heads):
        channels = range(head * width, (head + 1) * width)
        source = [dot(conv.att_src[0, head], projected[n, channels]) for n in range(len(h))]
        target = [dot(conv.att_dst[0, head], projected[n, channels]) for n in range(len(h))]
        for i in range(len(h)):
            neighbours = [j for j, k in edges if k == i]
            if not neighbours:
                continue
            logits = [(source[j] + target[i]).item() for j in neighbours]
            logits = [logit if logit > 0 else 0.2 * logit for logit in logits]
            for j, weight in zip(neighbours, softmax_loop(logits), strict=True):
                heard[i, channels] += weight * projected[j, channels]
    heard = batch_norm_loop(heard, layer.norm)
    return h + torch.where(heard > 0, heard, torch.expm1(heard))


def halving_mlp_loop(head, x: Tensor) -> Tensor:
    """Three linear maps with ReLU between: ``[B, d]`` to ``[B, T]``."""
    first, _, second, _, third = head
    hidden = linear_loop(linear_loop(x, first).clamp(min=0), second)
    return linear_loop(hidden.clamp(min=0), third)


def gin_loop(model, h: Tensor, edges: list[tuple[int, int]]) -> Tensor:
    """A sum over the layers, the input among them, each read out by its own map."""
    prediction = linear_loop(readout(model, h), model.heads[0])
    for layer, head in zip(model.layers, model.heads[1:], strict=True):
        h = gin_layer_loop(layer, h, edges)
        prediction = prediction + linear_loop(readout(model, h), head)
    return prediction[0]


def gated_gcn_loop(model, h: Tensor, e: Tensor, edges: list[tuple[int, int]]) -> Tensor:
    for layer in model.layers:
        h, e = gated_gcn_layer_loop(layer, h, e, edges)
    return halving_mlp_loop(model.head, readout(model, h))[0]


def gat_loop(model, h: Tensor, edges: list[tuple[int, int]]) -> Tensor:
    for layer in model.layers:
        h = gat_layer_loop(layer, h, edges)
    return halving_mlp_loop(model.head, readout(model, h))[0]


def readout(model, h: Tensor) -> Tensor:
    return readout_loop(h, model.config.readout)[None]


def dot(a: Tensor, b: Tensor) -> Tensor:
    total = torch.zeros((), dtype=torch.float64)
    for c in range(len(a)):
        total = total + a[c] * b[c]
    return total
