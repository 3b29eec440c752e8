"""``gtcourse recipes | train | results | data | prepare | bench | costs``, from a terminal.

The work is elsewhere in the package and imported when it is needed, so that ``--help`` waits for
neither PyTorch nor PyG.
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
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from gtcourse import __version__
from gtcourse.cli_data import console, data, prepare, table_of
from gtcourse.cli_predict import explore, predict

app = typer.Typer(
    help="Graph Transformers, from each paper's recipe to a recorded result.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(data)
app.command()(predict)
app.command()(explore)
app.command()(prepare)


def _say_version(wanted: bool) -> None:
    if wanted:
        console.print(f"gtcourse {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def every_command(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="say which")
    ] = False,
) -> None:
    """What stands before a command."""


RecipeName = Annotated[str, typer.Argument(metavar="RECIPE", help="for instance csa-rings/zinc")]
DataOption = Annotated[
    str,
    typer.Option(
        help="[bold]embedded[/] (no network), [bold]real[/] (downloaded), a data set's name such "
        "as molecules, or the path of an .npz graph file or of a prepared folder."
    ),
]


@app.command()
def recipes(
    name: Annotated[str | None, typer.Argument(help="describe this one")] = None,
    dataset: Annotated[str | None, typer.Option(help="only those for this data set")] = None,
) -> None:
    """List the published configurations that the course has, or describe one of them."""
    from gtcourse.recipes import RECIPES, get_recipe
    from gtcourse.training.results import printed

    if name is not None:
        import torch

        recipe = get_recipe(name)
        paper = {n: getattr(recipe, n) for n in ("paper_parameters", "paper_result")}
        with torch.device("meta"):  # counted without memory
            paper["parameters"] = sum(p.numel() for p in recipe.build_model().parameters())
        for key, value in (recipe.config() | paper).items():
            console.print(f"[bold]{key}[/]: {escape(str(value))}", highlight=False)
        return
    _check_dataset(dataset)
    for recipe in RECIPES.values():
        if dataset in (None, recipe.dataset):
            scores = [f"{metric} {value:g}" for metric, (value, _) in printed(recipe)[-1:]]
            scores = scores or [f"{metric}, by size" for metric in recipe.paper_result]
            console.print(f"{recipe.name:35} {scores[0]}", highlight=False)
    console.print("`gtcourse recipes NAME` describes one.", highlight=False)


@app.command()
def train(
    recipe: RecipeName,
    data: DataOption = "embedded",
    budget: Annotated[
        str, typer.Option(help="paper (the whole recipe), short (1 % of it) or smoke (a check)")
    ] = "paper",
    epochs: Annotated[int | None, typer.Option(help="in place of the budget's")] = None,
    batch_size: Annotated[int | None, typer.Option(help="in place of the recipe's")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="its peak, likewise")] = None,
    cosine: Annotated[bool, typer.Option("--cosine", help="rate decays to 0")] = False,
    graphs: Annotated[int | None, typer.Option(help="train on the first so many")] = None,
    seed: Annotated[list[int], typer.Option(help="give it again for several runs")] = [0],  # noqa: B006
    jobs: Annotated[int, typer.Option(help="runs at once, where there are several seeds")] = 1,
    out: Annotated[Path, typer.Option(help="a folder for each run is made in it")] = Path("runs"),
    resume: Annotated[bool, typer.Option("--resume", help="continue a run that stopped")] = False,
    auto_resume: Annotated[
        bool, typer.Option("--auto-resume", help="continue the run if there is one, else begin it")
    ] = False,
    checkpoint_every: Annotated[
        int | None, typer.Option(help="steps, in the middle of an epoch; one is kept after each")
    ] = None,
    devices: Annotated[int, typer.Option(help="processes on this machine (DDP)")] = 1,
    precision: Annotated[str, typer.Option(help="32-true or bf16-mixed")] = "32-true",
    compile: Annotated[
        bool, typer.Option("--compile", help="torch.compile, with CUDA graphs for each bucket")
    ] = False,
    buckets: Annotated[int, typer.Option(help="parts of the data by size of graph")] = 1,
    csv: Annotated[Path | None, typer.Option(help="your own molecules, in place of --data")] = None,
    smiles: Annotated[str, typer.Option(help="the column of --csv with SMILES")] = "smiles",
    target: Annotated[
        list[str], typer.Option(help="a column of --csv to predict; give it again for several")
    ] = [],  # noqa: B006
    task: Annotated[str, typer.Option(help="of --csv: regression or binary")] = "regression",
    split: Annotated[
        str | None, typer.Option(help="a column of --csv with train, val, test; else by scaffold")
    ] = None,
    start: Annotated[
        str | None, typer.Option(help="fine-tune this trained model, for instance csa/zinc")
    ] = None,
) -> None:
    """Train with a recipe; write logs, checkpoint, weights and a record.

    [bold]gtcourse train csa-rings/zinc --data molecules --budget smoke[/]

    [bold]gtcourse train csa-rings/zinc --csv my.csv --target activity --task binary[/]
    """
    _check_options(seed, jobs, resume, auto_resume)
    if len(seed) > 1:
        raise typer.Exit(_one_process_for_each(seed, jobs))
    from gtcourse.recipes import get_recipe
    from gtcourse.training import run
    from gtcourse.training.results import printed
    from gtcourse.training.run import data_for

    if budget not in run.BUDGETS:
        raise ValueError(f"budget is {budget!r}; expected one of {', '.join(run.BUDGETS)}.")
    if csv is None:
        wanted, whole = get_recipe(recipe), data_for(get_recipe(recipe), data)
    else:
        wanted, whole = _own(get_recipe(recipe), csv, smiles, target, task, split, start)
    budgeted = run.BUDGETS[budget]
    changes = (epochs, batch_size, graphs, learning_rate, cosine)
    chosen, used = run.at_budget(wanted, whole, budgeted, *changes)
    name = run.run_name(chosen, used)
    folder = out / f"{name.replace('/', '-')}-seed{seed[0]}"
    first = run.is_first_process()
    if first:
        on = escape(f"on {used.source}: {folder}")
        console.print(f"[bold]{name}[/], seed {seed[0]}, {on}", soft_wrap=True)
    record = run.train(
        chosen,
        used,
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
            paper = ""
            if metric in scores:
                paper = f"   (the paper's run on {chosen.dataset}: {scores[metric][0]:g})"
            console.print(f"{metric:>16} {value:.5g}{paper}", highlight=False)
        where = escape(str(folder / record.filename))
        console.print(f"{record.seconds:.0f} s; the record: {where}", soft_wrap=True)


@app.command()
def results(
    folders: Annotated[list[Path], typer.Argument(help="of records; searched to the bottom")],
    dataset: Annotated[str | None, typer.Option(help="only recipes for this data set")] = None,
    all: Annotated[bool, typer.Option("--all", help="also recipes that were not run")] = False,
) -> None:
    """Show recorded runs beside the papers' numbers."""
    from gtcourse.training import results as recorded

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
            name, metric, paper, ours, gap, budget, data = recorded.row(result)
            about = ", ".join(filter(None, (budget, data)))
            console.print(f"[bold]{name}[/]  {escape(about)}", highlight=False)
            paper = f"; paper {paper}" if paper else ""
            gap = f", gap {gap}" if gap else ""
            console.print(f"    {metric} {ours}{paper}{gap}", highlight=False)


