"""Bad input is refused where it enters: which graph, which value, what was expected."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from gtcourse.graphs import check_vocabulary, collate, load_dataset, read_graphs, write_graphs
from gtcourse.graphs.npz import read_npz
from tests.graphs.small import three_chains

NAN, INF = float("nan"), float("inf")

# The file of three_chains(): nodes 0 1 | 0 0 2 | 0, edges 2 + 4 + 0, splits 0 1 2.
FILE_CASES = {
    "no nodes": (
        lambda a: a | {"num_nodes": np.array([2, 4, 0])},
        "graph 2 has num_nodes = 0; expected at least one node",
    ),
    "a negative number of edges": (
        lambda a: a | {"num_edges": np.array([2, 5, -1])},
        "graph 2 has num_edges = -1; expected 0 or more",
    ),
    "no graphs": (
        lambda a: a | {"num_nodes": np.zeros(0, dtype=int), "num_edges": np.zeros(0, dtype=int)},
        "num_nodes is empty; expected at least one graph",
    ),
    "numbers of nodes that are floats": (
        lambda a: a | {"num_nodes": np.array([2.0, 3.0, 1.0])},
        "num_nodes is float64; expected integers",
    ),
    "numbers of nodes in a matrix": (
        lambda a: a | {"num_nodes": np.array([[2, 3, 1]])},
        "num_nodes has shape [1, 3]; expected [graphs]",
    ),
    "one number of edges too few": (
        lambda a: a | {"num_edges": np.array([2, 4])},
        "num_edges has 2 entries; expected 3, as many as num_nodes",
    ),
    "numbers of edges that do not add up": (
        lambda a: a | {"num_edges": np.array([2, 4, 2])},
        "edge_index has shape [2, 6]; expected [2, 8], because num_edges adds up to 8",
    ),
    "numbers of nodes that do not add up": (
        lambda a: a | {"num_nodes": np.array([2, 3, 2])},
        "x has shape [6, 1]; expected 7 rows, because num_nodes adds up to 7",
    ),
    "edges in rows": (
        lambda a: a | {"edge_index": a["edge_index"].T},
        "edge_index has shape [6, 2]; expected [2, 6]",
    ),
    "edges that are floats": (
        lambda a: a | {"edge_index": a["edge_index"].astype(float)},
        "edge_index is float64; expected integers",
    ),
    "an edge to a node that does not exist": (
        lambda a: a | {"edge_index": replaced(a["edge_index"], (1, 3), 3)},
        "graph 1 has an edge (1, 3); expected nodes 0 to 2",
    ),
    "an edge from a negative node": (
        lambda a: a | {"edge_index": replaced(a["edge_index"].astype(int), (0, 0), -1)},
        "graph 0 has an edge (-1, 1); expected nodes 0 to 1",
    ),
    "an atom type outside the vocabulary": (
        lambda a: a | {"x": replaced(a["x"], (4, 0), 28)},
        "graph 1 has x[2, 0] = 28; expected 0 to 27, a type of the vocabulary",
    ),
    "a negative atom type": (
        lambda a: a | {"x": replaced(a["x"].astype(int), (5, 0), -1)},
        "graph 2 has x[0, 0] = -1; expected 0 to 27, a type of the vocabulary",
    ),
    "atom types that are floats": (
        lambda a: a | {"x": a["x"].astype(np.float32)},
        "x is float32; expected types of the vocabulary",
    ),
    "an edge of the type 'no bond'": (
        lambda a: a | {"edge_attr": replaced(a["edge_attr"], (1, 0), 0)},
        "graph 0 has edge_attr[1, 0] = 0; expected 1 to 3, a type of the vocabulary",
    ),
    "an edge feature too few": (
        lambda a: a | {"edge_attr": a["edge_attr"][1:]},
        "edge_attr has shape [5, 1]; expected 6 rows, because num_edges adds up to 6",
    ),
    "a NaN feature": (
        lambda a: bare(a) | {"x": replaced(a["x"].astype(float), (3, 0), NAN)},
        "graph 1 has x[1, 0] = nan; expected a finite number",
    ),
    "an infinite feature": (
        lambda a: bare(a) | {"x": replaced(a["x"].astype(float), (0, 0), INF)},
        "graph 0 has x[0, 0] = inf; expected a finite number",
    ),
    "a feature that float32 cannot hold": (
        lambda a: bare(a) | {"x": replaced(a["x"].astype(float), (2, 0), 1e300)},
        "graph 1 has x[0, 0] = 1e+300; expected a finite number",
    ),
    "a target that float32 cannot hold": (
        lambda a: a | {"y": replaced(a["y"].astype(float), 2, 1e300)},
        "graph 2 has y = 1e+300; expected a finite target",
    ),
    "a feature that int64 may not hold": (
        lambda a: bare(a) | {"x": a["x"].astype(np.uint64)},
        "x is uint64; expected integers or floats, which int64 and float32 can hold",
    ),
    "one array under two names": (
        lambda a: a | {"atom_type": a["x"]},
        "it holds both atom_type and x; expected one of the two names",
    ),
    "features in too many dimensions": (
        lambda a: a | {"x": a["x"][:, :, None]},
        "x has shape [6, 1, 1]; expected [nodes, F]",
    ),
    "true and false as features": (
        lambda a: bare(a) | {"x": a["x"].astype(bool)},
        "x is bool; expected integers or floats",
    ),
    "a NaN target": (
        lambda a: a | {"y": replaced(a["y"], 1, NAN)},
        "graph 1 has y = nan; expected a finite target",
    ),
    "an infinite target": (
        lambda a: a | {"y": replaced(a["y"], 2, INF)},
        "graph 2 has y = inf; expected a finite target",
    ),
    "a target too many": (
        lambda a: a | {"y": np.zeros(4)},
        "y has shape [4]; expected 3 rows, one for each of 3 graphs",
    ),
    "targets that are text": (
        lambda a: a | {"y": np.array(["1", "2", "3"])},
        "y is <U1; expected integers or floats",
    ),
    "a fourth split": (
        lambda a: a | {"split": np.array([0, 1, 3])},
        "graph 2 has split = 3; expected 0 (train), 1 (val) or 2 (test)",
    ),
    "splits by name": (
        lambda a: a | {"split": np.array(["train", "val", "test"])},
        "split is <U5; expected integers or floats",
    ),
    "no splits": (
        lambda a: without(a, "split"),
        "there is no array split (there are edge_attr,",
    ),
    "no features and no target": (
        lambda a: without(a, "x", "y"),
        "there is no array x, y",
    ),
    "a SMILES too few": (
        lambda a: a | {"smiles_utf8": np.frombuffer(b"CO\nCC", dtype=np.uint8)},
        "smiles_utf8 has 2 lines; expected 3, one for each graph",
    ),
    "SMILES that are no text": (
        lambda a: a | {"smiles_utf8": np.array([255, 10, 10], dtype=np.uint8)},
        "smiles_utf8 is no UTF-8 text",
    ),
    "SMILES as integers": (
        lambda a: a | {"smiles_utf8": np.array([67, 10, 67])},
        "smiles_utf8 is int64 [3]; expected uint8 [bytes]",
    ),
    "an array that belongs to nothing": (
        lambda a: a | {"weight": np.zeros(5)},
        "weight has shape [5]; expected one row for each of the 3 graphs, 6 nodes or 6 edges",
    ),
    "a target of unknown level": (
        lambda a: a | {"target": np.array("pair")},
        "target is 'pair'; expected 'graph', 'node' or 'edge'",
    ),
    "a target level that is a number": (
        lambda a: a | {"target": np.array(1)},
        "target is int64 []; expected text",
    ),
    "a vocabulary of numbers": (
        lambda a: a | {"node_vocabulary": np.arange(28)},
        "node_vocabulary is int64 [28]; expected a list of names",
    ),
    "scalars for arrays": (
        lambda a: a | {"split": np.array(0)},
        "split has shape []; expected 3 rows",
    ),
}


def replaced(values: np.ndarray, place: object, value: float) -> np.ndarray:
    values = values.copy()
    values[place] = value
    return values


def without(arrays: dict, *names: str) -> dict:
    return {name: values for name, values in arrays.items() if name not in names}


def bare(arrays: dict) -> dict:
    """Without vocabularies: features are numbers, not types."""
    return without(arrays, "node_vocabulary", "edge_vocabulary")


@pytest.mark.parametrize("name", FILE_CASES)
def test_a_bad_file_is_refused(tmp_path, name: str):
    change, sentence = FILE_CASES[name]
    path = tmp_path / "chains.npz"
    write_graphs(path, three_chains())
    np.savez(path, **change(read_npz(path)))
    with pytest.raises(ValueError) as refusal:
        read_graphs(path)
    assert f"{path}: {sentence}" in str(refusal.value)
    assert "\n" not in str(refusal.value)


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


def pickled(path):
    np.savez(path, num_nodes=np.array([{"a": 1}], dtype=object))


def not_an_archive(path):
    path.write_bytes(b"this is text, not an archive")


def empty(path):
    path.write_bytes(b"")


def one_array(path):
    np.save(path.with_suffix(".npy"), np.zeros(3))
    path.with_suffix(".npy").rename(path)


def truncated(path):
    write_graphs(path, three_chains())
    path.write_bytes(path.read_bytes()[:-400])


def other_member(path):
    import zipfile

    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (pickled, "holds pickled objects under 'num_nodes.npy'; expected plain numbers or text"),
        (not_an_archive, "is no .npz graph file, or its end is missing (28 bytes)"),
        (empty, "is no .npz graph file, or its end is missing (0 bytes)"),
        (one_array, "is no .npz graph file"),
        (truncated, "is no .npz graph file, or its end is missing"),
        (other_member, "holds 'readme.txt'; expected .npy arrays with names of letters, digits"),
    ],
)
def test_what_is_no_graph_file_is_refused(tmp_path, make: Callable, sentence: str):
    path = tmp_path / "graphs.npz"
    make(path)
    with pytest.raises(ValueError) as refusal:
        read_graphs(path)
    assert str(refusal.value).startswith(f"{path} {sentence}")


def test_a_file_that_is_not_there_is_said_to_be_missing(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*lost\.npz; expected an \.npz"):
        load_dataset("zinc", source=tmp_path / "lost.npz")


def test_a_dataset_that_does_not_exist_is_answered_with_those_that_do():
    sentence = "there is no dataset 'zink'; expected one of molecules, "
    with pytest.raises(ValueError, match=sentence):
        load_dataset("zink")


def test_zinc_from_a_file_without_vocabulary_is_held_to_zincs(tmp_path):
    dataset = three_chains()
    dataset.node_vocabulary = dataset.edge_vocabulary = None
    dataset[1].x[2, 0] = 28
    write_graphs(tmp_path / "zinc.npz", dataset)
    assert read_graphs(tmp_path / "zinc.npz")[1].x[2, 0] == 28
    with pytest.raises(ValueError, match=r"graph 1 has x\[2, 0\] = 28; expected 0 to 27"):
        load_dataset("zinc", source=tmp_path / "zinc.npz")


# The same for graphs in memory; graph 1 of three_chains() is the one that is spoiled.
def spoil(name: str, value: object) -> Callable:
    return lambda graph: graph.update({name: value})


DATA_CASES = {
    "no nodes": (
        lambda g: g.update(
            {"x": g.x[:0], "edge_index": g.edge_index[:, :0], "edge_attr": g.edge_attr[:0]}
        ),
        "graph 1 has no nodes; expected at least one",
    ),
    "no x": (spoil("x", None), "graph 1 has x = None; expected a tensor"),
    "x a list": (spoil("x", [0, 0, 2]), "graph 1 has x = a list; expected a tensor"),
    "x in three dimensions": (
        spoil("x", torch.zeros(3, 1, 1).long()),
        "graph 1 has x of shape [3, 1, 1]; expected [nodes, features]",
    ),
    "x of another dtype": (
        spoil("x", torch.zeros(3, 1)),
        "graph 1 has x with the dtype torch.float32; expected torch.int64",
    ),
    "x of another width": (
        spoil("x", torch.zeros(3, 2).long()),
        "graph 1 has x with rows of shape [2]; expected [1]",
    ),
    "a negative category": (
        spoil("x", torch.tensor([[0], [-3], [2]])),
        "graph 1 has x[1, 0] = -3; expected a category, 0 or more",
    ),
    "an edge to a node that does not exist": (
        spoil("edge_index", torch.tensor([[0, 1, 1, 2], [1, 0, 3, 1]])),
        "graph 1 has an edge (1, 3); expected nodes 0 to 2",
    ),
    "edges of another dtype": (
        spoil("edge_index", torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]).int()),
        "graph 1 has edge_index of torch.int32; expected torch.int64",
    ),
    "edges in rows": (
        spoil("edge_index", torch.tensor([[0, 1], [1, 0], [1, 2], [2, 1]])),
        "graph 1 has edge_index of shape [4, 2]; expected [2, edges]",
    ),
    "an edge feature too few": (
        spoil("edge_attr", torch.ones(3, 1).long()),
        "graph 1 has 3 rows of edge_attr; expected one an edge, 4",
    ),
    "an infinite target": (
        spoil("y", torch.tensor([-INF])),
        "graph 1 has y[0] = -inf; expected a finite number",
    ),
}


@pytest.mark.parametrize("name", DATA_CASES)
@pytest.mark.parametrize("into", ["a batch", "a file"])
def test_a_bad_graph_is_refused(tmp_path, name: str, into: str):
    change, sentence = DATA_CASES[name]
    dataset = three_chains()
    change(dataset.graphs[1])
    with pytest.raises(ValueError) as refusal:
        collate(dataset.graphs) if into == "a batch" else write_graphs(tmp_path / "a.npz", dataset)
    assert str(refusal.value).startswith(sentence)
    assert not list(tmp_path.iterdir())


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
