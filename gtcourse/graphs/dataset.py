"""A named list of graphs with its split: what ``load_dataset`` returns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch_geometric.data import Data

SPLITS = ("train", "val", "test")
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


@dataclass
class GraphDataset:
    """Graphs in file order, and which of them are for training, validation and testing.

    Attributes:
        name: "molecules", "zinc", …
        source: says which data this is, for captions and records.
        graphs: PyG ``Data``; of molecules ``x`` ``[n, 1]`` and ``edge_attr`` ``[E, 1]`` int64,
            ``y`` ``[1]`` float32, both directions of every bond in ``edge_index``.
        split: ``[G]`` integers: 0 train, 1 val, 2 test.
        node_vocabulary: what the values of ``x[:, 0]`` stand for, or None.
        edge_vocabulary: what the values of ``edge_attr[:, 0]`` stand for; row 0 is "no edge".
        target: what ``y`` belongs to: "graph", "node" or "edge".
        checksum: sha256 of the graph file that it was read from.
    """

    name: str
    source: str
    graphs: list[Data] = field(repr=False)
    split: Tensor = field(repr=False)
    node_vocabulary: tuple[str, ...] | None = field(default=None, repr=False)
    edge_vocabulary: tuple[str, ...] | None = field(default=None, repr=False)
    target: str = "graph"
    checksum: str | None = None

    def __post_init__(self) -> None:
        given = torch.as_tensor(self.split)
        if given.numel() and given.dtype not in INTEGERS:
            raise ValueError(
                f"dataset {self.name!r} has a split of {given.dtype}; expected integers, 0 "
                "(train), 1 (val) or 2 (test)."
            )
        if self.target not in ("graph", "node", "edge"):
            raise ValueError(
                f"dataset {self.name!r} has the target {self.target!r}; expected 'graph', 'node' "
                "or 'edge'."
            )
        self.split = given.to(torch.int64)
        if self.split.shape != (len(self.graphs),):
            raise ValueError(
                f"dataset {self.name!r} has {len(self.graphs)} graphs and split of shape "
                f"{list(self.split.shape)}; expected one split value for each graph."
            )
        wrong = ((self.split < 0) | (self.split >= len(SPLITS))).nonzero()
        if len(wrong):
            index = int(wrong[0])
            raise ValueError(
                f"graph {index} has split = {int(self.split[index])}; expected 0 (train), 1 (val) "
                "or 2 (test)."
            )

    @property
    def train(self) -> list[Data]:
        return self["train"]

    @property
    def val(self) -> list[Data]:
        return self["val"]

    @property
    def test(self) -> list[Data]:
        return self["test"]

    @property
    def split_sizes(self) -> dict[str, int]:
        counts = Counter(self.split.tolist())
        return {name: counts[number] for number, name in enumerate(SPLITS)}

    @property
    def provenance(self) -> dict:
        """Which data these are, for the record of a run on them."""
        return {
            "name": self.name,
            "source": self.source,
            "checksum": self.checksum,
            "sizes": self.split_sizes,
        }

    def __len__(self) -> int:
        return len(self.graphs)

    def __iter__(self) -> Iterator[Data]:
        return iter(self.graphs)

    def __getitem__(self, key: int | str) -> Data | list[Data]:
        """The graph at a position, or the list of a split's graphs."""
        if isinstance(key, int):
            return self.graphs[key]
        if key not in SPLITS:
            raise KeyError(f"{key!r} is no split; expected an integer, {', '.join(SPLITS)}.")
        return [self.graphs[i] for i in (self.split == SPLITS.index(key)).nonzero().flatten()]