@app.command()
def bench(
    recipe: RecipeName,
    data: DataOption = "embedded",
    steps: Annotated[int, typer.Option(help="that are timed, after as many that are not")] = 20,
    precision: Annotated[str, typer.Option(help="32-true or bf16-mixed")] = "32-true",
    compile: Annotated[
        bool, typer.Option("--compile", help="torch.compile, with CUDA graphs for each bucket")
    ] = False,
    buckets: Annotated[int, typer.Option(help="parts of the data by size of graph")] = 1,
) -> None:
    """Measure a recipe's training step here, and how long the whole recipe would take."""
    from gtcourse.recipes import get_recipe
    from gtcourse.training.costs import measure
    from gtcourse.training.run import data_for

    chosen = get_recipe(recipe)
    graphs = data_for(chosen, data)
    mode = "reduce-overhead" if compile else False
    measured = measure(
        chosen, graphs, steps=steps, precision=precision, compile=mode, buckets=buckets
    )
    for name, value in measured.items():
        console.print(f"{name:>20} {value}", highlight=False)


@app.command()
def costs(
    recipe: RecipeName,
    data: DataOption = "embedded",
    nodes: Annotated[
        list[int], typer.Option(help="of a graph; give it again for several sizes")
    ] = [16, 64, 256, 1024],  # noqa: B006
    batch_size: Annotated[int | None, typer.Option(help="in place of the recipe's")] = None,
) -> None:
    """Count what a training step holds and computes for graphs of some sizes; none is made."""
    from gtcourse.graphs.arguments import at_least
    from gtcourse.recipes import get_recipe
    from gtcourse.training.costs import against_nodes
    from gtcourse.training.run import data_for, first, loaders

    chosen = get_recipe(recipe)
    for number in nodes:
        at_least(1, nodes=number)
    if batch_size is not None:
        at_least(1, batch_size=batch_size)
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
    console.print(f"[bold]{recipe}[/], batches of {graphs} graphs, float32", highlight=False)
    parts = ("parameters", "gradients", "optimizer")
    sizes = ", ".join(f"{name} {getattr(counted[0], name) / 2**20:,.1f}" for name in parts)
    console.print(f"MiB whatever the graphs: {sizes}", highlight=False)
    table = table_of("nodes", "activations, MiB", "all, MiB", "GFLOP", "operations")
    for number, step in zip(nodes, counted, strict=True):
        sizes = (f"{size / 2**20:,.0f}" for size in (step.activations, step.memory))
        table.add_row(f"{number:,}", *sizes, f"{step.flops / 1e9:,.1f}", f"{step.operations:,}")
    console.print(table)


