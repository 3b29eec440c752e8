"""Batches from shards are the batches of the graphs, each of which comes once."""

from __future__ import annotations

import tempfile
import threading
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gtcourse.encodings import (
    AddAnchorDistances,
    AddDegrees,
    AddLaplacianEigenvectors,
    AddPathEdges,
    AddPathTree,
    AddRandomWalks,
    AddRings,
    AddShortestPaths,
    AddSVD,
    encode,
)
from gtcourse.encodings.on_device import encode_batch
from gtcourse.graphs import UNREACHABLE, GraphBatch, collate
from gtcourse.shards import ShardedGraphs, ShardLoader, prepare, read_shard
from tests.graphs.random_graphs import graph_of, graphs
from tests.shards.small import assert_same, dataset, numbered, plain, seen

STORED = (
    AddRings(6),
    AddSVD(2),
    AddAnchorDistances(3),
    AddLaplacianEigenvectors(2),
    AddShortestPaths(),
    AddDegrees(),
    AddPathTree(),
    AddPathEdges(2),
    AddRandomWalks(2),
)
"""A node, a pair and a graph encoding of every type, though not all of them need be stored."""

folder = tempfile.TemporaryDirectory(prefix="shards-")


@cache
def sharded(count: int, rows: int) -> ShardedGraphs:
    """``count`` numbered graphs in shards of ``rows``, written once."""
    path = Path(folder.name, f"{count}-{rows}")
    return prepare(numbered(count), path, rows_per_shard=rows, stored=(), progress=False)


def teardown_module() -> None:
    folder.cleanup()


def stored(data, *transforms) -> ShardedGraphs:
    path = tempfile.mkdtemp(dir=folder.name)
    return prepare(data, path, rows_per_shard=3, stored=transforms, progress=False)


settings_of_a_loader = st.fixed_dictionaries(
    {
        "batch_size": st.integers(1, 12),
        "shards_at_once": st.integers(1, 4),
        "buckets": st.integers(1, 3),
        "shuffle": st.booleans(),
        "seed": st.integers(0, 3),
    }
)
counts, rows = st.integers(1, 40), st.integers(1, 15)


@given(counts, rows, settings_of_a_loader)
def test_every_graph_comes_once_an_epoch_in_as_many_batches_as_are_said(count, rows, settings):
    loader = ShardLoader(sharded(count, rows), "train", **settings)
    for _ in range(3):
        batches = list(loader)
        assert sorted(seen(batches)) == list(range(count))
        assert len(batches) == len(loader)
        assert all(1 <= batch.num_graphs <= settings["batch_size"] for batch in batches)


@given(st.lists(graphs(max_nodes=6), min_size=1, max_size=8), settings_of_a_loader)
def test_a_batch_is_what_collate_makes_of_the_encoded_graphs(drawn, settings):
    drawn = [plain(graph) for graph in drawn]
    for number, graph in enumerate(drawn):
        graph.y = torch.tensor([float(number)])
    direct = encode(drawn, *STORED)
    for batch in ShardLoader(stored(dataset(drawn), *STORED), "train", **settings):
        assert_same(batch, collate([direct[int(number)] for number in batch.y]))


