"""All that CI checks, part by part; a part that fails does not keep the next from running."""

import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ET

from tools.paths import ROOT

PARTS = ["lint", "checks", "unit-tests", "notebook-tests", "book-checks", "browser-tests"]
REPORTS = ROOT / "_build" / "reports"


def run(part: str) -> tuple[int, int]:
    """Run one make target; (passed, failed) of its tests, or of itself as one check."""
    report = REPORTS / f"{part}.xml"
    report.unlink(missing_ok=True)
    command = [os.environ.get("MAKE", "make"), "--no-print-directory", part]
    failed = int(subprocess.run(command).returncode != 0)
    if not report.exists():
        return 1 - failed, failed
    suite = ET.parse(report).getroot().find("testsuite")
    total, skipped, *bad = (int(suite.get(n)) for n in ("tests", "skipped", "failures", "errors"))
    return total - skipped - sum(bad), max(sum(bad), failed)


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
