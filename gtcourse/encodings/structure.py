"""What is around a node: its degrees (for Graphormer), the rings that it is in (for CSA)."""

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
