"""The training rates from which chapter 12 plans: ``python -m experiments.training_rate``.

The small CSA of PCQM4Mv2 trains from a prepared folder in one process: every step loads a batch,
computes its walks, and updates the weights. Two kinds of batches take turns: 64 of the embedded
molecules, as in the other benchmarks, and 256 of the small ones among them, which are about as
large as those of PCQM4Mv2. A step is measured in processor time, which does not include waiting
for other programs on the machine.
"""

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path
from statistics import quantiles

import torch

from experiments.runs import store_measurement
from gtcourse import load_dataset
from gtcourse.course.records import RECORDS
from gtcourse.encodings.prepare import Molecules, prepare
from gtcourse.graphs import MappedGraphs
from gtcourse.train.loop import count_parameters, launch, train_step
from gtcourse.train.memory import keep_freed_memory
from speed.measure import CLOCK, processor
from speed.shards import BATCH, loader, molecules, recipe_of

MODEL = "csa-small/pcqm4mv2"
GRAPHS = 1500
MOST_ATOMS = 18  #: of a small molecule; on average they have 14.9, and those of PCQM4Mv2 14.6
PLANNED_BATCH = 256  #: of the training on PCQM4Mv2 that chapter 12 plans
WARM_UP = 2
STEPS = 12


def small_molecules(count: int) -> Molecules:
    """The first of the embedded molecules with at most ``MOST_ATOMS`` atoms."""
    sizes = [graph.num_nodes for graph in load_dataset("molecules").graphs]
    rows = [row for row, atoms in enumerate(sizes) if atoms <= MOST_ATOMS][:count]
    given = molecules(len(sizes))
    smiles = [given.smiles[row] for row in rows]
    return replace(given, smiles=smiles, y=given.y[rows], split=given.split[rows])


def training_step(prepared: MappedGraphs, batch: int) -> Callable[[], float]:
    """A function that trains on the next batch and returns the processor time of this step."""
    recipe = recipe_of(MODEL)
    torch.manual_seed(0)
    fabric = launch("cpu", 1, "32-true")
    model = recipe.build_model()
    model, optimizer = fabric.setup(model, torch.optim.Adam(model.parameters(), lr=1e-5))
    batches = chain.from_iterable(repeat(loader(prepared, recipe, batch)))

    def take_step() -> float:
        begin = time.process_time()
        train_step(fabric, model, recipe.task, [next(batches)], optimizer)
        return time.process_time() - begin

    return take_step


def measure(folder: Path) -> list[dict[str, object]]:
    """The rate for each of the two kinds of batches, from folders prepared in ``folder``.

    Each row has the size of a batch, the mean number of atoms, the median and the quartiles of a
    step's processor time in seconds, and the graphs per second at the median.
    """
    kinds = ((molecules(GRAPHS), BATCH), (small_molecules(GRAPHS), PLANNED_BATCH))
    rows = []
    steps = []
    for number, (source, batch) in enumerate(kinds):
        prepared = prepare(source, folder / str(number), progress=False)
        sizes = prepared.graphs.num_nodes
        rows.append({"batch": batch, "mean_nodes": round(float(sizes.double().mean()), 1)})
        steps.append(training_step(prepared, batch))
    seconds = [[take_step() for take_step in steps] for _ in range(WARM_UP + STEPS)][WARM_UP:]
    for row, each in zip(rows, zip(*seconds, strict=True), strict=True):
        low, middle, high = quantiles(each)
        row["processor_seconds"] = round(middle, 3)
        row["quartiles"] = [round(low, 3), round(high, 3)]
        row["graphs_per_second"] = round(row["batch"] / middle, 1)
    return rows


def main() -> None:
    torch.set_num_threads(1)
    kept = keep_freed_memory()
    with tempfile.TemporaryDirectory() as temporary:
        rows = measure(Path(temporary))
    content = {
        "name": "training-rate",
        "graphs": GRAPHS,
        "model": MODEL,
        "parameters": count_parameters(recipe_of(MODEL).build_model()),
        "steps": STEPS,
        "rows": rows,
        "clock": CLOCK,
        "keeps_memory": kept,
        "processor": processor(),
    }
    path = RECORDS / "training-rate.json"
    store_measurement(path, content, "python -m experiments.training_rate")
    print(content)


if __name__ == "__main__":
    main()
