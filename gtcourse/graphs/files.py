"""The course's graph file: a pickle-free ``.npz`` of ragged arrays.

For G graphs with ΣN nodes and ΣE directed edges in all:

================  =============  ==========================================================
``num_nodes``     ``[G]``        at least 1
``num_edges``     ``[G]``        directed: an undirected edge counts twice
``edge_index``    ``[2, ΣE]``    node numbers within their graph
``x``             ``[ΣN, …]``    node features; ``atom_type`` is read as well
``edge_attr``     ``[ΣE, …]``    edge features, optional; ``bond_type`` is read as well
``y``             ``[G, …]``     or ``[ΣN, …]``, ``[ΣE, …]`` where ``target`` says so
``split``         ``[G]``        0 train, 1 val, 2 test
================  =============  ==========================================================

Optional: ``smiles_utf8`` (bytes of one SMILES a line), ``node_vocabulary`` and ``edge_vocabulary``
(or ``atom_vocab``, ``bond_vocab``), ``name``, ``target``, ``missing_targets`` (y may be NaN), and
further node, edge or graph arrays, told apart by their length; ``node_attributes``,
``edge_attributes`` and ``graph_attributes`` name them where lengths coincide.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gtcourse.graphs.checks import check_graphs
from gtcourse.graphs.dataset import GraphDataset
from gtcourse.graphs.npz import file_sha256, read_npz, write_npz
from gtcourse.graphs.ragged import RaggedGraphs
from gtcourse.graphs.ragged_checks import check_ragged

LEVELS = ("graph", "node", "edge")
ALIASES = {
    "atom_type": "x",
    "bond_type": "edge_attr",
    "atom_vocab": "node_vocabulary",
    "bond_vocab": "edge_vocabulary",
}
LONGEST_NAME = 100
DESCRIPTIONS = ("split_names", "y_coef")
"""Arrays of a file that describe it and belong to no graph."""


def read_graphs(
    path: str | Path,
    *,
    name: str | None = None,
    node_vocabulary: tuple[str, ...] | None = None,
    edge_vocabulary: tuple[str, ...] | None = None,
) -> GraphDataset:
    """Reads a graph file; every array in it is checked.

    Args:
        path: the ``.npz`` file.
        name: what the dataset is called; by default what the file says, or its stem.
        node_vocabulary, edge_vocabulary: for a file that brings none.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is damaged or a graph in it is malformed; one sentence names the file,
            the graph, the value and what was expected.
    """
    path = Path(path)
    stored = read_npz(path)
    arrays = {ALIASES.get(key, key): values for key, values in stored.items()}
    try:
        for alias, key in ALIASES.items():
            if alias in stored and key in stored:
                raise ValueError(f"it holds both {alias} and {key}; expected one of the two names.")
        ragged = _ragged(arrays)
        ragged.node_vocabulary = ragged.node_vocabulary or node_vocabulary
        ragged.edge_vocabulary = ragged.edge_vocabulary or edge_vocabulary
        check_ragged(ragged)
        stored_name = _text(arrays, "name", path.stem)
        _refuse_name(stored_name)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return GraphDataset(
        name=name or stored_name,
        source=f"file: {path.name}",
        graphs=ragged.to_data(),
        split=ragged.graph["split"].astype(np.int64),
        node_vocabulary=ragged.node_vocabulary,
        edge_vocabulary=ragged.edge_vocabulary,
        target=ragged.target,
        checksum=file_sha256(path),
    )


def write_graphs(path: str | Path, dataset: GraphDataset, *, missing_targets: bool = False) -> str:
    """Writes a graph file, whole or not at all; the same graphs always give the same bytes.

    Integers are stored in the smallest type that holds them, floats as float32. Every attribute of
    a graph with one row for each node, each edge or the graph is stored; pair encodings
    ``[n, n, …]`` are not data and are refused.

    Args:
        missing_targets: targets may be NaN (a label nobody measured).

    Returns:
        sha256 of the file.

    Raises:
        ValueError: a graph is malformed; the sentence names it, the value and what was expected.
    """
    check_graphs(dataset.graphs)
    ragged = RaggedGraphs.from_data(dataset.graphs, dataset.split.numpy(), dataset.target)
    ragged.node_vocabulary = dataset.node_vocabulary
    ragged.edge_vocabulary = dataset.edge_vocabulary
    ragged.missing_targets = missing_targets
    return write_ragged(path, ragged, name=dataset.name)


def write_ragged(path: str | Path, ragged: RaggedGraphs, *, name: str) -> str:
    """:func:`write_graphs` for graphs that already lie end to end."""
    check_ragged(ragged)
    arrays = {
        "num_nodes": ragged.num_nodes,
        "num_edges": ragged.num_edges,
        "edge_index": ragged.edge_index,
    }
    for level in LEVELS:
        attributes = getattr(ragged, level)
        arrays |= attributes
        arrays[f"{level}_attributes"] = np.array(sorted(attributes), dtype=str)
    for key in ("node_vocabulary", "edge_vocabulary"):
        if getattr(ragged, key) is not None:
            arrays[key] = np.array(getattr(ragged, key), dtype=str)
    if ragged.smiles is not None:
        arrays["smiles_utf8"] = _encoded_lines(ragged.smiles)
    arrays["name"] = np.array(name)
    arrays["target"] = np.array(ragged.target)
    arrays["missing_targets"] = np.array(ragged.missing_targets)
    return write_npz(path, {key: _narrow(values) for key, values in arrays.items()})


def _ragged(arrays: dict[str, np.ndarray]) -> RaggedGraphs:
    """Sorts a file's arrays by what they belong to."""
    required = ("num_nodes", "num_edges", "edge_index", "x", "y", "split")
    missing = [key for key in required if key not in arrays]
    if missing:
        raise ValueError(
            f"there is no array {', '.join(missing)} (there are {', '.join(sorted(arrays))}); "
            f"expected {', '.join(required)}."
        )
    target = _text(arrays, "target", "graph")
    if target not in LEVELS:
        raise ValueError(f"target is {target!r}; expected 'graph', 'node' or 'edge'.")
    ragged = RaggedGraphs(
        num_nodes=arrays["num_nodes"],
        num_edges=arrays["num_edges"],
        edge_index=arrays["edge_index"],
        node={"x": arrays["x"]},
        edge={"edge_attr": arrays["edge_attr"]} if "edge_attr" in arrays else {},
        graph={"split": arrays["split"]},
        target=target,
        smiles=_lines(arrays["smiles_utf8"]) if "smiles_utf8" in arrays else None,
        node_vocabulary=_words(arrays, "node_vocabulary"),
        edge_vocabulary=_words(arrays, "edge_vocabulary"),
        missing_targets=_flag(arrays, "missing_targets"),
    )
    getattr(ragged, target)["y"] = arrays["y"]
    taken = {"x", "y", "edge_attr", "split", "smiles_utf8", *required, *DESCRIPTIONS}
    for key in ("num_nodes", "num_edges"):
        if arrays[key].dtype.kind not in "iu":
            raise ValueError(f"{key} is {arrays[key].dtype}; expected integers.")
    for key in sorted(arrays.keys() - taken):
        if arrays[key].ndim > 0 and arrays[key].dtype.kind != "U":
            getattr(ragged, _level(key, arrays))[key] = arrays[key]
    return ragged


