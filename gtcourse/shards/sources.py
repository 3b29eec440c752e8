"""What shards are made of: any data set, cut into pieces, and a piece with its stored encodings."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gtcourse.encodings.transform import Encoding, encode
from gtcourse.graphs.batch import ENCODINGS, check_graphs
from gtcourse.graphs.ragged import GraphDataset, RaggedGraphs
from gtcourse.shards.format import ShardGraphs

LEVELS = ("graph", "node", "pair")
"""What an encoding with 0, 1 or 2 node axes belongs to."""


class ListedGraphs:
    """A :class:`GraphDataset` as a source of shards.

    Raises:
        ValueError: a graph is malformed, or has an encoding already.
    """

    def __init__(self, dataset: GraphDataset):
        check_graphs(dataset.graphs)
        held = next((name for name in ENCODINGS if name in dataset.graphs[0]), None)
        if held is not None:
            raise ValueError(
                f"graph 0 holds the encoding {held!r}; expected graphs without encodings, and "
                "those to be stored as stored=(AddRings(18), …)."
            )
        if "y" not in dataset.graphs[0]:
            raise ValueError("graph 0 has no target y; expected one.")
        self.name, self.source, self.target = dataset.name, dataset.source, dataset.target
        self.node_vocabulary = dataset.node_vocabulary
        self.edge_vocabulary = dataset.edge_vocabulary
        self.ragged = RaggedGraphs.from_data(dataset.graphs, dataset.split.numpy(), dataset.target)
        self.ragged.node_vocabulary = dataset.node_vocabulary
        self.ragged.edge_vocabulary = dataset.edge_vocabulary
        self.ragged.missing_targets = True  # a GraphDataset does not say; NaN is a missing one
        self.split = self.ragged.graph["split"]
        self.checksum = dataset.checksum or self.content

    @cached_property
    def content(self) -> str:
        """sha256 of all arrays; ``checksum`` may be that of a file of which these are a part."""
        ragged = self.ragged
        digest = hashlib.sha256("\n".join(ragged.smiles or []).encode())
        for values in (
            ragged.num_nodes,
            ragged.num_edges,
            ragged.edge_index,
            *(getattr(ragged, level)[name] for level in ("node", "edge", "graph")
              for name in sorted(getattr(ragged, level))),
        ):  # fmt: skip
            digest.update(f"{values.dtype} {values.shape}".encode())
            digest.update(np.ascontiguousarray(values).tobytes())
        return digest.hexdigest()

    def piece(self, rows: np.ndarray) -> GraphPiece:
        """The graphs in these rows."""
        piece = take(self.ragged, rows)
        piece.graph.setdefault("index", rows)
        return GraphPiece(piece)


@dataclass(frozen=True)
class GraphPiece:
    """A part of a data set whose graphs are there already."""

    ragged: RaggedGraphs

    def graphs(self) -> RaggedGraphs:
        return self.ragged


def take(ragged: RaggedGraphs, rows: np.ndarray) -> RaggedGraphs:
    """The graphs ``rows`` ``[g]``, in that order, without a loop over them."""
    nodes, edges = _places(ragged.num_nodes, rows), _places(ragged.num_edges, rows)
    return RaggedGraphs(
        num_nodes=ragged.num_nodes[rows],
        num_edges=ragged.num_edges[rows],
        edge_index=ragged.edge_index[:, edges],
        node={name: values[nodes] for name, values in ragged.node.items()},
        edge={name: values[edges] for name, values in ragged.edge.items()},
        graph={name: values[rows] for name, values in ragged.graph.items()},
        target=ragged.target,
        smiles=None if ragged.smiles is None else [ragged.smiles[row] for row in rows],
        node_vocabulary=ragged.node_vocabulary,
        edge_vocabulary=ragged.edge_vocabulary,
        missing_targets=ragged.missing_targets,
    )


def distinct(ragged: RaggedGraphs) -> RaggedGraphs:
    """The graphs with each edge once; of an edge given twice the first, as ``collate`` does."""
    owner = np.repeat(np.arange(len(ragged.num_nodes)), ragged.num_edges)
    source, target = ragged.edge_index.astype(np.int64)
    widest = int(ragged.num_nodes.max())
    _, first = np.unique((owner * widest + source) * widest + target, return_index=True)
    if len(first) == len(owner):
        return ragged
    first.sort()
    ragged.num_edges = np.bincount(owner[first], minlength=len(ragged.num_nodes))
    ragged.edge_index = ragged.edge_index[:, first]
    ragged.edge = {name: values[first] for name, values in ragged.edge.items()}
    return ragged


def encoded(ragged: RaggedGraphs, transforms: Sequence[Encoding]) -> ShardGraphs:
    """The graphs with what the transforms compute, end to end."""
    found = {level: {} for level in LEVELS}
    if transforms:
        graphs = encode(ragged.to_data(), *transforms)
        for name, axes in ENCODINGS.items():
            if name in graphs[0]:
                values = [graph[name].numpy() for graph in graphs]
                values = [each.reshape(-1, *each.shape[axes:]) for each in values]
                found[LEVELS[axes]][name] = np.concatenate(values)
    return ShardGraphs(
        **vars(ragged)
        | {"node": ragged.node | found["node"], "graph": ragged.graph | found["graph"]},
        pair=found["pair"],
    )


def _places(counts: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Where the parts ``rows`` of an array lie whose parts have ``counts`` entries."""
    counts = counts.astype(np.int64)
    starts, lengths = (counts.cumsum() - counts)[rows], counts[rows]
    within = np.arange(lengths.sum()) - np.repeat(lengths.cumsum() - lengths, lengths)
    return np.repeat(starts, lengths) + within
