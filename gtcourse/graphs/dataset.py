"""Many graphs end to end in a few long tensors, and padded batches gathered from them.

Shapes:
    G: graphs of a data set
    ΣN: nodes of all graphs
    ΣE: edges of all graphs
    B: graphs in a batch
    N: nodes of the largest graph of a batch
    E: edges of the graph with most edges of a batch
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import Any, overload

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor
from torch_geometric.data import Batch, Data, Dataset

from gtcourse.graphs.arguments import Target, check_target, whole_number
from gtcourse.graphs.batch import (
    ENCODINGS,
    MISSING_LABEL,
    PADDED_WITH_UNREACHABLE,
    PYG_NAMES,
    UNREACHABLE,
    GraphBatch,
)
from gtcourse.graphs.check import (
    check_batch_of_pyg,
    check_graphs,
    check_repeated_edges,
    check_types,
    target_level,
)
from gtcourse.graphs.digest import add_tensor
from gtcourse.messages import shown

SPLITS = ("train", "val", "test")

MASKS_OF_PYG = tuple(f"{split}_mask" for split in SPLITS)
"""Which nodes of a graph are in each split, in PyG's data sets of one graph."""


def collate(
    graphs: Sequence[Data] | GraphDataset,
    *,
    num_nodes: int | None = None,
    target: Target | None = None,
) -> GraphBatch:
    """Pads PyG graphs to one :class:`GraphBatch`.

    Encodings are padded along their node axes, distances with ``UNREACHABLE`` and everything else
    with 0. Besides the encodings of this package, every tensor ``[n, k]`` or ``[n, n, k]`` of the
    graphs is taken for one, unless it could as well belong to the edges. PyG's ``random_walk_pe``
    and ``laplacian_eigenvector_pe`` get the names that the models read (``PYG_NAMES``).

    An edge that is given twice counts once. It must have the same features and targets both times.

    Args:
        graphs: A list, a data set or a PyG ``Batch``; each graph with ``x`` ``[n, F]``,
            ``edge_index`` ``[2, E]`` and optionally ``edge_attr`` ``[E, F_e]``, ``y``, encodings.
        num_nodes: N; by default the size of the largest graph.
        target: What ``y`` belongs to; by default what a data set says, and of a list the first of
            "graph", "node" and "edge" that the lengths of ``y`` fit.

    Raises:
        ValueError: A graph is malformed, or does not fit with the others; the sentence names the
            graph, the value and what was expected.
    """
    ragged = checked(graphs, target)
    largest = int(ragged.num_nodes.max())
    num_nodes = None if num_nodes is None else whole_number("num_nodes", num_nodes, 1)
    if num_nodes is not None and num_nodes < largest:
        index = int(ragged.num_nodes.argmax())
        raise ValueError(
            f"graph {index} has {largest} nodes; expected at most num_nodes = {num_nodes}."
        )
    return ragged.batch(torch.arange(len(ragged)), num_nodes=num_nodes)


Selection = slice | Sequence[int] | Tensor
"""Several of some graphs: a slice, their numbers, or a mask."""


def selected(key: object, count: int) -> int | Tensor:
    """The number of one of ``count`` graphs, from 0 on, or the numbers of several.

    Raises:
        IndexError: there are not so many graphs.
        TypeError: the key is no number, no slice, no numbers and no mask of so many graphs.
    """
    if isinstance(key, Integral) and not isinstance(key, bool):
        number = int(key)
        if not -count <= number < count:
            raise IndexError(f"there is no graph {number}; expected one of {count} graphs.")
        return number % count
    rows = torch.arange(count)
    if isinstance(key, slice):
        first, end, step = key.indices(count)
        return torch.tensor([*range(first, end, step)], dtype=torch.int64)
    if isinstance(key, Sequence | Tensor | np.ndarray) and not isinstance(key, str | bytes):
        try:
            numbers = torch.as_tensor(key)
        except (RuntimeError, TypeError, ValueError):  # words, None, or lists of several lengths
            raise _no_selection(key, count) from None
        is_mask = numbers.dtype == torch.bool
        if numbers.dim() == 1 and is_mask and len(numbers) == count:
            return rows[numbers]
        if numbers.numel() == 0:
            return rows[:0]
        whole = not (is_mask or numbers.is_floating_point() or numbers.is_complex())
        if numbers.dim() == 1 and whole:
            outside = numbers[(numbers < -count) | (numbers >= count)]
            if len(outside):
                raise IndexError(
                    f"there is no graph {int(outside[0])}; expected one of {count} graphs."
                )
            return rows[numbers.long()]
    raise _no_selection(key, count)


