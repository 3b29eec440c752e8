"""Batch normalisation over real rows: padding does not count, and neither does the other process.

The statistics of a run on several processes are those of all their rows, as if there were one. In
:class:`NodeBatchNorm` nothing is asked of the device that the host would have to wait for.
Shapes: B graphs, N nodes (padded), R rows, d width.
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional as F


class NodeBatchNorm(nn.BatchNorm1d):
    """Batch normalisation over the real nodes of a padded batch.

    Fewer than two real nodes have no variance; the running statistics take its place then.

    Shapes:
        h: ``[B, N, d]``; mask: ``[B, N]``, True at real nodes
        returns: ``[B, N, d]``, zeros at padding
    """

    def forward(self, h: Tensor, mask: Tensor) -> Tensor:
        real = mask[..., None]
        mean, variance = self.running_mean, self.running_var
        if self.training:
            mean, variance = self._of_batch(h, real)
        scale = (variance + self.eps).rsqrt() * self.weight
        return ((h - mean) * scale + self.bias).masked_fill(~real, 0.0)

    def _of_batch(self, h: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of the real rows, ``[d]`` each; the running ones move towards them."""
        h = h.to(torch.promote_types(h.dtype, torch.float32))
        over = tuple(range(h.dim() - 1))
        count = over_all(real.sum().to(h.dtype))
        mean = over_all((h * real).sum(dim=over)) / count.clamp(min=1)
        variance = over_all(((h - mean).square() * real).sum(dim=over)) / count.clamp(min=1)
        enough = count > 1
        with torch.no_grad():
            self.num_batches_tracked += 1
            unbiased = variance * count / (count - 1).clamp(min=1)
            step = self.momentum * enough.to(mean.dtype)
            self.running_mean += step * (mean - self.running_mean)
            self.running_var += step * (unbiased - self.running_var)
        return (
            torch.where(enough, mean, self.running_mean),
            torch.where(enough, variance, self.running_var),
        )


class FlatBatchNorm(NodeBatchNorm):
    """The same over rows ``[R, d]`` that are all real, by torch's own kernels in one process."""

    def forward(self, x: Tensor) -> Tensor:
        if self.training and several_processes():
            return super().forward(x, x.new_ones(x.shape[:-1], dtype=torch.bool))
        if self.training and len(x) > 1:
            return nn.BatchNorm1d.forward(self, x)
        # One row has no variance: torch refuses it, and no rows would make NaN of what it keeps.
        return F.batch_norm(
            x, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps
        )


def several_processes() -> bool:
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1


def over_all(value: Tensor) -> Tensor:
    """The sum over the processes of a run, through which gradients flow to each of them."""
    return _OverAll.apply(value) if several_processes() else value


class _OverAll(torch.autograd.Function):
    """A number of this process is in the sum of each, whose gradients it therefore gets all of."""

    @staticmethod
    def forward(ctx, value):
        total = value.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx, gradient):
        total = gradient.clone()
        dist.all_reduce(total)
        return total
