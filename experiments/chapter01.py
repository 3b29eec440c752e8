"""Chapter 01: the bag of atoms, beside the simplest models on the same data.

python -m experiments.chapter01                          embedded molecules
python -m experiments.chapter01 --data zinc12k.npz       a ZINC graph file
"""

import argparse
from dataclasses import asdict
from functools import partial
from pathlib import Path

from experiments.runs import Run, main
from gtcourse import load_dataset
from gtcourse.models import BagTransformer, BagTransformerConfig
from gtcourse.training.simple import simple_errors

RESULTS = {
    "mean_test_mae": "mean",
    "ridge_atoms_test_mae": "ridge on atom counts",
    "ridge_atoms_and_bonds_test_mae": "ridge on atom and bond counts",
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--data", default="molecules", help='"molecules", or a ZINC graph file')
    args, others = parser.parse_known_args()
    embedded = args.data == "molecules"
    data = load_dataset("molecules") if embedded else load_dataset("zinc", source=args.data)
    errors = simple_errors(data)
    run = Run(
        partial(BagTransformer, BagTransformerConfig()),
        {"model": asdict(BagTransformerConfig())},
        epochs=30,
        buckets=1,
        scores=lambda *_: {name: errors[predictor] for name, predictor in RESULTS.items()},
    )
    title = "{}/molecules" if embedded else "{}/zinc"
    options = f" --data {Path(args.data).name}"
    main("chapter01", {"bag": run}, lambda _: data, title=title, options=options, arguments=others)
