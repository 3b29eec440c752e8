"""Does a training process take longer for a step than the step alone?
``python -m experiments.one_process``

In the benchmark ``speed.shards``, a single process took 2.6 times as long for a step, loading
included, as the same step took on batches that had been prepared in advance. Here both are measured
in one process that ``torchrun`` starts, in processor time, which does not include waiting for other
programs.
"""

import json
import os
import sys
import tempfile
from itertools import chain, islice, repeat
from pathlib import Path

import torch

from experiments.runs import in_process, store_measurement
from gtcourse import GraphBatch
from gtcourse.course.records import RECORDS
from gtcourse.encodings.prepare import prepare
from gtcourse.graphs import open_graphs
from gtcourse.train.loop import launch, train_step
from speed.measure import CLOCK, Step, milliseconds, processor, summary
from speed.shards import BATCH, STORED, loader, molecules, recipe_of

MODELS = ("graphormer, 4 layers", "csa, 4 layers")
GRAPHS = 1500
WARM_UP = 2
STEPS = 12


def processor_time(call: Step) -> dict[str, object]:
    """The median processor time of a call in milliseconds, with quartiles."""
    times = [milliseconds(call) for _ in range(WARM_UP + STEPS)]
    return summary(times[WARM_UP:], "processor_ms")


def measure(folder: str, name: str) -> dict[str, object]:
    torch.set_num_threads(1)
    recipe = recipe_of(name)
    fabric = launch("cpu", 1, "32-true")
    torch.manual_seed(0)
    model = recipe.build_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-5)
    batches = chain.from_iterable(repeat(loader(open_graphs(folder), recipe)))
    loaded = chain.from_iterable(repeat([*islice(batches, STEPS)]))

    def step(batch: GraphBatch) -> None:
        optimizer.zero_grad()
        recipe.task.loss(model(batch), batch).backward()
        optimizer.step()

    found = {"step": processor_time(lambda: step(next(loaded)))}
    connected = fabric.setup(model, optimizer)
    found["loading and step"] = processor_time(
        lambda: train_step(fabric, connected[0], recipe.task, [next(batches)], connected[1])
    )
    found["loading"] = processor_time(lambda: next(batches))
    return found


def main() -> None:
    command = ["-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc_per_node", "1", "-m", "experiments.one_process"]
    rows = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = str(Path(temporary) / "graphs")
        prepare(molecules(GRAPHS), folder, stored=STORED, progress=False)
        for name in MODELS:
            rows[name] = in_process([*command, folder, name])
    content = {"name": "one-process", "batch": BATCH, "steps": STEPS, "rows": rows}
    path = RECORDS / "one-process.json"
    content |= {"clock": CLOCK, "processor": processor()}
    store_measurement(path, content, "python -m experiments.one_process")
    print(json.dumps(content, indent=1))


if __name__ == "__main__":
    if "RANK" in os.environ:  # started by torchrun
        print(json.dumps(measure(*sys.argv[1:])), flush=True)
    else:
        main()
