"""Graph files: what is written is read back, the same bytes each time, whole or not at all."""

from __future__ import annotations

import io
import os
import zipfile

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from gtcourse.graphs import GraphDataset, load_dataset, read_graphs, write_graphs
from gtcourse.graphs.files import file_sha256, read_npz, write_npz
from tests.graphs.small import three_chains


def same(a: Data, b: Data) -> bool:
    """The same attributes with the same values; NaN equals NaN."""
    if sorted(a.keys()) != sorted(b.keys()):
        return False
    return all(
        torch.equal(a[key].nan_to_num(123), b[key].nan_to_num(123))
        if isinstance(a[key], torch.Tensor)
        else a[key] == b[key]
        for key in a.keys()  # noqa: SIM118 (a Data iterates over pairs)
    )


def test_what_was_written_is_read(tmp_path):
    written = three_chains()
    checksum = write_graphs(tmp_path / "chains.npz", written)
    read = read_graphs(tmp_path / "chains.npz")
    assert len(read) == 3
    assert all(same(a, b) for a, b in zip(written, read, strict=True))
    assert read.split.tolist() == [0, 1, 2]
    assert read.node_vocabulary == written.node_vocabulary
    assert read.edge_vocabulary == written.edge_vocabulary
    assert (read.name, read.source) == ("chains", "file: chains.npz")
    assert read.checksum == checksum == file_sha256(tmp_path / "chains.npz")


def test_every_attribute_of_a_node_an_edge_or_a_graph_is_kept(tmp_path):
    dataset = three_chains()
    for index, graph in enumerate(dataset):
        graph.smiles = ["CO", "C=C=N", "C"][index]
        graph.charge = torch.arange(graph.num_nodes) - 1
        graph.length = torch.rand(graph.edge_index.shape[1], 2)
        graph.weight = torch.tensor([[index + 0.5, -1.0]])
    write_graphs(tmp_path / "chains.npz", dataset)
    read = read_graphs(tmp_path / "chains.npz")
    assert all(same(a, b) for a, b in zip(dataset, read, strict=True))


@pytest.mark.parametrize("level", ["node", "edge"])
def test_targets_of_nodes_and_edges_are_kept(tmp_path, level):
    dataset = three_chains()
    dataset.target = level
    for graph in dataset:
        graph.y = torch.arange(graph.num_nodes if level == "node" else graph.num_edges)
    write_graphs(tmp_path / "labels.npz", dataset)
    read = read_graphs(tmp_path / "labels.npz")
    assert read.target == level
    assert all(same(a, b) for a, b in zip(dataset, read, strict=True))


def test_an_attribute_is_what_the_file_says_where_lengths_coincide(tmp_path):
    """One graph, one node, one edge."""
    cycle = Data(
        x=torch.zeros(1, 1).long(),
        edge_index=torch.tensor([[0], [0]]),
        edge_attr=torch.tensor([[2]]),
        y=torch.tensor([0.0]),
    )
    dataset = GraphDataset("loops", "made by a test", [cycle], torch.tensor([0]))
    write_graphs(tmp_path / "loops.npz", dataset)
    arrays = read_npz(tmp_path / "loops.npz")
    arrays |= {"length": np.array([3]), "edge_attributes": np.array(["edge_attr", "length"])}
    write_npz(tmp_path / "loops.npz", arrays)
    assert read_graphs(tmp_path / "loops.npz")[0].length.tolist() == [3]


def test_missing_targets_are_nan_where_the_file_says_so(tmp_path):
    dataset = three_chains()
    for graph in dataset:
        graph.y = torch.tensor([[0.0, float("nan")]])
    with pytest.raises(ValueError, match=r"graph 0 has y\[1\] = nan; expected a finite target"):
        write_graphs(tmp_path / "labels.npz", dataset)
    write_graphs(tmp_path / "labels.npz", dataset, missing_targets=True)
    assert all(
        same(a, b) for a, b in zip(dataset, read_graphs(tmp_path / "labels.npz"), strict=True)
    )


def test_the_same_graphs_give_the_same_bytes(tmp_path):
    first = write_graphs(tmp_path / "a.npz", three_chains())
    os.utime(tmp_path / "a.npz", (0, 0))
    assert write_graphs(tmp_path / "b.npz", three_chains()) == first
    assert write_graphs(tmp_path / "c.npz", read_graphs(tmp_path / "a.npz", name="chains")) == first
    # Written down once: another machine must get the same.
    assert first == "a66ef18da4f30ab5462dc2377ffcee6271a6d5a70f74500f1d3af9a86cf93fa8"


