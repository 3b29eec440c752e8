import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from gtcourse.graphs import collate
from gtcourse.models import BagTransformer, BagTransformerConfig
from tests.graphs.random_graphs import graph_of, graphs, permuted
from tests.loops.attention import (
    feed_forward_loop,
    gelu,
    layer_norm_loop,
    linear_loop,
    multi_head_loop,
)


def model(**changes) -> BagTransformer:
    torch.manual_seed(0)
    config = BagTransformerConfig(d_model=16, num_heads=2, d_hidden=16, **changes)
    return BagTransformer(config).double().eval()


@pytest.mark.holds("CS224W, S8")
@given(st.lists(graphs(), min_size=1, max_size=4), st.integers(0, 1000))
def test_the_order_of_nodes_and_the_edges_change_nothing(batch, seed):
    torch.manual_seed(seed)
    others = [permuted(graph, torch.randperm(len(graph.x))) for graph in batch]
    for graph in others:
        graph.edge_index = graph.edge_index[:, :0]
        graph.edge_attr = graph.edge_attr[:0]
    predictions = model()(collate(batch))
    torch.testing.assert_close(predictions, model()(collate(others)), atol=1e-10, rtol=0)


def bag_loop(model: BagTransformer, types: list[int]) -> Tensor:
    """Pre-LN layers with GELU on the types' vectors, a norm, the mean, and a network with GELU."""
    h = model.embedding.weight[types]
    for layer in model.encoder.layers:
        h = h + multi_head_loop(layer.attention, layer_norm_loop(h, layer.attention_norm))
        normed = layer_norm_loop(h, layer.feed_forward_norm)
        h = h + feed_forward_loop(normed, layer.feed_forward, gelu)
    h = sum(layer_norm_loop(h, model.encoder.norm)) / len(types)
    first, _, second = model.head.network
    return linear_loop(gelu(linear_loop(h[None], first)), second)[0]


@torch.no_grad()
def test_the_whole_model_equals_the_loop_over_layers_and_heads():
    small = BagTransformer(BagTransformerConfig(5, 8, 2, 2, 6, num_targets=3)).double().eval()
    for i, p in enumerate(small.parameters()):  # no part hides behind another
        p.data = torch.randn(p.shape, generator=torch.Generator().manual_seed(i)).double()
    assert isinstance(small.encoder.norm, nn.LayerNorm)
    types = [3, 0, 4, 3]
    graph = graph_of(4, [])
    graph.x = torch.tensor(types)[:, None]
    prediction = small(collate([graph], num_nodes=6))
    torch.testing.assert_close(prediction[0], bag_loop(small, types), atol=1e-10, rtol=0)
