"""One run of a recipe from data to record: what ``gtcourse train`` does.

A run has a folder. It contains a description of the run (``run.json``), a checkpoint and the
learning curve, and at the end the weights and the record. A run can be stopped at any moment and
resumed.
"""

from __future__ import annotations

import json
import math
import os
import warnings
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from filelock import FileLock, Timeout
from torch import nn

from gtcourse import load_dataset
from gtcourse.encodings import computed_on_device, encode, encode_batch
from gtcourse.graphs.arguments import (
    check_bools,
    check_path,
    is_number,
    is_one_of,
    whole_number,
)
from gtcourse.graphs.batch import MISSING_LABEL
from gtcourse.graphs.check import check_labels
from gtcourse.graphs.dataset import GraphDataset, MappedGraphs, checked, collate
from gtcourse.graphs.io import META, check_same, open_graphs, read_arrays, write_arrays
from gtcourse.graphs.loader import DenseLoader
from gtcourse.graphs.molecules import FINGERPRINT_BITS, fingerprints
from gtcourse.graphs.published import (
    DOWNLOAD,
    GENERATED,
    PUBLICATIONS,
    dataset_names,
)
from gtcourse.messages import shown
from gtcourse.names import check_data_source
from gtcourse.recipes import as_recipe
from gtcourse.recipes.adapt import standardised
from gtcourse.recipes.recipe import Recipe, read_call
from gtcourse.runs import overview
from gtcourse.runs import record as records
from gtcourse.runs.record import Record
from gtcourse.train import loop
from gtcourse.train.loop import device
from gtcourse.train.schedules import warmup_then_cosine

FINGERPRINTS = "fingerprints.safetensors"
"""In a run's folder: those of its training molecules, if they are a reader's own."""

EARLIER_FINGERPRINTS = "fingerprints.npz"
"""The same in runs recorded before December 2026."""

EMBEDDED = {"zinc": "molecules", "zinc-full": "molecules", "mnist": "digits"}
"""What stands in for data that have to be downloaded; others are generated anyway."""

BUDGETS: dict[str, tuple[float, int | None]] = {
    "paper": (1.0, None),
    "short": (0.01, None),
    "smoke": (0.0, 256),
}
"""The share of a recipe's epochs, at least two of them, and how many training graphs."""


def data_for(recipe: Recipe | str, source: str) -> GraphDataset:
    """The graphs that a recipe is to be run on.

    Args:
        recipe: a recipe, which names the published data set, or its name.
        source: "embedded" for the graphs that stand in for this data set without a network; "real"
            for the published graphs, which are downloaded; the name of another data set; or the
            path of an ``.npz`` graph file, of a publisher's folder, or of a folder that
            :func:`gtcourse.encodings.prepare.prepare` wrote.

    Raises:
        ValueError: there are no such graphs.
    """
    check_data_source(source)
    name = as_recipe(recipe).dataset
    if source == "embedded":
        if EMBEDDED.get(name, name) not in GENERATED:
            raise ValueError(
                f"no embedded data set stands in for {name!r}; expected 'real', or the path of an "
                ".npz graph file."
            )
        return load_dataset(EMBEDDED.get(name, name))
    if source == "real":
        return load_dataset(name, DOWNLOAD if name in PUBLICATIONS else None)
    if source in dataset_names():
        return load_dataset(source)
    if (Path(source) / META).is_file():
        return open_graphs(source)
    return load_dataset(name, source)


