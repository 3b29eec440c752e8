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

from gtcourse.encodings import encode
from gtcourse.graphs.dataset import SPLITS, GraphDataset
from gtcourse.graphs.load import DOWNLOAD, GENERATED, NAMES, load_dataset
from gtcourse.graphs.loader import DenseLoader
from gtcourse.graphs.npz import replacing
from gtcourse.graphs.real import PUBLICATIONS
from gtcourse.models import CGT
from gtcourse.training.budget import device
from gtcourse.training.fit import count_parameters, evaluate
from gtcourse.training.processes import is_first_process, processes, take_own_gpu
from gtcourse.training.recipe import Recipe
from gtcourse.training.records import (
    Record,
    current_commit,
    read_record,
    record_filename,
    write_record,
    write_weights,
)

EMBEDDED = {"zinc": "molecules", "zinc-full": "molecules", "mnist": "digits"}
"""What stands in for data that has to be downloaded; communities, tours and cycles are made."""

EVALUATED_AT_ONCE = 4
"""Times the batch size: without gradients that many graphs fit into memory as easily."""


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


def data_for(recipe: Recipe, source: str, root: Path | None = None) -> GraphDataset:
    """The data that a recipe is to be run on.

    Args:
        source: "embedded", without a network: what stands in for the recipe's data set, or our own
            graphs by its published rules; "real", the published graphs, downloaded; the name of
            another data set; or the path of an ``.npz`` graph file or of a publisher's folder.

    Raises:
        ValueError: there is no such data.
    """
    name = recipe.dataset
    if source == "embedded":
        name = EMBEDDED.get(name, name)
        if name not in GENERATED:
            raise ValueError(
                f"nothing embedded stands in for {name!r}; expected 'real', or the path of an .npz "
                "graph file."
            )
        return load_dataset(name, root=root)
    if source == "real":
        return load_dataset(name, DOWNLOAD if name in PUBLICATIONS else None, root=root)
    if source in NAMES:
        return load_dataset(source, root=root)
    if not Path(source).exists():
        raise ValueError(
            f"data is {source!r}; expected 'embedded', 'real', the path of an .npz graph file, or "
            f"one of {', '.join(NAMES)}."
        )
    return load_dataset(name, source, root=root)


def at_budget(
    recipe: Recipe,
    data: GraphDataset,
    budget: Budget,
    epochs: int | None = None,
    batch_size: int | None = None,
    graphs: int | None = None,
) -> tuple[Recipe, GraphDataset]:
    """A recipe and its data cut to a budget, which the recipe remembers.

    Args:
        epochs, batch_size, graphs: in place of the budget's and the recipe's.

    Raises:
        ValueError: one of them is below 1.
    """
    for name, value in (("epochs", epochs), ("batch_size", batch_size), ("graphs", graphs)):
        if value is not None and value < 1:
            raise ValueError(f"{name} is {value}; expected 1 or more.")
    if epochs is None and budget.share < 1:
        epochs = max(2, round(budget.share * recipe.epochs))
    changes = {"epochs": epochs, "batch_size": batch_size}
    changes = {name: value for name, value in changes.items() if value is not None}
    recipe = recipe.at(**changes) if changes else recipe
    graphs = graphs or budget.graphs
    if graphs is None:
        return recipe, data
    return replace(recipe, changed=recipe.changed | {"graphs": graphs}), first(data, graphs)


