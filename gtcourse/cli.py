"""``gtcourse models | predict | train | recipes | results | data | prepare``.

Each command imports what it needs when it runs, so that ``--help`` and the error about a wrong name
do not wait for PyTorch and PyG.
"""

from __future__ import annotations

import atexit
import gc
import json
import math
import os
import shlex
import signal
import subprocess
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from enum import StrEnum
from io import TextIOWrapper
from itertools import count, product
from pathlib import Path
from statistics import mean, stdev
from types import FrameType
from typing import TYPE_CHECKING, Any

import typer
from typer import Argument, Option

from gtcourse import __version__
from gtcourse.csv_file import (
    AUTOMATIC_SPLITS,
    TextTable,
    check_split,
    check_target_names,
    check_targets,
    class_names,
    read_text_table,
)
from gtcourse.messages import is_of_full_disk, sentence
from gtcourse.names import (
    MODEL_CARDS,
    available,
    available_models,
    check_data_source,
    check_dataset,
    check_form,
    check_has_recipe,
    check_recipe,
    check_table_exists,
    has_records,
    model_path,
    predicts_values,
    shipped_seeds,
)

if TYPE_CHECKING:
    from gtcourse.graphs.dataset import GraphDataset
    from gtcourse.recipes import Recipe

app = typer.Typer(
    help="Predict properties of molecules with graph Transformers, which are neural networks that "
    "read a molecule as a graph of atoms and bonds. Train them on your own measurements, or repeat "
    "the experiments of their papers.\n\nTo begin: [bold]gtcourse models[/] lists the trained "
    'models, and [bold]gtcourse predict csa-rings/zinc CCO "c1ccccc1O"[/] predicts with one of '
    "them. Molecules are written as SMILES.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

DASK_SECONDS = 60
"""How long a Dask scheduler may take to write its file, and then to answer."""

# The headings in the list of commands and in the list of train's options.
MOLECULES = "Molecules"
PAPERS = "The papers' experiments"
OWN_MOLECULES = "Your own molecules"
TRAINING = "Training, where it differs from the recipe"
RUNS = "Runs"
HARDWARE = "Hardware and speed"

# Arguments and options of several commands.
RECIPE = Argument(
    metavar="RECIPE",
    help="a model and how it is trained, such as csa-rings/zinc; `gtcourse recipes` lists them",
)
DATA = Option(
    "embedded",
    help="the graphs: [bold]embedded[/] (graphs that come with the package, in place of the "
    "recipe's data set), [bold]real[/] (the recipe's data set, downloaded once), the name of a "
    "data set such as molecules (`gtcourse data` lists them), the path of an .npz graph file, or "
    "a folder that `gtcourse prepare` wrote",
)


def path_of_option(text: str) -> Path:
    """The path given with an option; raises if it is empty, which would mean the current folder."""
    if not text:
        raise typer.BadParameter("the path is empty; expected the name of a file or folder.")
    return Path(text)


class Precision(StrEnum):
    """Number formats of ``--precision``."""

    FLOAT32 = "32-true"
    BFLOAT16 = "bf16-mixed"


class Budget(StrEnum):
    """The choices of ``--budget``, keys of ``BUDGETS`` in :mod:`gtcourse.runs.run`."""

    PAPER = "paper"
    SHORT = "short"
    SMOKE = "smoke"


class Form(StrEnum):
    """The choices of ``--form``, those of CSA; EGT and GRPE have two of them."""

    FACTORISED = "factorised"
    DIRECT = "direct"
    CHUNKED = "chunked"
    FUSED = "fused"


class OwnTask(StrEnum):
    """What the target columns of a CSV file can hold."""

    REGRESSION = "regression"
    BINARY = "binary"
    CLASSES = "classes"


PRECISION = Option(
    Precision.FLOAT32, help="number format of the matrix products", rich_help_panel=HARDWARE
)
COMPILE = Option(
    False,
    "--compile",
    help="compile the model with torch.compile, which pays off on GPUs",
    rich_help_panel=HARDWARE,
)
BUCKETS = Option(
    1,
    min=1,
    help="sort the graphs into this many groups of similar size, to reduce padding",
    rich_help_panel=HARDWARE,
)
DATASET = Option(
    None, help="only recipes for this data set, such as zinc (`gtcourse data` lists them)"
)

SMILES_HELP = "name of the column with the SMILES, as in the first line of the file"
LARGEST_FRAGMENT_HELP = (
    "keep only the largest piece of a salt or a mixture, such as the acid of a sodium salt; "
    "without this option all pieces are read as one molecule"
)
MAX_ATOMS_HELP = (
    "leave out molecules with more atoms than this, not counting hydrogens; by default no molecule "
    "is left out"
)

OF_CSV = ("smiles", "target", "task", "split", "folds", "largest_fragment", "max_atoms")
"""Options of ``train`` for reading --csv."""

BASELINES = "baselines.json"
"""The file in a run's folder with the scores of simple predictors on its test molecules."""

TEXT_ENDINGS = (".csv", ".tsv", ".txt")
"""Suffixes of the tables that ``predict`` writes."""


@app.callback(invoke_without_command=True)
def options(
    version: bool = Option(False, "--version", help="print the version and exit"),
) -> None:
    """Options before a command."""
    if version:
        print(f"gtcourse {__version__}")
        raise typer.Exit


@app.command(rich_help_panel=MOLECULES)
def models() -> None:
    """List the trained models that come with the package: what they predict, and how well.

    The mean absolute error is measured on molecules that were not used in
    training, in the unit of the prediction. The best model on each data set
    comes first.
    """
    for card in available_models():
        smallest, largest = card.atoms
        print(f"{card.name:25} predicts {card.target}")
        print(f"{'':25} mean absolute error {card.test_error:.3f} on {card.tested}")
        print(f"{'':25} trained on {card.data} of {smallest} to {largest} atoms")
    print("Penalised logP is the decimal logarithm of how much better a molecule dissolves in oil")
    print("than in water, with penalties for large rings and for being hard to make.")
    print("`gtcourse predict NAME SMILES` predicts with a model of this list. For a model that you")
    print("trained yourself, NAME is the folder of its run.")
    print(f"These pages describe the models and their limits: {MODEL_CARDS}")


@app.command(rich_help_panel=PAPERS)
def recipes(
    context: typer.Context,
    name: str | None = Argument(
        None, help="print all settings of this recipe, such as csa-rings/zinc"
    ),
    dataset: str | None = DATASET,
) -> None:
    """List the recipes, models and their training as papers state them, or show one.

    Names have the form MODEL/DATA. The number beside a name is the result that
    the paper reports on its test data. For test_mae, a mean absolute error,
    lower is better. For accuracy, AUROC and average precision, higher is
    better.

    [bold]gtcourse recipes --dataset zinc[/]
    """
    if name is not None:
        _refuse(context, ("dataset",), "on one recipe", "a name or --dataset")
        check_recipe(name)
    elif dataset is not None:
        check_dataset(dataset)
        check_has_recipe(dataset)
    import_torch()
    from gtcourse.recipes import RECIPES, get_recipe

    if name is not None:
        import torch

        recipe = get_recipe(name)
        with torch.device("meta"):  # counted without memory
            parameters = sum(p.numel() for p in recipe.build_model().parameters())
        settings = recipe.config()
        del settings["notes"]
        about = {
            **settings,
            "parameters": parameters,
            "paper_parameters": recipe.paper_parameters,
            "paper_result": recipe.paper_result,
        }
        for key, value in about.items():
            print(f"{key}: {value}")
        print("notes:")
        for note in recipe.notes:
            print(f"  {note}")
        return
    listed = [recipe for recipe in RECIPES.values() if dataset in (None, recipe.dataset)]
    width = max(len(recipe.name) for recipe in listed)
    for recipe in listed:
        print(f"{recipe.name:{width}} {_printed_score(recipe.paper_result)}")
    print("`gtcourse recipes NAME` describes one; the numbers are those of the papers.")


@app.command(rich_help_panel=MOLECULES)
def train(
    context: typer.Context,
    recipe: str = RECIPE,
    data: str = DATA,
    csv: Path | None = Option(
        None,
        parser=path_of_option,
        metavar="<path>",
        help="a CSV file with your own molecules and measurements, in place of --data; its first "
        "line names the columns, which are separated by commas, semicolons or tabs",
        rich_help_panel=OWN_MOLECULES,
    ),
    smiles: str = Option("smiles", help=SMILES_HELP, rich_help_panel=OWN_MOLECULES),
    target: list[str] = Option(
        [],
        help="name of the column to predict; repeat the option for several columns. Numbers need a "
        "decimal point, an empty cell or NA is a missing value, and predictions are in the unit of "
        "the column",
        rich_help_panel=OWN_MOLECULES,
    ),
    task: OwnTask = Option(
        OwnTask.REGRESSION,
        help="what the target columns hold: numbers (regression); 0 or 1, or true or false "
        "(binary); or names of classes, in one column (classes)",
        rich_help_panel=OWN_MOLECULES,
    ),
    split: str = Option(
        "scaffold",
        help="how to choose a tenth of the molecules for validation and a tenth for the test: "
        "scaffold (molecules with the same ring system stay together, so that the model is tested "
        "on new ring systems), random, or the name of a column that says train, val or test",
        rich_help_panel=OWN_MOLECULES,
    ),
    folds: int | None = Option(
        None,
        min=3,
        help="cross-validate: train this many times, test each time on a different part of the "
        "molecules, and print the mean and standard deviation of the results",
        rich_help_panel=OWN_MOLECULES,
    ),
    fold: int | None = Option(
        None,
        min=1,
        help="train only this fold; the first is 1",
        rich_help_panel=OWN_MOLECULES,
    ),
    largest_fragment: bool = Option(
        False, "--largest-fragment", help=LARGEST_FRAGMENT_HELP, rich_help_panel=OWN_MOLECULES
    ),
    max_atoms: int | None = Option(None, min=1, help=MAX_ATOMS_HELP, rich_help_panel=OWN_MOLECULES),
    start: str | None = Option(
        None,
        help="fine-tune: start from the weights of this trained model of the same recipe, given as "
        "the name of a model that comes with the package or as the folder of a run",
        rich_help_panel=TRAINING,
    ),
    budget: Budget = Option(
        Budget.PAPER,
        help="how long to train: as long as in the paper (paper), which can take days on a CPU; "
        "1 % of that (short); or two epochs on 256 graphs, only to see that everything works "
        "(smoke)",
        rich_help_panel=TRAINING,
    ),
    epochs: int | None = Option(
        None,
        min=1,
        help="number of passes through all molecules, in place of the budget's number",
        rich_help_panel=TRAINING,
    ),
    batch_size: int | None = Option(
        None,
        min=1,
        help="number of molecules (graphs) in a batch, in place of the recipe's number; smaller "
        "batches need less memory",
        rich_help_panel=TRAINING,
    ),
    accumulate: int = Option(
        1,
        min=1,
        help="add up the gradients of this many batches for each training step, which needs less "
        "memory than one larger batch",
        rich_help_panel=TRAINING,
    ),
    learning_rate: float | None = Option(
        None,
        min=0,
        help="largest learning rate, in place of the recipe's",
        rich_help_panel=TRAINING,
    ),
    cosine: bool = Option(
        False,
        "--cosine",
        help="lower the learning rate to 0 along a cosine",
        rich_help_panel=TRAINING,
    ),
    graphs: int | None = Option(
        None,
        min=1,
        help="train only on this many molecules (graphs), the first of the training split",
        rich_help_panel=TRAINING,
    ),
    seed: list[int] = Option(
        [0],
        min=0,
        max=2**32 - 1,
        help="number that fixes all random choices; repeat the option for several runs, which show "
        "how much a result depends on chance",
        rich_help_panel=RUNS,
    ),
    jobs: int = Option(
        1, min=1, help="how many of several runs to train at the same time", rich_help_panel=RUNS
    ),
    out: Path = Option(
        "runs",
        parser=path_of_option,
        metavar="<path>",
        help="folder in which each run gets its own folder; `gtcourse predict` reads such a folder",
        rich_help_panel=RUNS,
    ),
    resume: bool = Option(
        False, "--resume", help="continue a run that was stopped", rich_help_panel=RUNS
    ),
    auto_resume: bool = Option(
        False,
        "--auto-resume",
        help="continue the run if it was started before; otherwise start it",
        rich_help_panel=RUNS,
    ),
    checkpoint_every: int | None = Option(
        None,
        min=1,
        help="also save the state each time this many steps have passed, not just after each epoch",
        rich_help_panel=RUNS,
    ),
    devices: int = Option(
        1, min=1, help="split each batch over this many GPUs or processes", rich_help_panel=HARDWARE
    ),
    precision: Precision = PRECISION,
    compile: bool = COMPILE,
    buckets: int = BUCKETS,
    form: Form | None = Option(
        None,
        help="how a model of CSA, EGT or GRPE computes its layers; fused is the fastest on a CPU "
        "and needs numba; EGT and GRPE have direct and fused alone",
        rich_help_panel=HARDWARE,
    ),
) -> None:
    """Train a model on your own molecules, or as its paper did.

    For your own molecules, give --csv and --target. Give --epochs as well,
    because the recipe's own number can take days. The command first prints an
    estimate of time and memory, a summary of the file, and the errors of simple
    predictors on the same test molecules: a constant, ridge regression and
    boosted trees. A model is useful only if it does better than these.

    The weights, the learning curve and a record are stored in the run's folder.
    Its name is printed at the start, and `gtcourse predict FOLDER` predicts
    with it.

    [bold]gtcourse train csa-rings/zinc --csv my.csv --target activity --task binary --epochs 20[/]

    [bold]gtcourse train csa-rings/zinc --csv my.csv --target logp --start csa-rings/zinc[/]

    [bold]gtcourse train csa-rings/zinc --data molecules --budget smoke[/]
    """
    if csv is None:
        _refuse(context, OF_CSV, "without --csv", "--csv with your molecules")
    else:
        _refuse(context, ("data",), "with --csv", "one of the two")
    if folds is None:
        _refuse(context, ("fold",), "without --folds", "--folds as well")
    elif fold is not None and fold > folds:
        raise ValueError(f"--fold is {fold}, and --folds is {folds}; expected at most {folds}.")
    if folds is not None and split not in ("scaffold", "random"):
        raise ValueError(
            f"--split is the column {split!r}, which has no effect with --folds; expected scaffold "
            "or random."
        )
    if resume and auto_resume:
        raise ValueError("--resume and --auto-resume are both given; expected one of the two.")
    if learning_rate is not None and not 0 < learning_rate < math.inf:
        raise ValueError(f"--learning-rate is {learning_rate:g}; expected a number above 0.")
    check_recipe(recipe)
    if form is not None:
        check_form(form.value, recipe)
    if csv is None:
        check_data_source(data)
    elif not target:
        raise ValueError("--csv needs a column to predict; expected --target NAME.")
    if start is not None:
        model_path(start)
    if csv is not None:
        check_table_exists(csv)
    check_place("--out", out / "run")
    are_several = len(seed) > 1 or (folds is not None and fold is None)
    table: TextTable | None = None
    if csv is not None:
        split_column = None if split in AUTOMATIC_SPLITS else split
        columns = target if split_column is None else [*target, split_column]
        table = read_text_table(csv, smiles, *columns)
        if not are_several:  # each of several runs says so
            _say_separator(csv, table)
        _check_table(table, csv, smiles, target, task, split_column, folds)
    if are_several:
        each_fold = [*range(1, folds + 1)] if folds is not None and fold is None else [fold]
        raise typer.Exit(_run_each([*dict.fromkeys(seed)], each_fold, jobs, out))
    _refuse(context, ("jobs",), "on a single run", "several --seed options, or --folds")
    import_torch()
    from gtcourse.predict import fine_tuned
    from gtcourse.recipes import get_recipe
    from gtcourse.recipes.recipe import with_form
    from gtcourse.runs import run
    from gtcourse.runs.record import write_json
    from gtcourse.train import loop
    from gtcourse.train.memory import keep_freed_memory

    keep_freed_memory()
    chosen = get_recipe(recipe)
    if form is not None:
        chosen = with_form(chosen, form.value)
    if table is None:
        dataset = run.data_for(chosen, data)
        if start is not None:
            chosen = fine_tuned(chosen, start)
    else:
        assert csv is not None  # the table was read from it
        chosen, dataset = _own_molecules(
            chosen,
            csv,
            table,
            smiles,
            target,
            task,
            start,
            split=split,
            fold=None if folds is None or fold is None else (fold - 1, folds),
            largest_fragment=largest_fragment,
            max_atoms=max_atoms,
        )
    chosen, dataset = run.at_budget(
        chosen,
        dataset,
        budget,
        epochs=epochs,
        batch_size=batch_size,
        graphs=graphs,
        learning_rate=learning_rate,
        cosine=cosine,
    )
    name = run.run_name(chosen, dataset)
    folder = out / f"{name.replace('/', '-')}-seed{seed[0]}"
    is_first = loop.is_first_process()
    simple: dict[str, list[float]] = {}
    if is_first:
        run.check_folder(folder, None if auto_resume else resume)
        print(f"{name}, seed {seed[0]}, on {dataset.source}: {folder}", flush=True)
        is_alone = devices == 1 and "TORCHELASTIC_RUN_ID" not in os.environ
        if is_alone and not (folder / "run.json").exists():
            _say_estimate(chosen, dataset, accumulate, buckets)
        if csv is not None:
            simple = _say_overview(chosen, dataset)
    record = run.train(
        chosen,
        dataset,
        command=_command(),
        seed=seed[0],
        out=folder,
        resume=None if auto_resume else resume,
        checkpoint_every=checkpoint_every,
        devices=devices,
        precision=precision,
        compile=compile,
        buckets=buckets,
        tensorboard=True,
        accumulate=accumulate,
    )
    if is_first:
        if simple:
            scores = {
                name: [None if math.isnan(value) else value for value in values]
                for name, values in simple.items()
            }
            write_json(folder / BASELINES, {"metric": chosen.task.monitor, "scores": scores})
        _say_result(chosen, record.result, simple)
        print(f"{record.seconds:.0f} s; the record: {folder / record.filename}")


@app.command(rich_help_panel=PAPERS)
def results(
    folders: list[Path] = Argument(
        exists=True,
        file_okay=False,
        help="folders with runs, such as runs, which `gtcourse train` writes; their subfolders are "
        "searched as well",
    ),
    dataset: str | None = DATASET,
    all: bool = Option(False, "--all", help="also list recipes without a run"),
) -> None:
    """Show the results of your runs beside the papers' numbers.

    For each finished run, the list has its test result, the paper's result for
    the same recipe if there is one, and the gap between the two.

    [bold]gtcourse results runs[/]
    """
    where = ", ".join(map(str, folders))
    of = "" if dataset is None else f" on {dataset!r}"
    no_run = f"there is no finished run{of} in {where}; expected one or more."
    if not all and not any(has_records(folder) for folder in folders):
        raise ValueError(no_run)
    import_torch()
    from gtcourse.runs import record as records

    found = records.results(records.read_results(folders), dataset)
    if not all and not any(result.records for result in found):
        raise ValueError(no_run)
    if not found:  # of all recipes as well
        assert dataset is not None
        check_dataset(dataset)
        raise ValueError(no_run)
    for result in found:
        if result.records or all:
            name, metric, paper, ours, gap, *about = records.row(result)
            print(f"{name}  {', '.join(filter(None, about))}")
            line = f"    {metric} {ours}"
            if paper:
                line += f"; paper {paper}"
            if gap:
                line += f", gap {gap}"
            print(line)


@app.command(rich_help_panel=PAPERS)
def data(
    context: typer.Context,
    name: str | None = Argument(None, help="the data set to load and describe, such as molecules"),
    source: str | None = Option(
        None,
        help="where it comes from: the word download, or the path of an .npz graph file; by "
        "default it is generated, or downloaded once",
    ),
) -> None:
    """List the data sets, or load one and describe it.

    A data set is a list of graphs with something to predict for each. Some come
    with the package or are generated ("without a network"), and some can be
    downloaded from their publisher ("published"). You need none of them for
    your own molecules: see `gtcourse train --help`.
    """
    if name is None:
        _refuse(context, ("source",), "on the list", "a data set's name as well")
    else:
        check_dataset(name)
        if source not in (None, "download") and not Path(source).exists():
            raise ValueError(f"there is no file {source}; expected an .npz graph file.")
    import_torch()
    from gtcourse import load_dataset
    from gtcourse.graphs.published import GENERATED, PUBLICATIONS, dataset_names

    if name is None:
        for known in dataset_names():
            ways = []
            if known in GENERATED:
                ways.append("without a network")
            if known in PUBLICATIONS:
                ways.append("published")
            print(f"{known:16} {', '.join(ways)}")
        print("`gtcourse data NAME` loads one and prints its size.")
        return
    graphs = load_dataset(name, source)
    nodes = [graph.num_nodes for graph in graphs]
    edges = [graph.num_edges for graph in graphs]
    print(f"{graphs.name}: {graphs.source}")
    print(f"graphs: {graphs.split_sizes}")
    print(
        f"nodes: {min(nodes)} to {max(nodes)}, {mean(nodes):.2f} on average; "
        f"edges: {mean(edges):.2f}; targets of: {graphs.target}"
    )


@app.command(rich_help_panel=PAPERS)
def prepare(
    context: typer.Context,
    name: str = Argument(help="a data set, such as pcqm4mv2 (`gtcourse data` lists them)"),
    out: Path = Option(
        parser=path_of_option,
        metavar="<path>",
        help="the folder to write; all machines of a cluster need access to it",
    ),
    root: Path | None = Option(
        None,
        parser=path_of_option,
        metavar="<path>",
        help="folder that holds the publisher's files, or to which they are downloaded",
    ),
    recipe: list[str] = Option(
        [], help="also store the encodings that this recipe reads; repeat the option for several"
    ),
    rows: int = Option(8192, min=1, help="number of graphs in each file of the folder"),
    workers: int = Option(1, min=1, help="number of processes on this machine"),
    scheduler: str | None = Option(
        None, help="address of a Dask cluster (tcp://host:8786), or its scheduler file"
    ),
) -> None:
    """Convert a data set of millions of graphs to a folder that training reads piece by piece.

    The graphs then need not fit into memory. If the command is interrupted, the
    same command continues.

    [bold]gtcourse prepare pcqm4mv2 --out graphs --workers 8 --recipe csa-small/pcqm4mv2[/]
    """
    check_dataset(name)
    for each in recipe:
        check_recipe(each)
    if scheduler is not None:
        _refuse(context, ("workers",), "with --scheduler", "one of the two")
    check_place("--out", out / "graphs.json")
    import_torch()
    from gtcourse import load_dataset
    from gtcourse.encodings import AddRings, computed_on_device
    from gtcourse.encodings.prepare import pcqm4mv2, process_pool
    from gtcourse.encodings.prepare import prepare as write
    from gtcourse.graphs.published import data_root
    from gtcourse.recipes import get_recipe

    stored = [AddRings(18)]
    if recipe:
        transforms = [each for one in recipe for each in get_recipe(one).transforms]
        # Each once, although several recipes may read it.
        by_text = {repr(each): each for each in transforms if not computed_on_device(each)}
        stored = [*by_text.values()]
    source = pcqm4mv2(data_root(root)) if name == "pcqm4mv2" else load_dataset(name, root=root)
    with ExitStack() as stack:
        executor = None
        if scheduler is not None:
            executor = stack.enter_context(_dask_client(scheduler)).get_executor()
        elif workers > 1:
            executor = stack.enter_context(process_pool(workers))
        graphs = write(source, out, stored=stored, rows_per_part=rows, executor=executor)
    print(f"{graphs.name}: {graphs.source}")
    print(f"graphs: {graphs.split_sizes}")
    print(f"stored with them: {', '.join(graphs.stored) or 'nothing'}; in {out}")


def _dask_client(scheduler: str) -> Any:
    """A client of a Dask cluster, by the address of its scheduler or its scheduler file."""
    from gtcourse.graphs.io import require

    client = require("distributed", "dask[distributed]").Client
    try:
        is_file = scheduler.endswith(".json")
        address = _scheduler_address(Path(scheduler)) if is_file else scheduler
        return client(address, timeout=DASK_SECONDS)
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise ValueError(
            f"--scheduler is {scheduler!r}, which cannot be reached ({reason}); expected the "
            "address of a Dask scheduler, such as tcp://host:8786, or its scheduler file."
        ) from None


def _scheduler_address(path: Path) -> str:
    """The address in a scheduler file, which a scheduler writes once it has started.

    Dask's own client would wait for the file without an end.
    """
    end = time.monotonic() + DASK_SECONDS
    content = None
    while content is None and time.monotonic() < end:
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):  # not yet written, or only in part
            time.sleep(0.1)
    if content is None and not path.exists():
        raise ValueError(f"there was no such file for {DASK_SECONDS} seconds")
    if not isinstance(content, dict) or not isinstance(content.get("address"), str):
        raise ValueError("the file holds no address")
    return content["address"]


