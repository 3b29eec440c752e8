"""What a pair of nodes is to CSA: bonds, relative positions, rings (Eqs. 8 to 13, Figure 2)."""

from itertools import combinations

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from gtcourse import collate
from gtcourse.encodings import AddRandomWalks, AddShortestPaths, encode
from gtcourse.models import BondEncoding, DistanceEncoding, EdgeMaps, PairWalkEncoding
from gtcourse.models.csa_kernel import rows_of
from gtcourse.models.embeddings import PairEncoding
from tests.encodings.graphs import DIAMOND, PATH_OF_FOUR
from tests.graphs.random_graphs import graph_of
from tests.models.csas import STEPS, encoded
from tests.models.graphormers import large_weights


def numbered(table: nn.Embedding, first: float, step: float = 1.0) -> None:
    """Vectors first, first + step, … that a sum shows."""
    rows = torch.arange(len(table.weight), dtype=table.weight.dtype)
    table.weight.data = (first + step * rows)[:, None].expand_as(table.weight).clone()


def bonds(types: tuple[int, ...], with_rings: bool = False) -> BondEncoding:
    """Edges are 1, 2, …; no edge is 100, or 200 on a ring; itself is 1000."""
    encoding = BondEncoding(types, 1, with_rings)
    numbered(encoding.edges, 1)
    numbered(encoding.no_edge, 100, 100)
    numbered(encoding.itself, 1000)
    return encoding


def typed(n: int, edges: dict[tuple[int, int], list[int]]) -> Data:
    graph = graph_of(n, [*edges])
    graph.edge_attr = torch.tensor([*edges.values()])
    return graph


def vectors(encoding: nn.Module, graph: Data) -> list[list[float]]:
    return encoding(collate(encoded(graph)))[0, ..., 0].tolist()


def test_an_edge_has_its_types_vector_a_node_its_own_and_all_else_a_third():
    graph = typed(4, {(0, 1): [0], (1, 0): [0], (1, 2): [3], (3, 3): [2]})
    assert vectors(bonds((4,)), graph) == [
        [1000, 1, 100, 100],
        [1, 1000, 4, 100],
        [100, 100, 1000, 100],  # from 1 to 2, not back
        [100, 100, 100, 3],  # a loop among the edges keeps its edge's vector
    ]


def test_a_pair_on_a_ring_has_a_second_set_of_vectors():
    ring = {(0, 1): [0, 0], (1, 2): [1, 0], (2, 3): [0, 2], (3, 0): [1, 2], (3, 4): [1, 2]}
    graph = typed(5, ring)
    (square,) = encoded(graph)
    assert int(square.ring.sum()) == 4 * 3
    # Two types and three, then the same on rings: 1, 2 and 3, 4, 5, then 6, 7 and 8, 9, 10.
    assert vectors(bonds((2, 3), with_rings=True), graph) == [
        [1000, 6 + 8, 200, 200, 100],  # an edge from 3 to 0 is none from 0 to 3
        [200, 1000, 7 + 8, 200, 100],
        [200, 200, 1000, 6 + 10, 100],
        [7 + 10, 200, 200, 1000, 2 + 5],
        [100, 100, 100, 100, 1000],
    ]
    assert len(bonds((2, 3), with_rings=True).edges.weight) == 10


def path(length: int) -> Data:
    """0 to ``length`` and back, and a node that nobody reaches."""
    steps = [(i, i + 1) for i in range(length)]
    return graph_of(length + 2, steps + [(j, i) for i, j in steps])


def test_all_distances_up_to_p_differ_and_farther_is_like_unreachable():
    """In the authors' code 3 and 4 have one vector, as have 5 to 8, and unreachable has none."""
    p, batch = 8, collate(encoded(path(10)))
    encoding = DistanceEncoding(p, 4)
    got = encoding(batch)[0]
    itself, *lengths, nine, ten, unreachable = got[0]
    assert len(lengths) == 8
    different = [itself, *lengths, unreachable]
    for one, other in combinations(different, 2):
        assert not torch.equal(one, other)
    assert torch.equal(nine, unreachable)
    assert torch.equal(ten, unreachable)
    assert bool(unreachable.any())
    torch.testing.assert_close(torch.stack(different), encoding.vectors.weight)
    got[0, -1].sum().backward()
    assert encoding.vectors.weight.grad.sum(dim=1).tolist() == [0] * 9 + [4]


@pytest.mark.parametrize("relative", ["walks", "distances", None])
def test_additive_rings_add_one_of_two_vectors_to_all_channels(relative):
    batch = collate(encoded(graph_of(5, [(0, 1), (1, 2), (2, 0), (3, 4)])))
    encoding = large_weights(PairEncoding((4,), 7, relative, STEPS, "additive"))
    no_ring, on_ring = encoding.ring.weight.data.clone()
    with_rings = encoding(batch)
    encoding.ring.weight.data.zero_()
    added = (with_rings - encoding(batch))[0]
    for i in range(5):
        for j in range(5):
            bound = i != j and i < 3 and j < 3
            torch.testing.assert_close(added[i, j], on_ring if bound else no_ring)


@pytest.mark.parametrize("rings", ["additive", "categorical", None])
@pytest.mark.parametrize("relative", ["walks", "distances"])
def test_some_rows_of_the_pairs_are_rows_of_all(relative, rings):
    some = [graph_of(6, [(0, 1), (1, 2), (2, 0), (3, 3), (4, 5)]), graph_of(4, [(0, 1)])]
    batch = collate(encoded(*some))
    encoding = large_weights(PairEncoding((4,), 8, relative, STEPS, rings))
    maps = large_weights(EdgeMaps(8, 8, values=True, bias=True))
    E = encoding(batch)
    for rows in (slice(0, 2), slice(2, 5), slice(5, 6), slice(None)):
        assert torch.equal(encoding(batch, rows), E[:, rows])
        for got, whole in zip(maps(encoding(batch, rows)), rows_of(maps(E), rows), strict=True):
            assert (got is None and whole is None) or torch.allclose(got, whole, atol=1e-12)


def figure_2() -> tuple[Tensor, Tensor]:
    """Batches of the diamond and of the path of four, each with its middle edge."""
    both = encode([DIAMOND, PATH_OF_FOUR], AddRandomWalks(3), AddShortestPaths())
    left, right = (collate([graph]) for graph in both)
    return (left, (0, 0, 1)), (right, (0, 1, 2))


@pytest.mark.holds("CSA, Figure 2")
def test_distances_cannot_tell_the_pairs_of_figure_2_apart_and_walks_can():
    torch.manual_seed(0)
    for encoding, alike in ((DistanceEncoding(3, 8), True), (PairWalkEncoding(3, 8), False)):
        left, right = (encoding(batch)[middle] for batch, middle in figure_2())
        assert torch.equal(left, right) == alike
    assert float((left - right).abs().max().detach()) > 0.05
