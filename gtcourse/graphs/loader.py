"""Padded batches of many graphs, gathered from ragged tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy

import torch
from torch import Tensor
from torch_geometric.data import Data

from gtcourse.graphs.arguments import (
    Target,
    check_bools,
    check_device,
    check_function,
    whole_number,
)
from gtcourse.graphs.batch import GraphBatch
from gtcourse.graphs.dataset import GraphDataset, RaggedGraphs, checked
from gtcourse.graphs.digest import sha256_of


class DenseLoader:
    """Iterates over padded batches of many graphs.

    PyG graphs are laid end to end on the device once, and a batch is gathered there: Python never
    collates, and memory grows with the data. From a folder (:func:`gtcourse.graphs.open_graphs`), a
    batch is gathered from the mapped files and moved to the device, so the data may be larger than
    memory. Each batch is as wide as its own largest graph.

    Args:
        graphs: PyG graphs, as :func:`collate` takes them, or a split of a folder.
        batch_size: graphs in a batch; the last may be smaller.
        device: where the batches are.
        shuffle: a new order each epoch, a function of ``seed`` and the epoch alone.
        seed: of the order; without ``shuffle`` it has no effect, so that one call can make the
            loaders of all splits.
        buckets: the data are sorted by size into this many buckets of (almost) equal count, and
            each batch comes from one of them: less padding, but a batch's graphs are similar in
            size. At most one for each full batch. With 1, the default here and on the command
            line, batches are drawn from all graphs; batch norm and a loss of few graphs suffer
            from batches of one size.
        drop_last: leave out batches of fewer than ``batch_size`` graphs.
        static_shapes: all batches of a bucket are as wide as its largest graph, so that a compiled
            model meets as many shapes as there are buckets (with ``drop_last``, no more).
        target: as in :func:`collate`.
        then: applied to each batch, such as ``lambda b: encode_batch(b, AddShortestPaths())``.

    Raises:
        ValueError: no graphs, a malformed graph, or an invalid argument.
    """

    def __init__(
        self,
        graphs: Sequence[Data] | GraphDataset,
        batch_size: int,
        *,
        device: torch.device | str = "cpu",
        shuffle: bool = False,
        seed: int = 0,
        buckets: int = 1,
        drop_last: bool = False,
        static_shapes: bool = False,
        target: Target | None = None,
        then: Callable[[GraphBatch], GraphBatch] | None = None,
    ):
        batch_size = whole_number("batch_size", batch_size, 1)
        buckets = whole_number("buckets", buckets, 1)
        seed = whole_number("seed", seed, 0)
        check_bools(shuffle=shuffle, drop_last=drop_last, static_shapes=static_shapes)
        if then is not None:
            check_function("then", then, 1, "a function of a batch")
        check_device(device)
        self._streamed = isinstance(graphs, RaggedGraphs)
        self._data = checked(graphs, target)
        if not self._streamed:
            self._data = self._data.to(device)
        self.num_graphs = len(self._data)
        if self.num_graphs == 0:
            raise ValueError("the split has no graphs; expected at least one.")
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.seed = seed
        self.drop_last = drop_last
        self.static_shapes = static_shapes
        self.then = then
        self._device = device
        self.epoch = 0
        self.first_batch = 0
        self._rank = 0
        self._world = 1
        self._even = False
        self._check: Callable[[Tensor, Tensor | None], None] | None = None
        # Without shuffling the order given is kept, unless buckets reorder it.
        rows = torch.arange(self.num_graphs)
        if buckets > 1:
            rows = rows[self._data.num_nodes[rows].argsort(stable=True)]
        self._buckets = list(rows.tensor_split(min(buckets, max(len(rows) // batch_size, 1))))

    def set_epoch(self, epoch: int, first_batch: int = 0) -> None:
        """Chooses the order of the next pass, and the batch at which it begins.

        Without it, each pass moves on to the next epoch.

        Raises:
            ValueError: A number is negative, or there are not so many batches.
        """
        self.epoch = whole_number("epoch", epoch, 0)
        self.first_batch = whole_number("first_batch", first_batch, 0)
        if self.first_batch > len(self):
            raise ValueError(
                f"first_batch is {first_batch}; expected at most {len(self)}, the number of "
                "batches."
            )

    def check_masks(self) -> None:
        """Raises a ValueError if the graphs have masks of nodes, as :class:`RaggedGraphs` does."""
        self._data.check_masks()

    def check_features(self, model: object) -> None:
        """Raises a ValueError if a graph has a feature that the model does not know.

        Graphs in memory are read now, all of them; those of a folder as their batches come, before
        these are moved to the device.
        """
        if self._streamed:
            self._check = getattr(model, "check_features", None)
        else:
            self._data.check_features(model)

    def shard(self, rank: int, world: int, *, even: bool) -> DenseLoader:
        """The same batches, of which this process has every ``world``-th graph.

        ``even`` for training: a batch of fewer graphs than processes is left out, so that every
        process takes part in every batch. Raises a ValueError if there are too few graphs.
        """
        world = whole_number("world", world, 1)
        rank = whole_number("rank", rank, 0)
        check_bools(even=even)
        if rank >= world:
            raise ValueError(f"rank is {rank}, and world is {world}; expected a rank below world.")
        fewest = min(self.num_graphs, self.batch_size) if even else self.num_graphs
        if fewest < world:
            raise ValueError(
                f"{fewest} graphs for {world} processes; expected at least one for each."
            )
        shard = copy(self)
        shard._rank = rank
        shard._world = world
        shard._even = even
        return shard

    @property
    def order(self) -> str:
        """Everything that the order of the graphs depends on, for runs that are resumed."""
        by = f"shuffled by seed {self.seed}" if self.shuffle else "in the order given"
        return (
            f"{self.num_graphs} graphs {by} in {len(self._buckets)} bucket(s), batches of "
            f"{self.batch_size}{', all full' * self.drop_last}, {self._world} process(es)"
        )

    def digest(self) -> str:
        """SHA-256 of what a model is trained on: sizes, edges, features and targets.

        Of a folder, whose graphs are not in memory, sizes and graph targets alone.
        """
        names = [] if self._streamed else ["x", "edge_attr"]
        parts = [self._data.num_nodes, self._data.num_edges]
        if not self._streamed:
            parts.append(torch.stack([*self._data.edge_index]))
        parts += [self._data.columns[name] for name in names if name in self._data.columns]
        if self.targets is not None:
            parts.append(self.targets)
        return sha256_of(parts)

    def digest_of_encodings(self) -> dict[str, str]:
        """SHA-256 of each encoding that the graphs have, by name; of a folder only the names."""
        encodings = {}
        for name, column in self._data.columns.items():
            if name not in ("x", "edge_attr", "y", "split"):
                encodings[name] = "" if self._streamed else sha256_of([column])
        return dict(sorted(encodings.items()))

    @property
    def has_targets(self) -> bool:
        return "y" in self._data.columns

    @property
    def targets(self) -> Tensor | None:
        """Targets of all graphs, ``[G]`` or ``[G, T]``, or those of nodes or edges, flat.

        None if there are none, and for node and edge targets in a folder: too many to read.
        """
        data = self._data
        y = data.columns.get("y")
        if y is None or (self._streamed and data.target != "graph"):
            return None
        y = y.to(data.dtypes.get("y", y.dtype))
        return y[data.starts["graph"]] if data.target == "graph" else y.ravel()

    def __len__(self) -> int:
        return sum(len(self._starts(len(bucket))) for bucket in self._buckets)

    def graphs_of_batches(self, epoch: int) -> list[Tensor]:
        """The graphs of each batch of an epoch, as numbers from 0, over all processes."""
        return [rows for _, rows in self._batches(whole_number("epoch", epoch, 0))]

    def _batches(self, epoch: int) -> list[tuple[int, Tensor]]:
        """The bucket and the graphs of each batch of an epoch, over all processes."""
        generator = torch.Generator().manual_seed((1_000_003 * self.seed + epoch) % 2**63)
        orders = [bucket[self._order(len(bucket), generator)] for bucket in self._buckets]
        batches = [
            (bucket, order[start : start + self.batch_size])
            for bucket, order in enumerate(orders)
            for start in self._starts(len(order))
        ]
        return [batches[place] for place in self._order(len(batches), generator).tolist()]

    def __iter__(self) -> Iterator[GraphBatch]:
        batches = self._batches(self.epoch)[self.first_batch :]
        self.set_epoch(self.epoch + 1)
        # Moved once for all batches: a transfer for each would make the device wait.
        graphs = [rows for _, rows in batches]
        moved = torch.cat([*graphs, torch.empty(0, dtype=torch.long)]).to(self._data.device)
        on_device = moved.split([len(rows) for rows in graphs])
        for (bucket, graphs_of_batch), copied in zip(batches, on_device, strict=True):
            index = graphs_of_batch[self._rank :: self._world]
            if len(index):
                widest = self._buckets[bucket] if self.static_shapes else index
                num_nodes = int(self._data.num_nodes[widest].max())
                rows = copied[self._rank :: self._world]
                batch = self._data.batch(index, rows, num_nodes)
                if self._check is not None:
                    self._check_batch(batch, index)
                batch = batch.to(self._device)
                if self.then is not None:
                    batch = self.then(batch)
                    if not isinstance(batch, GraphBatch):
                        what = "None" if batch is None else f"a {type(batch).__name__}"
                        raise ValueError(f"then returned {what}; expected a GraphBatch.")
                yield batch

    def _check_batch(self, batch: GraphBatch, numbers: Tensor) -> None:
        """Checks the features of the graphs of these numbers; the sentence names the graph."""
        assert self._check is not None
        try:
            self._check(*_features_of(batch))
        except ValueError:
            for row, number in enumerate(numbers.tolist()):
                try:
                    self._check(*_features_of(batch.select(torch.tensor([row]))))
                except ValueError as fault:
                    raise ValueError(f"graph {number} of the split: {fault}") from None
            raise

    def _order(self, count: int, generator: torch.Generator) -> Tensor:
        return torch.randperm(count, generator=generator) if self.shuffle else torch.arange(count)

    def _starts(self, count: int) -> range:
        """Where the batches of ``count`` graphs start."""
        rest = count % self.batch_size
        left_out = self.drop_last or (self._even and rest < self._world)
        return range(0, count - rest if left_out else count, self.batch_size)


def _features_of(batch: GraphBatch) -> tuple[Tensor, Tensor | None]:
    """The features of real nodes, ``[ΣN, F]``, and of edges, ``[ΣE, F_e]``."""
    edge_attr = batch.edge_attr
    if edge_attr is not None:
        edge_attr = edge_attr[batch.adjacency]
    return batch.x[batch.mask], edge_attr
