"""Learning-rate schedules of the papers, as functions of an optimizer and the number of steps.

Steps are counted from 1: the rate at step k is that of the optimizer's k-th step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral
from typing import Literal

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR, ReduceLROnPlateau

from gtcourse.graphs.arguments import check_bools, check_choice, is_number, number, whole_number
from gtcourse.messages import shown


def warmup_then_linear(
    optimizer: Optimizer, total: int, *, warmup: int | float, end: float = 1e-9
) -> LambdaLR:
    r"""Linear warm-up to the optimizer's own rate, then linear decay (Graphormer, Sec. 4.1).

    With W warm-up steps of ``total``, T, and the rate :math:`\eta` of the optimizer, step k has

    .. math::
        \eta\,\frac{k}{W} \quad (k \le W), \qquad
        \eta_\text{end} + (\eta - \eta_\text{end}) \Bigl(1 - \frac{k - W}{T - W}\Bigr)
        \quad (W < k \le T),

    and every later step :math:`\eta_\text{end}`, which is 1e-9 in the official code; the paper does
    not say. ``warmup`` is W, or a share of T (a float below 1).

    Raises:
        ValueError: W is not below T, the rate is not above 0, or an argument is of the wrong type.
    """
    check_optimizer(optimizer)
    end = number("end", end, 0)
    peak = optimizer.param_groups[0]["lr"]
    if peak <= 0:
        raise ValueError(f"the learning rate is {peak}; expected a number above 0.")

    def decay(done: float) -> float:
        return (end + (peak - end) * (1 - done)) / peak

    return _warmup_then(optimizer, total, warmup, decay)


def warmup_then_cosine(
    optimizer: Optimizer, total: int, *, warmup: int | float, quarter: bool = False
) -> LambdaLR:
    r"""Linear warm-up to the optimizer's own rate, then cosine decay to zero (EGT, Table 6).

    After the warm-up of :func:`warmup_then_linear`, step k has

    .. math:: \frac{\eta}{2} \Bigl(1 + \cos \pi\,\frac{k - W}{T - W}\Bigr)
              \quad\text{or}\quad \eta \cos \frac{\pi}{2} \frac{k - W}{T - W}
              \qquad (W < k \le T),

    and every later step 0. ``quarter`` selects the second form, as in the code that produced EGT's
    results. The paper says only "cosine"; the authors' later code has the first form.

    Differs from the official code: there step W + 1 still has the peak, and step T + 1 is the first
    to have 0.

    Raises:
        ValueError: W is not below T, or an argument is of the wrong type.
    """
    check_optimizer(optimizer)
    check_bools(quarter=quarter)

    def decay(done: float) -> float:
        if quarter:
            return math.cos(math.pi / 2 * done)
        return (1 + math.cos(math.pi * done)) / 2

    return _warmup_then(optimizer, total, warmup, decay)


def halve_on_plateau(
    optimizer: Optimizer, total: int, *, patience: int, mode: Literal["min", "max"]
) -> ReduceLROnPlateau:
    """Half the rate after more than ``patience`` epochs without a better score (benchmarking-gnns).

    ``total`` is not used; ``mode`` says whether better scores are smaller or larger.

    Raises:
        ValueError: An argument is of the wrong type, or there is no such mode.
    """
    check_optimizer(optimizer)
    patience = whole_number("patience", patience, 0)
    check_choice("mode", mode, ("min", "max"))
    return ReduceLROnPlateau(optimizer, mode, factor=0.5, patience=patience)


def check_optimizer(optimizer: object) -> None:
    """Raises a ValueError for what is no optimizer of PyTorch."""
    if not isinstance(optimizer, Optimizer):
        raise ValueError(
            f"optimizer is {shown(optimizer)}; expected one of PyTorch, such as "
            "AdamW(model.parameters())."
        )


def _warmup_then(
    optimizer: Optimizer, total: int, warmup: int | float, decay: Callable[[float], float]
) -> LambdaLR:
    """Linear warm-up, then ``decay``: the share of the peak by the share of its steps done."""
    total = whole_number("total", total, 1)
    if not is_number(warmup):
        raise ValueError(
            f"warmup is {shown(warmup)}; expected a number of steps, or a share of them."
        )
    steps = warmup if isinstance(warmup, Integral) else round(warmup * total)
    if not 0 <= steps < total:
        raise ValueError(
            f"warmup is {warmup}, and the schedule has {total} steps; expected fewer, or a share."
        )

    def rate(steps_done: int) -> float:
        step = steps_done + 1
        if step <= steps:
            return step / steps
        return decay(min(1.0, (step - steps) / (total - steps)))

    schedule = LambdaLR(optimizer, rate)
    schedule.total_steps = total  # type: ignore[attr-defined] # compared when a checkpoint is loaded
    return schedule
