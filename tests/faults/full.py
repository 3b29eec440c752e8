"""The disk is full: one sentence, the old file whole, and the next run goes on.

In two ways. A small disk of its own, filled to the last page, where this process may mount one; and
a limit on the size of a file, which the kernel enforces everywhere.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import torch

from gtcourse.graphs import load_dataset, write_graphs
from gtcourse.graphs.files import write_npz
from gtcourse.training.checkpoint import Board, Checkpoint, write_curve
from gtcourse.training.records import write_record, write_weights
from tests.faults import jobs
from tests.faults.forks import Child, Job, done
from tests.training.tiny_data import tiny

SIZE, PAGE = "8m", 4096
FILLER = ".filler"
FULL_DISK = "a full disk"
"""How the cases are called for which a disk of its own was mounted."""

Full = Callable[[Job], Job]
"""Of a job, the same job where there is no room."""


def record(folder: Path, version: int) -> None:
    made, _, _ = jobs.version(version)
    made.curve = [{"epoch": i, "loss": 0.5} for i in range(400 + version)]
    write_record(made, folder / "record.json")


def weights(folder: Path, version: int) -> None:
    made, tensors, _ = jobs.version(version)
    write_weights(made, tensors, folder)


def checkpoint(folder: Path, version: int) -> None:
    model = torch.nn.Linear(100, 100)
    torch.nn.init.constant_(model.weight, version)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    Checkpoint(folder, {}, model=model, optimizer=optimizer).save()


def curve(folder: Path, version: int) -> None:
    write_curve(folder / "curve.csv", [{"epoch": i, "lr": 0.1} for i in range(2000 + version)])


def log(folder: Path, version: int) -> None:
    board = Board(folder / "tensorboard")
    for epoch in range(200):
        board.write({"train_loss": 0.5, "val_mae": 0.5}, epoch)
    board.close()


WRITERS: dict[str, Callable[[Path, int], object]] = {
    "arrays": lambda folder, v: write_npz(folder / "a.npz", {"a": np.full(20_000, v)}),
    "a graph file": lambda folder, v: write_graphs(folder / "g.npz", tiny("zinc", 60 + v, seed=v)),
    "a record": record,
    "weights": weights,
    "a checkpoint": checkpoint,
    "a curve": curve,
    "logs for TensorBoard": log,
    "a cache": lambda folder, v: load_dataset("csl", root=folder),
    "shards": lambda folder, v: jobs.shard(folder),
}
BEGINS_EMPTY = {"logs for TensorBoard", "a cache", "shards"}
"""Of these there is no old file: they add to what is there, or are made once."""


def cases(place: Path) -> Iterator[dict]:
    """Every writer on a full disk, and under a limit."""
    jobs.make_ready("shards", place)
    jobs.make_ready("training", place)
    disks = {"a limit on files": (limited, "the limit on the size of a file is reached")}
    if may_mount(place):
        disks[FULL_DISK] = (full_disk, "the disk is full")
    for how, (disk, words) in disks.items():
        for what, write in WRITERS.items():
            with disk(place / "full", 2000) as (folder, full):
                yield {"kind": "disk full", "what": f"{what}, {how}"} | _written(
                    partial(write, folder), folder, full, words, is_new=what in BEGINS_EMPTY
                )
        with disk(place / "full", 200_000) as (folder, full):
            yield {"kind": "disk full", "what": f"a run, {how}"} | _trained(folder, full, words)


def _written(write: Job, folder: Path, full: Full, words: str, is_new: bool) -> dict:
    said = folder.with_suffix(".said")
    if not is_new:
        done(partial(write, 0), said)
    before = jobs.files(folder)
    refused = done(full(partial(write, 1)), said)
    stayed = is_new or jobs.files(folder) == before
    left = jobs.halves(folder)
    (folder / FILLER).unlink(missing_ok=True)
    again = done(partial(write, 1), said)
    good = refused.code == 1 and words in refused.said and again.well and stayed and not left
    return {"sentence": refused.said, "passed": good and str(folder) in refused.said}


def _trained(folder: Path, full: Full, words: str) -> dict:
    """A run that has a checkpoint, is killed, continued on a full disk, and continued again."""
    said, whole = folder.with_suffix(".said"), folder.with_name("whole")
    if not whole.exists():
        done(partial(jobs.train, whole), said)
    child = Child(partial(jobs.train, folder), said)
    while not (folder / jobs.RUN / "last.ckpt").exists():
        child.signal_after(0, 0)  # it lives
        time.sleep(0.005)
    child.signal_after(0)
    child.end()
    refused = done(full(partial(jobs.train, folder)), said)
    (folder / FILLER).unlink(missing_ok=True)
    kept = jobs.checkpoint_phase(folder / jobs.RUN)
    again = done(partial(jobs.train, folder), said)
    same = again.well and jobs.trained(folder) == jobs.trained(whole)
    sentence = refused.said[refused.said.find("gtcourse:") :]
    good = refused.code == 1 and words in refused.said and "Traceback" not in refused.said
    outcome = f"stopped {kept}; with room, the same weights and record"
    return {"sentence": sentence, "outcome": outcome, "passed": good and same}


@contextmanager
def full_disk(folder: Path, limit: int) -> Iterator[tuple[Path, Full]]:
    """A folder on a disk of its own, and what fills that disk before a job runs on it."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", folder], check=True)

    def filled(job: Job) -> Job:
        def fill_first() -> None:
            with open(folder / FILLER, "wb", buffering=0) as filler:
                free = os.statvfs(folder).f_bavail * PAGE
                filler.write(bytes(free - PAGE))  # a page for the names of new files
            job()

        return fill_first

    try:
        yield folder, filled
    finally:
        subprocess.run(["umount", folder], check=True)
        shutil.rmtree(folder)


@contextmanager
def limited(folder: Path, limit: int) -> Iterator[tuple[Path, Full]]:
    folder.mkdir()

    def limit_first(job: Job) -> Job:
        def run() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            job()

        return run

    yield folder, limit_first
    shutil.rmtree(folder)


def may_mount(place: Path) -> bool:
    """Whether this process may have a disk of its own."""
    point = place / "mounted"
    point.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", point]
    may = subprocess.run(command, capture_output=True).returncode == 0
    if may:
        subprocess.run(["umount", point], check=True)
    return may
