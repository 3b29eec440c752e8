"""The training rate of the model that chapter 12 plans: ``python -m experiments.training_rate``.

The small CSA of PCQM4Mv2 trains from a prepared folder in one process: every step loads 64 graphs,
computes their walks, and updates the weights. A step is measured in processor time, which does not
include waiting for other programs on the machine.
"""

import resource
import tempfile
from itertools import chain, repeat
from pathlib import Path
from statistics import quantiles

import numpy as np
import torch

from experiments.runs import store_measurement
from gtcourse import load_dataset
from gtcourse.course.records import RECORDS
from gtcourse.encodings.prepare import Molecules, prepare
from gtcourse.graphs import open_graphs
from gtcourse.train.loop import count_parameters, launch, train_step
from speed.shards import BATCH, loader, recipe_of

MODEL = "csa-small/pcqm4mv2"
GRAPHS = 1500
WARM_UP = 2
STEPS = 12


def processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def measure(folder: Path) -> dict[str, object]:
    recipe = recipe_of(MODEL)
    torch.manual_seed(0)
    model = recipe.build_model()
    parameters = count_parameters(model)
    fabric = launch("cpu", 1, "32-true")
    model, optimizer = fabric.setup(model, torch.optim.Adam(model.parameters(), lr=1e-5))
    data = loader(open_graphs(folder), recipe)
    batches = chain.from_iterable(repeat(data))
    seconds = []
    for _ in range(WARM_UP + STEPS):
        begin = processor_seconds()
        train_step(fabric, model, recipe.task, [next(batches)], optimizer)
        seconds.append(processor_seconds() - begin)
    low, middle, high = quantiles(seconds[WARM_UP:])
    return {
        "model": MODEL,
        "parameters": parameters,
        "batch": BATCH,
        "steps": STEPS,
        "processor_seconds": round(middle, 3),
        "quartiles": [round(low, 3), round(high, 3)],
        "graphs_per_second": round(BATCH / middle, 1),
    }


def main() -> None:
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
        result = measure(folder)
    nodes = sum(graph.num_nodes for graph in molecules) / GRAPHS
    content = {"name": "training-rate", "graphs": GRAPHS, "mean_nodes": round(nodes, 1), **result}
    path = RECORDS / "training-rate.json"
    store_measurement(path, content, "python -m experiments.training_rate")
    print(content)


if __name__ == "__main__":
    main()
