"""Eq. 7 and the other places for edge features: paths, trees of paths, columns of categories."""

import pytest
import torch
from hypothesis import assume, example, given
from hypothesis import strategies as st

from gtcourse import collate, load_dataset
from gtcourse.encodings import AddPathTree, AddShortestPaths, encode
from gtcourse.models import Graphormer, SpatialEncoding
from gtcourse.models.embeddings import CATEGORY_STRIDE
from gtcourse.models.graphormer import EdgeEncoding, EdgeValues, NodeEdges, flat_edges
from tests.encodings.graphs import of_edges, renumbered
from tests.graphs.random_graphs import graph_of, graphs
from tests.loops.graphormer import edge_encoding_loop, edge_sum_loop
from tests.models.graphormers import SMALL, encoded, large_weights


@given(some=st.lists(graphs(max_nodes=8), min_size=1, max_size=3), columns=st.integers(1, 2))
def test_along_trees_and_along_paths_are_the_same_means(some, columns):
    for graph in some:
        graph.edge_attr = torch.cat([graph.edge_attr, 3 - graph.edge_attr], dim=1)[:, :columns]
    encoding = large_weights(EdgeEncoding(2, 2 * CATEGORY_STRIDE, 4, 3))
    by_path = encoding(collate(encoded(*some, length=8)))
    by_tree = encoding(collate(encoded(*some, tree=True)))
    torch.testing.assert_close(by_tree, by_path, rtol=1e-12, atol=1e-12)
    assume(bool((by_path != 0).any()))  # without paths there is no gradient
    gradients = torch.autograd.grad(by_tree.square().sum(), encoding.parameters())
    wanted = torch.autograd.grad(by_path.square().sum(), encoding.parameters())
    torch.testing.assert_close(gradients, wanted, rtol=1e-10, atol=1e-10)


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


def test_pairs_without_a_path_and_a_node_with_itself_get_no_edge_encoding():
    graph = graph_of(5, [(0, 1), (1, 0), (2, 3), (3, 2)])
    c = large_weights(EdgeEncoding(2, 4, 4, 3))(collate(encoded(graph)))[0]
    on_path = torch.zeros(5, 5).bool()
    on_path[0, 1] = on_path[1, 0] = on_path[2, 3] = on_path[3, 2] = True
    assert bool((c[:, on_path] != 0).all())
    assert bool((c[:, ~on_path] == 0).all())


def test_float32_means_along_the_paths_of_molecules_equal_the_loop():
    torch.manual_seed(0)
    nine_atoms = [g for g in load_dataset("molecules").graphs if g.num_nodes == 9][:3]
    molecules = [renumbered(graph, torch.randperm(9)) for graph in nine_atoms]
    encoding = EdgeEncoding(2, 4, 6, 5)
    encoding.positions.data.normal_()
    got = encoding(collate(encoded(*molecules, length=20))).detach()
    assert got.dtype == torch.float32
    through_0 = 0
    for graph, c in zip(molecules, got, strict=True):
        tree = AddPathTree()(graph).path_tree
        for i in range(9):
            for j in range(9):
                through_0 += int(i != 0 and tree[i, j] == 0)
                wanted = [edge_encoding_loop(encoding, graph, i, j, h) for h in range(2)]
                torch.testing.assert_close(
                    c[:, i, j].double(), torch.stack(wanted), rtol=0, atol=1e-6
                )
    assert through_0 > 10  # where the published preprocessing went wrong


def test_each_direction_of_a_path_reads_its_edges_in_its_own_order():
    graph = of_edges(3, [(0, 1), (1, 2)])
    graph.edge_attr = torch.tensor([[1], [2], [1], [2]])
    encoding = large_weights(EdgeEncoding(1, 4, 4, 3))
    c = encoding(collate(encoded(graph)))[0, 0]
    table = encoding.table()[:, :, 0]
    torch.testing.assert_close(c[0, 2], (table[0, 1] + table[1, 2]) / 2)
    torch.testing.assert_close(c[2, 0], (table[0, 2] + table[1, 1]) / 2)


def test_several_columns_of_edge_features_are_averaged_as_rows_of_one_table():
    graph = of_edges(2, [(0, 1)])
    graph.edge_attr = torch.tensor([[1, 2], [1, 2]])
    encoding = large_weights(EdgeEncoding(2, 2 * CATEGORY_STRIDE, 4, 3))
    c = encoding(collate(encoded(graph)))[0]
    both = (encoding.edges.weight[1] + encoding.edges.weight[CATEGORY_STRIDE + 2]) / 2
    torch.testing.assert_close(c[:, 0, 1], both @ encoding.positions[0])


def test_distances_beyond_the_longest_share_a_scalar_and_no_path_has_its_own():
    encoding = SpatialEncoding(1, max_distance=2)
    encoding.scalars.weight.data = torch.tensor([[10.0], [20.0], [21.0], [22.0]])
    got = encoding.of(torch.tensor([[[-1, 0, 1], [2, 3, 400], [0, 0, 0]]]))
    assert got[0, 0].tolist() == [[10, 20, 21], [22, 22, 22], [20, 20, 20]]


def test_the_model_reads_trees_where_it_has_no_path_edges():
    graph = graph_of(5, [(0, 1), (1, 2), (2, 3)])
    model = large_weights(Graphormer(SMALL))
    torch.testing.assert_close(
        model(collate(encoded(graph, tree=True))), model(collate(encoded(graph)))
    )


def test_what_an_edge_carries_goes_to_the_node_that_it_leads_to_weighed_by_its_attention():
    graph = graph_of(3, [(0, 1)])
    graph.edge_attr = torch.tensor([[2]])
    batch = collate([graph])
    nodes, values = NodeEdges(4, 6), EdgeValues(4, 6, num_heads=2)
    expected = torch.zeros(3, 6)
    expected[1] = nodes.edges.weight[2].detach()
    torch.testing.assert_close(nodes(batch)[0].detach(), expected)
    attention = torch.rand(1, 2, 3, 3)
    heads = [attention[0, h, 1, 0] * values.edges.weight[2, 3 * h : 3 * h + 3] for h in (0, 1)]
    expected[1] = torch.cat(heads).detach()
    torch.testing.assert_close(values(attention, flat_edges(batch))[0].detach(), expected)
