"""One run of a recipe from data to record: what ``gtcourse train`` does.

A run has a folder: what it is (``run.json``), its checkpoint and curve while it goes on, and at the
end its weights and its record. It can be stopped at any moment and continued.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch
from torch import nn

from gtcourse.graphs.arguments import a_seed, at_least, one_of
from gtcourse.graphs.json_files import read_json, write_json
from gtcourse.models import CGT
from gtcourse.training.budget import device
from gtcourse.training.checkpoints import alone_in
from gtcourse.training.data import Graphs, Loader, first, loaders
from gtcourse.training.fit import count_parameters, evaluate
from gtcourse.training.fit_arguments import refuse_to_keep_nowhere
from gtcourse.training.processes import PRECISIONS, is_first_process, processes, take_own_gpu
from gtcourse.training.recipe import Recipe
from gtcourse.training.records import (
    Record,
    current_commit,
    read_record,
    record_filename,
    write_record,
    write_weights,
)
from gtcourse.training.rehearsal import rehearse


@dataclass(frozen=True)
class Budget:
    """How much of a recipe is run.

    Attributes:
        share: of the recipe's epochs, at least two; graphs: the first so many of the training set,
            and a quarter as many of the others; None for all.
    """

    share: float = 1.0
    graphs: int | None = None


BUDGETS = {
    "paper": Budget(),
    "short": Budget(share=0.01),
    "smoke": Budget(share=0.0, graphs=256),
}


def at_budget(
    recipe: Recipe,
    data: Graphs,
    budget: Budget,
    epochs: int | None = None,
    batch_size: int | None = None,
    graphs: int | None = None,
) -> tuple[Recipe, Graphs]:
    """A recipe and its data cut to a budget, which the recipe remembers.

    Args:
        epochs, batch_size, graphs: in place of the budget's and the recipe's.

    Raises:
        ValueError: one of them is below 1.
    """
    for name, value in (("epochs", epochs), ("batch_size", batch_size), ("graphs", graphs)):
        if value is not None:
            at_least(1, **{name: value})
    if epochs is None and budget.share < 1:
        epochs = max(2, round(budget.share * recipe.epochs))
    changes = {"epochs": epochs, "batch_size": batch_size}
    changes = {name: value for name, value in changes.items() if value is not None}
    recipe = recipe.at(**changes) if changes else recipe
    graphs = graphs or budget.graphs
    if graphs is None:
        return recipe, data
    return replace(recipe, changed=recipe.changed | {"graphs": graphs}), first(data, graphs)


def run_name(recipe: Recipe, data: Graphs) -> str:
    """The recipe's name and, where it is run on other data, theirs."""
    return recipe.name if data.name == recipe.dataset else f"{recipe.name}-on-{data.name}"


def train(
    recipe: Recipe,
    data: Graphs,
    *,
    command: str,
    seed: int = 0,
    out: Path | None = None,
    resume: bool | None = False,
    buckets: int = 1,
    compile: bool | str = False,
    **options,
) -> Record:
    """Trains with a recipe, and says what came out at the best validation epoch.

    Args:
        command: what to type for the same run.
        seed: of weights, order and dropout.
        out: the run's folder; None to keep nothing.
        resume: continue the run that is there; one that is over is not run again. None: begin one
            where there is none.
        buckets, compile: as :class:`DenseLoader` and ``fit`` take them.
        options: ``fit``'s others: ``devices``, ``precision``, ``checkpoint_every``,
            ``tensorboard``, ``progress``.

    Raises:
        ValueError: the recipe cannot take the data, an argument cannot be meant, ``out`` holds a
            run that is not to be resumed, or another one, or none; or another process is training
            there.
        OSError: ``out`` cannot be written.
    """
    a_seed(seed=seed)
    at_least(1, buckets=buckets, devices=options.get("devices", 1))
    one_of(PRECISIONS, precision=options.get("precision", PRECISIONS[0]))
    refuse_to_keep_nowhere(out, options.get("checkpoint_every"), options.get("tensorboard"))
    take_own_gpu()
    recipe = for_compiler(recipe) if compile else recipe
    there = None if out is None else out / record_filename(run_name(recipe, data), seed)
    is_over = there is not None and there.exists()
    if not is_over:
        rehearse(recipe, data)
    settings = {"buckets": buckets, "compile": compile}
    settings |= {"devices": math.prod(processes(options.get("devices", 1)))}
    decisive = ["precision"]
    if settings["devices"] > 1:  # after a checkpoint they draw other random numbers; one does not
        decisive.append("checkpoint_every")
    settings |= {name: options[name] for name in decisive if options.get(name) is not None}
    what = {
        "config": recipe.config() | settings,
        "data": data.provenance,
        "seed": seed,
    }
    _refuse_nothing_to_resume(out, resume)
    if is_over and resume is not False:  # the folder may be read-only by now
        if is_first_process():
            claim(out, what, resume)
        return read_record(there)
    with alone_in(out):
        return _train(recipe, data, what, command, seed, out, resume, buckets, compile, options)


