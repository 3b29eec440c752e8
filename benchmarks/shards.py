"""A data set in a folder, read and trained on: ``python -m benchmarks.shards``.

The embedded molecules, as SMILES, on the way that PCQM4Mv2 takes:

1. loading: batches of 64 from the folder, what is not stored computed for each batch, beside the
   training step of the model that they are for, each on one thread.
   The bar is that batches come at least three times as fast as they are used;
2. training from the folder, data and all, in one process and in two (``torchrun``, gloo): how much
   of its speed a process keeps.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from torch import nn

from benchmarks.costs import Step, milliseconds, rows
from benchmarks.report import command_line, provenance, store
from gtcourse import DenseLoader, GraphBatch, GraphDataset, load_dataset
from gtcourse.encodings import AddRings, Encoding, encode_batch
from gtcourse.graphs.mapped import MappedGraphs
from gtcourse.models import CGT, Graphormer
from gtcourse.prepare import Molecules, prepare
from gtcourse.recipes import get_recipe
from gtcourse.training.fit import count_parameters
from gtcourse.training.recipe import Recipe

ROOT = Path(__file__).parent.parent
STORED = (AddRings(18),)
ROWS = 250
TRAINED, BATCH = 4_000, 64
PROCESSES = (1, 2)
THREADS = 1
ROUNDS = 3
BAR = 3.0
"""Graphs that the loader gives in the time in which the model takes one."""


def molecules(data: GraphDataset, number: int) -> Molecules:
    """The first ones, all of them to train on."""
    graphs = data.graphs[:number]
    return Molecules(
        name=f"{data.name}-smiles",
        source=data.source,
        smiles=[graph.smiles for graph in graphs],
        y=np.array([float(graph.y) for graph in graphs]),
        split=np.zeros(len(graphs), dtype=np.int64),
    )


def small(name: str, model: type[nn.Module], **size: int) -> Recipe:
    """A recipe for PCQM4Mv2 with a model as narrow and shallow as the leaderboard's smaller ones.

    Args:
        size: fields of the model's configuration.
    """
    recipe = get_recipe(name)
    config = replace(recipe.build_model.args[0], num_layers=4, **size)
    return replace(recipe, build_model=partial(model, config))


RECIPES: dict[str, Callable[[], Recipe]] = {
    "graphormer, 4 layers": lambda: small(
        "graphormer-small/pcqm4m", Graphormer, d_model=64, d_hidden=64, num_heads=8
    ),
    "csa, 4 layers": lambda: small(
        "csa-small/pcqm4mv2", CGT, d_model=52, num_heads=4, d_position=16
    ),
    "csa-small/pcqm4mv2": lambda: get_recipe("csa-small/pcqm4mv2"),
}
STEPS = {"csa-small/pcqm4mv2": 2}
"""How many are timed at once; 20, but for a model that would take minutes."""

IN_PROCESSES = ("graphormer, 4 layers", "csa, 4 layers")


def loader(prepared: MappedGraphs, recipe: Recipe, batch: int = BATCH) -> DenseLoader:
    """With the encodings that the recipe reads and the folder does not hold."""
    then = partial(_encoded, computed(prepared, recipe))
    return DenseLoader(prepared.train, batch, shuffle=True, buckets=1, drop_last=True, then=then)


def computed(prepared: MappedGraphs, recipe: Recipe) -> list[Encoding]:
    return [transform for transform in recipe.transforms if repr(transform) not in prepared.stored]


def _encoded(transforms: list[Encoding], batch: GraphBatch) -> GraphBatch:
    return encode_batch(batch, *transforms)


def loading(prepared: MappedGraphs, name: str, rounds: int) -> dict:
    """Graphs per second of the loader and of the step, each on the same number of batches."""
    recipe = RECIPES[name]()
    batches = loader(prepared, recipe)
    steps = min(STEPS.get(name, 20), len(batches))
    methods = {
        "training step": training([*islice(batches, steps)], recipe),
        "loader": lambda: sum(batch.num_graphs for batch in islice(batches, steps)),
    }
    compared = rows(milliseconds(methods, rounds, 1))
    for row in compared:
        row["graphs_per_second"] = round(1000 * steps * BATCH / row["ms"])
    return {
        "model": name,
        "batches": steps,
        "parameters": count_parameters(recipe.build_model()),
        "computed_for_each_batch": [*map(repr, computed(prepared, recipe))],
        "compared": compared,
        "times_as_fast": round(1 / compared[1]["ratio"], 1),
    }


def training(batches: list[GraphBatch], recipe: Recipe) -> Step:
    torch.manual_seed(0)
    model = recipe.build_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-5)

    def run() -> None:
        for batch in batches:
            optimizer.zero_grad()
            recipe.task.loss(model(batch), batch).backward()
            optimizer.step()

    return run


def in_processes(prepared: MappedGraphs, name: str, steps: int = 20) -> list[dict]:
    """Graphs per second of all processes together, and what a process keeps of its speed."""
    results = []
    for number in PROCESSES:
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
        command += ["--nproc_per_node", str(number), "-m", "benchmarks.processes"]
        command += [str(prepared.folder), name, "--steps", str(steps)]
        done = subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        results.append({"processes": number, **json.loads(done.stdout.splitlines()[-1])})
    alone = results[0]["graphs_per_second"]
    for row in results:
        row["efficiency"] = round(row["graphs_per_second"] / row["processes"] / alone, 3)
    return results


def measure(rounds: int, trained: int = TRAINED) -> dict:
    torch.set_num_threads(THREADS)
    data = load_dataset("molecules")
    with tempfile.TemporaryDirectory() as folder:
        source = molecules(data, trained)
        prepared_graphs = prepare(
            source, Path(folder) / "graphs", stored=STORED, rows_per_part=ROWS, progress=False
        )
        files = sum(path.stat().st_size for path in prepared_graphs.folder.glob("*.npy"))
        loaded = [loading(prepared_graphs, name, rounds) for name in RECIPES]
        several = {name: in_processes(prepared_graphs, name) for name in IN_PROCESSES}
    return {
        "name": "shards-benchmark",
        "data": data.provenance,
        "rows_per_part": ROWS,
        "stored": [repr(transform) for transform in STORED],
        "bytes_per_graph": round(files / trained),
        "graphs": trained,
        "batch": BATCH,
        "loading": loaded,
        "bar": BAR,
        "processes": several,
        "precision": "float32",
        "rounds": rounds,
        "threads": THREADS,
    } | provenance("shards")


def show(content: dict) -> None:
    for part in content["loading"]:
        rates = ", ".join(f"{r['method']} {r['graphs_per_second']:,}" for r in part["compared"])
        print(f"{part['model']}: {rates} graphs/s; × {part['times_as_fast']} (at least {BAR:g})")
    for name, several in content["processes"].items():
        for row in several:
            rate, kept = row["graphs_per_second"], row["efficiency"]
            print(f"{name}, {row['processes']} processes: {rate:,} graphs/s, each keeps {kept:.0%}")


def main() -> None:
    args = command_line(__doc__, ROUNDS).parse_args()
    content = measure(args.rounds)
    show(content)
    store(content, args.out)


if __name__ == "__main__":
    main()