# Sphinx cannot read an f-string among a function's defaults.
TRAINED_OR_A_RUN = f"a trained model: {', '.join(available())}; or the folder of a run of your own"


@app.command(rich_help_panel=MOLECULES)
def predict(
    context: typer.Context,
    model: str = Argument(metavar="MODEL", help=TRAINED_OR_A_RUN),
    molecules: list[str] | None = Argument(
        None,
        help="SMILES, each in quotation marks, because brackets have a meaning in the shell",
    ),
    csv: Path | None = Option(
        None,
        parser=path_of_option,
        metavar="<path>",
        help="a CSV file with a row for each molecule, in place of SMILES; its first line names "
        "the columns, which are separated by commas, semicolons or tabs",
    ),
    smiles: str = Option("smiles", help=SMILES_HELP),
    out: Path | None = Option(
        None,
        parser=path_of_option,
        metavar="<path>",
        help="CSV file to write, with all columns of --csv and the predictions; by default the "
        "predictions are printed",
    ),
    logits: bool = Option(
        False, "--logits", help="print a classifier's raw outputs instead of probabilities"
    ),
    largest_fragment: bool = Option(False, "--largest-fragment", help=LARGEST_FRAGMENT_HELP),
    max_atoms: int | None = Option(None, min=1, help=MAX_ATOMS_HELP),
    ensemble: bool = Option(
        False,
        "--ensemble",
        help="print the mean and the standard deviation (sd) of the predictions of several "
        "runs; MODEL is a folder that holds them, as written with --folds or several --seed "
        "options, or a model that comes with several seeds, such as csa-100k/molecules",
    ),
) -> None:
    """Predict properties of molecules with a trained model.

    The models that come with the package predict penalised logP, which has no
    unit. `gtcourse models` explains it and lists the error of each model;
    csa-rings-bounded/zinc has the smallest. A model of your own predicts in the
    unit of the column that it was trained on, and a classifier gives
    probabilities.

    The column similarity compares a molecule with the most similar training
    molecule. It is 1 if their fingerprints are equal. Below 0.3, expect a
    larger error. If a molecule has no prediction, the column reason says why,
    and the number of such molecules is printed. If no molecule has a
    prediction, the exit status is 1.

    [bold]gtcourse predict csa-rings/zinc CCO "c1ccccc1O"[/]

    [bold]gtcourse predict csa-rings/zinc --csv molecules.csv --out predictions.csv[/]

    [bold]gtcourse predict runs/csa-rings-zinc-on-my-seed0 CCO[/]
    """
    if ensemble:
        _check_ensemble(model)
    else:
        model_path(model)
    if csv is None and not molecules:
        raise ValueError("there is no molecule; expected SMILES or --csv FILE.")
    if csv is not None and molecules:
        raise ValueError("SMILES and --csv are both given; expected one of the two.")
    for text in molecules or ():
        if os.path.isfile(text):
            raise ValueError(f"{text} is a file; expected --csv {text}, or SMILES.")
    if csv is None:
        _refuse(context, ("smiles",), "without --csv", "--csv as well")
    else:
        check_table_exists(csv)
    if out is not None:
        _check_table_to_write(out, csv)
    no_logits = f"--logits has no effect on {model}, which predicts values; expected a classifier."
    if logits and not ensemble and predicts_values(model):
        raise ValueError(no_logits)
    if csv is None:
        rows_of = {line: [text] for line, text in enumerate(molecules or ())}
        read = TextTable([smiles], rows_of, ",")
    else:
        read = read_text_table(csv, smiles)
        _say_separator(csv, read)
    import_torch()
    from gtcourse.graphs.io import replacing
    from gtcourse.graphs.tables import pandas_table
    from gtcourse.predict import SIMILAR, Ensemble, load, load_ensemble

    table = pandas_table(read)
    predictor = load_ensemble(model) if ensemble else load(model)
    # The record did not say so of an ensemble, and of a run whose record cannot be read.
    if logits and (predictor.task is None or predictor.task.kind == "value"):
        raise ValueError(no_logits)
    members = predictor.members if isinstance(predictor, Ensemble) else [predictor]
    for member in members:
        member.largest_fragment |= largest_fragment
    rows = [*table[smiles]]
    found = predictor.predict_rows(rows, logits=logits, max_atoms=max_atoms)
    reasons = [reason for reason in found["reason"] if reason]
    about_pieces = "" if largest_fragment else _about_pieces(rows, found["reason"])
    if len(reasons) == len(table):
        raise ValueError(f"{_no_prediction(reasons)} {about_pieces}")
    unlike = sum(value < SIMILAR for value in found.get("similarity", ()))
    if out is None and not reasons:
        del found["reason"]
    column_of = {}
    for name, values in found.items():
        column_of[name] = _free_name(name, table)
        table[column_of[name]] = values
    if out is None:
        print(table.to_string(index=False, na_rep="", max_colwidth=80))
    else:
        separator = "\t" if out.suffix.lower() == ".tsv" else read.separator
        cells = [read.header, *read.rows.values()]
        has_returns = any("\r" in cell for row in cells for cell in row)
        with replacing(out) as temporary:
            table.to_csv(
                temporary,
                index=False,
                sep=separator,
                float_format="%.6g",
                # A carriage return in a cell is put in quotation marks only if lines end in one.
                lineterminator="\r\n" if has_returns else None,
            )
        num_predicted = len(table) - len(reasons)
        print(f"{num_predicted} {'prediction' if num_predicted == 1 else 'predictions'}: {out}")
    if unlike:
        verb = "is" if unlike == 1 else "are"
        noun = "molecule" if len(table) == 1 else "molecules"
        typer.echo(
            f"{unlike} of {len(table)} {noun} {verb} unlike all training molecules (similarity "
            f"below {SIMILAR}); expect a larger error there.",
            err=True,
        )
    if reasons:
        typer.echo(
            f"{len(reasons)} of {len(table)} rows {'has' if len(reasons) == 1 else 'have'} no "
            f"prediction; see column {column_of['reason']!r}.",
            err=True,
        )
        if about_pieces:
            typer.echo(about_pieces, err=True)


