"""The training rate of the model that chapter 12 plans: ``python -m experiments.training_rate``.

The small CSA of PCQM4Mv2 trains from a prepared folder in one process: every step loads 64 graphs,
computes their walks, and updates the weights. A step is measured in processor time, which does not
include waiting for other programs on the machine.
"""

import tempfile
import time
from itertools import chain, repeat
from pathlib import Path
from statistics import quantiles

import torch

from experiments.runs import store_measurement
from gtcourse.course.records import RECORDS
from gtcourse.encodings.prepare import prepare
from gtcourse.graphs import open_graphs
from gtcourse.train.loop import count_parameters, launch, train_step
from gtcourse.train.memory import keep_freed_memory
from speed.measure import CLOCK, processor
from speed.shards import BATCH, loader, molecules, recipe_of

MODEL = "csa-small/pcqm4mv2"
GRAPHS = 1500
WARM_UP = 2
STEPS = 12


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
        begin = time.process_time()
        train_step(fabric, model, recipe.task, [next(batches)], optimizer)
        seconds.append(time.process_time() - begin)
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
    kept = keep_freed_memory()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "graphs"
        prepared = prepare(molecules(GRAPHS), folder)
        nodes = float(prepared.graphs.num_nodes.double().mean())
        result = measure(folder)
    content = {"name": "training-rate", "graphs": GRAPHS, "mean_nodes": round(nodes, 1), **result}
    path = RECORDS / "training-rate.json"
    content |= {"clock": CLOCK, "keeps_memory": kept, "processor": processor()}
    store_measurement(path, content, "python -m experiments.training_rate")
    print(content)


if __name__ == "__main__":
    main()
