"""Ctrl-C, SIGTERM and a closed terminal end a command as an exception does.

Locks are released, half-written files are removed, and processes that it began end as well. A
second signal ends it at once.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Stopped(BaseException):
    """A signal, and a sentence about what remains; no ``except Exception`` catches it."""

    def __init__(self, number: int):
        super().__init__(number)
        self.number, self.what_stays = number, ""

    def __str__(self) -> str:
        return f"stopped by {signal.Signals(self.number).name}. {self.what_stays}".strip()


@contextmanager
def stoppable() -> Iterator[None]:
    """A block that the first signal ends with :class:`Stopped`."""
    numbers = [getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP")]
    before = {number: signal.getsignal(number) for number in numbers if number is not None}
    # nohup has its program ignore one of them.
    before = {number: handler for number, handler in before.items() if handler != signal.SIG_IGN}

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
    """A block after which a signal's message ends with ``what_stays()``."""
    try:
        yield
    except Stopped as stop:
        stop.what_stays = what_stays()
        raise
