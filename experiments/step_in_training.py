"""Does a step take longer in training than alone? ``python -m experiments.step_in_training``.

An earlier measurement by the clock (`python -m speed.shards`, on a shared machine) had training
from a folder take more than twice as long as its loader and its step timed apart. Here the same
two models are measured in processor time, which other processes on the machine hardly change:
steps on batches that are kept, steps on fresh batches from the folder, the loader alone, and the
package's own training step.
"""

import resource
import tempfile
from collections.abc import Callable
from itertools import chain, islice, repeat
from pathlib import Path

import numpy as np
import torch

from experiments.runs import store_measurement
from gtcourse import load_dataset
from gtcourse.course.records import RECORDS
from gtcourse.encodings.prepare import Molecules, prepare
from gtcourse.graphs import open_graphs
from gtcourse.train.loop import launch, train_step
from speed.shards import loader, recipe_of

GRAPHS = 1500
STEPS = 15
MODELS = ("graphormer, 4 layers", "csa, 4 layers")


def processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def a_step(step: Callable[[], object]) -> float:
    """Milliseconds of processor time, after a few steps to warm up."""
    for _ in range(3):
        step()
    begin = processor_seconds()
    for _ in range(STEPS):
        step()
    return 1000 * (processor_seconds() - begin) / STEPS


def measure(folder: Path, name: str) -> dict[str, float | str]:
    recipe = recipe_of(name)
    model = recipe.build_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-5)
    data = loader(open_graphs(folder), recipe)
    kept = repeat([*islice(data, STEPS)])
    batches = {"kept": chain.from_iterable(kept), "fresh": chain.from_iterable(repeat(data))}

    def train(which: str) -> None:
        batch = next(batches[which])
        optimizer.zero_grad()
        recipe.task.loss(model(batch), batch).backward()
        optimizer.step()

    fabric = launch("cpu", 1, "32-true")
    other = recipe.build_model()
    other, its_optimizer = fabric.setup(other, torch.optim.Adam(other.parameters(), lr=1e-5))
    return {
        "model": name,
        "loader_ms": a_step(lambda: next(batches["fresh"])),
        "step_on_kept_batches_ms": a_step(lambda: train("kept")),
        "step_with_loader_ms": a_step(lambda: train("fresh")),
        "training_step_with_loader_ms": a_step(
            lambda: train_step(fabric, other, recipe.task, [next(batches["fresh"])], its_optimizer)
        ),
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    molecules = load_dataset("molecules").graphs[:GRAPHS]
    source = Molecules(
        name="molecules-smiles",
        source="the first embedded molecules",
        smiles=[graph.smiles for graph in molecules],
        y=np.array([float(graph.y) for graph in molecules]),
        split=np.zeros(GRAPHS, dtype=np.int64),
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "graphs"
        prepare(source, folder)
        rows = [measure(folder, name) for name in MODELS]
    content = {"name": "step-in-training", "graphs": GRAPHS, "batch": 64, "rows": rows}
    store_measurement(
        RECORDS / "step-in-training.json", content, "python -m experiments.step_in_training"
    )
    print(*rows, sep="\n")
