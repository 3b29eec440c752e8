"""The run that chapters 03 and 05 to 10 record: one recipe, any model, any task."""

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path

import torch
from torch import nn
from torch.optim import AdamW
from torch.optim.lr_scheduler import OneCycleLR

from gtcourse import DenseLoader, device
from gtcourse.graphs.ragged import GraphDataset
from gtcourse.training.fit import count_parameters, evaluate, fit
from gtcourse.training.records import Record, write_record, write_weights
from gtcourse.training.tasks import Task, graph_regression

BATCH_SIZE, BUCKETS = 128, 4
PEAK_LR = 2e-3

Scores = Callable[[nn.Module, DenseLoader], dict[str, object]]
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
    task: Task | None = None,
    batch_size: int = BATCH_SIZE,
    weights: Path | None = None,
) -> Record:
    """Trains a model and says what came out.

    Args:
        build: makes the model, after the seed is set.
        config: what of the run depends on the model; the recipe is added.
        more_scores: of the trained model on the test loader, beside the task's.
        groups: the optimiser's groups of parameters, each with its peak rate as "lr".
        task: graph regression, judged by MAE, where it is None.
        weights: the folder of records in which the trained weights are kept; None: nowhere.
    """
    train = DenseLoader(
        data.train, batch_size, shuffle=True, seed=seed, buckets=BUCKETS, device=device()
    )
    val = DenseLoader(data.val, 4 * batch_size, device=device())
    test = DenseLoader(data.test, 4 * batch_size, device=device())

    torch.manual_seed(seed)
    model = build()
    optimizer = AdamW(groups(model))
    peaks = [group["lr"] for group in optimizer.param_groups]
    schedule = OneCycleLR(optimizer, peaks, total_steps=epochs * len(train))
    task = task or graph_regression()
    history = fit(
        model, task, train, val, epochs=epochs, optimizer=optimizer, schedule=schedule, seed=seed
    )
    record = Record(
        name=name,
        config=config
        | {
            "epochs": epochs,
            "task": task.name,
            "batch_size": batch_size,
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
            **{f"test_{name}": value for name, value in evaluate(model, task, test).items()},
            **more_scores(model, test),
            f"val_{task.monitor}": history.best[f"val_{task.monitor}"],
            "best_epoch": history.best["epoch"],
        },
        command=command,
    )
    if weights is not None:
        write_weights(record, model.state_dict(), weights)
    return record


def command_line(
    description: str, names: Iterable[str], epochs: int | None
) -> argparse.ArgumentParser:
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
