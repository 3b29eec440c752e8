"""Errors without the molecules with large rings: ``python -m experiments.large_rings``.

In the target, each atom beyond the sixth of a molecule's largest ring costs 3.475, so that a few
molecules can decide an average. The models are those of the leaderboard whose weights are shipped,
the ablations of CSA, whose weights ``experiments.leaderboard`` has left in its folder, and the
ridge regression. Half a minute.
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from sklearn.linear_model import Ridge

from experiments.leaderboard import (
    ABLATION_RATE,
    ABLATIONS,
    SEEDS,
    TRAIN_MOLECULES,
    WEIGHTS,
    load,
)
from experiments.runs import first_graphs, store_measurement
from gtcourse import DenseLoader, load_dataset
from gtcourse.course.leaderboard import BEST_SIMPLE, LEADERBOARD, colour_counts
from gtcourse.course.records import RECORDS, recorded
from gtcourse.graphs.molecules import largest_ring, parse
from gtcourse.recipes.small import Entry
from gtcourse.runs.record import PACKAGE, Record, read_record, read_weights

LARGE = 12
"""Atoms in the largest ring of the molecules that are left out."""


@torch.no_grad()
def predictions(entry: Entry, record: Record, folder: Path) -> np.ndarray:
    """What the model of a record predicts for the test molecules."""
    model = entry.build_model()
    model.load_state_dict(read_weights(record, folder))
    model.eval()
    test = load(entry.transforms).test
    return torch.cat([model(batch) for batch in DenseLoader(test, 100)]).double().numpy()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("runs/leaderboard"))
    args = parser.parse_args()
    data = first_graphs(load_dataset("molecules"), TRAIN_MOLECULES)
    y = torch.cat([graph.y for graph in data.test]).double().numpy()
    sizes = {
        part: np.array([largest_ring(parse(graph.smiles)) for graph in data[part]])
        for part in ("train", "test")
    }
    large = np.flatnonzero(sizes["test"] >= LARGE)
    rows = []

    def add(model: str, seed: int | None, predicted: np.ndarray) -> None:
        off = np.abs(predicted - y)
        row = {
            "model": model,
            "seed": seed,
            "test_mae": round(float(off.mean()), 5),
            "without": round(float(np.delete(off, large).mean()), 5),
            "median": round(float(np.median(off)), 5),
            "large": [round(float(each), 2) for each in off[large]],
        }
        rows.append(row)
        print(row, flush=True)

    for name, number in WEIGHTS.items():
        for record in recorded(f"{name}/molecules")[:number]:
            add(name, record.seed, predictions(LEADERBOARD[name], record, PACKAGE))
    for name, entry in ABLATIONS.items():
        for seed in SEEDS:
            record = read_record(args.folder / f"{name}-rate{ABLATION_RATE:g}-seed{seed}.json")
            add(name, seed, predictions(entry, record, args.folder))
    x, x_test = colour_counts(data.train, data.test)
    targets = torch.cat([graph.y for graph in data.train]).double().numpy()
    ridge = Ridge(alpha=1.0, solver="sparse_cg", tol=1e-8).fit(x, targets)
    add(BEST_SIMPLE, None, ridge.predict(x_test))
    content = {
        "name": "large-rings",
        "data": data.provenance,
        "least_atoms": LARGE,
        "train": {
            "molecules": int((sizes["train"] >= LARGE).sum()),
            "largest": int(sizes["train"].max()),
        },
        "test": [
            {"number": int(n), "ring": int(sizes["test"][n]), "target": round(float(y[n]), 2)}
            for n in large
        ],
        "rows": rows,
    }
    command = "python -m experiments.large_rings"
    store_measurement(RECORDS / "large-rings.json", content, command)
