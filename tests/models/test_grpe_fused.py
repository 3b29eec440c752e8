"""GRPE's fused form beside the direct one: values, gradients, and what it refuses.

Beside the loops, with padding and with other orders of the nodes it is among the models of
``tests/properties``.
"""

from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from gtcourse import collate
from gtcourse.models import GRPE, GRPEAttention, RelationTables
from gtcourse.models.fused import Rows
from gtcourse.models.grpe_fused import _Attention, attention_of_rows
from tests.graphs.small import graph_of
from tests.models.fused_forms import MASK, SCATTERED, SIZES, assert_alike, batch_of, draw
from tests.models.small import GRPES, SIZE, encoded, in_use

H, D, T = SIZE["num_heads"], SIZE["d_model"], 5
"""Heads and width as in the small models, so that numba compiles each loop once for both."""
TABLES = {
    "all terms": ("key", "query", "value"),
    "no terms": (),
    "query context": ("key",),
    "key context": ("query",),
    "value": ("value",),
    "bias": ("bias",),
    "everything": ("key", "query", "value", "bias"),
}
OTHER = {"dropout", "numbers", "two columns"}
"""Other numbers drawn, or features that the batch below does not have."""

TRAINED = {
    name: config for name, config in GRPES.items() if name not in OTHER and config.form == "direct"
}


def relation_of(mask: Tensor) -> Tensor:
    """A relation for each pair, ``[B, N, N]``; that of (i, j) is not that of (j, i)."""
    B, N = mask.shape
    return torch.randint(0, T, (B, N, N), generator=torch.Generator().manual_seed(6))


def tables_of(names: tuple[str, ...]) -> RelationTables:
    widths = {"key": D, "query": D, "value": D, "bias": H}
    return RelationTables(
        **{name: draw(T, widths[name], seed=20 + i) for i, name in enumerate(names)}
    )


# One layer.