def _no_selection(key: object, count: int) -> TypeError:
    given = f"{key.dtype} {list(key.shape)}" if isinstance(key, Tensor) else shown(key)
    return TypeError(
        f"{given} is not a selection of graphs; expected an index, a slice, indices, or a mask of "
        f"{count} graphs."
    )


def checked(graphs: Sequence[Data] | GraphDataset, target: Target | None) -> RaggedGraphs:
    """PyG graphs end to end, after every check that :func:`collate` promises."""
    given = graphs.graphs if isinstance(graphs, GraphDataset) else graphs
    if isinstance(graphs, GraphDataset) and target is None:
        target = graphs.target
    if isinstance(given, RaggedGraphs):  # they were checked when they were laid end to end
        if target is not None and target != given.target:
            raise ValueError(
                f"target is {target!r}, but the targets y of these graphs belong to each "
                f"{given.target}; expected {given.target!r}."
            )
        return given
    data: Sequence[Data] = given
    if isinstance(given, Batch):
        check_batch_of_pyg(given)
        try:
            data = given.to_data_list()
        except RuntimeError:  # its graphs cannot be told apart
            raise ValueError(
                "the graphs are a PyG Batch that was put together by hand; expected one of "
                "Batch.from_data_list(graphs) or of PyG's DataLoader, or a list of graphs."
            ) from None
    elif isinstance(given, Dataset):
        data = list(given)
    check_graphs(data)
    return RaggedGraphs.from_data(data, target_level(data, target))