@pytest.mark.parametrize("target", ["graph", "node", "edge"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
@pytest.mark.parametrize("width", [None, 1, 2])
def test_targets_and_features_have_the_shapes_and_types_that_collate_gives_them(
    target, dtype, width
):
    data = numbered(8)
    for graph in data.graphs:
        rows = {"graph": 1, "node": graph.x.shape[0], "edge": graph.edge_index.shape[1]}[target]
        shape = (rows,) if width is None else (rows, width)
        graph.y = (torch.arange(rows * (width or 1)).reshape(shape) % 5).to(dtype)
        graph.x, graph.edge_attr = graph.x.expand(-1, 3) * 100, graph.edge_attr[:, 0].float()
    data = dataset(data.graphs, target=target)
    (batch,) = ShardLoader(stored(data), "train", 8)
    assert_same(batch, collate(data.graphs, target=target))


def test_graphs_without_edge_features_or_edges_make_batches():
    data = numbered(6)
    for graph in data.graphs:
        del graph.edge_attr
        graph.edge_index = graph.edge_index[:, :0]
    (batch,) = ShardLoader(stored(data), "train", 6)
    assert_same(batch, collate(data.graphs))


def test_without_shuffling_the_order_is_that_of_the_data():
    loader = ShardLoader(sharded(23, 4), "train", 5, shards_at_once=2)
    assert seen(loader) == list(range(23))
    assert [batch.num_graphs for batch in loader] == [5, 3, 5, 3, 5, 2]  # 8, 8 and 7 in a group


def test_the_order_is_a_function_of_the_seed_and_the_epoch():
    def order(seed, epoch):
        loader = ShardLoader(sharded(40, 5), "train", 4, shuffle=True, seed=seed, shards_at_once=3)
        loader.set_epoch(epoch)
        return seen(loader)

    assert order(0, 3) == order(0, 3)
    assert order(0, 3) != order(0, 4)
    assert order(0, 3) != order(1, 3)
    loader = ShardLoader(sharded(40, 5), "train", 4, shuffle=True, shards_at_once=3)
    assert [seen(loader) for _ in range(3)] == [order(0, 0), order(0, 1), order(0, 2)]


def test_graphs_of_several_shards_are_mixed():
    (first, *_) = ShardLoader(sharded(40, 5), "train", 10, shuffle=True, shards_at_once=4)
    assert len({int(number) // 5 for number in first.y}) > 2


@given(counts, rows, settings_of_a_loader, st.integers(0, 45), st.integers(1, 3))
def test_a_pass_that_begins_at_a_batch_is_the_rest_of_the_whole_pass(
    count, rows, settings, first, world
):
    world = min(world, count)
    loader = ShardLoader(sharded(count, rows), "train", **settings)
    loader = loader.shard(world - 1, world, even=False)
    loader.set_epoch(2)
    whole = list(loader)
    loader.set_epoch(2, first_batch=first)
    rest = list(loader)
    assert seen(rest) == seen(whole[first:])
    for batch, expected in zip(rest, whole[first:], strict=True):
        assert_same(batch, expected)
    assert len(list(loader)) == len(loader)  # the next pass is a whole one


@given(counts, rows, settings_of_a_loader, st.integers(1, 4))
def test_processes_share_the_graphs_between_them(count, rows, settings, world):
    loader = ShardLoader(sharded(count, rows), "train", **settings)
    for even in (False, True):
        if (min(count, settings["batch_size"]) if even else count) < world:
            with pytest.raises(ValueError, match=f"for {world} processes; expected one or more"):
                loader.shard(0, world, even=even)
            continue
        parts = [loader.shard(rank, world, even=even) for rank in range(world)]
        passes = [list(part) for part in parts]
        assert [len(batches) for batches in passes] == [len(part) for part in parts]
        together = [number for batches in passes for number in seen(batches)]
        assert len(set(together)) == len(together)
        assert len(together) >= count - (world - 1 if even else 0)
        sizes = [[batch.num_graphs for batch in batches] for batches in passes]
        if even:  # a step is one for all of them, of equally many graphs
            assert all(size == sizes[0] for size in sizes)
            assert max(sizes[0]) <= settings["batch_size"] // world


def test_what_is_left_out_differs_from_epoch_to_epoch():
    loader = ShardLoader(sharded(11, 4), "train", 4, shuffle=True)
    parts = [loader.shard(rank, 2, even=True) for rank in range(2)]
    left_out = set()
    for _ in range(12):
        left_out |= set(range(11)) - {number for part in parts for number in seen(part)}
    assert left_out == {8, 9, 10}  # those of the last shard, which cannot be shared evenly


def test_processes_read_few_shards_in_common(monkeypatch):
    loader = ShardLoader(sharded(40, 2), "train", 8, shuffle=True)  # 20 shards
    read = []

    def reading(path, *arguments, **options):
        read.append(path.name)
        return read_shard(path, *arguments, **options)

    monkeypatch.setattr("gtcourse.shards.loader.read_shard", reading)
    for rank in range(8):
        list(loader.shard(rank, 8, even=True))
    assert len(read) <= 16 + 8 * 2  # two of their own each; of the other four, two at most


def test_buckets_put_graphs_of_a_size_together():
    padded = [
        sum(
            batch.mask.numel()
            for batch in ShardLoader(sharded(40, 10), "train", 5, shuffle=True, buckets=k)
        )
        for k in (1, 4)
    ]
    assert padded[1] < 0.8 * padded[0]


def test_within_a_bucket_graphs_are_in_no_order_of_size():
    for batch in ShardLoader(sharded(40, 40), "train", 20, buckets=2):
        assert seen([batch]) == sorted(seen([batch]))
        assert batch.sizes.tolist() != sorted(batch.sizes.tolist())


def test_where_every_pair_is_reached_the_padding_is_not():
    """Their distances are stored as unsigned numbers, and -1 is none."""
    data = dataset([plain(graph_of(2, [(0, 1), (1, 0)])), plain(graph_of(1, []))])
    direct = encode(data.graphs, AddShortestPaths())
    (batch,) = ShardLoader(stored(data, AddShortestPaths()), "train", 2)
    assert batch.encodings["distance"].min() == UNREACHABLE
    assert_same(batch, collate(direct))


def test_drop_last_leaves_out_small_batches():
    loader = ShardLoader(sharded(23, 4), "train", 5, shards_at_once=2, drop_last=True)
    assert [batch.num_graphs for batch in loader] == [5, 5, 5]
    assert len(loader) == 3


def test_what_comes_then_is_done_to_each_batch():
    transforms = (AddShortestPaths(), AddDegrees())
    direct = encode(numbered(12).graphs, *transforms)
    loader = ShardLoader(
        sharded(12, 5), "train", 4, shuffle=True, then=lambda b: encode_batch(b, *transforms)
    )
    for batch in loader:
        assert_same(batch, collate([direct[int(number)] for number in batch.y]))


def test_the_device_is_never_waited_for():
    """A "meta" tensor has no values: a shape that depended on one would be an error."""
    shards = stored(numbered(12), *STORED)
    shapes = [
        [batch.encodings[name].shape for name in ("ring", "svd")]
        for device in ("cpu", "meta")
        for batch in ShardLoader(shards, "train", 5, shuffle=True, buckets=2, device=device)
    ]
    assert shapes[: len(shapes) // 2] == shapes[len(shapes) // 2 :]


def test_each_split_has_its_own_graphs(tmp_path):
    data = numbered(9, [0, 2, 1, 0, 2, 1, 0, 2, 1])
    shards = prepare(data, tmp_path, rows_per_shard=2, stored=(), progress=False)
    for number, split in enumerate(("train", "val", "test")):
        expected = [i for i, each in enumerate(data.split.tolist()) if each == number]
        assert seen(ShardLoader(shards, split, 2)) == expected


def test_of_the_first_graphs_only_those_come():
    shards = sharded(23, 4).first(10)
    assert shards.split_sizes == {"train": 10, "val": 0, "test": 0}
    loader = ShardLoader(shards, "train", 3, shuffle=True)
    for _ in range(3):
        assert sorted(seen(loader)) == list(range(10))


@pytest.mark.parametrize("name", ["batch_size", "shards_at_once", "buckets"])
def test_numbers_below_one_are_refused(name):
    with pytest.raises(ValueError, match=f"{name} is 0; expected a whole number, 1 or more"):
        ShardLoader(sharded(4, 2), "train", **({"batch_size": 2} | {name: 0}))


def test_an_unknown_or_empty_split_is_refused():
    with pytest.raises(ValueError, match="split is 'valid'; expected one of train, val, test"):
        ShardLoader(sharded(4, 2), "valid", 2)
    with pytest.raises(ValueError, match="holds no graphs for 'val'; expected some"):
        ShardLoader(sharded(4, 2), "val", 2)


def reading_threads() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name.startswith("shards")]


def test_no_thread_is_left_when_the_consumer_stops_early():
    batches = iter(ShardLoader(sharded(40, 2), "train", 1, shards_at_once=2))
    assert isinstance(next(batches), GraphBatch)
    assert reading_threads()
    batches.close()
    assert not reading_threads()


def test_a_fault_in_the_reading_thread_reaches_the_consumer():
    shards = sharded(8, 2)
    damaged = replace(shards.shards["train"][3], sha256="0" * 64)
    shards = replace(
        shards, shards=shards.shards | {"train": (*shards.shards["train"][:3], damaged)}
    )
    batches = iter(ShardLoader(shards, "train", 2, shards_at_once=1))
    for _ in range(3):
        next(batches)
    with pytest.raises(ValueError, match=r"shard .*train-00003.parquet is damaged: its sha256"):
        next(batches)
    assert not reading_threads()


def test_all_that_the_order_depends_on_is_in_its_sentence():
    def order(rows=3, world=1, **changes):
        options = {"batch_size": 4, "shuffle": True, "seed": 0, "buckets": 1, "drop_last": False}
        loader = ShardLoader(sharded(20, rows), "train", **(options | changes))
        return loader.shard(0, world, even=True).order

    changes = [{}, {"batch_size": 5}, {"shuffle": False}, {"seed": 1}, {"buckets": 2},
               {"drop_last": True}, {"shards_at_once": 2}, {"rows": 4}, {"world": 2}]  # fmt: skip
    assert len({order(**change) for change in changes}) == len(changes)
