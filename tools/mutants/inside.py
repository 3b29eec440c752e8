"""What happens inside of the process that has a broken package: nothing of it is imported before.

Of the repository this process knows :mod:`tools.mutants` alone. ``gtcourse`` and ``tests`` are
those of the copy, and it refuses to go on if they are not.
"""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import Phase, settings

PASSED, FAILED = "passed", "failed"
UNBUILT, CRASHED = "does not build", "crashes"
"""How a run ends; the last two say nothing about what the tests check."""


def run(
    send: Connection, folder: str, imports: list[str], builds: str, tests: list[str], every: bool
) -> None:
    """Runs tests on the package below ``folder`` and sends what came out, a dictionary.

    Args:
        imports: modules that have to be importable; builds: statements that have to run.
        tests: beginnings of test ids; every: run them all, and not up to the first that fails.
    """
    _move_into(folder)
    gc.freeze()  # what was imported before the fork: pytest looks for garbage there at length
    try:
        for module in imports:
            _refuse_another(import_module(module), folder)
        exec(builds, {})
    except Exception as error:
        send.send({"ends": UNBUILT, "why": f"does not build: {_sentence(error)}"})
        return
    watch = Watch(tests, every)
    where = dict.fromkeys(test.partition("[")[0] for test in tests)
    code = pytest.main(["-q", "-p", "no:cacheprovider", "-m", "not slow", *where], plugins=[watch])
    for package in ("gtcourse", "tests"):  # all else of theirs is found through them
        _refuse_another(sys.modules[package], folder)
    send.send(watch.outcome(int(code)))


class Watch:
    """A pytest plugin that keeps the first test that fails by an assertion, and stops there."""

    def __init__(self, tests: list[str], every: bool):
        self.tests, self.every = tuple(tests), every
        self.failed: dict[str, str] = {}
        self.crashed: dict[str, str] = {}
        self.passed: list[str] = []
        self.session: pytest.Session | None = None

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self.session = session
        # One counterexample will do: a smaller one, looked for at length, would catch no more.
        phases = [Phase.explicit, Phase.generate]
        settings.register_profile(
            "mutants", parent=settings.default, phases=phases, report_multiple_bugs=False
        )
        settings.load_profile("mutants")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid.startswith(self.tests)]

    def pytest_exception_interact(self, node, call, report) -> None:
        error = call.excinfo.value
        told = self.failed if _all_assertions(error) else self.crashed
        told[report.nodeid] = _sentence(error)
        if told is self.failed and not self.every:
            self.session.shouldstop = "a test has noticed"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self.passed.append(report.nodeid)

    def outcome(self, code: int) -> dict:
        if self.failed:
            return {"ends": FAILED, "tests": self.failed | self.crashed}
        if self.crashed:
            test, sentence = next(iter(self.crashed.items()))
            return {"ends": CRASHED, "why": f"crashes in {test}: {sentence}"}
        if code == pytest.ExitCode.OK and self.passed:
            return {"ends": PASSED, "tests": self.passed}
        return {"ends": CRASHED, "why": f"pytest ended with {pytest.ExitCode(code).name}"}


def _move_into(folder: str) -> None:
    """Imports come from the copy from here on, in processes that tests start as well."""
    repository = str(Path(__file__).parents[2])
    sys.path[:] = [folder] + [p for p in sys.path if p and str(Path(p).resolve()) != repository]
    os.chdir(folder)
    os.environ |= {"PYTHONPATH": folder, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    log = os.open("log.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(log, stream)


def _refuse_another(module: ModuleType, folder: str) -> None:
    where = getattr(module, "__file__", None)
    if where is not None and not where.startswith(folder + os.sep):
        raise RuntimeError(f"{module.__name__} is that of {where}; expected one below {folder}.")


def _all_assertions(error: BaseException) -> bool:
    """Whether a test has said that something is wrong, rather than stumbled itself."""
    if isinstance(error, BaseExceptionGroup):  # hypothesis has found several
        return all(map(_all_assertions, error.exceptions))
    return isinstance(error, AssertionError | pytest.fail.Exception)


def _sentence(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"[:160]
