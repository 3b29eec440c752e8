"""CSA's attention and layer alone: what they contain, what is silenced, what is normalised."""

import math

import pytest
import torch
from torch import Tensor

from gtcourse.models import (
    ChromaticSelfAttention,
    EdgeTerms,
    GraphormerAttention,
    MultiHeadAttention,
)
from tests.models.graphormers import large_weights, with_weights_of

B, N, D, H = 2, 6, 8, 2
K = D // H
CLOSE = {"rtol": 1e-10, "atol": 1e-10}
FORMS = pytest.mark.parametrize("form", ["direct", "factorised", "chunked"])


def attention_of(**settings) -> ChromaticSelfAttention:
    return large_weights(ChromaticSelfAttention(D, H, **settings))


def given(channels: int = D) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    h = torch.randn(B, N, D, generator=generator).double()
    return h, torch.randn(B, channels, N, N, generator=generator).double()


@pytest.mark.holds("CSA, Eq. 4")
@FORMS
def test_logits_constant_on_a_heads_channels_are_graphormers_bias(form):
    """Eq. 4, and "equivalent if E is piecewise-constant" (Section 3.2, Appendix B)."""
    attention, (h, bias) = attention_of(form=form), given(H)
    mask = torch.tensor([[True] * N, [True] * 4 + [False] * 2])
    expected, share = with_weights_of(attention, GraphormerAttention(D, H))(
        h, bias, mask=mask, return_attention=True
    )
    for logits, of_heads in (
        (bias, share),
        (bias.repeat_interleave(K, dim=1), share.repeat_interleave(K, dim=1)),
    ):
        terms = EdgeTerms(logits)
        torch.testing.assert_close(attention(h, terms, mask=mask), expected, **CLOSE)
        z, a = attention(h, terms, mask=mask, return_attention=True)
        torch.testing.assert_close(z, expected, **CLOSE)
        torch.testing.assert_close(a, of_heads, **CLOSE)


@FORMS
def test_logits_that_are_equal_for_all_keys_leave_multi_head_attention(form):
    attention, (h, logits) = attention_of(form=form), given()
    expected = with_weights_of(attention, MultiHeadAttention(D, H))(h)
    constant = logits[..., :1].expand(-1, -1, -1, N)
    torch.testing.assert_close(attention(h, EdgeTerms(constant)), expected, **CLOSE)


@pytest.mark.holds("CSA, Eq. 4")
@torch.no_grad()
def test_the_logarithm_of_a_kernel_is_graphit():
    """exp(Q_i . K_j) K_r(i, j), normalised."""
    attention, (h, _) = attention_of(), given()
    kernel = torch.rand(N, N, generator=torch.Generator().manual_seed(1)).double() + 0.1
    logits = kernel.log().expand(B, H, N, N)
    _, got = attention(h, EdgeTerms(logits), return_attention=True)
    q, k = (
        part(h).unflatten(-1, (H, K)).transpose(1, 2) for part in (attention.query, attention.key)
    )
    weights = torch.exp(q @ k.mT / math.sqrt(K)) * kernel
    torch.testing.assert_close(got, weights / weights.sum(-1, keepdim=True), **CLOSE)


@FORMS
@pytest.mark.parametrize("channels", [H, D], ids=["monochrome", "chromatic"])
def test_the_logarithm_of_the_adjacency_masks_all_but_neighbours(form, channels):
    attention, (h, _) = attention_of(form=form), given()
    graph = torch.eye(N).bool()
    graph[[0, 1, 1, 2, 3, 4], [1, 0, 2, 1, 4, 3]] = True  # two parts, and a node with none
    terms = EdgeTerms(graph.double().log().expand(B, channels, N, N))
    z, a = attention(h, terms, return_attention=True)
    assert not a[:, :, ~graph].any()
    expected = with_weights_of(attention, MultiHeadAttention(D, H))(h, mask=graph.expand(B, N, N))
    torch.testing.assert_close(z, expected, **CLOSE)
    torch.testing.assert_close(attention(h, terms), expected, **CLOSE)
    moved = h.clone()
    moved[:, 3:] += 7
    torch.testing.assert_close(attention(moved, terms)[:, :3], z[:, :3], **CLOSE)


@FORMS
def test_in_the_additive_score_queries_and_heads_change_nothing(form):
    attention, (h, logits) = attention_of(form=form, score="additive"), given()
    before = attention(h, EdgeTerms(logits, logits))
    before.square().sum().backward()
    for part, learns in ((attention.query, False), (attention.key, True)):
        assert bool((part.weight.grad.abs() > 1e-9).any()) == learns
    other = large_weights(ChromaticSelfAttention(D, 4, score="additive"))
    torch.testing.assert_close(other(h, EdgeTerms(logits, logits)), before, **CLOSE)
    attention.query.weight.data.mul_(-3)
    torch.testing.assert_close(attention(h, EdgeTerms(logits, logits)), before, **CLOSE)
    attention.key.weight.data.mul_(-3)
    assert not torch.allclose(attention(h, EdgeTerms(logits, logits)), before)


