"""What an encoding is: a PyG transform that can also compute for many graphs at once.

Shapes: B graphs, N nodes (padded in a batch; graphs of one size are stacked without padding).
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import groupby
from numbers import Integral
from typing import get_type_hints

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform
from tqdm import tqdm

from gtcourse.encodings.paths import shortest_paths
from gtcourse.graphs.batch import UNREACHABLE, GraphBatch
from gtcourse.graphs.dataset import GraphDataset, checked

PAIRS_AT_ONCE = 2**18  # in a stack of graphs, which amortises Python and fits into memory


def encode(
    graphs: GraphDataset | Iterable[Data], *transforms: BaseTransform
) -> GraphDataset | list[Data]:
    """Copies of the graphs with what encodings or other PyG transforms compute, in this order.

    Encodings are not updated when a graph's edges change later. Raises a ValueError where a graph
    is malformed, or a transform is none.
    """
    if isinstance(graphs, GraphDataset):
        return replace(graphs, graphs=encode(graphs.graphs, *transforms))
    if isinstance(graphs, Data):
        raise ValueError("expected a list of graphs, got one; AddX()(graph) takes one.")
    graphs = list(graphs)
    for transform in transforms:
        if not isinstance(transform, BaseTransform):
            raise ValueError(f"expected transforms after the graphs, got {transform!r}.")
    for are_encodings, following in groupby(transforms, lambda each: isinstance(each, Encoding)):
        if are_encodings and graphs:
            graphs = _encoded(graphs, list(following))
        else:
            for transform in following:
                graphs = [transform(graph) for graph in graphs]
    return graphs


def _encoded(graphs: list[Data], encodings: list[Encoding]) -> list[Data]:
    """Copies of all graphs with several encodings, which share distances."""
    reads_edge_attr = any(encoding.reads_edge_attr for encoding in encodings)
    ragged = checked([_edges_of(graph, reads_edge_attr) for graph in graphs], "graph")
    encoded = [copy.copy(graph) for graph in graphs]
    # Shown where it takes more than a second, in a terminal.
    options = {"unit": "graph", "leave": False, "delay": 1, "disable": None}
    names = ", ".join(type(encoding).__name__ for encoding in encodings)
    with tqdm(total=len(graphs), desc=names, **options) as bar:
        for members in _of_one_size(ragged.num_nodes):
            batch = ragged.batch(members)
            pairs = Pairs(batch.adjacency, batch.edge_attr)
            for encoding in encodings:
                for name, values in encoding.compute(pairs).items():
                    # A copy each: a view would keep the whole stack alive, and be saved with it.
                    for i, value in zip(members.tolist(), values, strict=True):
                        encoded[i][name] = value.clone().to(graphs[i].edge_index.device)
            bar.update(len(members))
    return encoded


def _edges_of(graph: Data, reads_edge_attr: bool) -> Data:
    """What encodings read of a graph, on the CPU."""
    if not isinstance(graph, Data):
        return graph
    read = Data(x=torch.zeros(graph.num_nodes or 0, 1))
    for name in ("edge_index", "edge_attr") if reads_edge_attr else ("edge_index",):
        value = graph.get(name)
        read[name] = value.cpu() if isinstance(value, Tensor) else value
    return read


def encode_batch(batch: GraphBatch, *transforms: Encoding) -> GraphBatch:
    """The batch with what the transforms compute, as if each graph had been encoded before."""
    pairs, encodings = Pairs(batch.adjacency, batch.edge_attr), dict(batch.encodings)
    for transform in transforms:
        if not computed_on_device(transform):
            raise ValueError(
                f"{transform!r} is not computed for a whole batch; expected it to be stored with "
                "the graphs: encode(graphs, transform), or a folder that is prepared with it."
            )
        encodings |= transform.compute(pairs)
    if "distance" in encodings:  # a padded node has none, not even to itself
        encodings["distance"] = encodings["distance"].where(batch.pair_mask, UNREACHABLE)
    return replace(batch, encodings=encodings)


def computed_on_device(transform: BaseTransform) -> bool:
    """Whether :func:`encode_batch` takes it."""
    return getattr(transform, "on_device", False)


@dataclass
class Pairs:
    """What encodings are computed from: adjacency ``[B, N, N]``, and features ``[B, N, N, F]``."""

    adjacency: Tensor
    features: Tensor | None = None

    @property
    def edge_attr(self) -> Tensor:
        if self.features is None:
            raise ValueError("the graphs have no edge_attr; expected it, for the edges of paths.")
        return self.features

    @cached_property
    def distance(self) -> Tensor:
        return shortest_paths(self.adjacency)


@dataclass(eq=False)
class Encoding(BaseTransform):
    """Sets attributes that depend on a graph's edges alone; ``transform(data)`` for one graph.

    A pair encoding ``[n, n, …]`` cannot be a PyG data set's ``pre_transform``, nor go through PyG's
    ``DataLoader``: PyG joins graphs along one axis, and these have two.
    """

    reads_edge_attr = False
    on_device = False

    def __post_init__(self) -> None:
        hints = get_type_hints(type(self))  # a field's own type may be text, or not
        for each in fields(self):
            value = getattr(self, each.name)
            least = 0 if each.name == "seed" else 1
            hint = hints[each.name]
            whole = hint is int or (hint == (int | None) and value is not None)
            if whole and (not isinstance(value, Integral) or value < least):
                raise ValueError(
                    f"{each.name} is {value!r}; expected a whole number, {least} or more."
                )

    @abstractmethod
    def compute(self, pairs: Pairs) -> dict[str, Tensor]:
        """Attribute name to values ``[B, …]``, one a graph."""

    def forward(self, data: Data) -> Data:
        return self.encode([data])[0]

    def encode(self, graphs: list[Data]) -> list[Data]:
        """Copies of all graphs, each with its encodings."""
        return _encoded(graphs, [self])


def _of_one_size(num_nodes: Tensor) -> Iterator[Tensor]:
    """Graphs with as many nodes each, in portions that fit into memory."""
    for size in num_nodes.unique().tolist():
        same = (num_nodes == size).nonzero().flatten()
        yield from same.split(max(1, PAIRS_AT_ONCE // size**2))
