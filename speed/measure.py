"""What a step takes, in time and in memory, and who measured it where: shared by all benchmarks."""

import argparse
import json
import logging
import os
import platform
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

from experiments.runs import origin
from gtcourse import load_dataset
from gtcourse.train.memory import keep_freed_memory

Step = Callable[[], object]
Clock = Callable[[], float]

ON_GPU = torch.cuda.is_available()
CLOCK = "wall clock" if ON_GPU else "processor time"
"""On a CPU, a step is timed by what its process computes. Waiting for other programs on the machine
is not counted. A GPU computes outside the process, so there a step is timed by the wall clock."""
CLOCKS: dict[str, Clock] = {"wall clock": time.perf_counter, "processor time": time.process_time}


def milliseconds(step: Step, clock: str = CLOCK) -> float:
    now = CLOCKS[clock]
    start = now()
    step()
    if ON_GPU:
        torch.cuda.synchronize()
    return 1000 * (now() - start)


def in_turn(steps: dict[str, Step], rounds: int, warm_up: int = 2) -> dict[str, dict]:
    """Median time of each step, with quartiles.

    The steps take turns, so that whatever else the machine does meets all of them; the first
    ``warm_up`` rounds are not counted.
    """
    times = {name: [] for name in steps}
    for _ in range(warm_up + rounds):
        for name, step in steps.items():
            times[name].append(milliseconds(step))
    return {name: summary(of[warm_up:]) for name, of in times.items()}


def summary(times: Sequence[float], key: str = "ms") -> dict:
    """The median of times, under this key, and their quartiles."""
    quartiles = [round(q, 1) for q in statistics.quantiles(times)[::2]]
    return {key: round(statistics.median(times), 1), "quartiles": quartiles}


def compare_compiled(steps: dict[str, Step], rounds: int) -> tuple[list[dict], dict[str, Tensor]]:
    """Rows for steps of which some are compiled, from an empty cache, and what each returned.

    A row has the time of the first call, in which the compiler works, apart from the others.
    """
    with tempfile.TemporaryDirectory() as cache:
        os.environ |= {"TORCHINDUCTOR_CACHE_DIR": cache, "TORCHINDUCTOR_COMPILE_THREADS": "1"}
        first = {name: first_call(step) for name, step in steps.items()}
        times = in_turn(steps, rounds)
        rows = [
            {"method": name, **times[name], **about, "peak_mb": peak_mb(steps[name])}
            for name, (about, _) in first.items()
        ]
    return rows, {name: result for name, (_, result) in first.items()}


def first_call(step: Step) -> tuple[dict, Tensor]:
    torch._logging.set_logs(dynamo=logging.ERROR)  # graph breaks are counted below
    breaks = torch._dynamo.utils.counters["graph_break"]
    breaks.clear()
    start = time.perf_counter()
    result = step().detach()
    seconds = round(time.perf_counter() - start, 1)
    return {"first_seconds": seconds, "graph_breaks": sum(breaks.values())}, result


def traced(step: Step) -> profile:
    """PyTorch's profiler after a step on the CPU."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        step()
    return profiler


def peak_mb(step: Step) -> float:
    """The most memory that a step holds at a time, above what stood before."""
    step()  # once before, in which torch sets up what it needs
    if not ON_GPU:
        return round(peak_of(traced(step)) / 2**20, 2)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    step()
    torch.cuda.synchronize()
    return round((torch.cuda.max_memory_allocated() - before) / 2**20, 2)


def gflop(step: Step) -> float:
    """Billions of operations in the products of matrices of a step; a + b c counts as two."""
    with FlopCounterMode(display=False) as counter:
        step()
    return round(counter.get_total_flops() / 1e9, 3)


def peak_of(profiler: profile) -> int:
    """The most bytes that were held at a time."""
    events = profiler.profiler.kineto_results.events()
    changes = sorted((e.start_ns(), e.nbytes()) for e in events if e.name() == "[memory]")
    return int(torch.tensor([size for _, size in changes]).cumsum(0).max())


def run(name: str, measure: Callable[..., dict], rounds: int, **options: int) -> None:
    """The command line of a benchmark: measures, prints, and writes a record with ``--out``.

    Args:
        measure: gives the record's content from ``rounds`` and the ``options``, which it names too.
    """
    parser = argparse.ArgumentParser(description=f"The benchmark {name}.")
    parser.add_argument("--rounds", type=int, default=rounds, help="turns of each; 2 or more")
    for option, default in options.items():
        parser.add_argument(f"--{option}", type=int, default=default)
    parser.add_argument("--out", type=Path, help="write the result to this JSON file")
    args = vars(parser.parse_args())
    out = args.pop("out")
    torch.set_num_threads(1)
    kept = keep_freed_memory()
    content = {
        "name": f"{name}-benchmark",
        "data": load_dataset("molecules").provenance,
        **measure(**args),
        **args,
        "precision": "float32",
        "threads": torch.get_num_threads(),
        "clock": CLOCK,
        "keeps_memory": kept,
        "processor": processor(),
        "cores": os.cpu_count(),
        **origin(f"python -m speed.{name}"),
    }
    text = json.dumps(content, indent=1) + "\n"
    print(text)
    if out:
        out.write_text(text)


def processor() -> str:
    """As Linux calls it, or its architecture."""
    about = Path("/proc/cpuinfo")
    names = re.findall(r"model name\s*: (.+)", about.read_text()) if about.exists() else []
    return next(iter(names), platform.machine())
