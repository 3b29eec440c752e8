"""PATTERN and CLUSTER: every number of the published recipe, read off the graphs."""

from __future__ import annotations

import networkx as nx
import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.utils import to_networkx

from gtcourse.graphs import benchmarks, check_graphs


def same_pattern(one, other) -> bool:
    """Whether the graphs between the nodes labelled 1 are one, types included."""
    hidden = [
        to_networkx(graph, node_attrs=["x"]).subgraph(graph.y.nonzero()[:, 0].tolist())
        for graph in (one, other)
    ]
    match = nx.algorithms.isomorphism.categorical_node_match("x", None)
    return nx.is_isomorphic(*hidden, node_match=match)


def test_one_node_of_each_community_says_which_it_is():
    places = []
    for graph in benchmarks.cluster((800, 100, 100)):
        x, y = graph.x[:, 0], graph.y
        assert torch.bincount(x, minlength=7)[1:].tolist() == [1] * 6
        assert torch.equal(y[x > 0], x[x > 0] - 1)
        told, others = (x > 0).nonzero()[y[x > 0] == 0].item(), (y == 0).nonzero()[:, 0]
        places.append((others == told).nonzero().item() / (len(others) - 1))
    assert abs(np.mean(places) - 0.5) < 4 * np.std(places) / len(places) ** 0.5


def test_graphs_of_one_pattern_hide_the_same_graph_with_the_same_types():
    dataset = benchmarks.pattern((12, 4, 4), num_patterns=4)
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
def test_edges_go_both_ways_once_and_nowhere_from_a_node_to_itself(split_sizes, patterns, seed):
    for dataset in (
        benchmarks.pattern(split_sizes, patterns, seed),
        benchmarks.cluster(split_sizes, seed),
    ):
        check_graphs(dataset.graphs)
        assert tuple(dataset.split_sizes.values()) == split_sizes
        for graph in dataset:
            assert 30 <= graph.num_nodes <= 204
            assert len(graph.y) == graph.num_nodes
            pairs = [*map(tuple, graph.edge_index.T.tolist())]
            assert pairs == sorted({(j, i) for i, j in pairs if i != j})
