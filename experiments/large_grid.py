"""Chapter 10, the layers in one model with the leaderboard's budget: ``-m experiments.large_grid``.

The model is that of the grid with four layers of width 52, about 100,000 parameters. It sums over
the atoms. Each layer has its own rate, and the data, the epochs and the batches are those of the
leaderboard. A run takes four to eleven minutes, and its rate one and a half times as long.
"""

from dataclasses import replace
from functools import cache

from experiments.chapter10 import run_of_size, with_inputs
from experiments.leaderboard import TRAIN_MOLECULES
from experiments.runs import Run, first_graphs, main
from gtcourse import load_dataset
from gtcourse.course.grid import INPUTS, LAYERS, Cell
from gtcourse.graphs.dataset import GraphDataset

D_MODEL = 52
NUM_LAYERS = 4
RATES = (1e-3, 2e-3, 4e-3)


def run_of(layer: str, inputs: str) -> Run:
    """The run of one layer with these inputs."""
    run = run_of_size(Cell(layer, inputs, "sum"), D_MODEL, NUM_LAYERS)
    return replace(run, data=inputs, epochs=100, batch_size=64)


RUNS = {f"{layer}-{inputs}": run_of(layer, inputs) for inputs in INPUTS for layer in LAYERS}


@cache
def load(inputs: str) -> GraphDataset:
    """The molecules of the leaderboard with these inputs alone."""
    molecules = first_graphs(load_dataset("molecules"), TRAIN_MOLECULES)
    return with_inputs(molecules, inputs)


if __name__ == "__main__":
    main("chapter10", RUNS, load, title="large-grid/{}", module="large_grid", rates=RATES)
