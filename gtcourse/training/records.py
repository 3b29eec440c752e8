"""The files of a run: its record as JSON, the only source of a number in the book; its weights,
checkpoint, curve and TensorBoard log.

A file is written beside the old one and renamed over it, so a kill at any moment leaves the old one
or the new one. Tensors are read without executing anything (``weights_only``).
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
import os
import platform
import subprocess
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path

import torch
from torch import Tensor

from gtcourse.graphs.files import locked, replacing, write_tensors


@dataclass
class Record:
    """One run.

    Attributes:
        name: what was run, such as "bag/molecules".
        config: every number that the run depends on.
        data: name, source, checksum and sizes of the data.
        seed: of weights, order and dropout.
        seconds: wall time.
        parameters: trainable numbers.
        curve: a row for each epoch; result: final metrics, such as ``{"test_mae": …}``.
        command: what to type for the same run.
        commit, device, versions, date: where it ran; filled in when it is made.
        weights: SHA-256 of the file of trained weights (:func:`write_weights`); empty if not kept.
    """

    name: str
    config: dict
    data: dict
    seed: int
    seconds: float
    parameters: int
    curve: list[dict]
    result: dict
    command: str
    commit: str = field(default_factory=lambda: current_commit())
    device: str = field(default_factory=lambda: device_name())
    versions: dict = field(default_factory=lambda: installed_versions())
    date: str = field(default_factory=lambda: datetime.now(UTC).strftime("%Y-%m-%d"))
    weights: str = ""

    @property
    def filename(self) -> str:
        """Where :func:`recorded` looks for it, in the package's folder ``recorded``."""
        return record_filename(self.name, self.seed)

    @property
    def weights_filename(self) -> str:
        """Where :func:`read_weights` looks for its weights, in the same folder."""
        return f"weights/{Path(self.filename).stem}.pt"


TYPES = {"str": str, "dict": dict, "int": int, "float": int | float, "list[dict]": list}


def write_record(record: Record, path: Path | str) -> None:
    """Writes a record; NaN in its curve becomes null.

    Raises:
        ValueError: a field is empty or of another type.
    """
    content = asdict(record)
    content["curve"] = [
        {name: None if value != value else value for name, value in row.items()}
        for row in content["curve"]
    ]
    _check_fields(content, f"the record of {record.name!r}")
    write_json(path, content)


def read_record(path: Path | str) -> Record:
    """Reads a record.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no record.
    """
    content = read_json(path, "the record of a run")
    _check_fields(content, str(path))
    return Record(**content)


def recorded(name: str) -> list[Record]:
    """The package's own records of the runs called ``name``, by seed.

    Raises:
        KeyError: there is none.
    """
    folder = files("gtcourse") / "recorded"
    stem = record_filename(name, "").removesuffix(".json")
    paths = [path for path in folder.iterdir() if path.name.startswith(stem)]
    if not paths:
        raise KeyError(
            f"no run called {name!r} is recorded in {folder}; expected the name of a run there."
        )
    return sorted(map(read_record, paths), key=lambda record: record.seed)


def write_weights(record: Record, weights: dict[str, Tensor], folder: Path) -> None:
    """Keeps a run's weights in the records' ``folder``, and their checksum in the record."""
    path = folder / record.weights_filename
    write_tensors(path, {name: weight.detach().cpu() for name, weight in weights.items()})
    record.weights = hashlib.sha256(path.read_bytes()).hexdigest()


def read_weights(record: Record, folder: Path | None = None) -> dict[str, Tensor]:
    """The weights that a recorded run ended with, by the names of ``state_dict``.

    Args:
        folder: of the records; the package's own by default.

    Raises:
        ValueError: none are kept, or the file is missing or not the one that was recorded.
    """
    path = (folder or Path(str(files("gtcourse") / "recorded"))) / record.weights_filename
    if not record.weights or not path.is_file():
        raise ValueError(
            f"no weights of {record.name!r} with seed {record.seed} are kept; expected a run whose "
            "record has their sum, and the file."
        )
    if hashlib.sha256(path.read_bytes()).hexdigest() != record.weights:
        raise ValueError(f"{path} is damaged; expected the file of which the record has the sum.")
    weights = read_tensors(path, "the weights of a run")
    if not isinstance(weights, dict) or not all(map(torch.is_tensor, weights.values())):
        raise ValueError(f"{path} holds something else; expected tensors by their names.")
    return weights


def record_filename(name: str, seed: int | str) -> str:
    return f"{name.replace('/', '-')}-seed{seed}.json"


def write_json(path: str | Path, content: dict) -> None:
    """Replaces a JSON file atomically."""
    with replacing(Path(path)) as temporary:
        temporary.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n")


