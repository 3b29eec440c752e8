"""Chapter 07, section 7.7: the variants of EGT on few tours, each with a rate of its own.

    python -m experiments.tour_rates --seeds 0 1 2 3 4 5 6 7 8 9, about half an hour of one core

Each variant is trained at the one of four learning rates that is best in validation. All runs of
experiments/chapter07.py use the second of these rates.
"""

from experiments import chapter07
from experiments.runs import main

RATES = (1e-3, 2e-3, 5e-3, 1e-2)
RUNS = {
    name.removesuffix("/few-tours"): run
    for name, run in chapter07.RUNS.items()
    if run.data == "few-tours"
}

if __name__ == "__main__":
    main(
        "chapter07",
        RUNS,
        chapter07.load,
        title="{}/tuned-tours",
        module="tour_rates",
        rates=RATES,
    )
