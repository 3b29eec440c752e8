import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch_geometric.nn import TransformerConv

from gtcourse.models import (
    MessagePassingAttention,
    MultiHeadAttention,
    complete_edge_index,
    scaled_dot_product_attention,
)
from tests.loops.attention import attention_loop, multi_head_loop


def tensors(*shapes, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(*shape, dtype=torch.float64, generator=generator) for shape in shapes]


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
    q, k, v, bias = tensors((N, K), (M, K), (M, 3), (N, M), seed=seed)
    mask = random_mask(N, M, seed=seed)
    output, attention = attention_loop(q, k, v, mask, bias)
    explicit, probabilities = scaled_dot_product_attention(
        q, k, v, mask=mask, bias=bias, return_attention=True
    )
    fused = scaled_dot_product_attention(q, k, v, mask=mask, bias=bias)
    torch.testing.assert_close(explicit, output, atol=1e-10, rtol=0)
    torch.testing.assert_close(fused, output, atol=1e-10, rtol=0)
    torch.testing.assert_close(probabilities, attention, atol=1e-10, rtol=0)


@pytest.mark.holds("CS224W, S2 and S3")
def test_the_slides_numbers():
    """S2, S3: scores 112 and 96 with d_k = 64 give 14 and 12, then 0.88 and 0.12."""
    q = torch.ones(1, 64, dtype=torch.float64)
    k = torch.stack([q[0] * 112 / 64, q[0] * 96 / 64])
    v = torch.eye(2, dtype=torch.float64)
    z = scaled_dot_product_attention(q, k, v)
    weight = math.exp(14) / (math.exp(14) + math.exp(12))
    assert round(weight, 2) == 0.88
    torch.testing.assert_close(z, torch.tensor([[weight, 1 - weight]], dtype=torch.float64))


@pytest.mark.parametrize("return_attention", [False, True])
@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_query_without_keys_gets_zeros_and_zero_gradients(return_attention, with_bias, dtype):
    q, k, v, bias = (t.to(dtype).requires_grad_() for t in tensors((3, 4), (5, 4), (5, 2), (3, 5)))
    mask = torch.ones(3, 5, dtype=torch.bool)
    mask[1] = False
    result = scaled_dot_product_attention(
        q, k, v, mask=mask, bias=bias if with_bias else None, return_attention=return_attention
    )
    output = result[0] if return_attention else result
    assert (output[1] == 0).all()
    assert (output[[0, 2]] != 0).all()
    if return_attention:
        assert (result[1][1] == 0).all()
    output.sum().backward()
    for tensor in (q, k, v) + ((bias,) if with_bias else ()):
        assert tensor.grad.isfinite().all()
    assert (q.grad[1] == 0).all()


@pytest.mark.holds("CS224W, S1 and S5", "Graphormer, Eq. 3", "GRPE, Eq. 1")
@given(st.integers(1, 5), st.sampled_from([1, 2, 4]), st.integers(0, 10_000))
def test_multi_head_attention_equals_the_loop_over_heads(N, heads, seed):
    torch.manual_seed(seed)
    layer = MultiHeadAttention(8, heads).double()
    nn.init.normal_(layer.value.bias)
    x, bias = tensors((N, 8), (heads, N, N), seed=seed)
    mask = random_mask(N, N, seed=seed)
    expected = multi_head_loop(layer, x, mask, bias)
    output = layer(x[None], mask=mask[None], bias=bias[None])[0]
    torch.testing.assert_close(output, expected, atol=1e-10, rtol=0)