@FORMS
def test_in_half_precision_what_cancels_in_the_additive_score_leaves_no_rounding(form):
    """The same attention as with queries of zero, but for the rounding of Q_i + K_j + E_ij."""
    attention, (h, logits) = attention_of(form=form, score="additive"), given()
    attention.query.weight.data.mul_(40)
    attention, h, terms = attention.bfloat16(), h.bfloat16(), EdgeTerms(logits.bfloat16())
    got = attention(h, terms)
    attention.query.weight.data.zero_()
    torch.testing.assert_close(got, attention(h, terms), rtol=0.01, atol=0.01)


def kept(form: str, graphs: int = 200, **ablation) -> Tensor:
    """What each weight is multiplied by in training, ``[graphs, channel, i, j]``.

    Channel c of the value of pair (i, j) is 1 where j = c mod N, so z shows the weight of that j.
    """
    torch.manual_seed(1)
    d = 2 * N
    attention = ChromaticSelfAttention(d, 2, form=form, **ablation).double()
    attention.value.weight.data.zero_()
    attention.output.weight.data = torch.eye(d).double()
    attention.output.bias.data.zero_()
    shown = torch.eye(N).double().repeat(2, 1)  # [c, j]
    logits = torch.randn(graphs, d, N, N).double()
    terms = EdgeTerms(logits, shown[:, None].expand(graphs, d, N, N))
    h = torch.randn(graphs, N, d).double()
    torch.manual_seed(0)
    ratio = attention.train()(h, terms) / attention.eval()(h, terms)
    return ratio.unflatten(-1, (2, N)).transpose(1, 2)  # [graphs, two channels, i, j]


@FORMS
def test_node_ablation_drops_a_key_for_every_query(form):
    ratio = kept(form, node_ablation=0.3)
    nodes = ratio[:, :1, :1]
    torch.testing.assert_close(ratio, nodes.expand_as(ratio))
    assert_silenced(nodes, 0.3)
    assert bool((nodes.amax(-1) != nodes.amin(-1)).any())


@FORMS
def test_edge_ablation_silences_a_pair_in_all_channels_itself_included(form):
    ratio = kept(form, edge_ablation=0.4)
    pairs = ratio[:, :1]
    torch.testing.assert_close(ratio, pairs.expand_as(ratio))
    assert_silenced(pairs, 0.4)
    assert_silenced(pairs.diagonal(dim1=-2, dim2=-1), 0.4)
    assert bool((pairs[:, :, 0] != pairs[:, :, 1]).any())  # queries differ
    assert bool((pairs != pairs.mT).any())  # and so do the two directions


@FORMS
def test_channel_ablation_drops_a_channel_of_all_pairs_of_a_graph(form):
    graphs = 300
    torch.manual_seed(1)
    attention = attention_of(form=form, channel_ablation=0.25)
    attention.output.weight.data, attention.output.bias.data = torch.eye(D), torch.zeros(D)
    attention.output.double()
    h, logits = torch.randn(graphs, N, D).double(), torch.randn(graphs, D, N, N).double()
    torch.manual_seed(0)
    terms = EdgeTerms(logits, logits)
    ratio = attention.train()(h, terms) / attention.eval()(h, terms)
    torch.testing.assert_close(ratio, ratio[:, :1].expand_as(ratio))
    assert_silenced(ratio[:, 0], 0.25)
    assert bool((ratio[1:, 0] != ratio[:-1, 0]).any(dim=0).all())


def assert_silenced(ratio: Tensor, share: float) -> None:
    """That share is 0, and the others have grown so that the mean stays 1."""
    heard = ratio[ratio.abs() > 1e-12]
    torch.testing.assert_close(heard, torch.full_like(heard, 1 / (1 - share)))
    assert abs(1 - heard.numel() / ratio.numel() - share) < 0.04


@pytest.mark.parametrize("name", ["node_ablation", "edge_ablation", "channel_ablation"])
@FORMS
def test_filters_are_returned_from_before_the_ablations_and_what_is_gathered_from_after(name, form):
    attention, (h, logits) = attention_of(form=form, **{name: 0.5}), given()
    terms = EdgeTerms(logits, logits)
    plain, expected = attention(h, terms, return_attention=True)
    assert torch.equal(attention(h, terms, return_attention=True)[0], plain)
    attention.train()
    torch.manual_seed(0)
    z, a = attention(h, terms, return_attention=True)
    torch.manual_seed(0)
    torch.testing.assert_close(attention(h, terms), z, **CLOSE)
    assert torch.equal(a, expected)
    assert not torch.allclose(z, plain)
