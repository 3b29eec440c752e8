"""The line to beat in every table of molecules: ``python -m experiments.simple_predictors``."""

import argparse
from pathlib import Path

from experiments.runs import first_graphs, store_measurement
from gtcourse import load_dataset
from gtcourse.course.leaderboard import simple_errors
from gtcourse.course.records import RECORDS
from gtcourse.recipes.adapt import read_csv

SIZES = (1000, 2000, 4000, 10_000)  # the training molecules of the chapters

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--zinc", type=Path, required=True, help="ZINC-12k as a graph file")
    parser.add_argument("--molhiv", type=Path, required=True, help="ogbg-molhiv as a CSV file")
    args = parser.parse_args()
    molecules = load_dataset("molecules")
    zinc = load_dataset("zinc", source=args.zinc)
    molhiv, _ = read_csv(args.molhiv, "smiles", ["HIV_active"], "binary", split="split")
    errors = {
        f"molecules, {size} molecules": simple_errors(first_graphs(molecules, size))
        for size in SIZES
    }
    content = {
        "name": "simple-predictors",
        "data": [molecules.provenance, zinc.provenance, molhiv.provenance],
        "test_mae": errors | {"zinc, 10000 molecules": simple_errors(zinc)},
        "test_auroc": {"molhiv, 32901 molecules": simple_errors(molhiv, "auroc")},
    }
    command = f"python -m experiments.simple_predictors --zinc {args.zinc.name} --molhiv …"
    store_measurement(RECORDS / "simple-predictors.json", content, command)