def at_budget(
    recipe: Recipe | str,
    data: GraphDataset,
    budget: str = "paper",
    *,
    graphs: int | None = None,
    learning_rate: float | None = None,
    cosine: bool = False,
    **sizes: int | None,
) -> tuple[Recipe, GraphDataset]:
    """A recipe and its data at one of ``BUDGETS``; the changes are in the recipe's ``changed``.

    Args:
        recipe: the published one, or its name.
        data: all graphs.
        budget: a key of ``BUDGETS``.
        graphs: training graphs, in place of the budget's.
        learning_rate: the largest learning rate, in place of the recipe's.
        cosine: whether the rate falls to zero along a cosine. Without it, a short run with a
            plateau schedule would never lower its rate.
        sizes: ``epochs`` and ``batch_size``, in place of the budget's and the recipe's.

    Raises:
        ValueError: the budget is unknown, or a number is not allowed.
    """
    recipe = as_recipe(recipe)
    _check_data_set(data)
    if not is_one_of(budget, BUDGETS):
        raise ValueError(f"budget is {shown(budget)}; expected one of {', '.join(BUDGETS)}.")
    check_bools(cosine=cosine)
    for name in sizes:
        if name not in ("epochs", "batch_size"):
            raise ValueError(f"there is no size {name}; expected epochs or batch_size.")
    share, most = BUDGETS[budget]
    changes: dict[str, Any] = {}
    if share != 1:
        changes["epochs"] = max(2, round(share * recipe.epochs))
    changes |= {name: size for name, size in sizes.items() if size is not None}
    if learning_rate is not None:
        if not is_number(learning_rate) or learning_rate <= 0:
            raise ValueError(f"learning_rate is {learning_rate!r}; expected a number above 0.")
        changes["optimizer"] = partial(recipe.optimizer, lr=float(learning_rate))
    if cosine:
        changes["schedule"] = partial(warmup_then_cosine, warmup=0)
        changes["stop_below_lr"] = None
    recipe = recipe.at(**changes)
    graphs = most if graphs is None else graphs
    if graphs is None:
        return recipe, data
    data = data.first(graphs)
    used = data.split_sizes["train"]  # there may be fewer
    return replace(recipe, changed={**recipe.changed, "graphs": used}), data


def loaders(
    recipe: Recipe, data: GraphDataset, seed: int, buckets: int, static_shapes: bool
) -> tuple[DenseLoader, DenseLoader, DenseLoader]:
    """Loaders of the training, validation and test graphs with the recipe's encodings.

    Args:
        recipe: defines the encodings and the batch size.
        data: the graphs.
        seed: the seed of the order of the training graphs.
        buckets: groups of graphs of similar size.
        static_shapes: whether all batches of a bucket have the same shape, for ``torch.compile``.

    Raises:
        ValueError: a folder lacks an encoding that has to be stored, or the training graphs do not
            fill a batch.
    """
    options: dict[str, Any] = {
        "static_shapes": static_shapes,
        "buckets": buckets,
        "device": device(),
    }
    if isinstance(data, MappedGraphs):
        computed = [each for each in recipe.transforms if repr(each) not in data.stored]
        missing = [repr(each) for each in computed if not computed_on_device(each)]
        if missing:
            raise ValueError(
                f"{data.folder} holds {', '.join(data.stored) or 'no encodings'}; {recipe.name} "
                f"also reads {', '.join(missing)}, which has to be stored; expected a folder "
                f"prepared with --recipe {recipe.name}."
            )
        options["then"] = lambda batch: encode_batch(batch, *computed)
    else:
        options["target"] = data.target
        data = encode(data, *recipe.transforms)
    # The last batch of a bucket would be one shape more, and an epoch has others to learn from.
    train = DenseLoader(
        data.train, recipe.batch_size, shuffle=True, seed=seed, drop_last=static_shapes, **options
    )
    if not len(train):
        raise ValueError(
            f"{data.split_sizes['train']} training graphs do not fill a batch of "
            f"{recipe.batch_size}; expected more graphs or smaller batches."
        )
    # Without gradients, four times as many graphs fit into memory as easily.
    val = DenseLoader(data.val, 4 * recipe.batch_size, **options)
    return train, val, DenseLoader(data.test, 4 * recipe.batch_size, **options)


def run_name(recipe: Recipe, data: GraphDataset) -> str:
    """The name of the recipe, and that of the data if it is another data set.

    Own data may have the name of a published data set, as a file zinc.csv has.
    """
    is_published = data.name == recipe.dataset and "own_data" not in recipe.changed
    return recipe.name if is_published else f"{recipe.name}-on-{data.name}"


def _check_data_set(data: object) -> None:
    """Raises a ValueError for what is no data set, such as a list of graphs."""
    if not isinstance(data, GraphDataset):
        raise ValueError(
            f"data is of type {type(data).__name__}; expected a GraphDataset, graphs in three "
            "splits."
        )


