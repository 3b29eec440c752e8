"""CSA's fused form beside the direct one: values, gradients, and what the backward pass keeps.

Beside the loops, with padding and with other orders of the nodes it is among the models of
``tests/properties``.
"""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from gtcourse import collate
from gtcourse.models import CGT, CGTConfig, EdgeTerms
from gtcourse.models.csa import direct
from gtcourse.models.csa_fused import attend, factor_of
from gtcourse.models.fused import Rows
from gtcourse.recipes import get_recipe
from gtcourse.recipes.recipe import with_form
from tests.graphs.small import graph_of
from tests.models.fused_forms import MASK, SCATTERED, SIZES, assert_alike, batch_of, draw
from tests.models.small import ABLATED, CGTS, RINGED, SIZE, encoded, in_use

H, D = SIZE["num_heads"], SIZE["d_model"]
"""Heads and width as in the small models, so that numba compiles each loop once for both."""
LONGER = torch.arange(17) < torch.tensor((7, 8, 17))[:, None]
"""Graphs around a multiple of 8 nodes, to which the loops lengthen the rows of keys."""

TRAINED = {
    "shared maps": replace(RINGED, **ABLATED),
    "maps of each layer": replace(RINGED, share_edges=False, **ABLATED),
    "no edge values": replace(RINGED, edge_values=False, **ABLATED),
    "bounded logits": replace(RINGED, clip=0.5, form="direct", **ABLATED),
    "distances and added rings": replace(
        CGTS["distances and added rings"], edge_ablation=0.5, readout="mean"
    ),
}


def inputs(rows: Rows, size: float = 1.0) -> dict[str, Tensor]:
    n = len(rows.nodes)
    P = len(rows.pairs)
    given = {name: draw(n, D, seed=seed) for seed, name in enumerate("qkv")}
    given["logits"] = draw(P, D, seed=3, size=size)
    given["values"] = draw(P, D, seed=4)
    return given


def terms_of(given: dict[str, Tensor], rows: Rows) -> EdgeTerms:
    factor = factor_of(given["logits"].detach(), rows)
    return EdgeTerms(given["logits"], given.get("values"), factor)


def padded_direct(
    given: dict[str, Tensor],
    rows: Rows,
    drop: Tensor | None = None,
    *,
    clip: float = math.inf,
) -> Tensor:
    """The direct form's z ``[n, d]`` of what :func:`attend` takes."""
    B, N = rows.shape
    q, k, v = (rows.padded(given[name]).unflatten(-1, (H, -1)).transpose(1, 2) for name in "qkv")
    scores = (q * q.shape[-1] ** -0.5 @ k.mT).masked_fill(~_keys(rows), torch.finfo(q.dtype).min)
    logits, values = (
        e.new_zeros(B * N * N, D)
        .index_copy(0, rows.pairs, e)
        .unflatten(0, (B, N, N))
        .permute(0, 3, 1, 2)
        for e in (given["logits"], given["values"])
    )
    if drop is not None:
        drop = drop.new_zeros(B * N * N).index_copy(0, rows.pairs, drop).view(B, 1, N, N)
    z = direct(scores, v.mT, EdgeTerms(logits, values), drop, clip=clip)  # [B, H, K, N]
    return rows.of_nodes(z.flatten(1, 2).mT)


def _keys(rows: Rows) -> Tensor:
    mask = torch.zeros(rows.shape, dtype=torch.bool)
    mask.view(-1)[rows.nodes] = True
    return mask[:, None, None]


def gradients(output: Tensor, given: dict[str, Tensor], **options) -> dict[str, Tensor]:
    weights = draw(*output.shape, seed=9).detach()
    found = torch.autograd.grad((output * weights).sum(), [*given.values()], **options)
    return dict(zip(given, found, strict=True))


# One layer.


@pytest.mark.parametrize(
    "mask", [MASK, SCATTERED, LONGER], ids=["padding at the end", "in between", "7, 8 and 17 nodes"]
)
@pytest.mark.parametrize("dropped", [False, True])
@pytest.mark.parametrize("clip", [math.inf, 0.5])
def test_fused_layer_equals_the_direct_form_with_gradients(mask, dropped, clip):
    rows = Rows(mask)
    given = inputs(rows)
    generator = torch.Generator().manual_seed(7)
    kept = 2 * (torch.rand(len(rows.pairs), generator=generator) > 0.5).double()
    drop = kept if dropped else None
    terms = terms_of(given, rows)
    z, _ = attend(*(given[name] for name in "qkv"), H, terms, drop, rows, clip=clip)
    expected = padded_direct(given, rows, drop, clip=clip)
    assert_alike(z, expected)
    assert_alike(gradients(z, given), gradients(expected, given))


