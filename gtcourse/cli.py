"""``gtcourse recipes | train | results | data | prepare | predict | explore | bench | costs``.

The work is elsewhere in the package and imported where it is used, so that ``--help`` does not wait
for PyTorch and PyG.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console
from rich.markup import escape
from typer import Argument, Option

from gtcourse import __version__
from gtcourse.cli_data import console, data, prepare, table_of

app = typer.Typer(
    help="Graph Transformers, from each paper's recipe to a recorded result.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(data)
app.command()(prepare)

# Arguments and options of several commands.
RECIPE = Argument(metavar="RECIPE", help="for instance csa-rings/zinc")
DATA = Option(
    "embedded",
    help="[bold]embedded[/] (no network), [bold]real[/] (downloaded), a data set's name such "
    "as molecules, or the path of an .npz graph file or of a prepared folder.",
)
PRECISION = Option("32-true", help="32-true or bf16-mixed")
COMPILE = Option(False, "--compile", help="torch.compile, with CUDA graphs for each bucket")
BUCKETS = Option(1, help="parts of the data by size of graph")
DATASET = Option(None, help="only recipes for this data set")
SMILES = Option("smiles", help="the column of --csv with SMILES")


def _print_version(requested: bool) -> None:
    if requested:
        console.print(f"gtcourse {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = Option(
        False, "--version", callback=_print_version, is_eager=True, help="print it"
    ),
) -> None:
    """Options before a command."""


@app.command()
def recipes(
    name: str | None = Argument(None, help="describe this one"), dataset: str | None = DATASET
) -> None:
    """List the published configurations of the course, or describe one of them."""
    from gtcourse.recipes import RECIPES, get_recipe
    from gtcourse.training.records import printed

    if name is not None:
        import torch

        recipe = get_recipe(name)
        about = {n: getattr(recipe, n) for n in ("paper_parameters", "paper_result")}
        with torch.device("meta"):  # counted without memory
            about["parameters"] = sum(p.numel() for p in recipe.build_model().parameters())
        for key, value in (recipe.config() | about).items():
            console.print(f"[bold]{key}[/]: {escape(str(value))}")
        return
    _check_dataset(dataset)
    for recipe in RECIPES.values():
        if dataset in (None, recipe.dataset):
            scores = [f"{metric} {value:g}" for metric, (value, _) in printed(recipe)[-1:]]
            scores = scores or [f"{metric}, by size" for metric in recipe.paper_result]
            console.print(f"{recipe.name:35} {scores[0]}")
    console.print("`gtcourse recipes NAME` describes one.")


@app.command()
def train(
    recipe: str = RECIPE,
    data: str = DATA,
    budget: str = Option(
        "paper", help="paper (the whole recipe), short (1 % of it) or smoke (a check)"
    ),
    epochs: int | None = Option(None, help="in place of the budget's"),
    batch_size: int | None = Option(None, help="in place of the recipe's"),
    learning_rate: float | None = Option(None, help="peak, likewise"),
    cosine: bool = Option(False, "--cosine", help="decay the rate to 0"),
    graphs: int | None = Option(None, help="train on the first so many"),
    seed: list[int] = Option([0], help="repeat it for several runs"),
    jobs: int = Option(1, min=1, help="runs at once, where there are several seeds"),
    out: Path = Option(Path("runs"), help="each run gets a folder in it"),
    resume: bool = Option(False, "--resume", help="continue a run that stopped"),
    auto_resume: bool = Option(
        False, "--auto-resume", help="continue the run if there is one, else begin it"
    ),
    checkpoint_every: int | None = Option(
        None, help="steps, within an epoch; there is one after each epoch"
    ),
    devices: int = Option(1, help="processes on this machine (DDP)"),
    precision: str = PRECISION,
    compile: bool = COMPILE,
    buckets: int = BUCKETS,
    csv: Path | None = Option(None, help="your own molecules, in place of --data"),
    smiles: str = SMILES,
    target: list[str] = Option([], help="a column of --csv to predict; repeat it for several"),
    task: str = Option("regression", help="of --csv: regression or binary"),
    split: str | None = Option(
        None, help="a column of --csv with train, val, test; else by scaffold"
    ),
    start: str | None = Option(None, help="fine-tune this trained model, for instance csa/zinc"),
) -> None:
    """Train with a recipe; write logs, checkpoint, weights and a record.

    [bold]gtcourse train csa-rings/zinc --data molecules --budget smoke[/]

    [bold]gtcourse train csa-rings/zinc --csv my.csv --target activity --task binary[/]
    """
    if resume and auto_resume:
        raise ValueError("--resume and --auto-resume exclude each other; expected one of the two.")
    if len(seed) > 1:
        raise typer.Exit(_run_each_seed([*dict.fromkeys(seed)], jobs))
    from gtcourse.recipes import get_recipe
    from gtcourse.training import run
    from gtcourse.training.records import printed

    if budget not in run.BUDGETS:
        raise ValueError(f"budget is {budget!r}; expected one of {', '.join(run.BUDGETS)}.")
    chosen = get_recipe(recipe)
    if csv is None:
        dataset = run.data_for(chosen, data)
    else:
        chosen, dataset = _own_molecules(chosen, csv, smiles, target, task, split, start)
    chosen, dataset = run.at_budget(
        chosen, dataset, run.BUDGETS[budget], epochs, batch_size, graphs, learning_rate, cosine
    )
    name = run.run_name(chosen, dataset)
    folder = out / f"{name.replace('/', '-')}-seed{seed[0]}"
    if first := run.is_first_process():
        where = escape(f"on {dataset.source}: {folder}")
        console.print(f"[bold]{name}[/], seed {seed[0]}, {where}", soft_wrap=True)
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
        compile="reduce-overhead" if compile else False,
        buckets=buckets,
        tensorboard=True,
    )
    if first:
        scores = dict(printed(chosen))
        for metric, value in record.result.items():
            score = scores.get(metric, [None])[0]
            paper = "" if score is None else f"   (the paper's run on {chosen.dataset}: {score:g})"
            console.print(f"{metric:>16} {value:.5g}{paper}")
        where = escape(str(folder / record.filename))
        console.print(f"{record.seconds:.0f} s; the record: {where}", soft_wrap=True)


@app.command()
def results(
    folders: list[Path] = Argument(help="of records; searched recursively"),
    dataset: str | None = DATASET,
    all: bool = Option(False, "--all", help="also recipes that were not run"),
) -> None:
    """Show recorded runs beside the papers' numbers."""
    from gtcourse.training import records as recorded

    for folder in folders:
        if not folder.is_dir():
            raise ValueError(f"{folder} is no folder; expected one with the records of runs.")
    _check_dataset(dataset)
    records = recorded.read_results(folders)
    if not records and not all:
        raise ValueError(
            f"there is no record of a run in {', '.join(map(str, folders))}; expected the --out of "
            "`gtcourse train`."
        )
    for result in recorded.results(records, dataset):
        if result.records or all:
            name, metric, paper, ours, gap, *about = recorded.row(result)
            console.print(f"[bold]{name}[/]  {escape(', '.join(filter(None, about)))}")
            paper, gap = f"; paper {paper}" if paper else "", f", gap {gap}" if gap else ""
            console.print(f"    {metric} {ours}{paper}{gap}")


