"""Graphormer's Figure 2: what 1-WL cannot tell apart, distances can; and where a bias is blind."""

import networkx as nx
import pytest
import torch

from gtcourse import collate
from gtcourse.encodings import AddDegrees, AddPathEdges, AddShortestPaths, encode
from gtcourse.models import GIN, GINConfig, Graphormer, GraphormerConfig, GraphormerLayer
from tests.graphs.small import of_networkx
from tests.loops.encodings import distances_loop

SQUARES = nx.ladder_graph(3)
TRIANGLES = nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)])


@pytest.fixture
def batch():
    graphs = [of_networkx(graph) for graph in (SQUARES, TRIANGLES)]
    for graph in graphs:
        graph.x, graph.edge_attr = graph.x.long(), torch.ones(graph.num_edges, 1).long()
    return collate(encode(graphs, AddDegrees(), AddShortestPaths(), AddPathEdges(3)))


def sets(graph: nx.Graph) -> set[tuple[int, ...]]:
    return {tuple(sorted(row)) for row in distances_loop(of_networkx(graph))}


@pytest.mark.holds("Graphormer, Figure 2")
def test_the_figures_sets_of_distances_are_those_of_two_squares_and_of_two_triangles():
    assert sets(SQUARES) == {(0, 1, 1, 2, 2, 3), (0, 1, 1, 1, 2, 2)}
    assert sets(TRIANGLES) == {(0, 1, 1, 2, 3, 3), (0, 1, 1, 1, 2, 2)}


def colours(graph: nx.Graph) -> str:
    """1-WL from equal colours; six rounds are enough for six nodes."""
    nx.set_node_attributes(graph, "same", "colour")
    return nx.weisfeiler_lehman_graph_hash(graph, node_attr="colour", iterations=6)


@pytest.mark.holds("Graphormer, Figure 2")
@torch.no_grad()
def test_weisfeiler_leman_and_a_gin_cannot_tell_them_apart_and_graphormer_can(batch):
    assert colours(SQUARES) == colours(TRIANGLES)
    torch.manual_seed(0)
    left, right = GIN(GINConfig(num_node_types=1, num_node_features=0)).eval()(batch).flatten()
    torch.testing.assert_close(left, right)
    left, right = Graphormer(GraphormerConfig(num_layers=2)).double().eval()(batch)
    assert abs(float(left - right)) > 1e-7


def test_no_bias_tells_two_equal_nodes_what_edge_joins_them():
    torch.manual_seed(0)
    layer = GraphormerLayer(8, 2).double()
    h = torch.randn(1, 1, 8).double().expand(1, 2, 8)
    one, other = (layer(h, 5 * torch.randn(1, 2, 2, 2).double()) for _ in range(2))
    torch.testing.assert_close(one, other, rtol=0, atol=1e-14)
