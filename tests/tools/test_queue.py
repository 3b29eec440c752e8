"""The queue of long runs, with small commands in the place of the training."""

import sys
import time

import pytest

from gtcourse.recipes import RECIPES
from tools import queue
from tools.queue import RUNS, work

FOREVER = float("inf")


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    for name in ("FOLDER", "RESULTS"):
        monkeypatch.setattr(queue, name, tmp_path / name)
        (tmp_path / name).mkdir()
    return tmp_path


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_every_run_is_of_a_recipe_and_has_its_budget_on_a_cpu_alone():
    assert {*RUNS} <= {*RECIPES}
    for on_gpu in (True, False):
        assert ("--epochs" in queue.command("csa/zinc", "real", on_gpu)) is not on_gpu


def test_the_record_of_a_finished_run_is_copied_and_the_run_is_not_repeated(folders):
    record = folders / "FOLDER" / "csa" / "csa.json"
    code = f"import pathlib as p; f = p.Path({str(record)!r}); f.parent.mkdir(); f.write_text('1')"
    assert work("csa", python(code), FOREVER) == "done"
    assert (folders / "RESULTS" / record.name).read_text() == "1"
    assert work("csa", python("raise SystemExit(1)"), FOREVER) == "done"


def test_a_run_that_fails_gives_its_last_line():
    assert work("csa", python("raise SystemExit('no space left')"), FOREVER) == (
        "failed: no space left"
    )


def test_at_the_deadline_a_run_is_interrupted_and_none_is_begun():
    begin = time.monotonic()
    line = work("csa", python("import time; time.sleep(60)"), begin + 1)
    assert line.startswith("stopped")
    assert time.monotonic() - begin < 30
    assert work("csa", [], begin) == "not begun"