@app.command()
def predict(
    model: str = Argument(metavar="MODEL", help="for instance csa/zinc, or the folder of a run"),
    molecules: list[str] | None = Argument(None, help="SMILES"),
    csv: Path | None = Option(None, help="a file with molecules"),
    smiles: str = SMILES,
    out: Path | None = Option(None, help="a CSV file for the predictions"),
) -> None:
    """Predict with a trained model.

    [bold]gtcourse predict csa/zinc CCO "c1ccccc1O"[/]
    """
    if (csv is None) == (not molecules):
        raise ValueError("expected SMILES or --csv FILE, one of the two.")
    if csv is not None and out is None:
        raise ValueError("--csv needs a file for the predictions; expected --out FILE.")
    import pandas as pd

    from gtcourse.graphs.files import replacing
    from gtcourse.inference import load

    if csv is None:
        table, smiles = pd.DataFrame({"smiles": molecules}), "smiles"
    else:
        table = pd.read_csv(csv)
        if smiles not in table:
            columns = ", ".join(table.columns)
            raise ValueError(f"{csv} has no column {smiles!r}; expected one of {columns}.")
    predictions = load(model).predict_rows(table[smiles])
    table = table.join(pd.DataFrame(predictions, index=table.index))
    failed = int((table["reason"] != "").sum())
    if out is not None:
        with replacing(out) as temporary:
            table.to_csv(temporary, index=False)
        console.print(f"{len(table) - failed} predictions: {out}", soft_wrap=True)
    else:
        shown = table if failed else table.drop(columns="reason")
        console.print(shown.to_string(index=False), markup=False, soft_wrap=True)
    if failed:
        console.print(f"{failed} of {len(table)} rows could not be read; see column 'reason'.")


