"""Chapter 10: ``python -m experiments.chapter10``, about an hour.

Controls of the leaderboard: models of message passing with the other readout, and in batches that
mix all sizes. Everything else, the rates included, is as in `experiments.leaderboard`.
"""

from dataclasses import replace
from functools import partial

from experiments.leaderboard import TRAIN_MOLECULES
from experiments.runs import Run, first_graphs, main
from gtcourse import load_dataset
from gtcourse.course.leaderboard import LEADERBOARD
from gtcourse.graphs.dataset import GraphDataset
from gtcourse.recipes.recipe import as_text

RATES = {"gin": 5e-4, "gat": 1e-3, "gatedgcn": 2e-3}
"""The leaderboard's best of three."""

OTHER = {"sum": "mean", "mean": "sum"}


def other_readout(model: str) -> Run:
    build = LEADERBOARD[f"{model}-100k"].build_model
    config = replace(build.args[0], readout=OTHER[build.args[0].readout])
    return run_of(partial(build.func, config), model)


def run_of(build: partial, model: str, **settings) -> Run:
    return Run(build, {"model": as_text(build)}, epochs=100, batch_size=64, peak=RATES[model],
               **settings)  # fmt: skip


def mixed_sizes(model: str) -> Run:
    return run_of(LEADERBOARD[f"{model}-100k"].build_model, model, buckets=1)


RUNS = {
    "gat-sum-100k/molecules": other_readout("gat"),
    "gin-mean-100k/molecules": other_readout("gin"),
    "gin-mixed-100k/molecules": mixed_sizes("gin"),
    "gatedgcn-mean-100k/molecules": other_readout("gatedgcn"),
    "gatedgcn-mixed-100k/molecules": mixed_sizes("gatedgcn"),
}


def load(name: str) -> GraphDataset:
    return first_graphs(load_dataset(name), TRAIN_MOLECULES)


if __name__ == "__main__":
    main("chapter10", RUNS, load)
