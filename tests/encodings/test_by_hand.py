"""Paths, anchors, walks and rings by hand; which encodings tell what apart (chapter 04's table)."""

import json
from fractions import Fraction

import networkx as nx
import pytest
import torch

from experiments.encoding_table import PATH, table
from gtcourse.encodings import AddPathEdges, AddRandomWalks, AddRings, AddShortestPaths
from gtcourse.encodings.structure import anchor_sets, distances_to_sets
from tests.graphs.small import DIAMOND, PATH_OF_FOUR, of_edges, of_networkx


def test_path_order_is_correct_when_ranks_exceed_64_bits():
    # Squares in a row: 2^24 shortest paths from end to end, and 97 kinds of edges.
    squares = 24
    edges = []
    for s in range(squares):
        a = 3 * s
        edges += [(a, a + 1), (a, a + 2), (a + 1, a + 3), (a + 2, a + 3)]
    graph = of_edges(3 * squares + 1, edges, both=False)
    graph.edge_attr = torch.randint(97, (len(edges), 1), generator=torch.manual_seed(0))
    best = [
        min(graph.edge_attr[e : e + 4, 0].view(2, 2).T.tolist()) for e in range(0, len(edges), 4)
    ]
    path = AddPathEdges(2 * squares)(graph).path_edges[0, -1, :, 0]
    assert path.tolist() == [kind for pair in best for kind in pair]


@pytest.mark.holds("CS224W, S9")
def test_anchor_distances_equal_the_lectures_table():
    """v1 is (1, 2, 1) and v3 is (1, 2, 0): only the set s3 tells them apart (S9)."""
    v1, v2, v3, v4 = range(4)
    star = of_edges(4, [(v2, v1), (v2, v3), (v2, v4)])
    sets = torch.zeros(3, 4).bool()
    sets[0, v2] = sets[1, v4] = sets[2, v2] = sets[2, v3] = True
    encoding = distances_to_sets(AddShortestPaths()(star).distance[None], sets)[0]
    assert encoding[v1].tolist() == [1, 2, 1]
    assert encoding[v3].tolist() == [1, 2, 0]


def test_anchor_sets_have_halving_sizes_and_depend_only_on_the_seed():
    sets = anchor_sets(16, 8, seed=3)
    assert sets.sum(dim=1).tolist() == [8, 4, 2, 1, 8, 4, 2, 1]
    assert torch.equal(sets, anchor_sets(16, 8, seed=3))
    assert not torch.equal(sets, anchor_sets(16, 8, seed=4))
    assert anchor_sets(1, 2).tolist() == [[True], [True]]


@pytest.mark.holds("CSA, Figure 2")
def test_random_walks_distinguish_the_pairs_of_csa_figure_2():
    """Rows 0.33, 0.33, 0.26 and 0.50, 0.00, 0.63 for pairs that are one step apart in both."""
    left = AddRandomWalks(3)(DIAMOND).random_walks[0, 1]
    right = AddRandomWalks(3)(PATH_OF_FOUR).random_walks[1, 2]
    third = Fraction(1, 3)
    half = Fraction(1, 2)
    expected = [third, third, Fraction(7, 27)], [half, Fraction(0), Fraction(5, 8)]
    for row, fractions in zip((left, right), expected, strict=True):
        torch.testing.assert_close(row, torch.tensor([float(f) for f in fractions]))


@pytest.mark.parametrize("size", [3, 6, 17, 18, 19])
def test_rings_up_to_max_size_are_found(size):
    ring = AddRings(18)(of_networkx(nx.cycle_graph(size))).ring
    assert ring.sum() == (size * (size - 1) if size <= 18 else 0)


def test_all_chordless_rings_are_found_not_only_a_cycle_basis():
    """Norbornane: its two smallest rings have 5 atoms, and a ring of 6 goes around the bridge."""
    norbornane = nx.Graph([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (0, 6), (6, 3)])
    ring = AddRings(6)(of_networkx(norbornane)).ring
    assert ring[1, 4]  # across the ring of 6, in no ring of 5
    assert not AddRings(5)(of_networkx(norbornane)).ring[1, 4]
    assert not ring[6, 6]


def test_outer_cycle_of_two_fused_rings_is_not_a_ring():
    """Naphthalene: the cycle of 10 has a chord, the bond that its two rings share."""
    naphthalene = nx.Graph([*nx.cycle_graph(10).edges, (0, 5)])
    ring = AddRings(18)(of_networkx(naphthalene)).ring
    assert ring[1, 4]
    assert not ring[1, 9 - 2]
    assert ring.sum() == 2 * 6 * 5 - 2


# A skip of 2 closes triangles with the ring's edges, a skip of 3 does not. Of the two pairs of
# nodes three steps apart, one lies on a ring: 2/8 after three steps there, 1/8 on the path.
CLAIMS = {
    "ring of 6, two triangles": ("1-WL colours", "shortest paths", "RWSE"),
    "decalin, bicyclopentyl": ("1-WL colours", "shortest paths", "RWSE"),
    "CSL: 41 nodes, skips 2 and 3": ("1-WL colours", "rings", "random walks"),
    "3 steps apart in a ring of 6, in a path of 6": ("shortest paths", "rings", "random walks"),
    "middle edge of the diamond, of the path of 4": ("shortest paths", "random walks"),
    "two graphs of one Laplacian spectrum": ("Laplacian eigenvalues", "Laplacian projectors"),
}
"""Pairs that the first encoding cannot tell apart, and the others can."""


def test_stored_table_of_pairs_equals_the_computed_one():
    computed = table()
    assert json.loads(PATH.read_text()) == computed
    cells = {row["pair"]: row["cells"] for row in computed["rows"]}
    for pair, (alike, *apart) in CLAIMS.items():
        assert not cells[pair][alike]
        assert all(cells[pair][encoding] for encoding in apart)
