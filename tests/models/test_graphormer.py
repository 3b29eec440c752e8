"""Graphormer beside the paper's equations, and what must hold for every graph."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from gtcourse import collate
from gtcourse.models import (
    Graphormer,
    GraphormerConfig,
    GraphormerLayer,
    LaplacianEncoding,
)
from gtcourse.models.graphormer import CentralityEncoding
from tests.graphs.random_graphs import graph_of
from tests.loops.graphormer import layer_loop
from tests.models.graphormers import SMALL, encoded, large_weights


def test_degrees_beyond_the_largest_share_its_vectors_and_no_others_do():
    encoding = CentralityEncoding(max_in_degree=2, max_out_degree=1, d_model=1)
    encoding.incoming.weight.data = torch.tensor([[1.0], [2.0], [3.0]])
    encoding.outgoing.weight.data = torch.tensor([[10.0], [20.0]])
    batch = collate([graph_of(4, [])])
    batch.encodings = {
        "in_degree": torch.tensor([[0, 1, 2, 30]]),
        "out_degree": torch.tensor([[0, 1, 2, 30]]),
    }
    assert encoding(batch)[0, :, 0].tolist() == [11, 22, 23, 23]


@pytest.mark.holds("Graphormer, Eqs. 8 and 9")
def test_the_layer_alone_equals_the_loop_on_plain_tensors():
    layer = large_weights(GraphormerLayer(8, 2, d_hidden=12))
    h, bias = torch.randn(2, 1, 5, 8).double(), torch.randn(1, 2, 5, 5).double()
    A = [[bias[0, :, i, j] for j in range(5)] for i in range(5)]
    got, expected = layer(h[0], bias), torch.stack(layer_loop(layer, list(h[0, 0]), A))
    torch.testing.assert_close(got[0], expected, rtol=1e-10, atol=1e-10)


def test_the_virtual_nodes_scalar_stands_in_its_row_and_column_alone():
    model = large_weights(Graphormer(SMALL))
    bias = model.bias(collate(encoded(graph_of(3, [(0, 1), (1, 0)]))))
    assert bias.shape == (1, 2, 4, 4)
    for head in range(2):
        t = model.bias.virtual[head]
        assert bool((bias[0, head, 0] == t).all() and (bias[0, head, :, 0] == t).all())
    nodes = sum(e(collate(encoded(graph_of(3, [(0, 1), (1, 0)])))) for e in model.bias.encodings)
    assert torch.equal(bias[:, :, 1:, 1:], nodes)


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


def test_the_start_is_the_authors():
    torch.manual_seed(0)
    model = Graphormer(GraphormerConfig(d_model=256, num_layers=4, num_edge_types=400))
    small = {nn.Embedding: 0.02, nn.Linear: 0.02 / 4**0.5}
    found = 0
    for module in model.modules():
        if type(module) in small:
            spread = float(module.weight.detach().std())
            assert spread == pytest.approx(small[type(module)], rel=0.2), module
            assert getattr(module, "bias", None) is None or bool((module.bias == 0).all())
            found += 1
        if isinstance(module, nn.LayerNorm):
            assert bool((module.weight == 1).all() and (module.bias == 0).all())
    assert found == 1 + 2 + 2 + 4 * 6 + 1  # atoms, degrees, pairs, layers, head
    for parameter in (model.virtual_node, model.bias.virtual, model.bias.encodings[1].positions):
        assert 0.005 < float(parameter.detach().std()) < 0.04


def test_dropout_acts_where_the_tables_say_in_training_alone():
    batch = collate(encoded(graph_of(4, [(0, 1), (1, 2)])))
    for name in ("dropout", "attention_dropout", "input_dropout"):
        torch.manual_seed(0)
        model = large_weights(Graphormer(replace(SMALL, **{name: 0.5})))
        assert torch.equal(model(batch), model(batch))
        model.train()
        assert not torch.equal(model(batch), model(batch))
