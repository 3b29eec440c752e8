"""All that CI checks, part by part; a part that fails does not keep the next from running."""

import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

from tools.paths import ROOT

PARTS = ["lint", "checks", "unit-tests", "notebook-tests", "book-checks", "browser-tests"]
REPORTS = ROOT / "_build" / "reports"


def counts(report: Path) -> tuple[int, int] | None:
    """(passed, failed) of a pytest report; None where there is none."""
    if not report.exists():
        return None
    suite = ET.parse(report).getroot().find("testsuite")
    total, skipped = int(suite.get("tests")), int(suite.get("skipped"))
    failed = int(suite.get("failures")) + int(suite.get("errors"))
    return total - skipped - failed, failed


def run(part: str) -> tuple[int, int]:
    """Run one make target; a part that is not a test suite counts as one check."""
    report = REPORTS / f"{part}.xml"
    report.unlink(missing_ok=True)
    ok = (
        subprocess.run([os.environ.get("MAKE", "make"), "--no-print-directory", part]).returncode
        == 0
    )
    passed, failed = counts(report) or (int(ok), int(not ok))
    return passed, max(failed, int(not ok))


def main() -> int:
    lines, passed, failed, start = [], 0, 0, time.perf_counter()
    for part in PARTS:
        print(f"\n== {part}", flush=True)
        begin = time.perf_counter()
        good, bad = run(part)
        passed, failed = passed + good, failed + bad
        seconds = time.perf_counter() - begin
        lines.append(f"{part:16}{good:5} passed {bad:4} failed {seconds:6.0f} s")
    print("\n" + "\n".join(lines))
    minutes = (time.perf_counter() - start) / 60
    print(f"\n{passed} passed, {failed} failed in {minutes:.1f} minutes", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
