"""A process that keeps the memory it has freed does not fetch it again for the next step."""

import os
import platform
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from gtcourse.course.commands import app
from gtcourse.train import memory

PROGRAM = """
import sys
from resource import RUSAGE_SELF, getrusage

import torch

from gtcourse.train.memory import keep_freed_memory

if sys.argv[1] == "kept":
    assert keep_freed_memory()
for step in range(20):
    if step == 10:
        before = getrusage(RUSAGE_SELF).ru_minflt
    torch.ones(2**24)  # 64 MiB, freed at once
print(getrusage(RUSAGE_SELF).ru_minflt - before)
"""
"""Prints how many pages the system provides for the last ten of twenty equal tensors."""


def pages_provided(how: str) -> int:
    command = [sys.executable, "-c", PROGRAM, how]
    usual = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=usual)
    return int(run.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has these options")
def test_freed_memory_is_used_again_without_new_pages():
    assert pages_provided("returned") > 10 * 20  # 32 for each with huge pages, and 16,384 without
    assert pages_provided("kept") < 10


def test_other_c_libraries_are_left_as_they_are(monkeypatch):
    monkeypatch.setattr(platform, "libc_ver", lambda: ("musl", "1.2"))
    monkeypatch.setattr(memory.ctypes, "CDLL", pytest.fail)
    assert memory.keep_freed_memory() is False


@pytest.mark.parametrize("command", ["train", "bench"])
def test_commands_that_train_keep_freed_memory(command, monkeypatch, tmp_path):
    class KeptError(Exception):
        """Raised in place of keeping memory, so that nothing is trained."""

    def stop() -> None:
        raise KeptError

    monkeypatch.setattr(memory, "keep_freed_memory", stop)
    options = ["--out", str(tmp_path)] if command == "train" else []
    result = CliRunner().invoke(app, [command, "csa-100k/molecules", *options])
    assert isinstance(result.exception, KeptError)
