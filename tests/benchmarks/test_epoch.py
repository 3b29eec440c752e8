"""Three ways to hand an epoch to a model are the same epoch; how fast is not a matter of tests."""

import pytest

from benchmarks import epoch
from benchmarks.epoch import MODEL, check_equal, compare
from gtcourse import load_dataset
from gtcourse.encodings import encode


@pytest.fixture(scope="module")
def graphs():
    return encode(load_dataset("molecules").train[:40], *MODEL.transforms)


def test_all_make_the_same_batch(graphs):
    check_equal(graphs)


def test_a_small_epoch_has_a_row_for_each_way(graphs, monkeypatch):
    monkeypatch.setattr(epoch, "BATCH", 8)
    rows = compare(graphs, rounds=2, steps=2, buckets=(1, 4))
    assert [row["method"] for row in rows] == [
        "kept padded, 1 bucket", "kept padded, 4 buckets", "collated for each batch",
        "by PyG for each batch",
    ]  # fmt: skip
    for row in rows:
        assert row["batches"] == len(graphs) // 8 or "buckets" in row["method"]
        assert row["epoch_seconds"] > 0
    assert rows[1]["padded_pairs"] < rows[0]["padded_pairs"]
