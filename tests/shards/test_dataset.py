"""A folder of shards says what it holds, or why it cannot be used."""

from __future__ import annotations

import json

import pytest

from gtcourse.encodings import AddRings, AddSVD
from gtcourse.graphs import GraphDataset
from gtcourse.graphs.json_files import sealed
from gtcourse.shards import ShardedGraphs, open_shards, prepare
from tests.shards.small import numbered


@pytest.fixture
def data() -> GraphDataset:
    """20 graphs, 10 of them for training, 6 for validation."""
    return numbered(20, [0] * 10 + [1] * 6 + [2] * 4)


@pytest.fixture
def shards(data, tmp_path) -> ShardedGraphs:
    stored = (AddRings(6), AddSVD(2))
    return prepare(data, tmp_path, rows_per_shard=4, stored=stored, progress=False)


def test_it_says_of_what_data_it_is(data, shards, tmp_path):
    opened = open_shards(str(tmp_path))
    assert opened == shards
    assert opened.split_sizes == data.split_sizes == {"train": 10, "val": 6, "test": 4}
    assert (opened.name, opened.source) == (data.name, data.source)
    assert opened.stored == ("AddRings(max_size=6)", "AddSVD(rank=2, self_loops=True)")
    assert opened.provenance == data.provenance | {"checksum": opened.checksum}
    assert len(opened.checksum) == 64  # of the content, where the data are of no file
    assert len(opened) == 20
    assert [[shard.rows for shard in opened.shards[split]] for split in opened.shards] == [
        [4, 4, 2],
        [4, 2],
        [4],
    ]


def test_the_first_graphs_are_so_many_and_a_quarter_of_the_others(shards):
    assert shards.first(6).split_sizes == {"train": 6, "val": 1, "test": 1}
    assert shards.first(1).split_sizes == {"train": 1, "val": 1, "test": 1}
    assert shards.first(99).split_sizes == shards.split_sizes
    assert [shard.kept for shard in shards.first(6).shards["train"]] == [4, 2]
    assert shards.first(8).first(4) == shards.first(4)
    assert shards.first(6).provenance["sizes"]["train"] == 6


def test_a_folder_without_shards_is_refused(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"has no shards\.json; expected a folder of shards"
    ):
        open_shards(tmp_path)


@pytest.mark.parametrize("content", ["", "[]", '{"format": 1, "shards": [{}]}', '{"format": 9}'])
def test_a_damaged_list_is_named(shards, data, tmp_path, content):
    (tmp_path / "shards.json").write_text(content)
    for act in (lambda: open_shards(tmp_path), lambda: prepare(data, tmp_path)):
        with pytest.raises(ValueError, match=r"shards\.json (is|holds) .*; expected the list"):
            act()


def test_without_its_list_a_folder_is_made_anew_with_the_same_bytes(shards, data, tmp_path):
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    (tmp_path / "shards.json").unlink()
    stored = (AddRings(6), AddSVD(2))
    prepare(data, tmp_path, rows_per_shard=4, stored=stored, progress=False)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_folder_that_is_not_finished_says_how_much_is_missing(shards, tmp_path):
    listed = json.loads((tmp_path / "shards.json").read_text())
    del listed["shards"][2:], listed["sha256"]
    (tmp_path / "shards.json").write_text(json.dumps(sealed(listed)))
    with pytest.raises(FileNotFoundError, match=r"holds 2 of 6 shards; expected what was written"):
        open_shards(tmp_path)
