"""What the fields of a run's record hold."""

from __future__ import annotations

import math
from collections.abc import Callable


def _finite(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _text(value: object) -> bool:
    return isinstance(value, str)


def _object(value: object) -> bool:
    return isinstance(value, dict)


KINDS: dict[str, tuple[Callable[[object], bool], str]] = {
    **dict.fromkeys(("config", "versions"), (_object, "an object")),
    **dict.fromkeys(("name", "command", "commit", "device", "date", "weights"), (_text, "text")),
    **dict.fromkeys(("seed", "parameters"), (_whole, "a whole number, 0 or more")),
    "seconds": (lambda value: _finite(value) and value >= 0, "a number, 0 or more"),
    "curve": (
        lambda value: isinstance(value, list) and all(map(_object, value)),
        "a list with an object for each epoch",
    ),
    "data": (
        lambda value: _object(value) and _text(value.get("source")),
        "an object that says the data's source",
    ),
    "result": (
        lambda value: (
            _object(value) and all(_finite(v) or isinstance(v, list) for v in value.values())
        ),
        "an object of finite numbers",
    ),
}
"""Of each field: whether a value can be meant, and what is expected."""
