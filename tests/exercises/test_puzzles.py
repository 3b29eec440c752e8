"""Puzzles: each answer recomputed from the graph, one node after another."""

from __future__ import annotations

import networkx as nx
import pytest

from gtcourse.exercises.puzzles import dials, edge_labels
from gtcourse.graphs import MISSING_LABEL, DenseLoader, check_graphs, collate

WHO = ["listener", "speaker"]
SIZES = (600, 200, 200)


@pytest.fixture(scope="module")
def labelled():
    return edge_labels(SIZES)


@pytest.fixture(scope="module", params=WHO)
def spoken(request):
    return request.param, dials(SIZES, steps=8, who=request.param)


def drawn(graph) -> nx.DiGraph:
    """The graph edge by edge, each direction with its label."""
    directed = nx.DiGraph()
    directed.add_nodes_from(range(graph.num_nodes))
    labels = [0] * graph.num_edges if graph.edge_attr is None else graph.edge_attr[:, 0].tolist()
    for i, j, label in zip(*graph.edge_index.tolist(), labels, strict=True):
        assert not directed.has_edge(i, j)
        directed.add_edge(i, j, label=label)
    return directed


def distances_from(graph, start: int) -> dict[int, int]:
    """Steps to each node, by walking on from all nodes that were reached last."""
    edges = list(zip(*graph.edge_index.tolist(), strict=True))
    steps, reached = {start: 0}, {start}
    while reached:
        reached = {j for i, j in edges if i in reached and j not in steps}
        steps |= dict.fromkeys(reached, max(steps.values()) + 1)
    return steps


def read_listener(x: list[int]) -> tuple[int, int, dict[int, int]]:
    """The asker, its dial and each speaker's sign."""
    (asker,) = (i for i, kind in enumerate(x) if kind >= 2)
    return asker, x[asker] - 1, {i: kind for i, kind in enumerate(x) if i != asker}


def read_speaker(x: list[int]) -> tuple[int, dict[int, int], dict[int, int]]:
    """The asker, each speaker's dial and each speaker's sign."""
    (asker,) = (i for i, kind in enumerate(x) if kind == 0)
    code = {i: kind - 1 for i, kind in enumerate(x) if i != asker}
    signs = {i: number % 2 for i, number in code.items()}
    return asker, {i: 1 + number // 2 for i, number in code.items()}, signs


def who_counts(graph, who: str) -> tuple[int, list[int], dict[int, int]]:
    """The asker, all speakers to whom a dial points, and each speaker's sign."""
    if who == "listener":
        asker, dial, signs = read_listener(graph.x[:, 0].tolist())
        steps = distances_from(graph, asker)
        return asker, [i for i in signs if steps[i] == dial], signs
    asker, dial, signs = read_speaker(graph.x[:, 0].tolist())
    steps = distances_from(graph, asker)
    return asker, [i for i in signs if steps[i] == dial[i]], signs


def test_one_edge_has_a_label_in_both_directions_and_the_answer_is_that_label(labelled):
    for graph in labelled:
        marked = [(i, j, label) for i, j, label in drawn(graph).edges(data="label") if label]
        (i, j, label), (source, target, other) = marked
        assert (source, target) == (j, i)
        assert label == other == int(graph.y) + 1
        assert graph.y.shape == (1,)


def test_dials_are_paths_with_the_asker_at_one_end(spoken):
    who, dataset = spoken
    check_graphs(dataset.graphs)
    for graph in dataset:
        directed = drawn(graph)
        assert all(directed.has_edge(j, i) for i, j in directed.edges)
        assert nx.is_tree(directed.to_undirected())
        assert sorted(dict(directed.out_degree()).values()) == [1, 1] + [2] * 7
        assert directed.out_degree(who_counts(graph, who)[0]) == 1
        assert graph.edge_attr is None


def test_exactly_one_speaker_counts_and_the_asker_is_to_say_its_sign(spoken):
    who, dataset = spoken
    for graph in dataset:
        asker, (right,), signs = who_counts(graph, who)
        expected = [MISSING_LABEL] * graph.num_nodes
        expected[asker] = signs[right]
        assert graph.y.tolist() == expected


def test_a_batch_has_graph_targets_of_labels_and_node_targets_of_dials(labelled, spoken):
    assert labelled.target == "graph"
    batch = collate(labelled.graphs[:8])
    assert batch.target == "graph"
    assert batch.y.tolist() == [0, 1, 2, 3] * 2
    assert batch.edge_attr.amax(dim=(1, 2)).flatten().tolist() == [1, 2, 3, 4] * 2

    assert spoken[1].target == "node"
    batch = next(iter(DenseLoader(spoken[1].train, 8)))
    assert batch.target == "node"
    assert (batch.y != MISSING_LABEL).sum(dim=1).tolist() == [1] * 8
