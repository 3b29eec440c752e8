import pytest
import torch

from gtcourse.encodings import AddPathEdges, AddShortestPaths
from gtcourse.encodings.structure import anchor_sets, distances_to_sets
from tests.graphs.small import of_edges


def test_the_order_of_paths_is_kept_where_their_ranks_do_not_fit_in_64_bits():
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
def test_the_lectures_anchors_and_anchor_set():
    """v1 is (1, 2, 1) and v3 is (1, 2, 0): only the set s3 tells them apart (S9)."""
    v1, v2, v3, v4 = range(4)
    star = of_edges(4, [(v2, v1), (v2, v3), (v2, v4)])
    sets = torch.zeros(3, 4).bool()
    sets[0, v2] = sets[1, v4] = sets[2, v2] = sets[2, v3] = True
    encoding = distances_to_sets(AddShortestPaths()(star).distance[None], sets)[0]
    assert encoding[v1].tolist() == [1, 2, 1]
    assert encoding[v3].tolist() == [1, 2, 0]


def test_anchor_sets_are_halves_quarters_and_eighths_the_same_for_a_seed():
    sets = anchor_sets(16, 8, seed=3)
    assert sets.sum(dim=1).tolist() == [8, 4, 2, 1, 8, 4, 2, 1]
    assert torch.equal(sets, anchor_sets(16, 8, seed=3))
    assert not torch.equal(sets, anchor_sets(16, 8, seed=4))
    assert anchor_sets(1, 2).tolist() == [[True], [True]]