def train(
    recipe: Recipe | str,
    data: GraphDataset,
    *,
    command: str,
    seed: int = 0,
    out: str | Path | None = None,
    resume: bool | None = False,
    buckets: int = 1,
    compile: bool = False,
    accumulate: int = 1,
    **options: Any,
) -> Record:
    """Trains with a recipe, and evaluates the weights of the best validation epoch.

    The targets of a regression on own data are standardised by the training split; errors are in
    the unit of the targets. The global random generators are restored afterwards.

    Args:
        recipe: a recipe, or the name of a published one.
        data: graphs in three splits.
        command: the command line that repeats the run.
        seed: the seed of the initial weights, the order of the graphs, and dropout.
        out: the run's folder; None to write nothing.
        resume: whether to resume the run in the folder. A finished run is not repeated; its record
            is returned. None resumes a run if there is one, and otherwise starts one.
        buckets: groups of graphs of similar size (:class:`DenseLoader`).
        compile: whether to use ``torch.compile``.
        accumulate: batches in an optimizer step.
        options: other arguments of :func:`gtcourse.train.loop.fit`.

    Raises:
        ValueError: the recipe cannot read the data, or the folder is in use, holds another run,
            holds a run that is not to be resumed, or holds no run to resume.
    """
    recipe = as_recipe(recipe)
    if not isinstance(command, str):
        raise ValueError(f"command is {command!r}; expected a string.")
    if resume not in (True, False, None):
        raise ValueError(f"resume is {resume!r}; expected True, False or None.")
    _check_data_set(data)
    _check_options(seed, compile, accumulate, options)
    # Python's own numbers, because the record is JSON.
    seed = whole_number("seed", seed, 0)
    accumulate = whole_number("accumulate", accumulate, 1)
    buckets = whole_number("buckets", buckets, 1)
    if out is not None:
        check_path("out", out, "the path of a folder, or None")
    out = None if out is None else Path(out)
    if out is not None:
        check_folder(out, resume)
    elif resume:
        raise ValueError("resume is True and out is None; expected the folder of a run.")
    if torch.cuda.is_available():  # several processes have a GPU each
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
    devices = math.prod(loop.processes(options.get("devices", 1)))
    settings: dict[str, Any] = {"buckets": buckets, "compile": compile, "devices": devices}
    settings["precision"] = options.get("precision", "32-true")
    if accumulate != 1:  # records of earlier releases do not have it
        settings["accumulate"] = accumulate
    check_data(recipe, data)
    recipe = standardised(recipe, data)
    name = run_name(recipe, data)
    commit = records.current_commit()
    what: dict[str, Any] = {
        "config": recipe.config() | settings,
        "data": data.provenance,
        "seed": seed,
    }
    for sentence in unscored(recipe, data):
        warnings.warn(sentence, stacklevel=2)
    written = out if loop.is_first_process() else None
    with ExitStack() as stack:
        if written is not None:
            try:
                stack.enter_context(FileLock(written / ".lock", timeout=0))
            except Timeout:
                raise ValueError(
                    f"another process is training in {out}; expected a folder for each run."
                ) from None
            begun = claim(written, what, commit, resume)
            commit = commit if commit == begun else f"{begun}, then {commit}"
        if out is not None and (out / records.record_filename(name, seed)).exists():
            return records.read_record(out / records.record_filename(name, seed))
        training, val, test = loaders(recipe, data, seed, buckets, static_shapes=compile)
        stack.enter_context(loop.own_random_state())
        torch.manual_seed(seed)
        model = recipe.build_model()
        # Before hours of training, and the test data too.
        for loader in (training, val, test):
            loader.check_features(model)
        history = recipe.fit(
            model,
            training,
            val,
            seed=seed,
            out=out,
            compile=compile,
            accumulate=accumulate,
            **options,
        )
        result = _result(recipe, model, history, training, test)
        record = Record(
            name,
            **what,
            seconds=round(history.seconds, 1),
            parameters=loop.count_parameters(model),
            curve=history.epochs,
            result=result,
            command=command,
            commit=commit,
        )
        if written is not None:
            records.write_weights(record, model.state_dict(), written / record.weights_filename)
            _write_fingerprints(recipe, data, written)
            records.write_record(record, written / record.filename)
    return record


