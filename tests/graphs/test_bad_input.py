"""Bad input is refused wherever it enters; what there is of it is in tests/bad_input."""

from __future__ import annotations

import numpy as np
import pytest

from gtcourse.graphs import check_vocabulary, collate, load_dataset, read_graphs, write_graphs
from gtcourse.graphs.files import read_npz
from tests.graphs.small import three_chains

NAN = float("nan")

ODD_ARRAYS = [
    np.array(0),
    np.array("a"),
    np.zeros(0),
    np.zeros((3, 0)),
    np.zeros((6, 1, 1, 1)),
    np.array(["a", "b", "c"]),
    np.array([b"a"]),
    np.zeros(3, dtype=bool),
    np.zeros(3, dtype=complex),
    np.zeros(3, dtype=[("a", int)]),
    np.array(["2020-01-01"], dtype="M8[D]"),
    np.array([2**63, 1, 1], dtype=np.uint64),
    np.full(3, 2**62),
]


@pytest.mark.parametrize("odd", ODD_ARRAYS, ids=lambda a: f"{a.dtype}{list(a.shape)}")
def test_whatever_stands_in_a_file_is_read_or_refused_in_a_sentence(tmp_path, odd):
    path = tmp_path / "chains.npz"
    write_graphs(path, three_chains())
    arrays = read_npz(path) | {"weight": np.zeros(3)}
    for name in [*arrays, "smiles_utf8"]:
        np.savez(path, **arrays | {name: odd})
        sentence = ""
        try:
            read_graphs(path)
        except ValueError as refusal:
            sentence = str(refusal)
        assert not sentence or "; expected " in sentence
        assert "\n" not in sentence


def test_zinc_from_a_file_without_vocabulary_is_held_to_zincs(tmp_path):
    dataset = three_chains()
    dataset.node_vocabulary = dataset.edge_vocabulary = None
    dataset[1].x[2, 0] = 28
    write_graphs(tmp_path / "zinc.npz", dataset)
    assert read_graphs(tmp_path / "zinc.npz")[1].x[2, 0] == 28
    with pytest.raises(ValueError, match=r"graph 1 has x\[2, 0\] = 28; expected 0 to 27"):
        load_dataset("zinc", source=tmp_path / "zinc.npz")


def test_a_nan_feature_is_refused_wherever_it_enters(tmp_path):
    dataset = three_chains()
    for graph in dataset:
        graph.x = graph.x.float()
    dataset[1].x[1] = NAN
    for enter in (collate, lambda graphs: write_graphs(tmp_path / "a.npz", dataset)):
        with pytest.raises(ValueError, match=r"graph 1 has x\[1, 0\] = nan; expected a finite"):
            enter(dataset.graphs)


def test_an_atom_type_outside_the_vocabulary_is_refused_wherever_it_enters(tmp_path):
    dataset = three_chains()
    dataset[1].x[2, 0] = 28
    sentence = r"graph 1 has x\[2, 0\] = 28; expected 0 to 27"
    with pytest.raises(ValueError, match=sentence):
        check_vocabulary(dataset.graphs, "x", 28)
    with pytest.raises(ValueError, match=sentence):
        write_graphs(tmp_path / "a.npz", dataset)
