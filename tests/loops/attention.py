"""Attention written as in the lecture, a number at a time, in float64."""

import math

import torch
from torch import Tensor

from tests.loops.parts import gelu, layer_norm, linear, network, relu


def softmax_loop(logits: list[float]) -> list[float]:
    largest = max(logits)
    exponentials = [math.exp(logit - largest) for logit in logits]
    return [e / sum(exponentials) for e in exponentials]


def attention_loop(query, key, value, mask=None, bias=None) -> tuple[Tensor, Tensor]:
    """Steps 2 and 3 (S2, S3, S6): ``[N, K], [M, K], [M, V]`` to ``[N, V]`` and ``[N, M]``."""
    N, K = query.shape
    M, V = value.shape
    output = torch.zeros(N, V, dtype=torch.float64)
    attention = torch.zeros(N, M, dtype=torch.float64)
    for i in range(N):
        keys = [j for j in range(M) if mask is None or bool(mask[i, j])]
        if not keys:
            continue
        logits = []
        for j in keys:
            dot = sum(query[i, c].item() * key[j, c].item() for c in range(K))
            logits.append(dot / math.sqrt(K) + (0.0 if bias is None else bias[i, j].item()))
        for j, weight in zip(keys, softmax_loop(logits), strict=True):
            attention[i, j] = weight
            for c in range(V):
                output[i, c] += weight * value[j, c].item()
    return output, attention


def multi_head_loop(layer, x: Tensor, mask=None, bias=None) -> Tensor:
    """S5 on one graph ``[N, d]``: slice head h's channels, attend, put the heads side by side.

    Args:
        mask: ``[N, N]``, or a list of one for each head.
    """
    q, k, v = (linear(part, x) for part in (layer.query, layer.key, layer.value))
    width = q.shape[1] // layer.num_heads
    heads = []
    for h in range(layer.num_heads):
        channels = slice(h * width, (h + 1) * width)
        head_bias = None if bias is None else bias[h]
        head_mask = mask[h] if isinstance(mask, list) else mask
        z, _ = attention_loop(q[:, channels], k[:, channels], v[:, channels], head_mask, head_bias)
        heads.append(z)
    return linear(layer.output, torch.cat(heads, dim=1))


def encoder_layer_loop(layer, x: Tensor, mask=None, activation=relu) -> Tensor:
    """Post-LN is LN(x + f(x)); pre-LN is x + f(LN(x))."""
    if layer.norm_first:
        x = x + multi_head_loop(layer.attention, layer_norm(layer.attention_norm, x), mask)
        return x + network([layer.feed_forward_norm, *layer.feed_forward], x, activation)
    x = layer_norm(layer.attention_norm, x + multi_head_loop(layer.attention, x, mask))
    return layer_norm(layer.feed_forward_norm, x + network(layer.feed_forward, x, activation))


def bag_loop(model, h: Tensor, masks: list[Tensor]) -> Tensor:
    """Pre-LN layers with GELU, a norm, the mean over the nodes, and a network with GELU.

    Args:
        masks: ``[N, N]`` of each head.
    """
    for layer in model.encoder.layers:
        assert layer.norm_first
        h = encoder_layer_loop(layer, h, masks, gelu)
    mean = sum(layer_norm(model.encoder.norm, h)) / len(h)
    return network(model.head.network, mean, gelu)
