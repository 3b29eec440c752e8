"""The leaderboard of chapter 10: ``python -m experiments.leaderboard --out runs/leaderboard``.

Every model of the course with 100,000 parameters on the embedded molecules: the peak rate is the
best of three on validation with seed 0, and with it two more seeds are trained. A run that is
already in the folder is not repeated; `experiments/records` has those that are done. About ten
hours on one core for all. At the end the runs with each model's best rate are written where the
chapters read them, with the weights of some.

``python -m experiments.leaderboard --ablations`` trains three ablations of CSA, at the rate that
was best for CSA with and without rings. A run takes a quarter of an hour. ``--seeds 1`` trains the
first seed alone.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from experiments.runs import Run, first_graphs, records_of, store, train
from gtcourse import load_dataset
from gtcourse.course.leaderboard import LEADERBOARD
from gtcourse.encodings import AddRandomWalks, AddRings, AddShortestPaths, encode
from gtcourse.encodings.transform import Encoding
from gtcourse.graphs.dataset import GraphDataset
from gtcourse.models import CGT, CGTConfig, GRPEConfig
from gtcourse.recipes.recipe import as_text
from gtcourse.recipes.small import Entry
from gtcourse.runs.record import (
    PACKAGE,
    Record,
    read_record,
    read_weights,
    write_record,
    write_weights,
)

TRAIN_MOLECULES = 4000
RATES = (5e-4, 1e-3, 2e-3)
SEEDS = (0, 1, 2)
WEIGHTS = {"csa-100k": 3, "egt-100k": 3, "grpe-100k": 3, "graphormer-100k": 1, "signnet-100k": 1}
"""Of how many seeds the weights are shipped."""

WITHOUT_RINGS = Entry(
    "csa_without_rings-100k",
    partial(CGT, CGTConfig(d_model=52, d_position=16, num_layers=4, edge_ablation=0.0)),
    (AddRandomWalks(20),),
)
CSA = LEADERBOARD["csa-100k"].build_model.args[0]
BIAS_ATTENTION = {"chromatic": False, "edge_values": False}
INPUTS_OF_GRPE = {
    "rings": None,
    "relative": "distances",
    "relative_steps": GRPEConfig().max_distance,
    "node_steps": 0,
    "d_position": 0,
}


def ablation(name: str, changes: dict, *transforms: Encoding) -> Entry:
    return Entry(name, partial(CGT, replace(CSA, **changes)), transforms)


ABLATIONS = {
    entry.name: entry
    for entry in (
        ablation("csa_bias_attention-100k", BIAS_ATTENTION, AddRandomWalks(20), AddRings(18)),
        ablation("csa_distances-100k", INPUTS_OF_GRPE, AddShortestPaths()),
        ablation(
            "csa_bias_attention_distances-100k",
            BIAS_ATTENTION | INPUTS_OF_GRPE,
            AddShortestPaths(),
        ),
    )
}
"""CSA with attention that has only a bias, with the inputs of GRPE, and with both."""
ABLATION_RATE = 2e-3

ENTRIES = {name: entry for name, entry in LEADERBOARD.items() if entry.size == "100k"}
ENTRIES[WITHOUT_RINGS.name] = WITHOUT_RINGS


@cache
def load(transforms: tuple) -> GraphDataset:
    return encode(first_graphs(load_dataset("molecules"), TRAIN_MOLECULES), *transforms)


def record(name: str, seed: int, rate: float, out: Path, epochs: int) -> Record:
    """The record of one run, read if it is there."""
    path = out / f"{name}-rate{rate:g}-seed{seed}.json"
    if path.exists():
        return read_record(path)
    entry = (ENTRIES | ABLATIONS)[name]
    config = {"model": as_text(entry.build_model), "transforms": as_text(entry.transforms)}
    run = Run(entry.build_model, config, epochs=epochs, batch_size=64, peak=rate)
    command = f"python -m experiments.leaderboard {name} --epochs {epochs}"
    title = f"{name}/molecules-rate{rate:g}"
    data = load(entry.transforms)
    found = train(title, run, data, seed, command, weights=out)
    write_record(found, path)
    print(f"{found.name}, seed {seed}: {found.result}, {found.seconds} s", flush=True)
    return found


def publish(
    name: str, rate: float, seeds: Sequence[int], out: Path, trials: dict[float, Record]
) -> None:
    """The runs with the best rate, under the model's name, and what the choice rests on."""
    for seed in seeds:
        run = read_record(out / f"{name}-rate{rate:g}-seed{seed}.json")
        weights = read_weights(run, out) if seed < WEIGHTS.get(name, 0) else None
        run.name = f"{name}/molecules"
        run.config["val_mae_by_rate"] = {
            f"{tried:g}": trial.result["val_mae"] for tried, trial in trials.items()
        }
        run.weights = ""
        if weights is not None:
            write_weights(run, weights, PACKAGE / run.weights_filename)
        store(run, records_of("chapter10"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--ablations", action="store_true", help="train the ablations of CSA")
    parser.add_argument("--seeds", type=int, choices=range(1, 4), default=3, help="how many")
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--out", type=Path, default=Path("runs/leaderboard"))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for name in args.names or (ABLATIONS if args.ablations else ENTRIES):
        rates = (ABLATION_RATE,) if name in ABLATIONS else RATES
        seeds = SEEDS[: args.seeds]
        trials = {rate: record(name, seeds[0], rate, args.out, args.epochs) for rate in rates}
        best = min(rates, key=lambda rate: trials[rate].result["val_mae"])
        for seed in seeds[1:]:
            record(name, seed, best, args.out, args.epochs)
        publish(name, best, seeds, args.out, trials)
