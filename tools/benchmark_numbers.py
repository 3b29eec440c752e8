"""How a benchmark's numbers are written: ratios, medians with their quartiles, memory."""

from __future__ import annotations

SINGLE = "1"
"""The ratio of what the others are compared with."""


def said_once(rows: list[tuple[str, ...]], columns: int) -> list[tuple[str, ...]]:
    """What the first ``columns`` say stands in the first row of those for which they say it."""
    shown, before = [], ()
    for row in rows:
        group = row[:columns]
        shown.append((*([""] * columns if group == before else group), *row[columns:]))
        before = group
    return shown


def ratio(value: float) -> str:
    return SINGLE if value == 1 else f"{value:.2f}"


def memory_ratio(row: dict, rows: list[dict]) -> str:
    """To the first row's."""
    return ratio(row["peak_mb"] / rows[0]["peak_mb"])


def timed(row: dict) -> str:
    """Milliseconds, which are stored with one decimal."""
    low, high = map(decimal, row["quartiles"])
    return f"{decimal(row['ms'])} ({low}–{high})"


def decimal(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def digits(value: float) -> str:
    """Three figures, as a rule."""
    return f"{value:.2f}" if value < 10 else decimal(value)


def seconds(row: dict) -> str:
    """Those of all molecules, with quartiles where they were measured more than once."""
    middle = digits(row["seconds"])
    if "quartiles" not in row:
        return middle
    low, high = map(digits, row["quartiles"])
    return f"{middle} ({low}–{high})"
