"""Three ways to hand an epoch to a model are the same epoch; how fast is not a matter of tests."""

import pytest
import torch

from benchmarks import epoch
from benchmarks.epoch import MODEL, ByPyG, check_equal, compare, loaders, padding, tensors
from gtcourse import load_dataset
from gtcourse.encodings import encode


@pytest.fixture(scope="module")
def graphs():
    return encode(load_dataset("molecules").train[:40], *MODEL.transforms)


def test_all_make_the_same_batch(graphs):
    check_equal(graphs)


@pytest.mark.parametrize("name", ["x", "edge_attr", "mask", "distance", "path_edges", "in_degree"])
def test_a_difference_is_seen(name, graphs, monkeypatch):
    original = ByPyG.__iter__

    def other(self):
        for batch in original(self):
            tensors(batch)[name].view(-1)[0] = 1 - tensors(batch)[name].view(-1)[0].long()
            yield batch

    monkeypatch.setattr(ByPyG, "__iter__", other)
    with pytest.raises(AssertionError):
        check_equal(graphs)


def test_every_graph_is_in_every_epoch_once(graphs, monkeypatch):
    monkeypatch.setattr(epoch, "BATCH", 8)
    expected = torch.cat([graph.y for graph in graphs]).sort().values
    for loader in loaders(graphs, (1, 4)).values():
        assert len(loader) == len([*loader])
        found = torch.cat([batch.y for batch in loader]).sort().values
        torch.testing.assert_close(found, expected)


def test_padding_is_what_is_left_of_the_squares():
    from gtcourse import DenseLoader
    from tests.graphs.random_graphs import graph_of

    pair = [graph_of(2, [(0, 1), (1, 0)]), graph_of(4, [(0, 1), (1, 0)])]
    loader = DenseLoader(pair, 2)
    assert padding(loader) == {"padded_nodes": 1 - 6 / 8, "padded_pairs": 1 - 20 / 32}


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
