"""The recorded runs of chapter 03: ``python -m tools.record_chapter03``, about 15 CPU minutes.

One Transformer, three masks: every head hears all atoms, half of them, or bonded neighbours only.
"""

import argparse
from dataclasses import asdict
from pathlib import Path

from gtcourse import load_dataset
from gtcourse.models.bag import BagTransformerConfig
from gtcourse.models.neighbours import NeighbourTransformer
from gtcourse.training.records import Record, write_record
from tools.molecule_runs import record_run

MASKED_HEADS = {"full-attention": 0, "half-attention": 2, "neighbour-attention": 4}
CONFIG = BagTransformerConfig(d_model=64, num_heads=4, num_layers=3, d_hidden=128)


def record(name: str, seed: int, epochs: int, folder: Path) -> Record:
    run = record_run(
        f"{name}/molecules",
        lambda: NeighbourTransformer(CONFIG, MASKED_HEADS[name]),
        load_dataset("molecules"),
        config=asdict(CONFIG) | {"masked_heads": MASKED_HEADS[name]},
        seed=seed,
        epochs=epochs,
        command=f"python -m tools.record_chapter03 {name} --seeds {seed} --epochs {epochs}",
    )
    write_record(run, folder / run.filename)
    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(MASKED_HEADS)}; all by default")
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--out", type=Path, default=Path("gtcourse/recorded"))
    args = parser.parse_args()
    for seed in args.seeds:
        for name in args.names or MASKED_HEADS:
            run = record(name, seed, args.epochs, args.out)
            print(f"{run.name}, seed {seed}: {run.result}, {run.seconds} s", flush=True)


if __name__ == "__main__":
    main()
