"""Graph files, folders of memory-mapped arrays, and how files are replaced atomically.

A graph file is an ``.npz`` without pickles, or a ``.safetensors`` file of the same arrays. For G
graphs with ΣN nodes and ΣE edges in all:

================  =============  ==========================================================
``num_nodes``     ``[G]``        at least 1
``num_edges``     ``[G]``        directed: an undirected edge counts twice
``edge_index``    ``[2, ΣE]``    node numbers within their graph
``x``             ``[ΣN, …]``    node features; ``atom_type`` is read as well
``edge_attr``     ``[ΣE, …]``    edge features, optional; ``bond_type`` is read as well
``y``             ``[G, …]``     or ``[ΣN, …]``, ``[ΣE, …]`` if ``target`` says so
``split``         ``[G]``        0 train, 1 val, 2 test
================  =============  ==========================================================

Optional: ``smiles_utf8`` (bytes of one SMILES a line), ``node_vocabulary`` and ``edge_vocabulary``
(or ``atom_vocab``, ``bond_vocab``), ``name``, ``target``, and further node, edge or graph arrays,
told apart by their length; ``node_attributes``, ``edge_attributes`` and ``graph_attributes`` name
them where lengths coincide. A target that is NaN is missing.

A folder of :func:`gtcourse.encodings.prepare.prepare` has each array in an ``.npy`` file
(``edge_index`` in two, ``source`` and ``destination``) and, in ``graphs.json``, written last,
everything else.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from safetensors import safe_open
from safetensors.numpy import save
from torch import Tensor

from gtcourse.graphs.arguments import check_path, check_target
from gtcourse.graphs.check import check_graphs, target_level
from gtcourse.graphs.dataset import GraphDataset, MappedGraphs, RaggedGraphs, known_level
from gtcourse.messages import is_of_full_disk, shown

META = "graphs.json"
FORMAT = 1
SAFETENSORS = ".safetensors"
SIZES = ("num_nodes", "num_edges", "edge_index")
SMILES = "smiles_utf8"
MOST = 2**63 - 1  # the largest int64
OF_THE_FILE = (
    "target",
    "name",
    "missing_targets",
    "node_vocabulary",
    "edge_vocabulary",
    "node_attributes",
    "edge_attributes",
    "graph_attributes",
    "num_edges",
    SMILES,
)
"""Arrays of a graph file that are no attributes of its graphs."""

ALIASES = {
    "atom_type": "x",
    "bond_type": "edge_attr",
    "atom_vocab": "node_vocabulary",
    "bond_vocab": "edge_vocabulary",
}


def read_graphs(
    path: str | Path,
    *,
    name: str | None = None,
    node_vocabulary: Sequence[str] | None = None,
    edge_vocabulary: Sequence[str] | None = None,
) -> GraphDataset:
    """Reads a graph file; every array in it is checked.

    Args:
        name: what the dataset is called; by default what the file says, or its stem.
        node_vocabulary, edge_vocabulary: for a file without its own.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is damaged or a graph in it is malformed; one sentence says which.
    """
    check_path("the graph file", path)
    path = Path(path)
    stored = read_arrays(path)
    try:
        for key, other in ALIASES.items():
            if key in stored and other in stored:
                raise ValueError(f"it has both {key} and {other}; expected one of the two")
        arrays = {ALIASES.get(key, key): values for key, values in stored.items()}
        ragged = _from_arrays(arrays)
        ragged.node_vocabulary = ragged.node_vocabulary or node_vocabulary
        ragged.edge_vocabulary = ragged.edge_vocabulary or edge_vocabulary
        name = name or _text(arrays, "name", path.stem)
        dataset = ragged.to_dataset(name, f"file: {path.name}")
        _check(dataset)
    except Exception as error:  # torch and numpy raise anything, depending on the arrays
        raise ValueError(f"{path} is not a valid graph file: {_reason(error)}.") from None
    return replace(dataset, checksum=file_sha256(path))


def _check(dataset: GraphDataset) -> None:
    check_graphs(dataset.graphs)
    for name, words in (("x", dataset.node_vocabulary), ("edge_attr", dataset.edge_vocabulary)):
        if words is None:
            continue
        # All at once, which takes a fraction of the time; one by one only to name the graph.
        values = [value for graph in dataset.graphs if (value := graph.get(name)) is not None]
        if not values or _are_categories(torch.cat(values), len(words)):
            continue
        for index, value in enumerate(graph.get(name) for graph in dataset):
            if value is not None and not _are_categories(value, len(words)):
                expected = f"expected categories from 0 to {len(words) - 1}"
                raise ValueError(f"graph {index} has {value.max()} in {name}; {expected}.")


def _are_categories(values: Tensor, count: int) -> bool:
    """Whether these are integers below ``count``; that none is negative is checked before."""
    return not values.is_floating_point() and (len(values) == 0 or bool(values.max() < count))


def _from_arrays(arrays: dict[str, np.ndarray]) -> RaggedGraphs:
    """Sorts a file's arrays by what they belong to."""
    required = (*SIZES, "x", "y", "split")
    if missing := [key for key in required if key not in arrays]:
        raise ValueError(f"there is no array {', '.join(missing)}; expected {', '.join(required)}.")
    num_nodes = _as_read("num_nodes", arrays["num_nodes"])
    num_edges = _as_read("num_edges", arrays["num_edges"])
    edge_index = _as_read("edge_index", arrays["edge_index"])
    _check_sizes(num_nodes, num_edges, edge_index)
    target = check_target(_text(arrays, "target", "graph"))
    rows = {"graph": len(num_nodes), "edge": int(num_edges.sum()), "node": int(num_nodes.sum())}
    named: dict[str, str] = {}
    for level_of_list in rows:
        for key in _words(arrays, f"{level_of_list}_attributes") or ():
            first = named.setdefault(key, level_of_list)
            if first != level_of_list:
                raise ValueError(
                    f"{first}_attributes and {level_of_list}_attributes both name {key}; expected "
                    "it in one of them."
                )
    for key, given in named.items():
        if ALIASES.get(key, key) not in arrays:
            raise ValueError(f"{given}_attributes names {key}, which is no array; expected one.")
        known = known_level(key, target)
        if known == "pair":
            raise ValueError(
                f"{given}_attributes names {key}; expected no encoding of pairs in a graph file."
            )
        if known not in (None, given):
            raise ValueError(f"{given}_attributes names {key}; expected it in {known}_attributes.")
    columns: dict[str, Tensor] = {}
    levels: dict[str, str] = {}
    for key, values in arrays.items():
        is_data = key in required or known_level(key, target) is not None
        if key in (*SIZES, SMILES):
            continue
        if not is_data and (values.ndim == 0 or values.dtype.kind == "U"):
            continue  # a description of the file
        if values.ndim == 0:
            raise ValueError(
                f"{key} is a single value; expected a row for each graph or part of it."
            )
        fitting = [level for level in rows if len(values) == rows[level]]
        level = known_level(key, target) or named.get(key) or next(iter(fitting), None)
        if level in fitting:
            columns[key] = _as_read(key, values)
            levels[key] = level
        elif level is not None:  # an unknown array that fits nothing describes the file
            counts = ", ".join(f"{count} {level}s" for level, count in rows.items())
            raise ValueError(f"{key} has {len(values)} rows; expected one for each of {counts}.")
    smiles = None
    if SMILES in arrays:
        try:
            smiles = arrays[SMILES].tobytes().decode().split("\n")
        except UnicodeDecodeError:
            raise ValueError(
                f"{SMILES} is not UTF-8; expected the bytes of one SMILES a line."
            ) from None
        if len(smiles) != len(num_nodes):
            count = len(num_nodes)
            raise ValueError(
                f"smiles has {len(smiles)} rows; expected one for each of {count} graphs."
            )
    return RaggedGraphs(
        num_nodes,
        num_edges,
        edge_index,
        columns,
        levels,
        target,
        node_vocabulary=_words(arrays, "node_vocabulary"),
        edge_vocabulary=_words(arrays, "edge_vocabulary"),
        smiles=smiles,
    )


