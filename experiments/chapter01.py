"""Chapter 01: the bag of atoms, beside the simplest models: ``python -m experiments.chapter01``."""

from dataclasses import asdict
from functools import partial

from experiments.runs import Run, main
from gtcourse import load_dataset
from gtcourse.models import BagTransformer, BagTransformerConfig
from gtcourse.training.leaderboard import simple_errors

RESULTS = {
    "mean_test_mae": "mean",
    "ridge_atoms_test_mae": "ridge on atom counts",
    "ridge_atoms_and_bonds_test_mae": "ridge on atom and bond counts",
}


def simple_models(*_) -> dict[str, float]:
    errors = simple_errors(load_dataset("molecules"))
    return {name: errors[predictor] for name, predictor in RESULTS.items()}


RUNS = {
    "bag": Run(
        partial(BagTransformer, BagTransformerConfig()),
        {"model": asdict(BagTransformerConfig())},
        epochs=30,
        buckets=1,
        scores=simple_models,
    )
}

if __name__ == "__main__":
    main("chapter01", RUNS, load_dataset, title="{}/molecules")
