"""Batches from shards: a few are on the device at a time, while the next are being read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from typing import NamedTuple

import torch
from torch import Tensor

from gtcourse.graphs.arguments import a_device, a_seed, at_least, truth
from gtcourse.graphs.batch import GraphBatch
from gtcourse.graphs.loader import refuse_empty_shares
from gtcourse.graphs.ragged import SPLITS
from gtcourse.shards.dataset import ShardedGraphs
from gtcourse.shards.format import Shard, ShardGraphs, read_shard
from gtcourse.shards.group import Group


class Span(NamedTuple):
    """Rows of a shard, from ``start`` to before ``stop``."""

    shard: Shard
    start: int
    stop: int


class ShardLoader:
    """Iterates over batches of a split in shards, as :class:`DenseLoader` does over graphs.

    Some shards at a time are a *group*: its graphs lie end to end on the device, in the few bits
    they are stored in, and a batch is gathered from them there. A thread reads the next group
    meanwhile. With ``shuffle`` the shards come in a new order each epoch, and the graphs of a group
    too; a shard shorter than the others stays last, so that every epoch has as many batches. A
    batch holds graphs of one group, whose last batch may be smaller.

    The order is a function of ``seed``, the epoch, ``batch_size``, ``buckets``, ``shards_at_once``
    and the number of processes alone, so a pass can begin at any of its batches (:meth:`set_epoch`)
    without reading what lies before.

    Args:
        sharded: :func:`gtcourse.shards.open_shards`.
        split: "train", "val" or "test".
        batch_size: graphs in a batch, of all processes together.
        device: where the batches are made.
        shuffle, seed: of the order.
        shards_at_once: shards in a group: the more, the better shuffled, and the more memory.
        buckets: a group is cut by size into this many parts of (almost) equal count, and a batch
            takes its graphs from one of them: less padding.
        drop_last: leave out batches of fewer than ``batch_size`` graphs.
        then: what is done to each batch, such as
            ``lambda batch: encode_batch(batch, AddShortestPaths())``.

    Raises:
        ValueError: there is no such split, it is empty, or a number is below 1. While iterating:
            a shard is damaged, or missing (``FileNotFoundError``); the sentence names it.
    """

    def __init__(
        self,
        sharded: ShardedGraphs,
        split: str,
        batch_size: int,
        *,
        device: torch.device | str = "cpu",
        shuffle: bool = False,
        seed: int = 0,
        shards_at_once: int = 8,
        buckets: int = 1,
        drop_last: bool = False,
        then: Callable[[GraphBatch], GraphBatch] | None = None,
    ):
        numbers = {"batch_size": batch_size, "shards_at_once": shards_at_once, "buckets": buckets}
        at_least(1, **numbers)
        a_seed(seed=seed)
        truth(shuffle=shuffle, drop_last=drop_last)
        a_device(device)
        if split not in SPLITS:
            raise ValueError(f"split is {split!r}; expected one of {', '.join(SPLITS)}.")
        self.num_graphs = sharded.split_sizes[split]
        if self.num_graphs == 0:
            raise ValueError(f"{sharded.folder} holds no graphs for {split!r}; expected some.")
        self.batch_size, self.shuffle, self.seed = batch_size, shuffle, seed
        self.device, self.shards_at_once = device, shards_at_once
        self.buckets, self.drop_last, self.then = buckets, drop_last, then
        self.epoch, self.first_batch = 0, 0
        self._folder, self._shards = sharded.folder, sharded.shards[split]
        self._rank, self._world, self._even = 0, 1, False

    def set_epoch(self, epoch: int, first_batch: int = 0) -> None:
        """Chooses the order of the next pass; without it, each pass moves on to the next.

        Args:
            first_batch: the pass begins there, as one does that was interrupted before it.
        """
        self.epoch, self.first_batch = epoch, first_batch

    def shard(self, rank: int, world: int, *, even: bool) -> ShardLoader:
        """This process's part of the graphs, in batches of ``batch_size // world``.

        Each process has shards of its own, as long as they divide evenly, and a run of rows of the
        rest.

        Args:
            rank: which process this is; world: how many there are.
            even: all processes have equally many batches of equally many graphs, as training needs
                it; up to ``world - 1`` graphs, other ones each epoch, are left out.

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
            f"{self.num_graphs} graphs {by} in {len(self._shards)} shard(s), {self.shards_at_once} "
            f"at once, {self.buckets} bucket(s), batches of {self.batch_size}"
            f"{', all full' * self.drop_last}, {self._world} process(es)"
        )

    def __len__(self) -> int:
        return sum(len(self._cut(rows)) for rows in self._group_sizes())

    def __iter__(self) -> Iterator[GraphBatch]:
        generator = torch.Generator().manual_seed(1_000_003 * self.seed + self.epoch)
        first_batch = self.first_batch
        self.set_epoch(self.epoch + 1)
        passes = self._passes(self._groups(generator), generator, first_batch)
        with ThreadPoolExecutor(1, thread_name_prefix="shards") as thread:
            ahead = thread.submit(self._read, passes[0][0]) if passes else None
            for number, (_, order, batches) in enumerate(passes, start=1):
                group = Group(ahead.result(), self.device)
                if number < len(passes):
                    ahead = thread.submit(self._read, passes[number][0])
                parts = self._parts(group.sizes, order)
                # Moved once for each group: a transfer for each batch would make the device wait.
                moved = [part.to(self.device) for part in parts]
                for bucket, rows in batches:
                    batch = group.batch(parts[bucket][rows], moved[bucket][rows])
                    yield batch if self.then is None else self.then(batch)

    def _passes(
        self, groups: list[list[Span]], generator: torch.Generator, first_batch: int
    ) -> list[tuple[list[Span], Tensor, list[tuple[int, slice]]]]:
        """Each group with the order of its graphs and its batches, from ``first_batch`` on."""
        passes = []
        for spans in groups:
            order = self._order(sum(span.stop - span.start for span in spans), generator)
            batches = self._cut(len(order))
            batches = [batches[i] for i in self._order(len(batches), generator).tolist()]
            if first_batch < len(batches):
                passes.append((spans, order, batches[first_batch:]))
            first_batch = max(0, first_batch - len(batches))
        return passes

    def _order(self, count: int, generator: torch.Generator) -> Tensor:
        return torch.randperm(count, generator=generator) if self.shuffle else torch.arange(count)

    def _cut(self, count: int) -> list[tuple[int, slice]]:
        """The batches of a group of ``count`` graphs: a bucket, and rows of it."""
        size = max(1, self.batch_size // self._world)
        least, over = divmod(count, self.buckets)  # as tensor_split cuts
        left_out = size - 1 if self.drop_last else 0
        return [
            (bucket, slice(start, start + size))
            for bucket in range(self.buckets)
            for start in range(0, least + (bucket < over) - left_out, size)
        ]

    def _parts(self, sizes: Tensor, order: Tensor) -> list[Tensor]:
        """The rows of each bucket, in the order given."""
        if self.buckets == 1:
            return [order]
        by_size = sizes[order].argsort(stable=True)
        return [order[places.sort().values] for places in by_size.tensor_split(self.buckets)]

    def _read(self, spans: list[Span]) -> list[tuple[ShardGraphs, int, int]]:
        return [
            (read_shard(self._folder / shard.name, shard.sha256, smiles=False), start, stop)
            for shard, start, stop in spans
        ]

    def _group_sizes(self) -> list[int]:
        """How many graphs each group has, in every epoch."""
        whole, _ = self._alike()
        units = [whole[0].kept] * (len(whole) // self._world)
        units += [share] if (share := self._share()[1]) else []
        at_once = self.shards_at_once
        return [sum(units[i : i + at_once]) for i in range(0, len(units), at_once)]

    def _groups(self, generator: torch.Generator) -> list[list[Span]]:
        """Which rows of which shards this process reads together, in one epoch."""
        whole, short = self._alike()
        whole = [whole[i] for i in self._order(len(whole), generator).tolist()]
        dealt = len(whole) // self._world * self._world
        units = [[Span(shard, 0, shard.kept)] for shard in whole[self._rank : dealt : self._world]]
        start, count = self._share()
        if count:
            units.append(self._run(whole[dealt:] + short, start, count, generator))
        at_once = self.shards_at_once
        groups = [units[i : i + at_once] for i in range(0, len(units), at_once)]
        return [[span for unit in group for span in unit] for group in groups]

    def _alike(self) -> tuple[list[Shard], list[Shard]]:
        """The shards with as many graphs as the first, and the one with fewer, if there is one."""
        shards = list(self._shards)
        short = shards[-1].kept < shards[0].kept
        return (shards[:-1], shards[-1:]) if short else (shards, [])

    def _share(self) -> tuple[int, int]:
        """Where this process's run of the rows begins that are not dealt by shards; its length."""
        whole, short = self._alike()
        rows = len(whole) % self._world * whole[0].kept + sum(shard.kept for shard in short)
        share, over = divmod(rows, self._world)
        if self._even:
            return self._rank * share, share
        return self._rank * share + min(self._rank, over), share + (self._rank < over)

    def _run(
        self, shards: list[Shard], start: int, count: int, generator: torch.Generator
    ) -> list[Span]:
        """``count`` rows of the shards end to end; the last row is followed by the first."""
        total = sum(shard.kept for shard in shards)
        if self.shuffle:  # what is left out at the end is then not the same in every epoch
            start += int(torch.randint(total, (1,), generator=generator))
        spans, passed = [], 0
        for shard in shards * 2:
            low, high = max(start - passed, 0), min(start + count - passed, shard.kept)
            if low < high:
                spans.append(Span(shard, low, high))
            passed += shard.kept
        return spans
