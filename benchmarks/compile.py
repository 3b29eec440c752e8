"""What torch.compile and bfloat16 make of a training step: ``python -m benchmarks.compile``.

Two models of the leaderboard at 100,000 parameters on 64 molecules of one shape, one thread:

1. eager, in float32;
2. eager, in bfloat16 where autocast has it so ("bf16-mixed");
3. compiled by ``torch.compile``, in float32, with an empty cache; CSA with its attention as the
   equations read, which a compiler fuses by itself (:func:`gtcourse.training.run.for_compiler`).

Forward, backward and Adam. The first step is timed apart: the compiler works in it. They take
turns, each in a process of its own. What they predict before anything moves is compared with 1's.
It takes minutes.
"""

from __future__ import annotations

import copy
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import torch
from torch import Tensor, nn

from benchmarks.costs import Step, apart, milliseconds, peak_mb, rows, traced, without_name
from benchmarks.report import command_line, provenance, store
from benchmarks.subjects import BATCH, ENTRIES, molecules, subject
from gtcourse import GraphBatch, load_dataset
from gtcourse.models import CGT
from gtcourse.training.tasks import graph_regression

MODELS = ("graphormer", "csa")
WAYS = ("eager", "bf16-mixed", "compiled")
THREADS = 1
ROUNDS = 15
TASK = graph_regression()


class Report:
    """What a step in another process has to say.

    Attributes:
        prediction: ``[B]``, of the weights as they were built; peak: ``[1]``, MB of a later step.
    """

    def __init__(self, graphs: int):
        self.prediction = torch.zeros(graphs).share_memory_()
        self.peak = torch.zeros(1).share_memory_()


def step(way: str, model: nn.Module, batch: GraphBatch, report: Report) -> Step:
    """A training step. The first call also compiles, the second also measures memory."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    given = torch.compile(model) if way == "compiled" else model
    autocast = torch.autocast("cpu", torch.bfloat16, enabled=way == "bf16-mixed")

    def train() -> Tensor:
        with autocast:
            prediction = given(batch)
            loss = TASK.loss(prediction, batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return prediction

    calls = iter(("first", "second"))

    def run() -> None:
        match next(calls, "later"):
            case "first":
                report.prediction.copy_(train().detach())
            case "second":
                report.peak.fill_(peak_mb(traced(train)))
            case _:
                train()

    return run


def written_for(way: str, model: nn.Module) -> nn.Module:
    """A copy with the same weights, in the form that suits it."""
    if way != "compiled" or not isinstance(model, CGT):
        return copy.deepcopy(model)
    direct = CGT(replace(model.config, form="direct"))
    direct.load_state_dict(model.state_dict())
    return direct


@contextmanager
def empty_cache() -> Iterator[None]:
    """For processes that begin in here: the compiler finds nothing, works alone, leaves nothing."""
    with tempfile.TemporaryDirectory() as folder:
        here = {"TORCHINDUCTOR_CACHE_DIR": folder, "TORCHINDUCTOR_COMPILE_THREADS": "1"}
        before = {name: os.environ.get(name) for name in here}
        os.environ.update(here)
        yield
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def seconds(step: Step) -> float:
    start = time.perf_counter()
    step()
    return round(time.perf_counter() - start, 1)


def compare(name: str, rounds: int, graphs: int, ways: tuple[str, ...]) -> dict:
    given = subject(ENTRIES[name], molecules(load_dataset("molecules"), graphs))
    reports = {way: Report(graphs) for way in ways}
    steps = {
        way: step(way, written_for(way, given.model), given.graphs, reports[way]) for way in ways
    }
    with empty_cache(), apart(steps) as waiting:
        first = {way: seconds(waiting[way]) for way in ways}
        timed = rows(milliseconds(waiting, rounds))
    for way, row in zip(ways, timed, strict=True):
        row |= {
            "way": way,
            "first_seconds": first[way],
            "peak_mb": round(float(reports[way].peak), 2),
        }
        row["difference"] = difference(reports[way].prediction, reports["eager"].prediction)
    return {"model": name, "rows": [{"way": row["way"], **without_name(row)} for row in timed]}


def difference(prediction: Tensor, exact: Tensor) -> float:
    """The largest one, as a share of how far the exact predictions lie apart."""
    return float(f"{float((prediction - exact).abs().max() / (exact.max() - exact.min())):.2g}")


def measure(rounds: int, models: tuple[str, ...] = MODELS, graphs: int = BATCH) -> dict:
    torch.set_num_threads(THREADS)
    return {
        "name": "compile-benchmark",
        "data": load_dataset("molecules").provenance,
        "models": [compare(name, rounds, graphs, WAYS) for name in models],
        "graphs": graphs,
        "bf16_instructions": bool(torch.cpu._is_avx512_bf16_supported()),
        "rounds": rounds,
        "threads": THREADS,
    } | provenance("compile")


def show(content: dict) -> None:
    for result in content["models"]:
        print(result["model"])
        for row in result["rows"]:
            print(
                f"  {row['way']:12}{row['ms']:8.1f} ms × {row['ratio']:.2f}{row['peak_mb']:8.1f} MB"
                f"; first step {row['first_seconds']} s; differs by {row['difference']:.1e}"
            )


def main() -> None:
    args = command_line(__doc__, ROUNDS).parse_args()
    content = measure(args.rounds)
    show(content)
    store(content, args.out)


if __name__ == "__main__":
    main()
