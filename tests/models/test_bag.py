import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gtcourse.graphs import collate
from gtcourse.models import BagTransformer, BagTransformerConfig, mean_pool
from tests.graphs.random_graphs import graph_of, graphs, permuted


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


@given(st.lists(graphs(), min_size=1, max_size=4), st.integers(1, 4))
def test_padding_and_company_change_nothing(batch, padding):
    longest = max(len(graph.x) for graph in batch)
    together = model()(collate(batch, num_nodes=longest + padding))
    alone = torch.cat([model()(collate([graph])) for graph in batch])
    torch.testing.assert_close(together, alone, atol=1e-10, rtol=0)


def test_shapes_of_predictions_and_attention():
    batch = collate([graph_of(4, [(0, 3)]), graph_of(2, [(0, 1)])])
    assert model()(batch).shape == (2,)
    prediction, attention = model(num_targets=3)(batch, return_attention=True)
    assert prediction.shape == (2, 3)
    assert attention.shape == (2, 2, 2, 4, 4)
    assert (attention[1, :, :, :, 2:] == 0).all()


def test_mean_pool_is_the_mean_over_real_nodes():
    h = torch.tensor([[[1.0], [3.0], [100.0]], [[5.0], [7.0], [9.0]]])
    mask = torch.tensor([[True, True, False], [False, False, False]])
    assert mean_pool(h, mask).tolist() == [[2.0], [0.0]]
