"""Batch normalisation over the real nodes of a padded batch."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor, nn

from gtcourse.graphs.arguments import whole_number


class NodeBatchNorm(nn.BatchNorm1d):
    """Batch normalisation over the real nodes of all graphs, and of all processes of a run.

    Padding becomes zeros. Fewer than two real nodes have no variance, so the running statistics
    take its place. No value is read on the host, which therefore never waits for a GPU.

    Args:
        num_features: Channels, d.
        eps: Added to the variance, so that its root can be divided by.
        momentum: Weight of the new batch in the running statistics.

    Shapes:
        h: ``[..., d]``; the channels are always the last axis
        mask: ``[...]``, True at real nodes; without it all rows are real
        returns: ``[..., d]``
    """

    running_mean: Tensor
    running_var: Tensor
    num_batches_tracked: Tensor
    momentum: float

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1):
        num_features = whole_number("num_features", num_features, 1)
        super().__init__(num_features, eps=eps, momentum=momentum)

    def forward(self, h: Tensor, mask: Tensor | None = None) -> Tensor:
        rows = h.flatten(0, -2)  # [rows, d]
        if mask is None and not (self.training and (len(rows) < 2 or several_processes())):
            return super().forward(rows).view_as(h)  # PyTorch's own kernel
        if mask is None:
            mask = h.new_ones(h.shape[:-1], dtype=torch.bool)
        if mask.shape != h.shape[:-1]:
            raise ValueError(
                f"mask is {list(mask.shape)} for rows {list(h.shape)}; expected "
                f"{list(h.shape[:-1])}."
            )
        is_real = mask[..., None]  # [..., 1]
        mean = self.running_mean  # [d]
        variance = self.running_var  # [d]
        if self.training:
            mean, variance = self.batch_statistics(h, is_real)
        scale = (variance + self.eps).rsqrt() * self.weight  # [d]
        return ((h - mean) * scale + self.bias).masked_fill(~is_real, 0.0)

    def batch_statistics(self, h: Tensor, is_real: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of the real rows, ``[d]`` each; updates the running statistics.

        Args:
            h: ``[..., d]``.
            is_real: True at real rows, ``[..., 1]``.
        """
        h = h.to(torch.promote_types(h.dtype, torch.float32))
        nodes = tuple(range(h.dim() - 1))  # all axes but the channels'
        count = sum_over_processes(is_real.sum().to(h.dtype))
        mean = sum_over_processes((h * is_real).sum(nodes)) / count.clamp(min=1)
        squares = ((h - mean).square() * is_real).sum(nodes)
        variance = sum_over_processes(squares) / count.clamp(min=1)
        has_variance = count > 1
        with torch.no_grad():
            self.num_batches_tracked += 1
            unbiased = variance * count / (count - 1).clamp(min=1)
            step = self.momentum * has_variance.to(mean.dtype)  # 0 without a variance
            self.running_mean += step * (mean - self.running_mean)
            self.running_var += step * (unbiased - self.running_var)
        mean = torch.where(has_variance, mean, self.running_mean)
        variance = torch.where(has_variance, variance, self.running_var)
        return mean, variance


def several_processes() -> bool:
    """Whether this process is one of several that train a model together."""
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1


def sum_over_processes(value: Tensor) -> Tensor:
    """The sum over the processes of a run, through which gradients flow to each of them."""
    if not several_processes():
        return value
    from torch.distributed.nn.functional import all_reduce

    return all_reduce(value)
