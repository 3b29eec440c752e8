"""Attention written as the lecture says it, a number at a time, in float64."""

import math

import torch
from torch import Tensor


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
        heard = [j for j in range(M) if mask is None or bool(mask[i, j])]
        if not heard:
            continue
        logits = []
        for j in heard:
            dot = sum(query[i, c].item() * key[j, c].item() for c in range(K))
            logits.append(dot / math.sqrt(K) + (0.0 if bias is None else bias[i, j].item()))
        for j, weight in zip(heard, softmax_loop(logits), strict=True):
            attention[i, j] = weight
            for c in range(V):
                output[i, c] += weight * value[j, c].item()
    return output, attention


def linear_loop(x: Tensor, linear: torch.nn.Linear) -> Tensor:
    """``y = W x + b`` for each row."""
    out = torch.zeros(len(x), linear.out_features, dtype=torch.float64)
    for n in range(len(x)):
        for o in range(linear.out_features):
            out[n, o] = 0.0 if linear.bias is None else linear.bias[o].item()
            for i in range(linear.in_features):
                out[n, o] += linear.weight[o, i].item() * x[n, i].item()
    return out


def multi_head_loop(layer, x: Tensor, mask=None, bias=None) -> Tensor:
    """S5 on one graph ``[N, d]``: slice head h's channels, attend, put the heads side by side.

    Args:
        mask: ``[N, N]``, or a list of one for each head.
    """
    q, k, v = (linear_loop(x, part) for part in (layer.query, layer.key, layer.value))
    width = q.shape[1] // layer.num_heads
    heads = []
    for h in range(layer.num_heads):
        channels = slice(h * width, (h + 1) * width)
        head_bias = None if bias is None else bias[h]
        head_mask = mask[h] if isinstance(mask, list) else mask
        z, _ = attention_loop(q[:, channels], k[:, channels], v[:, channels], head_mask, head_bias)
        heads.append(z)
    return linear_loop(torch.cat(heads, dim=1), layer.output)


def layer_norm_loop(x: Tensor, norm: torch.nn.LayerNorm) -> Tensor:
    out = torch.zeros_like(x)
    for n, row in enumerate(x.tolist()):
        mean = sum(row) / len(row)
        variance = sum((value - mean) ** 2 for value in row) / len(row)
        for c, value in enumerate(row):
            scaled = (value - mean) / math.sqrt(variance + norm.eps)
            out[n, c] = scaled * norm.weight[c].item() + norm.bias[c].item()
    return out


def gelu(x: Tensor) -> Tensor:
    """x Φ(x), with Φ of the normal distribution."""
    return x * (1 + torch.erf(x / math.sqrt(2))) / 2


def feed_forward_loop(x: Tensor, network, activation=torch.relu) -> Tensor:
    hidden = linear_loop(x, network[0])
    return linear_loop(activation(hidden), network[3])


def encoder_layer_loop(layer, x: Tensor) -> Tensor:
    """Post-LN is LN(x + f(x)); pre-LN is x + f(LN(x))."""
    if layer.norm_first:
        x = x + multi_head_loop(layer.attention, layer_norm_loop(x, layer.attention_norm))
        return x + feed_forward_loop(
            layer_norm_loop(x, layer.feed_forward_norm), layer.feed_forward
        )
    x = layer_norm_loop(x + multi_head_loop(layer.attention, x), layer.attention_norm)
    return layer_norm_loop(x + feed_forward_loop(x, layer.feed_forward), layer.feed_forward_norm)


def bag_loop(model, h: Tensor, masks: list[Tensor]) -> Tensor:
    """Pre-LN layers with GELU, a norm, the mean over the nodes, and a network with GELU.

    Args:
        masks: ``[N, N]`` of each head.
    """
    for layer in model.encoder.layers:
        normed = layer_norm_loop(h, layer.attention_norm)
        h = h + multi_head_loop(layer.attention, normed, masks)
        normed = layer_norm_loop(h, layer.feed_forward_norm)
        h = h + feed_forward_loop(normed, layer.feed_forward, gelu)
    mean = sum(layer_norm_loop(h, model.encoder.norm)) / len(h)
    first, _, second = model.head.network
    return linear_loop(gelu(linear_loop(mean[None], first)), second)[0]