def _check_ensemble(model: str) -> None:
    """Raises a ValueError for a name that cannot be one of an ensemble, without PyTorch."""
    if len(shipped_seeds(model)) == 1:
        several = [name for name in available() if len(shipped_seeds(name)) > 1]
        raise ValueError(
            f"{model} comes with one seed, and --ensemble needs several; expected one of "
            f"{', '.join(several)}, or a folder that holds several finished runs."
        )
    if not shipped_seeds(model) and not os.path.isdir(model):
        model_path(model)  # raises, and names similar models


def _about_pieces(rows: list[str], reasons: list[str]) -> str:
    """A sentence on salts and mixtures without a prediction; empty if there are none."""
    count = sum("." in text for text, reason in zip(rows, reasons, strict=True) if reason)
    if not count:
        return ""
    rows_are = "row without a prediction is a salt or a mixture"
    if count > 1:
        rows_are = "rows without a prediction are salts or mixtures"
    return f"{count} {rows_are}: --largest-fragment keeps only the largest piece."


def _no_prediction(reasons: list[str]) -> str:
    """The message if no row has a prediction."""
    if len(reasons) == 1:
        return f"there is no prediction: {reasons[0]}"
    return f"none of {len(reasons)} rows has a prediction; the reason for the first: {reasons[0]}"


