from fractions import Fraction

import networkx as nx
import pytest
import torch

from gtcourse.encodings import AddRandomWalks, AddRings
from tests.graphs.small import DIAMOND, PATH_OF_FOUR, of_networkx


@pytest.mark.holds("CSA, Figure 2")
def test_csas_figure_2():
    """Rows 0.33, 0.33, 0.26 and 0.50, 0.00, 0.63 for pairs that are one step apart in both."""
    left = AddRandomWalks(3)(DIAMOND).random_walks[0, 1]
    right = AddRandomWalks(3)(PATH_OF_FOUR).random_walks[1, 2]
    third, half = Fraction(1, 3), Fraction(1, 2)
    expected = [third, third, Fraction(7, 27)], [half, Fraction(0), Fraction(5, 8)]
    for row, fractions in zip((left, right), expected, strict=True):
        torch.testing.assert_close(row, torch.tensor([float(f) for f in fractions]))


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
