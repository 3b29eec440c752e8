"""A run on disk: everything that the next step depends on, replaced in one move.

A checkpoint is written beside the old one and renamed over it, so that a kill at any moment leaves
either the old or the new one, whole. It is read without executing anything (``weights_only``).
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from gtcourse.graphs.writing import locked, remove_halves, replacing, write_tensors
from gtcourse.training.epoch import Part
from gtcourse.training.processes import is_first_process
from gtcourse.training.tensor_files import read_tensors

AFRESH = "Delete it to start the run afresh."
LOCK = ".lock"
"""In a run's folder; empty, and held by the process that trains there."""


class Checkpoint:
    """Saves and restores one run in ``folder``.

    Args:
        folder: made if need be.
        model, optimizer, schedule: whose state is saved, and restored in place.
        seed: the run's. The checkpoint of a run with another seed, model, optimizer or schedule
            is refused.
        settings: what else makes it this run, by name, as text. What an older file does not say is
            not compared.
    """

    def __init__(
        self,
        folder: Path,
        model: nn.Module,
        optimizer: Optimizer,
        schedule,
        seed: int,
        **settings: str,
    ):
        self.path = folder / "last.ckpt"
        self.parts = {"model": model, "optimizer": optimizer}
        if schedule is not None:
            self.parts["schedule"] = schedule
        self.run = {
            "seed": seed,
            "optimizer": f"{type(optimizer).__name__} {optimizer.defaults}",
            "schedule": f"{type(schedule).__name__} {getattr(schedule, 'total_steps', '')}".strip(),
            **settings,
        }
        self.best_weights: dict[str, Tensor] | None = None
        self.part: Part | None = None
        folder.mkdir(parents=True, exist_ok=True)

    def load(self) -> dict:
        """Restores the run, if there is one, and returns its history's fields.

        ``best_weights`` and ``part``, of an epoch that is not over, are then the run's.

        Raises:
            ValueError: the file is damaged, or belongs to another run.
        """
        if not self.path.exists():
            return {}
        state = self._read()
        try:
            self._restore(state)
        except Exception as error:  # whatever a part says to a state that is none
            raise self._no_checkpoint() from error
        return state["history"]

    def _restore(self, state: dict) -> None:
        for name, part in self.parts.items():
            part.load_state_dict(state[name])
        self.best_weights = state["best_weights"]
        reached = state.get("part")  # older files have none: they are of an epoch's end
        self.part = None if reached is None else Part(**reached)
        torch.set_rng_state(state["rng"])
        if torch.cuda.is_available() and state["cuda_rng"] is not None:
            torch.cuda.set_rng_state(state["cuda_rng"])

    def save(
        self, history: dict, best_weights: dict[str, Tensor] | None, part: Part | None = None
    ) -> None:
        """Replaces what is there.

        Args:
            part: of the epoch after those of the history, in the middle of it.
        """
        state = {name: part.state_dict() for name, part in self.parts.items()}
        state |= {
            "run": self.run,
            "history": history,
            "best_weights": best_weights,
            "part": None if part is None else asdict(part),
            "rng": torch.get_rng_state(),
            "cuda_rng": torch.cuda.get_rng_state() if torch.cuda.is_available() else None,
        }
        write_tensors(self.path, state)

    def _read(self) -> dict:
        state = read_tensors(self.path, "the checkpoint of a run", AFRESH)
        expected = {"history", "best_weights", "rng", "cuda_rng", *self.parts}
        dicts = isinstance(state, dict) and all(
            isinstance(state.get(name), dict) for name in ("run", "model", "history")
        )
        if not dicts or not all(map(torch.is_tensor, state["model"].values())):
            raise self._no_checkpoint()
        self._refuse_another_run(state)
        if expected - {*state}:
            raise self._no_checkpoint()
        return state

    def _no_checkpoint(self) -> ValueError:
        return ValueError(f"{self.path} is no checkpoint; expected what a run leaves. {AFRESH}")

    def _refuse_another_run(self, state: dict) -> None:
        def shapes(weights: dict[str, Tensor]) -> dict[str, tuple[int, ...]]:
            return {name: tuple(weight.shape) for name, weight in weights.items()}

        theirs = state["run"]
        reasons = [
            f"its {name} is {theirs.get(name)}, not {value}"
            for name, value in self.run.items()
            if theirs.get(name, value) != value
        ]
        if shapes(state["model"]) != shapes(self.parts["model"].state_dict()):
            reasons.append("its model has other weights")
        if reasons:
            raise ValueError(
                f"{self.path} belongs to another run ({'; '.join(reasons)}); expected the run that "
                "began there. Choose another folder, or delete it."
            )


@contextmanager
def alone_in(folder: Path | str | None) -> Iterator[None]:
    """A run's folder for this process alone, without what a killed one was writing.

    Of a run's several processes the first has it for all.

    Raises:
        ValueError: another process is training there.
    """
    if folder is None or not is_first_process():
        yield
        return
    folder = Path(folder)
    refusal = f"another process is training in {folder}; expected a folder for each run."
    with locked(folder / LOCK, otherwise=refusal):
        for place in (folder, folder / "weights"):
            if place.is_dir():
                remove_halves(place)
        yield


def write_curve(path: Path, rows: list[dict[str, float]]) -> None:
    """The curve as a CSV file, a row for each epoch."""
    with replacing(path) as temporary, open(temporary, "w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
