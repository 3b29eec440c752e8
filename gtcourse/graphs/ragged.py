"""Graphs end to end in a few long arrays: how they lie in a file.

G graphs, ΣN nodes, ΣE directed edges.
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


def _tensor(values: np.ndarray, matrix: bool = False) -> torch.Tensor:
    kind = np.float32 if values.dtype.kind == "f" else np.int64
    tensor = torch.from_numpy(values.astype(kind))
    return tensor[:, None] if matrix and tensor.dim() == 1 else tensor
