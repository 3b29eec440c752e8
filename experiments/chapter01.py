"""Chapter 01's recorded runs: the bag of atoms, beside the simplest models on the same data.

python -m experiments.chapter01 --data molecules --seed 0
python -m experiments.chapter01 --data zinc12k.npz --seed 0     a ZINC graph file
"""

import argparse
from dataclasses import asdict
from pathlib import Path

import torch
from torch.optim import AdamW
from torch.optim.lr_scheduler import OneCycleLR

from gtcourse import DenseLoader, device, load_dataset
from gtcourse.graphs.ragged import GraphDataset
from gtcourse.models import BagTransformer, BagTransformerConfig
from gtcourse.training.fit import count_parameters, evaluate, fit
from gtcourse.training.records import Record, write_record
from gtcourse.training.simple import simple_errors
from gtcourse.training.tasks import graph_regression
from tools.paths import PACKAGE

BATCH_SIZE, MAX_LR, WEIGHT_DECAY = 128, 2e-3, 0.01


def record_run(data: str, seed: int, epochs: int) -> Record:
    embedded = data == "molecules"
    dataset = load_dataset("molecules") if embedded else load_dataset("zinc", source=data)
    config = BagTransformerConfig()
    torch.manual_seed(seed)
    model = BagTransformer(config)
    train, val, test = loaders(dataset, seed)
    optimizer = AdamW(model.parameters(), lr=MAX_LR, weight_decay=WEIGHT_DECAY)
    schedule = OneCycleLR(optimizer, max_lr=MAX_LR, total_steps=epochs * len(train))
    task = graph_regression()
    history = fit(
        model, task, train, val, epochs=epochs, optimizer=optimizer, schedule=schedule, seed=seed
    )
    return Record(
        name="bag/molecules" if embedded else "bag/zinc",
        config={
            "model": asdict(config),
            "epochs": epochs,
            "batch_size": BATCH_SIZE,
            "optimizer": "AdamW",
            "weight_decay": WEIGHT_DECAY,
            "schedule": "OneCycleLR",
            "max_lr": MAX_LR,
            "loss": "L1",
        },
        data=dataset.provenance,
        seed=seed,
        seconds=round(history.seconds, 1),
        parameters=count_parameters(model),
        curve=history.epochs,
        result={
            "test_mae": evaluate(model, task, test)["mae"],
            "val_mae": history.best["val_mae"],
            **simple_models(dataset),
        },
        command=f"python -m experiments.chapter01 --data {Path(data).name} --seed {seed} "
        f"--epochs {epochs}",
    )


def loaders(dataset: GraphDataset, seed: int) -> tuple[DenseLoader, DenseLoader, DenseLoader]:
    train = DenseLoader(
        dataset.train, BATCH_SIZE, shuffle=True, seed=seed, buckets=1, device=device()
    )
    val = DenseLoader(dataset.val, 500, device=device())
    return train, val, DenseLoader(dataset.test, 500, device=device())


def simple_models(dataset: GraphDataset) -> dict[str, float]:
    """Test MAE of the mean, and of ridge regressions on atom counts without and with bonds."""
    errors = simple_errors(dataset)
    return {
        "mean_test_mae": errors["mean"],
        "ridge_atoms_test_mae": errors["ridge on atom counts"],
        "ridge_atoms_and_bonds_test_mae": errors["ridge on atom and bond counts"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="molecules", help='"molecules", or a ZINC graph file')
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=30)
    args = parser.parse_args()
    record = record_run(args.data, args.seed, args.epochs)
    write_record(record, PACKAGE / "recorded" / record.filename)
    print(f"{record.filename}: test MAE {record.result['test_mae']:.4f} in {record.seconds:.0f} s")


if __name__ == "__main__":
    main()