@app.command()
def explore(
    models: str = Argument(metavar="MODEL[,MODEL...]", help="trained models"),
    molecules: list[str] = Argument(help="SMILES"),
    out: Path = Option(Path("explore.html"), help="the page to write"),
) -> None:
    """Write a page with the attention of trained models on molecules.

    [bold]gtcourse explore csa/zinc "CC(=O)Oc1ccccc1C(=O)O" --out aspirin.html[/]
    """
    from gtcourse.explore import page
    from gtcourse.graphs.files import replacing

    content = page(models.split(","), molecules)
    with replacing(out) as temporary:
        temporary.write_text(content)
    console.print(f"the page: {out}", soft_wrap=True)


@app.command()
def bench(
    recipe: str = RECIPE,
    data: str = DATA,
    steps: int = Option(20, help="that are timed, after as many that are not"),
    precision: str = PRECISION,
    compile: bool = COMPILE,
    buckets: int = BUCKETS,
) -> None:
    """Measure a recipe's training step here, and estimate the time of the whole recipe."""
    from gtcourse.recipes import get_recipe
    from gtcourse.training.costs import measure
    from gtcourse.training.run import data_for

    chosen, mode = get_recipe(recipe), "reduce-overhead" if compile else False
    graphs = data_for(chosen, data)
    measured = measure(
        chosen, graphs, steps=steps, precision=precision, compile=mode, buckets=buckets
    )
    for name, value in measured.items():
        console.print(f"{name:>20} {value}")


@app.command()
def costs(
    recipe: str = RECIPE,
    data: str = DATA,
    nodes: list[int] = Option([16, 64, 256, 1024], min=1, help="repeat it for several sizes"),
    batch_size: int | None = Option(None, min=1, help="not the recipe's"),
) -> None:
    """Count the memory and operations of a training step for several graph sizes, without data."""
    from gtcourse.recipes import get_recipe
    from gtcourse.training.costs import against_nodes
    from gtcourse.training.run import data_for, first, loaders

    chosen = get_recipe(recipe)
    graphs = batch_size or chosen.batch_size
    few = first(data_for(chosen, data), 1)
    sample = next(iter(loaders(chosen, few, seed=0, buckets=1, few_shapes=False)[0]))
    try:
        counted = against_nodes(chosen.build_model(), chosen.task, sample, nodes, graphs)
    except NotImplementedError:
        raise ValueError(
            f"{recipe} works on lists of edges or of paths, of which the numbers of nodes and "
            "graphs say nothing; expected a model that works on all pairs alone."
        ) from None
    console.print(f"[bold]{recipe}[/], batches of {graphs} graphs, float32")
    parts = ("parameters", "gradients", "optimizer")
    sizes = ", ".join(f"{name} {getattr(counted[0], name) / 2**20:,.1f}" for name in parts)
    console.print(f"MiB for any graphs: {sizes}")
    table = table_of("nodes", "activations, MiB", "all, MiB", "GFLOP", "operations")
    for number, step in zip(nodes, counted, strict=True):
        sizes = (f"{size / 2**20:,.0f}" for size in (step.activations, step.memory))
        table.add_row(f"{number:,}", *sizes, f"{step.flops / 1e9:,.1f}", f"{step.operations:,}")
    console.print(table)


