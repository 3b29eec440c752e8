"""An epoch from end to end, and what of it is loading: ``python -m speed.epoch``.

``graphormer-100k`` on the 10,000 training molecules in batches of 64, one thread, shuffled:

1. the data padded once and held, in 1, 4 and 16 buckets by size (:class:`DenseLoader`);
2. the same graphs, encodings and all, collated for every batch (:func:`collate` in torch's
   ``DataLoader``, no workers: one thread is what every method has).

They take turns: a pass over all batches without a model, and then, with a training step each, over
the first ``--steps`` batches of an epoch, from which the epoch's time is calculated.
"""

from collections import deque
from collections.abc import Iterable
from functools import partial
from itertools import islice

import torch
from torch.utils.data import DataLoader
from torch_geometric.data import Data

from gtcourse import DenseLoader, GraphBatch, collate, load_dataset
from gtcourse.encodings import encode
from speed.measure import Step, in_turn, run
from speed.subjects import BATCH, ENTRIES, l1_loss

MODEL = ENTRIES["graphormer"]
BUCKETS = (1, 4, 16)
Loader = Iterable[GraphBatch]


def loaders(graphs: list[Data]) -> dict[str, Loader]:
    """All of the same graphs, in batches of ``BATCH``, shuffled."""
    padded = {
        f"padded once, {count} bucket{'s' if count > 1 else ''}": DenseLoader(
            graphs, BATCH, shuffle=True, buckets=count
        )
        for count in BUCKETS
    }
    each = DataLoader(graphs, BATCH, shuffle=True, collate_fn=collate)
    return padded | {"collated for each batch": each}


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


def compare(graphs: list[Data], rounds: int, steps: int) -> list[dict]:
    given = loaders(graphs)
    passes = {name: partial(deque, loader, maxlen=0) for name, loader in given.items()}
    epochs = {name: training(loader, steps) for name, loader in given.items()}
    loading, trained = (in_turn(each, rounds, warm_up=1) for each in (passes, epochs))
    rows = []
    for name, loader in given.items():
        part = min(1, steps / len(loader))  # of the epoch, that was trained on
        read = loading[name]
        train = trained[name]
        row = {"method": name, "batches": len(loader), "loading": read, "training": train}
        row["epoch_seconds"] = round(train["ms"] / part / 1000, 2)
        row["loading_share"] = round(read["ms"] * part / train["ms"], 4)
        row["graphs_per_second"] = round(1000 * part * len(graphs) / train["ms"])
        rows.append(row)
    return rows


def measure(rounds: int, steps: int, graphs: int) -> dict:
    train = encode(load_dataset("molecules").train[:graphs], *MODEL.transforms)
    return {"model": MODEL.name, "batch": BATCH, "rows": compare(train, rounds, steps)}


if __name__ == "__main__":
    run("epoch", measure, rounds=3, steps=40, graphs=10_000)