def _train(recipe, data, what, command, seed, out, resume, buckets, compile, options) -> Record:
    commit = current_commit()
    if out is not None and is_first_process():
        begun = claim(out, what, resume)
        commit = commit if commit == begun else f"{begun}, then {commit}"
    train, val, test = loaders(recipe, data, seed, buckets, few_shapes=isinstance(compile, str))
    torch.manual_seed(seed)
    model = recipe.build_model()
    history = recipe.fit(model, train, val, seed=seed, out=out, compile=compile, **options)
    model.to(device())
    scores = _scores("test", model, recipe, test)
    if any(name.startswith("train_") for name in recipe.paper_result):
        scores |= _scores("train", model, recipe, train)
    monitor = f"val_{recipe.task.monitor}"
    record = Record(
        name=run_name(recipe, data),
        **what,
        seconds=round(history.seconds, 1),
        parameters=count_parameters(model),
        curve=history.epochs,
        result={
            **scores,
            monitor: history.best[monitor],
            "best_epoch": history.best["epoch"],
            "steps": history.steps,
        },
        command=command,
        commit=commit,
    )
    if out is not None and is_first_process():
        write_weights(record, model.state_dict(), out)
        write_record(record, out / record.filename)
    return record


def _scores(split: str, model: nn.Module, recipe: Recipe, loader: Loader) -> dict[str, float]:
    """The metrics of a split; none where its publisher keeps all targets back."""
    scores = evaluate(model, recipe.task, loader)
    return {f"{split}_{name}": value for name, value in scores.items() if not math.isnan(value)}


def for_compiler(recipe: Recipe) -> Recipe:
    """A recipe of CSA with its attention as the equations read; any other as it is.

    A compiler fuses that form by itself, and cannot look into a backward pass written by hand.
    """
    build = recipe.build_model
    if getattr(build, "func", None) is not CGT:
        return recipe
    return replace(recipe, build_model=partial(CGT, replace(build.args[0], form="direct")))


def _refuse_nothing_to_resume(out: Path | None, resume: bool | None) -> None:
    if resume and not (out / "run.json").exists():
        raise ValueError(f"{out} holds no run to resume; expected one that was begun there.")


def claim(out: Path, what: dict, resume: bool | None) -> str:
    """Makes the run's folder, or sees that the run in it is the one that is meant.

    A run that stopped before its first checkpoint left nothing: its folder is free. One that is
    over has a record, also where somebody has removed its checkpoint.

    Returns:
        str: the commit at which the run began.

    Raises:
        ValueError: it is not.
    """
    there = out / "run.json"
    what = json.loads(json.dumps(what))  # as it will be read again
    _refuse_nothing_to_resume(out, resume)
    is_over = any(out.glob("*-seed*.json"))
    if not is_over and not (there.exists() and (out / "last.ckpt").exists()):
        begun = {"commit": current_commit(), **what}
        write_json(there, begun)
        return begun["commit"]
    if resume is False:
        raise ValueError(f"{out} holds a run; expected --resume to continue it, or another folder.")
    begun = read_json(there, "what a run is")
    for part in ("commit", *what):
        if not isinstance(begun.get(part), type(what.get(part, ""))):
            raise ValueError(f"{there} has no {part}; expected what a run is: {', '.join(what)}.")
    unknown = sorted({*begun} - {"commit", *what})
    if unknown:
        raise ValueError(f"{there} has {unknown[0][:40]!r}; expected only what a run is.")
    differs = sorted(
        f"{part} {name}" if name else part
        for part in what
        for name in ({*what[part], *begun[part]} if isinstance(what[part], dict) else {""})
        if (what[part] if not name else what[part].get(name))
        != (begun[part] if not name else begun[part].get(name))
    )
    if differs:
        raise ValueError(
            f"{out} holds another run, which differs in {', '.join(differs)}; expected the run "
            "that began there, or another folder."
        )
    return begun["commit"]
