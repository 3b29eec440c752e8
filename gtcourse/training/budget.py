"""One switch for all chapters: which device, and how much work it can do."""

from __future__ import annotations

import os
from typing import TypeVar

import torch

T = TypeVar("T")


def device() -> torch.device:
    """The fastest device of this machine: CUDA, Apple's MPS, or the CPU."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def budget(*, cpu: T, gpu: T, smoke: T | None = None) -> T:
    """Picks what this machine can do in a few minutes, and prints the choice.

    ``GTCOURSE_BUDGET=smoke`` in the environment asks for a quick check instead: ``smoke`` if it is
    given, otherwise ``cpu`` with each whole number in it cut to a twentieth. "cpu" and "gpu" force
    one of the others.

    Args:
        cpu, gpu, smoke: numbers, or dictionaries of numbers, of the same form.
    """
    choices = {"cpu": cpu, "gpu": gpu, "smoke": _shrink(cpu) if smoke is None else smoke}
    name = os.environ.get("GTCOURSE_BUDGET") or ("cpu" if device().type == "cpu" else "gpu")
    if name not in choices:
        raise ValueError(f"GTCOURSE_BUDGET is {name!r}; expected one of {', '.join(choices)}.")
    listed = chosen = choices[name]
    if isinstance(chosen, dict):
        listed = ", ".join(f"{key} = {value}" for key, value in chosen.items())
    print(f"Budget {name} on {device().type}: {listed}")
    return chosen


def _shrink(value: T) -> T:
    if isinstance(value, dict):
        return {name: _shrink(part) for name, part in value.items()}
    return max(1, value // 20) if type(value) is int else value
