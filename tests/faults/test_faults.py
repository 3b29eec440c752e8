"""Kills, full disks, several processes at once and Ctrl-C: one message, and the next run finishes.

``FAULT_MOMENTS=20 pytest tests/faults`` kills each job at more moments.
"""

import os
import random
import signal
from functools import cache

import pytest

if not hasattr(os, "fork"):
    pytest.skip("there is no fork on this system", allow_module_level=True)

from tests.faults import jobs
from tests.faults.jobs import Child, done, files, rubbish, trained

pytestmark = pytest.mark.slow
MOMENTS = int(os.environ.get("FAULT_MOMENTS", "2"))
JOBS = {
    "train": (jobs.train, trained),
    "prepare": (jobs.prepare, files),
    "cache": (jobs.cache, files),
    "download": (jobs.download, files),
}


@pytest.fixture(scope="module", autouse=True)
def server():
    """Starts the process that imports all, so that no job's time contains it."""
    process = jobs.CONTEXT.Process(target=int)
    process.start()
    process.join()


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """By a job's name: what it computes without a fault, how long it takes, and a folder where
    what it needs has been prepared. Each job is run once."""

    @cache
    def of(name):
        job, result = JOBS[name]
        place = tmp_path_factory.mktemp(name)
        jobs.PREPARED.get(name, lambda place: None)(place)
        ended = done(job, place / "whole")
        assert ended.code == 0, ended.output
        return result(place / "whole"), ended.seconds, place

    return of


@pytest.fixture(scope="module", params=JOBS)
def whole(request, alone):
    """A job, a function that reads its result, that result, and how long it takes."""
    job, result = JOBS[request.param]
    return request.param, job, result, *alone(request.param)


@pytest.mark.parametrize("moment", range(MOMENTS))
def test_repeating_a_killed_job_gives_the_same_result(whole, moment):
    name, job, result, expected, seconds, place = whole
    folder = place / f"killed-{moment}"
    share = (moment + random.Random(f"{name} {moment}").random()) / MOMENTS
    child = Child(job, folder)
    child.signal_after(share * seconds)
    assert child.end().code in (-signal.SIGKILL, 0)  # it may have ended before, on a busy machine
    again = done(job, folder)
    assert again.code == 0, again.output
    assert result(folder) == expected
    assert rubbish(folder) == []


def test_simultaneous_processes_give_one_result(whole):
    name, job, result, expected, _, place = whole
    folder = place / "together"
    ended = [child.end() for child in [Child(job, folder) for _ in range(3)]]
    if name == "train":  # one has the folder
        busy = "another process is training in"
        assert all(each.code == 0 or busy in each.output for each in ended)
    else:
        assert [each.code for each in ended] == [0] * 3, [each.output for each in ended]
    assert result(folder) == expected
    assert rubbish(folder) == []


def test_a_full_disk_raises_and_the_next_run_continues(whole):
    name, job, result, expected, _, place = whole
    folder = place / "full"
    full = done(job, folder, file_limit=100 if name == "download" else 1000)
    assert full.code == 1
    assert "File too large" in full.output or name == "download"
    assert "Traceback" not in full.output
    if name == "train":
        assert f"{folder / jobs.RUN}/run.json: File too large. What was saved before is kept." in (
            full.output
        )
        assert "Run the same command with --auto-resume to continue." in full.output
    assert not [path for path in rubbish(folder) if path.endswith(".tmp")]
    assert done(job, folder).code == 0
    assert result(folder) == expected


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda n: n.name)
@pytest.mark.parametrize("command", ["train", "prepare"])
def test_an_interrupted_command_continues_when_it_is_repeated(alone, command, number):
    job, result = JOBS[command]
    expected, seconds, place = alone(command)
    for share in (0.8, 0.6, 0.4, 0.2):  # it may have less to wait for than when it was measured
        folder = place / f"stopped-{number.name}-{share}"
        child = Child(job, folder)
        child.signal_after(share * seconds, number)
        stopped = child.end()
        if stopped.code != 0:
            break
    assert stopped.code == 128 + number, stopped.output
    assert f"stopped by {number.name}" in stopped.output
    assert "Traceback" not in stopped.output
    assert done(job, folder).code == 0
    assert result(folder) == expected
