"""What torch.compile and bfloat16 make of a training step: ``python -m benchmarks.compile``.

Two models of the leaderboard at 100,000 parameters on 64 molecules of one shape, one thread:

1. eager, in float32;
2. eager, in bfloat16 where autocast has it so ("bf16-mixed");
3. compiled by ``torch.compile``, in float32, with an empty cache; CSA with its attention as the
   equations read, which a compiler fuses by itself (:func:`gtcourse.training.run.for_compiler`).

Forward, backward and Adam. The first step is timed apart: the compiler works in it. They take
turns, each in a process of its own. What they predict before anything moves is compared with 1's.
On a CPU the models look at their input's numbers to refuse wrong ones, and there the compiler
begins a new graph; on a GPU they do not.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor, nn

from benchmarks.compiling import compare
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


def step(way: str, model: nn.Module, batch: GraphBatch) -> Callable[[], Tensor]:
    """A training step, which returns what the model predicted."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    given = torch.compile(model) if way == "compiled" else model
    autocast = torch.autocast("cpu", torch.bfloat16, enabled=way == "bf16-mixed")

    def run() -> Tensor:
        with autocast:
            prediction = given(batch)
            loss = TASK.loss(prediction, batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return prediction

    return run


def written_for(way: str, model: nn.Module) -> nn.Module:
    """A copy with the same weights, in the form that suits it."""
    if way != "compiled" or not isinstance(model, CGT):
        return copy.deepcopy(model)
    direct = CGT(replace(model.config, form="direct"))
    direct.load_state_dict(model.state_dict())
    return direct


def of_model(name: str, rounds: int, graphs: int, ways: tuple[str, ...]) -> dict:
    given = subject(ENTRIES[name], molecules(load_dataset("molecules"), graphs))
    steps = {way: step(way, written_for(way, given.model), given.graphs) for way in ways}
    compared, predictions = compare(steps, (graphs,), rounds)
    for row in compared:
        row["difference"] = difference(predictions[row["method"]], predictions[ways[0]])
    return {"model": name, "rows": compared}


def difference(prediction: Tensor, exact: Tensor) -> float:
    """The largest one, as a share of how far the exact predictions lie apart."""
    return float(f"{float((prediction - exact).abs().max() / (exact.max() - exact.min())):.2g}")


def measure(
    rounds: int,
    models: tuple[str, ...] = MODELS,
    graphs: int = BATCH,
    ways: tuple[str, ...] = WAYS,
) -> dict:
    torch.set_num_threads(THREADS)
    return {
        "name": "compile-benchmark",
        "data": load_dataset("molecules").provenance,
        "models": [of_model(name, rounds, graphs, ways) for name in models],
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
                f"  {row['method']:12}{row['ms']:8.1f} ms × {row['ratio']:.2f}"
                f"{row['peak_mb']:8.1f} MB; first step {row['first_seconds']} s, "
                f"{row['graph_breaks']} graph breaks; differs by {row['difference']:.1e}"
            )


def main() -> None:
    args = command_line(__doc__, ROUNDS).parse_args()
    content = measure(args.rounds)
    show(content)
    store(content, args.out)


if __name__ == "__main__":
    main()
