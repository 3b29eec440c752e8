"""What the recorders share: one recipe for any model and task, the command line, the record.

AdamW with a one-cycle schedule, the best weights of validation, and the records that chapters read.
"""

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import torch
from torch import nn
from torch.optim import AdamW
from torch.optim.lr_scheduler import OneCycleLR

from gtcourse import DenseLoader, device
from gtcourse.course import records
from gtcourse.course.records import RECORDS, read_records
from gtcourse.graphs.dataset import GraphDataset
from gtcourse.runs.record import (
    Record,
    current_commit,
    device_name,
    installed_versions,
    write_json,
    write_weights,
)
from gtcourse.train.flag import Flag
from gtcourse.train.loop import count_parameters, evaluate, fit
from gtcourse.train.tasks import Task, graph_regression

PEAK_LR = 2e-3
RATIO = 10
"""How much faster a run's ``faster`` parameters learn."""

TUNING_SEED = 100
"""Of the runs that choose a rate; no recorded run has it."""


def no_scores(model: nn.Module, test: DenseLoader) -> dict:
    """A run's ``scores`` if it has none beside the task's."""
    return {}


@dataclass(frozen=True)
class Run:
    """One model on one data set.

    Attributes:
        build: makes the model, after the seed is set.
        config: what the record says of the model.
        data: the name of the data set, for the chapter's own ``load``.
        peak: the highest learning rate of the schedule.
        constant: train at that rate from the first step to the last, without a schedule. Every
            epoch of the curve is then what a run of so many epochs would have reached.
        faster: the part of the model that learns at ``RATIO`` times the rate, if any.
        flag: perturbs the node embeddings in training, if given.
        scores: of the trained model on the test loader, beside the task's.
    """

    build: Callable[[], nn.Module]
    config: dict
    data: str = "molecules"
    task: Callable[[], Task] = graph_regression
    epochs: int = 20
    batch_size: int = 128
    buckets: int = 4
    peak: float = PEAK_LR
    constant: bool = False
    faster: Callable[[nn.Module], nn.Module] | None = None
    flag: Flag | None = None
    scores: Callable[[nn.Module, DenseLoader], dict] = no_scores

    def groups(self, model: nn.Module) -> list[dict]:
        """The optimizer's groups of parameters, each with its peak rate."""
        fast = [*self.faster(model).parameters()] if self.faster else []
        others = [p for p in model.parameters() if not any(p is q for q in fast)]
        groups = [{"params": others, "lr": self.peak}, {"params": fast, "lr": RATIO * self.peak}]
        return [group for group in groups if group["params"]]


def train(
    name: str,
    run: Run,
    data: GraphDataset,
    seed: int,
    command: str,
    *,
    weights: Path | None = None,
) -> Record:
    """The record of one run; ``weights`` is the folder that keeps its weights too."""
    batch_size = run.batch_size
    task = run.task()
    training = DenseLoader(
        data.train, batch_size, shuffle=True, seed=seed, buckets=run.buckets, device=device()
    )
    val, test = (
        DenseLoader(data[part], 4 * batch_size, device=device()) for part in ("val", "test")
    )
    torch.manual_seed(seed)
    model = run.build()
    optimizer = AdamW(run.groups(model))
    peaks = [group["lr"] for group in optimizer.param_groups]
    schedule = None
    if not run.constant:
        schedule = OneCycleLR(optimizer, peaks, total_steps=run.epochs * len(training))
    history = fit(
        model,
        task,
        training,
        val,
        epochs=run.epochs,
        optimizer=optimizer,
        schedule=schedule,
        seed=seed,
        flag=run.flag,
    )
    shape = "constant, " if run.constant else "one cycle, peak "
    settings = {
        "epochs": run.epochs,
        "task": task.name,
        "batch_size": batch_size,
        "buckets": run.buckets,
        "optimizer": "AdamW, weight decay 0.01",
        "schedule": shape + ", ".join(map(str, peaks)),
    }
    if run.flag is not None:
        settings["flag"] = repr(run.flag)
    record = Record(
        name=name,
        config={name: _for_json(value) for name, value in run.config.items()} | settings,
        data=data.provenance,
        seed=seed,
        seconds=round(history.seconds, 1),
        parameters=count_parameters(model),
        curve=history.epochs,
        result={
            **{f"test_{metric}": value for metric, value in evaluate(model, task, test).items()},
            **run.scores(model, test),
            f"val_{task.monitor}": history.best[f"val_{task.monitor}"],
            "best_epoch": history.best["epoch"],
        },
        command=command,
    )
    if weights is not None:
        write_weights(record, model.state_dict(), weights / record.weights_filename)
    return record


