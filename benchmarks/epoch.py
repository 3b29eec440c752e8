"""An epoch from end to end, and what of it is loading: ``python -m benchmarks.epoch``.

``graphormer-100k`` on the 10,000 training molecules in batches of 64, one thread, shuffled:

1. the data padded once and kept, in 1, 4 and 16 buckets by size (:class:`DenseLoader`);
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

from benchmarks.costs import milliseconds, rows, without_name
from benchmarks.report import command_line, provenance, store
from benchmarks.subjects import BATCH, ENTRIES, Step
from gtcourse import DenseLoader, GraphBatch, collate, load_dataset
from gtcourse.encodings import encode
from gtcourse.training.tasks import graph_regression

MODEL = ENTRIES["graphormer"]
BUCKETS = (1, 4, 16)
THREADS = 1
ROUNDS, STEPS = 3, 40
TASK = graph_regression()

Loader = Iterable[GraphBatch]


class ByPyG:
    """PyG's loader, and its functions to make padded tensors of what it gives."""

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
            adjacency = edges[..., 0] > 0
            edge_attr = (edges - 1).clamp(min=0).long()
            yield GraphBatch(x, adjacency, edge_attr, mask, graphs.y, encodings)


def with_pairs_as_lists(graph: Data) -> Data:
    """Pairs as PyG can join them: ``pair_index`` ``[2, n²]`` and ``pair_attr`` ``[n², 1 + L]``."""
    n = graph.num_nodes
    i, j = torch.arange(n).repeat_interleave(n), torch.arange(n).repeat(n)
    parts = [graph.distance[..., None], graph.path_edges[..., 0]]
    return Data(
        x=graph.x,
        edge_index=graph.edge_index,
        edge_attr=graph.edge_attr,
        y=graph.y,
        in_degree=graph.in_degree,
        out_degree=graph.out_degree,
        pair_index=torch.stack([i, j]),
        pair_attr=torch.cat(parts, dim=-1).flatten(0, 1).float(),
    )


def loaders(graphs: list[Data], buckets: tuple[int, ...]) -> dict[str, Loader]:
    """All of the same graphs, in batches of ``BATCH``, shuffled."""
    kept = {
        f"kept padded, {count} bucket{'s' if count > 1 else ''}": DenseLoader(
            graphs, BATCH, shuffle=True, buckets=count
        )
        for count in buckets
    }
    each = DataLoader(graphs, BATCH, shuffle=True, collate_fn=collate)
    return kept | {"collated for each batch": each, "by PyG for each batch": ByPyG(graphs, BATCH)}


def check_equal(graphs: list[Data]) -> None:
    """All of them make the same batch of the same graphs."""
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

    def run() -> None:
        for _ in loader:
            pass

    return run


def training(loader: Loader, steps: int) -> Step:
    """The first ``steps`` of an epoch, or all there are, loading included."""
    torch.manual_seed(0)
    model = MODEL.build_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)

    def run() -> None:
        for batch in islice(loader, steps):
            optimizer.zero_grad()
            TASK.loss(model(batch), batch).backward()
            optimizer.step()

    return run


def padding(loader: Loader) -> dict[str, float]:
    """Of an epoch's batches: the share of padding among nodes and among pairs."""
    sums = torch.zeros(4, dtype=torch.float64)
    for batch in loader:
        B, N = batch.mask.shape
        sizes = batch.sizes.double()
        real = sizes.sum(), sizes.square().sum()
        sums += torch.tensor([*real, B * N, B * N**2])
    nodes, pairs, all_nodes, all_pairs = sums.tolist()
    return {
        "padded_nodes": round(1 - nodes / all_nodes, 4),
        "padded_pairs": round(1 - pairs / all_pairs, 4),
    }


def compare(graphs: list[Data], rounds: int, steps: int, buckets: tuple[int, ...]) -> list[dict]:
    given = loaders(graphs, buckets)
    passes = {name: reading(loader) for name, loader in given.items()}
    loading = rows(milliseconds(passes, rounds, warm_up=1))
    trained = rows(
        milliseconds({name: training(loader, steps) for name, loader in given.items()}, rounds, 1)
    )
    results = []
    for (name, loader), read, train in zip(given.items(), loading, trained, strict=True):
        part = min(1, steps / len(loader))  # of the epoch, that was trained on
        results.append(
            {
                "method": name,
                **padding(loader),
                "batches": len(loader),
                "loading": without_name(read),
                "training": without_name(train),
                "epoch_seconds": round(train["ms"] / part / 1000, 2),
                "loading_share": round(read["ms"] * part / train["ms"], 4),
                "graphs_per_second": round(1000 * part * len(graphs) / train["ms"]),
            }
        )
    return results


def measure(rounds: int, steps: int, graphs: int | None = None) -> dict:
    torch.set_num_threads(THREADS)
    data = load_dataset("molecules")
    train = encode(data.train[:graphs], *MODEL.transforms)
    check_equal(train[:BATCH])
    return {
        "name": "epoch-benchmark",
        "data": data.provenance,
        "model": MODEL.name,
        "graphs": len(train),
        "batch": BATCH,
        "trained_batches": steps,
        "rows": compare(train, rounds, steps, BUCKETS),
        "precision": "float32",
        "rounds": rounds,
        "threads": THREADS,
    } | provenance("epoch")


def show(content: dict) -> None:
    print(
        f"{content['graphs']} molecules; training on {content['trained_batches']} batches of each"
    )
    for row in content["rows"]:
        print(
            f"{row['method']:26}{100 * row['padded_pairs']:5.1f} % of pairs are padding; loading"
            f"{row['loading']['ms']:8.0f} ms, epoch{row['epoch_seconds']:6.1f} s"
            f" × {row['training']['ratio']:.2f}, {100 * row['loading_share']:.1f} % of it loading"
        )


def main() -> None:
    parser = command_line(__doc__, ROUNDS)
    parser.add_argument("--steps", type=int, default=STEPS, help="batches of an epoch to train on")
    args = parser.parse_args()
    content = measure(args.rounds, args.steps)
    show(content)
    store(content, args.out)


if __name__ == "__main__":
    main()
