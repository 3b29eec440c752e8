"""Ctrl-C, SIGTERM and a closed terminal: a sentence, and what stays of what was begun.

They end the program as an exception does, so that locks are let go, half files are removed, and
processes that it began end as well. A second signal ends it at once.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


class Stopped(BaseException):
    """A signal; no ``except Exception`` on its way takes it for an error.

    Attributes:
        number: of the signal.
        what_stays: a sentence for whoever sent it.
    """

    def __init__(self, number: int):
        super().__init__(number)
        self.number, self.what_stays = number, ""

    def __str__(self) -> str:
        return f"stopped by {signal.Signals(self.number).name}. {self.what_stays}".strip()


@contextmanager
def stoppable() -> Iterator[None]:
    """A block that the first signal ends with :class:`Stopped`."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    # nohup has its program ignore one of them.
    before = {number: each for number, each in before.items() if each != signal.SIG_IGN}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def stop(number: int, frame) -> None:
        restore()
        raise Stopped(number)

    for number in before:
        signal.signal(number, stop)
    try:
        yield
    finally:
        restore()


@contextmanager
def if_stopped(what_stays: Callable[[], str]) -> Iterator[None]:
    """A block of which a signal leaves something.

    Args:
        what_stays: the sentence, asked for when the signal has come.
    """
    try:
        yield
    except Stopped as stop:
        stop.what_stays = what_stays()
        raise
