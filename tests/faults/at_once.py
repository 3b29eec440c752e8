"""Several processes that begin the same at the same time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tests.faults import jobs
from tests.faults.forks import Child, Ended, Job, done

PROCESSES = 4
KINDS = ("caches", "download", "shards")


def cases(place: Path) -> Iterator[dict]:
    """The same cache or shards by four processes; by four, of which one is killed; and one run."""
    for name in KINDS:
        kind = jobs.KINDS[name]
        jobs.make_ready(name, place)
        alone = done(partial(kind.run, place / f"alone-{name}"), place / "said")
        expected = kind.result(place / f"alone-{name}")
        for victims in (0, 1):
            folder = place / f"together-{name}-{victims}"
            ended = _together(partial(kind.run, folder), place, victims, alone.seconds / 2)
            survived = [each for each in ended if each.code >= 0]
            same = kind.result(folder) == expected and not jobs.rubbish(folder)
            good = len(survived) == PROCESSES - victims and all(each.well for each in survived)
            killed = f", {victims} of them killed in the middle" if victims else ""
            yield {
                "kind": "at once",
                "what": f"{kind.name}, {PROCESSES} processes{killed}",
                "outcome": f"{len(survived)} succeed with the same bytes" if same else str(ended),
                "passed": good and same,
            }
    yield _one_run(place)


def _one_run(place: Path) -> dict:
    """One has the folder; the others are refused, and its result is what it is alone."""
    jobs.make_ready("training", place)
    done(partial(jobs.train, place / "alone"), place / "said")
    ended = _together(partial(jobs.train, place / "shared"), place)
    refused = [each for each in ended if not each.well]
    sentence = refused[0].said[refused[0].said.find("gtcourse:") :] if refused else ""
    good = all("another process is training in" in " ".join(e.said.split()) for e in refused)
    same = jobs.trained(place / "shared") == jobs.trained(place / "alone")
    return {
        "kind": "at once",
        "what": f"one run's folder, {PROCESSES} processes",
        "sentence": sentence,
        "passed": good and same and len(refused) == PROCESSES - 1,
    }


def _together(job: Job, place: Path, victims: int = 0, after: float = 0.0) -> list[Ended]:
    """The job by several children that wait for one moment to begin; the first few are killed."""
    begin = time.monotonic() + 0.2
    children = [Child(_at(begin, job), place / f"said-{number}") for number in range(PROCESSES)]
    for child in children[:victims]:
        child.signal_after(0.2 + after)
    return [child.end() for child in children]


def _at(moment: float, job: Job) -> Callable[[], None]:
    def run() -> None:
        time.sleep(max(0.0, moment - time.monotonic()))
        job()

    return run