@pytest.mark.parametrize("clip", [math.inf, 0.5])
def test_gradients_through_two_layers_equal_finite_differences(clip):
    rows = Rows(MASK)
    given = inputs(rows)

    def two_layers(q, k, v, logits, values):
        terms = terms_of({"logits": logits, "values": values}, rows)
        z, terms = attend(q, k, v, H, terms, None, rows, clip=clip)
        return attend(z, k, v, H, terms, None, rows, clip=clip)[0]

    assert gradcheck(two_layers, [*given.values()])


def far_apart(rows: Rows) -> dict[str, Tensor]:
    """Scores that are largest where the logits are smallest: no product of a row is a number."""
    given = inputs(rows)
    first_key = rows.pairs % rows.shape[1] == 0
    first_node = rows.nodes % rows.shape[1] == 0
    given["logits"] = torch.where(first_key, 900.0, -900.0)[:, None].repeat(1, D)
    given["q"] = torch.where(first_node, -30.0, 30.0)[:, None].repeat(1, D)
    given["k"] = torch.where(first_node, -30.0, 30.0)[:, None].repeat(1, D)
    return {name: x.detach().double().requires_grad_() for name, x in given.items()}


@pytest.mark.parametrize("clip", [math.inf, 2000.0])
def test_logits_far_apart_fall_back_to_the_direct_form(clip):
    rows = Rows(MASK)
    given = far_apart(rows)
    terms = terms_of(given, rows)
    q, k, v = (given[name] for name in "qkv")
    z, again = attend(q, k, v, H, terms, None, rows, clip=clip)
    assert again is terms
    expected = padded_direct(given, rows, clip=clip)
    assert_alike(z, expected, 1e-9)
    assert_alike(gradients(z, given), gradients(expected, given), 1e-9)


def test_nan_spreads_only_to_dependent_outputs():
    rows = Rows(MASK)
    given = inputs(rows)
    given["v"].data[0, 0] = torch.nan
    given["logits"].data[-1, 1] = torch.nan
    q, k, v = (given[name] for name in "qkv")
    z, _ = attend(q, k, v, H, terms_of(given, rows), None, rows)
    assert bool(z[: SIZES[0], 0].isnan().all())
    assert bool(z[-1, 1].isnan())
    assert int(z.isnan().sum()) == SIZES[0] + 1


def test_a_pair_with_logit_minus_infinity_has_no_weight():
    rows = Rows(MASK)
    given = inputs(rows)
    given["logits"].data[1] = -torch.inf  # of the pair (0, 1)
    q, k, v = (given[name] for name in "qkv")
    z, _ = attend(q, k, v, H, terms_of(given, rows), None, rows)
    found = gradients(z, given)
    assert_alike(z, padded_direct(given, rows))
    assert not found["logits"][1].any()
    assert all(bool(gradient.isfinite().all()) for gradient in found.values())


# What layers share.


def chain(given: dict[str, Tensor], rows: Rows, factors=(1.0, 2.0, 3.0)) -> list[Tensor]:
    """What layers gather with the same terms, of the same nodes, with queries times a factor."""
    terms = terms_of(given, rows)
    results = []
    for factor in factors:
        z, terms = attend(given["q"] * factor, given["k"], given["v"], H, terms, None, rows)
        results.append(z)
    return results


def by_layer(given: dict[str, Tensor], rows: Rows, factors=(1.0, 2.0, 3.0)) -> list[Tensor]:
    return [padded_direct(given | {"q": given["q"] * factor}, rows) for factor in factors]


@pytest.mark.parametrize("used", [(0, 1, 2), (2,), (0,), (1,), (0, 2)])
def test_shared_terms_get_the_gradients_of_all_layers_in_the_loss(used):
    rows = Rows(MASK)
    given = inputs(rows)
    got = sum(chain(given, rows)[layer] for layer in used)
    expected = sum(by_layer(given, rows)[layer] for layer in used)
    assert_alike(gradients(got, given), gradients(expected, given))


