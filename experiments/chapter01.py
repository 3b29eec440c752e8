"""Chapter 01: the bag of atoms: ``python -m experiments.chapter01``."""

from dataclasses import asdict
from functools import partial

from experiments.runs import Run, main
from gtcourse import load_dataset
from gtcourse.models import BagTransformer, BagTransformerConfig

RUNS = {
    "bag": Run(
        partial(BagTransformer, BagTransformerConfig()),
        {"model": asdict(BagTransformerConfig())},
        epochs=30,
        buckets=1,
    )
}

if __name__ == "__main__":
    main("chapter01", RUNS, load_dataset, title="{}/molecules")
