"""Steps of which some are compiled: the first call apart, and what they have to say besides time.

They run in processes of their own (:func:`benchmarks.costs.apart`), each with its own compiler.
"""

from __future__ import annotations

import logging
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from benchmarks.costs import Step, apart, milliseconds, peak_mb, rows, traced, without_name


class Report:
    """What a step in another process has found.

    Attributes:
        result: of its first call; peak: ``[1]``, MB of its second; breaks: ``[1]``, the places at
            which the compiler gave up and began a new graph.
    """

    def __init__(self, shape: tuple[int, ...]):
        self.result = torch.zeros(shape).share_memory_()
        self.peak = torch.zeros(1).share_memory_()
        self.breaks = torch.zeros(1, dtype=torch.int64).share_memory_()


def reporting(step: Callable[[], Tensor], report: Report) -> Step:
    """The step; its first call also compiles, its second also measures memory."""
    calls = iter(("first", "second"))

    def run() -> None:
        match next(calls, "later"):
            case "first":
                # Where it breaks off is counted below.
                torch._logging.set_logs(dynamo=logging.ERROR)
                report.result.copy_(step().detach())
                report.breaks.fill_(sum(torch._dynamo.utils.counters["graph_break"].values()))
            case "second":
                report.peak.fill_(peak_mb(traced(step)))
            case _:
                step()

    return run


@contextmanager
def empty_cache() -> Iterator[None]:
    """For processes that begin in here: the compiler finds nothing, works alone, leaves nothing."""
    with tempfile.TemporaryDirectory() as folder:
        here = {"TORCHINDUCTOR_CACHE_DIR": folder, "TORCHINDUCTOR_COMPILE_THREADS": "1"}
        before = {name: os.environ.get(name) for name in here}
        os.environ.update(here)
        try:
            yield
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})


def compare(steps: dict[str, Callable[[], Tensor]], shape: tuple[int, ...], rounds: int) -> tuple:
    """Times in turn, the first call's, and memory of each: rows, and the first calls' results.

    Args:
        shape: of what a step returns.
    """
    reports = {name: Report(shape) for name in steps}
    told = {name: reporting(step, reports[name]) for name, step in steps.items()}
    with empty_cache(), apart(told) as waiting:
        first = {name: seconds(step) for name, step in waiting.items()}
        timed = rows(milliseconds(waiting, rounds))
    results = [
        {
            "method": row["method"],
            **without_name(row),
            "first_seconds": first[row["method"]],
            "graph_breaks": int(reports[row["method"]].breaks),
            "peak_mb": round(float(reports[row["method"]].peak), 2),
        }
        for row in timed
    ]
    return results, {name: report.result for name, report in reports.items()}


def seconds(step: Step) -> float:
    start = time.perf_counter()
    step()
    return round(time.perf_counter() - start, 1)
