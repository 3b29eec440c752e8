"""What an encoding is: a PyG transform that can also compute for a whole list of graphs at once.

Shapes: B graphs of the same size, n nodes. Graphs of one size are stacked, so nothing is padded.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.transforms import BaseTransform
from tqdm import tqdm

from gtcourse.graphs.batch import RaggedTensors, check_features
from gtcourse.graphs.ragged import GraphDataset

PAIRS_AT_ONCE = 2**18
"""Node pairs in a stack: large enough to amortise Python, small enough for a laptop's memory."""

Graphs = TypeVar("Graphs", GraphDataset, Iterable[Data])


def encode(graphs: Graphs, *transforms: BaseTransform) -> Graphs | list[Data]:
    """The same graphs with what the transforms compute, one transform after the other.

    Args:
        graphs: a :class:`GraphDataset`, which gives another one, or PyG ``Data`` in a list or a PyG
            data set, which give a list; they are left as they are.
        transforms: the course's encodings; any other PyG transform goes through the graphs one at
            a time. Encodings are not updated when a graph's edges change later: encode it again.

    Raises:
        ValueError: a graph is no ``Data``, has no nodes, or an edge to a node that is not there; or
            a transform is none.
    """
    for transform in transforms:
        if not isinstance(transform, BaseTransform):
            raise ValueError(
                f"expected transforms after the graphs, such as AddDegrees(), got {transform!r}."
            )
    if isinstance(graphs, GraphDataset):
        return replace(graphs, graphs=encode(graphs.graphs, *transforms))
    graphs = _listed(graphs)
    for transform in transforms:
        if isinstance(transform, Encoding):
            graphs = transform.encode(graphs)
        else:
            graphs = [transform(graph) for graph in graphs]
    return graphs


class Encoding(BaseTransform):
    """Sets attributes that depend on a graph's edges alone, not on where the graph is stored.

    ``transform(data)`` is PyG's way, for one graph; ``transform.encode(graphs)`` gives the same for
    a whole list, in stacks. Node encodings may be a PyG data set's ``pre_transform`` as well as its
    ``transform``. Pair encodings ``[n, n, …]`` cannot be a ``pre_transform`` of an
    ``InMemoryDataset``, nor go through PyG's ``DataLoader``: PyG joins graphs along one axis, and
    theirs are two. Give them as ``transform``, or use :func:`encode` and the ``DenseLoader``.
    """

    reads_edge_attr = False

    @abstractmethod
    def compute(self, adjacency: Tensor, edge_attr: Tensor | None) -> dict[str, Tensor]:
        """Attribute name to values, one a graph.

        Shapes:
            adjacency: ``[B, n, n]`` bool; of an edge given twice one is left
            edge_attr: ``[B, n, n, F]``, of an edge given twice the first; None unless the encoding
                says that it reads them
            returns: tensors ``[B, …]``
        """

    def forward(self, data: Data) -> Data:
        return self.encode([data])[0]

    def encode(self, graphs: Iterable[Data]) -> list[Data]:
        """Copies of all graphs, each with its encodings."""
        graphs = _listed(graphs)
        sizes = _checked_sizes(graphs)
        if self.reads_edge_attr:
            _refuse_bad_edge_attr(graphs)
        encoded = [copy.copy(graph) for graph in graphs]
        # Shown where it takes more than a second, in a terminal.
        bar = tqdm(total=len(graphs), desc=type(self).__name__, unit="graph", leave=False,
                   delay=1, disable=None)  # fmt: skip
        for size, members in _same_size(sizes):
            adjacency, edge_attr = _stack([graphs[i] for i in members], size, self.reads_edge_attr)
            for name, values in self.compute(adjacency, edge_attr).items():
                # A copy each: a view would keep the whole stack alive, and be saved with it.
                for i, value in zip(members, values, strict=True):
                    encoded[i][name] = value.clone().to(graphs[i].edge_index.device)
            bar.update(len(members))
        bar.close()
        return encoded

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({arguments})"


