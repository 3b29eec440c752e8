"""The digests of :mod:`tests.numerics.bits` in other processes, and how they compare."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence

CLOSE = 1e-5
"""Gradients of two thread counts differ by at most this share of the largest."""


def processes(*settings: tuple[int, str]) -> list[dict]:
    """What processes print that run at the same time; each with its threads and hash seed."""
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.numerics.bits", str(threads)],
            env=os.environ | {"PYTHONHASHSEED": hashes},
            stdout=subprocess.PIPE,
        )
        for threads, hashes in settings
    ]
    said = [process.communicate()[0] for process in started]
    for process in started:
        if process.returncode:
            raise RuntimeError(f"{process.args} ended with {process.returncode}.")
    return [json.loads(text) for text in said]


def differing(found: Sequence[dict], *parts: str) -> list[str]:
    """Names in these parts of the output that have other bits in some process than in the first."""
    return [
        f"{part}: {name}"
        for part in parts
        for name, bits in _named(found[0][part])
        if any(dict(_named(other[part]))[name] != bits for other in found)
    ]


def _named(part: dict | str) -> list[tuple[str, str]]:
    return [("", part)] if isinstance(part, str) else [*part.items()]


def distance(one: dict, other: dict) -> float:
    """The largest difference of two lists of gradients, as a share of the largest gradient."""
    pairs = [*zip(one["numbers"], other["numbers"], strict=True)]
    return max(abs(a - b) for a, b in pairs) / max(abs(a) for a, _ in pairs)
