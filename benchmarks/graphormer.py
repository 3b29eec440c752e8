"""The price of structure, of FLAG and of long graphs: ``python -m benchmarks.graphormer``.

1. Forward and backward of the slim model on 64 molecules, beside the same Transformer without a
   graph and beside the same model that computes its bias in each layer again.
2. A step of FLAG, m = 1 to 4, beside a step of plain training.
3. Peak memory of a forward and backward pass on one chain of n atoms, and what its encodings take;
   and of the steps of 2.

The methods of 1 and of 2 take turns, so that whatever else the machine does meets them all.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Data

from benchmarks.costs import milliseconds, rows
from benchmarks.encodings import chain
from benchmarks.report import command_line, provenance, store
from gtcourse import GraphBatch, GraphDataset, collate, load_dataset
from gtcourse.encodings import AddDegrees, AddPathEdges, AddPathTree, AddShortestPaths, encode
from gtcourse.models import Graphormer, GraphormerConfig
from gtcourse.recipes import get_recipe
from gtcourse.training.flag import Flag
from gtcourse.training.tasks import graph_regression

ATOMS, BATCH, THREADS = range(9, 38), 64, 2
ROUNDS = 15
SIZES = (32, 64, 128, 256, 512)
SLIM = get_recipe("graphormer-slim/zinc").build_model().config
TASK = graph_regression()
FLAG = {"step_size": 0.001, "bound": 0.001}


class PlainTransformer(nn.Module):
    """torch's own pre-LN encoder of the slim model's size: a bag of atoms and a [VNode]."""

    def __init__(self, config: GraphormerConfig):
        super().__init__()
        layer = nn.TransformerEncoderLayer(
            config.d_model,
            config.num_heads,
            config.d_hidden or config.d_model,
            config.dropout,
            activation="gelu",
            batch_first=True,
            norm_first=True,
        )
        layer.dropout = nn.Identity()  # Graphormer drops nothing inside of its feed-forward network
        self.embedding = nn.Embedding(config.num_node_types, config.d_model)
        self.virtual_node = nn.Parameter(torch.zeros(config.d_model))
        norm = nn.LayerNorm(config.d_model)
        self.encoder = nn.TransformerEncoder(
            layer, config.num_layers, norm, enable_nested_tensor=False
        )
        self.head = nn.Linear(config.d_model, 1)

    def forward(self, batch: GraphBatch) -> Tensor:
        h = self.embedding(batch.x[..., 0])
        h = torch.cat([self.virtual_node.expand(len(h), 1, -1), h], dim=1)
        padding = ~F.pad(batch.mask, (1, 0), value=True)
        return self.head(self.encoder(h, src_key_padding_mask=padding)[:, 0]).squeeze(-1)


class BiasInEachLayer(Graphormer):
    """The same function, but that every layer computes the bias for itself."""

    def forward(self, batch: GraphBatch) -> Tensor:
        h = self.embed(batch)
        h = self.dropout(torch.cat([self.virtual_node.expand(len(h), 1, -1), h], dim=1))
        mask = F.pad(batch.mask, (1, 0), value=True)
        for layer in self.layers:
            h = layer(h, self.bias(batch).masked_fill(~mask[:, None, None, :], -torch.inf))
        return self.head(self.norm(h)[:, 0]).squeeze(-1)


MODELS: dict[str, Callable[[], nn.Module]] = {
    "Transformer without a graph": lambda: PlainTransformer(SLIM),
    "Graphormer": lambda: Graphormer(SLIM),
    "Graphormer, bias in each layer": lambda: BiasInEachLayer(SLIM),
}


def molecules(data: GraphDataset) -> GraphBatch:
    fitting = [graph for graph in data.graphs if graph.num_nodes in ATOMS][:BATCH]
    return collate(encode(fitting, AddDegrees(), AddShortestPaths(), AddPathEdges(20)))


def plain_step(model: nn.Module, batch: GraphBatch) -> Callable[[], None]:
    def step() -> None:
        model.zero_grad()
        TASK.loss(model(batch), batch).backward()

    return step


def flag_step(model: nn.Module, batch: GraphBatch, steps: int) -> Callable[[], None]:
    flag = Flag(steps, **FLAG)

    def step() -> None:
        model.zero_grad()
        flag.backward(model, TASK, batch)

    return step


def long_graph(kind: str, graph: Data) -> GraphBatch:
    """One graph with the encodings that ``kind`` of model reads."""
    transforms = [AddDegrees(), AddShortestPaths()]
    transforms += {"path edges": [AddPathEdges(20)], "path tree": [AddPathTree()]}.get(kind, [])
    return collate(encode([graph], *transforms))


KINDS: dict[str, Callable[[], nn.Module]] = {
    "without a graph": MODELS["Transformer without a graph"],
    "distances alone": lambda: Graphormer(replace(SLIM, edges=None)),
    "path edges": MODELS["Graphormer"],
    "path tree": MODELS["Graphormer"],
}


def memory(kind: str, small: Data, graph: Data) -> dict:
    """Peak memory above what stood before the pass, in a process of its own."""
    batch, model = long_graph(kind, graph), KINDS[kind]()
    stored = sum(tensor.nbytes for tensor in batch.encodings.values())
    return {
        "kind": kind,
        "atoms": graph.num_nodes,
        "peak_mb": _growth(plain_step(model, long_graph(kind, small)), plain_step(model, batch)),
        "encodings_mb": round(stored / 2**20, 2),
    }


def flag_memory(steps: int, batch: GraphBatch) -> dict:
    """The same for a step of FLAG on a batch; 0 steps are plain training."""
    model = MODELS["Graphormer"]()
    first, step = (
        flag_step(model, graphs, steps) if steps else plain_step(model, graphs)
        for graphs in (batch.select(torch.arange(1)), batch)
    )
    return {"steps": steps, "peak_mb": _growth(first, step)}


def _growth(first: Callable[[], None], step: Callable[[], None]) -> float:
    """By how many MB the step raises the peak; ``first`` makes torch set up what it needs once."""
    first()
    before = _peak()
    step()
    return round(_peak() - before, 1)


def _peak() -> float:
    """MB; as Linux counts it (getrusage would begin with the parent's peak)."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 2**10


def measure(rounds: int, sizes: tuple[int, ...]) -> dict:
    torch.set_num_threads(THREADS)
    data = load_dataset("molecules")
    batch = molecules(data)
    torch.manual_seed(0)
    structure = {name: plain_step(build(), batch) for name, build in MODELS.items()}
    flag = {"plain training": plain_step(MODELS["Graphormer"](), batch)}
    flag |= {f"FLAG, m = {m}": flag_step(MODELS["Graphormer"](), batch, m) for m in (1, 2, 3, 4)}
    content = {
        "name": "graphormer-benchmark",
        "data": data.provenance,
        "structure": rows(milliseconds(structure, rounds)),
        "flag": rows(milliseconds(flag, rounds)),
        "memory": [],
    }
    for row in content["structure"] + content["flag"]:
        print(f"{row['method']:34}{row['ms']:8.1f} ms   × {row['ratio']:.2f}", flush=True)
    chains = [chain(data.graphs, size) for size in (8, *sizes)]
    for graph in chains:
        graph.y = torch.zeros(1)
    # A fresh process for each: a peak that was reached once hides what comes after.
    threads = {"initializer": torch.set_num_threads, "initargs": (THREADS,)}
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1, **threads) as pool:
        jobs = [(kind, chains[0], graph) for kind in KINDS for graph in chains[1:]]
        for row in pool.starmap(memory, jobs, chunksize=1):
            content["memory"].append(row)
            print(f"{row['kind']:20}{row['atoms']:5} atoms{row['peak_mb']:9.1f} MB", flush=True)
        # In turn with the rows of the times: plain training, then m = 1 to 4.
        jobs = [(steps, batch) for steps in range(5)]
        for row, used in zip(content["flag"], pool.starmap(flag_memory, jobs, 1), strict=True):
            row["peak_mb"] = used["peak_mb"]
            print(f"{row['method']:34}{row['peak_mb']:8.1f} MB", flush=True)
    return (
        content
        | {
            "batch": {
                "graphs": batch.num_graphs,
                "padded_to": batch.mask.shape[1],
                "threads": THREADS,
            },
        }
        | provenance("graphormer")
    )


def main() -> None:
    parser = command_line(__doc__, ROUNDS, SIZES)
    args = parser.parse_args()
    content = measure(args.rounds, tuple(args.sizes))
    store(content, args.out)


if __name__ == "__main__":
    main()
