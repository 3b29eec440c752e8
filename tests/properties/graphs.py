"""Random graphs of every kind that is allowed, several at a time, as they come to a model.

What is drawn is small and shrinks: sizes, a few choices, a seed. Edges of up to eight nodes are
drawn one by one, so that a failure ends in a graph that can be looked at; those of larger graphs
come from a generator.
"""

from dataclasses import dataclass

import torch
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

from tests.graphs.small import of_first, random_features

MAX_NODES = 40
CATEGORIES = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
NUMBERS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)


@dataclass(frozen=True)
class Features:
    """Columns of categories below ``types``, or else of ``numbers`` floats; neither is none."""

    types: tuple[int, ...] = ()
    numbers: int = 0

    @property
    def dtypes(self) -> tuple[torch.dtype, ...]:
        return CATEGORIES if self.types else NUMBERS


ATOMS = Features((28,))
BONDS = Features((4,))
NONE = Features()


@dataclass(frozen=True)
class Example:
    """Graphs that go together, and a seed for whatever else is random."""

    graphs: list[Data]
    seed: int

    @property
    def generator(self) -> torch.Generator:
        return torch.Generator().manual_seed(self.seed)

    @property
    def longest(self) -> int:
        return max(graph.num_nodes for graph in self.graphs)


@st.composite
def examples(
    draw,
    x: Features = ATOMS,
    edges: Features = BONDS,
    *,
    most: int = 3,
    least: int = 1,
    max_nodes: int = MAX_NODES,
) -> Example:
    """Graphs of one dtype, with targets of one level.

    Args:
        x, edges: what nodes and edges have; edges without features are given some, or none.
        least, most: graphs.
    """
    seed = draw(st.integers(0, 2**31))
    level = draw(st.sampled_from(("graph", "node", "edge")))
    dtype = draw(st.sampled_from(x.dtypes))
    edge_attr = draw(st.sampled_from((NONE, BONDS))) if edges == NONE else edges
    edge_dtype = draw(st.sampled_from(edge_attr.dtypes))
    flat = draw(st.booleans())  # one column may come as a vector
    generator = torch.Generator().manual_seed(seed)
    graphs = []
    for _ in range(draw(st.integers(least, most))):
        n = draw(sizes(max_nodes))
        edge_index = draw(edges_between(n))
        count = edge_index.shape[1]
        graph = Data(x=_features(generator, n, x, flat).to(dtype), edge_index=edge_index)
        if edge_attr != NONE:
            features = _features(generator, count, edge_attr, flat).to(edge_dtype)
            graph.edge_attr = of_first(edge_index, features)
        targets = {"graph": 1, "node": n, "edge": count}[level]
        graph.y = torch.randn(targets, generator=generator)
        if level == "edge":
            graph.y = of_first(edge_index, graph.y)
        graphs.append(graph)
    return Example(graphs, seed)


def sizes(max_nodes: int) -> st.SearchStrategy[int]:
    """Mostly few nodes; 1, 2 and the most there may be are met again and again."""
    several = st.integers(1, min(8, max_nodes))
    if max_nodes <= 8:
        return several
    return st.one_of(
        several, st.sampled_from((1, 2)), st.integers(9, max_nodes), st.just(max_nodes)
    )


@st.composite
def edges_between(draw, n: int) -> Tensor:
    """``[2, E]``: directed or not, of several pieces, with loops and repeated edges, or none."""
    if n <= 8:
        node = st.integers(0, n - 1)
        pairs = draw(st.lists(st.tuples(node, node), max_size=3 * n))
        edge_index = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).T.contiguous()
    else:
        degree = draw(st.sampled_from((0, 1, 2, 3, 8, n // 2)))
        generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
        edge_index = torch.randint(n, (2, degree * n), generator=generator)
        if draw(st.booleans()):  # some are given a second time
            edge_index = torch.cat([edge_index, edge_index[:, ::4]], dim=1)
        if draw(st.booleans()):
            edge_index = edge_index[:, edge_index[0] != edge_index[1]]
    if draw(st.booleans()):
        edge_index = torch.cat([edge_index, edge_index.flip(0)], dim=1)
    return edge_index


def renumbered(graph: Data, order: Tensor) -> Data:
    """The same graph with node ``order[i]`` in place i, and its edges in another order."""
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order))
    edge_index = place[graph.edge_index]
    by_end = edge_index[1].argsort(stable=True)
    other = Data(x=graph.x[order], edge_index=edge_index[:, by_end])
    if graph.get("edge_attr") is not None:
        other.edge_attr = graph.edge_attr[by_end]
    return other


def _features(generator: torch.Generator, count: int, of: Features, flat: bool) -> Tensor:
    features = random_features(generator, count, of.types, of.numbers)
    return features[:, 0] if flat and features.shape[1] == 1 else features