def _free_name(name: str, table: Any) -> str:
    """The name of a new column; a column of an earlier prediction keeps its own."""
    if name not in table:
        return name
    numbered = (f"{name} {number}" for number in count(2))
    return next(each for each in numbered if each not in table)


def _check_table_to_write(out: Path, csv: Path | None) -> None:
    """Raises a ValueError if a table cannot be written there, or would replace the one read."""
    check_place("--out", out)
    if out.suffix.lower() not in TEXT_ENDINGS:
        raise ValueError(
            f"--out is {out}, but the table is written as CSV; expected a name that ends in "
            f"{', '.join(TEXT_ENDINGS)}."
        )
    if csv is not None and out.exists() and csv.exists() and out.samefile(csv):
        raise ValueError(f"--out is {out}, the file of --csv; expected the name of another file.")


def check_place(option: str, path: Path) -> None:
    """Raises a ValueError if no file can be written to this path, which need not exist yet."""
    if path.is_dir():
        raise ValueError(f"{option} is {path}, a folder; expected the name of a file.")
    folder = path.parent
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir():
        raise ValueError(f"{option} is below {folder}, a file; expected a folder to write to.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ValueError(
            f"{option} is below {folder}, which cannot be written to; expected another folder."
        )


def _check_table(
    table: TextTable,
    csv: Path,
    smiles: str,
    targets: list[str],
    task: str,
    split_column: str | None,
    folds: int | None,
) -> None:
    """Raises a ValueError for what ``read_csv`` could not use, before PyTorch is imported."""
    check_target_names(smiles, targets)
    check_targets(table, csv, targets, task)
    if split_column is not None:
        check_split(table, csv, split_column)
    if folds is not None and folds > len(table):
        raise ValueError(
            f"--folds is {folds}, but {csv} has {len(table)} rows; expected at most {len(table)}."
        )


