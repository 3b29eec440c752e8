"""What is around a node: degrees (Graphormer), random walks and rings (CSA)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from gtcourse.encodings.spectral import undirected
from gtcourse.encodings.transform import Encoding, Pairs


@dataclass(eq=False)
class AddDegrees(Encoding):
    """Sets ``in_degree`` and ``out_degree`` ``[n]``; a loop counts once in each."""

    on_device = True

    def compute(self, pairs: Pairs) -> dict[str, Tensor]:
        return {"in_degree": pairs.adjacency.sum(dim=-2), "out_degree": pairs.adjacency.sum(dim=-1)}


@dataclass(eq=False)
class AddRandomWalks(Encoding):
    r"""Sets ``random_walks`` ``[n, n, p]``: :math:`(RW^k)_{ij}`, :math:`RW = D^{-1}A`, k = 1 … p.

    The chance that a walk from i is at j after k steps: what CSA, Eq. 10, is made of, and what
    tells the pairs of CSA, Figure 2, apart. Its diagonal is the node encoding RWSE. Directions are
    obeyed and loops are taken; a node without an edge out has a row of zeros.

    Args:
        steps: p; pairs: False sets only the diagonal, as ``rwse`` ``[n, p]``, for large graphs.
    """

    on_device = True
    steps: int
    pairs: bool = True

    def compute(self, pairs: Pairs) -> dict[str, Tensor]:
        edges, powers = pairs.adjacency.double(), []
        walk = power = edges / edges.sum(dim=-1, keepdim=True).clamp(min=1)
        for step in range(self.steps):
            power = power @ walk if step else walk
            entries = power if self.pairs else power.diagonal(dim1=-2, dim2=-1)
            powers.append(entries.to(torch.get_default_dtype()))
        return {"random_walks" if self.pairs else "rwse": torch.stack(powers, dim=-1)}


@dataclass(eq=False)
class AddRings(Encoding):
    """Sets ``ring`` ``[n, n]`` bool: i and j, not the same node, lie on a common ring.

    (CSA, Eq. 13.) A ring is a chordless cycle of 3 to ``max_size`` nodes, in the graph without
    directions and loops: all of them, not a basis of them. 18 holds every ring of ZINC-12k; in
    dense graphs their number grows exponentially with it.
    """

    max_size: int

    def compute(self, pairs: Pairs) -> dict[str, Tensor]:
        try:
            import networkx as nx
        except ModuleNotFoundError as error:
            message = "rings need networkx, which is not installed; try `pip install networkx`."
            raise ModuleNotFoundError(message) from error
        ring = torch.zeros_like(pairs.adjacency)
        for graph, edges in zip(ring, undirected(pairs.adjacency), strict=True):
            links = nx.Graph(edges.triu().nonzero().tolist())
            # No cycle leaves a block, and the same few ring systems come again in molecules.
            for block in nx.biconnected_component_edges(links):
                nodes = sorted({node for link in block for node in link})
                numbers = sorted(tuple(sorted(map(nodes.index, link))) for link in block)
                for cycle in chordless_cycles(tuple(numbers), self.max_size):
                    members = torch.tensor(nodes)[cycle]
                    graph[members[:, None], members] = True
        return {"ring": ring & ~torch.eye(ring.shape[-1]).bool()}


@lru_cache(maxsize=4096)
def chordless_cycles(links: tuple[tuple[int, int], ...], max_size: int) -> list[list[int]]:
    """The nodes of every chordless cycle of 3 to ``max_size`` nodes."""
    import networkx as nx

    return list(nx.chordless_cycles(nx.Graph(links), length_bound=max_size))
