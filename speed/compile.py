"""What torch.compile and bfloat16 make of a training step: ``python -m speed.compile``.

Two models of the leaderboard at 100,000 parameters on 64 molecules of one shape, one thread:

1. eager, in float32;
2. eager, in bfloat16 where autocast has it so ("bf16-mixed");
3. compiled by ``torch.compile``, in float32, with an empty cache; CSA with its attention as the
   equations read, which a compiler fuses by itself.

Forward, backward and Adam. The first step is timed apart: the compiler works in it. They take
turns. What they predict before anything moves is compared with 1's.
"""

import copy

import torch
from torch import Tensor

from gtcourse import load_dataset
from speed.measure import Step, compare_compiled, run
from speed.subjects import BATCH, Subject, l1_loss, subject

MODELS = ("graphormer", "csa")
WAYS = ("eager", "bf16-mixed", "compiled")


def step(way: str, given: Subject) -> Step:
    """A training step of a copy of the model, which returns what the model predicted."""
    model = copy.deepcopy(given.model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    called = torch.compile(model) if way == "compiled" else model
    autocast = torch.autocast("cpu", torch.bfloat16, enabled=way == "bf16-mixed")

    def train() -> Tensor:
        with autocast:
            prediction = called(given.graphs)
            loss = l1_loss(prediction, given.graphs)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return prediction.float()

    return train


def of_model(name: str, rounds: int, graphs: int) -> dict:
    given = subject(name, load_dataset("molecules").train[:graphs])
    rows, predictions = compare_compiled({way: step(way, given) for way in WAYS}, rounds)
    exact = predictions[WAYS[0]]
    for row in rows:  # the largest difference, as a share of how far exact predictions lie apart
        error = (predictions[row["method"]] - exact).abs().max() / (exact.max() - exact.min())
        row["difference"] = float(f"{float(error):.2g}")
    return {"model": name, "rows": rows}


def measure(rounds: int, graphs: int) -> dict:
    return {"models": [of_model(name, rounds, graphs) for name in MODELS]}


if __name__ == "__main__":
    run("compile", measure, rounds=15, graphs=BATCH)
