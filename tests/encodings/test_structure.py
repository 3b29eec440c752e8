import networkx as nx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gtcourse.encodings import AddRings
from tests.encodings.graphs import of_networkx
from tests.graphs.random_graphs import graph_of, graphs
from tests.loops.encodings import rings_loop


@pytest.mark.holds("CSA, Eq. 13")
@given(graphs(max_nodes=9), st.integers(3, 9))
def test_rings_equal_the_search_over_all_sets_of_nodes(graph, max_size):
    expected = torch.zeros(len(graph.x), len(graph.x)).bool()
    for nodes in rings_loop(graph, max_size):
        for i in nodes:
            for j in nodes:
                expected[i, j] = i != j
    assert torch.equal(AddRings(max_size)(graph).ring, expected)


@pytest.mark.parametrize("size", [3, 6, 17, 18, 19])
def test_a_ring_counts_up_to_the_given_size(size):
    ring = AddRings(18)(of_networkx(nx.cycle_graph(size))).ring
    assert ring.sum() == (size * (size - 1) if size <= 18 else 0)


def test_every_ring_of_a_bridged_molecule_counts_not_only_a_basis():
    """Norbornane: its two smallest rings have 5 atoms, and a ring of 6 goes around the bridge."""
    norbornane = nx.Graph([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (0, 6), (6, 3)])
    ring = AddRings(6)(of_networkx(norbornane)).ring
    assert ring[1, 4]  # across the ring of 6, in no ring of 5
    assert not AddRings(5)(of_networkx(norbornane)).ring[1, 4]
    assert not ring[6, 6]


def test_the_long_way_round_two_fused_rings_is_no_ring():
    """Naphthalene: the cycle of 10 has a chord, the bond that its two rings share."""
    naphthalene = nx.Graph([*nx.cycle_graph(10).edges, (0, 5)])
    ring = AddRings(18)(of_networkx(naphthalene)).ring
    assert ring[1, 4]
    assert not ring[1, 9 - 2]
    assert ring.sum() == 2 * 6 * 5 - 2


def test_rings_ignore_directions_loops_and_repeated_edges():
    graph = graph_of(4, [(0, 1), (2, 1), (2, 0), (0, 1), (3, 3), (2, 3)])
    triangle = AddRings(3)(graph).ring
    assert triangle.nonzero().tolist() == [[0, 1], [0, 2], [1, 0], [1, 2], [2, 0], [2, 1]]
