"""A graph without nodes is refused by one sentence, whichever way it comes in."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from gtcourse.encodings import encode
from gtcourse.graphs import DenseLoader, GraphDataset, collate, write_graphs
from gtcourse.graphs.batch import check_graph, check_graphs
from gtcourse.prepare import prepare
from tests.properties.counting import enough
from tests.properties.encodings import EVERY
from tests.properties.graphs import examples


def a_dataset(graphs: list[Data]) -> GraphDataset:
    return GraphDataset("none", "made here", graphs, [0] * len(graphs))


ENCODINGS = {
    repr(one): lambda graphs, one=one: encode(graphs, one)
    for subject in EVERY.values()
    for one in subject.settings
}
WAYS_IN: dict[str, Callable[[list[Data]], object]] = {
    **ENCODINGS,
    "each graph through each transform": lambda graphs: [
        one(graph) for graph in graphs for subject in EVERY.values() for one in subject.settings
    ],
    "collate": collate,
    "collate, padded": lambda graphs: collate(graphs, num_nodes=45),
    "DenseLoader": lambda graphs: DenseLoader(graphs, 2),
    "a file": lambda graphs: write_graphs("never.npz", a_dataset(graphs)),
    "a folder": lambda graphs: prepare(a_dataset(graphs), "never.npz"),
    "check_graph": lambda graphs: [check_graph(graph, i) for i, graph in enumerate(graphs)],
    "check_graphs": check_graphs,
}


@pytest.mark.parametrize("way", WAYS_IN)
@enough(0.1)
@given(example=examples(), place=st.integers(0, 3))
def test_a_graph_without_nodes_is_refused_in_a_sentence(way, example, place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first = example.graphs[0]
    empty = Data(
        x=first.x[:0],
        edge_index=torch.zeros(2, 0, dtype=torch.int64),
        edge_attr=first.edge_attr[:0],
        y=first.y[:0] if len(first.y) != 1 else first.y,
    )
    graphs = [*example.graphs]
    graphs.insert(min(place, len(graphs)), empty)
    sentence = r"^graph \d has no nodes; expected at least one\.$"
    with pytest.raises(ValueError, match=sentence) as said:
        WAYS_IN[way](graphs)
    assert "\n" not in str(said.value)
    assert not Path("never.npz").exists()
