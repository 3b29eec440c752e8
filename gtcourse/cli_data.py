"""``gtcourse data | prepare``: the data sets, and large ones written for memory-mapping."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

console = Console(highlight=False)


def data(
    name: Annotated[str | None, typer.Argument(help="load this one (built or downloaded)")] = None,
    source: Annotated[
        str | None, typer.Option(help="'download', or the path of a graph file")
    ] = None,
) -> None:
    """List the data sets, or load one and show its sizes."""
    from gtcourse.graphs.datasets import GENERATED, NAMES, PUBLICATIONS, load_dataset

    if name is None:
        table = table_of("name", "without a network", "published graphs")
        for known in NAMES:
            table.add_row(known, "yes" * (known in GENERATED), "yes" * (known in PUBLICATIONS))
        console.print(table)
        return
    graphs = load_dataset(name, source)
    sizes = [graph.num_nodes for graph in graphs]
    edges = sum(graph.num_edges for graph in graphs)
    console.print(f"[bold]{escape(graphs.name)}[/]: {escape(graphs.source)}")
    console.print(f"graphs: {graphs.split_sizes}")
    console.print(
        f"nodes: {min(sizes)} to {max(sizes)}, {sum(sizes) / len(sizes):.2f} on average; "
        f"edges: {edges / len(sizes):.2f}; targets of: {graphs.target}",
    )


def prepare(
    name: Annotated[str, typer.Argument(help="pcqm4mv2, or any other data set's name")],
    out: Annotated[Path, typer.Option(help="the folder to write, visible to all workers")],
    root: Annotated[
        Path | None, typer.Option(help="where the publisher's files are, or will be downloaded to")
    ] = None,
    recipe: Annotated[
        list[str] | None, typer.Option(help="store what this one reads; repeat it for several")
    ] = None,
    rows: Annotated[int, typer.Option(min=1, help="graphs in a part")] = 8192,
    workers: Annotated[int, typer.Option(min=1, help="processes on this machine")] = 1,
    scheduler: Annotated[
        str | None, typer.Option(help="of a Dask cluster: tcp://host:8786, or its scheduler file")
    ] = None,
) -> None:
    """Write a data set to a folder that is memory-mapped in training; resumes a killed call.

    [bold]gtcourse prepare pcqm4mv2 --out graphs --workers 8 --recipe csa-small/pcqm4mv2[/]
    """
    from gtcourse.encodings import AddRings, computed_on_device
    from gtcourse.graphs.datasets import data_root, load_dataset
    from gtcourse.prepare import pcqm4mv2, process_pool
    from gtcourse.prepare import prepare as write
    from gtcourse.recipes import get_recipe

    transforms = [each for one in recipe or () for each in get_recipe(one).transforms]
    stored = {repr(each): each for each in transforms if not computed_on_device(each)}
    stored = tuple(stored.values()) if recipe else (AddRings(18),)
    source = pcqm4mv2(data_root(root)) if name == "pcqm4mv2" else load_dataset(name, root=root)
    with ExitStack() as stack:
        executor = None
        if scheduler is not None:
            executor = stack.enter_context(dask_client(scheduler)).get_executor()
        elif workers > 1:
            executor = stack.enter_context(process_pool(workers))
        graphs = write(source, out, stored=stored, rows_per_part=rows, executor=executor)
    console.print(f"[bold]{graphs.name}[/]: {escape(graphs.source)}")
    console.print(f"graphs: {graphs.split_sizes}")
    held = ", ".join(graphs.stored) or "nothing"
    console.print(f"stored with them: {escape(held)}; in {escape(str(out))}", soft_wrap=True)


def dask_client(scheduler: str) -> AbstractContextManager:
    try:
        from distributed import Client
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            'Dask is not installed; install it with `pip install "gtcourse[cluster]"`.'
        ) from None
    where = "scheduler_file" if scheduler.endswith(".json") else "address"
    return Client(**{where: scheduler}, timeout=60)


def table_of(name: str, *others: str) -> Table:
    """An empty table, whose first column is never cut: a name is there to be typed again."""
    return Table(Column(name, no_wrap=True), *others)
