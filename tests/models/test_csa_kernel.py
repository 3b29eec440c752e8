"""CSA's attention in its three forms: one function, whatever is masked, silenced or far apart."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from unittest.mock import Mock

import pytest
import torch
from torch import Tensor

from gtcourse import collate
from gtcourse.models import CGT, ChromaticSelfAttention, EdgeTerms, csa_kernel
from gtcourse.models.csa import direct
from gtcourse.models.csa_kernel import rows_of
from tests.graphs.small import graph_of
from tests.models.small import RINGED, Largest, encoded, large_weights

B = 3
N = 7
D = 8
H = 2
FORMS = pytest.mark.parametrize("form", ["factorised", "chunked"])
MASKS = {
    "no mask": None,
    "keys": torch.tensor([[True] * 7, [True] * 4 + [False] * 3, [False] * 7]),
    "pairs": torch.rand(B, N, N, generator=torch.Generator().manual_seed(1)) > 0.5,
}
MASKS["pairs"][0, 2] = False  # a row without any key
EVERY_ABLATION = {"node_ablation": 0.2, "edge_ablation": 0.3, "channel_ablation": 0.3}
CASES = {
    "dot": ({}, {}),
    "dot, no edge values": ({"values": False}, {"edge_ablation": 0.5}),
    "monochrome": ({"logits": H}, {"edge_ablation": 0.5}),
    "additive": ({}, {"score": "additive"}),
    "additive, no edge values": ({"values": False}, {"score": "additive", **EVERY_ABLATION}),
    "every ablation": ({}, EVERY_ABLATION),
}
"""What there is of the pairs, and the attention's options."""