def read_json(path: str | Path, expected: str) -> dict:
    """The object that a JSON file holds, without the checksum in older files.

    Args:
        expected: what the file should be, for the message: "the record of a run".
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}; expected {expected}.")
    try:
        content = json.loads(path.read_bytes(), parse_constant=_not_a_number)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON ({error}); expected {expected}.") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path} holds a {type(content).__name__}; expected {expected}.")
    content.pop("sha256", None)
    return content


def _not_a_number(word: str) -> None:
    raise ValueError(f"{word} is no number")


def _check_fields(content: dict, what: str) -> None:
    types = {f.name: TYPES[f.type] for f in fields(Record)}
    if unknown := sorted({*content} - {*types}):
        raise ValueError(f"{what} has {unknown[0][:60]}; expected only the fields of a record.")
    for name, kind in types.items():
        value = content.get(name, "" if name == "weights" else None)
        if value in (None, "", {}, []) and name != "weights":
            raise ValueError(f"{what} has no {name}; expected every field of a record.")
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ValueError(f"{what} has {name} = {value!r:.60}; expected another type.")
    for name, value in content["result"].items():
        number = isinstance(value, int | float) and math.isfinite(value)
        if not number and not isinstance(value, list):
            raise ValueError(f"{what} has {name} = {value!r:.60}; expected a finite number.")


def current_commit() -> str:
    """The commit of the package's source, "+changes" if it has any, or the installed version."""
    source = Path(__file__).parent

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=source, capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""

    with suppress(FileNotFoundError):  # no git on this machine
        if git("ls-files", Path(__file__).name):
            # The records themselves lie in the package, and are no part of what ran.
            watched = (str(source.parent), f":(exclude){source.parent / 'recorded'}")
            changed = git("status", "--porcelain", "--untracked-files=no", "--", *watched)
            return git("rev-parse", "HEAD") + ("+changes" if changed else "")
    return f"gtcourse {version('gtcourse')}"


def device_name() -> str:
    """The accelerator's name, or the processor's architecture and the threads in use."""
    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    if torch.backends.mps.is_available():
        return f"Apple MPS ({platform.machine()})"
    return f"CPU ({platform.machine()}, {torch.get_num_threads()} thread(s))"


def installed_versions() -> dict[str, str]:
    """Versions of Python and of what results depend on, where it is installed."""
    versions = {"python": platform.python_version()}
    for package in ("gtcourse", "torch", "torch-geometric", "numpy", "rdkit"):
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    return versions


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
        """Replaces the checkpoint; ``progress`` holds tensors, numbers and text."""
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
            differs = [
                f"its {name} is {state['run'].get(name)}, not {value}"
                for name, value in self.run.items()
                if state["run"].get(name) != value
            ]
            if differs:
                raise ValueError(
                    f"{self.path} belongs to another run ({'; '.join(differs)}); expected the run "
                    "that began there. Choose another folder, or delete it."
                )
            for name, part in self.parts.items():
                part.load_state_dict(state[name])
            torch.set_rng_state(state["rng"])
            if torch.cuda.is_available() and state["cuda_rng"] is not None:
                torch.cuda.set_rng_state(state["cuda_rng"])
            return dict(state["progress"])
        except (KeyError, TypeError, IndexError, AttributeError, RuntimeError) as error:
            raise ValueError(
                f"{self.path} is not this run's checkpoint ({_first_line(error)}); expected the "
                "one that the run left. Delete it to start afresh."
            ) from error


def read_tensors(path: Path, expected: str) -> object:
    """What ``torch.save`` wrote: tensors, numbers and text in lists and dictionaries.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is damaged, something else, or would run code.
    """
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}; expected {expected}.")
    try:
        with zipfile.ZipFile(path) as archive:  # torch compares no checksums
            if damaged := archive.testzip():
                raise ValueError(f"{damaged!r} does not have its checksum")
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # of a broken pickle torch raises anything
        why = "it would run code" if "nsupported" in str(error) else _first_line(error)
        raise ValueError(f"{path} cannot be read ({why}); expected {expected}.") from None


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:150].rstrip(".")


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """A run's folder for this process alone."""
    refusal = f"another process is training in {folder}; expected a folder for each run."
    with locked(folder / ".lock", busy=refusal):
        yield


def write_curve(path: Path, rows: list[dict[str, float]]) -> None:
    """The curve as a CSV file, a row for each epoch."""
    with replacing(path) as temporary, open(temporary, "w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


class Board:
    """Appends rows to a new TensorBoard file in ``folder``.

    Without tensorboardX's thread, which dies unnoticed when the disk is full: the run would wait
    for it forever.
    """

    def __init__(self, folder: Path):
        from tensorboardX.event_file_writer import EventsWriter  # half a second to import

        self.folder = folder
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
        self._writer.write_event(event)
        self._writer.flush()
