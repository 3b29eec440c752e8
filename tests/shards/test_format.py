"""A shard holds the graphs as they are, in a file that others can read."""

from __future__ import annotations

import sys

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gtcourse.encodings import AddLaplacianEigenvectors, AddRings, AddSVD
from gtcourse.graphs.ragged import RaggedGraphs
from gtcourse.shards.format import ShardGraphs, narrow, read_shard, write_shard
from gtcourse.shards.sources import distinct, encoded, take
from tests.graphs.random_graphs import graphs
from tests.shards.small import numbered, plain

STORED = (AddRings(6), AddSVD(2), AddLaplacianEigenvectors(2))


def ragged(listed) -> RaggedGraphs:
    return RaggedGraphs.from_data(listed, np.zeros(len(listed), dtype=np.int64), "graph")


def assert_same_graphs(found: ShardGraphs, expected: ShardGraphs) -> None:
    """The same values; types may be narrower, but what they were is known."""
    np.testing.assert_array_equal(found.num_nodes, expected.num_nodes)
    np.testing.assert_array_equal(found.edge_index, expected.edge_index)
    assert found.smiles == expected.smiles
    for level in ("node", "edge", "pair", "graph"):
        arrays, others = getattr(found, level), getattr(expected, level)
        assert arrays.keys() == others.keys()
        for name, values in others.items():
            np.testing.assert_array_equal(arrays[name], values, strict=False)
            assert arrays[name].shape == values.shape
            assert found.dtypes[name] == values.dtype.name


@given(st.lists(graphs(max_nodes=5), min_size=1, max_size=5))
def test_what_is_written_is_read(tmp_path, drawn):
    written = encoded(distinct(ragged([plain(graph) for graph in drawn])), STORED)
    shard = write_shard(tmp_path / "a.parquet", written)
    assert shard.rows == len(drawn)
    assert_same_graphs(read_shard(tmp_path / "a.parquet", shard.sha256), written)


def test_text_names_and_kinds_come_back(tmp_path):
    graphs = ragged(numbered(3).graphs)
    graphs.smiles = ["C", "CO", "C≡N"]
    graphs.node_vocabulary, graphs.edge_vocabulary = ("C", "O"), None
    graphs.missing_targets = True
    write_shard(tmp_path / "a.parquet", graphs)
    found = read_shard(tmp_path / "a.parquet")
    for name in ("smiles", "node_vocabulary", "edge_vocabulary", "missing_targets", "target"):
        assert getattr(found, name) == getattr(graphs, name)
    assert read_shard(tmp_path / "a.parquet", smiles=False).smiles is None


def test_any_reader_of_parquet_finds_a_row_for_each_graph(tmp_path):
    data = numbered(4)
    write_shard(tmp_path / "a.parquet", encoded(ragged(data.graphs), STORED))
    table = pq.read_table(tmp_path / "a.parquet").to_pylist()
    assert len(table) == 4
    for row, graph in zip(table, data.graphs, strict=True):
        n = row["num_nodes"]
        assert row["x"] == graph.x.flatten().tolist()
        assert [row["edge_source"], row["edge_target"]] == graph.edge_index.tolist()
        assert row["y"] == graph.y.item()
        assert len(row["ring"]) == n * n
        assert len(row["svd"]) == n * 4
        assert len(row["laplacian_eigenvalues"]) == 2


def test_the_same_graphs_give_the_same_bytes_and_the_checksums_say_so(tmp_path):
    shards = [write_shard(tmp_path / name, ragged(numbered(5).graphs)) for name in ("a", "b")]
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert shards[0].sha256 == shards[1].sha256
    assert shards[0].size == (tmp_path / "a").stat().st_size


@pytest.mark.parametrize(
    ("low", "high", "kind"),
    [
        (0, 255, "uint8"),
        (-1, 127, "int8"),
        (0, 256, "int16"),  # torch cannot index uint16
        (-1, 2**31 - 1, "int32"),
        (0, 2**31, "int64"),
    ],
)
def test_integers_are_stored_in_the_fewest_bits_that_torch_can_index(low, high, kind):
    values = narrow(np.array([low, high]))
    assert values.dtype == kind
    assert torch.from_numpy(values)[torch.tensor([0, 1])].tolist() == [low, high]


def test_floats_and_truths_stay_what_they_are():
    for values in (np.zeros(2, np.float32), np.zeros(2), np.zeros(2, bool)):
        assert narrow(values).dtype == values.dtype


def test_without_a_known_sha256_a_damaged_page_is_found_by_its_own_checksum(tmp_path):
    path = tmp_path / "a.parquet"
    written = encoded(ragged(numbered(60).graphs), STORED)
    size = write_shard(path, written).size
    content = path.read_bytes()
    pages = size - pq.ParquetFile(path).metadata.serialized_size - 8  # and the end's own 8 bytes
    found = 0
    for place in range(4, pages, 11):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        try:
            assert_same_graphs(read_shard(path), written)  # a bit that nobody reads
        except ValueError as error:
            assert "a.parquet is damaged or none (" in str(error)  # noqa: PT017 (or no error)
            found += 1
    assert found > 0.5 * len(range(4, pages, 11))  # 0.9 today; pyarrow 15 writes more unread bits


@pytest.mark.parametrize("content", [b"", b"no parquet", b"PAR1" + b"\0" * 99 + b"PAR1"])
def test_what_is_no_shard_is_refused_by_name(tmp_path, content):
    path = tmp_path / "a.parquet"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"the shard .*a\.parquet is damaged or none"):
        read_shard(path)


def test_a_table_of_something_else_is_no_shard(tmp_path):
    import pyarrow as pa

    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"the shard .*a\.parquet is damaged or none"):
        read_shard(tmp_path / "a.parquet")


def test_a_missing_shard_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no shard .*a\.parquet; expected wh"):
        read_shard(tmp_path / "a.parquet")


def test_a_missing_pyarrow_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r'install it with `pip install "gtcourse\[shards\]"`'):
        read_shard(tmp_path / "a.parquet")


@given(st.lists(graphs(max_nodes=4), min_size=2, max_size=6), st.randoms())
def test_graphs_taken_from_many_are_those_graphs(drawn, random):
    drawn = [plain(graph) for graph in drawn]
    rows = np.array(random.sample(range(len(drawn)), k=random.randint(1, len(drawn))))
    found, expected = take(ragged(drawn), rows), ragged([drawn[row] for row in rows])
    for level in ("node", "edge", "graph"):
        for name, values in getattr(expected, level).items():
            np.testing.assert_array_equal(getattr(found, level)[name], values)
    np.testing.assert_array_equal(found.edge_index, expected.edge_index)