@pytest.fixture(params=["in one piece", "in small pieces"])
def pieces(request, monkeypatch):
    if request.param == "in small pieces":
        monkeypatch.setitem(csa_kernel.BLOCK, "cpu", 2 * D // H * N * N)  # two of six heads
        monkeypatch.setattr(csa_kernel, "CHUNK", 2 * B * D * N + 1)  # two of seven rows


def inputs(*, values: bool = True, logits: int = D, seed: int = 0) -> tuple[Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    shapes = (B, N, D), (B, logits, N, N), (B, D, N, N) if values else None
    return tuple(
        None if s is None else torch.randn(s, generator=generator).double().requires_grad_()
        for s in shapes
    )


def everything_of(form: str, mask, h, logits, values, *, of_rows=False, **settings) -> dict:
    """What one form returns, and the gradient of all that goes in."""
    attention = large_weights(ChromaticSelfAttention(D, H, form=form, **settings)).train()
    terms = EdgeTerms(logits, values)
    torch.manual_seed(5)  # silences the same
    z = attention(h, partial(rows_of, terms) if of_rows else terms, mask=mask)
    given = {"h": h, "logits": logits, **dict(attention.named_parameters())}
    given |= {} if values is None else {"values": values}
    weights = torch.randn(z.shape, generator=torch.Generator().manual_seed(2)).double()
    gradients = torch.autograd.grad((z * weights).sum(), [*given.values()])
    return {"z": z, **dict(zip(given, gradients, strict=True))}


def assert_alike(got: dict, expected: dict, tolerance: float = 1e-10) -> None:
    torch.testing.assert_close(got, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.usefixtures("pieces")
@pytest.mark.parametrize(("terms", "settings"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@FORMS
def test_all_forms_give_equal_results_and_gradients(form, mask, terms, settings):
    given = inputs(**terms)
    expected = everything_of("direct", mask, *given, **settings)
    assert_alike(everything_of(form, mask, *given, **settings), expected)
    if form == "chunked":
        of_rows = everything_of("factorised", mask, *given, of_rows=True, **settings)
        assert_alike(of_rows, expected)


@pytest.mark.usefixtures("pieces")
@pytest.mark.parametrize(("terms", "settings"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_inference_equals_the_forward_pass_with_gradients(mask, terms, settings):
    h, logits, values = inputs(**terms)
    attention = large_weights(ChromaticSelfAttention(D, H, **settings)).train()
    found = []
    for with_gradients in (True, False):
        torch.manual_seed(5)  # silences the same
        with torch.set_grad_enabled(with_gradients):
            found.append(attention(h, EdgeTerms(logits, values), mask=mask))
    assert found[0].requires_grad
    assert not found[1].requires_grad
    torch.testing.assert_close(found[1], found[0].detach(), rtol=1e-12, atol=1e-12)


def extremes(size: float, meeting: str) -> tuple[Tensor, ...]:
    """Scores, value, logits, values; "badly" has each factor small where the other is large."""
    generator = torch.Generator().manual_seed(3)
    scores = size * (2 * torch.rand(B, H, N, N, generator=generator) - 1)
    logits = size * (2 * torch.rand(B, D, N, N, generator=generator) - 1)
    if meeting == "badly":
        logits = -scores.repeat_interleave(D // H, dim=1) + logits / size
    value = torch.randn(B, H, D // H, N, generator=generator)
    return scores, value, logits, torch.randn(B, D, N, N, generator=generator)


def gather(form: Callable, *tensors: Tensor) -> dict:
    """What one form gathers of scores, value, logits and values, and their gradients."""
    scores, value, logits, values = given = [x.detach().requires_grad_() for x in tensors]
    z = form(scores, value, EdgeTerms(logits, values))
    names = ("z", "scores", "value", "logits", "values")
    return dict(zip(names, (z, *torch.autograd.grad(z.sum(), given)), strict=True))


@pytest.mark.parametrize(("dtype", "atol"), [(torch.float32, 2e-4), (torch.bfloat16, 0.03)])
@pytest.mark.parametrize(
    ("size", "meeting", "falls_back"),
    [
        (20.0, "anyhow", False),
        (20.0, "badly", False),  # e^-40 is a number like any other
        (30.0, "badly", True),  # and e^-60 is one, but what is divided by it may be none
        (80.0, "anyhow", None),
        (300.0, "badly", True),
    ],
)
@FORMS
def test_large_logits_keep_the_precision_of_their_dtype(
    form, size, meeting, falls_back, dtype, atol
):
    """The direct form is called where the factors meet so badly that nothing is left."""
    given = [x.to(dtype) for x in extremes(size, meeting)]
    called = Mock(side_effect=direct)
    expected = gather(direct, *(x.double() for x in given))
    got = gather(partial(getattr(csa_kernel, form), called), *given)
    if form == "factorised" and dtype == torch.float32 and falls_back is not None:
        assert called.called == falls_back
    with torch.no_grad():
        z = getattr(csa_kernel, form)(direct, *given[:2], EdgeTerms(*given[2:]))
    torch.testing.assert_close(z.double(), expected["z"], rtol=atol, atol=atol)
    assert all(part.dtype == dtype for part in got.values())
    assert_alike({name: part.double() for name, part in got.items()}, expected, atol)


@pytest.mark.parametrize(
    "form", [direct, partial(csa_kernel.factorised, direct), partial(csa_kernel.chunked, direct)]
)
def test_a_pair_with_logit_minus_infinity_has_no_weight_and_no_gradient(form):
    scores, value, logits, values = (x.double() for x in extremes(1.0, "anyhow"))
    logits[:, :, torch.arange(N), torch.arange(N).roll(1)] = -math.inf
    logits[:, :3, 0, 1:] = -math.inf  # one key is left
    expected = torch.exp(scores[:, :, None] + logits.unflatten(1, (H, -1)))
    expected = expected / expected.sum(-1, keepdim=True)
    messages = value[..., None, :] + values.unflatten(1, (H, -1))
    got = gather(form, scores, value, logits, values)
    torch.testing.assert_close(got["z"], (expected * messages).sum(-1), rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(got["values"], expected.flatten(1, 2), rtol=1e-10, atol=1e-10)
    assert not got["logits"][logits == -math.inf].any()
    assert all(bool(part.isfinite().all()) for part in got.values())


@pytest.mark.parametrize("share_edges", [True, False])
def test_chunked_model_never_stores_the_vectors_of_all_pairs(share_edges, monkeypatch):
    nodes = 24
    wide = 32
    config = replace(
        RINGED, d_model=wide, rings="additive", share_edges=share_edges, form="chunked"
    )
    monkeypatch.setattr(csa_kernel, "CHUNK", 2 * nodes * wide)
    ring = [(i, (i + 1) % nodes) for i in range(nodes)]
    model = CGT(config)
    batch = collate(encoded(graph_of(nodes, ring)))
    batch.encodings["random_walks"] = batch.encodings["random_walks"].float()
    with Largest() as seen:
        model(batch).sum().backward()
    assert seen.most < nodes * nodes * wide / 4


def test_inference_accepts_terms_with_any_strides():
    torch.manual_seed(0)
    attention = ChromaticSelfAttention(D, H).eval()
    h = torch.randn(1, N, D)
    channels_last = torch.randn(2, 1, N, N, D)
    edges = EdgeTerms(*channels_last.permute(0, 1, 4, 2, 3))
    expected = attention(h, edges)
    with torch.no_grad():
        torch.testing.assert_close(attention(h, edges), expected)


def test_the_factor_of_half_precision_logits_has_single_precision():
    logits = torch.randn(1, D, N, N).bfloat16()
    factor = csa_kernel.factor_of(logits)
    assert factor.dtype == torch.float32
    torch.testing.assert_close(factor, logits.float().softmax(dim=-1))


@pytest.mark.parametrize("form", ["factorised", "direct", "chunked", "fused"])
def test_a_batch_without_graphs_has_no_predictions(form):
    config = replace(RINGED, num_layers=1, form=form)
    batch = collate(encoded(graph_of(3, [(0, 1)]), dtype=torch.float32))
    none = torch.tensor([], dtype=torch.int64)
    assert CGT(config).eval()(batch.select(none)).shape == (0,)
