"""Graphs as padded dense tensors: the one data type that every model takes.

Shapes: B graphs, N nodes (of the largest graph, or more), F node features, F_e edge features.

Directions: entry [i, j] of every pair tensor is about the way from i to j: the edge i → j, the
shortest path from i to j, the walks from i to j.

- Messages travel along edges: over an edge i → j, node j receives from node i. This is so in GCN,
  GIN, GAT, GatedGCN, SignNet, ``NeighbourTransformer``, and where Graphormer puts edges into nodes
  or values. As a mask of attention, whose row is the node that receives, it is the transpose of the
  adjacency.
- Attention that reads pairs follows its paper's indices: row i is the query, column j the key, and
  what steers how i attends to j is the pair [i, j], the way from i to j. This is so in Graphormer,
  EGT, GRPE and CSA. EGT-Constrained keeps a pair "if there is an edge from node i to node j", so
  there node i attends to j over the edge i → j.

On undirected graphs both are the same. Transposing any of them fails a test
(``tests/models/test_directions.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

PYG_NAMES = {"random_walk_pe": "rwse", "laplacian_eigenvector_pe": "laplacian_eigenvectors"}
"""Attributes set by PyG's transforms, and their names in a batch."""

NODE_ENCODINGS = ("in_degree", "out_degree", "laplacian_eigenvectors", "svd", "anchor_distances")
NODE_ENCODINGS += ("rwse", *PYG_NAMES)
PAIR_ENCODINGS = ("distance", "path_edges", "path_tree", "random_walks", "ring")
ENCODINGS = dict.fromkeys(NODE_ENCODINGS, 1) | dict.fromkeys(PAIR_ENCODINGS, 2)
ENCODINGS["laplacian_eigenvalues"] = 0
"""The attributes of a graph that are encodings, and how many node axes each has."""

TRANSFORM_OF = {
    "distance": "AddShortestPaths()",
    "path_edges": "AddPathEdges(max_length)",
    "path_tree": "AddPathTree()",
    "in_degree": "AddDegrees()",
    "out_degree": "AddDegrees()",
    "random_walks": "AddRandomWalks(steps)",
    "rwse": "AddRandomWalks(steps, pairs=False)",
    "laplacian_eigenvectors": "AddLaplacianEigenvectors(k)",
    "laplacian_eigenvalues": "AddLaplacianEigenvectors(k)",
    "svd": "AddSVD(rank)",
    "ring": "AddRings(max_size)",
    "anchor_distances": "AddAnchorDistances(num_sets)",
}
"""What computes each encoding, for messages."""

UNREACHABLE = -1
"""The distance of a pair with no path between its nodes, in every data set and transform."""

PADDED_WITH_UNREACHABLE = ("distance", "anchor_distances", "path_tree")
"""Encodings in which -1 means that there is nothing; others are padded with 0."""

MISSING_LABEL = -100
"""A missing integer target (``ignore_index`` of torch's losses); a missing float target is NaN."""

Target = Literal["graph", "node", "edge"]
TARGET_AXES = {"graph": 0, "node": 1, "edge": 2}


