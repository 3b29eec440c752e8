"""EGT's fused form beside the direct one: values, gradients, and what it refuses.

Beside the loops, with padding and with other orders of the nodes it is among the models of
``tests/properties``.
"""

import math
from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from gtcourse import collate
from gtcourse.models import EGT, EGTAttention
from gtcourse.models.egt_fused import _Attention, attention_of_rows
from gtcourse.models.fused import Rows
from tests.graphs.small import graph_of
from tests.models.fused_forms import MASK, SCATTERED, SIZES, assert_alike, batch_of, draw
from tests.models.small import EGTS, SIZE, encoded, in_use

H, D, D_EDGE = SIZE["num_heads"], SIZE["d_model"], 5
"""Heads and width as in the small models, so that numba compiles each loop once for both."""
OTHER = {"dropout", "numbers", "numbers, edge", "two columns"}
"""Other numbers drawn, or features that the batch below does not have."""

TRAINED = {
    name: config for name, config in EGTS.items() if name not in OTHER and config.form == "direct"
}


def allowed_pairs(rows: Rows) -> Tensor:
    """Some of the pairs ``[P]``, each token and itself among them."""
    generator = torch.Generator().manual_seed(5)
    return rows.is_itself() | (torch.rand(len(rows.pairs), generator=generator) > 0.5)


# One layer.


def padded(x: Tensor, rows: Rows) -> Tensor:
    """Rows of pairs ``[P, …]`` as ``[B, N, N, …]``, with zeros at padding."""
    B, N = rows.shape
    zeros = x.new_zeros(B * N * N, *x.shape[1:])
    return zeros.index_copy(0, rows.pairs, x).unflatten(0, (B, N, N))


@pytest.mark.parametrize("mask", [MASK, SCATTERED], ids=["padding at the end", "in between"])
@pytest.mark.parametrize("masked", [False, True], ids=["all pairs", "some pairs"])
@pytest.mark.parametrize("gated", [True, False], ids=["gates", "no gates"])
@pytest.mark.parametrize("clip", [0.5, math.inf])
def test_fused_attention_equals_the_direct_form_with_gradients(mask, masked, gated, clip):
    torch.manual_seed(0)
    attention = EGTAttention(D, D_EDGE, H, gated=gated, clip=clip).double()
    rows = Rows(mask)
    h = draw(len(rows.nodes), D)
    e = draw(len(rows.pairs), D_EDGE, seed=1)
    allowed = allowed_pairs(rows) if masked else None
    pair_mask = torch.ones_like(rows.pairs, dtype=torch.bool) if allowed is None else allowed
    z, logits = attention_of_rows(attention, h, e, rows, allowed)
    expected_z, expected_logits = attention(
        rows.padded(h), padded(e, rows), mask=padded(pair_mask, rows)
    )
    expected = [rows.of_nodes(expected_z), rows.of_pairs(expected_logits)]
    assert_alike([z, logits], expected)
    inputs = [h, e, *attention.parameters()]
    weights = [draw(*output.shape, seed=9).detach() for output in expected]
    found = [torch.autograd.grad(outputs, inputs, weights) for outputs in ([z, logits], expected)]
    assert_alike(found[0], found[1])
    # The bound and the mask matter here: without them the results would be others.
    assert (logits.abs() > clip).any() or math.isinf(clip)


@pytest.mark.parametrize("masked", [False, True], ids=["all pairs", "some pairs"])
@pytest.mark.parametrize("gated", [True, False], ids=["gates", "no gates"])
@pytest.mark.parametrize("clip", [0.5, math.inf])
def test_gradients_equal_finite_differences(masked, gated, clip):
    rows = Rows(MASK)
    nodes = [draw(len(rows.nodes), D, seed=seed) for seed in range(3)]
    terms = draw(len(rows.pairs), 2 * H if gated else H, seed=3)
    allowed = allowed_pairs(rows) if masked else None

    def attend(query: Tensor, key: Tensor, value: Tensor, terms: Tensor) -> tuple[Tensor, Tensor]:
        return _Attention.apply(query, key, value, terms, allowed, rows.starts, H, 0.7, clip)

    assert gradcheck(attend, [*nodes, terms])


def test_logits_far_apart_and_minus_infinity_give_finite_gradients():
    rows = Rows(MASK)
    q, k, v = (draw(len(rows.nodes), D, seed=seed) for seed in range(3))
    terms = draw(len(rows.pairs), 2 * H, seed=3, size=1e3)
    terms.data[1, 0] = -torch.inf  # of the pair (0, 1)
    heads, _ = _Attention.apply(q, k, v, terms, None, rows.starts, H, 0.7, 5.0)
    heads.sum().backward()
    assert bool(heads.isfinite().all())
    assert all(bool(each.grad.isfinite().all()) for each in (q, k, v, terms))
    assert not terms.grad[1, 0].any()


