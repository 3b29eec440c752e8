"""The line to beat: what is reached on molecules without a neural network."""

from __future__ import annotations

import json
from importlib.resources import files


def line_to_beat(data: str = "molecules", train: int = 10_000) -> dict[str, float]:
    """Recorded mean absolute errors of simple predictors (``experiments.simple_predictors``).

    They are fitted to the first ``train`` training molecules and scored on the test molecules.

    Args:
        data: "molecules", the embedded ones, or "zinc", the real ZINC-12k.

    Raises:
        KeyError: nothing is recorded for this number of molecules.
    """
    record = json.loads((files("gtcourse") / "recorded" / "simple-predictors.json").read_text())
    return record["test_mae"][f"{data}, {train} molecules"]