@dataclass
class RaggedGraphs(Sequence[Data]):
    """G graphs end to end: in memory, on an accelerator, or memory-mapped from a folder.

    Arrays of NumPy are taken as tensors, without a copy.

    Attributes:
        num_nodes, num_edges: ``[G]`` on the CPU, so that a batch's shape is known at once; both
            directions of an undirected edge count.
        edge_index: ``[2, ΣE]``, or a pair of its rows; node numbers within their graph.
        columns: ``x`` ``[ΣN, F]``, ``edge_attr`` ``[ΣE, F_e]``, ``y``, ``split`` ``[G]`` and other
            tensors by name.
        levels: of what a column has a row for each: "graph", "node", "edge", or "pair" of nodes.
        target: what ``y`` belongs to: "graph", "node" or "edge".
        node_vocabulary, edge_vocabulary: the meanings of the types, or None.
        dtypes: of a batch's tensors, by name, where they are stored in narrower types.
        starts: the first row of each graph in the columns of each level; by default the graphs
            follow one another.
        smiles: one for each graph of the columns, or None.
    """

    num_nodes: Tensor
    num_edges: Tensor
    edge_index: Tensor | tuple[Tensor, Tensor]
    columns: dict[str, Tensor]
    levels: dict[str, str] = field(default_factory=dict)
    target: Target = "graph"
    node_vocabulary: Sequence[str] | None = None
    edge_vocabulary: Sequence[str] | None = None
    dtypes: dict[str, torch.dtype] = field(default_factory=dict)
    starts: dict[str, Tensor] = field(default_factory=dict)
    smiles: Sequence[str] | None = None

    def __post_init__(self) -> None:
        self.num_nodes = torch.as_tensor(self.num_nodes)
        self.num_edges = torch.as_tensor(self.num_edges)
        if not isinstance(self.edge_index, tuple):
            self.edge_index = torch.as_tensor(self.edge_index)
        for name, column in self.columns.items():
            self.columns[name] = torch.as_tensor(column)
        for name in self.columns.keys() - self.levels.keys():
            level = known_level(name, self.target)
            if level is None:
                raise ValueError(f"the column {name!r} has no level; expected one in levels.")
            self.levels[name] = level
        if not self.starts:
            for level, counts in self._counts().items():
                self.starts[level] = counts.cumsum(0) - counts

    def __len__(self) -> int:
        return len(self.num_nodes)

    def __iter__(self) -> Iterator[Data]:
        """The graphs one after the other; of a mapped folder each is read when it is its turn."""
        return (self[i] for i in range(len(self)))

    @overload
    def __getitem__(self, key: int) -> Data: ...
    @overload
    def __getitem__(self, key: Selection) -> RaggedGraphs: ...
    def __getitem__(self, key: int | Selection) -> Data | RaggedGraphs:
        """The graph at a position, with memory of its own, or several graphs over this memory."""
        place = selected(key, len(self))
        if isinstance(place, Tensor):
            return self.select(place)
        first = {level: int(starts[place]) for level, starts in self.starts.items()}
        n = int(self.num_nodes[place])
        counts = {"graph": 1, "node": n, "edge": int(self.num_edges[place]), "pair": n**2}

        def rows(values: Tensor, level: str) -> Tensor:
            return values[first[level] : first[level] + counts[level]].clone()

        graph = Data(
            edge_index=torch.stack([rows(ends, "edge") for ends in self.edge_index]).long()
        )
        for name, column in self.columns.items():
            level = self.levels[name]
            if name != "split":
                values = rows(column, level).to(self.dtypes.get(name, column.dtype))
                graph[name] = values.unflatten(0, (n, n)) if level == "pair" else values
        if self.smiles is not None:
            graph.smiles = self.smiles[first["graph"]]
        return graph

    def _counts(self) -> dict[str, Tensor]:
        """Rows of each graph in the columns of a level."""
        n = self.num_nodes.long()
        edges = self.num_edges.long()
        return {"graph": torch.ones_like(n), "node": n, "edge": edges, "pair": n**2}

    def wrong_lengths(self) -> dict[str, int]:
        """The rows of each column that has more or fewer than its graphs need, by its name."""
        needed = {level: int(counts.sum()) for level, counts in self._counts().items()}
        found = {name: len(column) for name, column in self.columns.items()}
        rows = {name: found[name] for name in found if found[name] != needed[self.levels[name]]}
        for name, ends in zip(("source", "destination"), self.edge_index, strict=True):
            if len(ends) != needed["edge"]:
                rows[name] = len(ends)
        return rows

    @classmethod
    def from_data(
        cls, graphs: Sequence[Data], target: Target, split: ArrayLike | Tensor | None = None
    ) -> RaggedGraphs:
        """Valid graphs (:func:`check_graphs`) end to end, with all attributes of fixed width.

        An edge that is given twice must have the same features and targets both times.

        Args:
            graphs: PyG graphs, whose attributes have the same dtypes and widths.
            target: what their ``y`` belongs to.
            split: ``[G]`` integers, 0 train, 1 val, 2 test, or None.
        """
        attributes = [graph.to_dict() for graph in graphs]
        edges = [each["edge_index"] for each in attributes]
        num_nodes = torch.tensor([each["x"].shape[0] for each in attributes])
        num_edges = torch.tensor([each.shape[1] for each in edges])
        columns: dict[str, Tensor] = {}
        levels: dict[str, str] = {}
        others = {"edge_index", "num_nodes", "batch", "ptr", "smiles"}
        for name in sorted(set().union(*attributes) - others):
            values = [each.get(name) for each in attributes]
            level = known_level(name, target)
            if level is None:
                level = _level_of_custom(name, values, num_nodes.tolist(), num_edges.tolist())
            if level is not None:
                columns[name] = _end_to_end(name, level, values)
                levels[name] = level
        for pyg_name, our_name in PYG_NAMES.items():
            if pyg_name in columns and our_name in columns:
                raise ValueError(
                    f"the graphs have both {pyg_name} and {our_name}, which are names of the same "
                    "encoding; expected one of them."
                )
        if split is not None:
            columns["split"] = torch.as_tensor(split)
        edge_index = torch.cat(edges, dim=1)
        of_edges: dict[str, Tensor] = {
            what: columns[name]
            for name, what in (("edge_attr", "features"), ("y", "targets"))
            if name in columns and levels[name] == "edge"
        }
        check_repeated_edges(num_nodes, num_edges, edge_index, of_edges)
        ragged = cls(num_nodes, num_edges, edge_index, columns, levels, target)
        if all("smiles" in each for each in attributes):
            ragged.smiles = [each["smiles"] for each in attributes]
        return ragged

    def to_data(self) -> list[Data]:
        """One PyG ``Data`` for each graph, with memory of its own; without pair encodings."""
        sizes = {level: counts.tolist() for level, counts in self._counts().items()}
        columns = {
            name: values.split(sizes[self.levels[name]])
            for name, values in self.columns.items()
            if name != "split" and self.levels[name] != "pair"
        }
        edge_index = torch.stack([*self.edge_index]).long()  # [2, ΣE]
        graphs = []
        for index, ends in enumerate(edge_index.split(sizes["edge"], dim=1)):
            values = {name: column[index].clone() for name, column in columns.items()}
            graph = Data(**values, edge_index=ends.clone(memory_format=torch.contiguous_format))
            if self.smiles is not None:
                graph.smiles = self.smiles[index]
            graphs.append(graph)
        return graphs

    def to_dataset(self, name: str, source: str) -> GraphDataset:
        split = self.columns["split"]
        words = (self.node_vocabulary, self.edge_vocabulary)
        return GraphDataset(name, source, self.to_data(), split, *words, self.target)

    def check_masks(self) -> None:
        """Raises a ValueError if the graphs have PyG's masks of nodes, which training cannot read.

        The nodes of the test split would be trained on, and all nodes would be scored. A target of
        the whole graph is not concerned.
        """
        masks = [name for name in MASKS_OF_PYG if name in self.columns]
        if masks and self.target != "graph":
            raise ValueError(
                f"the graphs have {', '.join(masks)}, which training and evaluation do not read; "
                "expected graphs without masks for each split, whose y is missing at the nodes of "
                f"other splits ({MISSING_LABEL}, or NaN among floats)."
            )

    def check_features(self, model: object) -> None:
        """Raises a ValueError if a graph has a feature that the model does not know.

        Its ``check_features(x, edge_attr)`` reads the features of all graphs at once; one without
        it is not asked. The sentence names the graph.
        """
        check = getattr(model, "check_features", None)
        if check is None:
            return
        x = self.columns["x"]
        edge_attr = self.columns.get("edge_attr")
        try:
            check(x, edge_attr)
        except ValueError as error:
            nodes = self.starts["node"].tolist()
            edges = self.starts["edge"].tolist()
            num_nodes = self.num_nodes.tolist()
            num_edges = self.num_edges.tolist()
            for index in range(len(self)):
                of_edges = slice(edges[index], edges[index] + num_edges[index])
                try:
                    check(
                        x[nodes[index] : nodes[index] + num_nodes[index]],
                        None if edge_attr is None else edge_attr[of_edges],
                    )
                except ValueError as fault:
                    raise ValueError(f"graph {index}: {fault}") from error

    def select(self, rows: Tensor) -> RaggedGraphs:
        """The graphs in ``rows``, over the same memory."""
        return replace(
            self,
            num_nodes=self.num_nodes[rows],
            num_edges=self.num_edges[rows],
            starts={level: starts[rows] for level, starts in self.starts.items()},
        )

    def to(self, device: torch.device | str) -> RaggedGraphs:
        """Everything that batches are made of, on a device."""
        source, destination = self.edge_index
        return replace(
            self,
            edge_index=(source.to(device), destination.to(device)),
            columns={name: column.to(device) for name, column in self.columns.items()},
        )

    @property
    def device(self) -> torch.device:
        return self.columns["x"].device

    @cached_property
    def _on_device(self) -> list[dict[str, Tensor]]:
        """The first row of each graph and their number, by level, on the columns' device."""
        tables = self.starts, self._counts()
        return [{level: t.to(self.device) for level, t in table.items()} for table in tables]

    def batch(
        self, rows: Tensor, places: Tensor | None = None, num_nodes: int | None = None
    ) -> GraphBatch:
        """The graphs in ``rows`` ``[B]``, padded to the largest of them, or to ``num_nodes``.

        ``places`` are the same numbers on the columns' device; without it they are moved there.
        """
        places = rows.to(self.device) if places is None else places
        B = len(rows)
        N = num_nodes or int(self.num_nodes[rows].max())
        E = int(self.num_edges[rows].max())
        start, count = (
            {level: of_graphs[places, None] for level, of_graphs in table.items()}
            for table in self._on_device
        )  # [B, 1] for each level
        node = torch.arange(N, device=self.device)
        edge = torch.arange(E, device=self.device)
        mask = node < count["node"]  # [B, N]
        real = {
            "node": mask,
            "edge": edge < count["edge"],  # [B, E]
            "pair": mask[:, :, None] & mask[:, None],  # [B, N, N]
        }
        index = {
            "node": start["node"] + node,  # [B, N]
            "edge": start["edge"] + edge,  # [B, E]
            "pair": (start["pair"] + count["node"] * node)[:, :, None] + node,  # [B, N, N]
        }
        # Padding reads row 0, since beyond a graph's end lies the next graph, or nothing.
        index = {level: index[level].masked_fill(~real[level], 0) for level in index}
        index["graph"] = start["graph"][:, 0]  # [B]

        def gather(name: str, fill: float = 0) -> Tensor:
            """The values of a column in padded form, such as ``[B, N, …]`` of nodes."""
            level = self.levels[name]
            values = self.columns[name][index[level]]
            values = values.to(self.dtypes.get(name, values.dtype))
            if level == "graph":
                return values
            padding = ~real[level]
            axes_of_values = [1] * (values.dim() - padding.dim())
            return values.masked_fill(padding.view(*padding.shape, *axes_of_values), fill)

        # The first edge of each pair, B E for a pair without one. Padded edges are sent to one
        # more place behind all pairs.
        graph = torch.arange(B, device=self.device)[:, None]
        source, destination = (ends[index["edge"]].long() for ends in self.edge_index)  # [B, E]
        if self.dtypes and self.device.type == "cpu":  # a folder, whose values were not read before
            self._check_ends((source, destination), real["edge"], count["node"], index["graph"])
        pair = (graph * N + source) * N + destination
        pair = pair.masked_fill(~real["edge"], B * N * N).flatten()  # [B E]
        first = torch.full((B * N * N + 1,), B * E, device=self.device)
        first.scatter_reduce_(0, pair, torch.arange(B * E, device=self.device), "amin")
        first = first[:-1].view(B, N, N)

        def dense(values: Tensor, fill: float = 0) -> Tensor:
            """Values of edges ``[B, E, …]`` at their pairs, ``[B, N, N, …]``."""
            values = values.flatten(0, 1)  # [B E, …]
            no_edge = values.new_full((1, *values.shape[1:]), fill)
            return torch.cat([values, no_edge])[first]

        y = None
        if "y" in self.columns:
            dtype = self.dtypes.get("y", self.columns["y"].dtype)
            missing = float("nan") if dtype.is_floating_point else MISSING_LABEL
            y = gather("y", missing)
            if self.target == "edge":
                y = dense(y, missing)
            elif self.target == "graph" and y.shape[1:] == (1,):
                y = y[:, 0]  # one target is a number, whether it is stored as [1] or as [1, 1]
        encodings = {}
        for name in self.columns:
            if name in ENCODINGS or self._is_custom_encoding(name):
                fill = UNREACHABLE if name in PADDED_WITH_UNREACHABLE else 0
                encodings[PYG_NAMES.get(name, name)] = gather(name, fill)
        return GraphBatch.of_checked(
            x=gather("x"),
            adjacency=first < B * E,
            edge_attr=dense(gather("edge_attr")) if "edge_attr" in self.columns else None,
            mask=mask,
            y=y,
            encodings=encodings,
            target=self.target,
        )

    def _check_ends(
        self,
        ends: Sequence[Tensor],
        is_edge: Tensor,
        num_nodes: Tensor,
        graphs: Tensor,
    ) -> None:
        """Raises a ValueError if an edge of a batch leads to a node that its graph does not have.

        Args:
            ends: the sources and the destinations of the edges, ``[B, E]`` each.
            is_edge: True where there is an edge, not padding, ``[B, E]``.
            num_nodes: the number of nodes of each graph, ``[B, 1]``.
            graphs: the numbers of the graphs in the folder, whatever their split, ``[B]``.
        """
        for values in ends:
            outside = is_edge & ((values < 0) | (values >= num_nodes))
            if outside.any():
                row, edge = outside.nonzero()[0].tolist()
                raise ValueError(
                    f"graph {int(graphs[row])} of the folder has an edge of node "
                    f"{int(values[row, edge])}; expected 0 to {int(num_nodes[row]) - 1}. The "
                    "files are damaged: delete the folder and prepare it again."
                )

    def _is_custom_encoding(self, name: str) -> bool:
        """Any other matrix of nodes or pairs is one."""
        others = name not in ("x", "y") and self.levels[name] in ("node", "pair")
        return others and self.columns[name].dim() > 1