def _printed_score(paper_result: Mapping[str, Any]) -> str:
    """The last of a recipe's printed results, for the list of all recipes."""
    if not paper_result:
        return "no result printed"
    metric, value = [*paper_result.items()][-1]
    return f"{metric} {value[0]:g}" if isinstance(value, tuple) else f"{metric}, by size"


def _say_estimate(recipe: Recipe, data: GraphDataset, accumulate: int, buckets: int) -> None:
    """Prints the time and memory of a run before it starts, in one line."""
    from gtcourse.runs.estimate import estimate, memory_of_machine
    from gtcourse.runs.run import check_data

    check_data(recipe, data)
    found = estimate(recipe, data, accumulate, buckets)
    if found is None:
        return
    print(f"{found.sentence()}.", flush=True)
    available = memory_of_machine()
    if found.memory is not None and available is not None and found.memory > 0.8 * available:
        print(
            f"This machine has {available / 2**30:.1f} GiB. A smaller --batch-size needs less "
            "memory, and --max-atoms leaves out large molecules of --csv.",
            flush=True,
        )


def _say_overview(recipe: Recipe, data: GraphDataset) -> dict[str, list[float]]:
    """Prints a summary of own molecules and the scores of simple predictors; returns the scores."""
    from gtcourse.runs import overview

    names = recipe.changed["own_data"]["targets"]
    print("\n".join(overview.overview(data, recipe.task, names, recipe.build_model())))
    simple = overview.baselines(data, recipe.task)
    print("\n".join(overview.table(simple, recipe.task.monitor, names)), flush=True)
    if len(simple) == 1:
        print("`pip install scikit-learn` adds ridge regression and boosted trees.", flush=True)
    return simple


