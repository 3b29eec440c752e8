"""Eq. 7 and the other places for edge features: paths, trees of paths, columns of categories."""

import pytest
import torch
from hypothesis import example, given

from gtcourse import collate
from gtcourse.encodings import AddPathTree, AddShortestPaths, encode
from gtcourse.models import SpatialEncoding
from gtcourse.models.graphormer import EdgeEncoding
from tests.encodings.graphs import of_edges
from tests.graphs.random_graphs import graph_of, graphs
from tests.loops.graphormer import edge_encoding_loop, edge_sum_loop
from tests.models.graphormers import encoded, large_weights


@pytest.mark.parametrize("tree", [False, True])
@pytest.mark.parametrize("reduce", ["mean", "sum"])
@pytest.mark.holds("CS224W, S11", "Graphormer, Eq. 7")
@given(graph=graphs(max_nodes=6))
@example(graph=graph_of(6, [(i, i + 1) for i in range(5)]))  # longer than what is read of a path
def test_the_sum_along_a_path_is_the_lectures_and_the_mean_graphormers(tree, reduce, graph):
    encoding = large_weights(EdgeEncoding(2, 4, 4, 3, reduce=reduce))
    got = encoding(collate(encoded(graph, tree=tree)))[0]
    of_pair = {"mean": edge_encoding_loop, "sum": edge_sum_loop}[reduce]
    for i in range(len(graph.x)):
        for j in range(len(graph.x)):
            expected = torch.stack([of_pair(encoding, graph, i, j, head) for head in range(2)])
            torch.testing.assert_close(got[:, i, j], expected, rtol=1e-10, atol=1e-10)


def test_a_chain_of_500_needs_no_path_written_out():
    chain = of_edges(500, [(i, i + 1) for i in range(499)])
    chain.edge_attr = torch.ones(998, 1).long()
    encoding = large_weights(EdgeEncoding(2, 4, 500, 500))
    with torch.no_grad():
        got = encoding(collate(encode([chain], AddShortestPaths(), AddPathTree())))
        each = encoding.table()[:, 1]  # [L, H]: every edge is of kind 1
    means = each.cumsum(0) / torch.arange(1, 501)[:, None]
    torch.testing.assert_close(got[0, :, 0, 1:], means[:499].T)


def test_distances_beyond_the_longest_share_a_scalar_and_no_path_has_its_own():
    encoding = SpatialEncoding(1, max_distance=2)
    encoding.scalars.weight.data = torch.tensor([[10.0], [20.0], [21.0], [22.0]])
    got = encoding.of(torch.tensor([[[-1, 0, 1], [2, 3, 400], [0, 0, 0]]]))
    assert got[0, 0].tolist() == [[10, 20, 21], [22, 22, 22], [20, 20, 20]]
