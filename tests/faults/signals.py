"""Ctrl-C, SIGTERM and a closed terminal end a command in a sentence; the same command goes on."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from gtcourse import cli
from gtcourse.graphs import molecules
from tests.faults import jobs
from tests.faults.forks import done, stopped

MOMENTS = {
    signal.SIGINT: (0.45, 0.9),
    signal.SIGTERM: (0.3, 0.7),
    signal.SIGHUP: (0.6,),
}
"""Shares of the command's duration."""


def cases(place: Path) -> Iterator[dict]:
    """Training and preparing, each ended by each signal and begun again."""
    jobs.make_ready("training", place)
    commands = {
        "gtcourse train": (jobs.train, jobs.trained),
        "gtcourse prepare": (prepare, jobs.files),
    }
    for what, (run, result) in commands.items():
        for number in range(2):  # the second time its caches are there
            whole = done(partial(run, place / f"{what}-whole-{number}"), place / "said")
        expected = result(place / f"{what}-whole-0")
        for number, shares in MOMENTS.items():
            for share in shares:
                folder = place / f"{what}-{number}-{share}"
                moment = share * whole.seconds
                found = _stopped(run, result, folder, number, moment, expected)
                yield {"kind": "signal", "what": f"{what}, {number.name}"} | found


def prepare(folder: Path) -> None:
    molecules.SPLIT_SIZES = (100, 10, 10)
    words = ["--root", str(folder.parent / "cache"), "--rows", "4"]
    sys.argv = ["gtcourse", "prepare", "molecules", "--out", str(folder), *words]
    cli.main()


def _stopped(
    run: Callable[[Path], None],
    result: Callable[[Path], object],
    folder: Path,
    number: signal.Signals,
    moment: float,
    expected: object,
) -> dict:
    folder, _, ended = stopped(run, folder, moment, number)
    left = jobs.rubbish(folder) if folder.exists() else []
    again = done(partial(run, folder), folder.with_suffix(".said"))
    same = again.well and result(folder) == expected
    good = ended.code == 128 + number and "Traceback" not in ended.said and not left
    return {
        "sentence": ended.said[ended.said.find("gtcourse:") :],
        "outcome": f"exit status {ended.code}",
        "passed": good and same and f"stopped by {number.name}" in ended.said,
    }