def _say_result(
    recipe: Recipe, result: Mapping[str, float], simple: Mapping[str, list[float]]
) -> None:
    """Prints the result of a run beside the paper's numbers, and those of simple predictors."""
    from gtcourse.runs import overview
    from gtcourse.runs import record as records

    paper = {metric: score[0] for metric, score in records.printed(recipe)}
    for metric, value in result.items():
        line = f"{metric:>16} {value:.5g}"
        if metric in paper:
            line += f"   (the paper's run on {recipe.dataset}: {paper[metric]:g})"
        print(line)
    if not simple:
        return
    metric = recipe.task.monitor
    names = recipe.changed["own_data"]["targets"]
    # With several targets the score of each follows that of all.
    keys = [f"test_{metric}", *(f"test_{metric} {name}" for name in names)]
    scores = [result.get(key, math.nan) for key in keys]
    together = {**simple, recipe.name: scores[: len(simple["constant"])]}
    print("\n".join(overview.table(together, metric, names)))


def _say_separator(csv: Path, table: TextTable) -> None:
    """Says on stderr how a file was read, if its columns are not separated by commas."""
    if table.separator != ",":
        name = {";": "semicolons", "\t": "tabs"}[table.separator]
        typer.echo(f"{csv}: the columns are separated by {name}.", err=True)


