"""Files that are the old one or the new one, and folders that one process at a time has."""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from gtcourse.graphs.files import FORGOTTEN, locked, remove_halves, replacing

HALF = ".file.0123456789ab.tmp"
BUSY = "another process has it; expected to be alone."


def test_an_error_leaves_the_old_file_and_no_half_one(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")

    def broken_off():
        with replacing(path) as temporary:
            temporary.write_text("new")
            assert path.read_text() == "old"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken_off()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_fault_of_the_file_is_a_sentence_with_its_number_and_that_of_another_is_not(tmp_path):
    def write(path, found) -> None:
        with replacing(path) as temporary:
            temporary.write_bytes(found.read_bytes())

    source = tmp_path / "source"
    source.touch()
    (tmp_path / "file").mkdir()
    sentence = r"^\S+/file cannot be written \(Is a directory\); expected a folder"
    with pytest.raises(OSError, match=sentence) as refusal:
        write(tmp_path / "file", source)
    assert refusal.value.errno == errno.EISDIR
    with pytest.raises(FileNotFoundError, match="No such file or directory: '/nowhere/input'"):
        write(tmp_path / "another", Path("/nowhere/input"))
    assert sorted(os.listdir(tmp_path)) == ["file", "source"]


@pytest.mark.parametrize(("age", "stays"), [(FORGOTTEN - 60, True), (FORGOTTEN + 60, False)])
def test_a_half_file_is_removed_a_day_later_by_who_writes_the_file_again(tmp_path, age, stays):
    half, other = tmp_path / HALF, tmp_path / HALF.replace("file", "another")
    for path in (half, other):
        path.touch()
        os.utime(path, (time.time() - age,) * 2)
    with replacing(tmp_path / "file") as temporary:
        temporary.touch()
    assert half.exists() == stays
    assert other.exists()


def test_who_holds_the_lock_removes_half_files_and_nothing_else(tmp_path):
    names = [HALF, HALF.replace("file", "another"), ".notes.tmp", ".file.tmp", "file"]
    for name in names:
        (tmp_path / name).touch()
    remove_halves(tmp_path, "file")
    assert sorted(os.listdir(tmp_path)) == sorted(names[1:])
    remove_halves(tmp_path)
    assert sorted(os.listdir(tmp_path)) == sorted(names[2:])


def test_a_lock_is_entered_again_by_its_thread_and_refused_to_another(tmp_path):
    refused = []

    def enter() -> None:
        try:
            with locked(tmp_path / ".lock", otherwise=BUSY):
                refused.append(None)
        except ValueError as error:
            refused.append(str(error))

    def elsewhere() -> None:
        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()

    with locked(tmp_path / ".lock"):
        enter()
        elsewhere()
    elsewhere()
    assert refused == [None, BUSY, None]


def _hold(path, held, wait) -> None:
    with locked(path):
        held.set()
        wait.wait(60)


@pytest.mark.slow
@pytest.mark.parametrize("killed", [False, True])
def test_a_process_waits_and_says_so_until_the_other_has_ended_or_is_killed(
    tmp_path, capfd, killed
):
    context = multiprocessing.get_context("spawn")
    held, wait = context.Event(), context.Event()
    holder = context.Process(target=_hold, args=(tmp_path / ".lock", held, wait))
    holder.start()
    assert held.wait(60)
    with pytest.raises(ValueError, match=BUSY), locked(tmp_path / ".lock", otherwise=BUSY):
        pass
    end = (lambda: os.kill(holder.pid, signal.SIGKILL)) if killed else wait.set
    timer = threading.Timer(0.3, end)
    timer.start()
    begin = time.monotonic()
    with locked(tmp_path / ".lock"):
        assert time.monotonic() - begin > 0.2
    holder.join()
    timer.join()
    said = f"another process is at work in {tmp_path}; this one waits for its end.\n"
    assert capfd.readouterr().err == said
