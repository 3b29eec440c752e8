"""A mutant's trial: a copy of the package is broken, and tests are run on it until one notices."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.mutants import inside
from tools.mutants.lists import Model, Mutant
from tools.paths import ROOT

LONGEST = 900  # seconds of a trial
LARGE = ("recorded", "__pycache__")
COPIED = ("gtcourse", "tests")
PARTS = (
    *("models", "encodings", "properties", "graphs", "training", "numerics", "shards", "exercises"),
    "plots",
)
PACKAGE_TESTS = [*(f"tests/{part}" for part in PARTS), "tests/test_cli.py", "tests/test_import.py"]
"""Asked of a mutant that the tests named for it let pass."""

# Imported once, in a process of which every trial's is a fork: seconds saved for each mutant.
PRELOADED = [
    *("pytest", "hypothesis.strategies", "scipy.sparse.csgraph", "networkx", "torch.testing"),
    *("torch_geometric.nn", "torch_geometric.transforms", "torchmetrics", "lightning_fabric"),
]


@dataclass
class Trial:
    """How a mutant fared.

    Attributes:
        verdict: "caught", "survived", or "bad": it does not apply, does not build, or makes tests
            crash without any saying why it is wrong.
        test: the one that caught it; why: what it said, or what is bad.
    """

    model: str
    id: str
    phrase: str
    file: str
    verdict: str
    test: str = ""
    why: str = ""
    seconds: float = 0.0


def try_mutant(
    model: Model, mutant: Mutant, last: str = "", named_only: bool = False, root: Path = ROOT
) -> Trial:
    """Breaks a copy of the package below ``root`` and runs tests on it.

    Args:
        last: the test that caught it the last time, which is asked first.
        named_only: ask no more than the tests that are named for it.
    """
    start = time.monotonic()
    trial = Trial(model.name, mutant.id, mutant.phrase, mutant.file, "survived")
    fault = mutant.fault(root)
    if fault:
        trial.verdict, trial.why = "bad", fault
        return trial
    rest = [] if named_only else [tests for tests in PACKAGE_TESTS if (root / tests).exists()]
    with copy_of(root) as folder:
        mutant.apply(folder)
        for tests in filter(None, ([last] if last else [], mutant.tests, rest)):
            outcome = run_tests(folder, tests, model.builds, [mutant.module])
            if outcome["ends"] == inside.FAILED:
                trial.verdict = "caught"
                [(trial.test, trial.why), *_] = outcome["tests"].items()
                break
            # The test of last time may have another name now.
            if outcome["ends"] != inside.PASSED and tests != [last]:
                trial.verdict, trial.why = "bad", outcome["why"]
            if outcome["ends"] == inside.UNBUILT:
                trial.verdict, trial.why = "bad", outcome["why"]
                break
    trial.seconds = round(time.monotonic() - start, 1)
    return trial


def fail_anyway(tests: Iterable[str], root: Path = ROOT) -> list[str]:
    """Those of the tests that do not pass on the package as it is, or why they could not say."""
    found = []
    with copy_of(root) as folder:
        for _, of_file in groupby(sorted(tests), lambda test: test.split("::")[0]):
            outcome = run_tests(folder, [*of_file], "import gtcourse", [], every=True)
            if outcome["ends"] == inside.FAILED:
                found += outcome["tests"]
            elif outcome["ends"] != inside.PASSED:
                found.append(outcome["why"])
    return found


@contextmanager
def copy_of(root: Path) -> Iterator[Path]:
    """A folder with the package and its tests, and links to all that is large or beside them."""
    with TemporaryDirectory(prefix="mutant-") as name:
        folder = Path(name).resolve()
        for part in COPIED:
            shutil.copytree(root / part, folder / part, ignore=shutil.ignore_patterns(*LARGE))
        recorded = root / "gtcourse" / "recorded"
        if recorded.exists():
            (folder / "gtcourse" / "recorded").symlink_to(recorded)
        shutil.copy(root / "pyproject.toml", folder)
        for other in root.iterdir():
            if not (folder / other.name).exists() and not other.name.startswith("."):
                (folder / other.name).symlink_to(other)
        yield folder


def run_tests(
    folder: Path, tests: Sequence[str], builds: str, imports: list[str], every: bool = False
) -> dict:
    """What :func:`tools.mutants.inside.run` sends, from a process of its own."""
    receive, send = multiprocessing.Pipe(duplex=False)
    arguments = (send, str(folder), imports, builds, list(tests), every)
    process = _server().Process(target=inside.run, args=arguments)
    process.start()
    send.close()
    try:
        if not receive.poll(LONGEST):
            return {"ends": inside.CRASHED, "why": f"takes longer than {LONGEST} s"}
        return receive.recv()
    except EOFError:
        log = (folder / "log.txt").read_text(errors="replace").strip().splitlines()
        return {"ends": inside.CRASHED, "why": f"its process died: {log[-1] if log else ''}"}
    finally:
        process.kill()
        process.join()


def _server() -> multiprocessing.context.ForkServerContext:
    # Read by the server when it starts, and by all forks of it.
    os.environ |= {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(PRELOADED)
    return server
