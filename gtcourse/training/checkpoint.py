"""The files of a run: its checkpoint, its curve and its TensorBoard log.

A file is written beside the old one and renamed over it, so a kill at any moment leaves the old one
or the new one. A checkpoint is read without executing anything (``weights_only``).
"""

from __future__ import annotations

import csv
import os
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import torch

from gtcourse.graphs.files import in_a_sentence, locked, remove_halves, replacing, write_tensors


class Checkpoint:
    """Saves and restores one run in ``folder``.

    Args:
        folder: created if need be.
        run: what makes it this run, by name, as text. A checkpoint of another run is refused.
        parts: what has a ``state_dict``: model, optimizer, schedule. Restored in place.
    """

    def __init__(self, folder: Path, run: dict[str, str], **parts):
        self.path = folder / "last.ckpt"
        self.run = run
        self.parts = {name: part for name, part in parts.items() if part is not None}
        folder.mkdir(parents=True, exist_ok=True)

    def save(self, **progress) -> None:
        """Replaces the checkpoint.

        Args:
            progress: tensors, numbers and text that :meth:`load` gives back.
        """
        state = {name: part.state_dict() for name, part in self.parts.items()}
        cuda = torch.cuda.get_rng_state() if torch.cuda.is_available() else None
        state |= {"run": self.run, "rng": torch.get_rng_state(), "cuda_rng": cuda}
        write_tensors(self.path, {**state, "progress": progress})

    def load(self) -> dict:
        """Restores the run, if there is one, and returns its progress.

        Raises:
            ValueError: the file is damaged, or belongs to another run.
        """
        if not self.path.exists():
            return {}
        state = read_tensors(self.path, "the checkpoint of a run; delete it to start afresh")
        try:
            self._check_run(state["run"])
            for name, part in self.parts.items():
                part.load_state_dict(state[name])
            torch.set_rng_state(state["rng"])
            if torch.cuda.is_available() and state["cuda_rng"] is not None:
                torch.cuda.set_rng_state(state["cuda_rng"])
            return dict(state["progress"])
        except (KeyError, TypeError, IndexError, AttributeError, RuntimeError) as error:
            raise ValueError(
                f"{self.path} is not this run's checkpoint ({first_line(error)}); expected the one "
                "that the run left. Delete it to start afresh."
            ) from error

    def _check_run(self, theirs: dict[str, str]) -> None:
        differs = [
            f"its {name} is {theirs.get(name)}, not {value}"
            for name, value in self.run.items()
            if theirs.get(name) != value
        ]
        if differs:
            raise ValueError(
                f"{self.path} belongs to another run ({'; '.join(differs)}); expected the run that "
                "began there. Choose another folder, or delete it."
            )


def read_tensors(path: Path, expected: str) -> object:
    """What ``torch.save`` wrote: tensors, numbers and text in lists and dictionaries.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is damaged, it is something else, or it would run code.
    """
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}; expected {expected}.")
    try:
        with zipfile.ZipFile(path) as archive:  # torch compares no checksums
            if any(part.compress_type for part in archive.infolist()):  # as torch never writes it
                raise ValueError("a part is compressed")
            if damaged := archive.testzip():
                raise ValueError(f"{damaged!r} does not have its checksum")
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # of a broken pickle torch raises anything
        why = "it would run code" if "nsupported" in str(error) else first_line(error)
        raise ValueError(f"{path} cannot be read ({why}); expected {expected}.") from None


@contextmanager
def exclusive(folder: Path | str) -> Iterator[None]:
    """A run's folder for this process alone, cleared of what a killed one was writing.

    Raises:
        ValueError: another process is training there.
    """
    folder = Path(folder)
    refusal = f"another process is training in {folder}; expected a folder for each run."
    with locked(folder / ".lock", otherwise=refusal):
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


class Board:
    """Appends rows to a new TensorBoard file in ``folder``.

    Without tensorboardX's thread: where the disk is full, it dies unnoticed and the run waits for
    it forever.
    """

    def __init__(self, folder: Path):
        from tensorboardX.event_file_writer import EventsWriter  # half a second to import

        self.folder = folder
        with in_a_sentence(folder):
            folder.mkdir(parents=True, exist_ok=True)
            # The name has the second in it, within which a run may be continued.
            self._writer = EventsWriter(str(folder / "events"), filename_suffix=f".{os.getpid()}")

    def close(self) -> None:
        with suppress(OSError):  # :meth:`write` has reported it
            self._writer.close()

    def write(self, row: dict[str, float], step: int) -> None:
        from tensorboardX.proto.event_pb2 import Event
        from tensorboardX.proto.summary_pb2 import Summary

        values = [Summary.Value(tag=name, simple_value=value) for name, value in row.items()]
        event = Event(wall_time=time.time(), step=step, summary=Summary(value=values))
        with in_a_sentence(self.folder):
            self._writer.write_event(event)
            self._writer.flush()


def first_line(error: Exception) -> str:
    """An error in a few words."""
    return (str(error).strip() or type(error).__name__).splitlines()[0][:150].rstrip(".")
