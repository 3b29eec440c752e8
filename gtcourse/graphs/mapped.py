"""Graphs in a folder of ``.npy`` files, memory-mapped: data sets larger than memory.

Each array of :class:`~gtcourse.graphs.batch.RaggedTensors` is a file, in the narrowest type that
holds its values. ``graphs.json`` is written last: it has the name, the source, the stored
encodings, and the level and type of each array.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from gtcourse.graphs.batch import RaggedTensors
from gtcourse.graphs.files import replacing
from gtcourse.graphs.ragged import Splits

META, FORMAT = "graphs.json", 1


@dataclass(frozen=True)
class MappedGraphs(Splits):
    """A folder of graphs, of which nothing but the sizes is in memory.

    Attributes:
        folder: where the arrays are.
        name, source, checksum: of the data that they were made from.
        content: sha256 of the graphs; ``checksum`` may be that of a file with more graphs.
        target: what ``y`` belongs to: "graph", "node" or "edge".
        stored: the encodings among the arrays, as ``repr`` writes them.
        columns: level and type of the arrays by name.
        tensors: the arrays as tensors over the mapped files.
        split: ``[G]``: 0 train, 1 val, 2 test, -1 where a graph is not used.
    """

    folder: Path
    name: str
    source: str
    checksum: str
    content: str
    target: str
    stored: list[str]
    columns: dict[str, dict[str, str]] = field(repr=False)
    tensors: RaggedTensors = field(repr=False)
    split: Tensor = field(repr=False)
    node_vocabulary: list[str] | None = field(default=None, repr=False)
    edge_vocabulary: list[str] | None = field(default=None, repr=False)

    def first(self, count: int) -> MappedGraphs:
        """The first ``count`` training graphs, and a quarter as many of the others."""
        split = torch.full_like(self.split, -1)
        for number, most in enumerate((count, count // 4, count // 4)):
            split[(self.split == number).nonzero()[: max(1, most)]] = number
        return replace(self, split=split)

    def __getitem__(self, split: str) -> MappedSplit:
        return MappedSplit(self.tensors, self.rows_of(split))

    def __len__(self) -> int:
        return int((self.split >= 0).sum())


@dataclass(frozen=True)
class MappedSplit:
    """Some graphs of a folder, for a ``DenseLoader``."""

    tensors: RaggedTensors = field(repr=False)
    rows: Tensor = field(repr=False)

    def __len__(self) -> int:
        return len(self.rows)


def open_graphs(folder: str | Path) -> MappedGraphs:
    """A folder that :func:`gtcourse.prepare.prepare` has finished.

    Raises:
        FileNotFoundError: the folder holds no graphs, or they are not finished.
        ValueError: a file is missing or damaged; the sentence names it.
    """
    folder = Path(folder).expanduser()
    if not (folder / META).is_file():
        raise FileNotFoundError(f"{folder} has no {META}; expected a folder of prepared graphs.")
    path = folder / META
    try:
        meta = json.loads(path.read_text(encoding="utf-8"))
        if meta.pop("format") != FORMAT:
            raise ValueError(f"its format is not {FORMAT}")
        arrays, dtypes = {"node": {}, "edge": {}, "pair": {}, "graph": {}}, {}
        for name, column in meta["columns"].items():
            path = folder / f"{name}.npy"
            values = np.load(path, mmap_mode="c", allow_pickle=False)
            arrays[column["level"]][name] = torch.from_numpy(values)
            dtypes[name] = getattr(torch, column["dtype"])
        num_nodes, num_edges, split = (
            arrays["graph"].pop(name).long() for name in ("num_nodes", "num_edges", "split")
        )
        tensors = RaggedTensors(num_nodes, num_edges, arrays, dtypes, meta["target"])
        return MappedGraphs(folder, tensors=tensors, split=split, **meta)
    except Exception as error:
        raise ValueError(
            f"{path} is missing or damaged ({error}); expected what `gtcourse prepare` wrote. "
            "Delete the folder and prepare it again."
        ) from None


def join_parts(folder: Path, parts: Sequence[Path], columns: dict, meta: dict) -> None:
    """Writes the arrays of ``parts`` (``.npz`` files) end to end, one array at a time.

    Args:
        columns: level and type of each array.
        meta: the rest of ``graphs.json``.
    """
    for name in columns:
        # A part's other arrays are not read.
        values = np.concatenate([np.load(part, allow_pickle=False)[name] for part in parts])
        with replacing(folder / f"{name}.npy") as temporary, open(temporary, "wb") as file:
            np.save(file, values, allow_pickle=False)
    with replacing(folder / META) as temporary:
        content = json.dumps({"format": FORMAT, **meta, "columns": columns}, indent=1)
        temporary.write_text(content + "\n", encoding="utf-8")