@pytest.mark.parametrize("mask", [MASK, SCATTERED], ids=["padding at the end", "in between"])
@pytest.mark.parametrize("names", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("key_context", ["key_column", "query_row"])
def test_fused_attention_equals_the_direct_form_with_gradients(mask, names, key_context):
    torch.manual_seed(0)
    attention = GRPEAttention(D, H, key_context=key_context).double()
    rows = Rows(mask)
    h = draw(len(rows.nodes), D)
    relation = relation_of(mask)
    tables = tables_of(names)
    z = attention_of_rows(attention, h, rows.of_pairs(relation), tables, rows)
    padded = attention(rows.padded(h), relation, tables, mask=mask)
    expected = rows.of_nodes(padded)
    assert_alike(z, expected)
    inputs = [h, *(table for table in tables if table is not None), *attention.parameters()]
    weights = draw(*expected.shape, seed=9).detach()
    found = [torch.autograd.grad(output, inputs, weights) for output in (z, expected)]
    assert_alike(found[0], found[1])


EVERY_LOOP = [
    pytest.param(
        contexts,
        relations,
        dropped,
        marks=[pytest.mark.nightly] * ((len(contexts) + bool(relations) + dropped) % 2),
    )
    for contexts in [(), ("query",), ("key",), ("query", "key")]
    for relations in (0, T)
    for dropped in (False, True)
]
"""All cases of the four switches of the loops. numba compiles the loops of each, and only each
night of all. In the other half any three switches still take all values together."""


@pytest.mark.parametrize(("contexts", "relations", "dropped"), EVERY_LOOP)
def test_gradients_equal_finite_differences(contexts, relations, dropped):
    rows = Rows(MASK)
    n, P = len(rows.nodes), len(rows.pairs)
    nodes = [draw(n, D, seed=seed) for seed in range(3)]
    given = {name: draw(n, H, T, seed=7 + len(name)) for name in contexts}
    pair = rows.of_pairs(relation_of(MASK))
    kept = None
    if dropped:
        kept = 2.0 * (torch.rand(P, H, generator=torch.Generator().manual_seed(7)) > 0.5)
        kept = kept.double()

    def attend(query: Tensor, key: Tensor, value: Tensor, *terms: Tensor) -> tuple[Tensor, ...]:
        of = dict(zip(given, terms, strict=True))
        results = _Attention.apply(
            query,
            key,
            value,
            of.get("query"),
            of.get("key"),
            kept,
            pair,
            rows.starts,
            H,
            relations,
        )
        return results if relations else results[0]

    assert gradcheck(attend, [*nodes, *given.values()])


def test_logits_far_apart_give_finite_gradients():
    rows = Rows(MASK)
    nodes = [draw(len(rows.nodes), D, seed=seed, size=100) for seed in range(3)]
    pair = rows.of_pairs(relation_of(MASK))
    heads, _ = _Attention.apply(*nodes, None, None, None, pair, rows.starts, H, 0)
    heads.sum().backward()
    assert bool(heads.isfinite().all())
    assert all(bool(each.grad.isfinite().all()) for each in nodes)


def test_nan_spreads_only_to_dependent_outputs():
    rows = Rows(MASK)
    q, k, v = (draw(len(rows.nodes), D, seed=seed) for seed in range(3))
    v.data[0, 0] = torch.nan
    q.data[-1, -1] = torch.nan  # in the second head
    pair = rows.of_pairs(relation_of(MASK))
    heads, _ = _Attention.apply(q, k, v, None, None, None, pair, rows.starts, H, 0)
    assert bool(heads[: SIZES[0], 0].isnan().all())
    assert bool(heads[-1, D // H :].isnan().all())
    assert int(heads.isnan().sum()) == SIZES[0] + D // H


# The whole model.


@pytest.mark.parametrize("config", TRAINED.values(), ids=TRAINED)
def test_training_step_equals_the_direct_form(config):
    """The predictions at real nodes, and all gradients; without dropout, which draws others."""
    config = replace(config, dropout=0.0, attention_dropout=0.0)
    batch = batch_of()
    found = {}
    for form in ("direct", "fused"):
        model = in_use(GRPE(replace(config, form=form))).train()
        prediction = model(batch)
        if config.target == "node":
            prediction = prediction[batch.mask]
        prediction.square().sum().backward()
        found[form] = {
            "prediction": prediction.detach(),
            **{name: p.grad for name, p in model.named_parameters()},
        }
    assert_alike(found["fused"], found["direct"], 1e-9)


def test_dropout_draws_in_training_alone():
    config = GRPES["dropout"]
    batch = batch_of()
    model = in_use(GRPE(replace(config, form="fused")))
    direct = in_use(GRPE(config))
    assert_alike(model.eval()(batch), direct.eval()(batch))
    model.train()
    results = []
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        results.append(model(batch))
    assert torch.equal(results[0], results[1])
    assert not torch.allclose(results[0], results[2])


def test_dropped_weights_have_the_mean_of_the_direct_form():
    """Over many draws the mean is that without dropout: the factors are 0 or 1 / (1 - p)."""
    torch.manual_seed(0)
    attention = GRPEAttention(D, H, dropout=0.5).double()
    rows = Rows(MASK)
    h = draw(len(rows.nodes), D).detach()
    pair = rows.of_pairs(relation_of(MASK))
    tables = tables_of(("key", "value"))
    attend = partial(attention_of_rows, attention, h, pair, tables, rows)
    with torch.no_grad():
        attention.eval()
        expected = attend()
        attention.train()
        draws = torch.stack([attend() for _ in range(4000)])
    error = draws.std(dim=0) / len(draws) ** 0.5
    assert bool(((draws.mean(dim=0) - expected).abs() < 5 * error + 1e-9).all())
    assert float(draws.std(dim=0).min()) > 0


def test_training_step_is_deterministic():
    config = replace(GRPES["dropout"], form="fused")
    steps = []
    for _ in range(2):
        model = in_use(GRPE(config)).float().train()
        torch.manual_seed(3)
        model(batch_of(torch.float32)).sum().backward()
        steps.append([p.grad for p in model.parameters()])
    assert_alike(steps[0], steps[1], 0)


@pytest.mark.parametrize("name", ["all terms", "no virtual node"])
def test_padding_does_not_change_results(name):
    model = in_use(GRPE(replace(GRPES[name], form="fused")))
    graph = encoded(graph_of(4, [(0, 1), (1, 2)]))
    alone = model(collate(graph))
    beside = model(collate([*graph, *encoded(graph_of(9, [(0, 8)]))]))
    assert_alike(beside[:1], alone)


# What is refused.


def test_second_derivative_raises():
    rows = Rows(MASK)
    nodes = [draw(len(rows.nodes), D, seed=seed) for seed in range(3)]
    pair = rows.of_pairs(relation_of(MASK))
    heads, _ = _Attention.apply(*nodes, None, None, None, pair, rows.starts, H, 0)
    with pytest.raises(RuntimeError, match="'fused' has no second derivative; expected 'direct'"):
        torch.autograd.grad(heads.sum(), nodes, create_graph=True)


@pytest.mark.parametrize("form", ["direct", "fused"])
def test_an_unknown_category_of_an_edge_raises(form):
    model = in_use(GRPE(replace(GRPES["all terms"], form=form)))
    batch = batch_of()
    batch.edge_attr[2, 0, 1] = 99
    with pytest.raises(ValueError, match="edge_attr has category 99 in column 0 of graph 2 of the"):
        model(batch)
