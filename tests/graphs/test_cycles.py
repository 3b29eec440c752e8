"""CYCLES and CSL: the labels are right, and nothing that can be counted gives them away."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch

from gtcourse.graphs import GraphDataset, load_dataset, read_graphs, write_graphs
from gtcourse.graphs.cycles import (
    CSL_SKIPS,
    CYCLES_CHECKSUM,
    build_cycles,
    csl_split,
)
from gtcourse.graphs.files import write_ragged


@pytest.fixture(scope="module")
def cycles(data_root) -> GraphDataset:
    return load_dataset("cycles", root=data_root)


@pytest.fixture(scope="module")
def csl(data_root) -> GraphDataset:
    return load_dataset("csl", root=data_root)


def networkx_of(graph) -> nx.Graph:
    drawn = nx.Graph()
    drawn.add_nodes_from(range(len(graph.x)))
    drawn.add_edges_from(graph.edge_index.T.tolist())
    return drawn


def counted(graph) -> tuple:
    """All that twins share: nodes, edges, sorted degrees, sorted component sizes."""
    drawn = networkx_of(graph)
    sizes = sorted(len(piece) for piece in nx.connected_components(drawn))
    degrees = sorted(degree for _, degree in drawn.degree)
    return len(drawn), drawn.number_of_edges(), tuple(degrees), tuple(sizes)


def test_the_splits_are_balanced_from_their_first_graphs_on(cycles):
    assert cycles.split_sizes == {"train": 9_000, "val": 1_000, "test": 10_000}
    for name in ("train", "val", "test"):
        y = torch.cat([graph.y for graph in cycles[name]])
        assert y.dtype == torch.int64
        assert torch.equal(y[0::2] + y[1::2], torch.ones(len(y) // 2, dtype=torch.int64))
        # Which of two twins comes first is a coin's decision.
        assert abs(y[0::2].double().mean().item() - 0.5) < 4 * 0.5 / (len(y) / 2) ** 0.5


def test_graphs_are_sparse_in_several_pieces_and_their_nodes_alike(cycles):
    sizes = Counter(len(graph.x) for graph in cycles)
    assert sorted(sizes) == list(range(37, 66))
    for graph in cycles.graphs[::40]:
        assert graph.x.dtype == torch.float32
        assert (graph.x == 1).all()
        assert nx.number_connected_components(networkx_of(graph)) >= 2
        edges = set(map(tuple, graph.edge_index.T.tolist()))
        assert len(edges) == graph.edge_index.shape[1]
        assert edges == {(j, i) for i, j in edges}
        assert all(i != j for i, j in edges)


def test_the_label_says_whether_there_is_a_cycle_of_length_six(cycles):
    """Counted by networkx, which also shows that no cycle has length 3 to 5 or 7 to 11."""
    for graph in cycles.graphs[::25]:
        lengths = [len(cycle) for cycle in nx.simple_cycles(networkx_of(graph), length_bound=11)]
        assert lengths == ([6] if graph.y.item() == 1 else [])


def test_every_graph_has_a_cycle(cycles):
    for graph in cycles.graphs[:400]:
        nodes, edges, _, pieces = counted(graph)
        assert edges - nodes + len(pieces) >= 1


def test_twins_agree_in_all_that_can_be_counted(cycles):
    for index in range(0, len(cycles), 50):
        assert counted(cycles[index]) == counted(cycles[index + 1])


def test_degrees_agree_in_all_twins(cycles):
    histograms = [
        torch.bincount(torch.bincount(graph.edge_index[0], minlength=len(graph.x)), minlength=12)
        for graph in cycles
    ]
    first, second = torch.stack(histograms[0::2]), torch.stack(histograms[1::2])
    assert torch.equal(first, second)


def features(graphs) -> np.ndarray:
    """Degree histogram, n, m, number of components, the five largest components."""
    rows = []
    for graph in graphs:
        nodes, edges, degrees, sizes = counted(graph)
        histogram = np.bincount(degrees, minlength=12)
        rows.append([nodes, edges, len(sizes), *histogram, *([0] * 5 + list(sizes))[-5:]])
    return np.array(rows, dtype=float)


@pytest.mark.parametrize("classifier", ["linear", "trees"])
def test_a_classifier_that_counts_gets_exactly_one_of_two_twins_right(cycles, classifier):
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    # Of each training pair one twin, or the classifier would know at once that nothing helps.
    train, test = cycles.train[:4_000], cycles.test[:2_000]
    coins = np.random.default_rng(0).integers(0, 2, len(train) // 2)
    train = [train[2 * pair + coin] for pair, coin in enumerate(coins)]
    models = {
        "linear": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "trees": HistGradientBoostingClassifier(max_iter=50),
    }
    model = models[classifier].fit(features(train), [graph.y.item() for graph in train])
    assert model.score(features(test), [graph.y.item() for graph in test]) == 0.5


def test_a_seed_gives_the_same_graphs_and_another_seed_others(tmp_path):
    paths = [tmp_path / f"{number}.npz" for number in range(3)]
    sums = [
        write_ragged(path, build_cycles((20, 10, 10), seed=seed), name="cycles")
        for path, seed in zip(paths, (0, 0, 1), strict=True)
    ]
    assert sums[0] == sums[1] != sums[2]
    assert read_graphs(paths[0]).split_sizes == {"train": 20, "val": 10, "test": 10}


def test_cycles_are_those_of_the_courses_numbers_and_say_where_they_are_from(cycles):
    assert cycles.checksum == CYCLES_CHECKSUM
    assert cycles.source == "generated by gtcourse: 20,000 graphs of 37 to 65 nodes, our own law"


def test_cycles_and_csl_are_read_from_files_too(tmp_path, csl):
    path = tmp_path / "mine.npz"
    write_graphs(path, csl)
    again = load_dataset("csl", source=path)
    assert again.source == "file: mine.npz"
    assert torch.equal(again[3].edge_index, csl[3].edge_index)
    path = tmp_path / "cycles.npz"
    write_ragged(path, build_cycles((4, 2, 2)), name="cycles")
    assert len(load_dataset("cycles", source=path)) == 8


def test_odd_splits_are_refused():
    with pytest.raises(ValueError, match=r"split_sizes is \(3, 1, 2\); expected even numbers"):
        build_cycles((3, 1, 2))


def test_csl_has_ten_rings_with_chords_of_fifteen_numberings_each(csl):
    y = torch.cat([graph.y for graph in csl])
    assert y.tolist() == [kind for kind in range(10) for _ in range(15)]
    assert len({tuple(graph.edge_index.flatten().tolist()) for graph in csl}) == 150
    for graph in csl:
        ring = nx.circulant_graph(41, [1, CSL_SKIPS[graph.y.item()]])
        assert nx.is_isomorphic(networkx_of(graph), ring)
        assert torch.bincount(graph.edge_index[0]).tolist() == [4] * 41


def test_no_two_classes_of_csl_are_the_same_graph():
    rings = [nx.circulant_graph(41, [1, skip]) for skip in CSL_SKIPS]
    assert not any(nx.is_isomorphic(a, b) for place, a in enumerate(rings) for b in rings[:place])


def test_csls_folds_are_stratified_three_to_one_to_one_and_test_each_graph_once(csl):
    tested = np.zeros(150, dtype=int)
    for fold in range(5):
        dataset = replace(csl, split=csl_split(fold))
        assert dataset.split_sizes == {"train": 90, "val": 30, "test": 30}
        for name, copies in (("train", 9), ("val", 3), ("test", 3)):
            assert set(Counter(graph.y.item() for graph in dataset[name]).values()) == {copies}
        tested += csl_split(fold) == 2
    assert (tested == 1).all()
    assert torch.equal(csl.split, torch.from_numpy(csl_split(0)))
    with pytest.raises(ValueError, match="fold is 5; expected 0 to 4"):
        csl_split(5)
