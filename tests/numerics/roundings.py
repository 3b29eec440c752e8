r"""How far rounding may move a result: computed in float64, for any function of tensors.

A dtype of unit roundoff u returns each operation's result t with an error of at most u |t|. To
first order that moves an output y by :math:`u\,|t\,\partial y / \partial t|`, which autograd knows.
Roundings are as good as independent, so their effects add up like the sides of a right angle:

.. math:: |\hat y - y| \le c\, u \sqrt{\sum_t \Bigl(t\,\frac{\partial y}{\partial t}\Bigr)^2}

The sum is over every number of every result, weights and inputs among them. One rounding has a
standard deviation of at most :math:`u |t| / \sqrt 3`; c = 4 is seven of these, for what
independence leaves out: equal numbers are rounded alike, and an operation may round twice.

Halves are added up in float32; float32 itself is added up in float32, in eight lanes at least. A
lane's n / 8 partial sums are half as large as the last on average, in their squares: a sum of n
numbers has n / 16 times the variance of one rounding more. So for float32 c is
:math:`4 \sqrt{1 + n / 16}`, with n the longest sum.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

UNIT_ROUNDOFF = {torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}
LOOKED_AT = 4
"""Numbers of each output that have their bound computed: those with the largest errors."""


def constant(dtype: torch.dtype, longest_sum: int) -> float:
    """c of the bound."""
    return 4 * math.sqrt(1 + longest_sum / 16) if dtype == torch.float32 else 4.0


class Results(TorchFunctionMode):
    """Collects what every operation returns, as far as a gradient passes through it."""

    def __init__(self):
        self.found: list[Tensor] = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function is F.scaled_dot_product_attention:
            with self:  # its parts round as well
                return _products(*args, **(kwargs or {}))
        returned = function(*args, **(kwargs or {}))
        self.found += [t for t in tree_leaves(returned) if _is_rounded(t)]
        return returned


def _is_rounded(t: object) -> bool:
    computed = isinstance(t, Tensor) and t.is_floating_point() and t.requires_grad
    return computed and not t._is_view()


def _products(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    logits = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    if attn_mask is not None:
        boolean = attn_mask.dtype == torch.bool
        logits = logits.masked_fill(~attn_mask, -math.inf) if boolean else logits + attn_mask
    return logits.softmax(dim=-1) @ value


@dataclass(frozen=True)
class Measured:
    """An output's largest error and the bound there, both as parts of the output's size.

    Attributes:
        share: of the bound, the largest that an error looked at has; above 1 the bound is broken.
        finite: whether every number is one.
    """

    error: float
    bound: float
    share: float
    finite: bool


def measured(
    exact: Callable[[], tuple[Tensor, ...]],
    leaves: Sequence[Tensor],
    got: Sequence[Tensor],
    dtype: torch.dtype,
    longest_sum: int,
) -> list[Measured]:
    """Each output of a low precision beside the same in float64.

    Args:
        exact: computes the outputs in float64, of ``leaves``, its inputs and weights.
        got: the same outputs, computed in ``dtype``.
        longest_sum: numbers that one operation adds up.
    """
    with Results() as results:
        outputs = exact()
    tensors = [*{id(t): t for t in (*leaves, *results.found)}.values()]
    return [
        _one(y, low.double(), tensors, constant(dtype, longest_sum) * UNIT_ROUNDOFF[dtype])
        for y, low in zip(outputs, got, strict=True)
    ]


def _one(y: Tensor, low: Tensor, tensors: list[Tensor], c_u: float) -> Measured:
    error = (low - y).abs().flatten().detach()
    size = float(y.detach().square().mean().sqrt())
    pairs = []
    for k in error.topk(min(LOOKED_AT, len(error))).indices.tolist():
        slopes = torch.autograd.grad(y.flatten()[k], tensors, retain_graph=True, allow_unused=True)
        moved = (
            (t.detach() * slope)[t.isfinite()].square().sum()  # an infinity is never rounded
            for t, slope in zip(tensors, slopes, strict=True)
            if slope is not None
        )
        pairs.append((float(error[k]), c_u * math.sqrt(float(sum(moved)))))
    worst, bound = pairs[0]
    share = max(e / b if b else math.inf * (e > 0) for e, b in pairs) if error.any() else 0.0
    return Measured(worst / size, bound / size, share, bool(low.isfinite().all()))