def _check_options(seed: int, compile: bool, accumulate: int, options: dict[str, Any]) -> None:
    """Raises an error for options that training does not accept, before the folder is claimed."""
    recipe_has = ("epochs", "stop_below_lr", "grad_clip", "flag", "optimizer", "schedule", "task")
    for name in options:
        if name in recipe_has:
            raise ValueError(f"{name} is an attribute of the recipe; expected recipe.at({name}=…).")
    others = ("on_epoch_end",)
    settings = {name: value for name, value in options.items() if name not in others}
    if settings.get("lr") is not None:
        raise ValueError(
            "lr has no effect because the recipe has an optimizer; expected at_budget()."
        )
    loop.settings_of(
        {"epochs": 1, "seed": seed, "compile": compile, "accumulate": accumulate} | settings
    )
    loop.check_hook(options.get("on_epoch_end"))


def _write_fingerprints(recipe: Recipe, data: GraphDataset, out: Path) -> None:
    """Writes the fingerprints of a user's own training molecules.

    They let a prediction state how similar its molecule is to the training molecules.
    """
    own = recipe.changed.get("own_data")
    if own is not None and own["features"] is not None and "smiles" in data.graphs[0]:
        bits = fingerprints(graph.smiles for graph in data.train)
        write_arrays(out / FINGERPRINTS, {"morgan": bits})


def read_fingerprints(folder: Path) -> np.ndarray | None:
    """The fingerprints in a run's folder; None if the run was not on a user's own molecules."""
    for name in (FINGERPRINTS, EARLIER_FINGERPRINTS):
        path = folder / name
        if path.is_file():
            return _checked_fingerprints(read_arrays(path).get("morgan"), path)
    return None


def _checked_fingerprints(bits: np.ndarray | None, path: Path) -> np.ndarray:
    """The array of a file of fingerprints; a ValueError if it is none of molecules."""
    width = FINGERPRINT_BITS // 8
    if bits is None:
        found = "no array morgan"
    elif bits.dtype == np.uint8 and bits.ndim == 2 and bits.shape[1] == width and len(bits) > 0:
        return bits
    else:
        found = f"{bits.dtype} {[*bits.shape]}"
    raise ValueError(
        f"{path} has {found}; expected morgan as uint8 [molecules, {width}], as gtcourse wrote it."
    )


def _result(
    recipe: Recipe, model: nn.Module, history: loop.History, train: DenseLoader, test: DenseLoader
) -> dict[str, float]:
    """The metric of each split at the best epoch.

    A split without known targets has no metric, such as a test split with unpublished targets.
    """
    model.to(device())
    metric = recipe.task.monitor
    best = history.best or history.epochs[-1]
    scores = {f"test_{metric}": loop.evaluate(model, recipe.task, test)[metric]}
    if f"train_{metric}" in recipe.paper_result:
        scores[f"train_{metric}"] = loop.evaluate(model, recipe.task, train)[metric]
    names = recipe.changed.get("own_data", {}).get("targets", [])
    if recipe.task.kind != "probabilities" and len(names) > 1:
        each = overview.scores_of_targets(model, recipe.task, test)
        scores |= {f"test_{metric} {name}": score for name, score in zip(names, each, strict=True)}
    scores[f"val_{metric}"] = best[f"val_{metric}"]
    scores = {name: value for name, value in scores.items() if math.isfinite(value)}
    return {**scores, "best_epoch": best["epoch"], "steps": history.steps}


def unscored(recipe: Recipe, data: GraphDataset) -> list[str]:
    """A sentence for each split that will have no score.

    A split has no score if none of its targets is known, or if they are all of one class where the
    metric is a ranking (ROC AUC, average precision), which needs a 0 and a 1.
    """
    if isinstance(data, MappedGraphs):
        return []
    sentences = []
    for split in ("val", "test"):
        y = torch.cat([graph.y for graph in data[split]])
        y = y.reshape(len(y), -1) if data.target == "graph" else y.reshape(-1, 1)  # [targets, T]
        known = y[~y.isnan() & (y != MISSING_LABEL)]
        has_both_classes = ((y == 0).any(dim=0) & (y == 1).any(dim=0)).any()
        use = "the weights are those of the last epoch" if split == "val" else "none is reported"
        if not len(known):
            sentences.append(
                f"no target of the split {split!r} of {data.name} is known: there is no "
                f"{recipe.task.monitor} of it, and {use}."
            )
        elif recipe.task.kind == "probability" and not has_both_classes:
            sentences.append(
                f"the {len(known)} known targets of the split {split!r} of {data.name} are all "
                f"{known[0]:g}: there is no {recipe.task.monitor} of one class, and {use}."
            )
    return sentences


