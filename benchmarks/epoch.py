"""An epoch from end to end, and what of it is loading: ``python -m benchmarks.epoch``.

``graphormer-100k`` on the 10,000 training molecules in batches of 64, one thread, shuffled:

1. the data padded once and held, in 1, 4 and 16 buckets by size (:class:`DenseLoader`);
2. the same graphs, encodings and all, collated for every batch (:func:`collate` in torch's
   ``DataLoader``, no workers: one thread is what every method has);
3. as PyG's own tools do it: its ``DataLoader``, ``to_dense_batch`` and ``to_dense_adj``, for which
   the encodings of pairs are stored as lists of pairs.

All give the same batches, which is checked first. They take turns: a pass over all batches
without a model, and then, with a training step each, over the first ``--steps`` batches of an
epoch, from which the epoch's time is calculated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import torch
from torch import Tensor
from torch.utils.data import DataLoader
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader as PyGLoader
from torch_geometric.utils import to_dense_adj, to_dense_batch

from benchmarks.measure import Step, here, in_turn, run
from benchmarks.subjects import BATCH, ENTRIES, l1_loss
from gtcourse import DenseLoader, GraphBatch, collate, load_dataset
from gtcourse.encodings import encode

MODEL = ENTRIES["graphormer"]
BUCKETS = (1, 4, 16)
Loader = Iterable[GraphBatch]


class ByPyG:
    """PyG's loader, and its functions that pad what it gives."""

    def __init__(self, graphs: list[Data], batch_size: int, shuffle: bool = True):
        pairs = [with_pairs_as_lists(graph) for graph in graphs]
        self.loader = PyGLoader(pairs, batch_size, shuffle=shuffle)

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Iterator[GraphBatch]:
        for graphs in self.loader:
            x, mask = to_dense_batch(graphs.x, graphs.batch)
            size = {"max_num_nodes": x.shape[1]}
            edges = to_dense_adj(
                graphs.edge_index, graphs.batch, 1 + graphs.edge_attr.float(), **size
            )
            pairs = to_dense_adj(graphs.pair_index, graphs.batch, graphs.pair_attr, **size)
            both = mask[:, :, None] & mask[:, None, :]
            encodings = {
                "distance": pairs[..., 0].masked_fill(~both, -1).long(),
                "path_edges": pairs[..., 1:, None].to(torch.int16),
            }
            for name in ("in_degree", "out_degree"):
                encodings[name] = to_dense_batch(graphs[name], graphs.batch)[0]
            edge_attr = (edges - 1).clamp(min=0).long()
            yield GraphBatch(x, edges[..., 0] > 0, edge_attr, mask, graphs.y, encodings)


def with_pairs_as_lists(graph: Data) -> Data:
    """Pairs as PyG can join them: ``pair_index`` ``[2, n²]`` and ``pair_attr`` ``[n², 1 + L]``."""
    n = graph.num_nodes
    parts = [graph.distance[..., None], graph.path_edges[..., 0]]
    copied = ("x", "edge_index", "edge_attr", "y", "in_degree", "out_degree")
    return Data(
        **{name: graph[name] for name in copied},
        pair_index=torch.stack([torch.arange(n).repeat_interleave(n), torch.arange(n).repeat(n)]),
        pair_attr=torch.cat(parts, dim=-1).flatten(0, 1).float(),
    )


def loaders(graphs: list[Data]) -> dict[str, Loader]:
    """All of the same graphs, in batches of ``BATCH``, shuffled."""
    padded = {
        f"kept padded, {count} bucket{'s' if count > 1 else ''}": DenseLoader(
            graphs, BATCH, shuffle=True, buckets=count
        )
        for count in BUCKETS
    }
    each = DataLoader(graphs, BATCH, shuffle=True, collate_fn=collate)
    return padded | {"collated for each batch": each, "by PyG for each batch": ByPyG(graphs, BATCH)}


def check_equal(graphs: list[Data]) -> None:
    """All of them give the same batch of the same graphs."""
    (ours,) = DenseLoader(graphs, len(graphs))
    (theirs,) = ByPyG(graphs, len(graphs), shuffle=False)
    for other in (theirs, collate(graphs)):
        for name, value in tensors(ours).items():
            torch.testing.assert_close(tensors(other)[name], value, rtol=0, atol=0)


def tensors(batch: GraphBatch) -> dict[str, Tensor]:
    fields = {name: value for name, value in vars(batch).items() if isinstance(value, Tensor)}
    return fields | batch.encodings


def reading(loader: Loader) -> Step:
    """A pass over all batches, and nothing else."""
    return lambda: sum(1 for _ in loader)


def training(loader: Loader, steps: int) -> Step:
    """The first ``steps`` of an epoch, or all there are, loading included."""
    torch.manual_seed(0)
    model = MODEL.build_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)

    def train() -> None:
        for batch in islice(loader, steps):
            optimizer.zero_grad()
            l1_loss(model(batch), batch).backward()
            optimizer.step()

    return train


def padding(loader: Loader) -> dict[str, float]:
    """Of an epoch's batches: the share of padding among nodes and among pairs."""
    sums = torch.zeros(4, dtype=torch.float64)
    for batch in loader:
        B, N = batch.mask.shape
        sizes = batch.sizes.double()
        sums += torch.tensor([sizes.sum(), B * N, sizes.square().sum(), B * N**2])
    nodes, all_nodes, pairs, all_pairs = sums.tolist()
    return {
        "padded_nodes": round(1 - nodes / all_nodes, 4),
        "padded_pairs": round(1 - pairs / all_pairs, 4),
    }


def compare(graphs: list[Data], rounds: int, steps: int) -> list[dict]:
    given = loaders(graphs)
    passes = {name: reading(loader) for name, loader in given.items()}
    loading = in_turn(here(passes), rounds, warm_up=1)
    trained = {name: training(loader, steps) for name, loader in given.items()}
    trained = in_turn(here(trained), rounds, warm_up=1)
    results = []
    for name, loader in given.items():
        part = min(1, steps / len(loader))  # of the epoch, that was trained on
        read, train = loading[name], trained[name]
        results.append(
            {
                "method": name,
                **padding(loader),
                "batches": len(loader),
                "loading": read,
                "training": train,
                "epoch_seconds": round(train["ms"] / part / 1000, 2),
                "loading_share": round(read["ms"] * part / train["ms"], 4),
                "graphs_per_second": round(1000 * part * len(graphs) / train["ms"]),
            }
        )
    return results


def measure(rounds: int, steps: int, graphs: int) -> dict:
    data = load_dataset("molecules")
    train = encode(data.train[:graphs], *MODEL.transforms)
    check_equal(train[:BATCH])
    return {
        "data": data.provenance,
        "model": MODEL.name,
        "graphs": len(train),
        "batch": BATCH,
        "trained_batches": steps,
        "rows": compare(train, rounds, steps),
    }


if __name__ == "__main__":
    run("epoch", measure, rounds=3, steps=40, graphs=10_000)
