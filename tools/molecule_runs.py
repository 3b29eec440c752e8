"""The run that chapters 03, 05 and 06 record: one recipe on the embedded molecules, any model."""

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path

import torch
from torch import nn
from torch.optim import AdamW
from torch.optim.lr_scheduler import OneCycleLR

from gtcourse import DenseLoader, device
from gtcourse.graphs.dataset import GraphDataset
from gtcourse.training.fit import count_parameters, evaluate, fit
from gtcourse.training.records import Record, write_record
from gtcourse.training.tasks import graph_regression

BATCH_SIZE, BUCKETS = 128, 4
PEAK_LR = 2e-3

Scores = Callable[[nn.Module, DenseLoader], dict[str, float]]
Groups = Callable[[nn.Module], list[dict]]


def one_group(model: nn.Module) -> list[dict]:
    """All parameters, at one peak rate."""
    return [{"params": [*model.parameters()], "lr": PEAK_LR}]


def record_run(
    name: str,
    build: Callable[[], nn.Module],
    data: GraphDataset,
    *,
    config: dict,
    seed: int,
    epochs: int,
    command: str,
    more_scores: Scores = lambda model, test: {},
    groups: Groups = one_group,
) -> Record:
    """Trains a model for MAE and says what came out.

    Args:
        build: makes the model, after the seed is set.
        config: what of the run depends on the model; the recipe is added.
        more_scores: of the trained model on the test loader, beside its MAE.
        groups: the optimiser's groups of parameters, each with its peak rate as "lr".
    """
    train = DenseLoader(
        data.train, BATCH_SIZE, shuffle=True, seed=seed, buckets=BUCKETS, device=device()
    )
    val = DenseLoader(data.val, 500, device=device())
    test = DenseLoader(data.test, 500, device=device())

    torch.manual_seed(seed)
    model = build()
    optimizer = AdamW(groups(model))
    peaks = [group["lr"] for group in optimizer.param_groups]
    schedule = OneCycleLR(optimizer, peaks, total_steps=epochs * len(train))
    task = graph_regression()
    history = fit(
        model, task, train, val, epochs=epochs, optimizer=optimizer, schedule=schedule, seed=seed
    )
    return Record(
        name=name,
        config=config
        | {
            "epochs": epochs,
            "batch_size": BATCH_SIZE,
            "buckets": BUCKETS,
            "optimizer": "AdamW, weight decay 0.01",
            "schedule": f"one cycle, peak {', '.join(map(str, peaks))}",
        },
        data=data.provenance,
        seed=seed,
        seconds=round(history.seconds, 1),
        parameters=count_parameters(model),
        curve=history.epochs,
        result={
            "test_mae": evaluate(model, task, test)["mae"],
            **more_scores(model, test),
            "val_mae": history.best["val_mae"],
            "best_epoch": history.best["epoch"],
        },
        command=command,
    )


def command_line(description: str, names: Iterable[str], epochs: int) -> argparse.ArgumentParser:
    """What a recorder can be asked: which runs, which seeds, how many epochs, and where to."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "names", nargs="*", default=[*names], help=f"of {', '.join(names)}; all by default"
    )
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument("--epochs", type=int, default=epochs)
    parser.add_argument("--out", type=Path, default=Path("gtcourse/recorded"))
    return parser


def record_all(args: argparse.Namespace, record: Callable[[str, int], Record]) -> None:
    """Writes ``record(name, seed)`` for each name and seed, one seed after the other."""
    for seed in args.seeds:
        for name in args.names:
            run = record(name, seed)
            write_record(run, args.out / run.filename)
            print(f"{run.name}, seed {seed}: {run.result}, {run.seconds} s", flush=True)
