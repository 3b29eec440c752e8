"""One of the processes of a training that :mod:`benchmarks.shards` times.

``torchrun --standalone --nproc_per_node 2 -m benchmarks.processes FOLDER RECIPE``: trains from the
prepared folder, data and all, and prints how fast all processes were together.
"""

from __future__ import annotations

import argparse
import json
import time
from itertools import chain, repeat
from pathlib import Path
from statistics import median, quantiles

import torch

from benchmarks.shards import RECIPES, loader
from gtcourse.graphs import open_graphs
from gtcourse.training.fit import launch, train_step

BATCH = 64
"""Graphs in a step of one process. As many for each, however many there are: on a CPU the time of a
graph changes with the batch, because large tensors are given back to the system and fetched again.
"""


def measure(folder: Path, name: str, steps: int) -> dict:
    """Times of ``steps`` steps, after as many to warm up; a step begins with its batch."""
    recipe = RECIPES[name]()
    fabric = launch("cpu", 1, "32-true")
    torch.manual_seed(0)
    model = recipe.build_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-5)
    model, optimizer = fabric.setup(model, optimizer)
    batch = BATCH * fabric.world_size
    data = loader(open_graphs(folder), recipe, batch)
    data = data.shard(fabric.global_rank, fabric.world_size, even=True)
    batches, times = chain.from_iterable(repeat(data)), []
    for _ in range(2 * steps):
        start = time.perf_counter()
        train_step(fabric, model, recipe.task, next(batches), optimizer)
        times.append(time.perf_counter() - start)
    fabric.barrier()
    return {
        "first": fabric.is_global_zero,
        "ms": round(1000 * median(times[steps:]), 1),
        "quartiles": [round(1000 * q, 1) for q in quantiles(times[steps:])[::2]],
        "batch": batch,
        "graphs_per_second": round(batch / median(times[steps:])),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("recipe", choices=RECIPES)
    parser.add_argument("--steps", type=int, default=20)
    args = parser.parse_args()
    torch.set_num_threads(1)
    found = measure(args.folder, args.recipe, args.steps)
    if found.pop("first"):
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
