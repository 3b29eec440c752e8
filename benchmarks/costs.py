"""What a step takes, in time and in memory: measured the same way by every benchmark."""

from __future__ import annotations

import json
import multiprocessing
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

Step = Callable[[], object]


def milliseconds(steps: dict[str, Step], rounds: int, warm_up: int = 2) -> dict[str, list[float]]:
    """What each step takes, ``rounds`` times, in turn, after ``warm_up`` that are not counted."""
    times = {name: [] for name in steps}
    for round_number in range(-warm_up, rounds):
        for name, step in steps.items():
            start = time.perf_counter()
            step()
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            if round_number >= 0:
                times[name].append(1000 * (time.perf_counter() - start))
    return times


@contextmanager
def apart(steps: dict[str, Step]) -> Iterator[dict[str, Step]]:
    """The steps, each in a process of its own that waits for its turn, as a model in training is.

    What one step leaves to the C library's allocator changes the time of the next: memory that was
    given back to the system has to be fetched again, page by page.
    """
    context = multiprocessing.get_context("fork")
    pipes = {name: context.Pipe() for name in steps}
    workers = {
        name: context.Process(target=_serve, args=(steps[name], end), daemon=True)
        for name, (_, end) in pipes.items()
    }
    with forking():
        for worker in workers.values():
            worker.start()

    def asking(name: str) -> Step:
        connection, worker = pipes[name][0], workers[name]

        def ask() -> None:
            connection.send(True)
            while not connection.poll(1):
                if not worker.is_alive():
                    raise RuntimeError(f"the process of {name!r} has ended; expected its answer.")
            connection.recv()

        return ask

    try:
        yield {name: asking(name) for name in steps}
    finally:
        for name, worker in workers.items():
            pipes[name][0].send(False)
            worker.join()


def alone(function: Callable[..., dict], *arguments: object) -> dict:
    """What the function returns from a process of its own, for the same reason."""
    with forking(), multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(function, arguments)


@contextmanager
def forking() -> Iterator[None]:
    """Newer Pythons warn of threads, which a fork does not have; no step waits for one."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*use of fork", DeprecationWarning)
        yield


def _serve(step: Step, end: Connection) -> None:
    while end.recv():
        step()
        end.send(None)


def rows(times: dict[str, list[float]]) -> list[dict]:
    """Medians, and the median of each method's ratio to the first one in the same round."""
    first = next(iter(times.values()))
    return [
        {
            "method": name,
            "ms": round(statistics.median(values), 1),
            "quartiles": [round(q, 1) for q in statistics.quantiles(values)[::2]],
            "ratio": round(statistics.median(t / f for t, f in zip(values, first, strict=True)), 3),
        }
        for name, values in times.items()
    ]


def without_name(row: dict) -> dict:
    """One of :func:`rows`, to be put beside others of the same method."""
    return {key: value for key, value in row.items() if key != "method"}


def traced(step: Step) -> list[dict]:
    """What PyTorch's profiler saw of a step on the CPU."""
    step()  # once before, in which torch sets up what it needs
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        step()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        return json.loads(path.read_text())["traceEvents"]


def peak_mb(trace: list[dict]) -> float:
    """The most memory that was held at a time, above what stood before."""
    changes = sorted(
        (event["ts"], event["args"]["Bytes"]) for event in trace if event.get("name") == "[memory]"
    )
    held = torch.tensor([size for _, size in changes]).cumsum(0)
    return round(int(held.max()) / 2**20, 2)


def peak_mb_of(step: Step, device: str) -> float:
    """The same of a step that runs on ``device``: "cuda", or the CPU."""
    if device != "cuda":
        return peak_mb(traced(step))
    step()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    step()
    torch.cuda.synchronize()
    return round((torch.cuda.max_memory_allocated() - before) / 2**20, 2)
