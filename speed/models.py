"""What each model's step costs, beside peers of the same size: ``python -m speed.models``.

The nine models of the leaderboard at 100,000 parameters, and a stack of four layers each of
``nn.TransformerEncoder``, of PyG's ``GPSConv`` and of its ``TransformerConv`` with about as many.
All on the same 64 molecules, batched beforehand, encodings computed beforehand:

1. the forward pass in evaluation mode, without gradients (``nn.TransformerEncoder`` takes its fused
   path there);
2. a training step: forward, backward and Adam;
3. the most memory that the training step holds at a time, above weights and Adam's averages;
4. the operations in the training step's products of matrices.

They take turns. It runs on a GPU where there is one.
"""

import torch

from gtcourse import load_dataset
from speed.measure import gflop, in_turn, peak_mb, run
from speed.subjects import BATCH, ENTRIES, PEERS, Subject, subject

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def compare(subjects: list[Subject], rounds: int) -> list[dict]:
    """A row for each."""
    forward = in_turn({s.name: s.forward() for s in subjects}, rounds)
    step = in_turn({s.name: s.training_step() for s in subjects}, rounds)
    return [
        {
            "model": one.name,
            "peer": one.name in PEERS,
            "parameters": one.parameters,
            "forward": forward[one.name],
            "step": step[one.name],
            "graphs_per_second": round(1000 * one.graphs.num_graphs / step[one.name]["ms"]),
            "peak_mb": peak_mb(one.training_step()),
            "gflop": gflop(one.training_step()),
        }
        for one in subjects
    ]


def measure(rounds: int, graphs: int) -> dict:
    molecules = load_dataset("molecules").train[:graphs]
    subjects = [subject(name, molecules, DEVICE) for name in (*PEERS, *ENTRIES)]
    return {"rows": compare(subjects, rounds)}


if __name__ == "__main__":
    run("models", measure, rounds=15, graphs=BATCH)