def first(data: GraphDataset, count: int) -> GraphDataset:
    """The first ``count`` training graphs, and a quarter as many of the others."""
    counts = dict(zip(SPLITS, (count, count // 4, count // 4), strict=True))
    kept = torch.cat(
        [
            (data.split == number).nonzero().flatten()[: max(1, counts[name])]
            for number, name in enumerate(SPLITS)
        ]
    )
    return replace(data, graphs=[data.graphs[int(i)] for i in kept], split=data.split[kept])


def run_name(recipe: Recipe, data: GraphDataset) -> str:
    """The recipe's name and, where it is run on other data, theirs."""
    return recipe.name if data.name == recipe.dataset else f"{recipe.name}-on-{data.name}"


def train(
    recipe: Recipe,
    data: GraphDataset,
    *,
    command: str,
    seed: int = 0,
    out: Path | None = None,
    resume: bool = False,
    buckets: int = 1,
    compile: bool | str = False,
    **options,
) -> Record:
    """Trains with a recipe, and says what came out at the best validation epoch.

    Args:
        command: what to type for the same run.
        seed: of weights, order and dropout.
        out: the run's folder; None to keep nothing.
        resume: continue the run that is there; one that is over is not run again.
        buckets, compile: as :class:`DenseLoader` and ``fit`` take them.
        options: ``fit``'s others: ``devices``, ``precision``, ``tensorboard``, ``progress``.

    Raises:
        ValueError: ``out`` holds a run that is not to be resumed, or another one, or none.
    """
    take_own_gpu()
    recipe = for_compiler(recipe) if compile else recipe
    settings = {"buckets": buckets, "compile": compile}
    settings |= {"devices": math.prod(processes(options.get("devices", 1)))}
    settings |= {"precision": options["precision"]} if "precision" in options else {}
    what = {
        "config": recipe.config() | settings,
        "data": data.provenance,
        "seed": seed,
    }
    commit = current_commit()
    if out is not None and is_first_process():
        begun = claim(out, what, resume)
        commit = commit if commit == begun else f"{begun}, then {commit}"
    name = run_name(recipe, data)
    if out is not None and resume and (out / record_filename(name, seed)).exists():
        return read_record(out / record_filename(name, seed))
    train, val, test = loaders(recipe, data, seed, buckets, few_shapes=isinstance(compile, str))
    torch.manual_seed(seed)
    model = recipe.build_model()
    history = recipe.fit(model, train, val, seed=seed, out=out, compile=compile, **options)
    model.to(device())
    scores = {f"test_{name}": value for name, value in evaluate(model, recipe.task, test).items()}
    if any(name.startswith("train_") for name in recipe.paper_result):
        on_train = evaluate(model, recipe.task, train)
        scores |= {f"train_{name}": value for name, value in on_train.items()}
    monitor = f"val_{recipe.task.monitor}"
    record = Record(
        name=name,
        **what,
        seconds=round(history.seconds, 1),
        parameters=count_parameters(model),
        curve=history.epochs,
        result={
            **scores,
            monitor: history.best[monitor],
            "best_epoch": history.best["epoch"],
            "steps": len(history.epochs) * len(train),
        },
        command=command,
        commit=commit,
    )
    if out is not None and is_first_process():
        write_weights(record, model.state_dict(), out)
        write_record(record, out / record.filename)
    return record


def for_compiler(recipe: Recipe) -> Recipe:
    """A recipe of CSA with its attention as the equations read; any other as it is.

    A compiler fuses that form by itself, and cannot look into a backward pass written by hand.
    """
    build = recipe.build_model
    if getattr(build, "func", None) is not CGT:
        return recipe
    return replace(recipe, build_model=partial(CGT, replace(build.args[0], form="direct")))


def loaders(
    recipe: Recipe, data: GraphDataset, seed: int, buckets: int, few_shapes: bool
) -> tuple[DenseLoader, DenseLoader, DenseLoader]:
    """Training, validation and test data with the recipe's encodings, on the device.

    Raises:
        ValueError: with ``few_shapes``, a bucket does not fill a batch and so would not be seen.
    """
    smallest = len(data.train) // buckets if buckets > 0 else 0
    if few_shapes and 0 < smallest < recipe.batch_size:
        raise ValueError(
            f"{len(data.train)} training graphs in {buckets} bucket(s) do not fill a batch of "
            f"{recipe.batch_size} in each; compiled, a model is given full batches alone. Expected "
            "more graphs, smaller batches or fewer buckets."
        )
    data = encode(data, *recipe.transforms)
    # The last batch of a bucket would be one shape more, and an epoch has others to learn from.
    shapes = {"few_shapes": few_shapes, "buckets": buckets}
    train = DenseLoader(
        data.train, recipe.batch_size, shuffle=True, seed=seed, drop_last=few_shapes,
        device=device(), **shapes,
    )  # fmt: skip
    at_once = EVALUATED_AT_ONCE * recipe.batch_size
    val, test = (
        DenseLoader(graphs, at_once, device=device(), **shapes) for graphs in (data.val, data.test)
    )
    return train, val, test


def claim(out: Path, what: dict, resume: bool) -> str:
    """Makes the run's folder, or sees that the run in it is the one that is meant.

    A run that stopped before its first checkpoint left nothing: its folder is free.

    Returns:
        str: the commit at which the run began.

    Raises:
        ValueError: it is not.
    """
    there = out / "run.json"
    what = json.loads(json.dumps(what))  # as it will be read again
    if resume and not there.exists():
        raise ValueError(f"{out} holds no run to resume; expected one that was begun there.")
    if not there.exists() or not (out / "last.ckpt").exists():
        with replacing(there) as path:
            begun = {"commit": current_commit(), **what}
            path.write_text(json.dumps(begun, indent=1) + "\n")
        return begun["commit"]
    if not resume:
        raise ValueError(f"{out} holds a run; expected --resume to continue it, or another folder.")
    begun = json.loads(there.read_text())
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
