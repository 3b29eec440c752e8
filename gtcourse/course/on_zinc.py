"""A paper's model on the real ZINC, for as many epochs as a reader has time for."""

from __future__ import annotations

import torch

from gtcourse.course.records import recorded
from gtcourse.recipes import get_recipe
from gtcourse.runs.record import Record
from gtcourse.runs.run import at_budget, data_for, train

CHECKPOINTS = (1, 5, 20, 100)
"""The epochs after which errors are compared, beside the last of a recorded run."""

BUDGETS = {
    "csa-rings/zinc": {"epochs": 100},
    "egt-100k-spe-do/zinc": {},
    "graphormer-slim/zinc": {"epochs": 90, "batch_size": 32, "learning_rate": 5e-4},
    "grpe-small/zinc": {"epochs": 90, "batch_size": 32, "learning_rate": 1e-3},
}
"""What the recorded run of each recipe changed in order to fit on a CPU; EGT's run is complete."""


def expected_errors(name: str) -> dict[int, float]:
    """The validation error (MAE) of a recorded run after some of its epochs and after the last."""
    curve = recorded(name)[0].curve
    last = len(curve)
    earlier = [epoch for epoch in CHECKPOINTS if epoch < last]
    return {epoch: curve[epoch - 1]["val_mae"] for epoch in (*earlier, last)}


def train_on_zinc(name: str, epochs: int, *, source: str = "real", seed: int = 0) -> Record | None:
    """Trains a recipe as its recorded run was trained, and prints both errors side by side.

    The learning rates are those of the complete recorded run, so the errors can be compared from
    the first epoch on; training ends after ``epochs``. With 0 epochs, only the recorded errors are
    printed.

    Args:
        name: one of ``BUDGETS``.
        source: "real" to download ZINC, or the path of a copy of it.
        seed: the seed of weights, order and dropout; the recorded runs have 0.

    Returns:
        The record of the run, with its test error; None if ``epochs`` is 0.

    Raises:
        ValueError: the recipe has no recorded run, or ``epochs`` is larger than in that run.
    """
    if name not in BUDGETS:
        raise ValueError(f"{name!r} has no recorded run; expected one of {', '.join(BUDGETS)}.")
    record = recorded(name)[0]
    most = len(record.curve)
    if not 0 <= epochs <= most:
        raise ValueError(
            f"epochs is {epochs}; expected 0 to {most}, as many as the recorded run has."
        )
    expected = expected_errors(name)
    after = ", ".join(f"{error:.3f} after {epoch}" for epoch, error in expected.items())
    print(f"{name}, validation MAE of the recorded run by epoch: {after}")
    if epochs == 0:
        return None
    recipe = get_recipe(name)
    recipe, data = at_budget(recipe, data_for(recipe, source), **BUDGETS[name])

    def show(model: torch.nn.Module, row: dict[str, float]) -> bool:
        epoch = int(row["epoch"]) + 1
        recorded_error = record.curve[epoch - 1]["val_mae"]
        print(f"epoch {epoch}: {row['val_mae']:.3f} here, {recorded_error:.3f} in the record")
        return epoch == epochs

    command = f"gtcourse.course.on_zinc.train_on_zinc({name!r}, {epochs}, seed={seed})"
    buckets = record.config["buckets"]
    return train(recipe, data, command=command, seed=seed, buckets=buckets, on_epoch_end=show)
