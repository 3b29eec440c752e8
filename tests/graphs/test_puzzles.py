"""Puzzles: each answer recomputed from the graph, one node after another."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gtcourse.graphs import MISSING_LABEL, DenseLoader, check_graphs, collate
from gtcourse.graphs.puzzles import dials, edge_labels

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


def share_is(hits: float, trials: float, expected: float) -> bool:
    return abs(hits / trials - expected) < 4 * np.sqrt(expected * (1 - expected) / trials)


def same(one, other) -> bool:
    return sorted(one.keys()) == sorted(other.keys()) and all(
        torch.equal(one[key], other[key])
        for key in one.keys()  # noqa: SIM118
    )


def test_edge_labels_are_on_trees_of_2_to_12_nodes_that_are_all_alike(labelled):
    check_graphs(labelled.graphs)
    for graph in labelled:
        directed = drawn(graph)
        assert nx.is_tree(directed.to_undirected())
        assert all(directed.has_edge(j, i) for i, j in directed.edges)
        assert directed.number_of_edges() == 2 * (graph.num_nodes - 1)
        assert graph.x.dtype == torch.int64
        assert graph.x.tolist() == [[0]] * graph.num_nodes
    sizes = np.bincount([graph.num_nodes for graph in labelled])
    assert len(sizes) == 13
    assert all(share_is(count, len(labelled), 1 / 11) for count in sizes[2:])


def test_one_edge_has_a_label_in_both_directions_and_the_answer_is_that_label(labelled):
    for graph in labelled:
        marked = [(i, j, label) for i, j, label in drawn(graph).edges(data="label") if label]
        (i, j, label), (source, target, other) = marked
        assert (source, target) == (j, i)
        assert label == other == int(graph.y) + 1
        assert graph.y.shape == (1,)


@pytest.mark.parametrize("num_labels", [2, 4, 5])
def test_labels_take_turns_so_that_one_answer_for_all_is_chance(num_labels):
    dataset = edge_labels((3 * num_labels, num_labels, 2 * num_labels), num_labels)
    for part, turns in (("train", 3), ("val", 1), ("test", 2)):
        answers = torch.cat([graph.y for graph in dataset[part]])
        assert answers.bincount().tolist() == [turns] * num_labels


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


def test_the_vote_of_all_speakers_is_right_as_often_as_the_text_says(spoken):
    """Of eight: with one of them known to be right, the seven others side with it or not."""
    who, dataset = spoken
    correct = 0.0
    for graph in dataset:
        _, (right,), signs = who_counts(graph, who)
        agree = sum(sign == signs[right] for sign in signs.values())
        correct += 1.0 if agree > 4 else 0.5 if agree == 4 else 0.0
    expected = sum(math.comb(7, k) * (1.0 if k >= 4 else 0.5 if k == 3 else 0.0) for k in range(8))
    assert round(expected / 2**7, 2) == 0.64
    assert abs(correct / len(dataset) - expected / 2**7) < 4 * 0.5 / len(dataset) ** 0.5


def test_exactly_one_speaker_counts_and_the_asker_is_to_say_its_sign(spoken):
    who, dataset = spoken
    for graph in dataset:
        asker, (right,), signs = who_counts(graph, who)
        expected = [MISSING_LABEL] * graph.num_nodes
        expected[asker] = signs[right]
        assert graph.y.tolist() == expected


MAKE = {
    "edge_labels": lambda sizes, seed=0: edge_labels(sizes, seed=seed),
    "listener": lambda sizes, seed=0: dials(sizes, 4, "listener", seed),
    "speaker": lambda sizes, seed=0: dials(sizes, 4, "speaker", seed),
}


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
def test_a_seed_gives_the_same_graphs_and_another_seed_others(make):
    first, again, other = make((20, 5, 5)), make((20, 5, 5)), make((20, 5, 5), seed=1)
    assert all(same(*pair) for pair in zip(first, again, strict=True))
    assert not all(same(*pair) for pair in zip(first, other, strict=True))


@settings(max_examples=40, deadline=None)
@given(
    st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(1, 3)),
    st.integers(2, 6),
    st.integers(2, 12),
    st.sampled_from(WHO),
    st.integers(0, 2**32),
)
def test_whatever_is_asked_for_is_a_list_of_valid_graphs(sizes, num_labels, steps, who, seed):
    trees, paths = edge_labels(sizes, num_labels, seed), dials(sizes, steps, who, seed)
    for dataset in (trees, paths):
        check_graphs(dataset.graphs)
        assert tuple(dataset.split_sizes.values()) == sizes
    for graph in trees:
        labels = graph.edge_attr[:, 0]
        assert labels[labels > 0].tolist() == [int(graph.y) + 1] * 2
        assert int(labels.max()) <= num_labels
    for graph in paths:
        asker, (right,), signs = who_counts(graph, who)
        assert graph.y[asker] == signs[right]
        assert len(signs) == steps == graph.num_nodes - 1


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
