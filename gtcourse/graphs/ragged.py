"""Graphs end to end in a few long arrays: how they lie in a file.

G graphs, ΣN nodes, ΣE directed edges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
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


Arrays = dict[str, np.ndarray]


@dataclass
class RaggedGraphs:
    """The content of a graph file.

    Attributes:
        num_nodes, num_edges: ``[G]``; both directions of an undirected edge count.
        edge_index: ``[2, ΣE]``; node numbers within their graph.
        node: ``x`` and other arrays ``[ΣN, …]``.
        edge: ``edge_attr`` and other arrays ``[ΣE, …]``.
        graph: ``split`` and other arrays ``[G, …]``.
        target: which of the three ``y`` is in.
        smiles: one for each graph, or None.
        node_vocabulary, edge_vocabulary: names of the types, or None.
        missing_targets: whether ``y`` may be NaN.
    """

    num_nodes: np.ndarray
    num_edges: np.ndarray
    edge_index: np.ndarray
    node: Arrays
    edge: Arrays
    graph: Arrays
    target: str = "graph"
    smiles: list[str] | None = None
    node_vocabulary: tuple[str, ...] | None = None
    edge_vocabulary: tuple[str, ...] | None = None
    missing_targets: bool = False

    @classmethod
    def from_data(cls, graphs: Sequence[Data], split: np.ndarray, target: str) -> RaggedGraphs:
        """Puts checked graphs (``check_graphs``) end to end, all their attributes with them."""
        ragged = cls(
            num_nodes=np.array([graph.x.shape[0] for graph in graphs]),
            num_edges=np.array([graph.edge_index.shape[1] for graph in graphs]),
            edge_index=torch.cat([graph.edge_index for graph in graphs], dim=1).numpy(),
            node={},
            edge={},
            graph={"split": np.asarray(split)},
            target=target,
        )
        for name in graphs[0].keys():  # noqa: SIM118 (a Data iterates over pairs)
            if name == "smiles":
                ragged.smiles = [graph.smiles for graph in graphs]
            elif name not in ("edge_index", "num_nodes"):
                ragged._add(name, graphs)
        return ragged

    def _add(self, name: str, graphs: Sequence[Data]) -> None:
        for index, graph in enumerate(graphs):
            if not isinstance(graph.get(name), torch.Tensor):
                raise ValueError(
                    f"graph {index} has {name} = {graph.get(name)!r}; expected a tensor."
                )
        lengths = np.array([len(graph[name]) if graph[name].dim() else -1 for graph in graphs])
        shapes = {tuple(graph[name].shape[1:]) for graph in graphs}
        fits = {
            "graph": bool((lengths == 1).all()),
            "node": bool((lengths == self.num_nodes).all()),
            "edge": bool((lengths == self.num_edges).all()),
        }
        fixed = {"x": "node", "edge_attr": "edge", "y": self.target}.get(name)
        level = fixed or next((level for level, fit in fits.items() if fit), None)
        if level is None or not fits[level] or len(shapes) != 1:
            raise ValueError(
                f"graph 0 has {name} of shape {list(graphs[0][name].shape)}; a graph file holds "
                "one row for each node, each edge or the graph, of one width in all graphs."
            )
        values = torch.cat([graph[name].detach().cpu() for graph in graphs]).numpy()
        getattr(self, level)[name] = values

    def to_data(self) -> list[Data]:
        """One PyG ``Data`` a graph; integers become int64, floats float32, memory of its own."""
        sizes = {
            "node": self.num_nodes.tolist(),
            "edge": self.num_edges.tolist(),
            "graph": [1] * len(self.num_nodes),
        }
        columns = {
            name: _tensor(values, matrix=name in ("x", "edge_attr")).split(sizes[level])
            for level in sizes
            for name, values in getattr(self, level).items()
            if name != "split"
        }
        edges = _tensor(self.edge_index).split(sizes["edge"], dim=1)
        smiles = self.smiles
        graphs = []
        for index, edge_index in enumerate(edges):
            values = {name: column[index].clone() for name, column in columns.items()}
            if smiles is not None:
                values["smiles"] = smiles[index]
            values["edge_index"] = edge_index.clone(memory_format=torch.contiguous_format)
            graphs.append(Data(**values))
        return graphs


def _tensor(values: np.ndarray, matrix: bool = False) -> torch.Tensor:
    kind = np.float32 if values.dtype.kind == "f" else np.int64
    tensor = torch.from_numpy(values.astype(kind))
    return tensor[:, None] if matrix and tensor.dim() == 1 else tensor


MOST = 2**31 - 1
"""Nodes or edges of a graph; more of them could add up to beyond 64 bits, and so to anything."""


def check_ragged(ragged: RaggedGraphs) -> None:
    """Refuses arrays that are not a list of valid graphs.

    Raises:
        ValueError: shapes do not add up, or a graph has no nodes, a NaN, an unknown type, …
    """
    _Checks(ragged).run()


class _Checks:
    """Later checks rely on earlier ones, so that each can be short."""

    def __init__(self, ragged: RaggedGraphs):
        self.ragged = ragged

    def run(self) -> None:
        self.check_counts()
        self.check_lengths()
        self.check_split()
        self.check_edges()
        self.check_features("node", "x", 0, self.ragged.node_vocabulary)
        # Row 0 of a bond vocabulary means "no bond": an edge that is there has another type.
        if "edge_attr" in self.ragged.edge:
            lowest = 0 if self.ragged.edge_vocabulary is None else 1
            self.check_features("edge", "edge_attr", lowest, self.ragged.edge_vocabulary)
        self.check_target()

    def check_counts(self) -> None:
        num_nodes, num_edges = self.ragged.num_nodes, self.ragged.num_edges
        for name, counts, least, expected in (
            ("num_nodes", num_nodes, 1, "at least one node"),
            ("num_edges", num_edges, 0, "0 or more"),
        ):
            _expect_integers(name, counts)
            if counts.ndim != 1:
                raise ValueError(f"{name} has shape {list(counts.shape)}; expected [graphs].")
            for index in np.flatnonzero((counts < least) | (counts > MOST))[:1]:
                expected = f"at most {MOST}" if counts[index] > MOST else expected
                raise ValueError(
                    f"graph {index} has {name} = {counts[index]}; expected {expected}."
                )
        if len(num_nodes) == 0:
            raise ValueError("num_nodes is empty; expected at least one graph.")
        if len(num_nodes) != len(num_edges):
            raise ValueError(
                f"num_edges has {len(num_edges)} entries; expected {len(num_nodes)}, as many as "
                "num_nodes."
            )

    def check_lengths(self) -> None:
        graphs = len(self.ragged.num_nodes)
        nodes, edges = int(self.ragged.num_nodes.sum()), int(self.ragged.num_edges.sum())
        edge_index, smiles = self.ragged.edge_index, self.ragged.smiles
        _expect_integers("edge_index", edge_index)
        if edge_index.shape != (2, edges):
            raise ValueError(
                f"edge_index has shape {list(edge_index.shape)}; expected [2, {edges}], because "
                f"num_edges adds up to {edges}."
            )
        for level, rows, why in (
            ("node", nodes, f"because num_nodes adds up to {nodes}"),
            ("edge", edges, f"because num_edges adds up to {edges}"),
            ("graph", graphs, f"one for each of {graphs} graphs"),
        ):
            for name, values in getattr(self.ragged, level).items():
                if values.dtype.kind not in "iuf" or values.dtype == np.uint64:
                    expected = "integers or floats, which int64 and float32 can hold"
                    raise ValueError(f"{name} is {values.dtype}; expected {expected}.")
                shape = list(values.shape)
                if values.ndim == 0 or len(values) != rows:
                    raise ValueError(f"{name} has shape {shape}; expected {rows} rows, {why}.")
                if 0 in shape[1:]:
                    raise ValueError(f"{name} has shape {shape}; expected one column or more.")
        if smiles is not None and len(smiles) != graphs:
            raise ValueError(
                f"smiles_utf8 has {len(smiles)} lines; expected {graphs}, one for each graph."
            )

    def check_split(self) -> None:
        split = self.ragged.graph["split"]
        _expect_integers("split", split)
        if split.ndim != 1:
            raise ValueError(f"split has shape {list(split.shape)}; expected [graphs].")
        for index in np.flatnonzero((split < 0) | (split > 2))[:1]:
            raise ValueError(
                f"graph {index} has split = {split[index]}; expected 0 (train), 1 (val) or "
                "2 (test)."
            )

    def check_edges(self) -> None:
        sizes = np.repeat(self.ragged.num_nodes.astype(np.int64), self.ragged.num_edges)
        edges = self.ragged.edge_index.astype(np.int64)
        wrong = np.flatnonzero(((edges < 0) | (edges >= sizes)).any(axis=0))
        if len(wrong):
            index = self.owner("edge", wrong[0])
            source, destination = self.ragged.edge_index[:, wrong[0]]
            raise ValueError(
                f"graph {index} has an edge ({source}, {destination}); expected nodes 0 to "
                f"{self.ragged.num_nodes[index] - 1}."
            )

    def check_features(
        self, level: str, name: str, lowest: int, vocabulary: tuple[str, ...] | None
    ) -> None:
        values = getattr(self.ragged, level)[name]
        if values.ndim > 2:
            raise ValueError(f"{name} has shape {list(values.shape)}; expected [{level}s, F].")
        if vocabulary is None:
            wrong = ~np.isfinite(_as_float32(values)) if values.dtype.kind == "f" else values < 0
            expected = "a finite number" if values.dtype.kind == "f" else "a category, 0 or more"
        else:
            _expect_integers(name, values, "types of the vocabulary")
            wrong = (values < lowest) | (values >= len(vocabulary))
            if values.ndim == 2:
                wrong[:, 1:] = False  # only the first column is a type
            expected = f"{lowest} to {len(vocabulary) - 1}, a type of the vocabulary"
        self.refuse(level, name, wrong, expected)

    def check_target(self) -> None:
        y = getattr(self.ragged, self.ragged.target)["y"]
        if y.dtype.kind != "f":
            return
        self.refuse(self.ragged.target, "y", np.isinf(_as_float32(y)), "a finite target")
        if not self.ragged.missing_targets:
            expected = "a finite target (a file may say missing_targets = True)"
            self.refuse(self.ragged.target, "y", np.isnan(y), expected)

    def refuse(self, level: str, name: str, wrong: np.ndarray, expected: str) -> None:
        if not wrong.any():
            return
        values = getattr(self.ragged, level)[name]
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        index = self.owner(level, place[0])
        local = [str(place[0] - self.start(level, index)), *map(str, place[1:])]
        local = local[1:] if level == "graph" else local  # the graph is named already
        position = f"[{', '.join(local)}]" if local else ""
        raise ValueError(
            f"graph {index} has {name}{position} = {values[place]}; expected {expected}."
        )

    def owner(self, level: str, row: int) -> int:
        """The graph that a row of a node, edge or graph array belongs to."""
        if level == "graph":
            return int(row)
        return int(np.searchsorted(self.counts(level).cumsum(), row, side="right"))

    def start(self, level: str, index: int) -> int:
        return index if level == "graph" else int(self.counts(level)[:index].sum())

    def counts(self, level: str) -> np.ndarray:
        counts = self.ragged.num_nodes if level == "node" else self.ragged.num_edges
        return counts.astype(np.int64)


def _as_float32(values: np.ndarray) -> np.ndarray:
    """The values as a graph will hold them; those beyond float32 become infinite."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32)


def _expect_integers(name: str, values: np.ndarray, what: str = "integers") -> None:
    if values.dtype.kind not in "iu":
        raise ValueError(f"{name} is {values.dtype}; expected {what}.")
