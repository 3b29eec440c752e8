"""Encodings of nodes and pairs by distances, paths, degrees, random walks and rings.

Shapes:
    B: graphs of n nodes each
    L: edges of a path that are stored
    F: columns of edge features
    p: steps of a random walk
    m: anchor sets
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import rustworkx
import torch
from torch import Tensor

from gtcourse.encodings.paths import path_edges, path_tree
from gtcourse.encodings.spectral import undirected
from gtcourse.encodings.transform import Encoding, Pairs, WeightedEncoding
from gtcourse.graphs.arguments import whole_number
from gtcourse.graphs.batch import UNREACHABLE
from gtcourse.graphs.io import require


@dataclass(eq=False)
class AddShortestPaths(Encoding):
    """Sets ``distance`` ``[n, n]``: the number of edges on a shortest path from i to j.

    Paths follow the directions of edges, and ``UNREACHABLE`` (-1) stands for no path. Larger
    distances than ``max_distance`` are stored as ``max_distance``; by default all are exact, as
    Graphormer, Eq. 7 needs them.
    """

    on_device = True
    max_distance: int | None = None

    def compute(self, pairs: Pairs) -> dict[str, Tensor]:
        return {"distance": self.lowered(pairs.distance)}

    def lowered(self, distance: Tensor) -> Tensor:
        """Exact distances, of which those above ``max_distance`` become ``max_distance``."""
        return distance.clamp(max=self.max_distance or distance.shape[-1])

    def is_lowered_below(self, length: float) -> bool:
        """Whether the distance of two nodes may be below ``length`` though no path is as short."""
        return self.max_distance is not None and self.max_distance < length

    @property
    def depends_on_stored(self) -> bool:
        """Whether distances may be lowered below the length of paths that are stored."""
        return self.max_distance is not None

    def check_stored(self, stored: Mapping[str, Tensor], distance: Tensor, where: str) -> None:
        """Raises a ValueError if distances are lowered below the length of stored paths."""
        length = 0
        if "path_edges" in stored:
            shape = stored["path_edges"].shape
            if len(shape) != distance.dim() + 2 or shape[: distance.dim()] != distance.shape:
                raise ValueError(
                    f"{where} has path_edges of shape {list(shape)}; expected those of "
                    "AddPathEdges(max_length), [n, n, L, F]."
                )
            length = shape[-2]
        if "path_tree" in stored:
            length = distance.shape[-1]
        if self.is_lowered_below(length):
            _check_exact(self.lowered(distance), distance, length, where)


@dataclass(eq=False)
class AddPathEdges(Encoding):
    """Sets ``path_edges`` ``[n, n, L, F]``: the edge features along one shortest path from i to j.

    Place l, counted from 0, holds the features of the edge that is l edges away from i. Of a path
    longer than ``max_length``, L, the first L edges are stored. Places beyond the end of a path are
    0, which is not data. Of several shortest paths the one is stored whose features, read from i,
    come first in lexicographic order, so that the numbering of the nodes does not matter. Whole
    numbers are stored as int16.
    """

    reads_edge_attr = on_device = True
    max_length: int

    def check_beside(self, others: Sequence[Encoding]) -> None:
        """Raises a ValueError if distances are lowered so far that a path seems shorter."""
        for other in others:
            if isinstance(other, AddShortestPaths) and other.is_lowered_below(self.max_length):
                raise ValueError(
                    f"{other!r} was given with {self!r}; expected distances that are exact up to "
                    f"{self.max_length}, or AddShortestPaths()."
                )

    @property
    def depends_on_stored(self) -> bool:
        """Whether distances that were stored before may be lowered: always."""
        return True

    def check_stored(self, stored: Mapping[str, Tensor], distance: Tensor, where: str) -> None:
        """Raises a ValueError if stored distances are not exact up to the stored length."""
        if "distance" in stored:
            _check_exact(stored["distance"], distance, self.max_length, where)

    def compute(self, pairs: Pairs) -> dict[str, Tensor]:
        edge_attr = pairs.edge_attr
        before = path_tree(pairs.adjacency, edge_attr, pairs.distance)
        if not edge_attr.is_floating_point():
            largest = int(edge_attr.max())
            if largest >= 2**15:
                raise ValueError(f"edge_attr holds {largest}; expected whole numbers below 2**15.")
            edge_attr = edge_attr.short()
        path = path_edges(before, edge_attr, pairs.distance, self.max_length)
        return {"path_edges": path}


@dataclass(eq=False)
class AddPathTree(Encoding):
    """Sets ``path_tree`` ``[n, n]`` int16: the node before j on the path of :class:`AddPathEdges`.

    Row i is a tree of shortest paths from i. At i itself, and where there is no path, it is -1. The
    values are node numbers, so that the encoding is wrong once the nodes are renumbered.
    """

    reads_edge_attr = on_device = True

    def check_beside(self, others: Sequence[Encoding]) -> None:
        """Raises a ValueError if distances are lowered: a model reads the paths up to them."""
        for other in others:
            if isinstance(other, AddShortestPaths) and other.max_distance is not None:
                raise ValueError(
                    f"{other!r} was given with {self!r}; expected exact distances, "
                    "AddShortestPaths()."
                )

    @property
    def depends_on_stored(self) -> bool:
        """Whether distances that were stored before may be lowered: always."""
        return True

    def check_stored(self, stored: Mapping[str, Tensor], distance: Tensor, where: str) -> None:
        """Raises a ValueError if stored distances are not exact."""
        if "distance" in stored:
            _check_exact(stored["distance"], distance, distance.shape[-1], where)

    def compute(self, pairs: Pairs) -> dict[str, Tensor]:
        before = path_tree(pairs.adjacency, pairs.edge_attr, pairs.distance)
        return {"path_tree": before.short()}


@dataclass(eq=False)
class AddAnchorDistances(Encoding):
    """Sets ``anchor_distances`` ``[n, m]``: from each node to the nearest of each set (CS224W, S9).

    The m sets are those of :func:`anchor_sets`; graphs of one size share them.
    """

    num_sets: int
    seed: int = 0

    def compute(self, pairs: Pairs) -> dict[str, Tensor]:
        sets = anchor_sets(pairs.distance.shape[-1], self.num_sets, self.seed)
        return {"anchor_distances": distances_to_sets(pairs.distance, sets)}


@dataclass(eq=False)
class AddDegrees(Encoding):
    """Sets ``in_degree`` and ``out_degree`` ``[n]``; a loop counts once in each."""

    on_device = True

    def compute(self, pairs: Pairs) -> dict[str, Tensor]:
        return {"in_degree": pairs.adjacency.sum(dim=-2), "out_degree": pairs.adjacency.sum(dim=-1)}


@dataclass(eq=False, repr=False)
class AddRandomWalks(WeightedEncoding):
    r"""Sets ``random_walks`` ``[n, n, p]``: :math:`(RW^k)_{ij}`, :math:`RW = D^{-1}A`, k = 1 … p.

    These are the chances that a walk from i is at j after k steps, which CSA, Eq. 10, reads and by
    which the pairs of CSA, Figure 2, differ. Walks follow the directions of edges and take loops. A
    node without outgoing edges has a row of zeros.

    Args:
        steps: Steps, p.
        pairs: False to set the diagonal alone, the node encoding ``rwse`` ``[n, p]``, for large
            graphs.
        weight: The name of an edge attribute of numbers that are not negative. A then holds these
            weights, and a walk takes an edge with a chance proportional to its weight. By default
            all weights are 1.
    """

    on_device = True
    steps: int
    pairs: bool = True
    weight: str | None = None

    def compute(self, pairs: Pairs) -> dict[str, Tensor]:
        weights = self.matrix(pairs)  # [B, n, n]
        degree = weights.sum(dim=-1, keepdim=True)  # [B, n, 1]
        walk = weights / degree.where(degree > 0, 1)  # [B, n, n], D^-1 A
        power = walk
        shape = walk.shape if self.pairs else walk.shape[:-1]
        powers = torch.empty(*shape, self.steps, device=walk.device)  # [B, n, n, p] or [B, n, p]
        for step in range(self.steps):
            power = power @ walk if step else walk
            powers[..., step] = power if self.pairs else power.diagonal(dim1=-2, dim2=-1)
        return {"random_walks" if self.pairs else "rwse": powers}


@dataclass(eq=False)
class AddRings(Encoding):
    """Sets ``ring`` ``[n, n]`` bool: True where i and j are two nodes of a common ring.

    (CSA, Eq. 13.) A ring is a chordless cycle of 3 to ``max_size`` nodes in the graph without
    directions and loops. All rings count, not only a basis of them. A ``max_size`` of 18 finds
    every ring of ZINC-12k. In dense graphs the number of rings grows exponentially with it.
    """

    on_cpu = True
    max_size: int

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number("max_size", self.max_size, 3)

    def compute(self, pairs: Pairs) -> dict[str, Tensor]:
        ring = torch.zeros_like(pairs.adjacency)
        links = undirected(pairs.adjacency).triu().nonzero()  # [ΣE, 3]: graph, node, node
        counts = links[:, 0].bincount(minlength=len(ring)).tolist()
        of_graphs = links[:, 1:].split(counts)
        for graph, links_of_graph in zip(ring.numpy(), of_graphs, strict=True):
            # No cycle leaves a biconnected component.
            for block in blocks(links_of_graph.tolist()):
                nodes = sorted({node for link in block for node in link})
                numbers_of_nodes = np.array(nodes)
                pairs_of_block = (numbers_of_nodes[:, None], numbers_of_nodes)
                if len(block) == len(nodes):  # as many links as nodes: the block is one cycle
                    graph[pairs_of_block] |= len(nodes) <= self.max_size
                    continue
                # Molecules share a few fused ring systems, whose cycles are computed once.
                numbers = sorted(tuple(sorted(map(nodes.index, link))) for link in block)
                graph[pairs_of_block] |= in_one_cycle(tuple(numbers), self.max_size)
        return {"ring": ring & ~torch.eye(ring.shape[-1]).bool()}


def _check_exact(stored: Tensor, distance: Tensor, length: int, where: str) -> None:
    """Raises a ValueError if distances up to the length of stored paths are not the exact ones."""
    if not stored.long().clamp(max=length).equal(distance.clamp(max=length)):
        raise ValueError(
            f"{where} has distances that are not those along its edges, and paths of up to "
            f"{length} edges beside them; expected distances that are exact up to {length}, as "
            "AddShortestPaths() computes."
        )


def blocks(links: Sequence[Sequence[int]]) -> list[list[tuple[int, int]]]:
    """The links of each biconnected component that has a cycle; a single link is left out."""
    graph = rustworkx.PyGraph(multigraph=False)
    graph.extend_from_edge_list([(source, target) for source, target in links])
    of_block = defaultdict(list)
    for link, number in rustworkx.biconnected_components(graph).items():
        of_block[number].append(link)
    return [block for block in of_block.values() if len(block) > 2]


def anchor_sets(num_nodes: int, num_sets: int, seed: int = 0) -> Tensor:
    """Random sets of 1/2, 1/4, … of the nodes, then 1/2 again (You et al., 2019), ``[m, n]``."""
    random = np.random.default_rng([seed, num_nodes]).random((num_sets, num_nodes))
    halvings = 1 + np.arange(num_sets) % max(1, int(np.log2(num_nodes)))
    sizes = np.maximum(1, num_nodes >> halvings)
    return torch.from_numpy(random.argsort(axis=1).argsort(axis=1) < sizes[:, None])


def distances_to_sets(distance: Tensor, sets: Tensor) -> Tensor:
    """Distances from all nodes to the nearest node of each set.

    Shapes:
        distance: ``[B, n, n]``
        sets: ``[m, n]`` bool
        returns: ``[B, n, m]``, UNREACHABLE where no node of a set can be reached
    """
    far = distance.shape[-1]  # no path is as long as the number of nodes
    distance = distance.masked_fill(distance == UNREACHABLE, far)[:, :, None]  # [B, n, 1, n]
    nearest = distance.masked_fill(~sets, far).amin(dim=-1)
    return nearest.masked_fill(nearest == far, UNREACHABLE)


@lru_cache(maxsize=4096)
def in_one_cycle(links: tuple[tuple[int, int], ...], max_size: int) -> np.ndarray:
    """True for two nodes of one of the :func:`chordless_cycles`; nodes are numbered from 0."""
    size = 1 + max(max(link) for link in links)
    together = np.zeros((size, size), dtype=bool)
    for cycle in chordless_cycles(links, max_size):
        together[np.ix_(cycle, cycle)] = True
    return together


def chordless_cycles(links: tuple[tuple[int, int], ...], max_size: int) -> list[list[int]]:
    """The nodes of every chordless cycle of 3 to ``max_size`` nodes."""
    nx = require("networkx", "networkx")
    return list(nx.chordless_cycles(nx.Graph(links), length_bound=max_size))
