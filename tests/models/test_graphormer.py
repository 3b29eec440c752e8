"""Graphormer beside the paper's equations, and what must hold for every graph."""

from dataclasses import replace

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import nn
from torch_geometric.data import Data

from gtcourse import collate, load_dataset
from gtcourse.encodings import AddDegrees, AddPathEdges, AddPathTree, AddShortestPaths, encode
from gtcourse.models import (
    Graphormer,
    GraphormerConfig,
    GraphormerLayer,
    LaplacianEncoding,
    SpatialEncoding,
)
from gtcourse.models.graphormer_encodings import CATEGORY_STRIDE, EdgeEncoding
from tests.encodings.graphs import of_edges, renumbered
from tests.graphs.random_graphs import graph_of, graphs
from tests.loops.graphormer import edge_encoding_loop, graphormer_loop, layer_loop

SMALL = GraphormerConfig(
    d_model=8,
    num_heads=2,
    num_layers=2,
    dropout=0.0,
    attention_dropout=0.0,
    max_distance=3,
    max_in_degree=30,
    max_out_degree=30,
    path_positions=4,
    max_path_length=3,
)
LADDER = [
    replace(SMALL, centrality=False, spatial=False, edges=None),
    replace(SMALL, centrality=False, edges=None),
    replace(SMALL, edges=None),
    replace(SMALL, edges="node"),
    replace(SMALL, edges="aggregation"),
    SMALL,
]


def large_weights(model: nn.Module, seed: int = 0) -> nn.Module:
    """Weights of size one, so that no part of the model hides behind another; in float64."""
    generator = torch.Generator().manual_seed(seed)
    model = model.double().eval()
    for p in model.parameters():
        p.data = torch.randn(p.shape, generator=generator, dtype=torch.float64) * 0.5
    return model


def encoded(*given: Data, length: int = 5) -> list[Data]:
    plain = [
        Data(x=g.x, edge_index=g.edge_index, edge_attr=g.edge_attr, y=g.get("y")) for g in given
    ]
    return encode(plain, AddDegrees(), AddShortestPaths(), AddPathEdges(length))


def shuffled(graph: Data, random) -> tuple[Data, torch.Tensor]:
    order = torch.tensor(random.sample(range(len(graph.x)), len(graph.x)))
    return renumbered(graph, order), order


@pytest.mark.parametrize("config", LADDER)
@given(graph=graphs(max_nodes=5))
def test_the_whole_model_equals_the_loop_over_tokens_pairs_and_heads(config, graph):
    model = large_weights(Graphormer(config))
    torch.testing.assert_close(
        model(collate(encoded(graph))), graphormer_loop(model, graph), rtol=1e-10, atol=1e-10
    )