def _refuse(context: typer.Context, names: Sequence[str], when: str, expected: str) -> None:
    """Raises a ValueError if one of these options was typed, where it has no effect."""
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = "--" + name.replace("_", "-")
            raise ValueError(f"{option} has no effect {when}; expected {expected}.")


def import_torch() -> None:
    """Imports PyTorch and PyG, as fast and as quietly as they can be.

    The garbage collector would search their modules again and again during the import, and once
    more at the end of the process, for more than a third of a prediction's time. The modules are
    needed until the end, so they are frozen.
    """
    if "torch_geometric" in sys.modules:
        return
    gc.disable()
    with warnings.catch_warnings():
        # PyG calls what PyTorch 2.15 is about to drop.
        warnings.filterwarnings("ignore", "`torch.jit.script` is deprecated", FutureWarning)
        import torch_geometric  # noqa: F401
    gc.freeze()
    gc.enable()
    if "triton" in sys.modules:  # PyTorch for GPUs has it, and it would report what is frozen
        atexit.register(gc.unfreeze)


def _own_molecules(
    recipe: Recipe,
    csv: Path,
    table: TextTable,
    smiles: str,
    targets: list[str],
    task: str,
    start: str | None,
    *,
    split: str,
    fold: tuple[int, int] | None,
    largest_fragment: bool,
    max_atoms: int | None,
) -> tuple[Recipe, GraphDataset]:
    """The recipe and the data set of a CSV file; prints which rows were left out."""
    from gtcourse.graphs.tables import read_csv
    from gtcourse.predict import features_of, fine_tuned, vocabularies_of
    from gtcourse.recipes.adapt import own_recipe

    features = "any" if start is None else features_of(start)
    names = targets
    if task == "classes":
        names = [f"{targets[0]} = {name}" for name in class_names(table, csv, targets[0])]
    recipe = own_recipe(
        recipe,
        task,
        names,
        features,
        largest_fragment=largest_fragment,
        vocabularies=None if start is None else vocabularies_of(start),
    )
    if start is not None:
        recipe = fine_tuned(recipe, start)
    data, skipped = read_csv(
        csv,
        smiles,
        targets,
        task,
        split,
        features=features,
        largest_fragment=largest_fragment,
        max_atoms=max_atoms,
        fold=fold,
        table=table,
    )
    for line in skipped[:5]:
        print(f"left out: {line}")
    if len(skipped) > 5:
        print(f"left out: {len(skipped) - 5} more rows")
    return recipe, data


