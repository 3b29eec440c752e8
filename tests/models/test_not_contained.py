"""Weights that a dot product with a bias cannot compute: how they change as a sender moves."""

from dataclasses import replace

import pytest
import torch

from gtcourse import models
from gtcourse.course.exercises.chapter10 import (
    attend,
    attention_terms,
    csa_terms,
    egt_terms,
    gat_terms,
    gatedgcn_terms,
    grpe_terms,
)
from gtcourse.models.message_passing import GatedGCNConv, GATLayer
from tests.models.small import draw, large_weights

N = 4
D = 8
H = 2
X, DIRECTION = draw((1, N, D), (D,))
CHANNEL_LOGITS, VALUES = draw((1, D, N, N), (1, D, N, N))
BIAS, PAIRS, EDGES = draw((1, H, N, N), (1, N, N, 6), (1, N, N, D))
RELATION = torch.randint(0, 3, (1, N, N), generator=torch.Generator().manual_seed(1))
ALL = torch.ones(1, N, N).bool()
STEPS = torch.linspace(-60, 60, 241).double()
CLIP = 5.0


@torch.no_grad()
def log_ratio(terms, layer, *pairs) -> torch.Tensor:
    """log a_02 / a_01 for each step of node 2 along a line, ``[steps, C]``."""
    found = []
    for step in STEPS:
        h = X.clone()
        h[0, 2] += step * DIRECTION
        logits = terms(layer, h, *pairs)
        weights = attend(logits)[1][0, :, 0]  # [C, N]
        found.append((weights[:, 2] / weights[:, 1]).log())
    return torch.stack(found)


def tables() -> models.RelationTables:
    return models.RelationTables(*draw((3, D), (3, D), (3, D)))


@pytest.mark.parametrize(
    ("terms", "layer", "pairs"),
    [
        (attention_terms, models.GraphormerAttention(D, H), (BIAS,)),
        (grpe_terms, models.GRPEAttention(D, H), (RELATION, tables())),
        (
            csa_terms,
            models.ChromaticSelfAttention(D, H),
            (models.EdgeTerms(CHANNEL_LOGITS, VALUES),),
        ),
    ],
    ids=["bias", "GRPE", "CSA"],
)
def test_without_a_clip_the_log_ratio_of_two_weights_is_affine_in_the_sender(terms, layer, pairs):
    ratios = log_ratio(terms, large_weights(layer), *pairs)
    assert ratios.diff(dim=0).abs().min() > 1e-4
    assert ratios.diff(n=2, dim=0).abs().max() < 1e-9


def test_egts_clip_limits_the_log_ratio_on_both_sides():
    layer = large_weights(models.EGTAttention(D, 6, H, clip=CLIP))
    terms = egt_terms(layer, X, PAIRS)
    shift = (terms.of_pair + terms.gate.log())[0, :, 0]
    ratios = log_ratio(egt_terms, layer, PAIRS) - (shift[:, 2] - shift[:, 1])
    assert ratios.abs().max() < 2 * CLIP + 1e-9
    assert ratios[[0, -1]].diff(dim=0).abs().min() > 2 * CLIP - 1e-9


def test_gats_log_ratio_has_one_bend_and_no_limit():
    ratios = log_ratio(gat_terms, large_weights(GATLayer(D, H)).conv, ALL)
    bends = ratios.diff(n=2, dim=0).abs() > 1e-9
    assert (bends.sum(dim=0).sub(1.5).abs() < 1).all()  # a bend touches one or two differences
    slopes = ratios[[1, -1]] - ratios[[0, -2]]
    torch.testing.assert_close(
        slopes.abs().amin(0) / slopes.abs().amax(0), torch.full((H,), 0.2).double()
    )


def test_gatedgcns_log_ratio_has_an_upper_limit_and_no_lower_one():
    conv = large_weights(GatedGCNConv(D))
    conv.D.weight.data = (DIRECTION / DIRECTION.norm()).repeat(D, 1)  # all channels change alike
    ratios = log_ratio(gatedgcn_terms, conv, EDGES, ALL)
    logits = gatedgcn_terms(conv, X, EDGES, ALL).logits[0, :, 0, 1]
    limit = -logits.sigmoid().log()
    assert (ratios <= limit + 1e-9).all()
    torch.testing.assert_close(ratios.amax(0), limit, rtol=0, atol=1e-3)
    assert (ratios.amin(0) < -10).all()


def test_gatedgcns_weights_are_the_softmax_of_the_logarithm_of_the_sigmoid():
    terms = gatedgcn_terms(large_weights(GatedGCNConv(D)), X, EDGES, ALL)
    expected = torch.nn.functional.logsigmoid(terms.logits).softmax(-1)
    torch.testing.assert_close(attend(terms)[1], expected, rtol=0, atol=1e-5)


def test_equal_channels_of_a_head_stay_equal_with_a_bias_but_not_in_csa():
    value = draw((1, N, H))[0].repeat_interleave(D // H, dim=-1)
    layer = large_weights(models.GraphormerAttention(D, H))
    csa = large_weights(models.ChromaticSelfAttention(D, H))
    of_csa = csa_terms(csa, X, models.EdgeTerms(CHANNEL_LOGITS, VALUES))
    for terms, equal in (
        (attention_terms(layer, X, BIAS), True),
        (replace(of_csa, pair_value=None), False),
    ):
        z = attend(replace(terms, value=value))[0].unflatten(-1, (H, -1))
        spread = z.amax(-1) - z.amin(-1)
        assert (spread.max() < 1e-12) if equal else (spread.min() > 1e-3)


def test_with_equal_keys_the_weights_of_a_bias_do_not_depend_on_the_nodes_but_grpes_do():
    for kind, terms_of, pairs, equal in (
        (models.GraphormerAttention, attention_terms, (BIAS,), True),
        (models.GRPEAttention, grpe_terms, (RELATION, tables()._replace(query=None)), False),
    ):
        layer = large_weights(kind(D, H))
        layer.key.weight.data.zero_()
        weights = [attend(terms_of(layer, h, *pairs))[1] for h in (X, -X)]
        assert torch.allclose(*weights) is equal