def _check_sizes(num_nodes: Tensor, num_edges: Tensor, edge_index: Tensor) -> None:
    """Raises a ValueError unless the graphs of these sizes can be cut out of the arrays."""
    for name, counts in (("num_nodes", num_nodes), ("num_edges", num_edges)):
        if counts.dim() != 1 or counts.is_floating_point():
            raise ValueError(
                f"{name} is {counts.dtype} {list(counts.shape)}; expected whole numbers, one for "
                "each graph."
            )
        if (counts < 0).any():
            raise ValueError(f"{name} has the value {int(counts.min())}; expected 0 or more.")
    if len(num_nodes) != len(num_edges):
        raise ValueError(
            f"num_nodes has {len(num_nodes)} rows and num_edges {len(num_edges)}; expected one for "
            "each graph."
        )
    expected = [2, int(num_edges.sum())]
    if edge_index.is_floating_point():
        raise ValueError("edge_index holds floats; expected the numbers of nodes, as integers.")
    if list(edge_index.shape) != expected:
        raise ValueError(
            f"edge_index has shape {list(edge_index.shape)}; expected {expected}, "
            "the sum of num_edges."
        )


def _words(arrays: Mapping[str, np.ndarray], key: str) -> tuple[str, ...] | None:
    """The words of an array of a file, or None without it."""
    if key not in arrays:
        return None
    if arrays[key].ndim != 1:
        raise ValueError(f"{key} has shape {[*arrays[key].shape]}; expected a list of words.")
    return tuple(map(str, arrays[key]))


