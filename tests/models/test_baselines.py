"""The baselines: published sizes, layers and readouts beside loops, padding while training."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

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
from gtcourse.models.embeddings import mean_pool
from tests.graphs.random_graphs import graphs
from tests.loops.aggregations import readout_loop
from tests.loops.convolutions import gated_gcn_layer_loop
from tests.models.small import in_use

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
    layer, h = in_use(GatedGCNLayer(4)), torch.randn(len(graph.x), 4).double()
    e = torch.randn(edge_index.shape[1], 4).double()
    expected = gated_gcn_layer_loop(layer, h, e, edge_index.T.tolist())
    for got, wanted in zip(layer(h, e, edge_index), expected, strict=True):
        torch.testing.assert_close(got, wanted, rtol=0, atol=1e-10)


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