@dataclass
class GraphBatch:
    """B graphs, padded to N nodes.

    Attributes:
        x: ``[B, N, F]`` node features, integers (categories) or floats; 0 at padding.
        adjacency: ``[B, N, N]`` bool; ``adjacency[b, i, j]`` is an edge from i to j.
        edge_attr: ``[B, N, N, F_e]`` or None; values at non-edges are never read as data.
        mask: ``[B, N]`` bool; True at a real node.
        y: ``[B]`` or ``[B, T]`` for graphs, ``[B, N]`` for nodes, ``[B, N, N]`` for edges, or None.
            Where there is no node or edge it is NaN (floats) or ``MISSING_LABEL`` (integers).
        encodings: name to tensor: node encodings ``[B, N, k]``, pair encodings ``[B, N, N, …]``.
        target: what ``y`` belongs to: "graph", "node" or "edge".
    """

    x: Tensor
    adjacency: Tensor
    edge_attr: Tensor | None
    mask: Tensor
    y: Tensor | None = None
    encodings: dict[str, Tensor] = field(default_factory=dict)
    target: Target = "graph"

    @property
    def num_graphs(self) -> int:
        return self.mask.shape[0]

    @property
    def sizes(self) -> Tensor:
        """Real nodes of each graph, ``[B]``."""
        return self.mask.sum(dim=1)

    @property
    def pair_mask(self) -> Tensor:
        """True where both nodes of a pair are real, ``[B, N, N]``."""
        return self.mask[:, :, None] & self.mask[:, None, :]

    @property
    def edge_index(self) -> Tensor:
        """All edges in PyG's form, ``[2, E]``. Real nodes are numbered across the graphs.

        Node features in that numbering are ``x[mask]``, edge features in this order
        ``edge_attr[adjacency]``.
        """
        graph, source, destination = self.adjacency.nonzero(as_tuple=True)
        number = self.mask.flatten().cumsum(0).view(self.mask.shape) - 1
        return torch.stack([number[graph, source], number[graph, destination]])

    @property
    def graph_index(self) -> Tensor:
        """The graph of each real node, ``[ΣN]``, as in PyG's ``batch``."""
        return self.mask.nonzero()[:, 0]

    def encoding(self, name: str) -> Tensor:
        """An encoding of the nodes, or of the pairs, by its name.

        Raises a ValueError that names the transform to be applied if the graphs do not have it.
        """
        if name not in self.encodings:
            transform = TRANSFORM_OF.get(name, f"a transform that sets {name!r}")
            raise ValueError(
                f"the graphs have no encoding {name!r}; expected that of {transform}, as by "
                f"encode(graphs, {transform})."
            )
        return self.encodings[name]

    @staticmethod
    def from_pyg(batch: Batch) -> GraphBatch:
        """:func:`collate`; ``h[mask]`` ``[Σn, d]`` takes a dense layer's result back."""
        from gtcourse.graphs.dataset import collate

        return collate(batch)

    def to_pyg(self) -> Batch:
        """The graphs as a PyG batch, edges in row-major order."""
        return Batch.from_data_list(unbatch(self))

    def to(self, device: torch.device | str) -> GraphBatch:
        return self._map(lambda tensor: tensor.to(device))

    def select(self, index: Tensor) -> GraphBatch:
        """The graphs at ``index`` ``[B']``, in that order."""
        return self._map(lambda tensor: tensor[index])

    def _map(self, function: Callable[[Tensor], Tensor]) -> GraphBatch:
        fields = {name: function(t) for name, t in vars(self).items() if isinstance(t, Tensor)}
        encodings = {name: function(tensor) for name, tensor in self.encodings.items()}
        return replace(self, **fields, encodings=encodings)


def clipped(distance: Tensor, largest: int) -> Tensor:
    """Distances in which farther and unreachable pairs share the largest, ``largest``."""
    return distance.masked_fill(distance == UNREACHABLE, largest).clamp(0, largest)


def node_axes(name: str, batched: Tensor) -> int:
    """Node axes of an encoding in a batch; a custom encoding is node or pair by its rank."""
    return ENCODINGS.get(name, batched.dim() - 2)


def unbatch(batch: GraphBatch) -> list[Data]:
    """The graphs of a batch without their padding, edges in row-major order."""
    return [_unpad(batch, index, int(size)) for index, size in enumerate(batch.sizes)]


def _unpad(batch: GraphBatch, index: int, size: int) -> Data:
    source, destination = edge_index = batch.adjacency[index].nonzero().T
    graph = Data(x=batch.x[index, :size], edge_index=edge_index)
    if batch.edge_attr is not None:
        graph.edge_attr = batch.edge_attr[index, source, destination]
    if batch.y is not None:
        places = {"graph": None, "node": slice(size), "edge": (source, destination)}
        graph.y = batch.y[index][places[batch.target]]
    for name, tensor in batch.encodings.items():
        graph[name] = tensor[(index, *[slice(size)] * node_axes(name, tensor))]
    return graph


