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

import errno
import hashlib
import io
import os
import re
import secrets
import shutil
import struct
import sys
import time
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
import torch
from filelock import FileLock, Timeout

from gtcourse.graphs.batch import check_graphs
from gtcourse.graphs.ragged import SPLITS, GraphDataset, RaggedGraphs, check_ragged

LEVELS = ("graph", "node", "edge")
ALIASES = {
    "atom_type": "x",
    "bond_type": "edge_attr",
    "atom_vocab": "node_vocabulary",
    "bond_vocab": "edge_vocabulary",
}
LONGEST_NAME = 100
INTEGERS = (np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32)
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
    if not isinstance(dataset, GraphDataset) or not isinstance(path, str | Path):
        raise ValueError(
            f"the arguments are a {type(path).__name__} and a {type(dataset).__name__}; expected "
            "a path and a GraphDataset."
        )
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
    floats = {key: v.astype(np.float32) for key, v in arrays.items() if v.dtype.kind == "f"}
    return write_npz(path, {key: narrow(values) for key, values in (arrays | floats).items()})


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


def narrow(values: np.ndarray, kinds: Sequence[type] = INTEGERS) -> np.ndarray:
    """Integers in the first of the types that holds them, else as int64; others as they are."""
    if values.dtype.kind not in "iu":
        return values
    low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
    held = (k for k in kinds if np.iinfo(k).min <= low and high <= np.iinfo(k).max)
    return values.astype(next(held, np.int64))


def kept(
    root: Path,
    name: str,
    build: Callable[[], RaggedGraphs],
    source: str,
    checksum: str | None = None,
) -> GraphDataset:
    """A dataset from its graph file under ``root``, built first where that is not there.

    Args:
        build: makes the graphs; called again where the file is damaged, which a warning says.
        source: says which data this is.
        checksum: sha256 of the file with which the course's numbers were made. A part of it is in
            the file's name, and where the file is another one, ``.source`` says so.
    """
    path = root / (f"{name}-{checksum[:8]}.npz" if checksum else f"{name}.npz")
    dataset = read_or_build(path, build, name)
    if checksum not in (None, dataset.checksum):
        source += ", not byte for byte those of the course's numbers"
    return replace(dataset, source=source)


def read_or_build(path: Path, build: Callable[[], RaggedGraphs], name: str) -> GraphDataset:
    """A dataset from its graph file, built by the first process that asks; others wait for it.

    A file that is there is read without a lock, so its folder may be read-only. One that is damaged
    is named in a warning and made anew.
    """
    dataset, _ = _read(path)
    if dataset is not None:
        return dataset
    with locked(path.with_name(f".{path.name}.lock")):
        remove_halves(path.parent, path.name)
        dataset, fault = _read(path)  # another process may have built it meanwhile
        if fault:
            warnings.warn(f"{fault} It is made anew.", stacklevel=4)
        if dataset is None:
            write_ragged(path, build(), name=name)
            dataset = read_graphs(path)
    return dataset


def _read(path: Path) -> tuple[GraphDataset | None, str | None]:
    """The dataset, or what is wrong with the file; neither where there is no file."""
    try:
        return (read_graphs(path) if path.is_file() else None), None
    except ValueError as error:
        return None, str(error)


def made(name: str, source: str, ragged: RaggedGraphs) -> GraphDataset:
    """Graphs fresh from their recipe, which no file holds: ``.checksum`` is None."""
    return GraphDataset(
        name=name,
        source=source,
        graphs=ragged.to_data(),
        split=ragged.graph["split"],
        target=ragged.target,
    )


def check_split_sizes(split_sizes: Sequence[int]) -> None:
    """Refuses sizes of which no dataset can be made.

    Raises:
        ValueError: they are not three numbers of graphs, or all of them are 0.
    """
    sizes = tuple(split_sizes)
    if len(sizes) != len(SPLITS) or min(sizes) < 0 or sum(sizes) == 0:
        raise ValueError(
            f"split_sizes is {sizes}; expected the numbers of training, validation and test "
            "graphs, at least one graph in all."
        )


DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    tokenize.TokenError,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    OverflowError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)
"""What ``zipfile`` and numpy's ``.npy`` reader raise, depending on where a file is damaged."""


def write_npz(path: str | Path, arrays: Mapping[str, np.ndarray]) -> str:
    """Writes arrays under their names; another process sees the old file or the whole new one.

    Members are sorted, stored uncompressed (compressors differ between machines), little-endian
    and dated 1980, so that the same arrays give the same bytes everywhere.

    Returns:
        sha256 of the file.
    """
    with replacing(Path(path)) as temporary:
        with zipfile.ZipFile(temporary, "x", zipfile.ZIP_STORED) as archive:
            for name in sorted(arrays):
                archive.writestr(_member(name), _npy(arrays[name]))
        return file_sha256(temporary)


