"""Graphormer's encodings and layer; the whole model stands beside its loop in ``properties``."""

import networkx as nx
import pytest
import torch
from hypothesis import example, given
from torch import nn
from torch_geometric.data import Data

from gtcourse import collate
from gtcourse.encodings import AddPathEdges, AddPathTree, AddShortestPaths, encode
from gtcourse.models import (
    GIN,
    CategoryEmbedding,
    GINConfig,
    Graphormer,
    GraphormerConfig,
    GraphormerLayer,
    SpatialEncoding,
)
from gtcourse.models.graphormer import CentralityEncoding, EdgeEncoding
from tests.graphs.small import graph_of, graphs, of_networkx
from tests.loops.encodings import distances_loop
from tests.loops.graphormer import edge_encoding_loop, edge_sum_loop
from tests.models.small import GRAPHORMER, PRECISIONS, encoded, large_weights, load, reference

PATH_OF_THREE = graph_of(3, [(0, 1), (1, 0)])


def test_degrees_beyond_the_largest_share_a_vector():
    encoding = CentralityEncoding(max_in_degree=2, max_out_degree=1, d_model=1)
    encoding.incoming.weight.data = torch.tensor([[1.0], [2.0], [3.0]])
    encoding.outgoing.weight.data = torch.tensor([[10.0], [20.0]])
    batch = collate([graph_of(4, [])])
    degree = torch.tensor([[0, 1, 2, 30]])
    batch.encodings = {"in_degree": degree, "out_degree": degree}
    assert encoding(batch)[0, :, 0].tolist() == [11, 22, 23, 23]


def test_far_pairs_share_a_scalar_and_unreachable_pairs_have_their_own():
    encoding = SpatialEncoding(1, max_distance=2)
    encoding.scalars.weight.data = torch.tensor([[10.0], [20.0], [21.0], [22.0]])
    got = encoding.of(torch.tensor([[[-1, 0, 1], [2, 3, 400], [0, 0, 0]]]))
    assert got[0, 0].tolist() == [[10, 20, 21], [22, 22, 22], [20, 20, 20]]


