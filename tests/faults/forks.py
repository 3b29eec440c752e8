"""Children of one process that has imported everything: begun in a moment, killed at any."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

Job = Callable[[], object]


@dataclass(frozen=True)
class Ended:
    """How a child ended.

    Attributes:
        code: its exit status; a signal's number below zero.
        said: what it wrote to stdout and stderr, or the error that ended it.
        seconds: that it ran.
    """

    code: int
    said: str
    seconds: float

    @property
    def well(self) -> bool:
        return self.code == 0


class Child:
    """A forked process that does ``job``; what it says goes to a file of its own."""

    def __init__(self, job: Job, said: Path):
        said.touch()  # it may be killed before it opens it
        self.said, self.begun = said, time.perf_counter()
        sys.stdout.flush()  # or the child would say again what waits to be said
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            _run(job, said)

    def signal_after(self, seconds: float, number: int = signal.SIGKILL) -> None:
        time.sleep(max(0.0, self.begun + seconds - time.perf_counter()))
        os.kill(self.pid, number)

    def end(self) -> Ended:
        _, status = os.waitpid(self.pid, 0)
        seconds = time.perf_counter() - self.begun
        return Ended(os.waitstatus_to_exitcode(status), self.said.read_text().strip(), seconds)


def done(job: Job, said: Path) -> Ended:
    """The job in a child, to its end."""
    return Child(job, said).end()


def stopped(
    run: Callable[[Path], object], folder: Path, after: float, number: int = signal.SIGKILL
) -> tuple[Path, float, Ended]:
    """``run(folder)``, which gets a signal after so many seconds.

    Where it was over by then, because it had less to wait for than when it was measured, it gets
    the signal earlier, in another folder.

    Returns:
        the folder, the seconds, and how it ended.

    Raises:
        RuntimeError: it always comes to its end.
    """
    first = after
    while after > first / 100:
        child = Child(partial(run, folder), folder.with_suffix(".said"))
        child.signal_after(after, number)
        ended = child.end()
        if not ended.well:
            return folder, after, ended
        folder, after = folder.with_name(folder.name + "+"), after * 0.9
    raise RuntimeError(f"signal {number} does not end the job, whenever it comes")


def _run(job: Job, said: Path) -> None:
    """Never returns: what stands below in the parent's program is none of the child's business."""
    code = 1
    # Whoever began the tests in the background or under nohup may ignore what is tried here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        with open(said, "w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        job()
        code = 0
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 0
    except BaseException as error:
        print(error, file=sys.stderr)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
