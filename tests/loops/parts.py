"""What layers are made of, written out for a vector or for each row of several, in float64."""

import math
from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn


def linear(layer: nn.Linear, x: Tensor) -> Tensor:
    """``W x + b``."""
    y = (layer.weight * x[..., None, :]).sum(-1)
    return y if layer.bias is None else y + layer.bias


def layer_norm(layer: nn.LayerNorm, x: Tensor, eps: float | None = None) -> Tensor:
    mean = x.sum(-1, keepdim=True) / x.shape[-1]
    variance = ((x - mean) ** 2).sum(-1, keepdim=True) / x.shape[-1]
    scale = torch.sqrt(variance + (layer.eps if eps is None else eps))
    return (x - mean) / scale * layer.weight + layer.bias


def batch_norm(layer: nn.Module, x: Tensor, mean=None, variance=None) -> Tensor:
    """With the running statistics, or with those of a batch."""
    mean = layer.running_mean if mean is None else mean
    variance = layer.running_var if variance is None else variance
    return (x - mean) / torch.sqrt(variance + layer.eps) * layer.weight + layer.bias


def relu(x: Tensor) -> Tensor:
    return torch.where(x > 0, x, 0.0)


def elu(x: Tensor) -> Tensor:
    return torch.where(x > 0, x, torch.exp(x) - 1)


def gelu(x: Tensor) -> Tensor:
    """x Φ(x), with Φ of the normal distribution."""
    return x * (1 + torch.erf(x / math.sqrt(2))) / 2


def network(
    layers: Iterable[nn.Module],
    x: Tensor,
    activation: Callable[[Tensor], Tensor],
    eps: float | None = None,
) -> Tensor:
    """Norms and linear maps as the layers are; the activation is the paper's."""
    for layer in layers:
        if isinstance(layer, nn.Linear):
            x = linear(layer, x)
        elif isinstance(layer, nn.LayerNorm):
            x = layer_norm(layer, x, eps)
        elif hasattr(layer, "running_mean"):
            x = batch_norm(layer, x)
        elif not isinstance(layer, nn.Dropout):
            x = activation(x)
    return x
