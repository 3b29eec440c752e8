"""The recorded runs of chapter 03: ``python -m tools.record_chapter03``, about 15 CPU minutes.

One Transformer, three masks: every head hears all atoms, half of them, or bonded neighbours only.
"""

import argparse
from dataclasses import asdict
from pathlib import Path

import torch
from torch.optim import AdamW
from torch.optim.lr_scheduler import OneCycleLR

from gtcourse import DenseLoader, device, load_dataset
from gtcourse.models.bag import BagTransformerConfig
from gtcourse.models.neighbours import NeighbourTransformer
from gtcourse.training.fit import count_parameters, evaluate, fit
from gtcourse.training.records import Record, write_record
from gtcourse.training.tasks import graph_regression

MASKED_HEADS = {"full-attention": 0, "half-attention": 2, "neighbour-attention": 4}
CONFIG = BagTransformerConfig(d_model=64, num_heads=4, num_layers=3, d_hidden=128)
BATCH_SIZE, BUCKETS = 128, 4
PEAK_LR = 2e-3


def record(name: str, seed: int, epochs: int, folder: Path) -> Record:
    data = load_dataset("molecules")
    train = DenseLoader(
        data.train, BATCH_SIZE, shuffle=True, seed=seed, buckets=BUCKETS, device=device()
    )
    val = DenseLoader(data.val, 500, device=device())
    test = DenseLoader(data.test, 500, device=device())

    torch.manual_seed(seed)
    model = NeighbourTransformer(CONFIG, MASKED_HEADS[name])
    optimizer = AdamW(model.parameters(), lr=PEAK_LR)
    schedule = OneCycleLR(optimizer, PEAK_LR, total_steps=epochs * len(train))
    task = graph_regression()
    history = fit(
        model, task, train, val, epochs=epochs, optimizer=optimizer, schedule=schedule, seed=seed
    )
    run = Record(
        name=f"{name}/molecules",
        config=asdict(CONFIG)
        | {
            "masked_heads": MASKED_HEADS[name],
            "epochs": epochs,
            "batch_size": BATCH_SIZE,
            "buckets": BUCKETS,
            "optimizer": "AdamW, weight decay 0.01",
            "schedule": f"one cycle, peak {PEAK_LR}",
        },
        data=data.provenance,
        seed=seed,
        seconds=round(history.seconds, 1),
        parameters=count_parameters(model),
        curve=history.epochs,
        result={
            "test_mae": evaluate(model, task, test)["mae"],
            "val_mae": history.best["val_mae"],
            "best_epoch": history.best["epoch"],
        },
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
