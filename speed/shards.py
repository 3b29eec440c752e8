"""A data set in a folder, read and trained on: ``python -m speed.shards``.

The embedded molecules, as SMILES, on the way that PCQM4Mv2 takes:

1. preparing: molecules per second that one process writes to the folder;
2. loading: batches of 64 from the folder, what is not stored computed for each batch, beside the
   training step of the model that they are for, each on one thread;
3. training from the folder, data and all, in one process and in two (``torchrun``, gloo): how much
   of its speed a process keeps. The processes wait for each other, so this is timed by the wall
   clock, and needs a machine that does nothing else.
"""

import json
import os
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from itertools import chain, islice, repeat
from pathlib import Path

import numpy as np
import torch

from experiments.runs import in_process
from gtcourse import DenseLoader, GraphBatch, load_dataset
from gtcourse.encodings import AddRings, encode_batch
from gtcourse.encodings.prepare import Molecules, prepare
from gtcourse.graphs import MappedGraphs, open_graphs
from gtcourse.recipes import get_recipe
from gtcourse.recipes.recipe import Recipe
from gtcourse.train.loop import count_parameters, launch, train_step
from gtcourse.train.memory import keep_freed_memory
from speed.measure import CLOCK, CLOCKS, in_turn, milliseconds, run, summary

STORED = (AddRings(18),)
BATCH = 64
GRAPHORMER = {"d_model": 64, "d_hidden": 64, "num_heads": 8, "num_layers": 4}
CSA = {"d_model": 52, "num_heads": 4, "d_position": 16, "num_layers": 4}
MODELS = {
    "graphormer, 4 layers": ("graphormer-small/pcqm4m", GRAPHORMER),
    "csa, 4 layers": ("csa-small/pcqm4mv2", CSA),
    "csa-small/pcqm4mv2": ("csa-small/pcqm4mv2", {}),
}
"""A recipe, and the fields that make its model as small as the leaderboard's smaller ones."""


def molecules(count: int) -> Molecules:
    """The first of the embedded molecules as SMILES, from which :func:`prepare` makes graphs."""
    data = load_dataset("molecules")
    graphs = data.graphs[:count]
    return Molecules(
        name="molecules-smiles",
        source=data.source,
        smiles=[graph.smiles for graph in graphs],
        y=np.array([float(graph.y) for graph in graphs]),
        split=np.zeros(count, dtype=np.int64),
    )


def recipe_of(name: str) -> Recipe:
    recipe = get_recipe(MODELS[name][0])
    build = recipe.build_model
    config = replace(build.args[0], **MODELS[name][1])
    return replace(recipe, build_model=partial(build.func, config))


def loader(prepared: MappedGraphs, recipe: Recipe, batch: int = BATCH) -> DenseLoader:
    """Computes for each batch the encodings that the folder does not hold."""
    transforms = [each for each in recipe.transforms if repr(each) not in prepared.stored]

    def then(batch: GraphBatch) -> GraphBatch:
        return encode_batch(batch, *transforms)

    return DenseLoader(prepared.train, batch, shuffle=True, buckets=1, drop_last=True, then=then)


def loading(prepared: MappedGraphs, name: str, rounds: int) -> dict:
    """Graphs per second of the loader and of the step, each on the same number of batches."""
    recipe = recipe_of(name)
    batches = loader(prepared, recipe)
    model = recipe.build_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-5)
    steps = 20 if "4 layers" in name else 2  # of a model that would take minutes
    loaded = [*islice(batches, steps)]

    def train() -> None:
        for batch in loaded:
            optimizer.zero_grad()
            recipe.task.loss(model(batch), batch).backward()
            optimizer.step()

    methods = {"training step": train, "loader": lambda: [*islice(batches, steps)]}
    times = in_turn(methods, rounds, warm_up=1)
    return {
        "model": name,
        "batches": steps,
        "parameters": count_parameters(model),
        "compared": [
            {"method": method, **row, "graphs_per_second": round(1000 * steps * BATCH / row["ms"])}
            for method, row in times.items()
        ],
        "times_as_fast": round(times["training step"]["ms"] / times["loader"]["ms"], 1),
    }


def in_processes(folder: Path, name: str) -> list[dict]:
    """Graphs per second of all processes together, and what a process keeps of its speed."""
    results = []
    for number in (1, 2):
        command = ["-m", "torch.distributed.run", "--standalone"]
        command += ["--nproc_per_node", str(number), "-m", "speed.shards", str(folder), name]
        results.append({"processes": number, **in_process(command)})
    alone = results[0]["graphs_per_second"]
    for row in results:
        row["efficiency"] = round(row["graphs_per_second"] / row["processes"] / alone, 3)
    return results


def train_here(folder: str, name: str, steps: int = 20) -> None:
    """One of the processes: times ``steps`` steps, loading included, after as many to warm up.

    A batch of 64 for each process, however many there are: on a CPU the time of a graph changes
    with the batch.
    """
    torch.set_num_threads(1)
    keep_freed_memory()
    recipe = recipe_of(name)
    fabric = launch("cpu", 1, "32-true")
    torch.manual_seed(0)
    model = recipe.build_model()
    model, optimizer = fabric.setup(model, torch.optim.Adam(model.parameters(), lr=1e-5))
    batch = BATCH * fabric.world_size
    data = loader(open_graphs(folder), recipe, batch)
    data = data.shard(fabric.global_rank, fabric.world_size, even=True)
    batches: Iterable[GraphBatch] = chain.from_iterable(repeat(data))

    def step() -> None:
        train_step(fabric, model, recipe.task, [next(batches)], optimizer)

    times = summary([milliseconds(step, "wall clock") for _ in range(2 * steps)][steps:])
    fabric.barrier()
    if fabric.is_global_zero:
        times |= {"batch": batch, "graphs_per_second": round(1000 * batch / times["ms"])}
        print(json.dumps(times), flush=True)


def measure(rounds: int, graphs: int) -> dict:
    source = molecules(graphs)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder, "graphs")
        begin = CLOCKS[CLOCK]()
        prepared = prepare(source, folder, stored=STORED, rows_per_part=250, progress=False)
        seconds = CLOCKS[CLOCK]() - begin
        size = sum(path.stat().st_size for path in folder.glob("*.npy"))
        return {
            "stored": [repr(transform) for transform in STORED],
            "prepared_per_second": round(graphs / seconds),
            "bytes_per_graph": round(size / graphs),
            "batch": BATCH,
            "loading": [loading(prepared, name, rounds) for name in MODELS],
            "clock_of_processes": "wall clock",
            "processes": {name: in_processes(folder, name) for name in [*MODELS][:2]},
        }


if __name__ == "__main__":
    if "RANK" in os.environ:  # started by torchrun
        train_here(*sys.argv[1:])
    else:
        run("shards", measure, rounds=3, graphs=4_000)
