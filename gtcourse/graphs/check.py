"""The checks of graphs, all in one place, which are made where graphs enter.

Every message is a sentence that names the graph, what it has, and what was expected. Whether a
category is in the vocabulary of a model is not checked here but by the model, whose
``check_features`` is called with all graphs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from gtcourse.graphs.arguments import TARGET_AXES, Target, check_target, is_one_of
from gtcourse.graphs.batch import ENCODINGS, LEAST, MISSING_LABEL, GraphBatch, is_category
from gtcourse.messages import shown

ROW_OF = {"x": "node", "edge_attr": "edge"}
"""What has a row in the features."""

UNSIGNED = (torch.uint8, torch.uint16, torch.uint32, torch.uint64)
SIGNED = (torch.int8, torch.int16, torch.int32, torch.int64)
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
COMPLEX = (torch.complex32, torch.complex64, torch.complex128)
NUMBERS = (torch.bool, *UNSIGNED, *SIGNED, *FLOATS, *COMPLEX)
"""Types whose values torch can compare, as it cannot with floats of 8 bits."""

MOST_CLASSES = 100_000
"""Classes of one target. A larger label is a number that was stored as an integer."""

GRAPHS_AT_ONCE = 256
"""Graphs whose values are checked together. A copy of the values of all would be large."""


def check_graphs(graphs: Sequence[Data]) -> None:
    """Raises a ValueError for a malformed graph, and for graphs that do not fit together.

    A graph is malformed if it has no nodes, no ``x``, a NaN, an edge to a node that it does not
    have, and so on. Graphs fit together if their attributes have the same dtypes and widths.
    """
    if isinstance(graphs, Data) or not isinstance(graphs, Sequence) or len(graphs) == 0:
        given = "[]" if isinstance(graphs, list) else f"an object of type {type(graphs).__name__}"
        raise ValueError(f"expected a list of at least one graph, got {given}.")
    check_types(graphs)
    present = {name for graph in graphs for name in graph.to_dict()}
    names = ["x", "edge_index", *(n for n in ("edge_attr", "y", *ENCODINGS) if n in present)]
    remaining = enumerate(graphs)
    while block := list(islice(remaining, GRAPHS_AT_ONCE)):
        if not _has_fault([graph for _, graph in block], names, graphs[0]):
            continue
        for index, graph in block:
            for name in names:
                if fault := _fault(name, graph, graphs[0]):
                    raise ValueError(f"graph {index} has {name} {fault}.")


def check_types(graphs: Sequence[object], of_what: str = "") -> None:
    """Raises a ValueError for the first entry that is no PyG ``Data``; ``of_what`` begins it."""
    for index, graph in enumerate(graphs):
        if not isinstance(graph, Data) or isinstance(graph, Batch):
            kind = type(graph).__name__
            raise ValueError(f"{of_what}graph {index} is of type {kind}; expected a PyG Data.")


def check_batch_of_pyg(batch: Batch) -> None:
    """Raises a ValueError for a batch of PyG that was changed after its graphs were joined.

    The places of the graphs in it are those of the attributes that were joined. Of another length,
    an attribute would be cut at the wrong places, and a new one would be left out.
    """
    slices = getattr(batch, "_slice_dict", None)
    if slices is None:  # it was put together by hand, and its graphs cannot be told apart
        return
    expected = "expected a batch as Batch.from_data_list(graphs) or PyG's DataLoader returns"
    for name, value in batch.to_dict().items():
        # DataLoader(…, follow_batch=["x"]) also sets x_batch and x_ptr.
        of_joining = name in ("batch", "ptr") or name.endswith(("_batch", "_ptr"))
        if of_joining or not isinstance(value, Tensor):
            continue
        if name not in slices:
            raise ValueError(
                f"the PyG Batch has {name}, which was set after its graphs were joined; expected "
                "it in each graph before that."
            )
        axis = int(batch.__cat_dim__(name, value) or 0)
        length = value.shape[axis] if value.dim() else 1
        if length != int(slices[name][-1]):
            raise ValueError(
                f"the PyG Batch has {name} of length {length}, and that of its graphs is "
                f"{int(slices[name][-1])} in all; {expected}."
            )
    if isinstance(batch.get("batch"), Tensor) and isinstance(batch.get("ptr"), Tensor):
        sizes = batch.ptr.diff()
        graph_of_node = torch.arange(len(sizes), device=sizes.device).repeat_interleave(sizes)
        if not batch.batch.equal(graph_of_node):
            raise ValueError(
                "the PyG Batch has another graph of each node (batch) than its sizes (ptr) say; "
                f"{expected}."
            )


def _has_fault(graphs: Sequence[Data], names: Sequence[str], first: Data) -> bool:
    """Whether :func:`_fault` would find one, from the values of all these graphs at once.

    Checking the values of an attribute takes longer for many small tensors than for one long one.
    """
    columns: dict[str, list[Tensor]] = {name: [] for name in names}
    num_nodes = []
    for graph in graphs:
        attributes = graph.to_dict()
        for name in names:
            value = attributes.get(name)
            if _fault_of_type(name, value):
                return True
            columns[name].append(value)
        nodes = graph.num_nodes  # only now, because PyG guesses it for a graph without x
        num_nodes.append(nodes)
        for name in names:
            if _fault_of_layout(name, attributes[name], graph, nodes, first):
                return True

    num_edges = torch.tensor([edge_index.shape[1] for edge_index in columns["edge_index"]])
    nodes_of_edges = torch.tensor(num_nodes).repeat_interleave(num_edges)  # [ΣE]
    edge_index = torch.cat(columns.pop("edge_index"), dim=1)  # [2, ΣE]
    if _fault_of_edges(edge_index, nodes_of_edges):
        return True
    for name, values in columns.items():
        joined = torch.cat([value.flatten() for value in values])  # their shapes differ
        if _fault_of_values(name, joined):
            return True
    return False


def _fault(name: str, graph: Data, first: Data) -> str | None:
    """What is wrong with an attribute of a graph, whose dtype and width have to be graph 0's."""
    value = graph.get(name)
    if fault := _fault_of_type(name, value):
        return fault
    num_nodes = graph.num_nodes
    if fault := _fault_of_layout(name, value, graph, num_nodes, first):
        return fault
    if name == "edge_index":
        return _fault_of_edges(value, torch.tensor(num_nodes))
    return _fault_of_values(name, value)


