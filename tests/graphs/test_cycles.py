"""CYCLES and CSL: the labels are right, and nothing that can be counted gives them away."""

from collections import Counter

import networkx as nx
import pytest
import torch
from torch_geometric.utils import to_networkx

from gtcourse import load_dataset
from gtcourse.course.tasks import CSL_SKIPS
from gtcourse.graphs import GraphDataset


@pytest.fixture(scope="module")
def cycles() -> GraphDataset:
    return load_dataset("cycles")


@pytest.fixture(scope="module")
def csl() -> GraphDataset:
    return load_dataset("csl")


def counted(graph) -> tuple:
    """All that twins share: nodes, edges, sorted degrees, sorted component sizes."""
    drawn = to_networkx(graph, to_undirected=True)
    sizes = sorted(len(piece) for piece in nx.connected_components(drawn))
    degrees = sorted(degree for _, degree in drawn.degree)
    return len(drawn), drawn.number_of_edges(), tuple(degrees), tuple(sizes)


def test_label_is_1_iff_there_is_a_six_cycle(cycles):
    """Counted by networkx, which also shows that no cycle has length 3 to 5 or 7 to 11."""
    for graph in cycles.graphs[::25]:
        lengths = [
            len(cycle)
            for cycle in nx.simple_cycles(to_networkx(graph, to_undirected=True), length_bound=11)
        ]
        assert lengths == ([6] if graph.y.item() == 1 else [])


def test_every_graph_has_a_cycle(cycles):
    for graph in cycles.graphs[:400]:
        nodes, edges, _, pieces = counted(graph)
        assert edges - nodes + len(pieces) >= 1


def test_twins_have_equal_local_counts(cycles):
    for index in range(0, len(cycles), 50):
        assert counted(cycles[index]) == counted(cycles[index + 1])


def test_csl_has_15_numberings_of_10_graphs(csl):
    y = torch.cat([graph.y for graph in csl])
    assert y.tolist() == [kind for kind in range(10) for _ in range(15)]
    assert len({tuple(graph.edge_index.flatten().tolist()) for graph in csl}) == 150
    for graph in csl:
        ring = nx.circulant_graph(41, [1, CSL_SKIPS[graph.y.item()]])
        assert nx.is_isomorphic(to_networkx(graph, to_undirected=True), ring)
        assert torch.bincount(graph.edge_index[0]).tolist() == [4] * 41
    assert csl.split_sizes == {"train": 90, "val": 30, "test": 30}
    for name, copies in (("train", 9), ("val", 3), ("test", 3)):
        assert set(Counter(graph.y.item() for graph in csl[name]).values()) == {copies}