def _same_size(sizes: list[int]) -> Iterator[tuple[int, list[int]]]:
    """Sizes, and the graphs that have them, in portions that fit into memory."""
    groups = defaultdict(list)
    for index, size in enumerate(sizes):
        groups[size].append(index)
    for size, members in groups.items():
        portion = max(1, PAIRS_AT_ONCE // size**2)
        for start in range(0, len(members), portion):
            yield size, members[start : start + portion]


def _stack(graphs: list[Data], size: int, read_edge_attr: bool) -> tuple[Tensor, Tensor | None]:
    stripped = [
        Data(
            x=torch.zeros(size, 1),
            edge_index=graph.edge_index.cpu(),
            edge_attr=graph.edge_attr.cpu() if read_edge_attr else None,
        )
        for graph in graphs
    ]
    batch = RaggedTensors.of(stripped, "graph").batch(torch.arange(len(graphs)))
    return batch.adjacency, batch.edge_attr


def _listed(graphs: Iterable[Data]) -> list[Data]:
    if isinstance(graphs, Data | Encoding | GraphDataset) or not isinstance(graphs, Iterable):
        raise ValueError(
            f"expected a list of graphs, got one {type(graphs).__name__}; encode(graphs, AddX()) "
            "takes lists and data sets, AddX()(graph) one graph."
        )
    return list(graphs)


def _checked_sizes(graphs: Sequence[Data]) -> list[int]:
    sizes = []
    for index, graph in enumerate(graphs):
        if not isinstance(graph, Data) or isinstance(graph, Batch):
            raise ValueError(f"graph {index} is a {type(graph).__name__}; expected a PyG Data.")
        edges = graph.get("edge_index")
        if not isinstance(edges, Tensor) or edges.dim() != 2 or edges.shape[0] != 2:
            raise ValueError(f"graph {index} has no edge_index of shape [2, edges]; expected one.")
        if edges.dtype != torch.int64:
            raise ValueError(
                f"graph {index} has edge_index of {edges.dtype}; expected torch.int64."
            )
        size = graph.num_nodes
        rows = graph.x.shape[0] if isinstance(graph.get("x"), Tensor) else size
        if rows != size:
            raise ValueError(f"graph {index} has {size} nodes; expected {rows}, as rows of x.")
        if not size:
            raise ValueError(f"graph {index} has no nodes; expected at least one.")
        sizes.append(size)
    _refuse_edges_out_of_range(graphs, torch.tensor(sizes))
    return sizes


def _refuse_bad_edge_attr(graphs: Sequence[Data]) -> None:
    for index, graph in enumerate(graphs):
        edge_attr, edges = graph.get("edge_attr"), graph.edge_index.shape[1]
        if not isinstance(edge_attr, Tensor) or edge_attr.dim() not in (1, 2):
            given = list(edge_attr.shape) if isinstance(edge_attr, Tensor) else "none"
            raise ValueError(
                f"graph {index} has edge_attr of shape {given}; expected a tensor "
                "[edges, features]."
            )
        if len(edge_attr) != edges:
            rows = len(edge_attr)
            raise ValueError(
                f"graph {index} has {rows} rows of edge_attr; expected one for each of its "
                f"{edges} edges."
            )
    if graphs:
        check_features(graphs, "edge_attr")


def _refuse_edges_out_of_range(graphs: Sequence[Data], sizes: Tensor) -> None:
    if not len(graphs):
        return
    ends = torch.cat([graph.edge_index for graph in graphs], dim=1).cpu()
    owner = torch.repeat_interleave(torch.tensor([g.edge_index.shape[1] for g in graphs]))
    bad = ((ends < 0) | (ends >= sizes[owner])).any(dim=0)
    if bad.any():
        place = int(bad.nonzero()[0])
        index = int(owner[place])
        raise ValueError(
            f"graph {index} has an edge {tuple(ends[:, place].tolist())}; expected nodes 0 to "
            f"{int(sizes[index]) - 1}."
        )