def _own_molecules(recipe, csv: Path, smiles: str, targets: list[str], task: str, split, start):
    """The recipe and data set of a CSV file; prints which rows were skipped."""
    from gtcourse.inference import fine_tuned
    from gtcourse.training.own import own_recipe, read_csv

    if not targets:
        raise ValueError("--csv needs a column to predict; expected --target NAME.")
    features = "any" if start is None else "zinc"
    recipe = own_recipe(recipe, task, targets, features)
    if start is not None:
        recipe = fine_tuned(recipe, start)
    data, skipped = read_csv(csv, smiles, targets, task, split, features=features)
    more = [f"{len(skipped) - 5} more rows"] if len(skipped) > 5 else []
    for line in skipped[:5] + more:
        console.print(f"left out: {line}", markup=False)
    return recipe, data


def _check_dataset(name: str | None) -> None:
    from gtcourse.recipes import RECIPES

    known = sorted({recipe.dataset for recipe in RECIPES.values()})
    if name is not None and name not in known:
        raise ValueError(f"no recipe is for {name!r}; expected one of {', '.join(known)}.")


def _command() -> str:
    """What to type to repeat this run."""
    words = [word for word in sys.argv[1:] if word not in ("--resume", "--auto-resume")]
    if "TORCHELASTIC_RUN_ID" not in os.environ:
        return "gtcourse " + shlex.join(words)
    machines, each = os.environ["GROUP_WORLD_SIZE"], os.environ["LOCAL_WORLD_SIZE"]
    start = f"torchrun --nnodes {machines} --nproc_per_node {each} -m gtcourse "
    return start + shlex.join(words)


def _run_each_seed(seeds: list[int], jobs: int) -> int:
    """The same command in a process for each seed, ``jobs`` at once; 1 if one of them failed."""
    words = [word for word in sys.argv[1:] if not word.startswith("--seed=")]
    # Some of several runs may be finished and others not begun when they are continued.
    words = ["--auto-resume" if word == "--resume" else word for word in words]
    while "--seed" in words:
        place = words.index("--seed")
        del words[place : place + 2]
    processes, codes = [], []
    try:
        for seed in seeds:
            if len(processes) - len(codes) >= jobs:
                codes.append(processes[len(codes)].wait())
            command = [sys.executable, "-m", "gtcourse", *words, "--seed", str(seed)]
            # In a group of its own, so that Ctrl-C reaches it once: from here.
            processes.append(subprocess.Popen(command, process_group=0))
        codes += [process.wait() for process in processes[len(codes) :]]
    except Stopped as stop:
        for process in processes:
            process.send_signal(stop.number)
        for process in processes:
            process.wait()
        raise
    return int(any(codes))


class Stopped(BaseException):
    """A signal ended the command; no ``except Exception`` catches it."""

    def __init__(self, number: int):
        super().__init__(number)
        self.number = number

    def __str__(self) -> str:
        resumed = {"--resume", "--auto-resume"} & {*sys.argv} or "train" not in sys.argv[1:2]
        sentence = f"stopped by {signal.Signals(self.number).name}."
        if sys.argv[1:2] in (["train"], ["prepare"]):
            sentence += f" The same command{'' if resumed else ' with --auto-resume'} continues."
        return sentence


@contextmanager
def stoppable() -> Iterator[None]:
    """Ctrl-C, SIGTERM and a closed terminal raise :class:`Stopped`, so that locks are released.

    A second signal ends the process at once.
    """
    numbers = [n for n in signal.Signals if n.name in ("SIGINT", "SIGTERM", "SIGHUP")]
    before = {n: signal.getsignal(n) for n in numbers}
    before = {n: handler for n, handler in before.items() if handler != signal.SIG_IGN}  # nohup

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def stop(number: int, frame) -> None:
        restore()
        raise Stopped(number)

    for number in before:
        signal.signal(number, stop)
    try:
        yield
    finally:
        restore()


def main() -> None:
    """Errors are one sentence without a traceback; a signal's exit status is 128 and its number."""
    try:
        with stoppable():
            app()
    except Stopped as stop:
        message, status = f"\n[bold red]gtcourse:[/] {escape(str(stop))}", 128 + stop.number
    except (ValueError, KeyError, RuntimeError, OSError, ImportError) as error:
        reason = error.args[0] if isinstance(error, KeyError) else error  # str would quote it
        message, status = f"[bold red]gtcourse:[/] {escape(str(reason))}", 1
    else:
        return
    Console(stderr=True).print(message, highlight=False, soft_wrap=True)
    raise SystemExit(status)


if __name__ == "__main__":
    main()
