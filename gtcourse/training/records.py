"""What a run was and what came out, as JSON: the only source of a number in the book."""

from __future__ import annotations

import hashlib
import json
import math
import platform
import subprocess
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path

import torch
from torch import Tensor

from gtcourse.graphs.files import replacing, write_tensors
from gtcourse.training.checkpoint import read_tensors

LARGEST_FILE = 2**24
"""Bytes of a JSON file that is read, a hundred times a long run's record."""


@dataclass
class Record:
    """One run.

    Attributes:
        name: what was run, for instance "bag/molecules".
        config: every number that the run depends on.
        data: name, source, checksum and sizes of the data.
        seed: of weights, order and dropout.
        seconds: wall time.
        parameters: trainable numbers.
        curve: a row for each epoch.
        result: final metrics by name, for instance ``{"test_mae": …}``.
        command: what to type for the same run.
        commit, device, versions, date: where it ran; filled in when it is made.
        weights: SHA-256 of the file of the trained weights, where they are kept
            (:func:`write_weights`); otherwise empty.
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
        return f"weights/{_stem(self.name)}{self.seed}.pt"


TYPES = {
    **dict.fromkeys(("name", "command", "commit", "device", "date", "weights"), str),
    **dict.fromkeys(("config", "data", "result", "versions"), dict),
    **{"seed": int, "parameters": int, "seconds": int | float, "curve": list},
}


def write_record(record: Record, path: Path | str) -> None:
    """Writes a record; where a row of the curve has no number (NaN), null.

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
        ValueError: the file is no record, or a field is missing, empty, unknown or of another type.
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
    paths = sorted(p for p in folder.iterdir() if p.name.startswith(_stem(name)))
    if not paths:
        raise KeyError(
            f"no run called {name!r} is recorded in {folder}; expected the name of a run there."
        )
    return sorted((read_record(path) for path in paths), key=lambda record: record.seed)


def write_weights(record: Record, weights: dict[str, Tensor], folder: Path) -> None:
    """Keeps a run's weights in the records' ``folder``, and their checksum in the record."""
    path = folder / record.weights_filename
    write_tensors(path, {name: weight.detach().cpu() for name, weight in weights.items()})
    record.weights = hashlib.sha256(path.read_bytes()).hexdigest()


def read_weights(record: Record, folder: Path | None = None) -> dict[str, Tensor]:
    """The weights that a recorded run ended with, by the names of ``state_dict``.

    Args:
        folder: of the records; the package's own where it is None.

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


def record_filename(name: str, seed: int) -> str:
    return f"{_stem(name)}{seed}.json"


def _stem(name: str) -> str:
    return name.replace("/", "-") + "-seed"


def write_json(path: str | Path, content: dict) -> None:
    """Replaces a JSON file atomically."""
    with replacing(Path(path)) as temporary:
        temporary.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n")


def read_json(path: str | Path, expected: str) -> dict:
    """The object that a JSON file holds; the seal of older files is left out.

    Args:
        expected: what the file should be, for the message: "the record of a run".

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no JSON object, or holds NaN, or is larger than ``LARGEST_FILE``.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}; expected {expected}.")
    if path.stat().st_size > LARGEST_FILE:
        raise ValueError(f"{path} is larger than {LARGEST_FILE:,} bytes; expected {expected}.")
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
    names = {f.name for f in fields(Record)}
    if unknown := sorted({*content} - names):
        raise ValueError(f"{what} has {unknown[0][:60]}; expected only the fields of a record.")
    empty = {n for n in names - {"weights"} if content.get(n) in (None, "", {}, [])}
    if empty:
        raise ValueError(
            f"{what} has no {', '.join(sorted(empty))}; expected every field of a record."
        )
    for name, value in content.items():
        if not isinstance(value, TYPES[name]) or isinstance(value, bool):
            raise ValueError(f"{what} has {name} = {value!r:.60}; expected another type.")
    for name, value in content["result"].items():
        if not isinstance(value, list) and not (
            isinstance(value, int | float) and math.isfinite(value)
        ):
            raise ValueError(f"{what} has {name} = {value!r:.60}; expected a finite number.")


def current_commit() -> str:
    """The commit of the package's source, "+changes" if it has any, or the installed version."""
    source = Path(__file__).parent

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=source, capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""

    try:
        commit = git("rev-parse", "HEAD") if git("ls-files", Path(__file__).name) else ""
        # The records themselves lie in the package, and are no part of what ran.
        watched = (str(source.parent), f":(exclude){source.parent / 'recorded'}")
        changed = bool(git("status", "--porcelain", "--untracked-files=no", "--", *watched))
    except FileNotFoundError:  # no git on this machine
        commit = ""
    if commit:
        return commit + ("+changes" if changed else "")
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
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions
