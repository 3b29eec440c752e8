"""Puzzles: each answer recomputed from the graph."""

import networkx as nx
import pytest
from torch_geometric.utils import to_networkx

from gtcourse.course.exercises.chapter08 import dials, edge_labels
from gtcourse.graphs import MISSING_LABEL, check_graphs, collate

SIZES = (600, 200, 200)


def read(kind: int, who: str) -> dict[str, int]:
    """What a node's category says: the asker's dial, or a speaker's sign and dial."""
    if who == "listener":
        return {"sign": kind} if kind < 2 else {"asked": kind - 1}
    return {"dial": 1 + (kind - 1) // 2, "sign": (kind - 1) % 2} if kind else {"asked": 0}


def test_each_tree_has_one_labelled_edge_and_its_label_is_the_target():
    dataset = edge_labels(SIZES)
    check_graphs(dataset.graphs)
    for graph in dataset:
        pairs = zip(graph.edge_index.T.tolist(), graph.edge_attr[:, 0].tolist(), strict=True)
        (one, label), (other, same) = ((pair, label) for pair, label in pairs if label)
        assert one == other[::-1]
        assert label == same == int(graph.y) + 1
        assert nx.is_tree(to_networkx(graph, to_undirected=True))
    batch = collate(dataset.graphs[:8])
    assert batch.target == "graph"
    assert batch.y.tolist() == [0, 1, 2, 3] * 2


@pytest.mark.parametrize("who", ["listener", "speaker"])
def test_the_dial_puzzles_target_is_the_sign_of_the_speaker_that_counts(who):
    dataset = dials(SIZES, steps=8, who=who)
    check_graphs(dataset.graphs)
    for graph in dataset:
        path = to_networkx(graph, to_undirected=True)
        assert nx.is_tree(path)
        assert sorted(degree for _, degree in path.degree) == [1, 1] + [2] * 7
        assert graph.num_edges == 16
        assert graph.edge_attr is None
        nodes = [read(kind, who) for kind in graph.x[:, 0].tolist()]
        (asker,) = (i for i, node in enumerate(nodes) if "asked" in node)
        assert path.degree[asker] == 1
        steps = nx.single_source_shortest_path_length(path, asker)
        dialled = {i: node.get("dial", nodes[asker]["asked"]) for i, node in enumerate(nodes)}
        (right,) = (i for i in path if i != asker and steps[i] == dialled[i])
        expected = [MISSING_LABEL] * graph.num_nodes
        expected[asker] = nodes[right]["sign"]
        assert graph.y.tolist() == expected
    assert collate(dataset.graphs[:8]).target == "node"
