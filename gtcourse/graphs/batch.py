"""Graphs as padded dense tensors: the one data type that every model takes.

Shapes:
    B: graphs in a batch
    N: nodes of the largest graph, or more; smaller graphs are padded
    F: columns of node features
    F_e: columns of edge features

Directions. Entry [i, j] of every pair tensor belongs to the way from node i to node j: to the edge
i → j, the shortest path from i to j, or the random walks from i to j. Models read pairs in one of
two ways:

- Message passing follows the edges: along an edge i → j, node j receives from node i. GCN, GIN,
  GAT, GatedGCN, SignNet and ``NeighbourTransformer`` do so, and so does Graphormer where it adds
  edges to nodes or values. In a mask of attention the receiving node is the row, so that the mask
  of ``NeighbourTransformer`` is the transpose of the adjacency.
- Attention over pairs follows the indices of its paper: row i is the query, column j the key, and
  the pair [i, j] decides how node i attends to node j. Graphormer, EGT, GRPE and CSA do so.
  EGT-Constrained keeps the vector of a pair "if there is an edge from node i to node j" (Section
  4.3), and its authors' mask is the adjacency with self-loops. There node i attends to the nodes to
  which its edges lead.

On undirected graphs the two ways are the same. In every model, transposing a relation fails a test
(``tests/models/test_directions.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from gtcourse.graphs.arguments import TARGET_AXES, Target, check_device, check_target

PYG_NAMES = {"random_walk_pe": "rwse", "laplacian_eigenvector_pe": "laplacian_eigenvectors"}
"""Attributes set by PyG's transforms, and their names in a batch."""

NODE_ENCODINGS = (
    "in_degree",
    "out_degree",
    "laplacian_eigenvectors",
    "svd",
    "anchor_distances",
    "rwse",
    *PYG_NAMES,
)
PAIR_ENCODINGS = ("distance", "path_edges", "path_tree", "random_walks", "ring")
ENCODINGS = dict.fromkeys(NODE_ENCODINGS, 1) | dict.fromkeys(PAIR_ENCODINGS, 2)
ENCODINGS["laplacian_eigenvalues"] = 0
"""The attributes of a graph that are encodings, and how many node axes each has."""

UNREACHABLE = -1
"""The distance of a pair with no path between its nodes, in every data set and transform."""

LEAST = {
    "distance": UNREACHABLE,
    "path_tree": UNREACHABLE,
    "in_degree": 0,
    "out_degree": 0,
    "ring": 0,
}
"""Encodings that models read as categories, and the smallest of each."""

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
"""The transform that sets each encoding, for messages."""

PADDED_WITH_UNREACHABLE = ("distance", "anchor_distances", "path_tree")
"""Encodings that are padded with -1, which means "none" in them; others are padded with 0."""

