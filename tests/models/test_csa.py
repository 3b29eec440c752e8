"""CSA's attention, pairs and layers; the whole model stands beside its loop in ``properties``."""

import math
from itertools import combinations

import pytest
import torch
from torch import Tensor, nn

from gtcourse import collate
from gtcourse.models import CGT, ChromaticSelfAttention, EdgeTerms, GraphormerAttention
from gtcourse.models.csa import DistanceEncoding, EdgeMaps, PairEncoding
from tests.graphs.small import graph_of
from tests.models.small import (
    CGTS,
    PRECISIONS,
    STEPS,
    draw,
    encoded,
    in_use,
    large_weights,
    reference,
    with_weights_of,
)

B = 2
N = 6
D = 8
H = 2
K = D // H
CLOSE = {"rtol": 1e-10, "atol": 1e-10}
OF_ONE_COLUMN = {name: each for name, each in CGTS.items() if each.num_node_types == (28,)}
FORMS = pytest.mark.parametrize("form", ["direct", "factorised", "chunked"])


def attention_of(**options) -> ChromaticSelfAttention:
    return large_weights(ChromaticSelfAttention(D, H, **options))


@pytest.mark.parametrize("padded", [True, False], ids=["padded", "one size"])
@pytest.mark.parametrize("config", OF_ONE_COLUMN.values(), ids=OF_ONE_COLUMN)
def test_inference_predictions_equal_those_with_gradients(config, padded):
    """Without gradients the terms of the pairs are computed from features, and faster."""
    ring_and_tail = graph_of(6, [(0, 1), (1, 2), (2, 0), (2, 3), (4, 5)])
    other = graph_of(3, [(0, 1)]) if padded else graph_of(6, [(0, 1), (1, 2), (2, 3), (3, 0)])
    batch = collate(encoded(ring_and_tail, other))
    model = in_use(CGT(config).double()).eval()
    with torch.no_grad():
        without = model(batch)
    with_gradients = model(batch)
    assert with_gradients.requires_grad
    torch.testing.assert_close(without, with_gradients.detach(), rtol=1e-11, atol=1e-11)


@pytest.mark.holds("CSA, Eq. 4")
@FORMS
def test_logits_equal_in_all_channels_of_a_head_are_graphormers_bias(form):
    """Eq. 4, and "equivalent if E is piecewise-constant" (Section 3.2, Appendix B)."""
    attention = attention_of(form=form)
    h, bias = draw((B, N, D), (B, H, N, N))
    mask = torch.tensor([[True] * N, [True] * 4 + [False] * 2])
    graphormer = with_weights_of(attention, GraphormerAttention(D, H))
    expected, weights = graphormer(h, bias, mask=mask, return_attention=True)
    for repeats in (1, K):
        terms = EdgeTerms(bias.repeat_interleave(repeats, dim=1))
        torch.testing.assert_close(attention(h, terms, mask=mask), expected, **CLOSE)
        z, filters = attention(h, terms, mask=mask, return_attention=True)
        torch.testing.assert_close(z, expected, **CLOSE)
        torch.testing.assert_close(filters, weights.repeat_interleave(repeats, dim=1), **CLOSE)


@pytest.mark.holds("CSA, Eq. 4")
@torch.no_grad()
def test_log_kernel_as_logits_is_graphit():
    """exp(Q_i . K_j) K_r(i, j), normalised."""
    attention = attention_of()
    (h,) = draw((B, N, D))
    kernel = torch.rand(N, N, generator=torch.Generator().manual_seed(1)).double() + 0.1
    logits = kernel.log().expand(B, H, N, N)
    _, got = attention(h, EdgeTerms(logits), return_attention=True)
    q, k = (
        part(h).unflatten(-1, (H, K)).transpose(1, 2) for part in (attention.query, attention.key)
    )
    weights = torch.exp(q @ k.mT / math.sqrt(K)) * kernel
    torch.testing.assert_close(got, weights / weights.sum(-1, keepdim=True), **CLOSE)


@FORMS
def test_additive_score_does_not_depend_on_queries_or_heads(form):
    attention = attention_of(form=form, score="additive")
    h, logits = draw((B, N, D), (B, D, N, N))
    terms = EdgeTerms(logits, logits)
    before = attention(h, terms)
    before.square().sum().backward()
    for part, learns in ((attention.query, False), (attention.key, True)):
        assert bool((part.weight.grad.abs() > 1e-9).any()) == learns
    other = large_weights(ChromaticSelfAttention(D, 4, score="additive"))
    torch.testing.assert_close(other(h, terms), before, **CLOSE)
    attention.query.weight.data.mul_(-3)
    torch.testing.assert_close(attention(h, terms), before, **CLOSE)


@pytest.mark.parametrize("form", ["direct", "chunked"])
def test_clip_bounds_each_logit_and_leaves_masked_keys_without_weight(form):
    clip = 0.5
    attention = attention_of(form=form, clip=clip).eval()
    h, logits, values = draw((B, N, D), (B, D, N, N), (B, D, N, N))
    mask = torch.tensor([[True] * N, [True] * 4 + [False] * (N - 4)])
    found = attention(h, EdgeTerms(logits, values), mask=mask)

    query = attention.query(h).unflatten(-1, (H, K))
    key = attention.key(h).unflatten(-1, (H, K))
    value = attention.value(h)
    gathered = torch.zeros_like(value)
    outside = 0
    for b in range(B):
        keys = mask[b].nonzero().flatten().tolist()
        for i in range(N):
            for c in range(D):
                head = c // K
                total = 0.0
                for j in keys:
                    score = query[b, i, head] @ key[b, j, head] / math.sqrt(K)
                    logit = score + logits[b, c, i, j]
                    outside += int(abs(logit) > clip)
                    weight = logit.clamp(-clip, clip).exp()
                    total = total + weight
                    gathered[b, i, c] += weight * (value[b, j, c] + values[b, c, i, j])
                gathered[b, i, c] /= total
    assert outside > 0
    torch.testing.assert_close(found, attention.output(gathered), **CLOSE)


