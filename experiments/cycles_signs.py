"""Chapter 04: ``python -m experiments.cycles_signs``, about five CPU minutes for each seed.

Does a model that has learned CYCLES with random signs still depend on them? The GatedGCN-PE of the
recorded runs is trained again, on 1,000 graphs for 4,000 steps. Then it reads test graphs, each
with many choices of the signs of its eigenvectors.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from experiments.chapter04 import train
from experiments.runs import records_of, store
from gtcourse import collate, load_dataset
from gtcourse.encodings import encode
from gtcourse.recipes import get_recipe

MODEL = "gatedgcn-pe"
GRAPHS = 1000
STEPS = 4000
TEST_GRAPHS = 200
"""The first of the test set, which are pairs of twins."""

CHOICES = 32
"""Choices of signs for each of these graphs."""


@torch.no_grad()
def chances(model: nn.Module, graph: Data) -> Tensor:
    """The predicted chance of a cycle of length 6 for each choice of signs: ``[CHOICES]``."""
    batch = collate([graph] * CHOICES)
    vectors = batch.encodings["laplacian_eigenvectors"]  # [CHOICES, N, k]
    signs = torch.randint(0, 2, (CHOICES, 1, vectors.shape[2])) * 2.0 - 1
    batch.encodings["laplacian_eigenvectors"] = vectors * signs
    return model.cpu().eval()(batch).softmax(dim=1)[:, 1]


def under_random_signs(model: nn.Module, test: Sequence[Data]) -> dict[str, float]:
    """How much the model's answers to the test graphs depend on the signs."""
    torch.manual_seed(0)
    predicted = torch.stack([chances(model, graph) for graph in test])  # [G, CHOICES]
    answers = predicted > 0.5
    labels = torch.tensor([int(graph.y) for graph in test])
    right = answers == labels[:, None]
    changes = answers.any(dim=1) & ~answers.all(dim=1)
    ranges = predicted.amax(dim=1) - predicted.amin(dim=1)
    return {
        "accuracy_random_signs": round(float(right.float().mean()), 6),
        "graphs_with_both_answers": round(float(changes.float().mean()), 6),
        "mean_range_of_chances": round(float(ranges.mean()), 6),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument("--out", type=Path, default=records_of("chapter04"))
    args = parser.parse_args()
    cycles = encode(load_dataset("cycles"), *get_recipe(f"{MODEL}/cycles").transforms)
    for seed in args.seeds:
        record, model = train(MODEL, GRAPHS, seed, STEPS, cycles)
        signs = {"test_graphs_for_signs": TEST_GRAPHS, "choices_of_signs": CHOICES}
        record = replace(
            record,
            name=f"{MODEL}-signs/cycles-{GRAPHS}",
            config=record.config | signs,
            result=record.result | under_random_signs(model, cycles.test[:TEST_GRAPHS]),
            command=f"python -m experiments.cycles_signs --seeds {seed}",
        )
        store(record, args.out)