def check_data(recipe: Recipe, data: GraphDataset) -> None:
    """Checks all labels and features, and puts one graph through the recipe's model and loss.

    Raises:
        ValueError: a graph does not fit; the sentence names it. Nothing is written or trained yet.
    """
    _check_data_set(data)
    for split, size in data.split_sizes.items():
        if size == 0:
            raise ValueError(
                f"{data.name} has no graphs in its split {split!r}; expected one or more in each."
            )
    if isinstance(data, MappedGraphs):  # all files would have to be read; batches are checked
        return
    check_labels(data.graphs, recipe.task.num_classes)
    for split in ("train", "val"):
        targets = [graph.y for graph in data[split] if graph.get("y") is not None]
        if targets and not any((~y.isnan() & (y != MISSING_LABEL)).any() for y in targets):
            raise ValueError(
                f"all targets of the split {split!r} of {data.name} are missing; expected at "
                "least one that is known."
            )
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        model = recipe.build_model().eval()
        try:
            together = checked(data.graphs, data.target)
            together.check_masks()
            together.check_features(model)
            batch = collate(encode(data.graphs[:1], *recipe.transforms), target=data.target)
            recipe.task.loss(model(batch, **recipe.task.model_options), batch)
        except ValueError as error:
            raise ValueError(f"{data.name} does not fit {recipe.name}: {error}") from None


def check_folder(out: Path, resume: bool | None) -> None:
    """Raises a ValueError if the folder holds a run that is not to be resumed, or no run to resume.

    Args:
        out: the run's folder, or where it will be.
        resume: as in :func:`train`.
    """
    loop.check_folder(out)
    if resume is False and _holds_run(out):
        raise ValueError(f"{out} holds a run; expected --resume to continue it, or another folder.")
    if resume and not (out / "run.json").exists():
        raise ValueError(f"{out} holds no run to resume; expected the folder of a run.")


def _holds_run(out: Path) -> bool:
    """Whether there is a run to resume; a run writes its first checkpoint after an epoch."""
    return any(out.glob("*-seed*.json")) or (out / "last.ckpt").exists()


def claim(out: Path, what: dict[str, Any], commit: str, resume: bool | None) -> str:
    """Begins a run in its folder, or compares the run that is there with this one.

    Args:
        out: the run's folder.
        what: everything that identifies the run.
        commit: the current commit of the package.
        resume: as in :func:`train`.

    Returns:
        str: the commit at the start of the run.

    Raises:
        ValueError: the folder holds another run, or one that is not to be resumed.
    """
    path = out / "run.json"
    check_folder(out, resume)
    if not _holds_run(out):
        records.write_json(path, {"commit": commit, **what})
        return commit
    try:
        begun = json.loads(path.read_text())
        saved = _compared(begun)
        commit = str(begun["commit"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{path} is missing or damaged ({type(error).__name__}); expected a "
            "description of the run in this folder, or another folder."
        ) from None
    ours = _compared(json.loads(json.dumps(what)))  # as it was read
    if "sha256" not in saved["data"]:  # a run that was begun before its data were identified
        ours["data"].pop("sha256", None)
    if "start_weights" not in saved.get("changed", {}):  # likewise what it started from
        ours.get("changed", {}).pop("start_weights", None)
    check_same(f"{out} holds another run", ours, saved)
    return commit


def _compared(what: dict[str, Any]) -> dict[str, Any]:
    """What two runs have to share to count as the same, by name; notes say nothing about a run."""
    config = {name: value for name, value in what["config"].items() if name != "notes"}
    if "build_model" in config:
        config["build_model"] = read_call(config["build_model"])
    return config | {"data": what["data"], "seed": what["seed"]}