def _text(arrays: Mapping[str, np.ndarray], key: str, otherwise: str) -> str:
    """A text of a file, or another one if the file does not have it."""
    if key not in arrays:
        return otherwise
    if arrays[key].ndim != 0 or arrays[key].dtype.kind != "U":
        raise ValueError(f"{key} is {shown(arrays[key])}; expected a text.")
    return str(arrays[key])


def _as_read(name: str, values: np.ndarray) -> Tensor:
    """Integers as int64 and floats as float32; features have two axes."""
    if values.dtype.kind not in "biuf" or (name == "split" and values.dtype.kind == "b"):
        raise ValueError(f"{name} is {values.dtype}; expected integers or floats.")
    if values.dtype == np.uint64 and values.size > 0 and values.max() > MOST:
        raise ValueError(f"{name} has the value {values.max()}; expected at most {MOST}.")
    given = values
    with np.errstate(over="ignore"):  # infinity is reported with the graph that has it
        values = values.astype(np.float32 if values.dtype.kind == "f" else np.int64)
    lost = given[(values == 0) & (given != 0)] if name == "y" else np.empty(0)
    if lost.size:
        raise ValueError(
            f"y has the value {lost.flat[0]:g}, which is 0 in single precision; expected 0, or "
            "larger numbers: in another unit, for instance."
        )
    tensor = torch.from_numpy(values)
    return tensor[:, None] if name in ("x", "edge_attr") and tensor.dim() == 1 else tensor


def write_graphs(path: str | Path, dataset: GraphDataset) -> str:
    """Writes a graph file atomically, and returns its sha256; the same graphs give the same bytes.

    Integers are stored in the smallest type that holds them, floats as float32. Every attribute of
    a graph with one row for each node, each edge or the graph is stored; pair encodings
    ``[n, n, …]`` are not data and raise a ValueError, as malformed graphs do.
    """
    if not isinstance(dataset, GraphDataset):
        raise ValueError(f"dataset is of type {type(dataset).__name__}; expected a GraphDataset.")
    check_path("the graph file", path)
    if Path(path).is_dir():
        raise ValueError(f"{path} is a folder; expected the name of a file.")
    if Path(path).suffix not in (".npz", SAFETENSORS):
        raise ValueError(
            f"the graph file is {path}; expected a name that ends in .npz or {SAFETENSORS}."
        )
    _check(dataset)
    target_level(dataset.graphs, dataset.target)
    ragged = RaggedGraphs.from_data(dataset.graphs, dataset.target, dataset.split)
    _check_storable(dataset, ragged)
    ragged.node_vocabulary = dataset.node_vocabulary
    ragged.edge_vocabulary = dataset.edge_vocabulary
    stored = {name for name, level in ragged.levels.items() if level != "pair"}
    stored |= {"edge_index", "num_nodes"}
    stored -= {"laplacian_eigenvalues"}
    if ragged.smiles is not None:
        stored.add("smiles")
    for name in sorted({*dataset.graphs[0].keys()} - stored):
        shape = list(getattr(dataset.graphs[0][name], "shape", ()))
        expected = "one row for each node, each edge or the graph, of one width in all graphs"
        raise ValueError(f"graph 0 has {name} of shape {shape}; expected {expected}.")
    return write_ragged(path, ragged, name=dataset.name)


