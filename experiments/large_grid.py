"""Chapter 10, the layers in one model with the leaderboard's budget: ``-m experiments.large_grid``.

The model is that of the grid with four layers of width 52, about 100,000 parameters. It sums over
the atoms. Each layer has its own rate, and the data, the epochs and the batches are those of the
leaderboard. A run takes four to eleven minutes, and its rate one and a half times as long.
"""

from functools import cache, partial

from experiments.leaderboard import TRAIN_MOLECULES
from experiments.runs import Run, first_graphs, main
from gtcourse import load_dataset
from gtcourse.course.grid import INPUTS, LAYERS, NUM_HEADS, Cell, GridModel
from gtcourse.encodings import encode
from gtcourse.graphs.dataset import GraphDataset

D_MODEL = 52
NUM_LAYERS = 4
RATES = (1e-3, 2e-3, 4e-3)


def run_of(layer: str, inputs: str) -> Run:
    """The run of one layer with these inputs."""
    config = {
        "layer": layer,
        "inputs": inputs,
        "readout": "sum",
        "d_model": D_MODEL,
        "num_heads": NUM_HEADS,
        "num_layers": NUM_LAYERS,
    }
    cell = Cell(layer, inputs, "sum")
    build = partial(GridModel, cell, D_MODEL, NUM_HEADS, NUM_LAYERS)
    return Run(build, config, data=inputs, epochs=100, batch_size=64)


RUNS = {f"{layer}-{inputs}": run_of(layer, inputs) for inputs in INPUTS for layer in LAYERS}


@cache
def load(inputs: str) -> GraphDataset:
    """The molecules of the leaderboard with these inputs alone."""
    molecules = first_graphs(load_dataset("molecules"), TRAIN_MOLECULES)
    return encode(molecules, *Cell("csa", inputs, "sum").transforms)


if __name__ == "__main__":
    main("chapter10", RUNS, load, title="large-grid/{}", module="large_grid", rates=RATES)
