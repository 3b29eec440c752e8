"""Padded batches of many graphs, gathered from ragged tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy

import torch
from torch import Tensor
from torch_geometric.data import Data

from gtcourse.graphs.arguments import a_device, a_seed, at_least, truth
from gtcourse.graphs.batch import (
    GraphBatch,
    RaggedTensors,
    Target,
    check_graphs,
    check_vocabulary,
    listed,
    target_level,
)
from gtcourse.graphs.mapped import MappedSplit

BUCKETS, FULL_BATCHES = 8, 8
"""Buckets by default, where each has as many batches."""


class DenseLoader:
    """Iterates over padded batches of many graphs.

    Graphs given as PyG ``Data`` are laid end to end on the device once, and a batch is gathered
    there: Python never collates, and memory grows with the data. Of a folder
    (:func:`gtcourse.graphs.open_graphs`), a batch is gathered from the mapped files and moved to
    the device, so the data may be larger than memory. Each batch is as wide as its own largest
    graph.

    Args:
        graphs: PyG graphs, as :func:`collate` takes them, or a split of a folder.
        batch_size: graphs in a batch; the last may be smaller.
        device: where the batches are.
        shuffle: a new order each epoch, a function of ``seed`` and the epoch alone.
        seed: of the order.
        buckets: the data are cut by size into this many parts of (almost) equal count, and a batch
            takes its graphs from one of them: less padding, but a batch's graphs are alike in size.
            At most one for each full batch. By default 8 where graphs are shuffled and each bucket
            has 8 batches or more, else 1, which keeps the order of the graphs.
        drop_last: leave out batches of fewer than ``batch_size`` graphs.
        few_shapes: all batches of a bucket are as wide as its largest graph, so that a compiled
            model meets as many shapes as there are buckets (with ``drop_last``, no more).
        target, num_node_types, num_edge_types: as :func:`collate` has them.
        then: applied to each batch, such as ``lambda b: encode_batch(b, AddShortestPaths())``.

    Raises:
        ValueError: no graphs, a malformed graph, or an invalid argument.
    """

    def __init__(
        self,
        graphs: Sequence[Data] | MappedSplit,
        batch_size: int,
        *,
        device: torch.device | str = "cpu",
        shuffle: bool = False,
        seed: int = 0,
        buckets: int | None = None,
        drop_last: bool = False,
        few_shapes: bool = False,
        target: Target | None = None,
        num_node_types: int | None = None,
        num_edge_types: int | None = None,
        then: Callable[[GraphBatch], GraphBatch] | None = None,
    ):
        at_least(1, batch_size=batch_size, **({} if buckets is None else {"buckets": buckets}))
        a_seed(seed=seed)
        truth(shuffle=shuffle, drop_last=drop_last, few_shapes=few_shapes)
        a_device(device)
        if isinstance(graphs, MappedSplit):
            self._data, rows = graphs.tensors, graphs.rows
            if len(rows) == 0:
                raise ValueError(f"{graphs.name} has no graphs; expected at least one.")
        else:
            graphs = listed(graphs)
            check_graphs(graphs)
            for name, size in (("x", num_node_types), ("edge_attr", num_edge_types)):
                if size is not None:
                    check_vocabulary(graphs, name, size)
            self._data = RaggedTensors.of(graphs, target_level(graphs, target)).to(device)
            rows = torch.arange(len(graphs))
        self.num_graphs = len(rows)
        self.batch_size, self.shuffle, self.seed = batch_size, shuffle, seed
        self.drop_last, self.few_shapes, self.then = drop_last, few_shapes, then
        self.epoch, self.first_batch = 0, 0
        self._rank, self._world, self._even = 0, 1, False
        self._device = device
        if buckets is None:
            enough = shuffle and self.num_graphs >= BUCKETS * FULL_BATCHES * batch_size
            buckets = BUCKETS if enough else 1
        # Without shuffling the order given is kept, unless buckets reorder it.
        if buckets > 1:
            rows = rows[self._data.num_nodes[rows].argsort(stable=True)]
        self._buckets = list(rows.tensor_split(min(buckets, max(len(rows) // batch_size, 1))))

    def set_epoch(self, epoch: int, first_batch: int = 0) -> None:
        """Chooses the order of the next pass; without it, each pass moves on to the next.

        Args:
            first_batch: the pass begins there, as one does that was interrupted before it.
        """
        self.epoch, self.first_batch = epoch, first_batch

    def shard(self, rank: int, world: int, *, even: bool) -> DenseLoader:
        """The same batches, of which this process has every ``world``-th graph.

        Args:
            rank: which process this is; world: how many there are.
            even: every process has its part of each batch, as training needs it: a batch of fewer
                graphs than processes is left out. Otherwise such a batch is none for some of them.

        Raises:
            ValueError: there are fewer graphs than processes, or in a batch that all have to share.
        """
        refuse_empty_shares(self.num_graphs, self.batch_size if even else None, world)
        part = copy(self)
        part._rank, part._world, part._even = rank, world, even
        return part

    @property
    def order(self) -> str:
        """All that the order of the graphs depends on; a run is continued with the same alone."""
        by = f"shuffled by seed {self.seed}" if self.shuffle else "in the order given"
        return (
            f"{self.num_graphs} graphs {by} in {len(self._buckets)} bucket(s), batches of "
            f"{self.batch_size}{', all full' * self.drop_last}, {self._world} process(es)"
        )

    @property
    def targets(self) -> Tensor | None:
        """Targets of all graphs: ``[G]`` or ``[G, T]``, or those of nodes or edges, flat.

        None where there are none, and for node and edge targets in a folder: too many to read.
        """
        level = self._data.target
        y = self._data.arrays[level].get("y")
        if y is not None and level == "graph":
            return y[torch.cat(self._buckets).to(y.device)].to(self._data.dtypes["y"])
        held = len(self._data.num_nodes) == self.num_graphs
        return None if y is None or not held else y.ravel().to(self._data.dtypes["y"])

    def __len__(self) -> int:
        return sum(len(self._cut(len(bucket))) for bucket in self._buckets)

    def __iter__(self) -> Iterator[GraphBatch]:
        generator = torch.Generator().manual_seed(1_000_003 * self.seed + self.epoch)
        first_batch = self.first_batch
        self.set_epoch(self.epoch + 1)
        orders = [bucket[self._order(len(bucket), generator)] for bucket in self._buckets]
        # Moved once for each bucket: a transfer for each batch would make the device wait.
        moved = [order.to(self._data.device) for order in orders]
        batches = [
            (bucket, start)
            for bucket, order in enumerate(orders)
            for start in self._cut(len(order))
        ]
        places = self._order(len(batches), generator).tolist()
        for bucket, start in (batches[place] for place in places[first_batch:]):
            rows = slice(start + self._rank, start + self.batch_size, self._world)
            index = orders[bucket][rows]
            if len(index):
                widest = self._buckets[bucket] if self.few_shapes else index
                num_nodes = int(self._data.num_nodes[widest].max())
                batch = self._data.batch(index, moved[bucket][rows], num_nodes).to(self._device)
                yield batch if self.then is None else self.then(batch)

    def _order(self, count: int, generator: torch.Generator) -> Tensor:
        return torch.randperm(count, generator=generator) if self.shuffle else torch.arange(count)

    def _cut(self, count: int) -> range:
        """Where the batches of ``count`` graphs start."""
        rest = count % self.batch_size
        left_out = self.drop_last or (self._even and rest < self._world)
        return range(0, count - rest if left_out else count, self.batch_size)


def refuse_empty_shares(graphs: int, batch_size: int | None, world: int) -> None:
    """Refuses more processes than graphs, or than a batch has, where one is to be shared."""
    fewest = graphs if batch_size is None else min(graphs, batch_size)
    if fewest < world:
        where = "" if batch_size is None else " in a batch"
        raise ValueError(
            f"there are {fewest} graphs{where} for {world} processes; expected one or more for "
            "each."
        )
