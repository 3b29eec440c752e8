"""Graphs whose encodings can be worked out by hand."""

import networkx as nx
import torch
from torch_geometric.data import Data


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


def renumbered(graph: Data, order: torch.Tensor) -> Data:
    """The same graph with node ``order[i]`` in place i, and nothing but its edges."""
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order))
    return Data(
        x=graph.x[order], edge_index=place[graph.edge_index], edge_attr=graph.get("edge_attr")
    )


DIAMOND = of_edges(4, [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)])
"""CSA's Figure 2, left: two triangles that share the edge from 0 to 1."""

PATH_OF_FOUR = of_edges(4, [(0, 1), (1, 2), (2, 3)])
"""CSA's Figure 2, right: the edge from 1 to 2."""