def _check_storable(dataset: GraphDataset, ragged: RaggedGraphs) -> None:
    """Raises a ValueError for what a graph file could not give back as it was."""
    if "y" not in ragged.columns:
        raise ValueError(
            "the graphs have no targets y; expected one for each, NaN if it is unknown."
        )
    check_dtypes_of_numpy(ragged)
    for name, column in ragged.columns.items():
        if name in OF_THE_FILE:
            raise ValueError(
                f"graph 0 has an attribute {name!r}, a name that is reserved in graph files; "
                "expected another name."
            )
        largest = torch.finfo(torch.float32).max
        if column.dtype == torch.float64 and (column.abs() > largest).any():
            raise ValueError(
                f"{name} holds {column.abs().nan_to_num(0).max():g}; expected numbers within the "
                f"range of float32, {largest:.3g}."
            )
    for index, smiles in enumerate(ragged.smiles or ()):
        if not isinstance(smiles, str) or "\n" in smiles:
            raise ValueError(f"graph {index} has smiles {smiles!r}; expected a string of one line.")


def check_dtypes_of_numpy(ragged: RaggedGraphs) -> None:
    """Raises a ValueError for a column of a type that NumPy's files cannot hold."""
    for name, column in ragged.columns.items():
        if column.dtype == torch.bfloat16:
            raise ValueError(f"{name} is torch.bfloat16; expected torch.float32 to be stored.")


def write_ragged(path: str | Path, ragged: RaggedGraphs, *, name: str) -> str:
    """:func:`write_graphs` for graphs that are already end to end."""
    arrays: dict[str, Any] = {
        "num_nodes": ragged.num_nodes,
        "num_edges": ragged.num_edges,
        "edge_index": ragged.edge_index,
    }
    y = ragged.columns["y"]
    for level in ("graph", "node", "edge"):
        keys = sorted(key for key, found in ragged.levels.items() if found == level)
        arrays |= {key: ragged.columns[key] for key in keys}
        arrays[f"{level}_attributes"] = np.array(keys, dtype=str)
    if ragged.node_vocabulary is not None:
        arrays["node_vocabulary"] = np.array(ragged.node_vocabulary, dtype=str)
    if ragged.edge_vocabulary is not None:
        arrays["edge_vocabulary"] = np.array(ragged.edge_vocabulary, dtype=str)
    if ragged.smiles is not None:
        text = "\n".join(ragged.smiles).encode()
        arrays[SMILES] = np.frombuffer(text, dtype=np.uint8)
    arrays["missing_targets"] = np.array(bool(y.is_floating_point() and y.isnan().any()))
    arrays |= {"target": np.array(ragged.target), "name": np.array(name)}
    arrays = {key: np.asarray(values) for key, values in arrays.items()}
    floats = {key: v.astype(np.float32) for key, v in arrays.items() if v.dtype.kind == "f"}
    return write_arrays(path, {key: narrow(values) for key, values in (arrays | floats).items()})


def narrow(values: np.ndarray, types: str = "u1 i1 u2 i2 u4 i4") -> np.ndarray:
    """Integers in the first of the types that holds them, else as int64; others unchanged."""
    if values.dtype.kind not in "iu":
        return values
    low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
    fitting = (t for t in types.split() if np.iinfo(t).min <= low and high <= np.iinfo(t).max)
    return values.astype(next(fitting, np.int64))


def write_arrays(path: str | Path, arrays: Mapping[str, np.ndarray]) -> str:
    """Writes arrays under their names, atomically, and returns the file's sha256.

    The same arrays give the same bytes: as safetensors where the path ends in ``.safetensors``,
    with texts among its metadata, and by :func:`write_npz` otherwise.
    """
    path = Path(path)
    if path.suffix != SAFETENSORS:
        return write_npz(path, arrays)
    texts = {name: values.tolist() for name, values in arrays.items() if values.dtype.kind == "U"}
    numbers = {
        name: np.ascontiguousarray(values).reshape(values.shape)
        for name, values in arrays.items()
        if name not in texts
    }
    with replacing(path) as temporary:
        # One entry: the order of several is not always the same.
        temporary.write_bytes(save(numbers, {"texts": json.dumps(texts, sort_keys=True)}))
        return file_sha256(temporary)