def known_level(name: str, target: Target) -> str | None:
    """What an attribute of this name belongs to, whatever its shape."""
    if name in ENCODINGS:
        return ("graph", "node", "pair")[ENCODINGS[name]]
    levels = {"x": "node", "edge_attr": "edge", "y": target, "split": "graph"}
    return levels.get(name)


def _level_of_custom(
    name: str, values: Sequence[Any], num_nodes: list[int], num_edges: list[int]
) -> str | None:
    """What an attribute of a name that is not ours belongs to; None if it is left out.

    It is left out if it is no tensor, or its lengths fit neither graphs, edges, nodes nor pairs.

    Raises:
        ValueError: Some graphs have it and others do not, or it has another width or type in one.
    """
    having = [index for index, value in enumerate(values) if value is not None]
    present = [values[index] for index in having]
    level = _found_level(
        present, [num_nodes[index] for index in having], [num_edges[index] for index in having]
    )
    if level is None:
        return None
    if len(present) < len(values):
        lacking = next(index for index, value in enumerate(values) if value is None)
        raise ValueError(
            f"graph {lacking} has no {name!r}, which graph {having[0]} has; expected it in all "
            "graphs or in none."
        )
    axes = 2 if level == "pair" else 1
    first = values[0]
    for index, value in enumerate(values):
        if value.layout != torch.strided:
            raise ValueError(f"graph {index} has {name} = {value.type()}; expected a dense tensor.")
        if value.dtype != first.dtype or value.shape[axes:] != first.shape[axes:]:
            if level == "node" and all(each.shape == (len(each), len(each)) for each in values):
                return None  # a matrix [n, n]; an encoding of pairs has the shape [n, n, k]
            expected = [*value.shape[:axes], *first.shape[axes:]]
            raise ValueError(
                f"graph {index} has {name} of {value.dtype} {list(value.shape)}; expected "
                f"{first.dtype} {expected}, as in graph 0."
            )
    return level