@pytest.mark.parametrize("tree", [False, True])
@pytest.mark.parametrize("reduce", ["mean", "sum"])
@pytest.mark.holds("CS224W, S11", "Graphormer, Eq. 7")
@given(graph=graphs(max_nodes=6))
@example(graph=graph_of(6, [(i, i + 1) for i in range(5)]))  # longer than what is read of a path
def test_edge_encoding_is_the_mean_of_graphormer_or_the_sum_of_the_lecture(tree, reduce, graph):
    encoding = large_weights(EdgeEncoding(2, 4, 4, 3, reduce=reduce))
    paths = AddPathTree() if tree else AddPathEdges(5)
    got = encoding(collate(encoded(graph, encodings=(AddShortestPaths(), paths))))[0]
    of_pair = {"mean": edge_encoding_loop, "sum": edge_sum_loop}[reduce]
    for i in range(len(graph.x)):
        for j in range(len(graph.x)):
            expected = torch.stack([of_pair(encoding, graph, i, j, head) for head in range(2)])
            torch.testing.assert_close(got[:, i, j], expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("stored", [1, 2, 3])
def test_a_compiled_edge_encoding_is_nan_for_graphs_with_truncated_paths(stored):
    encoding = large_weights(EdgeEncoding(2, 4, 4, 3))
    chain = graph_of(6, [(i, i + 1) for i in range(5)])
    pair = graph_of(2, [(0, 1)])
    transforms = AddShortestPaths(), AddPathEdges(stored)
    batch = collate(encoded(pair, chain, encodings=transforms))
    found = torch.compile(encoding, backend="eager")(batch)
    assert found[1].isnan().all().item() is (stored < 3)
    exact = collate(encoded(pair, chain, encodings=(AddShortestPaths(), AddPathEdges(3))))
    assert torch.equal(found[0], encoding(exact)[0])


@pytest.mark.parametrize("reduce", ["mean", "sum"])
def test_clamping_distances_to_the_path_length_does_not_change_the_edge_encoding(reduce):
    encoding = large_weights(EdgeEncoding(2, 4, 4, 3, reduce=reduce))
    chain = graph_of(6, [(i, i + 1) for i in range(5)])
    exact = collate(encoded(chain, encodings=(AddShortestPaths(), AddPathEdges(3))))
    lowered = collate(encoded(chain, encodings=(AddShortestPaths(3), AddPathEdges(3))))
    assert not exact.encodings["distance"].equal(lowered.encodings["distance"])
    assert encoding(exact).equal(encoding(lowered))


def test_the_virtual_node_scalar_fills_only_its_row_and_column():
    model = large_weights(Graphormer(GRAPHORMER))
    batch = collate(encoded(PATH_OF_THREE))
    bias = model.bias(batch)
    assert bias.shape == (1, 2, 4, 4)
    for head, t in enumerate(model.bias.virtual):
        assert bool((bias[0, head, 0] == t).all() and (bias[0, head, :, 0] == t).all())
    assert torch.equal(bias[:, :, 1:, 1:], sum(part(batch) for part in model.bias.encodings))


def test_perturbation_is_added_to_the_node_embeddings():
    model = large_weights(Graphormer(GRAPHORMER))
    batch = collate(encoded(PATH_OF_THREE))
    moved = model(batch, perturbation=model.embedding.weight[5].expand(1, 3, 8).clone())
    model.embedding.weight.data += model.embedding.weight[5].clone()
    torch.testing.assert_close(moved, model(batch))


def test_initial_weights_have_the_authors_distribution():
    torch.manual_seed(0)
    model = Graphormer(GraphormerConfig(d_model=256, num_layers=4, num_edge_types=(400,)))
    tables = nn.Embedding | CategoryEmbedding
    weights = [m for m in model.modules() if isinstance(m, tables | nn.Linear)]
    assert len(weights) == 1 + 2 + 2 + 4 * 6 + 1  # atoms, degrees, pairs, layers, head
    for module in weights:
        spread = float(module.weight.detach().std())
        expected = 0.02 if isinstance(module, tables) else 0.02 / 4**0.5
        assert spread == pytest.approx(expected, rel=0.2), module
        assert getattr(module, "bias", None) is None or not module.bias.any()


@PRECISIONS
def test_layer_equals_the_authors_code(dtype, atol):
    stored = reference("graphormer")
    layer = GraphormerLayer(16, num_heads=4)
    for name in ("query", "key", "value", "output"):
        letter = "O" if name == "output" else name[0].upper()
        weight = stored(f"layer/W_{letter}")
        bias = stored(f"layer/b_{letter}")
        load(getattr(layer.attention, name), weight, bias)
    for number, place in ((1, 0), (2, 2)):
        weight = stored(f"layer/W_ffn{number}")
        bias = stored(f"layer/b_ffn{number}")
        load(layer.feed_forward[place], weight, bias)
    for norm, name in ((layer.attention_norm, "ln1"), (layer.feed_forward_norm, "ln2")):
        load(norm, stored(f"layer/{name}.gamma"), stored(f"layer/{name}.beta"))
    x = stored("layer/x").to(dtype)
    bias = stored("layer/attn_bias").to(dtype)
    rows = bias[:, 0].isfinite().any(1)
    out = layer.to(dtype)(x, bias)[rows]  # -inf in the bias, as the model masks its padding
    torch.testing.assert_close(out, stored("layer/out").to(dtype)[rows], rtol=0, atol=atol)


@pytest.fixture(scope="module")
def molecules() -> list[Data]:
    stored = reference("graphormer")
    given = [
        Data(
            x=torch.zeros(int(stored(f"graph{i}/num_nodes")), 1),
            edge_index=stored(f"graph{i}/edge_index").long(),
            edge_attr=stored(f"graph{i}/bond").long()[:, None],
        )
        for i in range(30)
    ]
    return encode(given, AddShortestPaths(), AddPathEdges(20))


def test_edges_on_unique_shortest_paths_equal_the_authors_fixed_code(molecules):
    stored = reference("graphormer")
    compared = 0
    differed_before = 0
    for i, graph in enumerate(molecules):
        only = stored(f"graph{i}/n_shortest_paths_capped2") == 1
        behind = torch.arange(20) >= graph.distance[..., None]
        ours = (graph.path_edges[..., 0].long() + 2).masked_fill(behind, -1)
        fixed, first = (stored(f"graph{i}/{v}").long() for v in ("edge_input", "edge_input_v1"))
        length = fixed.shape[-1]
        assert torch.equal(ours[..., :length][only], fixed[only])
        assert bool((ours[..., length:][only] == -1).all())
        compared += int(only.sum())
        differs = (ours[..., : first.shape[-1]] != first).any(-1)
        differed_before += int(differs[only].sum())
    assert compared > 9000
    assert differed_before > 500  # paths through node 0 were cut short in every release of 2021


@pytest.mark.holds("Graphormer, Figure 2")
@torch.no_grad()
def test_graphormer_separates_the_graphs_of_figure_2_but_1_wl_and_gin_do_not():
    """Two squares and two triangles, and the sets of distances that the figure prints."""
    squares = nx.ladder_graph(3)
    triangles = nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)])
    drawn = [of_networkx(graph) for graph in (squares, triangles)]
    sets = [{tuple(sorted(row)) for row in distances_loop(graph)} for graph in drawn]
    assert sets[0] == {(0, 1, 1, 2, 2, 3), (0, 1, 1, 1, 2, 2)}
    assert sets[1] == {(0, 1, 1, 2, 3, 3), (0, 1, 1, 1, 2, 2)}
    for graph in (squares, triangles):  # 1-WL from equal colours; six rounds for six nodes
        nx.set_node_attributes(graph, "same", "colour")
    one, other = (
        nx.weisfeiler_lehman_graph_hash(graph, node_attr="colour", iterations=6)
        for graph in (squares, triangles)
    )
    assert one == other
    for graph in drawn:
        graph.x = graph.x.long()
        graph.edge_attr = torch.ones(graph.num_edges, 1).long()
    batch = collate(encoded(*drawn))
    torch.manual_seed(0)
    left, right = GIN(GINConfig(num_node_types=(1,), num_node_features=0)).eval()(batch).flatten()
    torch.testing.assert_close(left, right)
    left, right = Graphormer(GraphormerConfig(num_layers=2)).double().eval()(batch)
    assert abs(float(left - right)) > 1e-7


def test_no_attention_bias_encodes_the_edge_between_two_equal_nodes():
    torch.manual_seed(0)
    layer = GraphormerLayer(8, 2).double()
    h = torch.randn(1, 1, 8).double().expand(1, 2, 8)
    one, other = (layer(h, 5 * torch.randn(1, 2, 2, 2).double()) for _ in range(2))
    torch.testing.assert_close(one, other, rtol=0, atol=1e-14)
