"""Graphs in a folder of ``.npy`` files, memory-mapped: data sets larger than memory.

Each array of :class:`~gtcourse.graphs.ragged.RaggedGraphs` is a file, in the narrowest type that
holds its values. ``graphs.json`` is written last: it has the name, the source, the stored
encodings, and the level, type, shape and sha256 of each array.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from gtcourse.graphs.batch import RaggedTensors
from gtcourse.graphs.files import file_sha256, replacing
from gtcourse.graphs.ragged import SPLITS

META = "graphs.json"
FORMAT = 1
LEVELS = ("node", "edge", "pair", "graph")
AGAIN = "expected what was written. Run `gtcourse prepare` with the same data and folder again."
COUNTS = ("num_nodes", "num_edges", "split")


@dataclass(frozen=True)
class Column:
    """An array of a folder.

    Attributes:
        level: "node", "edge", "pair" or "graph".
        dtype: torch's name of the type that a batch has.
        stored: numpy's name of the type in the file.
    """

    level: str
    dtype: str
    stored: str
    shape: tuple[int, ...]
    sha256: str


@dataclass(frozen=True)
class MappedGraphs:
    """A folder of graphs, of which nothing but the sizes is in memory.

    Attributes:
        folder: where the arrays are.
        name, source, checksum: of the data that they were made from.
        content: sha256 of the graphs; ``checksum`` may be that of a file that holds more.
        target: what ``y`` belongs to: "graph", "node" or "edge".
        stored: the encodings among the arrays, as ``repr`` writes them.
        columns: the arrays by name.
        split: ``[G]``: 0 train, 1 val, 2 test, -1 where a graph is not used.
    """

    folder: Path
    name: str
    source: str
    checksum: str
    content: str
    target: str
    stored: tuple[str, ...]
    columns: dict[str, Column] = field(repr=False)
    split: Tensor = field(repr=False)
    node_vocabulary: tuple[str, ...] | None = field(default=None, repr=False)
    edge_vocabulary: tuple[str, ...] | None = field(default=None, repr=False)

    @cached_property
    def tensors(self) -> RaggedTensors:
        """All arrays as tensors over the mapped files."""
        arrays = {level: {} for level in LEVELS}
        for name, column in self.columns.items():
            if name not in COUNTS:
                values = np.load(self.folder / f"{name}.npy", mmap_mode="c", allow_pickle=False)
                arrays[column.level][name] = torch.from_numpy(values)
        for level, name in (("node", "x"), ("edge", "edge_attr")):
            if name in arrays[level] and arrays[level][name].dim() == 1:
                arrays[level][name] = arrays[level][name][:, None]
        dtypes = {name: getattr(torch, column.dtype) for name, column in self.columns.items()}
        for name in {"x", "edge_attr"} & dtypes.keys():
            if not dtypes[name].is_floating_point:
                dtypes[name] = torch.int64
        counts = (
            torch.from_numpy(np.load(self.folder / f"{name}.npy").astype(np.int64))
            for name in ("num_nodes", "num_edges")
        )
        return RaggedTensors(*counts, arrays, dtypes, self.target)

    @property
    def train(self) -> MappedSplit:
        return self["train"]

    @property
    def val(self) -> MappedSplit:
        return self["val"]

    @property
    def test(self) -> MappedSplit:
        return self["test"]

    @property
    def split_sizes(self) -> dict[str, int]:
        return {name: int((self.split == number).sum()) for number, name in enumerate(SPLITS)}

    @property
    def provenance(self) -> dict:
        """Which data these are, for the record of a run on them."""
        return {
            "name": self.name,
            "source": self.source,
            "checksum": self.checksum,
            "sizes": self.split_sizes,
        }

    def first(self, count: int) -> MappedGraphs:
        """The first ``count`` training graphs, and a quarter as many of the others."""
        split = torch.full_like(self.split, -1)
        for number, most in enumerate((count, count // 4, count // 4)):
            split[(self.split == number).nonzero()[: max(1, most)]] = number
        return replace(self, split=split)

    def __getitem__(self, split: str) -> MappedSplit:
        if split not in SPLITS:
            raise KeyError(f"{split!r} is no split; expected one of {', '.join(SPLITS)}.")
        rows = (self.split == SPLITS.index(split)).nonzero().flatten()
        return MappedSplit(f"the split {split!r} of {self.folder}", self.tensors, rows)

    def __len__(self) -> int:
        return int((self.split >= 0).sum())


@dataclass(frozen=True)
class MappedSplit:
    """Some graphs of a folder, for a ``DenseLoader``."""

    name: str
    tensors: RaggedTensors = field(repr=False)
    rows: Tensor = field(repr=False)

    def __len__(self) -> int:
        return len(self.rows)


def open_graphs(folder: str | Path) -> MappedGraphs:
    """A folder that :func:`gtcourse.prepare.prepare` has finished.

    The size of every file is compared with what was written, its sha256 is not.

    Raises:
        FileNotFoundError: the folder holds no graphs, or they are not finished.
        ValueError: a file is missing or damaged; the sentence names it.
    """
    folder = Path(folder).expanduser()
    if not (folder / META).is_file():
        raise FileNotFoundError(f"{folder} has no {META}; expected a folder of prepared graphs.")
    try:
        content = json.loads((folder / META).read_text(encoding="utf-8"))
        if content.pop("format") != FORMAT:
            raise ValueError(f"its format is not {FORMAT}")
        columns = {name: Column(**each) for name, each in content.pop("columns").items()}
        for name in ("node_vocabulary", "edge_vocabulary", "stored"):
            content[name] = None if content[name] is None else tuple(content[name])
        split = torch.empty(0)
        graphs = MappedGraphs(folder=folder, columns=columns, split=split, **content)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{folder / META} is damaged ({error}); {AGAIN}") from None
    for name, column in columns.items():
        fault = fault_of(folder / f"{name}.npy", column)
        if fault:
            raise ValueError(f"{folder / name}.npy {fault}; {AGAIN}")
    split = np.load(folder / "split.npy").astype(np.int64)
    return replace(graphs, split=torch.from_numpy(split))


def fault_of(path: Path, column: Column, *, read: bool = False) -> str | None:
    """What is wrong with an array's file, if anything; ``read`` compares its sha256 as well."""
    if not path.is_file():
        return "is missing"
    try:
        values = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError, SyntaxError) as error:
        return f"is damaged ({str(error)[:100].rstrip('.')})"
    if (values.dtype.str, list(values.shape)) != (column.stored, list(column.shape)):
        return f"is damaged: it holds {values.dtype.str} {list(values.shape)}"
    if read and file_sha256(path) != column.sha256:
        return "is damaged: its sha256 is not the recorded one"
    return None


