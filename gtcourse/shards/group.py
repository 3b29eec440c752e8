"""Graphs end to end on the device, and batches made of them there: no loop over graphs.

Shapes: G graphs with ΣN nodes, ΣE edges and Σn² pairs in a group; B graphs, N nodes and at most E
edges in a batch.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from gtcourse.graphs.batch import (
    ENCODINGS,
    MISSING_LABEL,
    PADDED_WITH_UNREACHABLE,
    UNREACHABLE,
    GraphBatch,
)
from gtcourse.shards.format import ShardGraphs

LEVELS = ("node", "edge", "pair", "graph")


class Group:
    """Some shards' graphs, in the few bits they are stored in, on the device.

    Args:
        parts: graphs and which of them, from the first row to before the last.
    """

    def __init__(self, parts: Sequence[tuple[ShardGraphs, int, int]], device: torch.device | str):
        self.device = device
        self.target = parts[0][0].target
        self.dtypes = {name: _torch_type(name, of) for name, of in parts[0][0].dtypes.items()}
        cut = [_rows(*part) for part in parts]
        # On the CPU as well, so that a batch's shape is known without waiting for the device.
        self.sizes = _joined(cut, "graph", "num_nodes")
        self.edges = _joined(cut, "graph", "num_edges")
        self._arrays = {
            level: {name: _joined(cut, level, name).to(device) for name in cut[0][level]}
            for level in LEVELS
        }
        y = self._arrays[self.target]["y"]
        self._arrays[self.target]["y"] = y.to(self.dtypes["y"])  # a missing one is NaN, or -100
        counts = {"node": self.sizes, "edge": self.edges, "pair": self.sizes**2}
        self._first = {level: (n.cumsum(0) - n).to(device) for level, n in counts.items()}

    def __len__(self) -> int:
        return len(self.sizes)

    def batch(self, rows: Tensor, places: Tensor) -> GraphBatch:
        """What ``collate`` makes of the graphs in ``rows`` ``[B]``.

        Args:
            places: the same numbers on the device.
        """
        B, N, E = len(rows), int(self.sizes[rows].max()), int(self.edges[rows].max())
        count = {name: self._arrays["graph"][name][places] for name in ("num_nodes", "num_edges")}
        node = torch.arange(N, device=self.device)
        mask = node < count["num_nodes"][:, None]
        padded = {
            "node": _Gather(self._first["node"][places][:, None] + node, mask),
            "edge": self._edges(B, N, E, count["num_edges"], places),
        }
        x = padded["node"].place(self._column("node", "x"), 0)
        edge_attr = None
        if "edge_attr" in self._arrays["edge"]:
            edge_attr = padded["edge"].place(self._column("edge", "edge_attr"), 0)
        return GraphBatch(
            x=x.to(self.dtypes["x"]),
            adjacency=padded["edge"].present(),
            edge_attr=None if edge_attr is None else edge_attr.to(self.dtypes["edge_attr"]),
            mask=mask,
            y=self._target(places, padded),
            encodings=self._encodings(places, mask, count["num_nodes"], padded["node"]),
            target=self.target,
        )

    def _edges(self, B: int, N: int, E: int, count: Tensor, places: Tensor) -> _Scatter:
        edge = torch.arange(E, device=self.device)
        gather = _Gather(self._first["edge"][places][:, None] + edge, edge < count[:, None])
        ends = (self._arrays["edge"][name] for name in ("edge_source", "edge_target"))
        source, destination = (gather.take(end).long() for end in ends)
        graph = torch.arange(B, device=self.device)[:, None]
        return _Scatter(gather, (graph * N + source) * N + destination, (B, N, N))

    def _target(self, places: Tensor, padded: dict[str, _Gather | _Scatter]) -> Tensor:
        y = self._arrays[self.target]["y"]
        if self.target == "graph":
            y = y[places]
            return y[:, 0] if y.dim() == 2 and y.shape[1] == 1 else y
        fill = float("nan") if y.is_floating_point() else MISSING_LABEL
        return padded[self.target].place(y, fill)

    def _encodings(
        self, places: Tensor, mask: Tensor, sizes: Tensor, nodes: _Gather
    ) -> dict[str, Tensor]:
        encodings = {}
        for name, axes in ENCODINGS.items():
            level = ("graph", "node", "pair")[axes]
            if name not in self._arrays[level]:
                continue
            values = self._arrays[level][name]
            fill = UNREACHABLE if name in PADDED_WITH_UNREACHABLE else 0
            if level == "graph":
                padded = values[places]
            elif level == "node":
                padded = nodes.place(values, fill)
            else:
                padded = self._pairs(places, mask, sizes).place(values, fill)
            encodings[name] = padded.to(self.dtypes[name])
        return encodings

    def _pairs(self, places: Tensor, mask: Tensor, sizes: Tensor) -> _Gather:
        node = torch.arange(mask.shape[1], device=self.device)
        row = self._first["pair"][places][:, None] + node * sizes[:, None]
        return _Gather(row[:, :, None] + node, mask[:, :, None] & mask[:, None, :])

    def _column(self, level: str, name: str) -> Tensor:
        """``[rows, F]``; one feature may be stored as ``[rows]``."""
        values = self._arrays[level][name]
        return values if values.dim() > 1 else values[:, None]


class _Gather:
    """Where each place of a padded tensor has its value from."""

    def __init__(self, index: Tensor, real: Tensor):
        # Beyond a graph's end lies the next graph, or nothing.
        self.index, self.real = index.masked_fill(~real, 0), real

    def take(self, values: Tensor) -> Tensor:
        return values[self.index]

    def place(self, values: Tensor, fill: float) -> Tensor:
        taken = self.take(values)
        # -1 does not fit into the unsigned type in which the distances may be stored.
        taken = taken.short() if fill < 0 and taken.dtype == torch.uint8 else taken
        padding = ~self.real.reshape(*self.real.shape, *[1] * (taken.dim() - self.real.dim()))
        return taken.masked_fill(padding, fill)


class _Scatter:
    """Where each edge goes in a padded pair tensor; what is no edge goes to one place behind it."""

    def __init__(self, gather: _Gather, index: Tensor, shape: tuple[int, int, int]):
        self.gather, self.shape = gather, shape
        behind = shape[0] * shape[1] * shape[2]
        self.index = index.masked_fill(~gather.real, behind).flatten()
        self.length = behind + 1

    def present(self) -> Tensor:
        """``[B, N, N]`` bool: where there is an edge."""
        padded = torch.zeros(self.length, dtype=torch.bool, device=self.index.device)
        return padded.index_fill_(0, self.index, True)[:-1].view(self.shape)

    def place(self, values: Tensor, fill: float) -> Tensor:
        padded = values.new_full((self.length, *values.shape[1:]), fill)
        padded.index_copy_(0, self.index, self.gather.take(values).flatten(0, 1))
        return padded[:-1].view(*self.shape, *values.shape[1:])


def _rows(graphs: ShardGraphs, start: int, stop: int) -> dict[str, dict[str, np.ndarray]]:
    """The arrays of the graphs from ``start`` to before ``stop``."""
    rows = {"graph": slice(start, stop)}
    counts = {"node": graphs.num_nodes, "edge": graphs.num_edges, "pair": graphs.num_nodes**2}
    for level, count in counts.items():
        first = int(count[:start].sum())
        rows[level] = slice(first, first + int(count[start:stop].sum()))
    source, target = graphs.edge_index
    arrays = {
        "node": graphs.node,
        "edge": graphs.edge | {"edge_source": source, "edge_target": target},
        "pair": graphs.pair,
        "graph": graphs.graph | {"num_nodes": graphs.num_nodes, "num_edges": graphs.num_edges},
    }
    return {
        level: {name: values[rows[level]] for name, values in arrays[level].items()}
        for level in LEVELS
    }


def _joined(parts: list[dict[str, dict[str, np.ndarray]]], level: str, name: str) -> Tensor:
    return torch.from_numpy(np.concatenate([part[level][name] for part in parts]))


def _torch_type(name: str, stored: str) -> torch.dtype:
    """What ``collate`` makes of it: categories are int64, other things are what they were."""
    dtype = getattr(torch, stored)
    is_feature = name in ("x", "edge_attr")
    return torch.int64 if is_feature and not dtype.is_floating_point else dtype
