"""Atomic replacement of files, and graph files that are read back as they were written."""

import errno
import os

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from gtcourse.graphs import GraphDataset, read_graphs, write_graphs
from gtcourse.graphs.io import file_sha256, read_npz, replacing, write_npz
from tests.graphs.small import three_chains


def assert_same(a: Data, b: Data) -> None:
    """The same attributes with the same values; NaN equals NaN."""
    assert sorted(a.keys()) == sorted(b.keys())
    for key, value in a:
        if isinstance(value, torch.Tensor):
            torch.testing.assert_close(value, b[key], rtol=0, atol=0, equal_nan=True)
        else:
            assert value == b[key]


def assert_read_back(dataset: GraphDataset, path) -> GraphDataset:
    write_graphs(path, dataset)
    read = read_graphs(path)
    for written, found in zip(dataset, read, strict=True):
        assert_same(written, found)
    return read


def test_a_failed_write_leaves_the_old_file_and_no_temporary_file(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")

    def interrupted():
        with replacing(path) as temporary:
            temporary.write_text("new")
            assert path.read_text() == "old"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_temporary_file_of_a_killed_writer_is_overwritten(tmp_path):
    (tmp_path / ".file.tmp").write_text("a long text, cut off when the process was killed")
    with replacing(tmp_path / "file") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "file").read_text() == "new"
    assert os.listdir(tmp_path) == ["file"]


def test_an_error_of_a_full_disk_names_the_file(tmp_path):
    (tmp_path / "file").write_text("old")
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(OSError, match="No space left") as raised, replacing(tmp_path / "file"):
        raise full
    assert raised.value.filename == str(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_an_error_of_a_connection_is_not_one_of_the_file(tmp_path):
    lost = OSError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))
    with pytest.raises(OSError, match="reset by peer") as raised, replacing(tmp_path / "file"):
        raise lost
    assert raised.value is lost
    assert raised.value.filename is None


def test_an_error_about_another_file_is_raised_as_it_is(tmp_path):
    with pytest.raises(FileNotFoundError) as raised, replacing(tmp_path / "file"):
        (tmp_path / "missing").read_text()
    assert str(raised.value.filename) == str(tmp_path / "missing")


def test_graph_file_round_trip(tmp_path):
    written = three_chains()
    read = assert_read_back(written, tmp_path / "chains.npz")
    assert read.split.tolist() == [0, 1, 2]
    assert read.node_vocabulary == written.node_vocabulary
    assert read.edge_vocabulary == written.edge_vocabulary
    assert (read.name, read.source) == ("chains", "file: chains.npz")
    assert read.checksum == file_sha256(tmp_path / "chains.npz")


def test_a_safetensors_file_holds_the_same_graphs(tmp_path):
    written = three_chains()
    for graph, smiles in zip(written, ["CO", "C=C=N", "C"], strict=True):
        graph.smiles = smiles
    read = assert_read_back(written, tmp_path / "chains.safetensors")
    assert read.split.tolist() == [0, 1, 2]
    assert read.node_vocabulary == written.node_vocabulary
    assert read.edge_vocabulary == written.edge_vocabulary
    assert (read.name, read.source) == ("chains", "file: chains.safetensors")
    first = file_sha256(tmp_path / "chains.safetensors")
    assert write_graphs(tmp_path / "again.safetensors", written) == first == read.checksum
    assert [graph.smiles for graph in read] == ["CO", "C=C=N", "C"]


@pytest.mark.parametrize("level", ["graph", "node", "edge"])
def test_node_edge_and_graph_attributes_round_trip(tmp_path, level):
    dataset = three_chains()
    dataset.target = level
    for index, graph in enumerate(dataset):
        rows = {"graph": 1, "node": graph.num_nodes, "edge": graph.num_edges}[level]
        graph.y = torch.arange(rows).where(torch.arange(rows) > 0, torch.nan)  # one is missing
        graph.smiles = ["CO", "C=C=N", "C"][index]
        graph.charge = torch.arange(graph.num_nodes) - 1
        graph.length = torch.rand(graph.num_edges, 2)
        graph.weight = torch.tensor([[index + 0.5, -1.0]])
    assert assert_read_back(dataset, tmp_path / "chains.npz").target == level


def test_attribute_levels_are_stored_when_lengths_coincide(tmp_path):
    """One graph, one node, one edge."""
    loop = Data(
        x=torch.zeros(1, 1).long(),
        edge_index=torch.tensor([[0], [0]]),
        edge_attr=torch.tensor([[2]]),
        y=torch.tensor([0.0]),
    )
    path = tmp_path / "loops.npz"
    write_graphs(path, GraphDataset("loops", "a test", [loop], torch.tensor([0])))
    extra = {"length": np.array([3]), "edge_attributes": np.array(["edge_attr", "length"])}
    write_npz(path, read_npz(path) | extra)
    assert read_graphs(path)[0].length.tolist() == [3]


def test_the_same_graphs_give_the_same_bytes(tmp_path):
    first = write_graphs(tmp_path / "a.npz", three_chains())
    os.utime(tmp_path / "a.npz", (0, 0))
    assert write_graphs(tmp_path / "c.npz", read_graphs(tmp_path / "a.npz", name="chains")) == first
    # Recorded once: another machine must get the same.
    assert first == "a66ef18da4f30ab5462dc2377ffcee6271a6d5a70f74500f1d3af9a86cf93fa8"


def test_graph_files_with_the_benchmarks_array_names_are_read(tmp_path):
    np.savez(
        tmp_path / "zinc.npz",
        num_nodes=np.array([2, 1], dtype=np.uint8),
        num_edges=np.array([2, 0], dtype=np.uint8),
        atom_type=np.array([0, 1, 2], dtype=np.uint8),
        edge_index=np.array([[0, 1], [1, 0]], dtype=np.uint8),
        bond_type=np.array([1, 1], dtype=np.uint8),
        y=np.array([0.5, 1.5], dtype=np.float32),
        split=np.array([0, 2], dtype=np.uint8),
        logp=np.array([1.0, 2.0], dtype=np.float32),
        smiles_utf8=np.frombuffer(b"CO\nN", dtype=np.uint8),
        atom_vocab=np.array(["C", "O", "N"]),
        bond_vocab=np.array(["NONE", "SINGLE"]),
        split_names=np.array(["train", "val", "test"]),
        y_coef=np.array([0.1, 0.2, 0.3, 0.4]),
    )
    dataset = read_graphs(tmp_path / "zinc.npz")
    assert dataset.checksum == file_sha256(tmp_path / "zinc.npz")
    assert dataset[0].x.tolist() == [[0], [1]]
    assert dataset[0].edge_attr.tolist() == [[1], [1]]
    assert dataset[1].smiles == "N"
    assert dataset[1].logp.tolist() == [2.0]
    assert dataset.node_vocabulary == ("C", "O", "N")
    assert dataset.split_sizes == {"train": 1, "val": 0, "test": 1}
