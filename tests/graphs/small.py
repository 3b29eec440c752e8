"""Graphs small enough to see through, and random ones: of one node, without edges, with loops,
directed, with repeated edges."""

import networkx as nx
import torch
from hypothesis import strategies as st
from torch_geometric.data import Data

from gtcourse.graphs import GraphBatch, GraphDataset
from gtcourse.graphs.molecules import ATOM_TYPES, BOND_TYPES


@st.composite
def graphs(draw, max_nodes: int = 8, types: int = 28) -> Data:
    """A graph with node and edge types, a float target, and one encoding of each kind."""
    n = draw(st.integers(1, max_nodes))
    node = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(node, node), max_size=3 * n))
    if draw(st.booleans()):
        edges += [(j, i) for i, j in edges]
    seed = draw(st.integers(0, 2**31))
    return graph_of(n, edges, seed, types)


def of_first(edge_index: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """The values of edges ``[E, …]``, in which an edge that is given again has those of the first.

    Differing ones are refused.
    """
    places: dict[tuple[int, ...], int] = {}
    edges = zip(*edge_index.tolist(), strict=True)
    first = [places.setdefault(edge, place) for place, edge in enumerate(edges)]
    return values[torch.tensor(first, dtype=torch.int64)]


def graph_of(n: int, edges: list[tuple[int, int]], seed: int = 0, types: int = 28) -> Data:
    generator = torch.Generator().manual_seed(seed)
    edge_index = torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).T.contiguous()
    x = torch.randint(0, types, (n, 1), generator=generator)
    edge_attr = torch.randint(1, 4, (len(edges), 1), generator=generator)
    return Data(
        x=x,
        edge_index=edge_index,
        edge_attr=of_first(edge_index, edge_attr),
        y=torch.randn(1, generator=generator),
        distance=torch.randint(-1, 5, (n, n), generator=generator),
        laplacian_eigenvectors=torch.randn(n, 3, generator=generator),
    )


def random_features(
    generator: torch.Generator, count: int, types: tuple[int, ...], numbers: int
) -> torch.Tensor:
    """Categories below ``types``, a column for each; ``numbers`` columns of floats without them."""
    if not types:
        return torch.rand(count, numbers, generator=generator)
    share = torch.rand(count, len(types), generator=generator)
    return (share * torch.tensor(types)).long()


def chain(*atoms: int, y: float = 0.0, bond: int = 1) -> Data:
    """Atoms in a row, each bonded to the next."""
    pairs = [(i, i + 1) for i in range(len(atoms) - 1)]
    edges = sorted(pairs + [(j, i) for i, j in pairs])
    return Data(
        x=torch.tensor(atoms)[:, None],
        edge_index=torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).T.contiguous(),
        edge_attr=torch.full((len(edges), 1), bond),
        y=torch.tensor([y]),
    )


def three_chains() -> GraphDataset:
    """CO, C=C=N and a lone C: one for each split."""
    return GraphDataset(
        name="chains",
        source="made by a test",
        graphs=[chain(0, 1, y=1.5), chain(0, 0, 2, y=-2.0, bond=2), chain(0)],
        split=torch.tensor([0, 1, 2]),
        node_vocabulary=ATOM_TYPES,
        edge_vocabulary=BOND_TYPES,
    )


def of_networkx(graph: nx.Graph) -> Data:
    """Nodes in the order of their names; both directions of an undirected edge."""
    graph = nx.convert_node_labels_to_integers(graph, ordering="sorted").to_directed()
    edges = torch.tensor(sorted(graph.edges), dtype=torch.int64).reshape(-1, 2).T.contiguous()
    return Data(x=torch.zeros(len(graph), 1), edge_index=edges)


def of_edges(num_nodes: int, edges: list[tuple[int, int]], both: bool = True) -> Data:
    """An unordered pair is an edge in both directions unless said otherwise."""
    pairs = [*edges, *[(j, i) for i, j in edges]] if both else edges
    ends = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).T.contiguous()
    return Data(x=torch.zeros(num_nodes, 1), edge_index=ends)


DIAMOND = of_edges(4, [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)])
"""CSA's Figure 2, left: two triangles that share the edge from 0 to 1."""

PATH_OF_FOUR = of_edges(4, [(0, 1), (1, 2), (2, 3)])
"""CSA's Figure 2, right: the edge from 1 to 2."""


def assert_same(batch: GraphBatch, expected: GraphBatch) -> None:
    """Every tensor, its type and its values."""
    assert batch.target == expected.target
    assert batch.encodings.keys() == expected.encodings.keys()
    names = ("x", "adjacency", "edge_attr", "mask", "y")
    pairs = [(getattr(batch, name), getattr(expected, name)) for name in names]
    pairs += [(batch.encodings[name], expected.encodings[name]) for name in batch.encodings]
    for found, right in pairs:
        if right is None:
            assert found is None
        else:
            assert found.dtype == right.dtype
            torch.testing.assert_close(found, right, rtol=0, atol=0, equal_nan=True)
