"""What all encodings have in common."""

import copy
from dataclasses import dataclass

import numpy as np
import pytest
import torch
import torch_geometric.transforms as T
from torch_geometric.data import Data, InMemoryDataset

from gtcourse import encodings as enc
from gtcourse.graphs import DenseLoader, collate
from gtcourse.graphs.batch import ENCODINGS, PYG_NAMES
from tests.graphs.small import graph_of

NODES = [
    enc.AddDegrees(),
    enc.AddRandomWalks(4, pairs=False),
    enc.AddLaplacianEigenvectors(3),
    enc.AddSVD(2),
    enc.AddAnchorDistances(3),
]
PAIRS = [
    enc.AddShortestPaths(),
    enc.AddPathEdges(3),
    enc.AddPathTree(),
    enc.AddRandomWalks(4),
    enc.AddRings(6),
]
ALL = [*NODES, *PAIRS]


def test_encode_does_not_change_the_given_graphs():
    graph = Data(
        x=torch.zeros(2, 1), edge_index=torch.tensor([[0], [1]]), edge_attr=torch.ones(1, 1)
    )
    before = copy.deepcopy(graph)
    enc.encode([graph], *ALL)
    T.Compose(ALL)(graph)
    assert graph.keys() == before.keys()


def test_a_compose_with_a_function_is_applied_as_a_whole():
    """PyG's Compose takes any function, and a subclass may do more than its transforms."""
    ring = graph_of(4, [(i, (i + 1) % 4) for i in range(4)], seed=0)

    def marked(graph):
        graph.marked = True
        return graph

    class Twice(T.Compose):
        def forward(self, data):
            return super().forward(super().forward(data))

    (encoded,) = enc.encode([ring], T.Compose([enc.AddDegrees(), marked]))
    assert encoded.marked
    assert "in_degree" in encoded
    counted = []
    (_,) = enc.encode([ring], Twice([lambda graph: counted.append(1) or graph]))
    assert len(counted) == 2


def test_numpy_numbers_do_not_change_an_encodings_name():
    """By its name a folder of prepared graphs and a run are recognised."""
    assert repr(enc.AddSVD(np.int64(2))) == repr(enc.AddSVD(2))


def test_encoding_in_portions_gives_equal_distances(monkeypatch):
    several = [graph_of(4, [(i % 4, (i + 1) % 4)], seed=i) for i in range(7)]
    whole = enc.encode(several, enc.AddShortestPaths())
    monkeypatch.setattr(enc.transform, "PAIRS_AT_ONCE", 2 * 4**2)
    portions = enc.encode(several, enc.AddShortestPaths())
    assert all(torch.equal(a.distance, b.distance) for a, b in zip(whole, portions, strict=True))


class Made(InMemoryDataset):
    """A PyG data set of graphs of two sizes."""

    def process(self):
        made = [graph_of(n, [(0, 1), (1, 0)]) for n in (2, 3, 3)]
        for graph in made:
            del graph["distance"], graph["laplacian_eigenvectors"]
        made = [
            graph if self.pre_transform is None else self.pre_transform(graph) for graph in made
        ]
        self.save(made, self.processed_paths[0])

    processed_file_names = "made.pt"

    def __init__(self, root, **transforms):
        super().__init__(str(root), **transforms)
        self.load(self.processed_paths[0])


def test_node_encodings_are_pre_transforms_of_a_pyg_dataset(tmp_path):
    data = Made(tmp_path, pre_transform=T.Compose(NODES))
    assert data[1].laplacian_eigenvectors.shape == (3, 3)
    assert data[2].in_degree.tolist() == [1, 1, 0]


def test_all_encodings_are_transforms_of_a_pyg_dataset(tmp_path):
    data = Made(tmp_path, transform=T.Compose(ALL))
    assert [data[i].distance.shape for i in range(3)] == [(2, 2), (3, 3), (3, 3)]
    batch = next(iter(DenseLoader([*data], 3)))
    assert {*batch.encodings} == {*ENCODINGS} - {*PYG_NAMES}


def test_unreachable_anchors_are_padded_as_unreachable():
    batch = collate(enc.encode([graph_of(2, [(0, 1)])], enc.AddAnchorDistances(3)), num_nodes=3)
    assert batch.encodings["anchor_distances"][0, 2].tolist() == [-1, -1, -1]


def test_an_encoding_with_a_forward_of_its_own_is_called():
    """As PyG's transforms are; ``compute`` of its base class would give other values."""

    class Tenfold(enc.AddDegrees):
        def forward(self, data):
            data = super().forward(data)
            data.in_degree = 10 * data.in_degree
            return data

    graph = graph_of(3, [(0, 1), (1, 2)])
    (encoded,) = enc.encode([graph], Tenfold())
    (plain,) = enc.encode([graph], enc.AddDegrees())
    assert encoded.in_degree.equal(10 * plain.in_degree)
    with pytest.raises(ValueError, match="is not computed for a whole batch; expected it to be"):
        enc.encode_batch(collate([graph]), Tenfold())


def test_encodings_with_attributes_of_their_own_and_repeated_ones_go_together():
    walks = [enc.AddRandomWalks(2), enc.AddRandomWalks(3, pairs=False)]
    graph = graph_of(3, [(0, 1), (1, 2)])
    (encoded,) = enc.encode([graph], *walks, enc.AddRings(6), enc.AddRings(6))
    assert encoded.random_walks.shape == (3, 3, 2)
    assert encoded.rwse.shape == (3, 3)


@dataclass(eq=False)
class Named(enc.Encoding):
    """An encoding of a reader, whose attribute has a name that depends on a field."""

    on_device = True
    k: int

    def compute(self, pairs):
        return {f"mine{self.k}": pairs.adjacency.sum(dim=-1, keepdim=True).float()}


def test_two_encodings_of_one_class_may_set_two_attributes():
    graph = graph_of(3, [(0, 1), (1, 0)], seed=0)
    (encoded,) = enc.encode([graph], Named(1), Named(2), Named(2))
    assert {"mine1", "mine2"} < {*encoded.keys()}
    batch = enc.encode_batch(collate([graph]), Named(1), Named(2), Named(2))
    assert {"mine1", "mine2"} < {*batch.encodings}