def join_parts(
    folder: Path, parts: Sequence[Path], levels: dict[str, str], dtypes: dict[str, str], meta: dict
) -> None:
    """Writes the arrays of ``parts`` (``.npz`` files) end to end, one array at a time.

    Args:
        levels, dtypes: of each array.
        meta: the rest of ``graphs.json``.
    """
    columns = {}
    for name, level in levels.items():
        shape, stored = _joined_type(parts, name)
        with replacing(folder / f"{name}.npy") as temporary:
            # Not named .npy, so that numpy adds nothing to the name of a temporary file.
            with open(temporary, "wb") as file:
                header = {"descr": stored, "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_1_0(file, header)
                for part in parts:
                    file.write(np.ascontiguousarray(_array(part, name).astype(stored)).data)
            sha256 = file_sha256(temporary)
        columns[name] = asdict(Column(level, dtypes[name], stored, shape, sha256))
    with replacing(folder / META) as temporary:
        content = {"format": FORMAT, **meta, "columns": columns}
        temporary.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _joined_type(parts: Sequence[Path], name: str) -> tuple[tuple[int, ...], str]:
    rows, dtypes, rest = 0, [], ()
    for part in parts:
        values = _array(part, name)
        rows, rest = rows + len(values), values.shape[1:]
        dtypes.append(values.dtype)
    joined = np.result_type(*dtypes)
    return (rows, *rest), joined.newbyteorder("<").str


def _array(part: Path, name: str) -> np.ndarray:
    with np.load(part, allow_pickle=False) as arrays:
        return arrays[name]
