"""Graphs as padded dense tensors: the one data type that every model takes.

Shapes: B graphs, N nodes (of the largest graph, or more), F node features, F_e edge features.
Row i of a pair tensor belongs to the receiving (query) node, column j to the sending (key) node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor
from torch_geometric.data import Data

from gtcourse.graphs.arguments import at_least
from gtcourse.graphs.checks import (
    ENCODINGS,
    TARGET_AXES,
    check_graphs,
    check_vocabulary,
    target_level,
)
from gtcourse.graphs.padding import Edges, Layout, columns, distinct_edges

UNREACHABLE = -1
"""The distance of a pair with no path between its nodes, in every data set and transform."""

PADDED_WITH_UNREACHABLE = ("distance", "anchor_distances", "path_tree")
"""Encodings for which -1 says that there is nothing; others are padded with 0."""

MISSING_LABEL = -100
"""A missing integer target (``ignore_index`` of torch's losses); a missing float target is NaN."""

Target = Literal["graph", "node", "edge"]


@dataclass
class GraphBatch:
    """B graphs, padded to N nodes.

    Attributes:
        x: ``[B, N, F]`` node features, integers (categories) or floats; 0 at padding.
        adjacency: ``[B, N, N]`` bool; ``adjacency[b, i, j]`` is an edge from i to j.
        edge_attr: ``[B, N, N, F_e]`` or None; what stands at non-edges is never read as data.
        mask: ``[B, N]`` bool; True at a real node.
        y: ``[B]`` or ``[B, T]`` for graphs, ``[B, N]`` for nodes, ``[B, N, N]`` for edges, or None.
            Where a node or an edge target has no node or edge it is NaN (floats) or
            ``MISSING_LABEL`` (integers).
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
        """All edges as PyG has them, ``[2, E]``: real nodes are numbered through the graphs.

        Node features in that numbering are ``x[mask]``, edge features in this order
        ``edge_attr[adjacency]``.
        """
        graph, source, destination = self.adjacency.nonzero(as_tuple=True)
        number = self.mask.flatten().cumsum(0).view(self.mask.shape) - 1
        return torch.stack([number[graph, source], number[graph, destination]])

    @property
    def graph_index(self) -> Tensor:
        """The graph of each real node, ``[ΣN]``: PyG's ``batch``."""
        return self.mask.nonzero()[:, 0]

    def to(self, device: torch.device | str) -> GraphBatch:
        return self._map(lambda tensor, node_axes: tensor.to(device))

    def select(self, index: Tensor) -> GraphBatch:
        """The graphs at ``index`` ``[B']``, in that order."""
        return self._map(lambda tensor, node_axes: tensor[index])

    def trim(self, num_nodes: int) -> GraphBatch:
        """The same graphs with every node axis cut to ``num_nodes``; the rest must be padding."""

        def cut(tensor: Tensor, node_axes: int) -> Tensor:
            return tensor[(slice(None), *[slice(num_nodes)] * node_axes)]

        return self._map(cut)

    def _map(self, function: Callable[[Tensor, int], Tensor]) -> GraphBatch:
        """``function(tensor, number of its node axes)`` on every field."""
        return GraphBatch(
            x=function(self.x, 1),
            adjacency=function(self.adjacency, 2),
            mask=function(self.mask, 1),
            edge_attr=None if self.edge_attr is None else function(self.edge_attr, 2),
            y=None if self.y is None else function(self.y, TARGET_AXES[self.target]),
            encodings={n: function(t, ENCODINGS[n]) for n, t in self.encodings.items()},
            target=self.target,
        )


def collate(
    graphs: Sequence[Data],
    *,
    num_nodes: int | None = None,
    target: Target | None = None,
    num_node_types: int | None = None,
    num_edge_types: int | None = None,
) -> GraphBatch:
    """Pads PyG graphs to one :class:`GraphBatch`.

    Attributes named in ``ENCODINGS`` are padded along their node axes, distances with
    ``UNREACHABLE`` and everything else with 0. Of an edge given twice, the first counts.

    Args:
        graphs: each with ``x`` ``[n, F]``, ``edge_index`` ``[2, E]`` and, as it likes,
            ``edge_attr`` ``[E, F_e]``, ``y`` and encodings; on the CPU.
        num_nodes: N; the largest graph's size by default.
        target: what ``y`` belongs to. By default it is read off the lengths of ``y``: one for each
            graph, else one for each node, else one for each edge.
        num_node_types, num_edge_types: refuse categories in ``x`` and ``edge_attr`` outside of
            0 to this number less one, for which an embedding has no row.

    Raises:
        ValueError: a graph is malformed, or does not fit beside the others; the sentence names the
            graph, the value and what was expected.
    """
    check_graphs(graphs)
    for name, size in (("x", num_node_types), ("edge_attr", num_edge_types)):
        if size is not None:
            check_vocabulary(graphs, name, size)
    target = target_level(graphs, target)
    sizes = torch.tensor([graph.x.shape[0] for graph in graphs])
    longest = int(sizes.max())
    if num_nodes is not None:
        at_least(1, num_nodes=num_nodes)
    if num_nodes is not None and num_nodes < longest:
        raise ValueError(
            f"graph {int(sizes.argmax())} has {longest} nodes; expected at most num_nodes = "
            f"{num_nodes}."
        )
    layout = Layout(sizes, num_nodes or longest)

    edges = distinct_edges(graphs, layout)
    adjacency = edges.place([torch.ones(graph.edge_index.shape[1]).bool() for graph in graphs])
    edge_attr = None
    if graphs[0].get("edge_attr") is not None:
        edge_attr = edges.place([columns(graph.edge_attr) for graph in graphs])
    return GraphBatch(
        x=layout.place([columns(graph.x) for graph in graphs], node_axes=1),
        adjacency=adjacency,
        mask=torch.arange(layout.num_nodes) < sizes[:, None],
        edge_attr=edge_attr,
        y=_place_target(graphs, target, layout, edges),
        encodings={
            name: layout.place(
                [graph[name] for graph in graphs],
                node_axes,
                fill=UNREACHABLE if name in PADDED_WITH_UNREACHABLE else 0,
            )
            for name, node_axes in ENCODINGS.items()
            if graphs[0].get(name) is not None
        },
        target=target,
    )


def unbatch(batch: GraphBatch) -> list[Data]:
    """The graphs of a batch without their padding, edges in row-major order."""
    return [_unpad(batch, index, int(size)) for index, size in enumerate(batch.sizes)]


def _place_target(
    graphs: Sequence[Data], target: Target, layout: Layout, edges: Edges
) -> Tensor | None:
    if graphs[0].get("y") is None:
        return None
    targets = [graph.y for graph in graphs]
    if target == "graph":
        y = torch.cat(targets)
        # One target is a number, whether it is stored as [1] or as [1, 1].
        return y[:, 0] if y.dim() == 2 and y.shape[1] == 1 else y
    fill = float("nan") if targets[0].is_floating_point() else MISSING_LABEL
    if target == "node":
        return layout.place(targets, node_axes=1, fill=fill)
    return edges.place(targets, fill)


def _unpad(batch: GraphBatch, index: int, size: int) -> Data:
    edge_index = batch.adjacency[index].nonzero().T
    nodes = [slice(size)]
    graph = Data(x=batch.x[index, :size], edge_index=edge_index)
    if batch.edge_attr is not None:
        graph.edge_attr = batch.edge_attr[index, edge_index[0], edge_index[1]]
    if batch.y is not None:
        match batch.target:
            case "graph":
                graph.y = batch.y[index][None]
            case "node":
                graph.y = batch.y[index, :size]
            case "edge":
                graph.y = batch.y[index, edge_index[0], edge_index[1]]
    for name, tensor in batch.encodings.items():
        graph[name] = tensor[(index, *nodes * ENCODINGS[name])]
    return graph