def test_the_layer_alone_equals_the_loop_on_plain_tensors():
    layer = large_weights(GraphormerLayer(8, 2, d_hidden=12))
    h, bias = torch.randn(2, 1, 5, 8).double(), torch.randn(1, 2, 5, 5).double()
    A = [[bias[0, :, i, j] for j in range(5)] for i in range(5)]
    got, expected = layer(h[0], bias), torch.stack(layer_loop(layer, list(h[0, 0]), A))
    torch.testing.assert_close(got[0], expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("config", LADDER)
@given(graph=graphs(max_nodes=7), random=st.randoms(use_true_random=False))
def test_renumbering_the_nodes_renumbers_their_states_and_leaves_the_prediction(
    config, graph, random
):
    model = large_weights(Graphormer(config))
    graph.edge_attr = 1 + graph.edge_index.sum(dim=0)[:, None] % 3  # of a repeated edge, the same
    other, order = shuffled(graph, random)
    other.y = graph.y
    before, after = collate(encoded(graph)), collate(encoded(other))
    torch.testing.assert_close(model(after), model(before), rtol=1e-9, atol=1e-9)
    h, renumbered_h = model.encode(before)[0][:, 1:], model.encode(after)[0][:, 1:]
    torch.testing.assert_close(renumbered_h, h[:, order], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("config", LADDER)
@given(some=st.lists(graphs(max_nodes=6), min_size=2, max_size=4), extra=st.integers(0, 3))
def test_neither_padding_nor_company_changes_a_prediction(config, some, extra):
    model = large_weights(Graphormer(config))
    together = encoded(*some)
    longest = max(len(graph.x) for graph in together)
    batch = collate(together, num_nodes=longest + extra)
    alone = torch.cat([model(collate([graph])) for graph in together])
    torch.testing.assert_close(model(batch), alone, rtol=1e-9, atol=1e-9)
    batch.x[~batch.mask] = 3  # what stands at padding is never read
    batch.edge_attr[~batch.adjacency] = 3
    torch.testing.assert_close(model(batch), alone, rtol=1e-9, atol=1e-9)


def test_a_molecule_predicts_the_same_alone_and_in_any_batch():
    molecules = encode(
        load_dataset("molecules").graphs[:40], AddDegrees(), AddShortestPaths(), AddPathEdges(20)
    )
    model = Graphormer(GraphormerConfig(num_layers=3)).eval()
    together = model(collate(molecules))
    alone = torch.cat([model(collate([molecule])) for molecule in molecules])
    torch.testing.assert_close(together, alone, rtol=1e-5, atol=1e-5)
    reversed_batch = model(collate(molecules[::-1]))
    torch.testing.assert_close(reversed_batch.flip(0), together, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("config", LADDER)
@given(graph=graphs(max_nodes=6))
def test_predictions_and_gradients_are_finite_on_every_valid_graph(config, graph):
    model = Graphormer(config)
    model(collate(encoded(graph))).sum().backward()
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    assert all(bool(gradient.isfinite().all()) for gradient in gradients)


@given(graph=graphs(max_nodes=8))
def test_along_trees_and_along_paths_are_the_same_means(graph):
    encoding = large_weights(EdgeEncoding(2, 4, 4, 3))
    batch = collate(encode(encoded(graph, length=8), AddPathTree()))
    assume(int(batch.encodings["distance"].max()) > 0)  # without paths there is no gradient
    by_path = encoding(batch)
    del batch.encodings["path_edges"]
    torch.testing.assert_close(encoding(batch), by_path, rtol=1e-12, atol=1e-12)
    gradients = torch.autograd.grad(encoding(batch).square().sum(), encoding.parameters())
    wanted = torch.autograd.grad(by_path.square().sum(), encoding.parameters())
    torch.testing.assert_close(gradients, wanted, rtol=1e-10, atol=1e-10)


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


def test_the_virtual_nodes_scalar_stands_in_its_row_and_column_alone():
    model = large_weights(Graphormer(SMALL))
    bias = model.bias(collate(encoded(graph_of(3, [(0, 1), (1, 0)]))))
    assert bias.shape == (1, 2, 4, 4)
    for head in range(2):
        t = model.bias.virtual[head]
        assert bool((bias[0, head, 0] == t).all() and (bias[0, head, :, 0] == t).all())
    nodes = sum(e(collate(encoded(graph_of(3, [(0, 1), (1, 0)])))) for e in model.bias.encodings)
    assert torch.equal(bias[:, :, 1:, 1:], nodes)


def test_the_bias_is_computed_once_and_shared_by_all_layers():
    model, calls, seen = Graphormer(SMALL).eval(), [], []
    model.bias.register_forward_hook(lambda *_: calls.append(1))
    for layer in model.layers:
        layer.register_forward_pre_hook(lambda layer, inputs: seen.append(inputs[1]))
    model(collate(encoded(graph_of(4, [(0, 1), (1, 2)]))))
    assert len(calls) == 1
    assert len(seen) == 2
    assert seen[0] is seen[1]


def test_encodings_can_be_replaced():
    class Ones(nn.Module):
        def forward(self, batch):
            return torch.ones(len(batch.x), 2, *batch.mask.shape[1:], batch.mask.shape[1])

    graph = graph_of(3, [(0, 1)])
    batch = collate([graph])
    model = Graphormer(SMALL, [LaplacianEncoding(3, 8)], [Ones()])
    assert model(batch).shape == (1,)
    assert torch.equal(model.bias(batch)[0, :, 1:, 1:], torch.ones(2, 3, 3))
    assert Graphormer(SMALL, [], []).bias is None


def test_the_perturbation_is_added_to_the_node_embeddings():
    model = large_weights(Graphormer(SMALL))
    batch = collate(encoded(graph_of(3, [(0, 1)])))
    zeros = torch.zeros(1, 3, 8).double()
    assert torch.equal(model(batch, perturbation=zeros), model(batch))
    moved = model(batch, perturbation=zeros + model.embedding.weight[5])
    model.embedding.weight.data += model.embedding.weight[5].clone()
    torch.testing.assert_close(moved, model(batch))


def test_attention_is_returned_for_each_layer_and_head_and_sums_to_one_over_real_keys():
    two = encoded(graph_of(2, [(0, 1)]), graph_of(4, [(0, 1), (2, 3)], seed=1))
    model = large_weights(Graphormer(SMALL))
    prediction, attention = model(collate(two), return_attention=True)
    assert attention.shape == (2, 2, 2, 5, 5)
    torch.testing.assert_close(attention.sum(-1), torch.ones(2, 2, 2, 5).double())
    assert bool((attention[0, ..., 3:] == 0).all())
    torch.testing.assert_close(prediction, model(collate(two)))


def test_several_targets_have_a_column_each():
    model = Graphormer(replace(SMALL, num_targets=3))
    assert model(collate(encoded(graph_of(2, [(0, 1)])))).shape == (1, 3)


def test_the_start_is_the_authors():
    torch.manual_seed(0)
    model = Graphormer(GraphormerConfig(num_node_types=2000, num_layers=4))
    assert float(model.embedding.weight.detach().std()) == pytest.approx(0.02, rel=0.02)
    for layer in model.layers:
        assert float(layer.attention.query.weight.detach().std()) == pytest.approx(0.01, rel=0.05)
        assert float(layer.feed_forward[0].weight.detach().std()) == pytest.approx(0.01, rel=0.05)
        assert bool((layer.attention.query.bias == 0).all())
        assert bool((layer.attention_norm.weight == 1).all())
    edge = model.bias.encodings[1]
    assert float(edge.positions.detach().std()) == pytest.approx(0.02, rel=0.1)


def test_dropout_acts_where_the_tables_say_in_training_alone():
    batch = collate(encoded(graph_of(4, [(0, 1), (1, 2)])))
    for name in ("dropout", "attention_dropout", "input_dropout"):
        torch.manual_seed(0)
        model = large_weights(Graphormer(replace(SMALL, **{name: 0.5})))
        assert torch.equal(model(batch), model(batch))
        model.train()
        assert not torch.equal(model(batch), model(batch))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"edges": "logits"},
            "edges is 'logits'; expected one of bias, node, aggregation, or None",
        ),
        ({"num_layers": 0}, "num_layers is 0; expected a whole number, 1 or more"),
        ({"max_path_length": 5}, "max_path_length is 5; expected at most path_positions = 4"),
        ({"num_heads": 3}, "d_model = 8 is not a multiple of num_heads = 3"),
    ],
)
def test_a_configuration_that_cannot_be_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        Graphormer(replace(SMALL, **change))


