"""The queue of long runs, with small commands in the place of the training."""

import sys
import time

import pytest

from gtcourse.recipes import RECIPES
from tools import queue
from tools.queue import RUNS, Run, work


@pytest.fixture
def folders(tmp_path, monkeypatch):
    for name in ("FOLDER", "RESULTS"):
        monkeypatch.setattr(queue, name, tmp_path / name)
        (tmp_path / name).mkdir()
    return tmp_path


def runs_python(monkeypatch, code: str) -> None:
    monkeypatch.setattr(Run, "command", lambda *_: [sys.executable, "-c", code])


def test_every_run_is_of_a_recipe_and_is_listed_once():
    assert {run.recipe for run in RUNS} <= {*RECIPES}
    assert len({run.name for run in RUNS}) == len(RUNS)


def test_the_record_of_a_finished_run_is_copied_and_the_run_is_not_made_again(folders, monkeypatch):
    run = Run("csa/zinc")
    record = folders / "FOLDER" / run.name / f"{run.name}.json"
    code = f"import pathlib as p; f = p.Path({str(record)!r}); f.parent.mkdir(); f.write_text('1')"
    runs_python(monkeypatch, code)
    assert work(run, "real", float("inf"), False) == "done"
    assert (folders / "RESULTS" / record.name).read_text() == "1"
    runs_python(monkeypatch, "raise SystemExit(1)")
    assert work(run, "real", float("inf"), False) == "done"


def test_a_run_that_fails_gives_its_last_line(folders, monkeypatch):
    runs_python(monkeypatch, "raise SystemExit('no space left')")
    assert work(Run("csa/zinc"), "real", float("inf"), False) == "failed: no space left"


def test_at_the_deadline_a_run_is_interrupted_and_none_is_begun(folders, monkeypatch):
    runs_python(monkeypatch, "import time; time.sleep(60)")
    begin = time.monotonic()
    assert work(Run("csa/zinc"), "real", begin + 1, False).startswith("stopped")
    assert time.monotonic() - begin < 30
    assert work(Run("csa/zinc"), "real", begin, False) == "not begun"
