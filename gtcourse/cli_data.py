"""``gtcourse data | prepare``: what there is to train on, and how it is made ready."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

console = Console()


def data(
    name: Annotated[str | None, typer.Argument(help="load this one (built or downloaded)")] = None,
    source: Annotated[
        str | None, typer.Option(help="'download', or the path of a graph file")
    ] = None,
) -> None:
    """List the data sets, or load one and say what it holds."""
    from gtcourse.graphs.datasets import GENERATED, NAMES, PUBLICATIONS, load_dataset

    if name is None and source is not None:
        raise ValueError(f"source is {source!r} of no data set; expected a name before it.")
    if name is None:
        table = table_of("name", "without a network", "published graphs")
        for known in NAMES:
            table.add_row(
                known, "yes" if known in GENERATED else "", "yes" if known in PUBLICATIONS else ""
            )
        console.print(table)
        return
    graphs = load_dataset(name, source)
    sizes = [graph.num_nodes for graph in graphs]
    edges = sum(graph.edge_index.shape[1] for graph in graphs)
    console.print(f"[bold]{escape(graphs.name)}[/]: {escape(graphs.source)}", highlight=False)
    console.print(f"graphs: {graphs.split_sizes}", highlight=False)
    console.print(
        f"nodes: {min(sizes)} to {max(sizes)}, {sum(sizes) / len(sizes):.2f} on average; "
        f"edges: {edges / len(sizes):.2f}; targets of: {graphs.target}",
        highlight=False,
    )


def prepare(
    name: Annotated[str, typer.Argument(help="pcqm4mv2, or any other data set's name")],
    out: Annotated[Path, typer.Option(help="the folder to write, seen by all workers")],
    root: Annotated[
        Path | None, typer.Option(help="where the publisher's files are, or will be downloaded to")
    ] = None,
    recipe: Annotated[
        list[str] | None, typer.Option(help="store what this one reads; give it again for several")
    ] = None,
    rows: Annotated[int, typer.Option(help="graphs in a part")] = 8192,
    workers: Annotated[int, typer.Option(help="processes on this machine")] = 1,
    scheduler: Annotated[
        str | None, typer.Option(help="of a Dask cluster: tcp://host:8786, or its scheduler file")
    ] = None,
) -> None:
    """Write a data set to a folder that is memory-mapped in training; finishes what was begun.

    [bold]gtcourse prepare pcqm4mv2 --out graphs --workers 8 --recipe csa-small/pcqm4mv2[/]
    """
    from gtcourse.encodings import AddRings, computed_on_device
    from gtcourse.graphs.datasets import data_root, load_dataset
    from gtcourse.prepare import pcqm4mv2
    from gtcourse.prepare import prepare as write
    from gtcourse.recipes import get_recipe

    stored = {
        repr(transform): transform
        for each in recipe or ()
        for transform in get_recipe(each).transforms
        if not computed_on_device(transform)
    }
    stored = tuple(stored.values()) if recipe else (AddRings(18),)
    source = pcqm4mv2(data_root(root)) if name == "pcqm4mv2" else load_dataset(name, root=root)
    with _workers(workers, scheduler) as executor:
        graphs = write(source, out, stored=stored, rows_per_part=rows, executor=executor)
    console.print(f"[bold]{graphs.name}[/]: {escape(graphs.source)}", highlight=False)
    console.print(f"graphs: {graphs.split_sizes}", highlight=False)
    held = ", ".join(graphs.stored) or "nothing"
    console.print(f"stored with them: {escape(held)}; in {escape(str(out))}", soft_wrap=True)


def table_of(name: str, *others: str) -> Table:
    """An empty table, whose first column is never cut: a name is there to be typed again."""
    return Table(Column(name, no_wrap=True), *others)


def _workers(workers: int, scheduler: str | None):
    """An executor to be entered: of this process (None), this machine or a cluster."""
    from gtcourse.prepare import process_pool

    if scheduler is not None and workers != 1:
        raise ValueError(
            "workers are processes of this machine, and a scheduler has workers of its own; "
            "expected one of the two."
        )
    if scheduler is None:
        return nullcontext() if workers == 1 else process_pool(workers)

    @contextmanager
    def cluster():
        try:
            from distributed import Client
        except ModuleNotFoundError:
            raise ModuleNotFoundError(
                "a scheduler is Dask's, which is not installed; install it with "
                '`pip install "gtcourse[cluster]"`.'
            ) from None
        where = {"scheduler_file" if scheduler.endswith(".json") else "address": scheduler}
        with Client(**where, timeout=60) as client:
            yield client.get_executor()

    return cluster()
