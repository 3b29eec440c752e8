"""The files of a run: its record as JSON, the only source of a number in the book; its weights.

A file is written beside the old one and renamed over it, so a kill at any moment leaves the old one
or the new one. Tensors are read without executing anything (``weights_only``).
"""

from __future__ import annotations

import csv
import json
import os
import platform
import subprocess
import time
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import get_origin, get_type_hints

import torch
from torch import Tensor

from gtcourse.graphs.files import file_sha256, locked, replacing, write_tensors

PACKAGE = Path(str(files("gtcourse")))
RECORDED = PACKAGE / "recorded"


def current_commit() -> str:
    """The commit of the package's source, "+changes" if it has any, or the installed version."""

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=PACKAGE, capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""

    with suppress(FileNotFoundError):  # no git on this machine
        if git("ls-files", "__init__.py"):
            # The records themselves are part of the package, but not of what ran.
            watched = (".", f":(exclude){RECORDED}")
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
        commit, device, versions, date: where it ran.
        weights: SHA-256 of the file of trained weights, if they are stored.
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
    commit: str = field(default_factory=current_commit)
    device: str = field(default_factory=device_name)
    versions: dict = field(default_factory=installed_versions)
    date: str = field(default_factory=lambda: datetime.now(UTC).strftime("%Y-%m-%d"))
    weights: str = ""

    @property
    def filename(self) -> str:
        """Where :func:`recorded` looks for it, in the folder of records."""
        return record_filename(self.name, self.seed)

    @property
    def weights_filename(self) -> str:
        """Where :func:`read_weights` looks for its weights, in the same folder."""
        return f"weights/{Path(self.filename).stem}.pt"


def record_filename(name: str, seed: int | str) -> str:
    return f"{name.replace('/', '-')}-seed{seed}.json"


def write_record(record: Record, path: Path | str) -> None:
    """Writes a record; NaN in its curve becomes null."""
    content = asdict(record)
    for row in content["curve"]:
        row |= {name: None for name, value in row.items() if value != value}
    write_json(path, content)


def read_record(path: Path | str) -> Record:
    """Reads a record, or raises a ValueError if the file is something else."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        json.dumps(content, allow_nan=False)  # Python reads NaN, which is not JSON
        content = {"weights": ""} | {k: v for k, v in content.items() if k != "sha256"}  # if old
    except (ValueError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path} is no record of a run ({error}); expected JSON.") from None
    types = {name: get_origin(hint) or hint for name, hint in get_type_hints(Record).items()}
    types["seconds"] = int | float
    wrong = {name for name, kind in types.items() if not isinstance(content.get(name), kind)}
    wrong |= {*content} - {*types}
    if wrong:
        names = ", ".join(sorted(wrong))[:200]
        raise ValueError(f"{path} is no record of a run; expected other values of {names}.")
    return Record(**content)


def recorded(name: str) -> list[Record]:
    """The package's own records of the runs called ``name``, by seed."""
    paths = RECORDED.glob(record_filename(name, "*"))
    records = sorted(map(read_record, paths), key=lambda record: record.seed)
    if not records:
        raise KeyError(f"no run called {name!r} is recorded in {RECORDED}; expected one.")
    return records


def write_weights(record: Record, weights: dict[str, Tensor], folder: Path) -> None:
    """Stores a run's weights in the records' ``folder``, and their checksum in the record."""
    path = folder / record.weights_filename
    write_tensors(path, {name: weight.detach().cpu() for name, weight in weights.items()})
    record.weights = file_sha256(path)


def read_weights(record: Record, folder: Path = RECORDED) -> dict[str, Tensor]:
    """The weights that a recorded run ended with, by the names of ``state_dict``."""
    path = folder / record.weights_filename
    if not record.weights or not path.is_file():
        raise ValueError(
            f"the weights of {record.name!r} with seed {record.seed} are not stored in {folder}; "
            "expected a run whose record has their checksum."
        )
    if file_sha256(path) != record.weights:
        raise ValueError(f"{path} is damaged; expected the file with the record's checksum.")
    return read_tensors(path)


def read_tensors(path: Path) -> dict:
    """What ``torch.save`` wrote, or a ValueError if it is something else, or would run code."""
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises anything for a broken pickle
        reason = str(error).partition("\n")[0][:150].rstrip(".")
        raise ValueError(
            f"{path} cannot be read ({reason}); expected tensors that gtcourse saved."
        ) from None


def write_json(path: Path | str, content: dict) -> None:
    with replacing(Path(path)) as temporary:
        temporary.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n")


def write_curve(path: Path, rows: list[dict[str, float]]) -> None:
    """The curve as a CSV file, a row for each epoch."""
    with replacing(path) as temporary, open(temporary, "w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def exclusive(folder: Path) -> AbstractContextManager:
    """A run's folder for this process alone."""
    busy = f"another process is training in {folder}; expected a folder for each run."
    return locked(folder / ".lock", busy)


class Board:
    """Appends rows to a new TensorBoard file in ``folder``.

    Without tensorboardX's thread: on a full disk it dies, and the run would wait for it forever.
    """

    def __init__(self, folder: Path):
        from tensorboardX.event_file_writer import EventsWriter  # half a second to import

        folder.mkdir(parents=True, exist_ok=True)
        # The name has the second in it, within which a run may be continued.
        self._writer = EventsWriter(str(folder / "events"), filename_suffix=f".{os.getpid()}")

    def write(self, row: dict[str, float], step: int) -> None:
        from tensorboardX.proto.event_pb2 import Event
        from tensorboardX.proto.summary_pb2 import Summary

        values = [Summary.Value(tag=name, simple_value=value) for name, value in row.items()]
        event = Event(wall_time=time.time(), step=step, summary=Summary(value=values))
        self._writer.write_event(event)
        self._writer.flush()

    def close(self) -> None:
        with suppress(OSError):  # :meth:`write` has reported it
            self._writer.close()
