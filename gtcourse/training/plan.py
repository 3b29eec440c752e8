"""What a long run will cost, from what was measured in a short one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

PCQM4MV2_TRAIN = 3_378_606
"""Molecules that PCQM4Mv2 trains on, as published."""


@dataclass(frozen=True)
class Plan:
    """A run on several devices.

    Attributes:
        devices: how many; graphs_per_second: of all together; hours: of wall time; device_hours:
            what is paid for.
    """

    devices: int
    graphs_per_second: float
    hours: float
    device_hours: float


def cost_plan(
    graphs_per_second: float,
    epochs: int,
    *,
    graphs: int = PCQM4MV2_TRAIN,
    devices: Sequence[int] = (1, 8, 64),
    efficiency: float = 1.0,
) -> list[Plan]:
    r"""Hours for each number of devices W: :math:`\text{graphs} \cdot \text{epochs} / r_W`.

    .. math:: r_W = r_1 \, W \, \eta^{\log_2 W}

    Args:
        graphs_per_second: :math:`r_1`, measured on one device: in training, data and all.
        epochs: passes over the graphs; validation is not in it.
        efficiency: :math:`\eta`, the share of its speed that a device keeps when their number is
            doubled: half of what two do together, over what one does alone.

    Raises:
        ValueError: a number that cannot be meant.
    """
    for name, value in (("graphs_per_second", graphs_per_second), ("epochs", epochs)):
        if not value > 0:
            raise ValueError(f"{name} is {value}; expected more than 0.")
    if not 0 < efficiency <= 1:
        raise ValueError(f"efficiency is {efficiency}; expected more than 0 and at most 1.")
    plans = []
    for number in devices:
        if number < 1:
            raise ValueError(f"devices holds {number}; expected 1 or more.")
        rate = graphs_per_second * number * efficiency ** math.log2(number)
        hours = graphs * epochs / rate / 3600
        plans.append(Plan(number, rate, hours, hours * number))
    return plans
