"""Attention beside its loop, and as message passing."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from gtcourse.models import (
    MessagePassingAttention,
    MultiHeadAttention,
    scaled_dot_product_attention,
)
from tests.loops.attention import attention_loop, multi_head_loop
from tests.models.small import draw


def random_mask(*shape, seed=0):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed)) < 0.6


@pytest.mark.holds(
    "CS224W, S2 to S4 and S6",
    "Graphormer, Eq. 4",
    "EGT, Eqs. 1 to 3",
    "GRPE, Eqs. 2 and 3",
    "CSA, Eqs. 2 and 3",
)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 5), st.integers(0, 10_000))
def test_both_backends_equal_the_loop_over_pairs(N, M, K, seed):
    q, k, v, bias = draw((N, K), (M, K), (M, 3), (N, M), seed=seed)
    mask = random_mask(N, M, seed=seed)
    output, attention = attention_loop(q, k, v, mask, bias)
    explicit, probabilities = scaled_dot_product_attention(
        q, k, v, mask=mask, bias=bias, return_attention=True
    )
    fused = scaled_dot_product_attention(q, k, v, mask=mask, bias=bias)
    torch.testing.assert_close(explicit, output, atol=1e-10, rtol=0)
    torch.testing.assert_close(fused, output, atol=1e-10, rtol=0)
    torch.testing.assert_close(probabilities, attention, atol=1e-10, rtol=0)


@pytest.mark.holds("CS224W, S1 and S5", "Graphormer, Eq. 3", "GRPE, Eq. 1")
@given(st.integers(1, 5), st.sampled_from([1, 2, 4]), st.integers(0, 10_000))
def test_multi_head_attention_equals_the_loop_over_heads(N, heads, seed):
    torch.manual_seed(seed)
    layer = MultiHeadAttention(8, heads).double()
    nn.init.normal_(layer.value.bias)
    x, bias = draw((N, 8), (heads, N, N), seed=seed)
    mask = random_mask(N, N, seed=seed)
    expected = multi_head_loop(layer, x, mask, bias)
    output = layer(x[None], mask=mask[None], bias=bias[None])[0]
    torch.testing.assert_close(output, expected, atol=1e-10, rtol=0)


@pytest.mark.parametrize("shape", [(2, 5), (2, 4, 5), (2, 1, 4, 5), (2, 3, 4, 5), (1, 4, 5)])
def test_masks_of_all_documented_shapes_are_equivalent(shape):
    torch.manual_seed(0)
    layer = MultiHeadAttention(6, 3)
    query = torch.randn(2, 4, 6)
    key = torch.randn(2, 5, 6)
    keys = torch.tensor([True, True, False, True, False])
    expected = layer(query, key, mask=keys.expand(2, 3, 4, 5))
    torch.testing.assert_close(layer(query, key, mask=keys.expand(shape)), expected)


def test_a_bias_of_sequences_or_of_heads_is_ambiguous_where_there_are_as_many():
    layer = MultiHeadAttention(6, 2)
    x = torch.randn(2, 4, 6)
    bias = torch.randn(2, 4, 4)
    with pytest.raises(
        ValueError, match=r"may be that of 2 sequences or of 2 heads; expected bias"
    ):
        layer(x, bias=bias)
    assert not torch.allclose(layer(x, bias=bias[:, None]), layer(x, bias=bias[None]))
    one = x[:1]
    torch.testing.assert_close(layer(one, bias=bias), layer(one, bias=bias[None]))


@pytest.mark.parametrize("shape", [(3, 4, 4), (4, 5), (1, 2, 4, 5), (1, 1, 2, 4, 4)])
def test_a_bias_of_another_shape_raises(shape):
    layer = MultiHeadAttention(6, 2)
    with pytest.raises(ValueError, match=r"expected \[2, 2, 4, 4\], or what is broadcast to it"):
        layer(torch.randn(2, 4, 6), bias=torch.zeros(shape))


def test_a_mask_of_heads_without_sequences_raises():
    layer = MultiHeadAttention(6, 2)
    mask = torch.ones(2, 3, 3, dtype=torch.bool)
    with pytest.raises(ValueError, match=r"expected \[4, 3\] for keys or \[4, 3, 3\] for pairs"):
        layer(torch.randn(4, 3, 6), mask=mask)


@pytest.mark.holds("CS224W, S7")
@given(st.integers(1, 7), st.floats(0, 1), st.integers(0, 10_000))
def test_attention_masked_to_neighbours_is_message_passing_along_edges(N, density, seed):
    torch.manual_seed(seed)
    layer = MultiHeadAttention(8, 2).double()
    (x,) = draw((N, 8), seed=seed)
    adjacency = torch.rand(N, N) < density  # [i, j]: an edge from i to j
    source, target = edge_index = adjacency.nonzero().T
    along_edges, weights = MessagePassingAttention(layer)(x, edge_index, return_attention=True)
    # Messages go with the edges, so node j attends to the nodes i of its column.
    dense, table = layer(x[None], mask=adjacency.T[None], return_attention=True)
    dense = dense[0]
    torch.testing.assert_close(along_edges, dense, atol=1e-10, rtol=0)
    torch.testing.assert_close(weights, table[0, :, target, source].T, atol=1e-10, rtol=0)
    torch.testing.assert_close(dense, multi_head_loop(layer, x, adjacency.T), atol=1e-10, rtol=0)