def _command(words: Sequence[str] | None = None) -> str:
    """The command line that repeats the run with these words; by default the current run."""
    words = sys.argv[1:] if words is None else words
    text = shlex.join(word for word in words if word not in ("--resume", "--auto-resume"))
    if "TORCHELASTIC_RUN_ID" not in os.environ:
        return f"gtcourse {text}"
    machines = os.environ["GROUP_WORLD_SIZE"]
    processes = os.environ["LOCAL_WORLD_SIZE"]
    return f"torchrun --nnodes {machines} --nproc_per_node {processes} -m gtcourse {text}"


def _run_each(seeds: list[int], folds: Sequence[int | None], jobs: int, out: Path) -> int:
    """Runs the same command in a process for each seed and fold, ``jobs`` at the same time.

    Prints the means of their results. Returns the exit status: 1 if one of them failed.
    """
    words = [word for word in sys.argv[1:] if not word.startswith(("--seed=", "--jobs="))]
    # When several runs are continued, some may be finished and others not begun.
    words = ["--auto-resume" if word == "--resume" else word for word in words]
    for option in ("--seed", "--jobs"):
        while option in words:
            place = words.index(option)
            del words[place : place + 2]
    processes: list[subprocess.Popen[bytes]] = []
    commands = []
    try:
        for seed, fold in product(seeds, folds):
            while sum(process.poll() is None for process in processes) == jobs:
                time.sleep(0.1)
            one = [*words, "--seed", str(seed)]
            if fold is not None and len(folds) > 1:
                one += ["--fold", str(fold)]
            processes.append(subprocess.Popen([sys.executable, "-m", "gtcourse", *one]))
            commands.append(_command(one))
        codes = [process.wait() for process in processes]
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()
    if any(codes):
        return 1
    _print_means(commands, out)
    return 0


def _print_means(commands: list[str], out: Path) -> None:
    """Prints mean and standard deviation of each result over the runs of these commands."""
    from gtcourse.runs.record import read_results

    records = [record for record in read_results([out]) if record.command in commands]
    if len(records) < 2:
        return
    print(f"mean ± standard deviation of {len(records)} runs:")
    for metric in records[0].result:
        values = [record.result[metric] for record in records if metric in record.result]
        if metric.partition("_")[0] in ("test", "val", "train") and len(values) > 1:
            missing = f" ({len(values)} runs)" if len(values) < len(records) else ""
            print(f"{metric:>16} {mean(values):.5g} ± {stdev(values):.2g}{missing}")
    _print_baselines(commands, out)


def _print_baselines(commands: list[str], out: Path) -> None:
    """Prints the means of simple predictors over the runs of these commands on own molecules."""
    from gtcourse.runs.record import read_results

    scores = defaultdict(list)
    metric = ""
    for path in sorted(out.rglob(BASELINES)):
        if any(record.command in commands for record in read_results([path.parent])):
            found = json.loads(path.read_text(encoding="utf-8"))
            metric = found["metric"]
            for name, values in found["scores"].items():
                scores[name].append(values[0])  # of all targets together
    if not scores:
        return
    print(f"test {metric} of simple predictors in the same runs:")
    width = max(map(len, scores))
    for name, values in scores.items():
        known = [value for value in values if value is not None]
        if len(known) > 1:
            print(f"{name:>{width}} {mean(known):.5g} ± {stdev(known):.2g}")


class Stopped(BaseException):
    """A signal ended the command; ``except Exception`` does not catch it."""


def _stop(number: int, frame: FrameType | None) -> None:
    """Ends the command with an exception, so that files are closed and processes end."""
    signal.signal(number, signal.SIG_DFL)  # a second signal ends the process at once
    raise Stopped(number)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Prints a warning as one sentence on stderr, without the line of code that it comes from."""
    typer.secho(f"gtcourse: {message}", fg="yellow", err=True)


def _how_to_continue() -> str:
    """How the work of a command that was stopped goes on; empty if it begins again anyway."""
    if sys.argv[1:2] == ["train"]:
        return "Run the same command with --auto-resume to continue."
    if sys.argv[1:2] == ["prepare"]:
        return "Run the same command to continue."
    return ""


def main() -> None:
    """Runs the command line.

    An error is printed as one sentence, without a traceback, and the exit status is 1. After a
    signal the exit status is 128 plus the number of the signal.
    """
    warnings.filterwarnings("ignore", category=FutureWarning)  # of other libraries, to developers
    warnings.showwarning = _show_warning
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal may lack a character, such as ⁹
            stream.reconfigure(errors="replace")
    for number in (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup wants it
            signal.signal(number, _stop)
    try:
        app()
    except Stopped as stop:
        number = stop.args[0]
        status = 128 + number
        message = f"\nstopped by {signal.Signals(number).name}. {_how_to_continue()}"
    except (ValueError, KeyError, RuntimeError, OSError, ImportError) as error:
        message = sentence(error)
        status = 1
        how = _how_to_continue()
        if how and is_of_full_disk(error):
            message += f" What was saved before is kept. {how}"
    else:
        return
    typer.secho(f"gtcourse: {message.strip()}", fg="red", err=True)
    raise SystemExit(status)