def _for_json(setting: object) -> object:
    """A setting, or "infinite", such as a bound that is none, because JSON has no such number."""
    is_infinite = isinstance(setting, float) and math.isinf(setting)
    return "infinite" if is_infinite else setting


def main(
    chapter: str,
    runs: Mapping[str, Run],
    load: Callable[[str], GraphDataset],
    *,
    title: str = "{}",
    module: str | None = None,
    rates: Sequence[float] = (),
    context: Callable[[], None] | None = None,
) -> None:
    """Trains what the command line asks for: which runs, which seeds, how many epochs.

    Args:
        chapter: whose file the records go to, such as "chapter05".
        load: gives a data set, with its encodings, by the name that a run has for it.
        title: how a record is called, with a place for the run's name.
        module: the script's name, if it is not the chapter's.
        rates: from which each run's rate is chosen; see :func:`tuned`.
        context: stores what the runs are compared with; called if no argument is given.
    """
    parser = argparse.ArgumentParser(description=f"Recorded runs of {chapter}.")
    parser.add_argument("names", nargs="*", help=f"of {', '.join(runs)}; all by default")
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument("--epochs", type=int, help="instead of each run's own")
    parser.add_argument("--out", type=Path, help="JSON Lines file, in place of the chapter's")
    parser.add_argument("--resume", action="store_true", help="leave out what the file has")
    args = parser.parse_args()
    if context is not None and args == parser.parse_args([]):
        context()
    path = args.out or records_of(chapter)
    chosen = {name: runs[name] for name in args.names or runs}
    if args.epochs:
        chosen = {name: replace(run, epochs=args.epochs) for name, run in chosen.items()}
    stored = {(record.name, record.seed) for record in read_records(path)}
    data = {name: load(name) for name in {run.data for run in chosen.values()}}
    for name, run in chosen.items():
        full = title.format(name)
        seeds = [seed for seed in args.seeds if not (args.resume and (full, seed) in stored)]
        if seeds and rates:
            run = tuned(run, data[run.data], rates)
        for seed in seeds:
            command = f"python -m experiments.{module or chapter} {name} --seeds {seed}"
            command += f" --epochs {run.epochs}"
            store(train(full, run, data[run.data], seed, command), path)


def tuned(run: Run, data: GraphDataset, rates: Sequence[float]) -> Run:
    """The run at the best of several rates, by validation after half of its epochs.

    The runs that decide have a seed of their own. Their scores are part of the run's configuration.
    """
    task = run.task()
    short = replace(run, epochs=max(1, run.epochs // 2), scores=no_scores)
    tried = {}
    best = None
    for rate in rates:
        result = train("", replace(short, peak=rate), data, TUNING_SEED, "").result
        score = result[f"val_{task.monitor}"]
        tried[str(rate)] = score
        print(f"rate {rate}: {score:.4f}", flush=True)
        if task.improves(score, best):
            best = score
            run = replace(run, peak=rate)
    tuning = {"rates_tried": tried, "tuning_seed": TUNING_SEED, "tuning_epochs": short.epochs}
    return replace(run, config=run.config | tuning)


def records_of(chapter: str) -> Path:
    """The file of a chapter's runs, such as "chapter05"."""
    return RECORDS / f"{chapter}.jsonl"


def store(record: Record, path: Path) -> None:
    """Puts a run into a file of runs, in place of that with the same name and seed."""
    records.store([record], path)
    print(f"{record.name}, seed {record.seed}: {record.result}, {record.seconds} s", flush=True)


def in_process(
    arguments: Sequence[str],
    folder: Path | None = None,
    environment: Mapping[str, str] = os.environ,
) -> dict:
    """What another process of Python prints in its last line, which is JSON.

    Args:
        arguments: of Python, such as "-m" and the name of a module.
        folder: where the process runs, if not here.
        environment: its environment variables.
    """
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def store_measurement(path: Path, content: dict, command: str) -> None:
    """A record of something other than a training run, with where it was measured."""
    write_json(path, content | origin(command))


def origin(command: str) -> dict:
    """What measured something, and where."""
    return {
        "command": command,
        "commit": current_commit(),
        "device": device_name(),
        "versions": installed_versions(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


def first_graphs(
    data: GraphDataset, train: int, val: int | None = None, test: int | None = None
) -> GraphDataset:
    """The data set with the first graphs of each split; None for all."""
    rows = [(data.split == i).nonzero()[:count, 0] for i, count in enumerate((train, val, test))]
    rows = torch.cat(rows)
    return replace(data, graphs=[data[int(i)] for i in rows], split=data.split[rows])
