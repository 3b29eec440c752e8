"""A fresh process for each import; how long is not a matter of tests."""

import subprocess
import sys

import pytest

from benchmarks import startup
from benchmarks.startup import IMPORTS, measure, process


def test_a_process_is_waited_for_and_must_not_fail(tmp_path):
    process(f"open({str(tmp_path / 'here')!r}, 'w')")()
    assert (tmp_path / "here").exists()
    with pytest.raises(subprocess.CalledProcessError):
        process("raise SystemExit(1)")()


def test_ratios_are_to_importing_torch():
    assert next(iter(IMPORTS)) == "torch"


def test_a_small_measurement_has_a_row_for_each_and_no_book(monkeypatch):
    monkeypatch.setitem(startup.IMPORTS, "torch", "import json")
    content = measure(2, ["torch", "nothing"], with_book=False)
    assert [row["method"] for row in content["rows"]] == ["torch", "nothing"]
    assert content["book"] == {}


@pytest.mark.slow
def test_each_name_stands_for_an_import_of_that_name():
    modules = [name for name in IMPORTS if name != "nothing" and "--" not in name]
    code = "; ".join(["import sys", *(IMPORTS[name] for name in modules), "print(*sys.modules)"])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {*modules} <= {*done.stdout.split()}