def read_arrays(path: str | Path) -> dict[str, np.ndarray]:
    """Every array of a file of :func:`write_arrays`; nothing in it is executed.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is damaged, or another kind of file.
    """
    path = Path(path)
    if path.suffix != SAFETENSORS or not path.exists():
        return read_npz(path)
    try:
        with safe_open(path, framework="numpy") as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            texts = json.loads((file.metadata() or {}).get("texts", "{}"))
        return arrays | {name: np.array(values, dtype=str) for name, values in texts.items()}
    except Exception as error:  # of a damaged file, safetensors' own or any other
        raise ValueError(
            f"{path} cannot be read ({_reason(error)}); expected a safetensors file of arrays."
        ) from None


def write_npz(path: str | Path, arrays: Mapping[str, np.ndarray]) -> str:
    """Writes arrays under their names, atomically, and returns the file's sha256.

    Members are sorted, stored uncompressed (compressors differ between machines), little-endian
    and dated 1980, so that the same arrays give the same bytes everywhere.
    """
    with replacing(Path(path)) as temporary:
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive:
            for name in sorted(arrays):
                member = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
                member.create_system = 3  # otherwise the operating system's number
                member.external_attr = 0o644 << 16
                values = np.asarray(arrays[name], order="C")
                values = values.astype(values.dtype.newbyteorder("<"), copy=False)
                buffer = io.BytesIO()
                np.lib.format.write_array(buffer, values, version=(1, 0), allow_pickle=False)
                archive.writestr(member, buffer.getvalue())
        return file_sha256(temporary)


def read_npz(path: str | Path) -> dict[str, np.ndarray]:
    """Every array, checked against the archive's own checksums; nothing is unpickled."""
    if not Path(path).exists():
        raise FileNotFoundError(f"there is no file {path}; expected an .npz graph file.")
    if Path(path).is_dir():
        raise ValueError(f"{path} is a folder; expected an .npz graph file.")
    try:
        if not zipfile.is_zipfile(path):  # NumPy would take a text for a pickle
            raise ValueError("it is not a zip archive, or only the beginning of one")
        with open(path, "rb") as file:
            archive = np.load(file, allow_pickle=False)
            if len({*archive.files}) < len(archive.files):
                raise ValueError("it has two members of one name")
            arrays = {name: archive[name] for name in archive.files}
        if not all(isinstance(values, np.ndarray) for values in arrays.values()):
            raise ValueError("it has members that are not arrays")
        return arrays
    except Exception as error:  # numpy and zipfile raise anything, depending on the damage
        raise ValueError(
            f"{path} cannot be read ({_reason(error)}); expected an .npz file of plain arrays."
        ) from None


def _reason(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:200].rstrip(".")


def open_graphs(folder: str | Path) -> MappedGraphs:
    """A folder that :func:`gtcourse.encodings.prepare.prepare` has finished.

    Raises a FileNotFoundError if it has not, a ValueError if a file is missing or damaged.
    """
    check_path("the folder", folder, "the path of a folder of prepared graphs")
    folder = Path(folder).expanduser()
    path = folder / META
    if not path.is_file():
        raise FileNotFoundError(f"{folder} has no {META}; expected a folder of prepared graphs.")
    try:
        meta = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(meta, dict) or meta.pop("format", None) != FORMAT:
            raise ValueError(f"its format is not {FORMAT}")
        stored = meta.pop("columns")
        columns: dict[str, Tensor] = {}
        for name in stored:
            path = folder / f"{name}.npy"
            values = np.load(path, mmap_mode="c", allow_pickle=False)
            is_float = getattr(torch, stored[name]["dtype"]).is_floating_point
            if (values.dtype.kind == "f") != is_float:
                raise ValueError(f"it holds {values.dtype}, not {stored[name]['dtype']}")
            _check_content(path, values, stored[name])
            columns[name] = torch.from_numpy(values)
        num_nodes, num_edges = (columns.pop(name).long() for name in SIZES[:2])
        ends = columns.pop("source"), columns.pop("destination")
        levels = {name: stored[name]["level"] for name in columns}
        dtypes = {name: getattr(torch, stored[name]["dtype"]) for name in columns}
        graphs = RaggedGraphs(
            num_nodes, num_edges, ends, columns, levels, meta["target"], dtypes=dtypes
        )
        for name, rows in graphs.wrong_lengths().items():
            path = folder / f"{name}.npy"
            raise ValueError(f"it has {rows} rows")
        return MappedGraphs(folder=folder, graphs=graphs, split=columns["split"], **meta)
    except Exception as error:
        raise ValueError(
            f"{path} is missing or damaged ({error}); expected what `gtcourse prepare` wrote. "
            "Delete the folder and prepare it again."
        ) from None


