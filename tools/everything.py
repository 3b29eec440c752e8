"""Everything that CI checks: one make target after the other, whether or not an earlier one fails.

Building the book takes one core, and the browser tests often wait. These targets run in the
background, so that a machine with two cores is always busy. Their output is printed at the end.
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
from typing import IO

from tools.paths import ROOT

PARTS = ["lint", "checks", "unit-tests", "notebook-tests"]
IN_BACKGROUND = ["book-checks", "browser-tests"]
"""The browser tests open the book that book-checks has built, so that they run after it."""
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
    """Runs one make target and counts its tests; a target without tests counts as one."""
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


def main() -> int:
    start = time.perf_counter()
    outcomes = []
    with ThreadPoolExecutor(max_workers=1) as background, ExitStack() as files:
        begun = []
        for part in IN_BACKGROUND:
            output = files.enter_context(tempfile.TemporaryFile("w+"))
            begun.append((part, output, background.submit(run, part, output)))
        for part in PARTS:
            print(f"\n== {part}", flush=True)
            outcomes.append(run(part))
        for part, output, outcome in begun:
            outcomes.append(outcome.result())
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
