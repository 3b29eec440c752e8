"""As many generated graphs as PCQM4Mv2 has, written and read: ``python -m experiments.millions``.

8 to 20 nodes with nine features, twice as many random edges and one more, with three features.
About five minutes on one core, and 1 GB of disk.
"""

import resource
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data

from experiments.runs import store_measurement
from gtcourse.encodings.prepare import Molecules, prepare
from gtcourse.graphs import DenseLoader, open_graphs
from gtcourse.graphs.dataset import RaggedGraphs

SPLIT = (3_378_606, 73_545, 294_469)
BATCH_SIZE = 64
BATCHES = 500


class RandomGraphs(Molecules):
    """Random graphs in place of molecules, made part by part as theirs are."""

    checksum = "random graphs"

    def part(self, rows: slice) -> Callable[[], list[Data]]:
        return partial(random_graphs, rows.start, len(self.split[rows]))


def random_graphs(seed: int, count: int) -> list[Data]:
    rng = np.random.default_rng(seed)
    nodes = rng.integers(8, 21, count)
    edges = 2 * nodes + 1
    columns = {"y": rng.random(count, dtype=np.float32)}
    ends = rng.integers(0, np.repeat(nodes, edges), (2, edges.sum()))
    columns["x"] = rng.integers(0, 100, (nodes.sum(), 9))
    of_pair = rng.integers(0, 5, (20, 20, 3))  # an edge that is drawn twice has the same features
    columns["edge_attr"] = of_pair[ends[0], ends[1]]
    return RaggedGraphs(nodes, edges, ends, columns).to_data()


def measure(folder: Path) -> dict:
    split = np.repeat([0, 1, 2], SPLIT)
    source = RandomGraphs("random graphs", "random graphs", [], np.zeros(0), split)
    times = [time.perf_counter()]
    prepare(source, folder, stored=(), progress=False)
    size = sum(path.stat().st_size for path in folder.glob("*"))
    times.append(time.perf_counter())
    loader = DenseLoader(open_graphs(folder).train, BATCH_SIZE, shuffle=True)
    times.append(time.perf_counter())
    batches = iter(loader)
    next(batches)
    start = time.perf_counter()
    count = sum(batch.num_graphs for batch in islice(batches, BATCHES))
    reading = time.perf_counter() - start
    return {
        "graphs": sum(SPLIT),
        "bytes": size,
        "bytes_per_graph": round(size / sum(SPLIT), 1),
        "write_seconds": round(times[1] - times[0], 1),
        "open_seconds": round(times[2] - times[1], 2),
        "batch_milliseconds": round(1e3 * reading / BATCHES, 2),
        "graphs_per_second": round(count / reading),
        "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9, 2),
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        result = measure(Path(folder) / "graphs")
    command = "python -m experiments.millions"
    store_measurement(Path("experiments/records/millions.json"), {"result": result}, command)
