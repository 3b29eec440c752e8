"""Checks of arguments at the boundary, each one sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real

LARGEST_SEED = 2**32 - 1
"""The largest seed that every generator takes, numpy's included."""


def at_least(minimum: int, **arguments: int) -> None:
    for name, value in arguments.items():
        if not isinstance(value, Integral) or value < minimum:
            raise ValueError(f"{name} is {value!r}; expected a whole number, {minimum} or more.")


def positive(**arguments: float) -> None:
    for name, value in arguments.items():
        if not isinstance(value, Real) or not 0 < value < math.inf:
            raise ValueError(f"{name} is {value!r}; expected a number above 0.")


def one_of(choices: Sequence[object], **arguments: object) -> None:
    for name, value in arguments.items():
        if value not in choices:
            expected = ", ".join(map(str, choices))
            raise ValueError(f"{name} is {value!r}; expected one of {expected}.")


def a_seed(**arguments: int) -> None:
    for name, value in arguments.items():
        if not isinstance(value, Integral) or not 0 <= value <= LARGEST_SEED:
            raise ValueError(
                f"{name} is {value!r}; expected a whole number from 0 to {LARGEST_SEED}."
            )