def test_numpy_reads_our_files_and_we_read_numpys(tmp_path):
    write_graphs(tmp_path / "ours.npz", three_chains())
    with np.load(tmp_path / "ours.npz", allow_pickle=False) as arrays:
        assert arrays["num_nodes"].tolist() == [2, 3, 1]
        np.savez_compressed(tmp_path / "theirs.npz", **arrays)
    assert all(
        same(a, b)
        for a, b in zip(three_chains(), read_graphs(tmp_path / "theirs.npz"), strict=True)
    )


def test_the_benchmarks_own_names_are_understood(tmp_path):
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
    assert dataset[0].x.tolist() == [[0], [1]]
    assert dataset[0].edge_attr.tolist() == [[1], [1]]
    assert dataset[1].smiles == "N"
    assert dataset[1].logp.tolist() == [2.0]
    assert dataset.node_vocabulary == ("C", "O", "N")
    assert dataset.split_sizes == {"train": 1, "val": 0, "test": 1}
    assert dataset.provenance == {
        "name": "zinc",
        "source": "file: zinc.npz",
        "checksum": file_sha256(tmp_path / "zinc.npz"),
        "sizes": dataset.split_sizes,
    }


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "chains.npz"
    before = write_graphs(path, three_chains())
    monkeypatch.setattr(np.lib.format, "write_array", lambda *a, **k: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_graphs(path, three_chains())
    assert file_sha256(path) == before
    assert os.listdir(tmp_path) == ["chains.npz"]


def test_pair_encodings_are_refused_as_no_data(tmp_path):
    dataset = three_chains()
    for graph in dataset:
        graph.distance = torch.zeros(graph.num_nodes, graph.num_nodes)
    with pytest.raises(ValueError, match=r"graph 0 has distance of shape \[2, 2\]; a graph file"):
        write_graphs(tmp_path / "chains.npz", dataset)


ODD_ARRAYS = [
    np.array("a"), np.zeros(0), np.zeros((3, 0)), np.zeros((6, 1, 1, 1)), np.array([b"a"]),
    np.zeros(3, dtype=[("a", int)]), np.array(["2020-01-01"], dtype="M8[D]"), np.full(3, 2**62),
]  # fmt: skip


@pytest.mark.parametrize("odd", ODD_ARRAYS, ids=lambda a: f"{a.dtype}{list(a.shape)}")
def test_any_array_of_a_file_is_read_or_raises_one_sentence(tmp_path, odd):
    path = tmp_path / "chains.npz"
    write_graphs(path, three_chains())
    arrays = read_npz(path) | {"weight": np.zeros(3)}
    for name in [*arrays, "smiles_utf8"]:
        np.savez(path, **arrays | {name: odd})
        sentence = ""
        try:
            read_graphs(path)
        except ValueError as error:
            sentence = str(error)
        assert not sentence or "; expected " in sentence
        assert "\n" not in sentence


def test_zinc_from_a_file_without_vocabulary_has_zincs_vocabulary(tmp_path):
    dataset = three_chains()
    dataset.node_vocabulary = dataset.edge_vocabulary = None
    dataset[1].x[2, 0] = 28
    write_graphs(tmp_path / "zinc.npz", dataset)
    assert read_graphs(tmp_path / "zinc.npz")[1].x[2, 0] == 28
    with pytest.raises(ValueError, match=r"graph 1 has x\[2, 0\] = 28; expected 0 to 27"):
        load_dataset("zinc", source=tmp_path / "zinc.npz")


def test_no_flipped_byte_of_the_data_goes_unseen(tmp_path):
    write_graphs(tmp_path / "whole.npz", three_chains())
    whole = (tmp_path / "whole.npz").read_bytes()
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        starts = [info.header_offset + 30 + len(info.filename) for info in archive.infolist()]
        sizes = [info.file_size for info in archive.infolist()]
    for start, size in zip(starts, sizes, strict=True):
        for place in (start, start + size // 2, start + size - 1):
            flipped = bytearray(whole)
            flipped[place] ^= 0xFF
            (tmp_path / "flipped.npz").write_bytes(flipped)
            with pytest.raises(ValueError, match=r"flipped\.npz is damaged: '\w+\.npy'"):
                read_graphs(tmp_path / "flipped.npz")
