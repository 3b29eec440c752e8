"""PATTERN and CLUSTER: every number of the published recipe, read off the graphs."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gtcourse.graphs import check_graphs, communities


@pytest.fixture(scope="module")
def pattern():
    """As many patterns as graphs, so that the means are those of the law."""
    return communities.pattern((800, 100, 100), num_patterns=1_000)


@pytest.fixture(scope="module")
def cluster():
    return communities.cluster((800, 100, 100))


def adjacency_of(graph) -> np.ndarray:
    dense = np.zeros((len(graph.x), len(graph.x)), dtype=int)
    np.add.at(dense, tuple(graph.edge_index.numpy()), 1)
    return dense


def within_four_errors(values, expected: float) -> bool:
    values = np.asarray(values, dtype=float)
    return abs(values.mean() - expected) < 4 * values.std() / np.sqrt(len(values))


def hidden(graph) -> nx.Graph:
    """The graph between the nodes labelled 1, with their types."""
    inside = graph.y.numpy() == 1
    drawn = nx.from_numpy_array(adjacency_of(graph)[inside][:, inside])
    nx.set_node_attributes(drawn, dict(enumerate(graph.x[inside, 0].tolist())), "type")
    return drawn


def same_pattern(one, other) -> bool:
    match = nx.algorithms.isomorphism.categorical_node_match("type", None)
    return nx.is_isomorphic(hidden(one), hidden(other), node_match=match)


@pytest.mark.parametrize("name", ["pattern", "cluster"])
def test_edges_go_both_ways_once_and_nowhere_from_a_node_to_itself(name, request):
    for graph in request.getfixturevalue(name).graphs[::20]:
        dense = adjacency_of(graph)
        assert dense.max() == 1
        assert np.array_equal(dense, dense.T)
        assert not dense.diagonal().any()
        assert torch.equal(graph.edge_index, torch.from_numpy(dense).nonzero().T)


def test_one_node_of_each_community_says_which_it_is(cluster):
    places = []
    for graph in cluster:
        x, y = graph.x[:, 0], graph.y
        assert torch.bincount(x, minlength=7)[1:].tolist() == [1] * 6
        assert torch.equal(y[x > 0], x[x > 0] - 1)
        told, others = (x > 0).nonzero()[y[x > 0] == 0].item(), (y == 0).nonzero()[:, 0]
        places.append((others == told).nonzero().item() / (len(others) - 1))
    assert within_four_errors(places, 0.5)


def test_graphs_of_one_pattern_hide_the_same_graph_with_the_same_types():
    dataset = communities.pattern((12, 4, 4), num_patterns=4)
    for name, count in (("train", 12), ("val", 4), ("test", 4)):
        for index in range(count):
            assert same_pattern(dataset[name][index], dataset.train[index % 4])
    assert not any(same_pattern(dataset[0], dataset[index]) for index in (1, 2, 3))


@settings(max_examples=15, deadline=None)
@given(
    st.tuples(st.integers(1, 5), st.integers(0, 3), st.integers(0, 3)),
    st.integers(1, 7),
    st.integers(0, 2**32),
)
def test_whatever_is_asked_for_is_a_list_of_valid_graphs(split_sizes, num_patterns, seed):
    for dataset in (
        communities.pattern(split_sizes, num_patterns, seed),
        communities.cluster(split_sizes, seed),
    ):
        check_graphs(dataset.graphs)
        assert tuple(dataset.split_sizes.values()) == split_sizes
        assert all(30 <= graph.num_nodes <= 204 for graph in dataset)
        assert all(len(graph.y) == graph.num_nodes for graph in dataset)
