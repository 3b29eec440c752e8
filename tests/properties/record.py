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


class Run:
    """A pytest plugin that sets the number of examples, where one is given, and keeps failures."""

    def __init__(self, profile: str, examples: int | None):
        self.profile, self.examples = profile, examples
        self.failures: list[str] = []

    @pytest.hookimpl(trylast=True)  # after hypothesis has loaded its profile
    def pytest_configure(self) -> None:
        from hypothesis import settings  # not before: pytest wants to load it itself

        if self.examples:
            parent = settings.get_profile(self.profile)
            settings.register_profile("recorded", parent=parent, max_examples=self.examples)
            settings.load_profile("recorded")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failures.append(report.nodeid)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--profile", default="ci", help="of hypothesis: ci, or nightly")
    parser.add_argument("--examples", type=int, help="of each property, if not the profile's")
    parser.add_argument("--only", default="", help="tests whose names hold this, as pytest's -k")
    parser.add_argument("--out", type=Path, help="write the result to this JSON file")
    chosen = parser.parse_args(arguments)
    run, begin = Run(chosen.profile, chosen.examples), time.perf_counter()
    options = ["-q", "-p", "no:cacheprovider", f"--hypothesis-profile={chosen.profile}"]
    options += ["-k", chosen.only] if chosen.only else []
    status = pytest.main([*options, str(HERE)], plugins=[run])
    from tests.properties import counting  # which loads hypothesis as well

    command = f"python -m tests.properties.record --profile {chosen.profile}"
    command += f" --examples {chosen.examples}" if chosen.examples else ""
    command += f" --only '{chosen.only}'" if chosen.only else ""
    record = provenance_of(command) | {
        "profile": chosen.profile,
        "examples_of_a_property": counting.examples_of_a_property(),
        "seconds": round(time.perf_counter() - begin, 1),
        **counting.counts(),
        "failures": run.failures,
    }
    store(record, chosen.out)
    print(f"{counting.total():,} examples, {len(run.failures)} failures")
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
