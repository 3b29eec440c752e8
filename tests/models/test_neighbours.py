"""Heads that hear the bonds, beside heads that hear everything."""

import pytest
import torch
from torch_geometric.data import Data

from gtcourse.graphs.batch import collate
from gtcourse.models.baselines import BagTransformerConfig, NeighbourTransformer, neighbour_mask

CONFIG = BagTransformerConfig(num_node_types=3, d_model=8, num_heads=4, num_layers=2, d_hidden=8)


def graph(types, edges):
    return Data(x=torch.tensor(types)[:, None], edge_index=torch.tensor(edges).T)


PATH = graph([0, 1, 2], [(0, 1), (1, 0), (1, 2), (2, 1)])
ORDERED = graph([0, 1], [(0, 1)])


def model(masked_heads: int) -> NeighbourTransformer:
    torch.manual_seed(0)
    return NeighbourTransformer(CONFIG, masked_heads).double()


@pytest.mark.parametrize("masked_heads", [1, 2, 4])
def test_masked_heads_attend_to_neighbours_and_self_alone(masked_heads):
    batch = collate([PATH, ORDERED])
    _, attention = model(masked_heads)(batch, return_attention=True)
    heard = attention > 0  # [B, L, H, N, N]
    expected = neighbour_mask(batch)[:, None, None].expand_as(heard[:, :, :masked_heads])
    assert torch.equal(heard[:, :, :masked_heads], expected)
    assert torch.equal(
        heard[:, :, masked_heads:],
        batch.pair_mask[:, None, None].expand_as(heard[:, :, masked_heads:]),
    )


def test_the_destination_of_an_edge_attends_to_its_source():
    assert neighbour_mask(collate([ORDERED])).tolist() == [[[True, False], [True, True]]]
