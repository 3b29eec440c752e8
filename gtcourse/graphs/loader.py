"""Batches from a data set that lies padded on the device as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from torch_geometric.data import Data

from gtcourse.graphs.batch import GraphBatch, collate
from gtcourse.graphs.checks import check_graphs, check_vocabulary, target_level


class DenseLoader:
    """Iterates over batches of a data set that is padded once and kept on the device.

    A batch is an indexing operation, so the accelerator never waits for Python to collate. Each
    batch is cut to its own largest graph.

    Args:
        graphs: PyG graphs, as :func:`collate` takes them.
        batch_size: graphs in a batch; the last may be smaller.
        device: where the data lie and the batches are made.
        shuffle: a new order each epoch, a function of ``seed`` and the epoch alone.
        seed: of the order.
        buckets: the data are cut by size into this many parts of (almost) equal count, and a batch
            takes its graphs from one of them: less padding, but a batch's graphs are alike in size.
        drop_last: leave out batches of fewer than ``batch_size`` graphs.
        num_node_types, num_edge_types: refuse categories beyond these, as :func:`collate` does.

    Raises:
        ValueError: no graphs, a malformed graph, or ``batch_size`` or ``buckets`` below 1.
    """

    def __init__(
        self,
        graphs: Sequence[Data],
        batch_size: int,
        *,
        device: torch.device | str = "cpu",
        shuffle: bool = False,
        seed: int = 0,
        buckets: int = 1,
        drop_last: bool = False,
        num_node_types: int | None = None,
        num_edge_types: int | None = None,
    ):
        for name, value in (("batch_size", batch_size), ("buckets", buckets)):
            if value < 1:
                raise ValueError(f"{name} is {value}; expected 1 or more.")
        check_graphs(graphs)
        for name, size in (("x", num_node_types), ("edge_attr", num_edge_types)):
            if size is not None:
                check_vocabulary(graphs, name, size)
        # Once for the whole data set: a part of it might look like another kind of target.
        target = target_level(graphs, None)
        self.num_graphs = len(graphs)
        self.batch_size, self.shuffle, self.seed, self.drop_last = (
            batch_size,
            shuffle,
            seed,
            drop_last,
        )
        self.epoch = 0
        sizes = torch.tensor([graph.x.shape[0] for graph in graphs])
        # Without shuffling the order given is kept, unless buckets reorder it.
        order = sizes.argsort(stable=True) if buckets > 1 else torch.arange(len(graphs))
        parts = order.tensor_split(min(buckets, len(graphs)))
        self._buckets = [
            collate([graphs[i] for i in part], target=target).to(device) for part in parts
        ]
        # On the CPU, so that cutting a batch to size never waits for the device.
        self._sizes = [sizes[part] for part in parts]

    def set_epoch(self, epoch: int) -> None:
        """Chooses the order of the next pass; without it, each pass moves on to the next."""
        self.epoch = epoch

    def __len__(self) -> int:
        return sum(len(self._cut(len(sizes))) for sizes in self._sizes)

    def __iter__(self) -> Iterator[GraphBatch]:
        generator = torch.Generator().manual_seed(1_000_003 * self.seed + self.epoch)
        self.epoch += 1
        batches = [
            (bucket, index)
            for bucket, sizes in enumerate(self._sizes)
            for index in self._batches(len(sizes), generator)
        ]
        order = range(len(batches))
        if self.shuffle:
            order = torch.randperm(len(batches), generator=generator).tolist()
        for place in order:
            bucket, index = batches[place]
            whole, longest = self._buckets[bucket], int(self._sizes[bucket][index].max())
            yield whole.trim(longest).select(index.to(whole.mask.device))

    def _batches(self, count: int, generator: torch.Generator) -> Sequence[Tensor]:
        order = torch.arange(count)
        if self.shuffle:
            order = torch.randperm(count, generator=generator)
        return [order[start : start + self.batch_size] for start in self._cut(count)]

    def _cut(self, count: int) -> range:
        """Where the batches of ``count`` graphs start."""
        whole = count - count % self.batch_size if self.drop_last else count
        return range(0, whole, self.batch_size)
