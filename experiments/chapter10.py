"""Chapter 10, layer × inputs × readout: ``python -m experiments.chapter10``, 20 CPU minutes.

One cell of the grid, trained again:

python -m experiments.chapter10 --layer csa --inputs structure --readout sum --seed 0

Options that are left out stand for all values. With ``--missing``, runs that are recorded already
are skipped, so that an interrupted command can be given again.
"""

import argparse
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from experiments.runs import Run, first_graphs, records_of, store, train
from gtcourse import load_dataset
from gtcourse.course.grid import (
    D_MODEL,
    INPUTS,
    LAYERS,
    NUM_HEADS,
    NUM_LAYERS,
    READOUTS,
    Cell,
    GridModel,
    cells,
)
from gtcourse.course.records import read_records
from gtcourse.encodings import encode
from gtcourse.graphs.dataset import GraphDataset

TRAIN_MOLECULES = 2000
VAL_MOLECULES = 500
EPOCHS = 10
BATCH_SIZE = 32
SEEDS = (0, 1, 2)
RATE = 4e-3
"""For each layer at least as good on validation as 2e-3, up to 0.002 (sum, all inputs, seed 0)."""


@cache
def molecules() -> GraphDataset:
    return first_graphs(load_dataset("molecules"), TRAIN_MOLECULES, VAL_MOLECULES)


@cache
def load(inputs: str) -> GraphDataset:
    """The molecules with these inputs alone."""
    return with_inputs(molecules(), inputs)


def with_inputs(dataset: GraphDataset, inputs: str) -> GraphDataset:
    """A data set with the encodings that a cell with these inputs reads."""
    return encode(dataset, *Cell("csa", inputs, "sum").transforms)


def run_of(cell: Cell, epochs: int) -> Run:
    run = run_of_size(cell, D_MODEL, NUM_LAYERS)
    return replace(run, epochs=epochs, batch_size=BATCH_SIZE, peak=RATE)


def run_of_size(cell: Cell, d_model: int, num_layers: int) -> Run:
    """A run of one cell in a model of this size, whose budget and rate the caller sets."""
    config = {
        "layer": cell.layer,
        "inputs": cell.inputs,
        "readout": cell.readout,
        "d_model": d_model,
        "num_heads": NUM_HEADS,
        "num_layers": num_layers,
    }
    return Run(partial(GridModel, cell, d_model, NUM_HEADS, num_layers), config)


def command_of(cell: Cell, seed: int, epochs: int) -> str:
    chosen = f"--layer {cell.layer} --inputs {cell.inputs} --readout '{cell.readout}'"
    return f"python -m experiments.chapter10 {chosen} --seed {seed} --epochs {epochs}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layer", nargs="*", choices=LAYERS, default=LAYERS)
    parser.add_argument("--inputs", nargs="*", choices=INPUTS, default=INPUTS)
    parser.add_argument("--readout", nargs="*", choices=READOUTS, default=READOUTS)
    parser.add_argument("--seed", nargs="*", type=int, default=SEEDS)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--missing", action="store_true", help="skip runs that are recorded")
    parser.add_argument("--out", type=Path, default=records_of("chapter10"), help="JSON Lines file")
    args = parser.parse_args()
    chosen = [
        cell
        for cell in cells()
        if cell.layer in args.layer and cell.inputs in args.inputs and cell.readout in args.readout
    ]
    if not chosen:
        parser.error("no cell of the grid has these values; expected one of gtcourse.course.grid.")
    done = set()
    if args.missing:
        done = {(record.name, record.seed) for record in read_records(args.out)}
    for seed in args.seed:
        for cell in chosen:
            if (cell.name, seed) not in done:
                command = command_of(cell, seed, args.epochs)
                run = run_of(cell, args.epochs)
                store(train(cell.name, run, load(cell.inputs), seed, command), args.out)