def check_graphs(graphs: Sequence[Data]) -> None:
    """Raises a ValueError for a malformed graph, and for graphs that do not fit together.

    No nodes, no ``x``, a NaN, an edge to a missing node, …; other dtypes or widths than graph 0's.
    """
    if isinstance(graphs, Data) or not isinstance(graphs, Sequence) or len(graphs) == 0:
        raise ValueError(f"expected a list of at least one graph, got {graphs!r}.")
    for index, graph in enumerate(graphs):
        if not isinstance(graph, Data) or isinstance(graph, Batch):
            raise ValueError(f"graph {index} is a {type(graph).__name__}; expected a PyG Data.")
    present = {name for graph in graphs for name in graph.to_dict()}
    names = ["x", "edge_index", *(n for n in ("edge_attr", "y", *ENCODINGS) if n in present)]
    for index, graph in enumerate(graphs):
        for name in names:
            if fault := _fault(name, graph, graphs[0]):
                raise ValueError(f"graph {index} has {name} {fault}.")


def _fault(name: str, graph: Data, first: Data) -> str | None:
    """What is wrong with an attribute of a graph; the one of graph 0 sets its type and width."""
    value, like = graph.get(name), first.get(name)
    if not isinstance(value, Tensor) or value.is_sparse or not value.is_cpu:
        given = value.type() if isinstance(value, Tensor) else type(value).__name__
        return f"= {given}; expected a dense tensor on the CPU"
    n, dtype, shape = graph.num_nodes, value.dtype, list(value.shape)
    if name == "edge_index":
        expected_dtype, expected = torch.int64, [2, *shape[-1:]]
    elif name == "y":
        expected_dtype, expected = like.dtype, [*shape[:1], *like.shape[1:]] or [1]
    else:
        rows = {"x": [n], "edge_attr": [graph.num_edges]}.get(name) or [n] * ENCODINGS[name]
        expected_dtype, expected = like.dtype, [*rows, *like.shape[len(rows) :]]
    if dtype != expected_dtype or shape != expected:
        return f"of {dtype} {shape}; expected {expected_dtype} {expected}, as in graph 0"
    if name == "x" and n == 0:
        return "without rows; expected at least one node"
    if dtype.is_floating_point:
        # NaN in a target means that it is missing; in a feature it is an error.
        if not value.isfinite().all() and (name != "y" or value.isinf().any()):
            return "with NaN or infinity; expected finite numbers"
    elif name in ("x", "edge_attr", "y") and (dtype == torch.bool or dtype.is_complex):
        return f"of {dtype}; expected integers or floats"
    elif name in ("x", "edge_attr", "edge_index") and value.numel():
        low, high = (int(each) for each in value.aminmax())
        if name == "edge_index" and (low < 0 or high >= n):
            return f"with values from {low} to {high}; expected 0 to {n - 1}"
        if low < 0:
            return f"with the value {low}; expected categories, 0 or more"
    return None


def target_level(graphs: Sequence[Data], target: str | None) -> str:
    """What ``y`` belongs to: as the caller says, or by the lengths of ``y``; both are checked."""
    if target not in (None, *TARGET_AXES):
        raise ValueError(f"target is {target!r}; expected 'graph', 'node' or 'edge'.")
    if graphs[0].get("y") is None:
        return target or "graph"
    found = [len(graph.y) for graph in graphs]
    rows = {"graph": [1] * len(graphs), "node": [graph.num_nodes for graph in graphs]}
    rows["edge"] = [graph.num_edges for graph in graphs]
    for level in [target] if target else rows:
        if found == rows[level]:
            return level
    each = target or "graph, each node or each edge"
    raise ValueError(f"y has {found[:8]} rows in the first graphs; expected one for each {each}.")