def _level(key: str, arrays: dict[str, np.ndarray]) -> str:
    for level in LEVELS:
        if key in (_words(arrays, f"{level}_attributes") or ()):
            return level
    rows = {
        "graph": arrays["num_nodes"].size,
        "node": int(arrays["num_nodes"].sum()),
        "edge": int(arrays["num_edges"].sum()),
    }
    for level, count in rows.items():
        if len(arrays[key]) == count:
            return level
    counts = f"{rows['graph']} graphs, {rows['node']} nodes or {rows['edge']} edges"
    raise ValueError(
        f"{key} has shape {list(arrays[key].shape)}; expected one row for each of the {counts}."
    )


def _text(arrays: dict[str, np.ndarray], key: str, default: str) -> str:
    if key not in arrays:
        return default
    if arrays[key].dtype.kind != "U" or arrays[key].ndim != 0:
        raise ValueError(f"{key} is {arrays[key].dtype} {list(arrays[key].shape)}; expected text.")
    return str(arrays[key])


def _refuse_name(name: str) -> None:
    """It will be printed, and be a part of a run's folder."""
    if not (name.isprintable() and 0 < len(name) <= LONGEST_NAME):
        raise ValueError(
            f"name is {name[:LONGEST_NAME]!r}; expected 1 to {LONGEST_NAME} printable characters."
        )


def _flag(arrays: dict[str, np.ndarray], key: str) -> bool:
    value = arrays.get(key, np.array(False))
    if value.dtype.kind != "b" or value.ndim != 0:
        raise ValueError(f"{key} is {value.dtype} {list(value.shape)}; expected True or False.")
    return bool(value)


def _words(arrays: dict[str, np.ndarray], key: str) -> tuple[str, ...] | None:
    words = arrays.get(key, np.zeros(0, dtype=str))
    if words.dtype.kind != "U" or words.ndim != 1:
        raise ValueError(f"{key} is {words.dtype} {list(words.shape)}; expected a list of names.")
    listed = tuple(str(word) for word in words)
    if len({*listed}) < len(listed):
        twice = next(word for word in listed if listed.count(word) > 1)
        raise ValueError(f"{key} holds {twice[:40]!r} twice; expected each name once.")
    return listed or None


def _lines(text: np.ndarray) -> list[str]:
    if text.dtype != np.uint8 or text.ndim != 1:
        raise ValueError(f"smiles_utf8 is {text.dtype} {list(text.shape)}; expected uint8 [bytes].")
    try:
        return text.tobytes().decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"smiles_utf8 is no UTF-8 text ({error.reason} at byte {error.start}); expected one "
            "SMILES a line."
        ) from None


def _encoded_lines(lines: list[str]) -> np.ndarray:
    for index, line in enumerate(lines):
        if "\n" in line:
            raise ValueError(f"graph {index} has smiles = {line!r}; expected one line.")
    return np.frombuffer("\n".join(lines).encode("utf-8"), dtype=np.uint8)


def _narrow(values: np.ndarray) -> np.ndarray:
    """The smallest integer type that holds the values; float32 for floats."""
    if values.dtype.kind == "f":
        return values.astype(np.float32)
    if values.dtype.kind not in "iu":
        return values
    low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
    for kind in (np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32):
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return values.astype(kind)
    return values.astype(np.int64)