MISSING_LABEL = -100
"""A missing integer target (``ignore_index`` of torch's losses); a missing float target is NaN."""


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

    def __post_init__(self) -> None:
        self._check_types()
        # A mask of numbers would be read as bits, or as indices.
        for name, axes in (("mask", 2), ("adjacency", 3)):
            given = vars(self)[name]
            if given.dtype != torch.bool or given.dim() != axes:
                raise ValueError(
                    f"{name} is {given.dtype} {list(given.shape)}; expected a bool tensor "
                    f"{'[B, N]' if name == 'mask' else '[B, N, N]'}."
                )
        check_target(self.target)
        self._check_shapes()
        # On an accelerator, and while compiling, the values cannot be read now.
        if self.mask.device.type == "cpu" and not torch.compiler.is_compiling():
            self._check_edges()

    @classmethod
    def of_checked(cls, **values: Any) -> GraphBatch:
        """A batch of graphs whose edges were checked before; all its fields are given.

        Types and shapes are checked here as well. The values of all edges are not read again, which
        would take longer in each step than padding the graphs.
        """
        if missing := cls.__dataclass_fields__.keys() - values.keys():
            raise TypeError(f"{', '.join(sorted(missing))} is missing; expected all fields.")
        batch = object.__new__(cls)
        vars(batch).update(values)
        batch._check_types()
        batch._check_shapes()
        return batch

    def _check_types(self) -> None:
        """Raises a ValueError for what is no tensor, is elsewhere, or is no category."""
        if not isinstance(self.encodings, dict):
            given = type(self.encodings).__name__
            raise ValueError(f"encodings is of type {given}; expected a dict of tensors by name.")
        tensors = {name: vars(self)[name] for name in ("x", "adjacency", "edge_attr", "mask", "y")}
        tensors |= {f"the encoding {name!r}": value for name, value in self.encodings.items()}
        for name, value in tensors.items():
            may_be_missing = name in ("edge_attr", "y")
            if not isinstance(value, Tensor) and not (value is None and may_be_missing):
                raise ValueError(f"{name} is of type {type(value).__name__}; expected a tensor.")
            if value is not None and value.device != self.x.device:
                raise ValueError(
                    f"{name} is on {value.device}, and x is on {self.x.device}; expected all on "
                    "one device."
                )
        for name, value in self.encodings.items():
            if name in LEAST and not is_category(name, value.dtype):
                dtype = value.dtype
                raise ValueError(f"the encoding {name!r} is {dtype}; expected integers.")

    def _check_edges(self) -> None:
        """Raises a ValueError for an edge at padding, which message passing would follow."""
        at_padding = self.adjacency & ~self.pair_mask  # [B, N, N]
        if at_padding.any():
            graph, source, destination = at_padding.nonzero()[0].tolist()
            raise ValueError(
                f"graph {graph} of the batch has an edge from {source} to {destination}, of which "
                "one is no node (mask); expected edges between nodes."
            )

    def _check_shapes(self) -> None:
        """Raises a ValueError for a tensor that does not fit the mask, ``[B, N]``."""
        B, N = self.mask.shape
        expected = {"x": (B, N), "adjacency": (B, N, N), "edge_attr": (B, N, N), "y": (B, N, N)}
        axes = {"x": 3, "adjacency": 3, "edge_attr": 4}
        for name, shape in expected.items():
            given = vars(self)[name]
            if given is None:
                continue
            if name == "y":
                shape = shape[: 1 + TARGET_AXES[self.target]]
            if given.shape[: len(shape)] != shape or given.dim() != axes.get(name, given.dim()):
                written = ", ".join(str(size) for size in shape)
                more = ", F" if name in ("x", "edge_attr") else ""
                raise ValueError(
                    f"{name} is {list(given.shape)} and mask is {[B, N]}; expected {name} "
                    f"[{written}{more}]."
                )
        for name, tensor in self.encodings.items():
            shape = (B, *[N] * node_axes(name, tensor))
            if tensor.shape[: len(shape)] != shape:
                written = ", ".join(str(size) for size in shape)
                raise ValueError(
                    f"the encoding {name!r} is {list(tensor.shape)} and mask is {[B, N]}; expected "
                    f"[{written}, …]."
                )

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

        Raises:
            ValueError: The graphs do not have it; the sentence names the transform that sets it.
        """
        if not isinstance(name, str):
            raise ValueError(f"name is of type {type(name).__name__}; expected a string.")
        if name not in self.encodings:
            if name not in TRANSFORM_OF:
                raise ValueError(
                    f"the graphs have no encoding {name!r}; expected a tensor of this name in each "
                    "graph, [n, k] for its nodes or [n, n, k] for its pairs."
                )
            transform = TRANSFORM_OF[name]
            raise ValueError(
                f"the graphs have no encoding {name!r}; expected graphs that were encoded with "
                f"{transform}, as by encode(graphs, {transform})."
            )
        return self.encodings[name]

    @staticmethod
    def from_pyg(batch: Batch) -> GraphBatch:
        """What :func:`collate` makes of a PyG batch.

        The result of a dense layer, h, goes back to PyG's rows as ``h[mask]``, ``[ΣN, d]``.
        """
        from gtcourse.graphs.dataset import collate

        return collate(batch)

    def to_pyg(self) -> Batch:
        """The graphs as a PyG batch, edges in row-major order.

        Raises:
            ValueError: There are encodings of pairs. PyG joins graphs along one axis, and these
                have two.
        """
        of_pairs = [name for name, each in self.encodings.items() if node_axes(name, each) == 2]
        if of_pairs:
            raise ValueError(
                f"the batch has encodings of pairs ({', '.join(of_pairs)}), which a PyG batch "
                "cannot hold; expected a batch without them."
            )
        return Batch.from_data_list(unbatch(self))

    def to(self, device: torch.device | str) -> GraphBatch:
        """The batch on a device, such as ``gtcourse.device()``.

        Raises:
            ValueError: This machine has no such device.
        """
        check_device(device)
        return self._map(lambda tensor: tensor.to(device))

    def select(self, index: Tensor) -> GraphBatch:
        """The graphs at ``index`` ``[B']``, in that order, or where a mask ``[B]`` is True.

        Raises:
            ValueError: ``index`` is no such tensor, or there is no graph of such a number.
        """
        B = self.num_graphs
        if not isinstance(index, Tensor):
            raise ValueError(f"index is of type {type(index).__name__}; expected a tensor.")
        is_mask = index.dtype == torch.bool
        is_fraction = index.is_floating_point() or index.is_complex()
        if index.dim() != 1 or is_fraction or (is_mask and len(index) != B):
            raise ValueError(
                f"index is {index.dtype} {list(index.shape)}; expected the numbers of graphs, or a "
                f"mask [{B}]."
            )
        if not is_mask:  # torch would take uint8 for a mask
            index = index.long()
        if index.is_cpu and not is_mask:  # to read numbers from a GPU, Python would have to wait
            outside = index[(index < -B) | (index >= B)]
            if len(outside):
                raise ValueError(
                    f"there is no graph {int(outside[0])}; expected one of {B} graphs."
                )
        return self._map(lambda tensor: tensor[index])

    def _map(self, function: Callable[[Tensor], Tensor]) -> GraphBatch:
        tensors: dict[str, Any] = {
            name: function(value) for name, value in vars(self).items() if isinstance(value, Tensor)
        }
        encodings = {name: function(tensor) for name, tensor in self.encodings.items()}
        return type(self).of_checked(**vars(self) | tensors | {"encodings": encodings})


def is_category(name: str, dtype: torch.dtype) -> bool:
    """Whether an encoding of :data:`LEAST` may have this type: integers, or bool for ``ring``."""
    if dtype == torch.bool:
        return name == "ring"
    return not (dtype.is_floating_point or dtype.is_complex)


def clipped(distance: Tensor, largest: int) -> Tensor:
    """Distances in which pairs farther apart than ``largest``, or unreachable, have ``largest``."""
    return distance.masked_fill(distance == UNREACHABLE, largest).clamp(0, largest)


def node_axes(name: str, batched: Tensor) -> int:
    """The number of node axes of an encoding; that of a custom encoding follows from its rank."""
    return ENCODINGS.get(name, batched.dim() - 2)


def has_lowered_distances(distance: Tensor, adjacency: Tensor) -> Tensor:
    """True for a graph in which some pairs are farther apart than their distance says.

    ``AddShortestPaths(max_distance=m)`` lowers distances to m. Where they are exact, an edge leads
    to every node j at distance m from i, and it comes from a node at distance m - 1. A node just
    beyond m has no such edge.

    Shapes:
        distance: ``[B, n, n]``, padded with ``UNREACHABLE``
        adjacency: ``[B, n, n]`` bool
        returns: ``[B]`` bool
    """
    largest = distance.amax(dim=(1, 2), keepdim=True)  # [B, 1, 1], m
    is_before = (distance == largest - 1).float()  # [B, n, n]
    has_edge_from_before = is_before @ adjacency.float() > 0  # [B, n, n]
    is_lowered = (distance == largest) & ~has_edge_from_before & (largest > 0)
    return is_lowered.any(dim=2).any(dim=1)


def padded(rows: Tensor, mask: Tensor) -> Tensor:
    """Puts rows where a mask is True, in order, and zeros elsewhere.

    Args:
        rows: A row for each True, ``[R, C]``.
        mask: Any shape, such as ``[B, N]`` for nodes and ``[B, N, N]`` for pairs.

    Returns:
        ``[*mask.shape, C]``.
    """
    values = rows.new_zeros(*mask.shape, rows.shape[-1])
    values[mask] = rows
    return values


def unbatch(batch: GraphBatch) -> list[Data]:
    """The graphs of a batch without their padding, edges in row-major order.

    Raises:
        ValueError: This is no batch, or a graph has padding before one of its nodes.
    """
    if not isinstance(batch, GraphBatch):
        raise ValueError(f"batch is of type {type(batch).__name__}; expected a GraphBatch.")
    has_gap = (batch.mask[:, 1:] & ~batch.mask[:, :-1]).any(dim=1)  # [B]
    if has_gap.any():
        raise ValueError(
            f"graph {int(has_gap.nonzero()[0])} of the batch has padding before a node; expected "
            "the nodes of a graph before its padding."
        )
    return [_unpad(batch, index, int(size)) for index, size in enumerate(batch.sizes)]


def _unpad(batch: GraphBatch, index: int, size: int) -> Data:
    source, destination = edge_index = batch.adjacency[index].nonzero().T
    graph = Data(x=batch.x[index, :size], edge_index=edge_index)
    if batch.edge_attr is not None:
        graph.edge_attr = batch.edge_attr[index, source, destination]
    if batch.y is not None:
        places: dict[str, Any] = {
            "graph": None,
            "node": slice(size),
            "edge": (source, destination),
        }
        graph.y = batch.y[index][places[batch.target]]
    for name, tensor in batch.encodings.items():
        nodes = (slice(size),) * node_axes(name, tensor)
        graph[name] = tensor[index][nodes]
    return graph
