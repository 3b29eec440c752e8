"""Runs in JSON Lines files, and the measurements beside them."""

import json
from dataclasses import replace

import pytest

from gtcourse.course.records import (
    RECORDS,
    file_of,
    measurement,
    read_records,
    recorded,
    store,
)
from tests.runs.test_record import a_run


def test_a_run_replaces_the_one_with_its_name_and_seed(tmp_path):
    path = tmp_path / "chapter.jsonl"
    assert read_records(path) == []
    first = a_run(1, 0.4)
    second = a_run(0, 0.3)
    other = replace(a_run(0, 0.5), name="a/zinc")
    store([first, second], path)
    store([other], path)
    store([a_run(1, 0.2)], path)
    assert read_records(path) == [other, second, a_run(1, 0.2)]
    before = path.read_bytes()
    store([second], path)
    assert path.read_bytes() == before
    assert b"NaN" not in before


def test_every_file_of_runs_is_sorted_and_holds_each_run_once():
    keys = []
    for path in sorted(RECORDS.glob("*.jsonl")):
        runs = [(record.name, record.seed) for record in read_records(path)]
        assert runs == sorted(runs), path.name
        keys += runs
    assert keys
    assert len(keys) == len({*keys})


def test_recorded_runs_of_a_name_are_sorted_by_seed():
    runs = recorded("csa/molecules")
    assert [run.seed for run in runs] == [0, 1, 2]
    assert {run.name for run in runs} == {"csa/molecules"}
    with pytest.raises(KeyError, match="no run called 'csa' is recorded in"):
        recorded("csa")


def test_an_invalid_record_raises_with_its_file(tmp_path):
    path = tmp_path / "chapter.jsonl"
    path.write_text(json.dumps({"name": "csa/zinc"}) + "\n")
    with pytest.raises(
        ValueError, match=r"chapter.jsonl is not a record of a run \(missing or unkn"
    ):
        read_records(path)


@pytest.mark.parametrize("path", sorted(RECORDS.glob("*.json")), ids=lambda path: path.stem)
def test_every_measurement_states_its_environment(path):
    assert measurement(path.stem)


def test_the_runs_of_a_name_are_in_one_file_and_no_other():
    names = {}
    for path in sorted(RECORDS.glob("*.jsonl")):
        for record in read_records(path):
            names.setdefault(record.name, set()).add(path)
    assert {name: paths for name, paths in names.items() if len(paths) > 1} == {}
    name, (path,) = next(iter(names.items()))
    assert file_of(name) == path
    with pytest.raises(KeyError, match=r"no run called 'no/run' is recorded in .*; expected one"):
        file_of("no/run")
