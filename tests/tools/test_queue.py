"""The queue of long runs, with small commands in the place of the training."""

import errno
import os
import sys
import time

import pytest

from gtcourse.recipes import RECIPES
from tools import queue


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    for name in ("FOLDER", "RESULTS"):
        monkeypatch.setattr(queue, name, tmp_path / name)
        (tmp_path / name).mkdir()
    return tmp_path


def work(code: str, seconds: float = float("inf")) -> str:
    """A run of these lines of Python, from now on for so many seconds."""
    return queue.work("csa", [sys.executable, "-c", code], time.monotonic() + seconds)


def test_every_queued_run_has_a_recipe_and_a_smaller_budget_on_a_cpu():
    assert {*queue.RUNS} <= {*RECIPES}
    for on_gpu in (True, False):
        assert ("--epochs" in queue.command("csa/zinc", "real", on_gpu)) is not on_gpu


def test_the_queue_runs_with_the_seed_that_is_given(folders, monkeypatch, capsys):
    seeds = []

    def train(recipe, command, deadline, seed):
        seeds.append((command[command.index("--seed") + 1], seed))
        return "done"

    monkeypatch.setattr(queue, "work", train)
    monkeypatch.setattr(sys, "argv", ["queue", "--data", str(folders), "--seed", "7"])
    assert queue.main() == 0
    assert {*seeds} == {("7", 7)}
    record = folders / "FOLDER" / "csa-seed7" / "csa-seed7.json"
    record.parent.mkdir()
    record.write_text("1")
    monkeypatch.undo()
    monkeypatch.setattr(queue, "FOLDER", folders / "FOLDER")
    monkeypatch.setattr(queue, "RESULTS", folders / "RESULTS")
    assert queue.work("csa", [], float("inf"), 7) == "done"
    assert (folders / "RESULTS" / record.name).read_text() == "1"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--seed", "-1"], "--seed is -1; expected a number from 0 to"),
        (["--jobs", "0"], "--jobs is 0; expected 1 or more"),
        (["--minutes", "nan"], "--minutes is nan; expected a number above 0"),
    ],
)
def test_the_queue_says_which_option_is_wrong(monkeypatch, capsys, words, says):
    monkeypatch.setattr(sys, "argv", ["queue", *words])
    with pytest.raises(SystemExit):
        queue.main()
    assert says in capsys.readouterr().err


def test_a_finished_runs_record_is_copied_and_the_run_is_not_repeated(folders):
    record = folders / "FOLDER" / "csa-seed0" / "csa-seed0.json"
    assert work("raise SystemExit('no space left')") == "failed: no space left"
    code = f"import pathlib as p; f = p.Path({str(record)!r}); f.parent.mkdir(); f.write_text('1')"
    assert work(code) == "done"
    assert (folders / "RESULTS" / record.name).read_text() == "1"
    assert work("raise SystemExit(1)") == "done"


def test_a_full_disk_fails_one_run_and_leaves_the_earlier_record(folders, monkeypatch):
    def full(record, copy):
        copy.write_text("half of")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    record = folders / "FOLDER" / "csa-seed0" / "csa-seed0.json"
    record.parent.mkdir()
    record.write_text("new")
    recorded = folders / "RESULTS" / record.name
    recorded.write_text("old")
    with monkeypatch.context() as patch:
        patch.setattr("shutil.copyfile", full)
        assert work("") == f"failed: {recorded}: No space left on device."
    assert recorded.read_text() == "old"
    assert work("") == "done"
    assert [path.read_text() for path in recorded.parent.iterdir()] == ["new"]


def test_an_error_without_a_file_is_printed_without_one(monkeypatch):
    def no_memory(*args, **options):
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))

    monkeypatch.setattr("subprocess.Popen", no_memory)
    assert work("") == "failed: Cannot allocate memory."


def test_at_the_deadline_a_run_is_interrupted_and_no_other_starts():
    begin = time.monotonic()
    assert work("import time; time.sleep(60)", 1).startswith("stopped")
    assert time.monotonic() - begin < 30
    assert work("", 0) == "not begun"
