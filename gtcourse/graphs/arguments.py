"""Arguments that cannot be meant, refused in one sentence where they are given."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields
from numbers import Integral, Real

import torch

LARGEST_SEED = 2**32 - 1
"""What every generator takes, numpy's as well."""


def at_least(minimum: int, **arguments: int) -> None:
    """Refuses an argument that is no whole number, or below ``minimum``."""
    for name, value in arguments.items():
        if not isinstance(value, Integral) or isinstance(value, bool) or value < minimum:
            raise ValueError(f"{name} is {value!r}; expected a whole number, {minimum} or more.")


def positive(**arguments: float) -> None:
    """Refuses an argument that is no finite number above 0."""
    for name, value in arguments.items():
        if not _is_number(value) or not 0 < value < math.inf:
            raise ValueError(f"{name} is {value!r}; expected a number above 0.")


def share(**arguments: float) -> None:
    """Refuses an argument that is no number from 0 to 1."""
    for name, value in arguments.items():
        if not _is_number(value) or not 0 <= value <= 1:
            raise ValueError(f"{name} is {value!r}; expected a share from 0 to 1.")


def truth(**arguments: bool) -> None:
    """Refuses what is neither True nor False: a word such as "no" would count as True."""
    for name, value in arguments.items():
        if not isinstance(value, bool):
            raise ValueError(f"{name} is {value!r}; expected True or False.")


def one_of(choices: Sequence[object], **arguments: object) -> None:
    """Refuses an argument that is none of the choices."""
    for name, value in arguments.items():
        if not any(value is choice or value == choice for choice in choices):
            expected = ", ".join(map(str, choices))
            raise ValueError(f"{name} is {value!r}; expected one of {expected}.")


def kinds(config: object) -> None:
    """Refuses a dataclass with a field of another kind than its type: a word for a number, NaN, …

    Fields of type bool, float (those called dropout are shares) and tuple[int, ...] are looked at.
    """
    for each in fields(config):
        name, value = each.name, getattr(config, each.name)
        if each.type == "bool":
            truth(**{name: value})
        elif each.type == "float" and "dropout" in name:
            share(**{name: value})
        elif each.type == "float" and not (_is_number(value) and math.isfinite(value)):
            raise ValueError(f"{name} is {value!r}; expected a number.")
        elif each.type == "tuple[int, ...]" and not isinstance(value, tuple):
            raise ValueError(f"{name} is {value!r}; expected a tuple, such as (28,).")


def a_seed(**arguments: int) -> None:
    """Refuses a seed that not every generator takes."""
    for name, value in arguments.items():
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if not whole or not 0 <= value <= LARGEST_SEED:
            raise ValueError(
                f"{name} is {value!r}; expected a whole number from 0 to {LARGEST_SEED}."
            )


def a_device(device: torch.device | str) -> None:
    """Refuses a device that this machine does not have."""
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, TypeError):
        here = [name for name in ("cuda", "mps") if getattr(torch, name).is_available()]
        here = ", ".join(["cpu", *here])
        raise ValueError(
            f"device is {device!r}; expected one that this machine has: {here}."
        ) from None


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
