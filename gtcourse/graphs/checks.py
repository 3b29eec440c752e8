"""What a valid graph is: checked once, where data enters, for a whole list at a time.

Every fault is a ``ValueError`` of one sentence: which graph, which value, what was expected.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

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
}
"""The attributes of a graph that are encodings, and how many node axes each has."""

READ = {"x", "edge_index", "edge_attr", "y", *ENCODINGS}

NUMBERS = (
    *(torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
)
"""Without the wider unsigned types, which torch neither compares nor indexes by."""

TARGET_AXES = {"graph": 0, "node": 1, "edge": 2}


def check_graph(graph: Data, index: int = 0) -> None:
    """Refuses one malformed graph; ``index`` is its number in the sentence.

    Raises:
        ValueError: the graph has no nodes, no ``x``, a NaN, an edge to a node that is not there, …
    """
    _Checked([graph], first=index).run()


def check_graphs(graphs: Sequence[Data]) -> None:
    """Refuses a list with a malformed graph in it, or whose graphs do not fit together.

    Raises:
        ValueError: as :func:`check_graph`, or the list is empty, or dtypes and widths differ.
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

    def __init__(self, graphs: Sequence[Data], first: int = 0):
        self.graphs, self.first = graphs, first

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
        raise ValueError(f"graph {self.first + index} {what}")

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
                self.fail(
                    index, f"has {name} = {_brief(value)}; expected a tensor with a row axis."
                )
            for what, got, expected in (
                ("rows of shape", list(value.shape[1:]), list(first.shape[1:])),
                ("the dtype", value.dtype, first.dtype),
            ):
                if got != expected:
                    self.fail(
                        index,
                        f"has {name} with {what} {got}; expected {expected}, as in graph "
                        f"{self.first}.",
                    )

    def check_encoding(self, name: str, node_axes: int) -> None:
        """Every graph has it, with its number of nodes along the node axes, and finite."""
        first = self.graphs[0].get(name)
        for index, graph in enumerate(self.graphs):
            value, nodes = graph.get(name), [graph.x.shape[0]] * node_axes
            if not isinstance(value, Tensor) or value.dim() < max(1, node_axes):
                said = f"has {name} = {_brief(value)}"
                self.fail(
                    index, f"{said}; expected a tensor with {max(1, node_axes)} axes or more."
                )
            expected = [*nodes, *first.shape[node_axes:]]
            if list(value.shape) != expected:
                self.fail(index, f"has {name} of shape {list(value.shape)}; expected {expected}.")
            if value.dtype != first.dtype:
                self.fail(index, f"has {name} of {value.dtype}; expected {first.dtype}, as in "
                          f"graph {self.first}.")  # fmt: skip
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
            self.fail(
                index, f"has an edge {tuple(ends[row].tolist())}; expected nodes 0 to {last}."
            )

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
