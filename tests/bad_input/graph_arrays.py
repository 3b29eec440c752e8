"""The arrays of a graph file: what they cannot be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from gtcourse.graphs import read_graphs, write_graphs
from gtcourse.graphs.files import read_npz
from tests.bad_input.case import Case
from tests.graphs.small import three_chains

NAN, INF = float("nan"), float("inf")


def replaced(values: np.ndarray, place: object, value: float) -> np.ndarray:
    values = values.copy()
    values[place] = value
    return values


def without(arrays: dict, *names: str) -> dict:
    return {name: values for name, values in arrays.items() if name not in names}


def bare(arrays: dict) -> dict:
    """Without vocabularies: features are numbers, not types."""
    return without(arrays, "node_vocabulary", "edge_vocabulary")


# The file of three_chains(): nodes 0 1 | 0 0 2 | 0, edges 2 + 4 + 0, splits 0 1 2.
CHANGES = {
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
    "a number of nodes beyond any memory": (
        lambda a: a | {"num_nodes": np.array([2**62, 2**62, 2**62, 2**62 + 6])},
        "graph 0 has num_nodes = 4611686018427387904; expected at most 2147483647",
    ),
    "features without a column": (
        lambda a: bare(a) | {"x": np.zeros((6, 0))},
        "x has shape [6, 0]; expected one column or more",
    ),
    "an unsigned edge that would wrap round": (
        lambda a: (
            a | {"edge_index": replaced(a["edge_index"].astype(np.uint64), (0, 0), 2**64 - 1)}
        ),
        "graph 0 has an edge (18446744073709551615, 1); expected nodes 0 to 1",
    ),
    "complex features": (
        lambda a: bare(a) | {"x": a["x"].astype(complex)},
        "x is complex128; expected integers or floats",
    ),
    "dates as targets": (
        lambda a: a | {"y": np.array(["2020-01-01"] * 3, dtype="M8[D]")},
        "y is datetime64[D]; expected integers or floats",
    ),
    "a type that is there twice": (
        lambda a: a | {"node_vocabulary": np.array(["C", "O", "C"])},
        "node_vocabulary holds 'C' twice; expected each name once",
    ),
    "a name of two lines": (
        lambda a: a | {"name": np.array("zinc\nand more")},
        "name is 'zinc\\nand more'; expected 1 to 100 printable characters",
    ),
    "a name that no folder can have": (
        lambda a: a | {"name": np.array("z" * 1000)},
        f"name is {'z' * 100!r}; expected 1 to 100 printable characters",
    ),
    "missing targets said in words": (
        lambda a: a | {"missing_targets": np.array("yes")},
        "missing_targets is <U3 []; expected True or False",
    ),
}


def changed(change: Callable) -> Callable[[Path], Callable]:
    """A graph file of which an array is another one."""

    def make(folder: Path) -> Callable:
        path = folder / "chains.npz"
        write_graphs(path, three_chains())
        np.savez(path, **change(read_npz(path)))
        return lambda: read_graphs(path)

    return make


CASES = [
    Case(what, changed(change), f"{{folder}}/chains.npz: {sentence}")
    for what, (change, sentence) in CHANGES.items()
]