def test_terms_stay_shared_when_a_layer_falls_back_to_the_direct_form():
    rows = Rows(MASK)
    given = far_apart(rows)
    factors = (0.0, 1.0, 0.0)  # without scores the products are the logits' alone
    got = sum(chain(given, rows, factors))
    expected = sum(by_layer(given, rows, factors))
    assert_alike(gradients(got, given), gradients(expected, given), 1e-9)


def test_repeated_backward_passes_give_equal_gradients():
    """A second pass, and one that asked for other gradients in between, leave nothing behind."""
    rows = Rows(MASK)
    given = inputs(rows)
    output = sum(chain(given, rows))
    first = gradients(output, given, retain_graph=True)
    kept = {name: gradient.clone() for name, gradient in first.items()}
    (alone,) = torch.autograd.grad(output.sum(), [given["q"]], retain_graph=True)
    second = gradients(output, given, retain_graph=True)
    assert alone.isfinite().all()
    assert_alike(second, kept, 0)
    assert_alike(first, kept, 0)  # nor was the first one's memory used again
    assert_alike(first, gradients(sum(by_layer(given, rows)), given))


def test_second_derivative_raises():
    rows = Rows(MASK)
    given = inputs(rows)
    with pytest.raises(RuntimeError, match="'fused' has no second derivative; expected 'direct'"):
        gradients(sum(chain(given, rows)), given, create_graph=True)


# The whole model.


@pytest.mark.parametrize("config", TRAINED.values(), ids=TRAINED)
def test_training_step_equals_the_direct_form(config):
    """With the same numbers drawn: the loss, all gradients, and the running statistics."""
    batch = batch_of()
    found = {}
    for form in ("direct", "fused"):
        model = in_use(CGT(replace(config, form=form))).train()
        torch.manual_seed(3)
        prediction = model(batch)
        prediction.square().sum().backward()
        found[form] = {
            "prediction": prediction.detach(),
            **{name: p.grad for name, p in model.named_parameters()},
            **dict(model.named_buffers()),
        }
    assert_alike(found["fused"], found["direct"], 1e-9)


def test_training_step_is_deterministic():
    steps = []
    for _ in range(2):
        model = in_use(CGT(replace(TRAINED["shared maps"], form="fused"))).float().train()
        torch.manual_seed(3)
        model(batch_of(torch.float32)).sum().backward()
        steps.append([p.grad for p in model.parameters()])
    assert_alike(steps[0], steps[1], 0)


def test_padding_does_not_change_results():
    model = in_use(CGT(replace(RINGED, form="fused")))
    graph = encoded(graph_of(4, [(0, 1), (1, 2)]))
    alone = model(collate(graph))
    beside = model(collate([*graph, *encoded(graph_of(9, [(0, 8)]))]))
    assert_alike(beside[:1], alone)


# What is refused.


@pytest.mark.parametrize("change", [{"chromatic": False}, {"score": "additive"}])
def test_fused_form_of_another_attention_raises_at_construction(change):
    with pytest.raises(ValueError, match=r"form is 'fused' with .* expected chromatic=True"):
        CGT(CGTConfig(form="fused", **change))


@pytest.mark.parametrize("form", ["direct", "fused"])
def test_walks_of_the_wrong_length_raise(form):
    steps = RINGED.relative_steps
    model = CGT(replace(RINGED, relative_steps=steps + 1, form=form)).double()
    with pytest.raises(ValueError, match=f"walks has {steps} columns; expected {steps + 1}"):
        model(batch_of())


def test_a_recipe_records_the_chosen_form():
    recipe = with_form(get_recipe("csa-rings/zinc"), "fused")
    assert recipe.build_model().config.form == "fused"
    assert "form='fused'" in recipe.config()["build_model"]
    assert recipe.changed == {}  # the function is the paper's
    with pytest.raises(ValueError, match="form is 'fast'; expected one of factorised, direct"):
        with_form(get_recipe("csa-rings/zinc"), "fast")
    with pytest.raises(ValueError, match="form is 'fused' for gin/zinc; expected a recipe of CSA"):
        with_form(get_recipe("gin/zinc"), "fused")
