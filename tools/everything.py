"""All that CI checks, part by part; a part that fails does not keep the next from running.

Sphinx builds the book in one process, and a browser often waits. They run beside the other parts,
so that both cores of a small machine have work all the time. Their output is shown at the end.
"""

import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import IO

from tools.paths import ROOT

PARTS = ["lint", "checks", "unit-tests", "notebook-tests"]
BESIDE = ["book-checks", "browser-tests"]
"""The second reads what the first has built."""
REPORTS = ROOT / "_build" / "reports"


@dataclass
class Outcome:
    part: str
    passed: int
    failed: int
    seconds: float

    def __str__(self) -> str:
        counts = f"{self.passed:5} passed {self.failed:4} failed"
        return f"{self.part:16}{counts} {self.seconds:6.0f} s"


def run(part: str, output: IO[str] | None = None) -> Outcome:
    """Run one make target; its tests are counted, or itself as one check."""
    begin = time.perf_counter()
    report = REPORTS / f"{part}.xml"
    report.unlink(missing_ok=True)
    command = [os.environ.get("MAKE", "make"), "--no-print-directory", part]
    process = subprocess.run(command, cwd=ROOT, stdout=output, stderr=output)
    failed = int(process.returncode != 0)
    passed = 1 - failed
    if report.exists():
        try:
            suite = next(ET.parse(report).iter("testsuite"))
        except (ET.ParseError, StopIteration):  # the tests were killed while they wrote it
            return Outcome(part, 0, 1, time.perf_counter() - begin)
        total = int(suite.get("tests"))
        skipped = int(suite.get("skipped"))
        bad = int(suite.get("failures")) + int(suite.get("errors"))
        passed = total - skipped - bad
        failed = max(bad, failed)
    return Outcome(part, passed, failed, time.perf_counter() - begin)


def shown(part: str) -> Outcome:
    print(f"\n== {part}", flush=True)
    return run(part)


def main() -> int:
    start = time.perf_counter()
    with ThreadPoolExecutor(1) as pool, ExitStack() as files:
        outputs = [files.enter_context(tempfile.TemporaryFile("w+")) for _ in BESIDE]
        beside = [*map(partial(pool.submit, run), BESIDE, outputs)]
        outcomes = [shown(part) for part in PARTS]
        for part, output, future in zip(BESIDE, outputs, beside, strict=True):
            outcomes.append(future.result())
            output.seek(0)
            print(f"\n== {part}\n{output.read()}", flush=True)
    passed = sum(outcome.passed for outcome in outcomes)
    failed = sum(outcome.failed for outcome in outcomes)
    print("", *outcomes, sep="\n")
    minutes = (time.perf_counter() - start) / 60
    print(f"\n{passed} passed, {failed} failed in {minutes:.1f} minutes", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
