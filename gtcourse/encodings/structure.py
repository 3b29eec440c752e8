"""What is around a node: its degrees (for Graphormer), the rings that it is in (for CSA).

Shapes: B graphs of n nodes each.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import chain

import torch
from torch import Tensor

from gtcourse.encodings.transform import Encoding
from gtcourse.graphs.arguments import at_least

Links = tuple[tuple[int, int], ...]


class AddDegrees(Encoding):
    """Sets ``in_degree`` and ``out_degree`` ``[n]`` int64; a loop counts once in each."""

    def compute(self, adjacency: Tensor, edge_attr: Tensor | None) -> dict[str, Tensor]:
        return {"in_degree": adjacency.sum(dim=-2), "out_degree": adjacency.sum(dim=-1)}


class AddRings(Encoding):
    """Sets ``ring`` ``[n, n]`` bool: i and j, not the same node, lie on a common ring.

    (CSA, Eq. 13.) A ring is a chordless cycle of 3 to ``max_size`` nodes, in the graph without
    directions and loops: all of them, not a basis of them.

    Args:
        max_size: 18 holds every ring of ZINC-12k. In dense graphs the number of rings grows
            exponentially with it.
    """

    def __init__(self, max_size: int):
        at_least(3, max_size=max_size)
        self.max_size = max_size

    def compute(self, adjacency: Tensor, edge_attr: Tensor | None) -> dict[str, Tensor]:
        ring = torch.zeros_like(adjacency)
        cores = two_cores(adjacency)
        for graph in cores.flatten(1).any(dim=1).nonzero().flatten().tolist():
            for nodes in chordless_cycles(cores[graph], self.max_size):
                members = torch.tensor(nodes)
                ring[graph, members[:, None], members] = True
        return {"ring": ring & ~torch.eye(adjacency.shape[-1]).bool()}


def two_cores(adjacency: Tensor) -> Tensor:
    """The undirected edges ``[B, n, n]`` left when ends of trees are cut off again and again."""
    core = (adjacency | adjacency.mT) & ~torch.eye(adjacency.shape[-1]).bool()
    while True:
        ends = core.sum(dim=-1) == 1
        if not ends.any():
            return core
        core = core & ~ends[:, :, None] & ~ends[:, None, :]


def chordless_cycles(adjacency: Tensor, max_size: int) -> Iterator[tuple[int, ...]]:
    """The nodes of every chordless cycle of 3 to ``max_size`` nodes.

    Args:
        adjacency: ``[n, n]`` bool, of an undirected graph without loops.
    """
    nx = _networkx()
    graph = nx.Graph(adjacency.triu().nonzero().tolist())
    # No cycle leaves a block, and the same few ring systems come again and again in molecules.
    for links in nx.biconnected_component_edges(graph):
        nodes = sorted({*chain.from_iterable(links)})
        number = {node: place for place, node in enumerate(nodes)}
        block = tuple(sorted(tuple(sorted((number[i], number[j]))) for i, j in links))
        for cycle in _cycles_of_block(block, max_size):
            yield tuple(nodes[place] for place in cycle)


@lru_cache(maxsize=4096)
def _cycles_of_block(block: Links, max_size: int) -> tuple[tuple[int, ...], ...]:
    nx = _networkx()
    size = 1 + max(chain.from_iterable(block))
    if len(block) == size:  # as many edges as nodes: the block is one ring
        return (tuple(range(size)),) if size <= max_size else ()
    if len(block) == 1:
        return ()
    cycles = nx.chordless_cycles(nx.Graph(block), length_bound=max_size)
    return tuple(tuple(cycle) for cycle in cycles)


def _networkx():
    try:
        import networkx
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "rings need networkx, which is not installed; install it with `pip install networkx`."
        ) from error
    return networkx
