"""The checks of arguments: numbers, options, devices, paths and lists.

Each raises a ValueError whose message is a sentence that names the argument, what it is given, and
what was expected.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence, Set
from inspect import signature
from numbers import Integral, Real
from typing import Literal, TypeGuard, cast

import torch
from torch_geometric.data import Data

from gtcourse.messages import shown

Target = Literal["graph", "node", "edge"]
TARGET_AXES: dict[Target, int] = {"graph": 0, "node": 1, "edge": 2}


def is_one_of(value: object, choices: Iterable[object]) -> bool:
    """Whether a value is one of the choices; it may be of any type, such as a list or an array."""
    return any(isinstance(value, type(choice)) and value == choice for choice in choices)


def check_choice(name: str, value: object, choices: Sequence[object]) -> None:
    """Raises a ValueError unless the value of an argument is one of the choices."""
    if not is_one_of(value, choices):
        expected = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} is {shown(value)}; expected one of {expected}.")


def check_target(text: str) -> Target:
    """The level of targets that a text names: "graph", "node" or "edge".

    Raises:
        ValueError: It names none of them.
    """
    if not is_one_of(text, TARGET_AXES):
        raise ValueError(f"target is {shown(text)}; expected 'graph', 'node' or 'edge'.")
    return cast(Target, text)


def whole_number(name: str, value: object, least: int) -> int:
    """A whole number of any integer type, as Python's own; the type of NumPy's is in their repr.

    Raises:
        ValueError: The value is something else, a truth value for instance, or below ``least``.
    """
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} is {shown(value)}; expected a whole number, {least} or more.")
    return int(value)


def is_number(value: object) -> TypeGuard[float]:
    """Whether this is a finite number of any type, and no truth value."""
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def number(name: str, value: object, least: float, most: float = math.inf) -> float:
    """A finite number of any type, as Python's own.

    Raises:
        ValueError: The value is something else, a truth value for instance, or out of the range.
    """
    if not is_number(value) or not least <= value <= most:
        expected = f", {least:g} or more" if most == math.inf else f" from {least:g} to {most:g}"
        raise ValueError(f"{name} is {shown(value)}; expected a number{expected}.")
    return float(value)


def check_bools(**options: object) -> None:
    """Raises a ValueError for the first option that is neither True nor False, such as "no"."""
    for name, value in options.items():
        if not isinstance(value, bool):
            raise ValueError(f"{name} is {shown(value)}; expected True or False.")


def check_device(device: torch.device | str) -> None:
    """Raises a ValueError if torch does not know the device, or this machine does not have it."""
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise ValueError(
            f"device is {shown(device)}, which cannot be used here ({reason}); expected 'cpu', or "
            "an accelerator of this machine, as gtcourse.device() returns."
        ) from None


def check_list(name: str, values: object, of_what: str) -> None:
    """Raises a ValueError for what is no list, such as a set, a generator or one string.

    A Series of pandas is a list, but a DataFrame is not: it would be read as the list of its
    columns' names.
    """
    is_one = isinstance(values, str | bytes | Data)
    is_table = getattr(values, "ndim", 1) != 1  # or a number
    has_order = hasattr(values, "__len__") and not isinstance(values, Mapping | Set)
    if is_one or is_table or not has_order:
        given = shown(values) if isinstance(values, str) else f"of type {type(values).__name__}"
        raise ValueError(f"{name} is {given}; expected a list of {of_what}.")


def check_function(name: str, given: object, num_arguments: int, expected: str) -> None:
    """Raises a ValueError for what cannot be called with so many arguments.

    Functions that are written in C may have no signature. They pass.
    """
    if not callable(given):
        raise ValueError(f"{name} is {shown(given)}; expected {expected}.")
    try:
        parameters = signature(given)
    except (TypeError, ValueError):  # there is none
        return
    try:
        parameters.bind(*[None] * num_arguments)
    except TypeError as error:
        raise ValueError(
            f"{name} is {shown(given)}, which takes other arguments ({error}); expected {expected}."
        ) from None


def check_path(name: str, path: object, expected: str = "the path of a file") -> None:
    """Raises a ValueError for what is no path, such as None, a number or an empty text."""
    if not isinstance(path, str | os.PathLike) or path == "":
        raise ValueError(f"{name} is {shown(path)}; expected {expected}.")
