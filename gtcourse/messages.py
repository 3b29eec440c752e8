"""How messages show the values that they are about."""

from __future__ import annotations

MOST_SHOWN = 200
"""Characters of a value in a message."""


def shown(value: object) -> str:
    """A value as messages show it: without line breaks, and cut where it is long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"