def test_what_the_model_cannot_read_is_refused_in_a_sentence():
    graph = graph_of(2, [(0, 1)])
    plain = Data(x=graph.x, edge_index=graph.edge_index, edge_attr=graph.edge_attr)
    with pytest.raises(ValueError, match="no in_degree; expected what AddDegrees of gtcourse"):
        Graphormer(SMALL)(collate([plain]))
    with pytest.raises(ValueError, match="no distance; expected what AddShortestPaths"):
        Graphormer(replace(SMALL, centrality=False))(collate([plain]))
    with pytest.raises(ValueError, match="no path_edges; expected what AddPathEdges"):
        Graphormer(SMALL)(collate(encode([plain], AddDegrees(), AddShortestPaths())))
    wide = Data(x=graph.x, edge_index=graph.edge_index, edge_attr=torch.tensor([[4]]))
    with pytest.raises(ValueError, match="path_edges holds the category 4; expected 0 to 3"):
        Graphormer(SMALL)(collate(encoded(wide)))
    for use in ("node", "aggregation"):
        with pytest.raises(ValueError, match="edge_attr holds the category 4; expected 0 to 3"):
            Graphormer(replace(SMALL, edges=use))(collate(encoded(wide)))
    floats = Data(x=graph.x.float(), edge_index=graph.edge_index, edge_attr=graph.edge_attr)
    with pytest.raises(ValueError, match=r"x is torch\.float32; expected integer categories"):
        Graphormer(SMALL)(collate(encoded(floats)))