def _fault_of_type(name: str, value: object) -> str | None:
    """What is wrong with an attribute that is no dense tensor, or with features not in rows."""
    if not isinstance(value, Tensor):
        return f"= {type(value).__name__}; {_a_dense_tensor()}"
    if value.is_nested or value.layout not in (torch.strided, torch.sparse_coo):
        kind = "a nested tensor" if value.is_nested else value.layout
        return f"= {kind}; {_a_dense_tensor()}"  # such a tensor has no type()
    if value.is_sparse or not value.is_cpu:
        return f"= {value.type()}; {_a_dense_tensor()}"
    if value.dtype not in NUMBERS:
        return f"of {value.dtype}; expected integers or floats"
    shape = list(value.shape)
    if name in ROW_OF and not (len(shape) == 1 or (len(shape) == 2 and shape[1] > 0)):
        return f"of shape {shape}; expected a row of one or more features for each {ROW_OF[name]}"
    return None


def _a_dense_tensor() -> str:
    """What is expected of an attribute, and the setting by which torch may have made another."""
    expected = "expected a dense tensor on the CPU"
    default = torch.get_default_device()
    return (
        expected if default.type == "cpu" else f"{expected} (torch's default device is {default})"
    )


def _fault_of_layout(
    name: str, value: Tensor, graph: Data, num_nodes: int, first: Data
) -> str | None:
    """What is wrong with the shape or the dtype of an attribute.

    ``num_nodes`` is the graph's. PyG takes long to find it, so it is looked up once for all names.
    """
    shape = list(value.shape)
    dtype, expected = _expected_layout(name, value, graph, num_nodes, first)
    if value.dtype != dtype or shape != expected:
        where = "" if graph is first else ", as in graph 0"
        return f"of {value.dtype} {shape}; expected {dtype} {expected}{where}"
    if name == "x" and shape[0] == 0:
        return "without rows; expected at least one node"
    return None


