import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gtcourse.encodings import (
    AddPathEdges,
    AddPathTree,
    AddShortestPaths,
)
from gtcourse.encodings.distances import anchor_sets, distances_to_sets, lexicographic_ranks
from tests.encodings.graphs import of_edges
from tests.graphs.random_graphs import graph_of


def test_an_edge_given_twice_has_distance_1_and_a_loop_changes_nothing():
    graph = graph_of(3, [(0, 1), (0, 1), (1, 2), (1, 1)])
    assert AddShortestPaths()(graph).distance.tolist() == [[0, 1, 2], [-1, 0, 1], [-1, -1, 0]]


def test_directions_are_obeyed():
    ring = of_edges(4, [(0, 1), (1, 2), (2, 3), (3, 0)], both=False)
    assert AddShortestPaths()(ring).distance[0].tolist() == [0, 1, 2, 3]
    assert AddShortestPaths()(ring).distance[:, 0].tolist() == [0, 3, 2, 1]


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


def test_of_two_shortest_paths_the_one_with_the_lower_features_counts():
    # From 0 to 3 by 1 or by 2, in a square.
    square = of_edges(4, [(0, 1), (1, 3), (0, 2), (2, 3)])
    square.edge_attr = torch.tensor([[3], [1], [2], [4], [3], [1], [2], [4]])
    assert AddPathEdges(2)(square).path_edges[0, 3].tolist() == [[2], [4]]
    assert AddPathEdges(2)(square).path_edges[3, 0].tolist() == [[1], [3]]


@pytest.mark.parametrize(
    ("edge_attr", "sentence"),
    [
        (torch.tensor([[True]]), " of torch.bool; expected integers or floats."),
        (torch.tensor([[1j]]), " of torch.complex64; expected integers or floats."),
        (torch.tensor([[float("nan")]]), " with NaN or infinity; expected finite numbers."),
        (torch.tensor([[-2]]), " with the value -2; expected categories, 0 or more."),
    ],
)
@pytest.mark.parametrize("transform", [AddPathEdges(3), AddPathTree()])
def test_edge_features_without_an_order_raise(edge_attr, sentence, transform):
    graph = graph_of(2, [(0, 1)])
    graph.edge_attr = edge_attr
    with pytest.raises(ValueError) as refusal:
        transform(graph)
    assert str(refusal.value).startswith(f"graph 0 has edge_attr{sentence}")


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


ROWS = st.lists(st.tuples(st.integers(-3, 2**14), st.integers(0, 2)), max_size=12)


@given(ROWS, st.sampled_from([torch.int64, torch.int16, torch.float32]))
def test_rows_are_ranked_as_words_in_a_dictionary(rows, dtype):
    ranks = {row: rank for rank, row in enumerate(sorted(set(rows)))}
    tensor = torch.tensor(rows, dtype=dtype).reshape(-1, 2)
    rank = lexicographic_ranks(tensor)
    assert rank.tolist() == [ranks[row] for row in rows]
