from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gtcourse.encodings import (
    AddDegrees,
    AddPathEdges,
    AddPathTree,
    AddRandomWalks,
    AddRings,
    AddShortestPaths,
    AddSVD,
    computed_on_device,
    encode,
    encode_batch,
    shortest_paths_by_products,
)
from gtcourse.graphs import collate
from tests.graphs.random_graphs import graph_of, graphs
from tests.loops.encodings import distances_loop

COMPUTED = [
    AddDegrees(),
    AddShortestPaths(),
    AddShortestPaths(2),
    AddPathTree(),
    AddPathEdges(3),
    AddRandomWalks(4),
    AddRandomWalks(4, pairs=False),
]


def bare(graph):
    """Without the encodings that random graphs come with."""
    del graph.distance, graph.laplacian_eigenvectors
    return graph


@pytest.mark.parametrize("transform", COMPUTED, ids=repr)
@given(st.lists(graphs(max_nodes=6).map(bare), min_size=1, max_size=4), st.integers(0, 2))
def test_a_batch_is_encoded_as_its_graphs_are_one_by_one(transform, several, padding):
    size = padding + max(graph.num_nodes for graph in several)
    found = encode_batch(collate(several, num_nodes=size), transform).encodings
    expected = collate(encode(several, transform), num_nodes=size).encodings
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name].dtype == value.dtype
        torch.testing.assert_close(found[name], value, rtol=0, atol=1e-6)


@given(graphs(max_nodes=10))
def test_products_of_matrices_find_what_a_search_finds(graph):
    adjacency = collate([graph]).adjacency
    assert shortest_paths_by_products(adjacency)[0].tolist() == distances_loop(graph)


def test_a_path_of_every_node_is_found_to_its_end():
    chain = graph_of(50, [(i, i + 1) for i in range(49)])
    (distance,) = shortest_paths_by_products(collate([chain]).adjacency)
    assert distance[0].tolist() == list(range(50))
    assert distance[1:, 0].tolist() == [-1] * 49


def test_what_a_batch_has_already_stays():
    batch = encode_batch(collate([graph_of(3, [(0, 1)])]), AddDegrees())
    assert {"laplacian_eigenvectors", "in_degree"} <= batch.encodings.keys()


@pytest.mark.parametrize("transform", [AddRings(6), AddSVD(2), None])
def test_what_takes_a_search_or_a_decomposition_is_to_be_stored(transform):
    assert not computed_on_device(transform)
    with pytest.raises(ValueError, match="is not computed for a whole batch; expected it"):
        encode_batch(collate([graph_of(3, [(0, 1)])]), transform)


def test_paths_of_edges_without_features_are_refused():
    batch = replace(collate([graph_of(3, [(0, 1)])]), edge_attr=None)
    with pytest.raises(ValueError, match="have no edge_attr; expected it"):
        encode_batch(batch, AddPathTree())
