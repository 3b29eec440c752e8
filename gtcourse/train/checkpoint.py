"""The state of a run, and the checkpoint from which it is resumed.

A checkpoint is written with ``torch.save``, because an optimizer's state is nested. Reading it
executes no code in it. The final weights of a run are safetensors (:mod:`gtcourse.runs.record`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor

from gtcourse.graphs.io import check_same, write_tensors

if TYPE_CHECKING:
    from lightning_fabric import Fabric

FILENAME = "last.ckpt"

REMOVE = "Remove this file to begin the run again."

NEWER = ("data", "accumulate", "precision", "encodings", "type of the weights")
"""Parts of a run's identity that may be missing in checkpoints of earlier releases."""


@dataclass
class History:
    """The history of a run.

    Attributes:
        epochs: a row for each epoch with epoch, lr, train_loss, val_<metric> and seconds.
        best: the row of the epoch whose weights the model has. It is the best epoch by the
            monitored metric, or the last one without validation; None if the metric was always NaN.
        steps: the number of optimizer steps.
    """

    epochs: list[dict[str, float]] = field(default_factory=list)
    best: dict[str, float] | None = None
    steps: int = 0

    @property
    def seconds(self) -> float:
        """The time spent on all epochs, in seconds."""
        return sum(self.column("seconds"))

    def column(self, name: str) -> list[float]:
        """The values of this column in all epochs."""
        return [row[name] for row in self.epochs]


@dataclass
class Epoch:
    """An unfinished epoch of one process.

    Attributes:
        lr: the learning rate at its start.
        batches: the number of batches so far.
        graphs: the number of graphs so far.
        loss: the loss summed over these graphs.
        seconds: the time spent so far.
    """

    lr: float
    batches: int = 0
    graphs: int = 0
    loss: float | Tensor = 0.0
    seconds: float = 0.0


@dataclass
class Progress:
    """How far a run has come.

    Attributes:
        history: the finished epochs.
        best_weights: the weights of ``history.best``, in the form of ``state_dict``.
        current: the unfinished epoch, if there is one.
    """

    history: History = field(default_factory=History)
    best_weights: dict[str, Tensor] | None = None
    current: Epoch | None = None


class Part(Protocol):
    """A model, an optimizer or a schedule."""

    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state_dict: dict[str, Any], /) -> object: ...


class Checkpoint:
    """The file ``last.ckpt`` of a run: saves and restores everything that the run depends on.

    Args:
        folder: the folder of the run.
        fabric: connects the processes; all take part in saving, and the first one writes.
        identity: by name, what a checkpoint and the run that resumes it have to share.
        parts: model, optimizer and schedule, by name; :meth:`restore` changes them in place.
        complete: turns the identity in a file of this model, which an earlier release may have
            written, into what today's release would have written.
    """

    def __init__(
        self,
        folder: Path,
        fabric: Fabric,
        identity: Mapping[str, str],
        parts: Mapping[str, Part],
        complete: Callable[[Mapping[str, str]], dict[str, str]] = dict,
    ):
        self.path = folder / FILENAME
        self.fabric = fabric
        self.identity = dict(identity)
        self.parts = dict(parts)
        self.complete = complete

    def save(self, progress: Progress, current: Epoch | None) -> None:
        """Writes the file again: a new file replaces the old one when it is complete.

        Args:
            progress: how far the run has come.
            current: the unfinished epoch of the run, with sums over all processes.
        """
        random = random_state(self.fabric)  # gathered from all processes
        if self.fabric.global_rank > 0:
            return
        state: dict[str, Any] = {name: part.state_dict() for name, part in self.parts.items()}
        state["run"] = self.identity
        state["random"] = random
        state["history"] = asdict(progress.history)
        state["current"] = None if current is None else asdict(current)
        state["best_weights"] = progress.best_weights
        write_tensors(self.path, state)

    def restore(self) -> Progress:
        """Restores the parts and the random generators, and returns the progress of the run.

        If there is no file, nothing changes, and the progress is that of a new run.

        Raises:
            ValueError: the file cannot be read, or belongs to another run.
        """
        if not self.path.exists():
            return Progress()
        state = self._read()
        saved = state["run"]
        if saved.keys() <= self.identity.keys():  # another model has other fields
            saved = self.complete(saved)
        ours = {
            name: value
            for name, value in self.identity.items()
            if name in saved or name not in NEWER
        }
        check_same(f"{self.path} belongs to another run", ours, saved)
        try:
            return self._restored(state)
        except Exception as error:  # torch raises anything for parts that do not fit
            raise self._damaged("its parts do not fit this model") from error

    def _read(self) -> dict[str, Any]:
        """The file, which has everything that :meth:`save` wrote."""
        try:
            state = read_tensors(self.path)
        except ValueError as error:
            raise ValueError(f"{error} {REMOVE}") from None
        expected = [*self.parts, "run", "random", "history", "current", "best_weights"]
        if not isinstance(state, dict) or not _are_texts(state.get("run")):
            raise self._damaged("it describes no run")
        if missing := [name for name in expected if name not in state]:
            raise self._damaged(f"without {', '.join(missing)}")
        return state

    def _restored(self, state: dict[str, Any]) -> Progress:
        for name, part in self.parts.items():
            part.load_state_dict(state[name])
        rank = self.fabric.global_rank
        set_random_state({name: each[rank].clone() for name, each in state["random"].items()})
        progress = Progress(History(**state["history"]), state["best_weights"])
        if state["current"] is not None:
            progress.current = Epoch(**state["current"])
            if rank > 0:  # the first process continues with the sums of all
                progress.current.loss = 0.0
                progress.current.graphs = 0
        return progress

    def _damaged(self, reason: str) -> ValueError:
        return ValueError(
            f"{self.path} is damaged ({reason}); expected a checkpoint of this run. {REMOVE}"
        )


def _are_texts(identity: object) -> bool:
    """Whether this is a dictionary of texts, as the identity of a run is."""
    if not isinstance(identity, dict):
        return False
    return all(isinstance(text, str) for text in [*identity, *identity.values()])


def read_tensors(path: Path) -> dict[str, Any]:
    """Reads what ``torch.save`` wrote.

    Raises:
        ValueError: the file is something else, or contains more than tensors and plain values,
            whose loading would run code.
    """
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises anything for a broken pickle
        sentence = str(error).partition("\n")[0].partition(". ")[0][:150].rstrip(".")
        reason = ": ".join(filter(None, [type(error).__name__, sentence]))
        raise ValueError(
            f"{path} cannot be read ({reason}); expected tensors that gtcourse saved."
        ) from None


def random_state(fabric: Fabric) -> dict[str, Tensor]:
    """The state of each random generator in all processes, ``[processes, bytes]``."""
    states = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        states["cuda"] = torch.cuda.get_rng_state()
    gathered = {}
    for name, state in states.items():
        of_all = fabric.all_gather(state)
        assert isinstance(of_all, Tensor)  # as what was given
        gathered[name] = of_all.reshape(fabric.world_size, -1).cpu()
    return gathered


def set_random_state(states: Mapping[str, Tensor]) -> None:
    """Sets the generators of this process."""
    torch.set_rng_state(states["cpu"])
    if torch.cuda.is_available() and "cuda" in states:
        torch.cuda.set_rng_state(states["cuda"])
