"""The line to beat in every table of molecules: ``python -m experiments.simple_predictors``."""

import argparse
import json
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from experiments.chapter07 import first_training
from gtcourse import load_dataset
from gtcourse.training.own import read_csv
from gtcourse.training.records import current_commit, device_name, installed_versions
from gtcourse.training.simple import simple_errors
from tools.paths import PACKAGE

PATH = PACKAGE / "recorded" / "simple-predictors.json"
SIZES = (1000, 2000, 4000, 10_000)  # the training molecules of the chapters


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--zinc", type=Path, required=True, help="ZINC-12k as a graph file")
    parser.add_argument("--molhiv", type=Path, required=True, help="ogbg-molhiv as a CSV file")
    args = parser.parse_args()
    molecules, zinc = load_dataset("molecules"), load_dataset("zinc", source=args.zinc)
    errors = {
        f"molecules, {size} molecules": simple_errors(first_training(molecules, size))
        for size in SIZES
    }
    errors["zinc, 10000 molecules"] = simple_errors(zinc)
    molhiv, _ = read_csv(args.molhiv, "smiles", ["HIV_active"], "binary", split="split")
    content = {
        "name": "simple-predictors",
        "data": [molecules.provenance, zinc.provenance, molhiv.provenance],
        "test_mae": errors,
        "test_auroc": {"molhiv, 32901 molecules": simple_errors(molhiv, "auroc")},
        "command": f"python -m experiments.simple_predictors --zinc {args.zinc.name} --molhiv …",
        "commit": current_commit(),
        "device": device_name(),
        "versions": installed_versions() | {"scikit-learn": version("scikit-learn")},
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }
    PATH.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
