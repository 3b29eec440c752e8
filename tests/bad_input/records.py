"""What runs leave as JSON: their records, and what a run's folder says it is."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

from gtcourse.training.records import (
    Record,
    read_record,
    recorded,
    write_record,
)
from gtcourse.training.results import read_results
from gtcourse.training.run import claim
from tests.bad_input.case import Case

NAN = float("nan")


def a_record(**changes) -> Record:
    given = {
        "name": "gin-100k/zinc",
        "config": {"epochs": 2},
        "data": {"name": "zinc", "source": "made", "checksum": "0"},
        "seed": 0,
        "seconds": 1.5,
        "parameters": 10,
        "curve": [{"epoch": 0, "train_loss": 1.0}],
        "result": {"test_mae": 0.5},
        "command": "none",
        "commit": "0",
        "device": "CPU",
        "versions": {"python": "3"},
        "date": "2026-01-01",
    }
    return Record(**given | changes)


def text_of(**changes) -> str:
    return json.dumps(asdict(a_record()) | changes)


def written(content: str | bytes, read: Callable = read_record) -> Callable:
    """A record's file with this content."""

    def make(folder: Path) -> Callable:
        path = folder / "r-seed0.json"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return lambda: read(path)

    return make


THE_RECORD = "{folder}/r-seed0.json "
DEEP = "[" * 100_000
RECORDS = [
    Case(what, written(content), THE_RECORD + says)
    for what, content, says in [
        ("an empty file", "", "is not JSON (Expecting value: line 1 column 1 (char 0)); expected"),
        ("half a record", text_of()[:99], "is not JSON ("),
        ("a list", "[1]", "holds a list; expected the record of a run"),
        ("no UTF-8", b"\xff\xfe{", "is not JSON ('utf-"),
        ("brackets without end", DEEP, "is not JSON (maximum recursion depth exceeded"),
        ("9,999 digits", '{"seed": ' + "9" * 9999 + "}", "is not JSON (Exceeds the limi"),
        ("NaN", text_of(seconds=NAN), "is not JSON (NaN is no number); expected the record"),
        ("Infinity", text_of(result={"a": 2e308}), "is not JSON (Infinity is no number); expected"),
        ("another field", text_of(accuracy=1), "has accuracy; expected only the fields"),
        ("no seed", text_of(seed=None), "has no seed; expected every field of a record"),
        ("no curve", text_of(curve=[]), "has no curve; expected every field of a record"),
        ("a seed in words", text_of(seed="0"), "has seed = '0'; expected another type"),
        ("half a parameter", text_of(parameters=0.5), "has parameters = 0.5; expected another"),
        ("a curve in words", text_of(curve="down"), "has curve = 'down'; expected another type"),
        ("a result in words", text_of(result={"mae": "low"}), "has mae = 'low'; expected a finite"),
        ("a list for the settings", text_of(config=[1]), "has config = [1]; expected another"),
        ("a number for the commit", text_of(commit=5), "has commit = 5; expected another type"),
    ]
] + [
    Case(
        "a record that is not there",
        lambda folder: lambda: read_record(folder / "lost.json"),
        "there is no file {folder}/lost.json; expected the record of a run",
        FileNotFoundError,
    ),
    Case(
        "a folder for a record",
        lambda folder: lambda: read_record(folder),
        "there is no file {folder}; expected the record of a run",
        FileNotFoundError,
    ),
    Case(
        "a record with an empty field that is to be written",
        lambda folder: lambda: write_record(a_record(curve=[]), folder / "r.json"),
        "the record of 'gin-100k/zinc' has no curve; expected every field",
    ),
    Case(
        "a record with a NaN result that is to be written",
        lambda folder: lambda: write_record(a_record(result={"mae": NAN}), folder / "r.json"),
        "has mae = nan; expected a finite number",
    ),
    Case(
        "a run that nobody recorded",
        lambda folder: lambda: recorded("nothing/nowhere"),
        "no run called 'nothing/nowhere' is recorded in",
        KeyError,
    ),
    Case(
        "a record without epochs among results",
        written(text_of(config={"lr": 1}), lambda path: read_results([path.parent])),
        "has no epochs in its config; expected the record of a recipe's run",
    ),
]


WHAT = {"config": {"epochs": 3}, "data": {"name": "zinc"}, "seed": 0}


def run_folder(content: str) -> Callable:
    def make(folder: Path) -> Callable:
        (folder / "run.json").write_text(content)
        (folder / "last.ckpt").touch()
        return lambda: claim(folder, WHAT, resume=True)

    return make


RUN_FOLDERS = [
    Case(f"run.json with {what}", run_folder(content), "{folder}/run.json " + says)
    for what, content, says in [
        (
            "nothing",
            "",
            "is not JSON (Expecting value: line 1 column 1 (char 0)); expected what a run",
        ),
        ("a list", "[]", "holds a list; expected what a run is"),
    ]
] + [
    Case(
        "a folder without a run to resume",
        lambda folder: lambda: claim(folder, WHAT, resume=True),
        "{folder} holds no run to resume; expected one that was begun there",
    ),
    Case(
        "a folder with another run",
        run_folder(json.dumps(WHAT | {"commit": "0", "seed": 7})),
        "{folder} holds another run, which differs in seed; expected the run that began there",
    ),
]

CASES = [*(replace(case, what=f"a record of {case.what}") for case in RECORDS), *RUN_FOLDERS]