def _own(recipe, csv: Path, smiles: str, targets: list[str], task: str, split, start):
    """The recipe and data set of a CSV file; what was left out is printed."""
    from gtcourse.training.own import own_recipe, read_csv

    if not targets:
        raise ValueError("--csv needs a column to predict; expected --target NAME.")
    features = "any" if start is None else "zinc"
    wanted = own_recipe(recipe, task, targets, features)
    if start is not None:
        from gtcourse.inference import fine_tuned

        wanted = fine_tuned(wanted, start)
    data, skipped = read_csv(csv, smiles, targets, task, split, features=features)
    for line in skipped[:5]:
        console.print(f"left out: {line}", highlight=False, markup=False)
    if len(skipped) > 5:
        console.print(f"left out: {len(skipped) - 5} more rows", highlight=False)
    return wanted, data


def _check_options(seeds: list[int], jobs: int, resume: bool, auto_resume: bool) -> None:
    from gtcourse.graphs.arguments import a_seed, at_least

    for seed in seeds:
        a_seed(seed=seed)
    at_least(1, jobs=jobs)
    if len({*seeds}) < len(seeds):
        raise ValueError(f"a seed of {seeds} is given twice; expected each once, a run for each.")
    if resume and auto_resume:
        raise ValueError("--resume and --auto-resume exclude each other; expected one of the two.")


def _check_dataset(name: str | None) -> None:
    from gtcourse.recipes import RECIPES

    known = sorted({recipe.dataset for recipe in RECIPES.values()})
    if name is not None and name not in known:
        raise ValueError(f"no recipe is for {name!r}; expected one of {', '.join(known)}.")


def _command() -> str:
    """What to type for this run again."""
    words = [word for word in sys.argv[1:] if word not in ("--resume", "--auto-resume")]
    if "TORCHELASTIC_RUN_ID" not in os.environ:
        return "gtcourse " + shlex.join(words)
    machines, each = os.environ["GROUP_WORLD_SIZE"], os.environ["LOCAL_WORLD_SIZE"]
    start = f"torchrun --nnodes {machines} --nproc_per_node {each} -m gtcourse "
    return start + shlex.join(words)


def _one_process_for_each(seeds: list[int], jobs: int) -> int:
    """The same command for each seed, so many at once; 1 if one of them failed."""
    words = [word for word in sys.argv[1:] if not word.startswith("--seed=")]
    # Of several runs some may be over and some not yet begun when they are continued.
    words = ["--auto-resume" if word == "--resume" else word for word in words]
    while "--seed" in words:
        place = words.index("--seed")
        del words[place : place + 2]
    waiting, running, failed = list(seeds), [], False
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                command = [sys.executable, "-m", "gtcourse", *words, "--seed", str(waiting.pop(0))]
                # Ctrl-C is then this process's, which hands it on once.
                running.append(subprocess.Popen(command, process_group=0))
            failed |= running[0].wait() != 0
            running.pop(0)
    except Stopped as stop:
        for process in running:
            process.send_signal(stop.number)
        for process in running:
            process.wait()
        raise
    return int(failed)


class Stopped(BaseException):
    """A signal that ends a command; no ``except Exception`` catches it."""

    def __init__(self, number: int):
        super().__init__(number)
        self.number = number

    def __str__(self) -> str:
        option = "" if {"--resume", "--auto-resume"} & {*sys.argv} else " with --auto-resume"
        afterwards = {
            "train": f"The same command{option} continues what was begun.",
            "prepare": "The same command finishes what was begun.",
        }
        said = f"stopped by {signal.Signals(self.number).name}."
        return f"{said} {afterwards.get(' '.join(sys.argv[1:2]), '')}".strip()


@contextmanager
def stoppable() -> Iterator[None]:
    """Ctrl-C, SIGTERM and a closed terminal raise :class:`Stopped`, so locks are released.

    A second signal ends the process at once.
    """
    names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {signal.Signals[name]: signal.getsignal(signal.Signals[name]) for name in names}
    before = {n: handler for n, handler in before.items() if handler != signal.SIG_IGN}  # nohup's

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
        said, status = f"\n[bold red]gtcourse:[/] {escape(str(stop))}", 128 + stop.number
    except (ValueError, KeyError, RuntimeError, OSError, ImportError) as error:
        reason = error.args[0] if isinstance(error, KeyError) else error  # str would quote it
        said, status = f"[bold red]gtcourse:[/] {escape(str(reason))}", 1
    else:
        return
    Console(stderr=True).print(said, highlight=False, soft_wrap=True)
    raise SystemExit(status)


if __name__ == "__main__":
    main()
