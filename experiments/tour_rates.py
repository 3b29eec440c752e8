"""Chapter 07, section 7.8: the variants of EGT on few tours, each with a rate of its own.

    python -m experiments.tour_rates, about half an hour of one core

Each variant has the rate of four that is best in validation. The runs of experiments/chapter07.py
all have the second.
"""

from experiments.chapter07 import FEW_TOURS, load, variants
from experiments.runs import main
from gtcourse.train.tasks import edge_classification

RATES = (1e-3, 2e-3, 5e-3, 1e-2)
RUNS = {
    name.partition("/")[0]: run
    for name, run in variants(
        "few-tours", FEW_TOURS, task=edge_classification, batch_size=16, epochs=10, buckets=1
    ).items()
}

if __name__ == "__main__":
    main("chapter07", RUNS, load, title="{}/tuned-tours", module="tour_rates", rates=RATES)