def _found_level(values: Sequence[Any], num_nodes: list[int], num_edges: list[int]) -> str | None:
    """The first that the lengths of these values fit, if they are tensors."""
    if not all(isinstance(each, Tensor) and each.dim() for each in values):
        return None
    squares = zip(values, num_nodes, strict=True)
    if all(each.dim() == 3 and each.shape[:2] == (n, n) for each, n in squares):
        return "pair"
    rows = {"graph": [1] * len(values), "edge": num_edges, "node": num_nodes}
    lengths = [len(each) for each in values]
    return next((level for level in rows if rows[level] == lengths), None)


def _end_to_end(name: str, level: str, values: list[Tensor]) -> Tensor:
    if level == "pair":
        return torch.cat([each.flatten(0, 1) for each in values])
    if ENCODINGS.get(name) == 0:
        return torch.stack(values)
    joined = torch.cat(values)
    if name not in ("x", "edge_attr", "y"):
        return joined
    joined = joined if joined.is_floating_point() else joined.long()
    return joined[:, None] if name != "y" and joined.dim() == 1 else joined


@dataclass
class GraphDataset:
    """Graphs in file order, and which of them are for training, validation and testing.

    Attributes:
        source: which data this is, for captions and records.
        graphs: PyG ``Data``; of molecules ``x`` ``[n, 1]`` and ``edge_attr`` ``[E, 1]`` int64,
            ``y`` ``[1]`` float32, both directions of every bond in ``edge_index``.
        split: ``[G]`` integers: 0 train, 1 val, 2 test.
        node_vocabulary, edge_vocabulary: the meanings of the values of ``x[:, 0]`` and of
            ``edge_attr[:, 0]``, where row 0 is "no edge"; or None.
        target: what ``y`` belongs to: "graph", "node" or "edge".
        checksum: sha256 of the graph file that it was read from.
    """

    name: str
    source: str
    graphs: Sequence[Data] = field(repr=False)
    split: Tensor = field(repr=False)
    node_vocabulary: Sequence[str] | None = field(default=None, repr=False)
    edge_vocabulary: Sequence[str] | None = field(default=None, repr=False)
    target: Target = "graph"
    checksum: str | None = None

    train = property(lambda self: self["train"])
    val = property(lambda self: self["val"])
    test = property(lambda self: self["test"])

    def __post_init__(self) -> None:
        for what in ("name", "source"):
            text = vars(self)[what]
            if not isinstance(text, str):
                raise ValueError(f"the {what} of the data set is {shown(text)}; expected a string.")
        if not isinstance(self.checksum, str | None):
            raise ValueError(
                f"the checksum of the data set is {shown(self.checksum)}; expected a string, or "
                "None."
            )
        for what in ("node_vocabulary", "edge_vocabulary"):
            words = vars(self)[what]
            is_list = isinstance(words, Sequence | np.ndarray) and not isinstance(words, str)
            if words is not None and not (is_list and all(isinstance(each, str) for each in words)):
                raise ValueError(f"{what} is {shown(words)}; expected a list of strings, or None.")
        check_target(self.target)
        if isinstance(self.graphs, str | bytes) or not isinstance(self.graphs, Sequence | Dataset):
            raise ValueError(
                f"dataset {self.name!r} has graphs of type {type(self.graphs).__name__}; expected "
                "a list."
            )
        if isinstance(self.graphs, list | tuple):
            check_types(self.graphs, f"dataset {self.name!r}: ")
        expected = "0 (train), 1 (val) or 2 (test) for each graph"
        try:
            split = torch.as_tensor(self.split)
        except (TypeError, ValueError, RuntimeError):  # words, or None
            raise ValueError(
                f"dataset {self.name!r} has a split that is not numeric; expected {expected}."
            ) from None
        is_part = (split == 0) | (split == 1) | (split == 2)
        if split.shape != (len(self.graphs),) or split.dtype == torch.bool or not is_part.all():
            raise ValueError(
                f"dataset {self.name!r} has {len(self.graphs)} graphs and a split of shape "
                f"{list(split.shape)} and type {split.dtype}; expected {expected}."
            )
        self.split = split.long()

    def __len__(self) -> int:
        return len(self.graphs)

    def __iter__(self) -> Iterator[Data]:
        return iter(self.graphs)

    @overload
    def __getitem__(self, key: int) -> Data: ...
    @overload
    def __getitem__(self, key: str) -> Sequence[Data]: ...
    @overload
    def __getitem__(self, key: Selection) -> GraphDataset: ...
    def __getitem__(self, key: int | str | Selection) -> Data | Sequence[Data] | GraphDataset:
        """The graph at a position, a split's graphs, or a data set of some of the graphs.

        Args:
            key: a number; "train", "val" or "test"; or a slice, numbers, or a mask ``[G]``, for a
                data set in which each graph stays in its split.
        """
        if isinstance(key, str):
            if key not in SPLITS:
                raise KeyError(f"{key!r} is not a split; expected {', '.join(SPLITS)}.")
            return self._select((self.split == SPLITS.index(key)).nonzero().flatten())
        place = selected(key, len(self))
        if isinstance(place, Tensor):
            return replace(self, graphs=self._select(place), split=self.split[place])
        return self.graphs[place]

    def _select(self, rows: Tensor) -> Sequence[Data]:
        return [self.graphs[i] for i in rows.tolist()]

    def with_graphs(self, graphs: Sequence[Data]) -> GraphDataset:
        """The data set with other graphs in place of its own, such as ones with encodings."""
        return replace(self, graphs=graphs)

    def first(self, count: int) -> GraphDataset:
        """The first ``count`` training graphs, and a quarter as many of the others."""
        count = whole_number("the number of training graphs", count, 1)
        counts = (count, max(1, count // 4), max(1, count // 4))
        parts = [(self.split == part).nonzero()[:most, 0] for part, most in enumerate(counts)]
        rows = torch.cat(parts)
        return replace(self, graphs=self._select(rows), split=self.split[rows])

    @property
    def split_sizes(self) -> dict[str, int]:
        return {name: int((self.split == number).sum()) for number, name in enumerate(SPLITS)}

    @property
    def provenance(self) -> dict[str, Any]:
        """Which data these are, for the record of a run on them."""
        named = {name: getattr(self, name) for name in ("name", "source", "checksum")}
        return named | {"sizes": self.split_sizes, "sha256": self.digest()}

    def digest(self) -> str:
        """SHA-256 of everything that a model is trained on: all tensors of the graphs, the split.

        The same graphs in another order have another digest.
        """
        sha256 = hashlib.sha256(self.target.encode())
        for graph in self.graphs:
            for name, value in sorted(graph.to_dict().items()):
                if isinstance(value, Tensor):
                    add_tensor(sha256, value, name)
        sha256.update(self.split.numpy().tobytes())
        return sha256.hexdigest()


@dataclass(kw_only=True)
class MappedGraphs(GraphDataset):
    """A folder of graphs, memory-mapped: of the graphs only sizes and graph targets are in memory.

    A split is a :class:`RaggedGraphs`, for a :class:`~gtcourse.graphs.DenseLoader`; iterating
    reads one graph after the other.

    Attributes:
        graphs: all graphs, over the mapped files.
        folder: where the files are.
        content: sha256 of the graphs; ``checksum`` may be that of a file with more.
        stored: the encodings among the arrays, as ``repr`` writes them.
    """

    graphs: RaggedGraphs = field(repr=False)
    folder: Path
    content: str
    stored: list[str]

    def digest(self) -> str:
        """SHA-256 of the folder's content and of which of its graphs are in which split."""
        sha256 = hashlib.sha256(self.content.encode())
        sha256.update(self.split.numpy().tobytes())
        return sha256.hexdigest()

    def _select(self, rows: Tensor) -> RaggedGraphs:
        return self.graphs.select(rows)

    def with_graphs(self, graphs: Sequence[Data]) -> GraphDataset:
        """A data set in memory."""
        about = {each.name: getattr(self, each.name) for each in fields(GraphDataset)}
        return GraphDataset(**about | {"graphs": graphs})
