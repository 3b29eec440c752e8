"""Small real files of each kind that is read."""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch

from gtcourse.graphs import read_graphs, write_graphs
from gtcourse.graphs.files import read_npz
from gtcourse.shards import open_shards
from gtcourse.shards.format import read_shard
from gtcourse.training.records import read_weights, write_weights
from tests.bad_input.case import fault_of_form
from tests.bad_input.records import a_record
from tests.bad_input.shards import a_folder
from tests.graphs.small import three_chains

Files = dict[str, bytes]


@dataclass(frozen=True)
class Kind:
    """A kind of file: a folder with a whole one, and how it is read.

    Attributes:
        name: for the table.
        path: of the file that is damaged, in the folder.
        write: fills an empty folder.
        read: what is in the file, in a form that ``==`` compares.
    """

    name: str
    path: str
    write: Callable[[Path], object]
    read: Callable[[Path], object]


def comparable(value: object) -> object:
    """Tensors and arrays as their type, shape and bytes, in lists and dictionaries or alone."""
    if isinstance(value, torch.Tensor):
        return comparable(value.detach().numpy())
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, dict):
        return {key: comparable(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [comparable(part) for part in value]
    return value


def _graphs(folder: Path) -> object:
    data = read_graphs(folder / "a.npz")
    graphs = [graph.to_dict() for graph in data]
    return comparable([graphs, data.split, data.name, data.target, data.node_vocabulary])


def _write_graphs(folder: Path) -> None:
    write_graphs(folder / "a.npz", three_chains())


def _compressed(folder: Path) -> None:
    write_graphs(folder / "b.npz", three_chains())
    np.savez_compressed(folder / "a.npz", **read_npz(folder / "b.npz"))


def _unpack(folder: Path) -> None:
    for name, content in a_folder().items():
        (folder / name).write_bytes(content)


def _list(folder: Path) -> object:
    return {**vars(open_shards(folder)), "folder": None}


def _shard(folder: Path) -> object:
    entries = json.loads(a_folder()["shards.json"])["shards"]
    sums = {entry["name"]: entry["sha256"] for entry in entries}
    name = "train-00000.parquet"
    return comparable(vars(read_shard(folder / name, sums[name])))


def _record_with_weights(folder: Path):
    record = a_record()
    write_weights(record, {"w": torch.arange(9.0)}, folder)
    return record


def _weights(folder: Path) -> object:
    record = a_record(weights=_sum_of_weights())
    return comparable(read_weights(record, folder))


@cache
def _sum_of_weights() -> str:
    with tempfile.TemporaryDirectory() as folder:
        return _record_with_weights(Path(folder)).weights


KINDS = [
    Kind(
        "graph file (.npz)", "a.npz", lambda f: write_graphs(f / "a.npz", three_chains()), _graphs
    ),
    Kind("graph file of numpy's, packed (.npz)", "a.npz", _compressed, _graphs),
    Kind("shard (.parquet)", "train-00000.parquet", _unpack, _shard),
    Kind("list of shards (shards.json)", "shards.json", _unpack, _list),
    Kind("weights (.pt)", a_record().weights_filename, _record_with_weights, _weights),
]


@cache
def whole(kind: Kind) -> tuple[Files, object]:
    """The files of a folder of this kind, and what is read of it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kind.write(folder)
        files = {
            str(path.relative_to(folder)): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file()
        }
        return files, kind.read(folder)


def outcome(kind: Kind, content: bytes, folder: Path) -> str:
    """ "refused" or "unchanged".

    Raises:
        AssertionError: something else was read, or the sentence is none. Any other exception of the
            reader goes through.
    """
    files, expected = whole(kind)
    for name, unharmed in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content if name == kind.path else unharmed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's, of a header that looks like its code
            found = kind.read(folder)
    except (ValueError, FileNotFoundError) as error:
        sentence = str(error).replace(str(folder), "")
        fault = fault_of_form(sentence) or type(error) not in (ValueError, FileNotFoundError)
        assert not fault, f"{fault}: {error!r}"  # noqa: PT017 (what is read is compared below)
        return "refused"
    assert found == expected, "something else was read"
    return "unchanged"
