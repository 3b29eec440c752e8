"""The digests of :mod:`tests.numerics.bits` in other processes, and how they compare."""

import base64
import json
import os
import subprocess
import sys
from collections.abc import Sequence

import numpy as np

CLOSE = 1e-4
"""Gradients of two thread counts differ by at most this share of the largest: 1,700 roundings of
float32, and five times the largest difference that was met (SignNet's)."""


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
    a, b = (np.frombuffer(base64.b64decode(x["numbers"]), np.float32) for x in (one, other))
    return float(abs(a - b).max() / abs(a).max())
