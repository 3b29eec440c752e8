import pytest
from hypothesis import given

from gtcourse.encodings import (
    AddDegrees,
    AddRings,
    AddSVD,
    computed_on_device,
    encode_batch,
    shortest_paths,
)
from gtcourse.graphs import collate
from tests.graphs.random_graphs import graph_of, graphs
from tests.loops.encodings import distances_loop


def bare(graph):
    """Without the encodings that random graphs come with."""
    del graph.distance, graph.laplacian_eigenvectors
    return graph


@given(graphs(max_nodes=10))
def test_products_of_matrices_find_what_a_search_finds(graph):
    adjacency = collate([graph]).adjacency
    assert shortest_paths(adjacency)[0].tolist() == distances_loop(graph)


def test_what_a_batch_has_already_stays():
    batch = encode_batch(collate([graph_of(3, [(0, 1)])]), AddDegrees())
    assert {"laplacian_eigenvectors", "in_degree"} <= batch.encodings.keys()


@pytest.mark.parametrize("transform", [AddRings(6), AddSVD(2), None])
def test_what_takes_a_search_or_a_decomposition_is_to_be_stored(transform):
    assert not computed_on_device(transform)
    with pytest.raises(ValueError, match="is not computed for a whole batch; expected it"):
        encode_batch(collate([graph_of(3, [(0, 1)])]), transform)
