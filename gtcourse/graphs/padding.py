"""Where the nodes, pairs and edges of B graphs go in padded tensors.

Shapes: B graphs of n nodes and E edges each (ragged), N nodes after padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Data


@dataclass
class Layout:
    """Where each node, and each pair of nodes, of B graphs goes in a padded tensor."""

    sizes: Tensor
    num_nodes: int

    def place(self, ragged: Sequence[Tensor], node_axes: int, fill: float = 0) -> Tensor:
        """``[n, …]`` or ``[n, n, …]``, one a graph, to ``[B, N, …]`` or ``[B, N, N, …]``."""
        if node_axes == 0:
            return torch.stack(list(ragged))
        if node_axes == 2:
            ragged = [tensor.reshape(-1, *tensor.shape[2:]) for tensor in ragged]
        values = torch.cat(list(ragged))
        shape = (len(self.sizes), *[self.num_nodes] * node_axes, *values.shape[1:])
        padded = values.new_full(shape, fill)
        padded[self._index(node_axes)] = values
        return padded

    def _index(self, node_axes: int) -> tuple[Tensor, ...]:
        graph, offset = ragged_index(self.sizes**node_axes)
        if node_axes == 1:
            return graph, offset
        return graph, offset // self.sizes[graph], offset % self.sizes[graph]


def ragged_index(lengths: Tensor) -> tuple[Tensor, Tensor]:
    """For the concatenation of B runs: the run of each element, and its place within the run."""
    run = torch.repeat_interleave(lengths)
    starts = lengths.cumsum(0) - lengths
    return run, torch.arange(len(run)) - starts[run]


@dataclass
class Edges:
    """Where each distinct edge of B graphs goes in a padded pair tensor."""

    graph: Tensor
    source: Tensor
    destination: Tensor
    kept: Tensor
    shape: tuple[int, int, int]

    def place(self, ragged: Sequence[Tensor], fill: float = 0) -> Tensor:
        """Tensors ``[E, …]``, one a graph, to ``[B, N, N, …]``."""
        values = torch.cat(list(ragged))[self.kept]
        padded = values.new_full((*self.shape, *values.shape[1:]), fill)
        padded[self.graph, self.source, self.destination] = values
        return padded


def distinct_edges(graphs: Sequence[Data], layout: Layout) -> Edges:
    """Where the edges go; of an edge given twice, the first."""
    source, destination = torch.cat([graph.edge_index for graph in graphs], dim=1).cpu()
    graph, _ = ragged_index(torch.tensor([graph.edge_index.shape[1] for graph in graphs]))
    N = layout.num_nodes
    _, which = torch.unique((graph * N + source) * N + destination, return_inverse=True)
    kept = torch.arange(len(which))
    if len(which) and int(which.max()) + 1 < len(which):
        first = torch.full((int(which.max()) + 1,), len(which))
        kept = first.scatter_reduce(0, which, kept, "amin").sort().values
    return Edges(graph[kept], source[kept], destination[kept], kept, (len(layout.sizes), N, N))


def columns(features: Tensor) -> Tensor:
    """``[n]`` or ``[n, F]`` to ``[n, F]``, integers of any width to int64."""
    features = features if features.dim() > 1 else features[:, None]
    return features if features.is_floating_point() else features.long()
