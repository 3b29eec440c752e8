import networkx as nx
import pytest

from gtcourse.encodings import AddRings
from tests.encodings.graphs import of_networkx


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
