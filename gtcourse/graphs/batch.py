"""Graphs as padded dense tensors: the one data type that every model takes.

Shapes: B graphs, N nodes (of the largest graph, or more), F node features, F_e edge features.
Row i of a pair tensor belongs to the receiving (query) node, column j to the sending (key) node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data, Dataset

from gtcourse.graphs.arguments import at_least

ENCODINGS = {
    "in_degree": 1,
    "out_degree": 1,
    "laplacian_eigenvectors": 1,
    "laplacian_eigenvalues": 0,
    "svd": 1,
    "anchor_distances": 1,
    "rwse": 1,
    "distance": 2,
    "path_edges": 2,
    "path_tree": 2,
    "random_walks": 2,
    "ring": 2,
    "random_walk_pe": 1,
    "laplacian_eigenvector_pe": 1,
}
"""The attributes of a graph that are encodings, and how many node axes each has."""

PYG_NAMES = {"random_walk_pe": "rwse", "laplacian_eigenvector_pe": "laplacian_eigenvectors"}
"""What PyG's transforms set, and the name under which a batch has it for the models."""

READ = {"x", "edge_index", "edge_attr", "y", *ENCODINGS}

NUMBERS = (
    *(torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
)
"""Without the wider unsigned types, which torch neither compares nor indexes by."""

TARGET_AXES = {"graph": 0, "node": 1, "edge": 2}


def check_graphs(graphs: Sequence[Data]) -> None:
    """Raises for a malformed graph, and for graphs that do not fit together.

    Raises:
        ValueError: a graph has no nodes, no ``x``, a NaN, an edge to a missing node, …; the list is
            empty; or dtypes and widths differ.
    """
    if isinstance(graphs, Data) or not isinstance(graphs, Sequence):
        raise ValueError(f"expected a list of graphs, got one {type(graphs).__name__}.")
    if len(graphs) == 0:
        raise ValueError("expected at least one graph, got an empty list.")
    _Checked(graphs).run()


def check_vocabulary(graphs: Sequence[Data], name: str, size: int) -> None:
    """Refuses a category that an embedding of ``size`` rows has no row for.

    Args:
        name: the attribute, "x" or "edge_attr", integers.
    """
    at_least(1, **{f"the number of {name}'s categories": size})
    checked = _Checked(graphs)
    checked.check_alike(name)
    checked.check_range(name, size)


def check_features(graphs: Sequence[Data], name: str) -> None:
    """Refuses features that are no numbers, not finite, or of another kind than the first graph's.

    Args:
        name: the attribute, "x" or "edge_attr", which every graph has.
    """
    checked = _Checked(graphs)
    checked.check_alike(name)
    checked.check_values(name)


def target_level(graphs: Sequence[Data], target: str | None) -> str:
    """What ``y`` belongs to: the caller's word, checked, or read off the lengths of ``y``."""
    if target is not None and target not in (*TARGET_AXES,):
        raise ValueError(f"target is {target!r}; expected 'graph', 'node' or 'edge'.")
    if graphs[0].get("y") is None:
        return target or "graph"
    counts = {
        "graph": lambda graph: 1,
        "node": lambda graph: graph.x.shape[0],
        "edge": lambda graph: graph.edge_index.shape[1],
    }
    misfit = {}
    for level in [target] if target else counts:
        misfit[level] = next(
            (i for i, graph in enumerate(graphs) if len(graph.y) != counts[level](graph)), None
        )
        if misfit[level] is None:
            return level
    index = max(misfit.values())
    graph = graphs[index]
    raise ValueError(
        f"graph {index} has {len(graph.y)} targets y, {graph.x.shape[0]} nodes and "
        f"{graph.edge_index.shape[1]} edges; expected one target for "
        f"{'each ' + target if target else 'the graph, each node or each edge'}."
    )


class _Checked:
    """The attributes of a list of graphs, looked at together."""

    def __init__(self, graphs: Sequence[Data]):
        self.graphs = graphs

    def run(self) -> None:
        self.check_present()
        for name in ("x", "edge_attr", "y"):
            if self.have(name):
                self.check_alike(name)
                self.check_values(name)
        self.check_edges()
        for name, node_axes in ENCODINGS.items():
            if self.have(name):
                self.check_encoding(name, node_axes)

    def have(self, name: str) -> bool:
        return any(graph.get(name) is not None for graph in self.graphs)

    def fail(self, index: int, what: str) -> None:
        raise ValueError(f"graph {index} {what}")

    def check_present(self) -> None:
        for index, graph in enumerate(self.graphs):
            if not isinstance(graph, Data) or isinstance(graph, Batch):
                self.fail(index, f"is a {type(graph).__name__}; expected a PyG Data.")
            x, edge_index = graph.get("x"), graph.get("edge_index")
            for name, value in (("x", x), ("edge_index", edge_index)):
                if not isinstance(value, Tensor):
                    self.fail(index, f"has {name} = {_brief(value)}; expected a tensor.")
            self.check_storage(index, graph)
            if x.dim() not in (1, 2) or 0 in x.shape[1:]:
                self.fail(index, f"has x of shape {list(x.shape)}; expected [nodes, features].")
            if x.shape[0] == 0:
                self.fail(index, "has no nodes; expected at least one.")
            if graph.num_nodes != x.shape[0]:
                said = f"has num_nodes = {graph.num_nodes!r}"
                self.fail(index, f"{said}; expected {x.shape[0]}, the rows of x.")
            if edge_index.dim() != 2 or edge_index.shape[0] != 2:
                shape = list(edge_index.shape)
                self.fail(index, f"has edge_index of shape {shape}; expected [2, edges].")
            if edge_index.dtype != torch.int64:
                self.fail(index, f"has edge_index of {edge_index.dtype}; expected torch.int64.")
            edge_attr, edges = graph.get("edge_attr"), edge_index.shape[1]
            if edge_attr is not None:
                self.check_edge_attr(index, edge_attr, edges)

    def check_storage(self, index: int, graph: Data) -> None:
        """Tensors on the CPU, of rows and columns; a batch is moved to a device as a whole."""
        for name, value in graph:
            if not isinstance(value, Tensor) or name not in READ:
                continue
            if value.device.type != "cpu":
                self.fail(index, f"has {name} on {value.device}; expected it on the CPU.")
            if value.layout != torch.strided:
                self.fail(index, f"has {name} as {value.layout}; expected a dense tensor.")

    def check_edge_attr(self, index: int, edge_attr: object, edges: int) -> None:
        if not isinstance(edge_attr, Tensor):
            self.fail(index, f"has edge_attr = {_brief(edge_attr)}; expected a tensor.")
        shape = list(edge_attr.shape)
        if edge_attr.dim() not in (1, 2) or 0 in shape[1:]:
            self.fail(index, f"has edge_attr of shape {shape}; expected [edges, features].")
        if shape[0] != edges:
            self.fail(index, f"has {shape[0]} rows of edge_attr; expected one an edge, {edges}.")

    def check_alike(self, name: str) -> None:
        """Every graph has the attribute, with the first graph's dtype and width."""
        first = self.graphs[0].get(name)
        for index, graph in enumerate(self.graphs):
            value = graph.get(name)
            if not isinstance(value, Tensor) or value.dim() == 0:
                said = f"has {name} = {_brief(value)}"
                self.fail(index, f"{said}; expected a tensor with a row axis.")
            for what, got, expected in (
                ("rows of shape", list(value.shape[1:]), list(first.shape[1:])),
                ("the dtype", value.dtype, first.dtype),
            ):
                if got != expected:
                    said = f"has {name} with {what} {got}"
                    self.fail(index, f"{said}; expected {expected}, as in graph 0.")

    def check_encoding(self, name: str, node_axes: int) -> None:
        """Every graph has it, with its number of nodes along the node axes, and finite."""
        first = self.graphs[0].get(name)
        for index, graph in enumerate(self.graphs):
            value, nodes = graph.get(name), [graph.x.shape[0]] * node_axes
            if not isinstance(value, Tensor) or value.dim() < max(1, node_axes):
                said, axes = f"has {name} = {_brief(value)}", max(1, node_axes)
                self.fail(index, f"{said}; expected a tensor with {axes} axes or more.")
            expected = [*nodes, *first.shape[node_axes:]]
            if list(value.shape) != expected:
                self.fail(index, f"has {name} of shape {list(value.shape)}; expected {expected}.")
            if value.dtype != first.dtype:
                kinds = f"{value.dtype}; expected {first.dtype}"
                self.fail(index, f"has {name} of {kinds}, as in graph 0.")
            if value.is_floating_point() and not value.isfinite().all():
                place = (~value.isfinite()).nonzero()[0].tolist()
                self.fail(index, f"has {name}{place} = {value[tuple(place)].item()}; expected a "
                          "finite number.")  # fmt: skip

    def check_values(self, name: str) -> None:
        values, owner = self.concatenated(name)
        if values.dtype not in NUMBERS:
            self.fail(0, f"has {name} of {values.dtype}; expected integers or floats.")
        if values.is_floating_point():
            # NaN in a target means that it is missing; in a feature it is a fault.
            bad = values.isinf() if name == "y" else ~values.isfinite()
            self.refuse(bad, owner, name, values, "a finite number")
        elif name != "y":
            self.refuse(values < 0, owner, name, values, "a category, 0 or more")

    def check_range(self, name: str, size: int) -> None:
        values, owner = self.concatenated(name)
        if values.is_floating_point():
            self.fail(0, f"has {name} of {values.dtype}; expected integer categories.")
        self.refuse((values < 0) | (values >= size), owner, name, values, f"0 to {size - 1}")

    def check_edges(self) -> None:
        ends = torch.cat([graph.edge_index for graph in self.graphs], dim=1).T
        counts = torch.tensor([graph.edge_index.shape[1] for graph in self.graphs])
        sizes = torch.tensor([graph.x.shape[0] for graph in self.graphs])
        owner = torch.repeat_interleave(counts)
        bad = ((ends < 0) | (ends >= sizes[owner, None])).any(dim=1)
        if bad.any():
            row = int(bad.nonzero()[0])
            index, last = int(owner[row]), int(sizes[owner[row]]) - 1
            edge = tuple(ends[row].tolist())
            self.fail(index, f"has an edge {edge}; expected nodes 0 to {last}.")

    def concatenated(self, name: str) -> tuple[Tensor, Tensor]:
        """All graphs' rows of an attribute, and the graph that each row belongs to."""
        values = [graph[name] for graph in self.graphs]
        return torch.cat(values), torch.repeat_interleave(torch.tensor([len(v) for v in values]))

    def refuse(self, bad: Tensor, owner: Tensor, name: str, values: Tensor, expected: str) -> None:
        if not bad.any():
            return
        place = tuple(bad.nonzero()[0].tolist())
        index = int(owner[place[0]])
        local = (place[0] - int((owner < index).sum()), *place[1:])
        where, value = ", ".join(map(str, local)), values[place].item()
        self.fail(index, f"has {name}[{where}] = {value}; expected {expected}.")


def _brief(value: object) -> str:
    if isinstance(value, Tensor):
        return f"a tensor of shape {list(value.shape)}"
    return "None" if value is None else f"a {type(value).__name__}"


UNREACHABLE = -1
"""The distance of a pair with no path between its nodes, in every data set and transform."""

PADDED_WITH_UNREACHABLE = ("distance", "anchor_distances", "path_tree")
"""Encodings for which -1 says that there is nothing; others are padded with 0."""

MISSING_LABEL = -100
"""A missing integer target (``ignore_index`` of torch's losses); a missing float target is NaN."""

Target = Literal["graph", "node", "edge"]


def node_axes(name: str, batched: Tensor) -> int:
    """Node axes of an encoding in a batch; one that is not the course's is node or pair by rank."""
    return ENCODINGS.get(name, batched.dim() - 2)


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

    @staticmethod
    def from_pyg(batch: Batch) -> GraphBatch:
        """A PyG batch, padded; a dense layer's result ``h`` goes back with ``h[mask]`` ``[Σn, d]``.

        Raises:
            ValueError: as :func:`collate`.
        """
        return collate(batch)

    def to_pyg(self) -> Batch:
        """The graphs as a PyG batch, edges in row-major order."""
        return Batch.from_data_list(unbatch(self))

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
            encodings={n: function(t, node_axes(n, t)) for n, t in self.encodings.items()},
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

    Encodings are padded along their node axes, distances with ``UNREACHABLE`` and everything else
    with 0. Besides the course's encodings, every tensor ``[n, k]`` or ``[n, n, k]`` of the graphs
    is one, unless it could as well belong to the edges. PyG's ``random_walk_pe`` and
    ``laplacian_eigenvector_pe`` are renamed to ``rwse`` and ``laplacian_eigenvectors``, which the
    models read. Of an edge given twice, the first counts.

    Args:
        graphs: each with ``x`` ``[n, F]``, ``edge_index`` ``[2, E]`` and optionally
            ``edge_attr`` ``[E, F_e]``, ``y`` and encodings, on the CPU; a list, a data set or a
            PyG ``Batch``.
        num_nodes: N; the largest graph's size by default.
        target: what ``y`` belongs to. By default it is read off the lengths of ``y``: one for each
            graph, else one for each node, else one for each edge.
        num_node_types, num_edge_types: refuse categories in ``x`` and ``edge_attr`` outside of
            0 to this number less one, for which an embedding has no row.

    Raises:
        ValueError: a graph is malformed, or does not fit beside the others; the sentence names the
            graph, the value and what was expected.
    """
    graphs = listed(graphs)
    check_graphs(graphs)
    for name, size in (("x", num_node_types), ("edge_attr", num_edge_types)):
        if size is not None:
            check_vocabulary(graphs, name, size)
    ragged = RaggedTensors.of(graphs, target_level(graphs, target))
    longest = int(ragged.num_nodes.max())
    if num_nodes is not None:
        at_least(1, num_nodes=num_nodes)
    if num_nodes is not None and num_nodes < longest:
        raise ValueError(
            f"graph {int(ragged.num_nodes.argmax())} has {longest} nodes; expected at most "
            f"num_nodes = {num_nodes}."
        )
    return ragged.batch(torch.arange(len(graphs)), num_nodes=num_nodes)


def listed(graphs: Sequence[Data]) -> Sequence[Data]:
    """The graphs of a ``GraphDataset``, of a PyG data set or of a PyG ``Batch`` as a list."""
    if isinstance(graphs, Batch):
        return graphs.to_data_list()
    if isinstance(graphs, Dataset) or isinstance(getattr(graphs, "graphs", None), list):
        return list(graphs)
    return graphs


def unbatch(batch: GraphBatch) -> list[Data]:
    """The graphs of a batch without their padding, edges in row-major order."""
    return [_unpad(batch, index, int(size)) for index, size in enumerate(batch.sizes)]


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
        graph[name] = tensor[(index, *nodes * node_axes(name, tensor))]
    return graph


@dataclass
class RaggedTensors:
    """G graphs end to end in tensors, and padded batches gathered from them without a loop.

    The tensors may be on an accelerator, or on the CPU and mapped from files. Integers may be
    stored in narrow types; ``dtypes`` says what a batch has instead.

    Attributes:
        num_nodes, num_edges: ``[G]`` on the CPU, so that a batch's shape is known at once.
        arrays: tensors by level and name: "node" ``[Σn, …]``, "edge" ``[ΣE, …]``, "pair"
            ``[Σn², …]`` and "graph" ``[G, …]``. Edges are ``source`` and ``destination``.
        dtypes: of a batch's tensors, by name.
        target: the level of ``y``.
    """

    num_nodes: Tensor
    num_edges: Tensor
    arrays: dict[str, dict[str, Tensor]]
    dtypes: dict[str, torch.dtype]
    target: Target

    @classmethod
    def of(cls, graphs: Sequence[Data], target: Target) -> RaggedTensors:
        """Checked graphs (``check_graphs``) end to end, of an edge given twice the first."""
        num_nodes = torch.tensor([graph.x.shape[0] for graph in graphs])
        num_edges = torch.tensor([graph.edge_index.shape[1] for graph in graphs])
        source, destination = torch.cat([graph.edge_index for graph in graphs], dim=1)
        first = distinct_edges(num_nodes, num_edges, source, destination)
        if len(first) < len(source):
            owner = torch.repeat_interleave(num_edges)[first]
            num_edges = owner.bincount(minlength=len(graphs))
        arrays = {
            "node": {"x": columns(torch.cat([graph.x for graph in graphs]))},
            "edge": {"source": source[first], "destination": destination[first]},
            "pair": {},
            "graph": {},
        }
        if graphs[0].get("edge_attr") is not None:
            edge_attr = torch.cat([graph.edge_attr for graph in graphs])
            arrays["edge"]["edge_attr"] = columns(edge_attr[first])
        if graphs[0].get("y") is not None:
            y = torch.cat([graph.y for graph in graphs])
            arrays[target]["y"] = y[first] if target == "edge" else y
        for name, axes in encodings_of(graphs).items():
            values = [graph[name] for graph in graphs]
            name = PYG_NAMES.get(name, name)
            if axes == 0:
                arrays["graph"][name] = torch.stack(values)
            else:
                rows = [value.reshape(-1, *value.shape[axes:]) for value in values]
                arrays[("node", "pair")[axes - 1]][name] = torch.cat(rows)
        dtypes = {name: t.dtype for level in arrays.values() for name, t in level.items()}
        return cls(num_nodes, num_edges, arrays, dtypes, target)

    def to(self, device: torch.device | str) -> RaggedTensors:
        arrays = {
            level: {name: tensor.to(device) for name, tensor in tensors.items()}
            for level, tensors in self.arrays.items()
        }
        return replace(self, arrays=arrays)

    @property
    def device(self) -> torch.device:
        return self.arrays["node"]["x"].device

    @cached_property
    def _counts(self) -> dict[str, Tensor]:
        """Rows of each graph by level, and where they begin, on the tensors' device."""
        counts = {"node": self.num_nodes, "edge": self.num_edges, "pair": self.num_nodes**2}
        starts = {f"first {level}": n.cumsum(0) - n for level, n in counts.items()}
        return {name: values.to(self.device) for name, values in (counts | starts).items()}

    def batch(
        self, rows: Tensor, places: Tensor | None = None, num_nodes: int | None = None
    ) -> GraphBatch:
        """The graphs in ``rows`` ``[B]``, padded to the largest of them.

        Args:
            places: the same numbers on the tensors' device; without it they are moved there.
            num_nodes: pad to as many nodes instead.
        """
        places = rows.to(self.device) if places is None else places
        B, N = len(rows), num_nodes or int(self.num_nodes[rows].max())
        counts = {name: values[places] for name, values in self._counts.items()}
        node = torch.arange(N, device=self.device)
        mask = node < counts["node"][:, None]
        pair_row = counts["first pair"][:, None] + node * counts["node"][:, None]
        gather = {
            "node": Gather(counts["first node"][:, None] + node, mask),
            "pair": Gather(pair_row[:, :, None] + node, mask[:, :, None] & mask[:, None, :]),
        }
        edge = torch.arange(int(self.num_edges[rows].max()), device=self.device)
        edges = Gather(counts["first edge"][:, None] + edge, edge < counts["edge"][:, None])
        gather["edge"] = Scatter(edges, self.arrays["edge"], (B, N, N))

        def place(level: str, name: str, fill: float) -> Tensor:
            values = self.arrays[level][name]
            placed = values[places] if level == "graph" else gather[level].place(values, fill)
            return placed.to(self.dtypes[name])

        encodings = [
            (level, name)
            for level in ("graph", "node", "pair")
            for name in self.arrays[level]
            if name not in ("x", "y") and (level != "graph" or name in ENCODINGS)
        ]
        return GraphBatch(
            x=place("node", "x", 0),
            adjacency=gather["edge"].present(),
            mask=mask,
            edge_attr=place("edge", "edge_attr", 0) if "edge_attr" in self.arrays["edge"] else None,
            y=self._place_target(place),
            encodings={
                name: place(level, name, UNREACHABLE if name in PADDED_WITH_UNREACHABLE else 0)
                for level, name in encodings
            },
            target=self.target,
        )

    def _place_target(self, place: Callable[[str, str, float], Tensor]) -> Tensor | None:
        if "y" not in self.arrays[self.target]:
            return None
        is_float = self.dtypes["y"].is_floating_point
        y = place(self.target, "y", float("nan") if is_float else MISSING_LABEL)
        # One target is a number, whether it is stored as [1] or as [1, 1].
        scalar = self.target == "graph" and y.dim() == 2 and y.shape[1] == 1
        return y[:, 0] if scalar else y


class Gather:
    """Where each place of a padded tensor has its value from."""

    def __init__(self, index: Tensor, real: Tensor):
        # Beyond a graph's end lies the next graph, or nothing.
        self.index, self.real = index.masked_fill(~real, 0), real

    def place(self, values: Tensor, fill: float) -> Tensor:
        values = values[self.index]
        if fill < 0 and values.dtype == torch.uint8:
            values = values.short()
        padding = ~self.real.reshape(*self.real.shape, *[1] * (values.dim() - self.real.dim()))
        return values.masked_fill(padding, fill)


class Scatter:
    """Where each edge goes in a padded pair tensor; padding goes to one place behind it."""

    def __init__(self, gather: Gather, ends: dict[str, Tensor], shape: tuple[int, int, int]):
        self.gather, self.shape = gather, shape
        B, N, _ = shape
        graph = torch.arange(B, device=gather.real.device)[:, None]
        source, destination = (
            ends[name][gather.index].long() for name in ("source", "destination")
        )
        index = (graph * N + source) * N + destination
        self.index = index.masked_fill(~gather.real, B * N * N).flatten()

    def present(self) -> Tensor:
        """``[B, N, N]`` bool: where there is an edge."""
        padded = torch.zeros(self._length, dtype=torch.bool, device=self.index.device)
        return padded.index_fill_(0, self.index, True)[:-1].view(self.shape)

    def place(self, values: Tensor, fill: float) -> Tensor:
        values = values[self.gather.index].flatten(0, 1)
        if fill < 0 and values.dtype == torch.uint8:
            values = values.short()
        padded = values.new_full((self._length, *values.shape[1:]), fill)
        padded.index_copy_(0, self.index, values)
        return padded[:-1].view(*self.shape, *values.shape[1:])

    @property
    def _length(self) -> int:
        B, N, _ = self.shape
        return B * N * N + 1


def distinct_edges(
    num_nodes: Tensor, num_edges: Tensor, source: Tensor, destination: Tensor
) -> Tensor:
    """The numbers of the edges, ascending; of an edge given twice the first."""
    owner, widest = torch.repeat_interleave(num_edges), int(num_nodes.max())
    _, which = torch.unique((owner * widest + source) * widest + destination, return_inverse=True)
    kept = torch.arange(len(which))
    if len(which) and int(which.max()) + 1 < len(which):
        first = torch.full((int(which.max()) + 1,), len(which))
        kept = first.scatter_reduce(0, which, kept, "amin").sort().values
    return kept


def columns(features: Tensor) -> Tensor:
    """``[n]`` or ``[n, F]`` to ``[n, F]``, integers of any width to int64."""
    features = features if features.dim() > 1 else features[:, None]
    return features if features.is_floating_point() else features.long()


def encodings_of(graphs: Sequence[Data]) -> dict[str, int]:
    """The encodings that the graphs have, and how many node axes each has."""
    found = {n: axes for n, axes in ENCODINGS.items() if graphs[0].get(n) is not None}
    for name, first in graphs[0]:
        if name in READ or name in ("batch", "ptr") or not isinstance(first, Tensor):
            continue
        values = [graph.get(name) for graph in graphs]
        alike = all(
            isinstance(value, Tensor)
            and (value.dim(), value.shape[-1:], value.dtype, value.device, value.layout)
            == (first.dim(), first.shape[-1:], first.dtype, first.device, torch.strided)
            for value in values
        )
        if not alike or first.dtype not in NUMBERS or first.device.type != "cpu":
            continue
        axes = first.dim() - 1
        if axes not in (1, 2):
            continue
        nodes = [graph.x.shape[0] for graph in graphs]
        shapes = [tuple(value.shape[:axes]) for value in values]
        of_edges = all(
            len(value) == graph.edge_index.shape[1]
            for value, graph in zip(values, graphs, strict=True)
        )
        if shapes == [(n,) * axes for n in nodes] and not of_edges:
            found[name] = axes
    return found
