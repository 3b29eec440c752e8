"""All 12,000 embedded molecules in the publisher's files, by two processes, to the batches."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest
import torch

from gtcourse.encodings import AddRings, AddShortestPaths, encode
from gtcourse.encodings.on_device import encode_batch
from gtcourse.graphs import collate
from gtcourse.shards import ShardLoader, open_shards, pcqm4mv2, prepare, process_pool
from tests.shards.layout import write_dataset
from tests.shards.small import assert_same


def with_paths(batch):
    return encode_batch(batch, AddShortestPaths())


def epoch(folder: Path, rank: int, first_batch: int = 0) -> list:
    """What a process of two sees of the training graphs: sizes and targets."""
    loader = ShardLoader(
        open_shards(folder), "train", 256, shuffle=True, seed=1, buckets=4, shards_at_once=2,
        then=with_paths,
    )  # fmt: skip
    loader = loader.shard(rank, 2, even=True)
    loader.set_epoch(3, first_batch)
    return [(batch.sizes, batch.y, batch.encodings["distance"].sum()) for batch in loader]


def write_epoch(folder: Path, rank: int, out: Path) -> None:
    torch.save(epoch(folder, rank), out)


@pytest.mark.slow
def test_all_molecules_pass_through_the_shards_and_two_processes(molecules, tmp_path):
    source = pcqm4mv2(write_dataset(tmp_path, molecules))
    with process_pool(2) as executor:
        shards = prepare(source, tmp_path / "shards", rows_per_shard=1024, executor=executor)
    assert shards.split_sizes == {"train": 10_000, "val": 1_000, "test": 1_000}

    # Whole batches of a split against the encodings and the padding of its graphs.
    for split, number in (("val", 1), ("test", 2)):
        rows = (molecules.split == number).nonzero().flatten().numpy()
        graphs = encode(source.piece(rows).graphs().to_data(), AddRings(18))
        for start, batch in enumerate(ShardLoader(shards, split, 250)):
            assert_same(batch, collate(graphs[250 * start : 250 * (start + 1)]))

    # Two processes at once: together each graph once, in as many steps.
    context = multiprocessing.get_context("forkserver")
    files = [tmp_path / f"rank-{rank}.pt" for rank in range(2)]
    processes = [
        context.Process(target=write_epoch, args=(tmp_path / "shards", rank, file))
        for rank, file in enumerate(files)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
        assert process.exitcode == 0
    seen = [torch.load(file, weights_only=True) for file in files]
    assert len(seen[0]) == len(seen[1])
    targets = torch.cat([y for batches in seen for _, y, _ in batches]).sort().values
    assert torch.equal(targets, torch.tensor(source.y[:10_000]).float().sort().values)

    # One of them was interrupted after 17 steps.
    rest = epoch(tmp_path / "shards", 1, first_batch=17)
    assert len(rest) == len(seen[1]) - 17
    for found, expected in zip(rest, seen[1][17:], strict=True):
        assert all(map(torch.equal, found, expected))
