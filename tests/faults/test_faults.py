"""Kills, full disks, several processes at once and Ctrl-C: one sentence, and the next run finishes.

``FAULT_MOMENTS=20 pytest tests/faults`` kills each job at more moments.
"""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest

if not hasattr(os, "fork"):
    pytest.skip("there is no fork on this system", allow_module_level=True)

from tests.faults import jobs
from tests.faults.jobs import Child, done, files, rubbish, trained

pytestmark = pytest.mark.slow
MOMENTS = int(os.environ.get("FAULT_MOMENTS", "4"))
TWO_DAYS = 2 * 24 * 60 * 60
JOBS = {
    "train": (jobs.train, trained),
    "prepare": (jobs.prepare_graphs, files),
    "cache": (jobs.cache, files),
    "download": (jobs.download, files),
    "write": (jobs.write, files),
}


@pytest.fixture(scope="module", params=JOBS)
def whole(request, tmp_path_factory):
    """A job, what reads its result, that result, and how long it takes."""
    name = request.param
    job, result = JOBS[name]
    place = tmp_path_factory.mktemp(name)
    jobs.PREPARED.get(name, lambda place: None)(place)
    ended = [done(job, place / f"whole-{number}") for number in range(2)]
    assert [each.code for each in ended] == [0, 0], ended
    expected = result(place / "whole-0")
    assert result(place / "whole-1") == expected
    return name, job, result, expected, min(each.seconds for each in ended), place


@pytest.mark.parametrize("moment", range(MOMENTS))
def test_a_killed_job_is_finished_by_the_next_one_with_the_same_result(whole, moment):
    name, job, result, expected, seconds, place = whole
    folder = place / f"killed-{moment}"
    share = (moment + random.Random(f"{name} {moment}").random()) / MOMENTS
    child = Child(job, folder)
    child.signal_after(share * seconds)
    killed = child.end()
    assert killed.code in (-signal.SIGKILL, 0)  # it may have ended before, on a busy machine
    again = done(job, folder)
    assert again.code == 0, again.output
    assert result(folder) == expected
    if rubbish(folder):  # without a lock, unfinished files are kept for a day
        for path in folder.rglob(".*.tmp"):
            os.utime(path, (time.time() - TWO_DAYS,) * 2)
        assert done(job, folder).code == 0
    assert rubbish(folder) == []


@pytest.mark.parametrize("victims", [0, 1])
def test_several_processes_at_once_give_one_result(whole, victims):
    name, job, result, expected, seconds, place = whole
    folder = place / f"together-{victims}"
    children = [Child(job, folder, after=0.3) for _ in range(3)]
    for child in children[:victims]:
        child.signal_after(0.3 + seconds / 2)
    ended = [child.end() for child in children]
    if name == "train":  # one has the folder, the others are refused
        assert all(
            each.code == 0 or "another process is training in" in each.output
            for each in ended[victims:]
        )
        assert done(job, folder).code == 0
    else:
        assert [each.code for each in ended[victims:]] == [0] * (3 - victims), ended
    assert result(folder) == expected
    assert name == "write" or rubbish(folder) == []


def test_a_full_disk_is_one_sentence_and_the_next_run_goes_on(whole):
    name, job, result, expected, _, place = whole
    folder = place / "full"
    full = done(job, folder, file_limit=100 if name == "download" else 1000)
    assert full.code == 1
    assert "File too large" in full.output or name == "download"
    assert "Traceback" not in full.output
    assert not [path for path in rubbish(folder) if path.endswith(".tmp")]
    assert done(job, folder).code == 0
    assert result(folder) == expected


def test_on_a_full_disk_the_old_files_stay(tmp_path):
    folder = tmp_path / "files"
    assert done(jobs.write, folder).code == 0
    before = files(folder)
    full = done(_write_another, folder, file_limit=2000)
    assert full.code == 1
    assert "File too large" in full.output
    assert files(folder) == before


def _write_another(folder: Path) -> None:
    jobs.write(folder, version=2)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda n: n.name)
@pytest.mark.parametrize("command", ["train", "prepare"])
def test_ctrl_c_ends_a_command_in_a_sentence_and_the_same_command_goes_on(
    tmp_path, command, number
):
    place = tmp_path / "layout" if command == "prepare" else tmp_path
    if command == "prepare":
        jobs.write_some(place, count=400)
    else:
        jobs.PREPARED["train"](place)
    job, result = {
        "train": (jobs.train, trained),
        "prepare": (jobs.prepare_command, files),
    }[command]
    alone = done(job, tmp_path / "alone")
    assert alone.code == 0, alone.output
    for share in (0.8, 0.6, 0.4, 0.2):  # it may have less to wait for than when it was measured
        folder = tmp_path / f"stopped-{share}"
        child = Child(job, folder)
        child.signal_after(share * alone.seconds, number)
        stopped = child.end()
        if stopped.code != 0:
            break
    assert stopped.code == 128 + number, stopped.output
    assert f"stopped by {number.name}" in stopped.output
    assert "Traceback" not in stopped.output
    assert done(job, folder).code == 0
    assert result(folder) == result(tmp_path / "alone")
