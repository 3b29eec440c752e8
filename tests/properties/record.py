"""Runs every property and writes how many examples were tried.

``python -m tests.properties.record --profile nightly`` is the recorded run: 2,000 examples of each
property of each model.
"""

import argparse
import sys
import time
from pathlib import Path

import pytest

from benchmarks.report import provenance_of, store

HERE = Path(__file__).parent


class Failures:
    """A pytest plugin that remembers what failed."""

    def __init__(self):
        self.names: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.names.append(report.nodeid)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--profile", default="ci", help="of hypothesis: ci, or nightly")
    parser.add_argument("--only", default="", help="tests whose names hold this, as pytest's -k")
    parser.add_argument("--out", type=Path, help="write the result to this JSON file")
    chosen = parser.parse_args(arguments)
    failures, begin = Failures(), time.perf_counter()
    options = ["-q", "-p", "no:cacheprovider", f"--hypothesis-profile={chosen.profile}"]
    options += ["-k", chosen.only] if chosen.only else []
    status = pytest.main([*options, str(HERE)], plugins=[failures])
    from tests.properties import counting  # not before: pytest wants to load hypothesis itself

    command = f"python -m tests.properties.record --profile {chosen.profile}"
    record = provenance_of(command) | {
        "profile": chosen.profile,
        "seconds": round(time.perf_counter() - begin, 1),
        **counting.counts(),
        "failures": failures.names,
    }
    store(record, chosen.out)
    print(f"{counting.total():,} examples, {len(failures.names)} failures")
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
