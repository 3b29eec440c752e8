"""What a valid list of graphs is, while they lie end to end: no loop over graphs.

Each fault is a ``ValueError`` of one sentence: which graph, which value, what was expected.
"""

from __future__ import annotations

import numpy as np

from gtcourse.graphs.ragged import RaggedGraphs

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