def _expected_layout(
    name: str, value: Tensor, graph: Data, num_nodes: int, first: Data
) -> tuple[torch.dtype, list[int]]:
    """The dtype and the shape that an attribute has to have beside those of graph 0."""
    if name == "edge_index":
        return torch.int64, [2, *value.shape[-1:]]
    like = first[name]
    if name == "y":  # one row for the graph, each node or each edge: target_level says which
        return like.dtype, [*value.shape[:1], *like.shape[1:]] or [1]
    if name == "edge_attr":
        rows = [graph.edge_index.shape[1]]
    elif name == "x":
        rows = [num_nodes]
    else:
        rows = [num_nodes] * ENCODINGS[name]
    return like.dtype, [*rows, *like.shape[len(rows) :]]


def _fault_of_edges(edge_index: Tensor, num_nodes: Tensor) -> str | None:
    """What is wrong with edges.

    Args:
        edge_index: Edges of one graph or of several, with node numbers within their graph,
            ``[2, E]``.
        num_nodes: Nodes of the graph, or of the graph of each edge, ``[E]``.
    """
    is_node = (edge_index >= 0) & (edge_index < num_nodes)
    if is_node.all():
        return None
    low, high = (int(each) for each in edge_index.aminmax())
    return f"with values from {low} to {high}; expected 0 to {int(num_nodes.max()) - 1}"


def _fault_of_values(name: str, values: Tensor) -> str | None:
    """What is wrong with the values of an attribute of one graph or of several."""
    if name in LEAST and not is_category(name, values.dtype):
        return f"of {values.dtype}; expected integers"
    if values.dtype.is_floating_point:
        return _fault_of_floats(name, values)
    return _fault_of_integers(name, values)


def _fault_of_floats(name: str, values: Tensor) -> str | None:
    """What is wrong with the numbers of an attribute."""
    # NaN in a target means that it is missing; in a feature it is an error.
    allowed = ~values.isinf() if name == "y" else values.isfinite()
    if not allowed.all():
        return "with NaN or infinity; expected finite numbers"
    return None


def _fault_of_integers(name: str, values: Tensor) -> str | None:
    """What is wrong with the integers of an attribute, which are categories or classes."""
    is_bool = values.dtype == torch.bool
    is_complex = values.dtype.is_complex
    if name in ("x", "edge_attr", "y") and (is_complex or is_bool):
        return f"of {values.dtype}; expected integers or floats"
    if values.numel() == 0 or is_complex or is_bool:
        return None
    # Torch has no minimum of uint16, for instance.
    low, high = (int(each) for each in values.long().aminmax())
    if name in LEAST and low < LEAST[name]:
        return f"with the value {low}; expected {LEAST[name]} or more"
    if name == "ring" and high > 1:
        return f"with the value {high}; expected True where two nodes share a ring, or 1"
    if name in ("x", "edge_attr") and low < 0:
        return f"with the value {low}; expected categories, 0 or more"
    return None


def check_repeated_edges(
    num_nodes: Tensor, num_edges: Tensor, edge_index: Tensor, columns: Mapping[str, Tensor]
) -> None:
    """Raises a ValueError for an edge that is given twice with different features or targets.

    A pair of nodes has room for one of each in a batch.

    Args:
        num_nodes: Nodes of each graph, ``[G]``.
        num_edges: Edges of each graph, ``[G]``.
        edge_index: Edges of all graphs, with node numbers within their graph, ``[2, ΣE]``.
        columns: What each edge has, ``[ΣE, …]``, by what the message calls it.
    """
    if not columns:
        return
    graph = torch.arange(len(num_edges)).repeat_interleave(num_edges)  # [ΣE]
    source, destination = edge_index
    row = (num_nodes.cumsum(0) - num_nodes)[graph] + source
    pair = row * num_nodes.max() + destination  # [ΣE], another number for each pair of nodes
    if (pair[1:] > pair[:-1]).all():  # edges row by row, which most data sets have
        return
    pair, order = pair.sort(stable=True)
    again = (pair[1:] == pair[:-1]).nonzero()[:, 0]
    first, second = order[again], order[again + 1]  # [R] each: the places of equal edges
    for name, values in columns.items():
        one, other = values[first], values[second]  # [R, …]
        differs = (one != other) & ~(one.isnan() & other.isnan())
        if differs.any():
            row = int(differs.nonzero()[0, 0])
            edge = first[row]
            raise ValueError(
                f"graph {int(graph[edge])} has the edge from {int(source[edge])} to "
                f"{int(destination[edge])} twice, with the {name} {one[row].tolist()} and "
                f"{other[row].tolist()}; expected the same, or the edge once."
            )


