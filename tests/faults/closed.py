"""Folders that may not be written: one sentence; and what they hold is simply read."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from gtcourse.graphs import load_dataset, write_graphs
from gtcourse.shards import open_shards
from gtcourse.training.records import write_record, write_weights
from tests.faults import jobs
from tests.faults.forks import Ended, Job, done
from tests.training.tiny_data import tiny

NOBODY = 65534
SENTENCE = re.compile(
    r" cannot be written \((Permission denied|Not a directory|File exists)\); expected a folder "
    r"that this process may write into\.$|^root is .*, a file; expected a folder for data sets\.$"
)


def _record(folder: Path) -> None:
    record, weights, _ = jobs.version(0)
    write_weights(record, weights, folder)
    write_record(record, folder / "record.json")


WRITERS: dict[str, Callable[[Path], object]] = {
    "a cache of generated graphs": lambda folder: load_dataset("csl", root=folder),
    "a cache of the molecules": jobs.build,
    "a cache of published graphs": jobs.fetch,
    "a folder of shards": jobs.shard,
    "a run's folder": jobs.train,
    "a folder of records": _record,
    "a graph file's folder": lambda folder: write_graphs(folder / "g.npz", tiny("zinc", 3)),
}
READERS: dict[str, tuple[Callable[[Path], object], Callable[[Path], object]]] = {
    "a cache of generated graphs": (jobs.build, jobs.build),
    "a cache of published graphs": (jobs.fetch, jobs.fetch),
    "a folder of shards": (jobs.shard, open_shards),
    "a folder of shards, prepared again": (jobs.shard, jobs.shard),
    "a run that is over, asked for again": (jobs.train, jobs.train),
}
"""What fills a folder, and what then reads it."""


def cases(place: Path) -> Iterator[dict]:
    """Each of them in a folder of which nothing may be changed, and where there is a file."""
    for kind in ("training", "shards", "download"):
        jobs.make_ready(kind, place)
    for number, (what, write) in enumerate(WRITERS.items()):
        folder, file = place / f"closed-{number}", place / f"file-{number}"
        folder.mkdir(mode=0o555)
        yield {"kind": "read-only", "what": what} | _refused(write, folder)
        file.touch()
        yield {"kind": "read-only", "what": f"{what}, which is a file"} | _refused(write, file)
    for number, (what, (fill, read)) in enumerate(READERS.items()):
        folder = place / f"filled-{number}"
        filled = done(partial(fill, folder), place / "said")
        _close(folder)
        before = jobs.files(folder)
        ended = done(_as_nobody(partial(read, folder)), place / "said")
        good = filled.well and ended.well and jobs.files(folder) == before
        what = f"{what}, filled before"
        yield {"kind": "read-only", "what": what, "outcome": _brief(ended), "passed": good}


def _refused(write: Callable[[Path], object], folder: Path) -> dict:
    ended = done(_as_nobody(partial(write, folder)), folder.with_suffix(".said"))
    sentence = ended.said[max(0, ended.said.find("gtcourse:")) :]
    good = SENTENCE.search(sentence) and sentence.count("\n") == 0 and str(folder) in sentence
    return {"sentence": sentence, "passed": bool(good) and ended.code == 1}


def _brief(ended: Ended) -> str:
    return "read as it is" if ended.well else ended.said


def _close(folder: Path) -> None:
    """Nobody may change anything in it."""
    for path in folder.rglob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    folder.chmod(0o555)


def _as_nobody(job: Job) -> Job:
    """The same job without the rights of root, whom no folder is closed to."""

    def run() -> None:
        if os.geteuid() == 0:
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        job()

    return run