def test_nan_spreads_only_to_dependent_outputs():
    rows = Rows(MASK)
    q, k, v = (draw(len(rows.nodes), D, seed=seed) for seed in range(3))
    terms = draw(len(rows.pairs), 2 * H, seed=3)
    v.data[0, 0] = torch.nan
    terms.data[-1, 1] = torch.nan  # E of the last pair, in the second head
    heads, logits = _Attention.apply(q, k, v, terms, None, rows.starts, H, 0.7, 0.5)
    assert bool(heads[: SIZES[0], 0].isnan().all())
    assert bool(heads[-1, D // H :].isnan().all())
    assert int(heads.isnan().sum()) == SIZES[0] + D // H
    assert int(logits.isnan().sum()) == 1
    q.data[0, 0] = torch.nan  # a NaN among the dot products is not clipped
    _, logits = _Attention.apply(q, k, v, terms, None, rows.starts, H, 0.7, 0.5)
    assert bool(logits[: SIZES[0], 0].isnan().all())


# The whole model.


def results_of(model: EGT, batch) -> list[Tensor]:
    results = model(batch, return_distances=model.config.distance_hops > 0)
    return [results] if isinstance(results, Tensor) else [*results]


@pytest.mark.parametrize("config", TRAINED.values(), ids=TRAINED)
def test_training_step_equals_the_direct_form(config):
    """The results at real nodes and pairs, and all gradients; with the same signs drawn."""
    batch = batch_of()
    real = {"graph": None, "node": batch.mask, "edge": batch.pair_mask}[config.target]
    found = {}
    for form in ("direct", "fused"):
        model = in_use(EGT(replace(config, form=form))).train()
        torch.manual_seed(3)
        results = results_of(model, batch)
        if real is not None:
            results[0] = results[0][real]
        sum(result.square().sum() for result in results).backward()
        found[form] = {
            "results": [result.detach() for result in results],
            **{name: p.grad for name, p in model.named_parameters()},
        }
    assert_alike(found["fused"], found["direct"], 1e-9)


def test_dropout_draws_in_training_alone():
    config = replace(EGTS["dropout"], form="fused")
    batch = batch_of()
    model = in_use(EGT(config))
    direct = in_use(EGT(replace(config, form="direct")))
    assert_alike(model.eval()(batch), direct.eval()(batch))
    model.train()
    results = []
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        results.append(model(batch))
    assert torch.equal(results[0], results[1])
    assert not torch.allclose(results[0], results[2])


def test_training_step_is_deterministic():
    config = replace(EGTS["distances"], form="fused")
    steps = []
    for _ in range(2):
        model = in_use(EGT(config)).float().train()
        model(batch_of(torch.float32)).sum().backward()
        steps.append([p.grad for p in model.parameters()])
    assert_alike(steps[0], steps[1], 0)


@pytest.mark.parametrize("name", ["graph", "virtual nodes", "constrained"])
def test_padding_does_not_change_results(name):
    model = in_use(EGT(replace(EGTS[name], form="fused")))
    graph = encoded(graph_of(4, [(0, 1), (1, 2)]))
    alone = model(collate(graph))
    beside = model(collate([*graph, *encoded(graph_of(9, [(0, 8)]))]))
    assert_alike(beside[:1], alone)


def test_attention_of_the_fused_form_is_that_of_the_direct_form():
    model = in_use(EGT(replace(EGTS["graph"], form="fused")))
    batch = batch_of()
    prediction, attention = model(batch, return_attention=True)
    direct = in_use(EGT(EGTS["graph"]))
    assert_alike(prediction, model(batch))
    assert torch.equal(attention, direct(batch, return_attention=True)[1])


# What is refused.


def test_second_derivative_raises():
    rows = Rows(MASK)
    given = [draw(len(rows.nodes), D, seed=seed) for seed in range(3)]
    terms = draw(len(rows.pairs), 2 * H, seed=3)
    attend = partial(_Attention.apply, *given, terms, None, rows.starts, H, 0.7, 5.0)
    with pytest.raises(RuntimeError, match="'fused' has no second derivative; expected 'direct'"):
        torch.autograd.grad(attend()[0].sum(), given, create_graph=True)


@pytest.mark.parametrize("form", ["direct", "fused"])
def test_an_unknown_category_of_an_edge_raises(form):
    model = in_use(EGT(replace(EGTS["graph"], form=form)))
    batch = batch_of()
    batch.edge_attr[2, 0, 1] = 99
    expected = "edge_attr has category 99 in column 0 of graph 2 of the batch; expected 0 to 3."
    with pytest.raises(ValueError, match=expected):
        model(batch)
