"""Parts of a data set, in memory and in a mapped folder."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from gtcourse.encodings import AddDegrees, AddRings, encode
from gtcourse.encodings.prepare import prepare
from gtcourse.graphs import GraphDataset, collate, open_graphs
from tests.graphs.small import assert_same
from tests.train.tiny_data import tiny

COUNT = 18


@pytest.fixture(params=["memory", "folder"])
def dataset(request, tmp_path) -> GraphDataset:
    """Six graphs a split, with ring encodings, which a folder stores in narrower types."""
    if request.param == "memory":
        return encode(tiny("zinc", 6), AddRings(6))
    prepare(tiny("zinc", 6), tmp_path / "graphs", stored=(AddRings(6),), progress=False)
    return open_graphs(tmp_path / "graphs")


def assert_same_graph(graph: Data, expected: Data) -> None:
    assert {*graph.keys()} == {*expected.keys()}
    for name in expected.keys():  # noqa: SIM118 (of a graph it is no mapping)
        assert graph[name].dtype == expected[name].dtype
        assert torch.equal(graph[name], expected[name])


def test_iterating_a_folder_yields_every_graph_with_its_stored_encodings(dataset):
    expected = encode(tiny("zinc", 6), AddRings(6)).graphs
    graphs = list(dataset)
    assert len(graphs) == len(dataset) == COUNT
    for graph, other in zip(graphs, expected, strict=True):
        assert_same_graph(graph, other)
    assert_same_graph(dataset[-1], expected[-1])
    assert_same_graph(dataset[np.int64(2)], expected[2])


@pytest.mark.parametrize(
    ("key", "numbers"),
    [
        (slice(1, 3), [1, 2]),
        (slice(None, None, -6), [17, 11, 5]),
        ([0, -1], [0, 17]),
        (torch.tensor([3, 3]), [3, 3]),
        (torch.arange(COUNT) >= 16, [16, 17]),
        (np.array([4]), [4]),
        ([], []),
    ],
    ids=str,
)
def test_selected_graphs_keep_their_splits(dataset, key, numbers):
    some = dataset[key]
    assert type(some) is type(dataset)
    assert some.split.tolist() == [number // 6 for number in numbers]
    assert some.name == dataset.name
    for graph, number in zip(some, numbers, strict=True):
        assert_same_graph(graph, dataset[number])


def test_a_slice_has_a_different_digest(dataset):
    assert dataset[:17].digest() != dataset.digest()
    assert dataset[:].digest() == dataset.digest()


@pytest.mark.parametrize(
    ("key", "error", "says"),
    [
        (COUNT, IndexError, "there is no graph 18; expected one of 18 graphs."),
        (-19, IndexError, "there is no graph -19; expected one of 18 graphs."),
        ([0, 99], IndexError, "there is no graph 99; expected one of 18 graphs."),
        (
            True,
            TypeError,
            "True is not a selection of graphs; expected an index, a slice, indices, or",
        ),
        (1.5, TypeError, "1.5 is not a selection of graphs; expected"),
        (torch.arange(17) < 3, TypeError, "torch.bool [17] is not a selection of graphs; expected"),
        (torch.ones(2), TypeError, "torch.float32 [2] is not a selection of graphs; expected"),
        ("valid", KeyError, "'valid' is not a split; expected train, val, test."),
    ],
    ids=str,
)
def test_an_invalid_index_raises(dataset, key, error, says):
    with pytest.raises(error) as raised:
        dataset[key]
    assert str(raised.value.args[0]).startswith(says)


def test_graphs_of_a_folder_are_batched_and_encoded_like_graphs_in_memory(tmp_path):
    folder = prepare(tiny("zinc", 6), tmp_path / "graphs", stored=(), progress=False)
    assert_same(collate(folder.train), collate(tiny("zinc", 6).train))
    encoded = encode(folder[3:9], AddDegrees())
    assert type(encoded) is GraphDataset
    expected = encode(tiny("zinc", 6)[3:9], AddDegrees())
    assert encoded.split.tolist() == expected.split.tolist()
    for graph, other in zip(encoded, expected, strict=True):
        assert_same_graph(graph, other)
