"""GIN, GatedGCN and GAT: the published sizes, the published layers, any graph."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.nn import GINConv

from gtcourse.graphs import collate
from gtcourse.models import (
    GAT,
    GIN,
    GATConfig,
    GatedGCN,
    GatedGCNConfig,
    GINConfig,
    LaplacianEncoding,
)
from gtcourse.models.baselines import GatedGCNLayer, pool
from gtcourse.models.embeddings import FlatBatchNorm, mean_pool
from tests.graphs.random_graphs import graph_of, graphs
from tests.loops.aggregations import readout_loop
from tests.loops.convolutions import (
    gat_loop,
    gated_gcn_layer_loop,
    gated_gcn_loop,
    gin_loop,
)

MODELS = {
    "gin": (GIN, GINConfig, {}),
    "gatedgcn": (GatedGCN, GatedGCNConfig, {"num_edge_types": 4}),
    "gat": (GAT, GATConfig, {"num_heads": 2}),
}


def shuffled_norms(module: torch.nn.Module) -> torch.nn.Module:
    """Batch norms that are not the identity, so that leaving one out shows."""
    for norm in (part for part in module.modules() if isinstance(part, FlatBatchNorm)):
        for values in (norm.weight.data, norm.bias.data, norm.running_mean, norm.running_var):
            values.uniform_(0.5, 2.0)
    for conv in (part for part in module.modules() if isinstance(part, GINConv)):
        conv.eps.data.fill_(0.3)
    return module.double().eval()


def small(name: str, *, pe: bool = True, **changes) -> torch.nn.Module:
    torch.manual_seed(1)
    model, config, special = MODELS[name]
    options = {"num_node_types": 28, "num_node_features": 0, "d_model": 16, "num_layers": 2}
    encoding = LaplacianEncoding(3, 16) if pe else None
    return shuffled_norms(model(config(**(options | special | changes)), encoding))


@pytest.fixture(params=MODELS)
def name(request) -> str:
    return request.param


ZINC = {"num_node_types": 28, "num_node_features": 0}
SIZES = [
    # The lecture's table.
    (GIN(GINConfig(num_targets=2)), 100_774),
    (GIN(GINConfig(num_targets=2, num_node_features=0), LaplacianEncoding(20, 110)), 102_864),
    (GatedGCN(GatedGCNConfig(num_targets=2)), 103_933),
    (
        GatedGCN(GatedGCNConfig(num_targets=2, num_node_features=0), LaplacianEncoding(20, 70)),
        105_263,
    ),
    # The benchmark's models on ZINC.
    (GIN(GINConfig(**ZINC)), 103_079),
    (GatedGCN(GatedGCNConfig(**ZINC)), 105_735),
    (GatedGCN(GatedGCNConfig(**ZINC, num_edge_types=4)), 105_875),
    (GAT(GATConfig(**ZINC)), 102_385),
]


@pytest.mark.parametrize(("model", "expected"), SIZES)
def test_the_sizes_are_the_published_ones(model, expected):
    assert sum(parameter.numel() for parameter in model.parameters()) == expected


@pytest.mark.holds("CSA, Eq. 1")
@given(graph=graphs(max_nodes=6))
def test_a_gated_layer_equals_the_loop_over_nodes_and_edges(graph):
    torch.manual_seed(2)
    edge_index = collate([graph]).edge_index
    layer, h = shuffled_norms(GatedGCNLayer(4)), torch.randn(len(graph.x), 4).double()
    e = torch.randn(edge_index.shape[1], 4).double()
    expected = gated_gcn_layer_loop(layer, h, e, edge_index.T.tolist())
    for got, wanted in zip(layer(h, e, edge_index), expected, strict=True):
        torch.testing.assert_close(got, wanted, rtol=0, atol=1e-10)


@torch.no_grad()
@settings(max_examples=5)
@given(graph=graphs(max_nodes=4))
def test_the_whole_model_equals_the_loop_over_layers(name, graph):
    model, batch = small(name, num_targets=3), collate([graph])
    # What a node is and where it is, added; PyG's own order of the edges.
    h = model.input.types.weight[batch.x[0, :, 0]] + model.input.encoding(batch)[0]
    source, destination = batch.edge_index
    pairs = [*zip(source.tolist(), destination.tolist(), strict=True)]
    if name == "gatedgcn":
        types = batch.edge_attr[0, source, destination, 0]
        expected = gated_gcn_loop(model, h, model.edge_input.types.weight[types], pairs)
    else:
        expected = {"gin": gin_loop, "gat": gat_loop}[name](model, h, pairs)
    torch.testing.assert_close(model(batch), expected, rtol=0, atol=1e-9)


@given(batch=st.lists(graphs(), min_size=1, max_size=4))
def test_padding_changes_nothing_in_training_either(name, batch):
    longer = collate(batch, num_nodes=12)
    longer.x[~longer.mask] = 7
    model = small(name)
    for network in (model, small(name).train()):
        first = network(collate(batch))
        torch.testing.assert_close(network(longer), first, rtol=1e-9, atol=1e-9)


@pytest.mark.holds("Graphormer, Eq. 2")
@pytest.mark.parametrize("readout", ["sum", "mean"])
@given(some=st.lists(graphs(max_nodes=5), min_size=1, max_size=3))
def test_the_vector_of_a_graph_equals_the_loop_over_its_nodes(readout, some):
    batch = collate(some)
    h = torch.randn(*batch.mask.shape, 4, generator=torch.Generator().manual_seed(0)).double()
    nodes = [vectors[mask] for vectors, mask in zip(h, batch.mask, strict=True)]
    expected = torch.stack([readout_loop(own, readout) for own in nodes])
    torch.testing.assert_close(pool(h[batch.mask], batch, readout), expected, rtol=0, atol=1e-10)
    if readout == "mean":
        torch.testing.assert_close(mean_pool(h, batch.mask), expected, rtol=0, atol=1e-10)


def test_the_readout_of_the_configuration_is_the_one_used(name):
    batch = collate([graph_of(3, [(0, 1), (1, 2)])])
    added, averaged = small(name, readout="sum"), small(name, readout="mean")
    assert abs(added(batch) - averaged(batch)).item() > 1e-6


def test_without_a_node_encoding_gatedgcn_sees_no_edge_between_nodes_that_are_alike():
    """A mean of equal things is that thing: a ring of six is two rings of three (but for 1e-6)."""
    torch.manual_seed(0)
    model = shuffled_norms(GatedGCN(GatedGCNConfig(num_targets=2, d_model=8)))
    rings = [[(i, (i + 1) % 6) for i in range(6)], [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]]
    star = [(0, i) for i in range(1, 6)]
    batch = []
    for edges in (*rings, star):
        graph = graph_of(6, edges + [(j, i) for i, j in edges])
        graph.x = torch.ones(6, 1).double()
        del graph.edge_attr
        batch.append(graph)
    one, two, other = model(collate(batch))
    torch.testing.assert_close(one, two, rtol=0, atol=1e-12)
    torch.testing.assert_close(one, other, rtol=0, atol=1e-4)
