"""Records of runs and measurements that take too long to repeat in a chapter.

A run is a line of a JSON Lines file, one file for each chapter, sorted by name and seed. A
measurement is a JSON file. Both are written by the scripts in ``experiments`` and ``speed``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

from gtcourse.graphs.io import replacing
from gtcourse.runs.record import Record, as_json, record_of

RECORDS = Path(str(files("gtcourse.course.records")))


def recorded(name: str) -> list[Record]:
    """The records of the runs called ``name``, by seed; raises a KeyError if there are none."""
    path = file_of(name)
    records = [record_of(line, path) for line in lines_of(path, name)]
    return sorted(records, key=lambda record: record.seed)


def file_of(name: str) -> Path:
    """The file with the runs called ``name``; raises a KeyError if there is none."""
    for path in sorted(RECORDS.glob("*.jsonl")):
        if lines_of(path, name):
            return path
    raise KeyError(f"no run called {name!r} is recorded in {RECORDS}; expected one.")


def lines_of(path: Path, name: str) -> list[str]:
    """The lines of a file that are records of runs called ``name``."""
    start = json.dumps({"name": name})[:-1] + ", "
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.startswith(start)]


def measurement(name: str) -> dict:
    """A measurement that is not a run, such as "models-benchmark"."""
    return json.loads((RECORDS / f"{name}.json").read_text(encoding="utf-8"))


def read_records(path: Path) -> list[Record]:
    """All runs in a JSON Lines file; none if there is no such file."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [record_of(line, path) for line in lines]


def store(records: Iterable[Record], path: Path) -> None:
    """Writes runs into a JSON Lines file, in place of those with the same names and seeds."""
    runs = {(record.name, record.seed): record for record in [*read_records(path), *records]}
    lines = [json.dumps(as_json(runs[key]), allow_nan=False) for key in sorted(runs)]
    with replacing(path) as temporary:
        temporary.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
