"""SIGKILL at random moments of a job, spread over all of it; each time the next run finishes it.

``python -m tests.faults.kills training shards --moments 20`` prints what came of it as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import tempfile
import time
from functools import partial
from pathlib import Path

import torch

from tests.faults.forks import done, stopped
from tests.faults.jobs import KINDS, Kind, halves, import_ahead, make_ready, rubbish

SEED = 11
TWO_DAYS = 2 * 24 * 60 * 60


def killed_at(kind: str, moments: int, seed: int = SEED) -> dict:
    """One kill in each of ``moments`` equal parts of the job's duration.

    Raises:
        RuntimeError: the job does not come to its end though nobody kills it.
    """
    job, chance = KINDS[kind], random.Random(f"{seed} {kind}")
    with tempfile.TemporaryDirectory(prefix="gtcourse-faults-") as place:
        place = Path(place)
        make_ready(kind, place)
        whole = [done(partial(job.run, place / f"whole-{i}"), place / "said") for i in range(2)]
        for ended in whole:
            if not ended.well:
                raise RuntimeError(f"{job.name} fails by itself: {ended.said}")
        expected = job.result(place / "whole-0")
        if expected != job.result(place / "whole-1"):
            raise RuntimeError(f"{job.name} gives another result each time")
        seconds = min(ended.seconds for ended in whole)
        shares = [(i + chance.random()) / moments for i in range(moments)]
        tried = [
            _once(job, place / f"killed-{i}", share, seconds, expected)
            for i, share in enumerate(shares)
        ]
    return {"kind": job.name, "seconds": round(seconds, 3), "seed": seed, "moments": tried}


def _once(job: Kind, folder: Path, share: float, seconds: float, expected: object) -> dict:
    """Killed after that share of its duration, and finished by another process."""
    folder, after, ended = stopped(job.run, folder, share * seconds)
    phase = job.phase(folder) if folder.exists() else "nothing yet"
    left = halves(folder)
    untouched = {path: path.stat().st_mtime_ns for path in job.finished(folder)}
    again = done(partial(job.run, folder), folder.with_suffix(".said"))
    killed = ended.code == -signal.SIGKILL
    same = killed and again.well and job.result(folder) == expected
    same = same and all(path.stat().st_mtime_ns == then for path, then in untouched.items())
    stays = rubbish(folder)
    if stays:
        _two_days_later(folder)
        done(partial(job.run, folder), folder.with_suffix(".said"))
    return {
        "share": round(after / seconds, 4),
        "seconds": round(after, 4),
        "phase": phase,
        "left": left,
        "same_result": same,
        "left_next_run": stays,
        "rubbish": rubbish(folder),
        "said": "" if same else f"{ended.said}\n{again.said}",
    }


def _two_days_later(folder: Path) -> None:
    """Half files that no lock guards are kept for a day, lest another process is writing them."""
    then = time.time() - TWO_DAYS
    for path in folder.rglob(".*.tmp"):
        os.utime(path, (then, then))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="+", choices=KINDS)
    parser.add_argument("--moments", type=int, default=20)
    parser.add_argument("--seed", type=int, default=SEED)
    words = parser.parse_args()
    torch.set_num_threads(1)
    import_ahead()
    found = [killed_at(kind, words.moments, words.seed) for kind in words.kinds]
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