def _check_content(path: Path, values: np.ndarray, stored: Mapping[str, Any]) -> None:
    """Raises a ValueError, whose text is a reason, for a file that is not the one that was written.

    What the large files hold is not read; folders of earlier releases state less about them.
    """
    found = _description(values)
    for what, value in found.items():
        if stored.get(what, value) != value:
            raise ValueError(f"its {what} is {value}, not {stored[what]}")
    expected = stored.get("sha256")
    if expected is not None and file_sha256(path) != expected:
        raise ValueError("its values are not those that were written")


def _description(values: np.ndarray) -> dict[str, Any]:
    """What a folder states of an array beside its level: its type, and the shape of a row."""
    return {"type": values.dtype.str, "row shape": [*values.shape[1:]]}


def write_part(path: Path, ragged: RaggedGraphs) -> None:
    """Some graphs of a folder, with the level and the type of each array."""
    source, destination = ragged.edge_index
    columns = ragged.columns | {"num_nodes": ragged.num_nodes, "num_edges": ragged.num_edges}
    columns |= {"source": source, "destination": destination}
    sizes = {"num_nodes": "graph", "num_edges": "graph", "source": "edge", "destination": "edge"}
    levels = ragged.levels | sizes
    arrays: dict[str, np.ndarray] = {}
    stored: dict[str, dict[str, str]] = {}
    for level in ("graph", "edge", "node", "pair"):
        for name in sorted(name for name in columns if levels[name] == level):
            values = columns[name].numpy()
            arrays[name] = narrow(values, "u1 i1 i2 i4")  # no wider unsigned type can index
            stored[name] = {"level": level, "dtype": str(values.dtype)}
    write_npz(path, arrays | {"columns": np.array(json.dumps(stored))})


def join_parts(folder: Path, parts: Sequence[Path], meta: Mapping[str, Any]) -> None:
    """Writes the arrays of the parts end to end, one at a time, and them and ``meta`` as JSON."""
    columns = json.loads(str(np.load(parts[0], allow_pickle=False)["columns"]))
    for name in columns:
        # A part's other arrays are not read.
        values = np.concatenate([np.load(part, allow_pickle=False)[name] for part in parts])
        with replacing(folder / f"{name}.npy") as temporary, open(temporary, "wb") as file:
            np.save(file, values, allow_pickle=False)
        columns[name] |= _description(values)
        # Small files, which are read when the folder is opened; fingerprints are not, for instance.
        if columns[name]["level"] == "graph" and name in ("num_nodes", "num_edges", "y", "split"):
            columns[name]["sha256"] = file_sha256(folder / f"{name}.npy")
    with replacing(folder / META) as temporary:
        content = json.dumps({"format": FORMAT, **meta, "columns": columns}, indent=1)
        temporary.write_text(content + "\n", encoding="utf-8")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path`` that replaces it when the block ends without an error.

    Its name is always the same: the next writer overwrites what a killed one left. Where several
    processes may write at once, they hold a lock. An error of the operating system about the
    temporary file names ``path``, and so does that of a full disk, which names no file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        is_full = error.filename is None and is_of_full_disk(error)
        is_ours = error.filename in (temporary, str(temporary))
        if error.errno is None or not (is_ours or is_full):
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from None
    finally:
        temporary.unlink(missing_ok=True)


def write_tensors(path: Path, content: Mapping[str, Any]) -> None:
    """``torch.save``, atomically; the same content gives the same bytes.

    torch itself would write the temporary path's name into the file.
    """
    buffer = io.BytesIO()
    torch.save(dict(content), buffer)
    with replacing(path) as temporary:
        temporary.write_bytes(buffer.getbuffer())


def check_same(what: str, ours: Mapping[str, object], saved: Mapping[str, object]) -> None:
    """Raises a ValueError if ``what`` was begun with other settings."""
    if differ := sorted(name for name in {*ours, *saved} if ours.get(name) != saved.get(name)):
        raise ValueError(
            f"{what}, different in {', '.join(differ)}; expected the same, or another folder."
        )


def file_sha256(path: str | Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def require(module: str, package: str) -> ModuleType:
    """Imports a module, or raises an ImportError that says how to install its package."""
    try:
        return import_module(module)
    except ImportError:
        raise ImportError(
            f"this needs {package}, which is not installed; install it with `pip install "
            f"{package}`. Graph files (load_dataset(name, source='….npz')) are read without it."
        ) from None