def copy_to_torch(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    parts = (ours.query, ours.key, ours.value)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
        theirs.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
    theirs.out_proj.load_state_dict(ours.output.state_dict())


@pytest.mark.parametrize("return_attention", [False, True])
def test_copied_weights_give_torch_s_multihead_attention(return_attention):
    torch.manual_seed(0)
    ours = MultiHeadAttention(12, 3)
    for part in (ours.query, ours.key, ours.value, ours.output):
        nn.init.normal_(part.bias)
    theirs = nn.MultiheadAttention(12, 3, batch_first=True)
    copy_to_torch(ours, theirs)
    x, memory = torch.randn(2, 5, 12), torch.randn(2, 7, 12)
    mask = torch.ones(2, 7, dtype=torch.bool)
    mask[1, 4:] = False
    expected, weights = theirs(
        x, memory, memory, key_padding_mask=~mask, average_attn_weights=False
    )
    got = ours(x, memory, mask=mask, return_attention=return_attention)
    if return_attention:
        got, attention = got
        torch.testing.assert_close(attention, weights, atol=1e-6, rtol=0)
    torch.testing.assert_close(got, expected, atol=1e-6, rtol=0)


@pytest.mark.holds("CS224W, S8")
@given(st.integers(1, 7), st.integers(0, 10_000))
def test_permuting_the_nodes_permutes_the_output(N, seed):
    torch.manual_seed(seed)
    layer = MultiHeadAttention(8, 2).double()
    (x,) = tensors((N, 8), seed=seed)
    order = torch.randperm(N)
    mask = random_mask(N, N, seed=seed)
    output = layer(x[None], mask=mask[None])[0]
    permuted = layer(x[order][None], mask=mask[order][:, order][None])[0]
    torch.testing.assert_close(permuted, output[order], atol=1e-10, rtol=0)


@given(st.integers(1, 6), st.integers(0, 4), st.integers(0, 10_000))
def test_one_more_padding_row_changes_nothing(N, padding, seed):
    torch.manual_seed(seed)
    layer = MultiHeadAttention(8, 2).double()
    (x,) = tensors((N + padding, 8), seed=seed)
    mask = torch.arange(N + padding) < N
    padded = layer(x[None], mask=mask[None])[0, :N]
    torch.testing.assert_close(padded, layer(x[None, :N])[0], atol=1e-10, rtol=0)


@pytest.mark.parametrize("shape", [(2, 5), (2, 4, 5), (2, 1, 4, 5), (2, 3, 4, 5), (1, 4, 5)])
def test_masks_of_every_documented_shape_mean_the_same(shape):
    torch.manual_seed(0)
    layer = MultiHeadAttention(6, 3)
    query, key = torch.randn(2, 4, 6), torch.randn(2, 5, 6)
    keys = torch.tensor([True, True, False, True, False])
    expected = layer(query, key, mask=keys.expand(2, 3, 4, 5))
    torch.testing.assert_close(layer(query, key, mask=keys.expand(shape)), expected)


@pytest.mark.holds("CS224W, S7")
@given(st.integers(1, 7), st.floats(0, 1), st.integers(0, 10_000))
def test_attention_masked_to_neighbours_is_message_passing_along_edges(N, density, seed):
    torch.manual_seed(seed)
    layer = MultiHeadAttention(8, 2).double()
    (x,) = tensors((N, 8), seed=seed)
    adjacency = torch.rand(N, N) < density  # [i, j]: an edge from i to j
    source, target = edge_index = adjacency.nonzero().T
    along_edges, weights = MessagePassingAttention(layer)(x, edge_index, return_attention=True)
    # Messages go with the edges, so node j hears the nodes i of its column.
    dense, table = layer(x[None], mask=adjacency.T[None], return_attention=True)
    dense = dense[0]
    torch.testing.assert_close(along_edges, dense, atol=1e-10, rtol=0)
    torch.testing.assert_close(weights, table[0, :, target, source].T, atol=1e-10, rtol=0)
    torch.testing.assert_close(dense, multi_head_loop(layer, x, adjacency.T), atol=1e-10, rtol=0)


def test_copied_weights_give_pyg_s_transformer_conv():
    torch.manual_seed(0)
    ours = MultiHeadAttention(8, 2)
    theirs = TransformerConv(8, 4, heads=2, root_weight=False)
    theirs.lin_query.load_state_dict(ours.query.state_dict())
    theirs.lin_key.load_state_dict(ours.key.state_dict())
    theirs.lin_value.load_state_dict(ours.value.state_dict())
    x, edges = torch.randn(5, 8), torch.tensor([[0, 1, 2, 3, 0], [1, 2, 0, 0, 4]])
    output = MessagePassingAttention(ours)(x, edges)
    torch.testing.assert_close(output, ours.output(theirs(x, edges)), atol=1e-6, rtol=0)


def test_dropout_acts_in_training_alone():
    torch.manual_seed(0)
    attention, x = MultiHeadAttention(8, 2, dropout=0.5), torch.randn(6, 8)
    messages, edges = MessagePassingAttention(attention), complete_edge_index(6)
    for output in (lambda: attention(x[None]), lambda: messages(x, edges)):
        messages.train()
        assert not torch.equal(output(), output())
        messages.eval()
        assert torch.equal(output(), output())
