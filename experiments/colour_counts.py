"""Ridge regression on counts of 1-WL colours: ``python -m experiments.colour_counts --zinc FILE``.

By the number of rounds, with and without bond types: which part of the error on ZINC is left to a
model that reads what message passing can see, and learns one weight for each colour. Also how many
pairs of molecules have the same counts, which no such model can tell apart.
"""

import argparse
from collections import defaultdict
from itertools import combinations
from pathlib import Path

import numpy as np
import torch
from sklearn.linear_model import Ridge
from torch_geometric.data import Data

from experiments.runs import store_measurement
from gtcourse import load_dataset
from gtcourse.course.leaderboard import colour_counts
from gtcourse.course.records import RECORDS

ROUNDS = (1, 2, 3, 4, 5)


def without_bonds(graphs: list[Data]) -> list[Data]:
    """The same molecules, with one type for all bonds."""
    plain = [graph.clone() for graph in graphs]
    for graph in plain:
        graph.edge_attr = torch.zeros_like(graph.edge_attr)
    return plain


def equal_counts(graphs: list[Data], rounds: int) -> list[tuple[int, int]]:
    """Pairs of graphs with the same counts of all colours."""
    counts, _ = colour_counts(graphs, graphs[:1], rounds)
    groups = defaultdict(list)
    for n in range(counts.shape[0]):
        row = counts[n]
        groups[row.indices.tobytes(), row.data.tobytes()].append(n)
    return [pair for group in groups.values() for pair in combinations(group, 2)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--zinc", type=Path, required=True, help="ZINC-12k as a graph file")
    args = parser.parse_args()
    zinc = load_dataset("zinc", source=args.zinc)
    targets = [torch.cat([g.y for g in part]).double().numpy() for part in (zinc.train, zinc.test)]
    rows = []
    for bonds in (True, False):
        train, test = (part if bonds else without_bonds(part) for part in (zinc.train, zinc.test))
        y = torch.cat([graph.y for graph in (*train, *test)]).numpy()
        for rounds in ROUNDS:
            x, x_test = colour_counts(train, test, rounds)
            ridge = Ridge(alpha=1.0, solver="sparse_cg", tol=1e-8).fit(x, targets[0])
            same = equal_counts([*train, *test], rounds)
            row = {
                "bonds": bonds,
                "rounds": rounds,
                "colours": x.shape[1],
                "train_mae": float(np.abs(ridge.predict(x) - targets[0]).mean()),
                "test_mae": float(np.abs(ridge.predict(x_test) - targets[1]).mean()),
                "equal_pairs": len(same),
                "largest_gap": max((float(abs(y[i] - y[j])) for i, j in same), default=0.0),
            }
            rows.append(row)
            print(row, flush=True)
    content = {"name": "colour-counts", "data": zinc.provenance, "rows": rows}
    command = f"python -m experiments.colour_counts --zinc {args.zinc.name}"
    store_measurement(RECORDS / "colour-counts.json", content, command)