def read_npz(path: str | Path) -> dict[str, np.ndarray]:
    """Reads every array, checked against the archive's own checksums; nothing is executed.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no ``.npz``, is damaged, or holds pickled objects or else no array.
    """
    path = Path(path)
    if not is_file(path):
        raise FileNotFoundError(f"there is no file {brief(path)}; expected an .npz graph file.")
    if not zipfile.is_zipfile(path):
        raise ValueError(
            f"{path} is no .npz graph file, or its end is missing ({path.stat().st_size} bytes); "
            "expected a zip archive of .npy arrays."
        )
    name = "the list of its arrays"
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {}
            for name in archive.files:
                arrays[name] = archive[name] if name.isidentifier() else None
    except DAMAGE as error:
        text = (str(error).strip() or type(error).__name__).splitlines()[0][:200].rstrip(".")
        if "allow_pickle" in text:
            raise ValueError(
                f"{path} holds pickled objects under {name!r}; expected plain numbers or text, "
                "because unpickling a file runs whatever code it carries."
            ) from None
        what = f"'{name}.npy'" if name.isidentifier() else name
        raise ValueError(
            f"{path} is damaged: {what} cannot be read ({text}); expected .npy arrays. "
            "Delete the file and get it again."
        ) from None
    for name, values in arrays.items():
        if not isinstance(values, np.ndarray):
            raise ValueError(
                f"{path} holds {name[:80]!r}; expected .npy arrays with names of letters, digits "
                "and underscores, such as 'edge_index.npy'."
            )
    return arrays


def brief(path: Path) -> str:
    """A path as a sentence can hold it."""
    return str(path) if len(str(path)) <= 300 else f"{str(path)[:100]}…"


def is_file(path: Path) -> bool:
    """Whether there is one; a name that no file can have is that of none."""
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long; a null byte
        return False


def file_sha256(path: str | Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
    info.create_system = 3  # zipfile notes the operating system otherwise
    info.external_attr = 0o644 << 16
    return info


def _npy(array: np.ndarray) -> bytes:
    array = np.ascontiguousarray(array) if array.ndim else array
    buffer = io.BytesIO()
    little_endian = array.astype(array.dtype.newbyteorder("<"), copy=False)
    np.lib.format.write_array(buffer, little_endian, version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


HALF = re.compile(r"\.(.+)\.[0-9a-f]{12}\.tmp")
"""The name of a file that is being written, and in it the name that it will have."""

FORGOTTEN = 24 * 60 * 60
"""Seconds after which nobody writes a half file any more: it is a killed process's."""

NO_ROOM = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the limit on the size of a file is reached",
}


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its place when the block ends without error.

    Half files of the same name that a killed process left a day ago or earlier are removed.

    Raises:
        OSError: it cannot be written; one sentence says why. What was there is as it was.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    with in_a_sentence(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_halves(path.parent, path.name, older_than=FORGOTTEN)
        try:
            yield temporary
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)


def write_tensors(path: Path, content: dict) -> None:
    """``torch.save``, whole or not at all; the same content gives the same bytes.

    torch itself writes the name of a path into the file, and of a full disk it says only at which
    byte it was.
    """
    buffer = BytesIO()
    torch.save(content, buffer)
    with replacing(path) as temporary:
        temporary.write_bytes(buffer.getbuffer())


def remove_halves(folder: Path, name: str | None = None, older_than: float = 0) -> None:
    """Removes what killed processes were writing, which never had the name of a file.

    Args:
        name: only of this file; otherwise of every file in the folder.
        older_than: seconds since the last byte; 0 is for who holds the folder's lock.
    """
    for path in folder.iterdir():
        half = HALF.fullmatch(path.name)
        if half and name in (None, half[1]):
            _remove_if_older(path, older_than)


@contextmanager
def locked(path: Path, otherwise: str | None = None) -> Iterator[None]:
    """A block that one process at a time is in; a killed process is in none.

    Within a thread it may be entered again. It needs a file system with locks (``flock``), as local
    disks and NFS have them; on one without, filelock warns of what it does instead, or nothing is
    written.

    Args:
        path: a file for the lock. It stays, empty.
        otherwise: the sentence to refuse with where another process is in the block; without it,
            this one says on stderr that it waits, and does.

    Raises:
        ValueError: another process is in the block, and ``otherwise`` is given.
        OSError: the lock's file cannot be made; one sentence says why.
        RuntimeError: the file system has no locks.
    """
    with in_a_sentence(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path, is_singleton=True)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            if otherwise is not None:
                raise ValueError(otherwise) from None
            said = f"another process is at work in {path.parent}; this one waits for its end."
            print(said, file=sys.stderr, flush=True)
            lock.acquire()
        except NotImplementedError:
            raise RuntimeError(
                f"{path.parent} is on a file system without locks; expected one that has them."
            ) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def work_folder(path: Path) -> Iterator[Path]:
    """An empty folder that is gone in the end; if a killed process left it, the next empties it.

    For who holds a lock: its name is always the same.
    """
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    try:
        yield path
    finally:
        shutil.rmtree(path)


@contextmanager
def in_a_sentence(path: Path) -> Iterator[None]:
    """A block that writes ``path``; what the system says against it becomes one sentence.

    What it says of a file elsewhere goes through as it is.
    """
    try:
        yield
    except OSError as error:
        if error.filename is not None and not _belongs(Path(error.filename), path):
            raise
        if error.errno in NO_ROOM:
            sentence = (
                f"{path} cannot be written: {NO_ROOM[error.errno]}. What was there is as it was; "
                "make room and run the same again."
            )
        else:
            reason = os.strerror(error.errno) if error.errno else error
            sentence = (
                f"{path} cannot be written ({reason}); expected a folder that this process may "
                "write into."
            )
        said = OSError(sentence)
        said.errno = error.errno
        raise said from error


def _belongs(found: Path, path: Path) -> bool:
    """Whether it is the path, a folder above it, or lies beside or in it."""
    return found in (path, *path.parents) or found.parent in (path, path.parent)


def _remove_if_older(path: Path, seconds: float) -> None:
    try:
        if time.time() - path.stat().st_mtime >= seconds:
            path.unlink()
    except FileNotFoundError:  # another process was quicker
        return
