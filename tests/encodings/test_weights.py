"""Encodings of weighted graphs, and how weights and arguments are refused."""

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from gtcourse.encodings import (
    AddLaplacianEigenvectors,
    AddRandomWalks,
    AddShortestPaths,
    AddSVD,
    encode,
    encode_batch,
)
from gtcourse.encodings.transform import Encoding, Pairs
from gtcourse.graphs import collate
from tests.graphs.small import of_edges
from tests.models.small import default_dtype
from tests.properties.encodings import eigenvectors, singular_vectors, walks


def triangle(weights: list[float]):
    """Edges 0 → 1, 1 → 2, 2 → 0, each with its weight, and back with half of it."""
    graph = of_edges(3, [(0, 1), (1, 2), (2, 0)], both=False)
    graph.edge_index = torch.cat([graph.edge_index, graph.edge_index.flip(0)], dim=1)
    graph.length = torch.tensor([*weights, *[weight / 2 for weight in weights]])
    return graph


def test_walks_take_edges_in_proportion_to_their_weights():
    walk = AddRandomWalks(1, weight="length")(triangle([1.0, 3.0, 4.0])).random_walks[..., 0]
    # From node 0 to node 1 with weight 1, and to node 2 with half of 4.
    assert walk[0].tolist() == pytest.approx([0, 1 / 3, 2 / 3])
    assert walk[1].tolist() == pytest.approx([0.5 / 3.5, 0, 3 / 3.5])


def test_the_laplacian_takes_the_larger_weight_of_both_directions():
    weights = torch.tensor([[0.0, 1.0, 4.0], [1.0, 0.0, 3.0], [4.0, 3.0, 0.0]]).double()
    expected = torch.linalg.eigvalsh(weights.sum(0).diag() - weights)
    graph = AddLaplacianEigenvectors(3, weight="length")(triangle([1.0, 3.0, 4.0]))
    torch.testing.assert_close(graph.laplacian_eigenvalues, expected.clamp(min=0).float())


@pytest.mark.parametrize(
    ("encoding", "loop"),
    [
        (AddLaplacianEigenvectors(3, weight="length"), eigenvectors),
        (AddLaplacianEigenvectors(3, "symmetric", weight="length"), eigenvectors),
        (AddLaplacianEigenvectors(3, "random_walk", weight="length"), eigenvectors),
        (AddRandomWalks(4, weight="length"), walks),
        (AddSVD(3, weight="length"), singular_vectors),
        (AddSVD(2, self_loops=False, weight="length"), singular_vectors),
    ],
    ids=["combinatorial", "symmetric", "random_walk", "walks", "svd", "svd_without_loops"],
)
def test_fractional_weights_equal_loops(encoding, loop):
    graph = triangle([0.25, 0.1, 0.7])
    with default_dtype(torch.float64):
        for got, expected in loop(encoding, encoding(graph)):
            torch.testing.assert_close(got, expected, rtol=0, atol=1e-7)


def test_singular_vectors_of_negative_weights_equal_the_loop():
    graph = triangle([-1.0, 2.0, 0.5])
    encoding = AddSVD(3, weight="length")
    with default_dtype(torch.float64):
        for got, expected in singular_vectors(encoding, encoding(graph)):
            torch.testing.assert_close(got, expected, rtol=0, atol=1e-7)


def test_unit_weights_give_the_unweighted_encoding():
    graph = of_edges(4, [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
    graph.ones = torch.ones(graph.num_edges)
    for plain, weighted in (
        (
            AddLaplacianEigenvectors(2, "symmetric"),
            AddLaplacianEigenvectors(2, "symmetric", weight="ones"),
        ),
        (AddRandomWalks(3, pairs=False), AddRandomWalks(3, pairs=False, weight="ones")),
        (AddSVD(2), AddSVD(2, weight="ones")),
    ):
        one = plain(graph)
        other = weighted(graph)
        for name in {*one.keys()} - {*graph.keys()}:
            assert torch.equal(one[name], other[name])


def test_encodings_with_and_without_weights_can_be_combined():
    graph = triangle([1.0, 3.0, 4.0])
    both = encode([graph], AddShortestPaths(), AddSVD(2), AddRandomWalks(2, weight="length"))[0]
    assert torch.equal(both.random_walks, AddRandomWalks(2, weight="length")(graph).random_walks)
    assert torch.equal(both.svd, AddSVD(2)(graph).svd)
    assert torch.equal(both.distance, AddShortestPaths()(graph).distance)


def test_repr_of_an_encoding_names_its_weight_only_if_given():
    assert repr(AddSVD(8)) == "AddSVD(rank=8, self_loops=True)"
    assert repr(AddRandomWalks(4)) == "AddRandomWalks(steps=4, pairs=True)"
    assert repr(AddSVD(8, weight="w")) == "AddSVD(rank=8, self_loops=True, weight='w')"


@pytest.mark.parametrize(
    ("weights", "encoding", "reason"),
    [
        (
            None,
            AddSVD(2, weight="length"),
            "graph 0 has no length; expected a tensor with a weight",
        ),
        (torch.ones(5), AddSVD(2, weight="length"), r"graph 0 has length of torch.float32 \[5\]; "),
        (torch.ones(6, 2), AddSVD(2, weight="length"), r"expected a weight for each edge, \[6\]"),
        (torch.full((6,), torch.nan), AddSVD(2, weight="length"), "length with NaN or infinity"),
        (
            -torch.ones(6),
            AddRandomWalks(2, weight="length"),
            "the weight -1; expected weights of 0",
        ),
        (-torch.ones(6), AddLaplacianEigenvectors(2, weight="length"), "for AddLaplacianEigenvec"),
    ],
)
def test_invalid_weights_raise(weights, encoding, reason):
    graph = triangle([1.0, 1.0, 1.0])
    graph.length = weights
    with pytest.raises(ValueError, match=reason):
        encoding(graph)


def test_encode_batch_reads_weights_only_from_edge_attr():
    batch = collate([triangle([1.0, 1.0, 1.0])])
    with pytest.raises(ValueError, match="reads 'length', which a batch does not hold"):
        encode_batch(batch, AddRandomWalks(2, weight="length"))


class Annotated(AddLaplacianEigenvectors):
    """A subclass without fields of its own."""


@dataclass(eq=False)
class OwnFields(Encoding):
    """Its annotations are types, for this file does not postpone them."""

    steps: int
    most: int | None = None
    loops: bool = True

    def compute(self, pairs: Pairs) -> dict[str, Tensor]:
        return {}


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: AddLaplacianEigenvectors(k=-3), "k is -3; expected a whole number, 1 or more"),
        (lambda: Annotated(k=-3), "k is -3; expected a whole number, 1 or more"),
        (lambda: OwnFields(-3), "steps is -3; expected a whole number, 1 or more"),
        (lambda: OwnFields(2.5), "steps is 2.5; expected a whole number, 1 or more"),
        (lambda: OwnFields(1, most=0), "most is 0; expected a whole number, 1 or more"),
        (lambda: OwnFields(1, loops="no"), "loops is 'no'; expected True or False"),
        (lambda: AddSVD(2, weight=1), "weight is 1; expected a name, or None"),
        (lambda: AddSVD(2, self_loops=1), "self_loops is 1; expected True or False"),
    ],
)
def test_arguments_are_checked_when_an_encoding_is_created(make, reason):
    with pytest.raises(ValueError, match=reason):
        make()
