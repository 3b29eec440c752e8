"""The leaderboard of chapter 10: ``python -m experiments.leaderboard --out runs/leaderboard``.

Every model of the course with 100,000 parameters on the embedded molecules: the peak rate is the
best of three on validation with seed 0, and with it two more seeds are trained. A run that is
already in the folder is not repeated; `experiments/records` has those that are done. About ten
hours on one core for all.
"""

import argparse
from functools import cache, partial
from pathlib import Path

from torch import nn

from experiments.chapter07 import first_training
from experiments.runs import record_run
from gtcourse import load_dataset
from gtcourse.encodings import AddRandomWalks, encode
from gtcourse.graphs.ragged import GraphDataset
from gtcourse.models import CGT, CGTConfig
from gtcourse.training.leaderboard import LEADERBOARD, Entry
from gtcourse.training.recipe import as_text
from gtcourse.training.records import Record, read_record, write_record

TRAIN_MOLECULES = 4000
EPOCHS, BATCH_SIZE = 100, 64
RATES = (5e-4, 1e-3, 2e-3)
SEEDS = (0, 1, 2)

WITHOUT_RINGS = Entry(
    "csa_without_rings-100k",
    partial(CGT, CGTConfig(d_model=52, d_position=16, num_layers=4, edge_ablation=0.0)),
    (AddRandomWalks(20),),
)
ENTRIES = {name: entry for name, entry in LEADERBOARD.items() if entry.size == "100k"}
ENTRIES[WITHOUT_RINGS.name] = WITHOUT_RINGS


@cache
def load(transforms: tuple) -> GraphDataset:
    return encode(first_training(load_dataset("molecules"), TRAIN_MOLECULES), *transforms)


def one_group(model: nn.Module, rate: float) -> list[dict]:
    return [{"params": [*model.parameters()], "lr": rate}]


def run(name: str, seed: int, rate: float, out: Path, epochs: int) -> Record:
    """The record of one run, read if it is there."""
    path = out / f"{name}-rate{rate:g}-seed{seed}.json"
    if path.exists():
        return read_record(path)
    entry = ENTRIES[name]
    record = record_run(
        f"{name}/molecules-rate{rate:g}",
        entry.build_model,
        load(entry.transforms),
        config={"model": as_text(entry.build_model), "transforms": as_text(entry.transforms)},
        seed=seed,
        epochs=epochs,
        batch_size=BATCH_SIZE,
        command=f"python -m experiments.leaderboard {name} --epochs {epochs}",
        groups=partial(one_group, rate=rate),
        weights=out,
    )
    write_record(record, path)
    print(f"{record.name}, seed {seed}: {record.result}, {record.seconds} s", flush=True)
    return record


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=[*ENTRIES])
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--out", type=Path, default=Path("runs/leaderboard"))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for name in args.names:
        trials = {rate: run(name, SEEDS[0], rate, args.out, args.epochs) for rate in RATES}
        best = min(RATES, key=lambda rate: trials[rate].result["val_mae"])
        for seed in SEEDS[1:]:
            run(name, seed, best, args.out, args.epochs)


if __name__ == "__main__":
    main()
