"""Graphs end to end in a few long arrays: how they lie in a file.

G graphs, ΣN nodes, ΣE directed edges. Everything is checked here at once, without a loop over
graphs; each fault is a ``ValueError`` of one sentence: which graph, which value, what was expected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch_geometric.data import Data

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

    def check(self) -> None:
        """Refuses arrays that are not a list of valid graphs."""
        self._check_counts()
        self._check_lengths()
        self._check_split()
        self._check_edges()
        self._check_features("node", "x", 0, self.node_vocabulary)
        # Row 0 of a bond vocabulary means "no bond": an edge that is there has another type.
        if "edge_attr" in self.edge:
            lowest = 0 if self.edge_vocabulary is None else 1
            self._check_features("edge", "edge_attr", lowest, self.edge_vocabulary)
        self._check_target()

    def _check_counts(self) -> None:
        for name, least in (("num_nodes", 1), ("num_edges", 0)):
            counts = getattr(self, name)
            _expect_integers(name, counts)
            if counts.ndim != 1:
                raise ValueError(f"{name} has shape {list(counts.shape)}; expected [graphs].")
            low = np.flatnonzero(counts < least)
            if len(low) and name == "num_nodes":
                raise ValueError(
                    f"graph {low[0]} has num_nodes = {counts[low[0]]}; expected at least one node."
                )
            if len(low):
                raise ValueError(
                    f"graph {low[0]} has num_edges = {counts[low[0]]}; expected 0 or more."
                )
        if len(self.num_nodes) == 0:
            raise ValueError("num_nodes is empty; expected at least one graph.")
        if len(self.num_nodes) != len(self.num_edges):
            raise ValueError(
                f"num_edges has {len(self.num_edges)} entries; expected {len(self.num_nodes)}, "
                "as many as num_nodes."
            )

    def _check_lengths(self) -> None:
        sums = {name: int(getattr(self, name).sum()) for name in ("num_nodes", "num_edges")}
        _expect_integers("edge_index", self.edge_index)
        expected = (2, sums["num_edges"])
        if self.edge_index.shape != expected:
            raise ValueError(
                f"edge_index has shape {list(self.edge_index.shape)}; expected {list(expected)}, "
                f"because num_edges adds up to {expected[1]}."
            )
        for level, key, rows in (
            ("node", "num_nodes", sums["num_nodes"]),
            ("edge", "num_edges", sums["num_edges"]),
            ("graph", "graphs", len(self.num_nodes)),
        ):
            for name, values in getattr(self, level).items():
                if values.dtype.kind not in "iuf":
                    raise ValueError(f"{name} is {values.dtype}; expected integers or floats.")
                if values.ndim == 0 or len(values) != rows:
                    reason = f"because {key} adds up to" if key != "graphs" else "one for each of"
                    end = rows if key != "graphs" else f"{rows} graphs"
                    raise ValueError(
                        f"{name} has shape {list(values.shape)}; expected {rows} rows, "
                        f"{reason} {end}."
                    )
        if self.smiles is not None and len(self.smiles) != len(self.num_nodes):
            raise ValueError(
                f"smiles_utf8 has {len(self.smiles)} lines; expected {len(self.num_nodes)}, one "
                "for each graph."
            )

    def _check_split(self) -> None:
        split = self.graph["split"]
        _expect_integers("split", split)
        if split.ndim != 1:
            raise ValueError(f"split has shape {list(split.shape)}; expected [graphs].")
        wrong = np.flatnonzero((split < 0) | (split > 2))
        if len(wrong):
            raise ValueError(
                f"graph {wrong[0]} has split = {split[wrong[0]]}; expected 0 (train), 1 (val) or "
                "2 (test)."
            )

    def _check_edges(self) -> None:
        sizes = np.repeat(self.num_nodes.astype(np.int64), self.num_edges)
        edges = self.edge_index.astype(np.int64)
        wrong = np.flatnonzero(((edges < 0) | (edges >= sizes)).any(axis=0))
        if len(wrong):
            index = self._owner("edge", wrong[0])
            source, destination = edges[:, wrong[0]]
            raise ValueError(
                f"graph {index} has an edge ({source}, {destination}); expected nodes 0 to "
                f"{self.num_nodes[index] - 1}."
            )

    def _check_features(
        self, level: str, name: str, lowest: int, vocabulary: tuple[str, ...] | None
    ) -> None:
        values = getattr(self, level)[name]
        if values.ndim > 2:
            raise ValueError(f"{name} has shape {list(values.shape)}; expected [{level}s, F].")
        if vocabulary is None:
            wrong = ~np.isfinite(values) if values.dtype.kind == "f" else values < 0
            expected = "a finite number" if values.dtype.kind == "f" else "a category, 0 or more"
        else:
            _expect_integers(name, values, "types of the vocabulary")
            wrong = (values < lowest) | (values >= len(vocabulary))
            if values.ndim == 2:
                wrong[:, 1:] = False  # only the first column is a type
            expected = f"{lowest} to {len(vocabulary) - 1}, a type of the vocabulary"
        self._refuse(level, name, wrong, expected)

    def _check_target(self) -> None:
        y = getattr(self, self.target)["y"]
        if y.dtype.kind != "f":
            return
        self._refuse(self.target, "y", np.isinf(y), "a finite target")
        if not self.missing_targets:
            expected = "a finite target (a file may say missing_targets = True)"
            self._refuse(self.target, "y", np.isnan(y), expected)

    def _refuse(self, level: str, name: str, wrong: np.ndarray, expected: str) -> None:
        if not wrong.any():
            return
        values = getattr(self, level)[name]
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        index = self._owner(level, place[0])
        local = (place[0] - self._start(level, index), *place[1:])
        position = "" if level == "graph" else f"[{', '.join(map(str, local))}]"
        raise ValueError(
            f"graph {index} has {name}{position} = {values[place]}; expected {expected}."
        )

    def _owner(self, level: str, row: int) -> int:
        """The graph that a row of a node, edge or graph array belongs to."""
        if level == "graph":
            return int(row)
        return int(np.searchsorted(self._counts(level).cumsum(), row, side="right"))

    def _start(self, level: str, index: int) -> int:
        return index if level == "graph" else int(self._counts(level)[:index].sum())

    def _counts(self, level: str) -> np.ndarray:
        return (self.num_nodes if level == "node" else self.num_edges).astype(np.int64)


def _expect_integers(name: str, values: np.ndarray, what: str = "integers") -> None:
    if values.dtype.kind not in "iu":
        raise ValueError(f"{name} is {values.dtype}; expected {what}.")


def _tensor(values: np.ndarray, matrix: bool = False) -> torch.Tensor:
    kind = np.float32 if values.dtype.kind == "f" else np.int64
    tensor = torch.from_numpy(values.astype(kind))
    return tensor[:, None] if matrix and tensor.dim() == 1 else tensor
