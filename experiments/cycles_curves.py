"""Chapter 05: ``python -m experiments.cycles_curves``, about 30 CPU minutes.

CYCLES against the number of epochs: a GatedGCN that reads 20 eigenvectors with random signs, their
absolute values, SignNet, SignNet's networks without the second sign, or no eigenvector but the
degrees. The rate is constant, so that the runs
can be compared after any number of epochs, and it is chosen for each encoding.
"""

import time
from dataclasses import replace

import torch
from torch.optim import AdamW

from experiments.chapter05 import (
    BASES,
    ENCODINGS,
    OneRandomSign,
    absolute_values,
    load,
    run_of,
)
from experiments.runs import Run, main, no_scores, store_measurement
from gtcourse import DenseLoader
from gtcourse.course.records import RECORDS
from gtcourse.graphs.dataset import GraphDataset
from gtcourse.train.loop import fit

RATES = (1e-3, 3e-3, 1e-2)
EPOCHS = {
    "signnet": 12,
    "one-sign": 12,
    "one-sign-flips": 12,
    "flips": 40,
    "degrees": 20,
    "absolute": 40,
}
"""An epoch with SignNet's networks takes several times as long as one without, so the runs of the
three encodings that chapter 05 compares take about the same time."""

CYCLES = BASES["cycles"]._replace(batch_size=25)
BUILDS = ENCODINGS | {"absolute": absolute_values, "one-sign-flips": OneRandomSign}
RUNS = {
    encoding: replace(
        run_of(CYCLES, encoding, BUILDS[encoding]),
        epochs=epochs,
        constant=True,
        scores=no_scores,
    )
    for encoding, epochs in EPOCHS.items()
}


def epoch_seconds(run: Run, data: GraphDataset) -> float:
    """CPU seconds of the second epoch of a run, with its validation; the first warms up."""
    training = DenseLoader(data.train, run.batch_size, shuffle=True, buckets=run.buckets)
    val = DenseLoader(data.val, 4 * run.batch_size)
    torch.manual_seed(0)
    model = run.build()
    optimizer = AdamW(run.groups(model))
    for _ in range(2):
        start = time.process_time()
        fit(model, run.task(), training, val, epochs=1, optimizer=optimizer)
        seconds = time.process_time() - start
    return seconds


def store_costs() -> None:
    data = load("cycles")
    content = {
        "name": "cycles-epochs",
        "data": data.provenance,
        "epoch_seconds": {name: round(epoch_seconds(run, data), 2) for name, run in RUNS.items()},
    }
    store_measurement(
        RECORDS / "cycles-epochs.json", content, "python -m experiments.cycles_curves"
    )


if __name__ == "__main__":
    main(
        "chapter05",
        RUNS,
        load,
        title="cycles-curve-{}/cycles",
        module="cycles_curves",
        rates=RATES,
        context=store_costs,
    )
