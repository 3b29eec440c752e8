from inspect import signature

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gtcourse.cli import BUCKETS
from gtcourse.graphs import DenseLoader
from gtcourse.runs.run import train
from tests.graphs.small import graph_of


def numbered(count: int):
    """Graphs of different sizes, each with its number as the target."""
    graphs = [graph_of(1 + 7 * i % 5, [(0, 0)], seed=i) for i in range(count)]
    for i, graph in enumerate(graphs):
        graph.y = torch.tensor([float(i)])
    return graphs


@given(st.integers(1, 30), st.integers(1, 9), st.integers(1, 4), st.booleans())
def test_each_epoch_has_every_graph_once(count, batch_size, buckets, shuffle):
    loader = DenseLoader(numbered(count), batch_size, buckets=buckets, shuffle=shuffle)
    for _ in range(2):
        batches = list(loader)
        assert len(batches) == len(loader)
        seen = torch.cat([batch.y for batch in batches]).sort().values
        assert seen.tolist() == list(range(count))


def test_one_call_makes_the_loaders_of_all_splits():
    """A seed has no effect without shuffling."""
    train, val = (DenseLoader(numbered(9), 4, shuffle=shuffle, seed=1) for shuffle in (True, False))
    assert torch.cat([batch.y for batch in val]).tolist() == [*range(9)]
    assert torch.cat([batch.y for batch in train]).tolist() != [*range(9)]


def test_order_depends_only_on_seed_and_epoch():
    def order(seed, epoch):
        loader = DenseLoader(numbered(30), 4, shuffle=True, seed=seed)
        loader.set_epoch(epoch)
        return torch.cat([batch.y for batch in loader]).tolist()

    assert order(0, 3) == order(0, 3)
    assert order(0, 3) != order(0, 4)
    assert order(0, 3) != order(1, 3)
    loader = DenseLoader(numbered(30), 4, shuffle=True)
    passes = [torch.cat([batch.y for batch in loader]).tolist() for _ in range(3)]
    assert passes == [order(0, 0), order(0, 1), order(0, 2)]


@given(st.integers(0, 9), st.integers(1, 3), st.booleans())
def test_epoch_can_start_at_any_batch(first, buckets, shuffle):
    def batches(first_batch):
        seed = 2 if shuffle else 0
        loader = DenseLoader(numbered(30), 4, shuffle=shuffle, seed=seed, buckets=buckets)
        loader.set_epoch(3, min(first_batch, len(loader)))
        return [batch.y.tolist() for batch in loader], [batch.y.tolist() for batch in loader]

    whole, next_whole = batches(0)
    rest, next_rest = batches(first)
    assert rest == whole[first:]
    assert next_rest == next_whole  # which begins at its beginning


def test_buckets_group_graphs_by_size():
    padded = [
        sum(batch.mask.numel() for batch in DenseLoader(numbered(60), 6, shuffle=True, buckets=k))
        for k in (1, 5)
    ]
    assert padded[1] < 0.8 * padded[0]


def test_drop_last_leaves_out_the_small_batch():
    loader = DenseLoader(numbered(10), 4, drop_last=True)
    assert [batch.num_graphs for batch in loader] == [4, 4]
    assert len(loader) == 2


def test_static_shapes_pad_a_batch_to_the_size_of_its_bucket():
    loader = DenseLoader(
        numbered(24), 4, shuffle=True, buckets=3, static_shapes=True, drop_last=True
    )
    shapes = {batch.mask.shape for _ in range(3) for batch in loader}
    assert len(shapes) == 3


@given(st.integers(4, 30), st.integers(1, 9), st.integers(1, 3), st.integers(2, 4))
def test_every_batch_is_split_among_the_processes(count, batch_size, buckets, world):
    loader = DenseLoader(numbered(count), batch_size, buckets=buckets, shuffle=True)
    loader.set_epoch(5)
    whole = [set(batch.y.tolist()) for batch in loader]
    for even in (True, False):
        if even and batch_size < world:
            with pytest.raises(ValueError, match=f"{batch_size} graphs for {world} pro"):
                loader.shard(0, world, even=True)
            continue
        parts = [loader.shard(rank, world, even=even) for rank in range(world)]
        for part in parts:
            part.set_epoch(5)
        shares = [[set(batch.y.tolist()) for batch in part] for part in parts]
        seen = sorted(number for share in shares for batch in share for number in batch)
        if even:  # a step is one for all of them, or for none
            kept = [batch for batch in whole if len(batch) >= world]
            together = [set().union(*step) for step in zip(*shares, strict=True)]
            assert sorted(map(sorted, together)) == sorted(map(sorted, kept))
            assert all(share for share in zip(*shares, strict=True))
        else:
            assert seen == list(range(count))


@pytest.mark.parametrize("shuffle", [True, False])
def test_loader_and_command_line_default_to_one_bucket(shuffle):
    loader = DenseLoader(numbered(128), 2, shuffle=shuffle)
    assert "in 1 bucket(s)" in loader.order
    assert BUCKETS.default == signature(DenseLoader).parameters["buckets"].default == 1
    assert signature(train).parameters["buckets"].default == 1