def check_batch(batch: object, reader: str = "the model") -> None:
    """Raises a ValueError if this is no batch, but a list of graphs or a batch of PyG, say."""
    if not isinstance(batch, GraphBatch):
        raise ValueError(
            f"{reader} is given a {type(batch).__name__}; expected a GraphBatch, such as "
            "collate(graphs) returns."
        )


def target_level(graphs: Sequence[Data], target: Target | None) -> Target:
    """The level that ``y`` belongs to: "graph", "node" or "edge".

    It is ``target`` if that is given, or else the first of the three that the lengths of ``y`` fit.

    Raises:
        ValueError: There is no such level, or the lengths of ``y`` do not fit it.
    """
    if target is not None:
        check_target(target)
    if graphs[0].get("y") is None:
        return target or "graph"
    found = [len(graph.y) for graph in graphs]
    for level in [target] if target else TARGET_AXES:
        if found == _rows_of_targets(graphs, level):
            return level
    each = target or "graph, each node or each edge"
    raise ValueError(f"y has {found[:8]} rows in the first graphs; expected one for each {each}.")


def _rows_of_targets(graphs: Sequence[Data], level: Target) -> list[int]:
    """The rows that ``y`` of each graph has for targets of a level."""
    if level == "graph":
        return [1] * len(graphs)
    if level == "node":
        return [graph.num_nodes for graph in graphs]
    return [graph.num_edges for graph in graphs]


def labels_of(graphs: Sequence[Data], task: str) -> set[float]:
    """The classes that occur in ``y`` for the tasks "binary" and "classes"; none for "regression".

    Raises:
        ValueError: A graph has targets of the wrong dtype, or values that are not classes; the
            sentence names the first one.
    """
    if not is_one_of(task, ("regression", "binary", "classes")):
        raise ValueError(f"task is {shown(task)}; expected one of regression, binary, classes.")
    classes = task == "classes"
    seen = set()
    for index, graph in enumerate(graphs):
        y = graph.y
        if y.is_floating_point() == classes:
            kind = "integers, 0 or more" if classes else "floats"
            raise ValueError(f"graph {index} has y of {y.dtype}; expected {kind} for {task}.")
        known = y[~y.isnan() & (y != MISSING_LABEL)]
        values = known.unique().tolist()
        wrong = [value for value in values if classes and not 0 <= value < MOST_CLASSES]
        wrong += [value for value in values if task == "binary" and value not in (0, 1)]
        if wrong:
            expected = f"classes, from 0 to {MOST_CLASSES - 1}" if classes else "0 or 1"
            raise ValueError(f"graph {index} has y = {wrong[0]:g}; expected {expected}.")
        if task != "regression":
            seen.update(values)
    return seen


def check_labels(graphs: Sequence[Data], num_classes: int | None) -> None:
    """Raises a ValueError for the first graph with a label outside 0 to ``num_classes - 1``.

    With None, for targets that are not classes, nothing is checked, nor are graphs without targets.
    """
    if num_classes is None:
        return
    for index, graph in enumerate(graphs):
        if graph.get("y") is None:
            return
        known = graph.y[~graph.y.isnan() & (graph.y != MISSING_LABEL)]
        wrong = known[~torch.isin(known, torch.arange(num_classes, dtype=known.dtype))]
        if len(wrong):
            raise ValueError(
                f"graph {index} has y = {wrong[0]:g}; expected classes, 0 to {num_classes - 1}."
            )