@pytest.mark.parametrize("clip", [0.0, -5.0, math.nan])
def test_a_clip_that_is_not_above_zero_raises(clip):
    with pytest.raises(ValueError, match=f"clip is {clip}; expected a number above 0"):
        ChromaticSelfAttention(D, H, form="direct", clip=clip)


def factors_of_dropout(form: str, graphs: int = 200, **ablation) -> Tensor:
    """What each weight is multiplied by in training, ``[graphs, 2, i, j]``, of two channels.

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
    ratio = attention.train()(h, terms) / attention.eval()(h, terms)
    return ratio.unflatten(-1, (2, N)).transpose(1, 2)


CHANNEL = 1
QUERY = 2
ABLATIONS = {
    "node_ablation": (CHANNEL, QUERY),
    "edge_ablation": (CHANNEL,),
    "channel_ablation": (QUERY,),
}


@pytest.mark.parametrize("name", ABLATIONS)
@FORMS
def test_ablations_drop_nodes_pairs_or_channels_and_rescale_the_rest(name, form):
    """A key for every query, a pair in all channels (itself included), a channel of all pairs."""
    ratio = factors_of_dropout(form, **{name: 0.3})
    for axis in (CHANNEL, QUERY):
        first = ratio.narrow(axis, 0, 1).expand_as(ratio)
        assert torch.allclose(ratio, first) == (axis in ABLATIONS[name])
    for part in (ratio, ratio.diagonal(dim1=-2, dim2=-1)):
        left = part[part.abs() > 1e-12]
        torch.testing.assert_close(left, torch.full_like(left, 1 / 0.7))
        assert abs(1 - left.numel() / part.numel() - 0.3) < 0.04


def test_far_and_unreachable_pairs_share_one_distance_vector():
    """In the authors' code 3 and 4 have one vector, as have 5 to 8, and unreachable has none."""
    p = 8
    steps = [(i, i + 1) for i in range(10)]
    path_and_a_node = graph_of(12, steps + [(j, i) for i, j in steps])
    encoding = DistanceEncoding(p, 4)
    got = encoding(collate(encoded(path_and_a_node)))[0]
    itself, *lengths, nine, ten, unreachable = got[0]
    assert len(lengths) == p
    different = [itself, *lengths, unreachable]
    for one, other in combinations(different, 2):
        assert not torch.equal(one, other)
    assert torch.equal(nine, unreachable)
    assert torch.equal(ten, unreachable)
    torch.testing.assert_close(torch.stack(different), encoding.vectors.weight)
    got[0, -1].sum().backward()
    assert encoding.vectors.weight.grad.sum(dim=1).tolist() == [0] * 9 + [4]


@pytest.mark.parametrize("relative", ["walks", "distances", None])
def test_additive_rings_add_one_of_two_vectors_to_all_channels(relative):
    batch = collate(encoded(graph_of(5, [(0, 1), (1, 2), (2, 0), (3, 4)])))
    encoding = large_weights(PairEncoding((4,), 7, relative, STEPS, "additive"))
    no_ring, on_ring = encoding.ring.weight.data.clone()
    with_rings = encoding(batch)
    encoding.ring.weight.data.zero_()
    added = (with_rings - encoding(batch))[0]
    for i in range(5):
        for j in range(5):
            bound = i != j and i < 3 and j < 3
            torch.testing.assert_close(added[i, j], on_ring if bound else no_ring)


@PRECISIONS
@pytest.mark.parametrize("edges", ["shared", "unshared"])
@FORMS
def test_attention_equals_the_authors_code(form, edges, dtype, atol):
    stored = reference("csa")
    attention = ChromaticSelfAttention(16, 4, form=form)
    for name in ("query", "key", "value"):
        getattr(attention, name).weight.data = stored(f"{edges}.W_{name[0].upper()}").T
    attention.output = nn.Identity()  # as the stored values are
    if edges == "shared":
        given = (stored(f"shared.{name}").permute(0, 3, 1, 2) for name in ("E", "E_value"))
        terms = EdgeTerms(*(part.to(dtype) for part in given))
    else:
        maps = EdgeMaps(16, 16, values=True, bias=False)
        maps.logits.weight.data, maps.values.weight.data = (
            stored(f"unshared.{name}").T for name in ("W_E", "W_EV")
        )
        terms = maps.to(dtype)(stored("E0").to(dtype))
    attention = attention.to(dtype)
    h = stored("h").to(dtype)
    mask = stored("mask")
    z, filters = attention(h, terms, mask=mask, return_attention=True)
    for output in (z, attention(h, terms, mask=mask)):  # without filters it is the form asked for
        expected = stored(f"{edges}.out").to(dtype)
        torch.testing.assert_close(output[mask], expected[mask], rtol=0, atol=atol)
    expected = stored(f"{edges}.a_tilde").to(dtype)
    filters = filters.permute(0, 2, 3, 1)
    torch.testing.assert_close(filters[mask], expected[mask], rtol=0, atol=atol)
