"""What a run was and what came out, as JSON: the only source of a number in the book.

A record without its provenance is refused, when it is written and when it is read.
"""

from __future__ import annotations

import platform
import subprocess
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path

import torch
from torch import Tensor

from gtcourse.graphs.json_files import read_json, write_json
from gtcourse.graphs.npz import file_sha256
from gtcourse.graphs.writing import write_tensors
from gtcourse.training.record_fields import KINDS
from gtcourse.training.tensor_files import read_tensors


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


MAY_BE_EMPTY = {"weights"}


def write_record(record: Record, path: Path | str) -> None:
    """Writes a record; where a row of the curve has no number (NaN), null.

    Raises:
        ValueError: a field is empty or of another kind.
    """
    content = asdict(record)
    content["curve"] = [
        {name: None if value != value else value for name, value in row.items()}
        for row in content["curve"]
    ]
    _refuse_incomplete(content, f"the record of {record.name!r}")
    write_json(path, content)


def read_record(path: Path | str) -> Record:
    """Reads a record.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is no record, or a field is missing, empty, unknown or of another kind.
    """
    content = read_json(path, "the record of a run")
    _refuse_incomplete(content, str(path))
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
    record.weights = file_sha256(path)


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
    if file_sha256(path) != record.weights:
        raise ValueError(f"{path} is damaged; expected the file of which the record has the sum.")
    weights = read_tensors(path, "the weights of a run", "Get the file again.")
    if not isinstance(weights, dict) or not all(map(torch.is_tensor, weights.values())):
        raise ValueError(f"{path} holds something else; expected tensors by their names.")
    return weights


def record_filename(name: str, seed: int) -> str:
    return f"{_stem(name)}{seed}.json"


def _stem(name: str) -> str:
    return name.replace("/", "-") + "-seed"


def _refuse_incomplete(content: dict, what: str) -> None:
    known = {f.name for f in fields(Record)}
    needed = known - MAY_BE_EMPTY
    missing = sorted(n for n in needed if content.get(n) in (None, "", {}, []))
    if missing:
        raise ValueError(f"{what} has no {', '.join(missing)}; expected every field of a record.")
    unknown = sorted({*content} - known)
    if unknown:
        brief = ", ".join(unknown)[:100]
        raise ValueError(f"{what} has {brief}; expected only the fields of a record.")
    for name, (fits, expected) in KINDS.items():
        if name in content and not fits(content[name]):
            brief = repr(content[name])[:60]
            raise ValueError(f"{what} has {name} = {brief}; expected {expected}.")


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
