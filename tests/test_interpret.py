"""Attention maps and attributions held to loops, and to what is known of them."""

import copy
import math
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

from gtcourse import collate
from gtcourse.encodings import encode
from gtcourse.graphs.molecules import zinc_data
from gtcourse.interpret import (
    KINDS,
    ablated,
    attention_by_hop,
    attention_by_kind,
    attention_entropy,
    attention_rollout,
    attention_times_gradient,
    between_nodes,
    gradient_times_input,
    head_similarity,
    layers_of,
    leave_one_out,
    pair_kinds,
    probabilities,
    read_by_graph,
    token_mask,
)
from gtcourse.models import EGT, GIN, GINConfig
from gtcourse.predict import load
from tests.graphs.small import graph_of, graphs
from tests.loops.probes import difference_loop, entropy_loop, likeness_loop, rollout_loop, rows_loop
from tests.models import small
from tests.properties.graphs import renumbered
from tests.properties.models import MODELS, in_use

L, H = 2, 3
EXACT = {"rtol": 0, "atol": 1e-10}
SIZES = st.lists(st.integers(1, 5), min_size=1, max_size=3)
SOME_GRAPHS = st.lists(graphs(max_nodes=6), min_size=1, max_size=3)
SEEDS = st.integers(0, 99)
PADDING = st.integers(0, 2)


def some_attention(sizes, seed, heads=H, more=0):
    """Weights that are no probabilities, ``more`` rows of padding, and the mask."""
    T = max(sizes) + more
    generator = torch.Generator().manual_seed(seed)
    weights = torch.rand(len(sizes), L, heads, T, T, generator=generator, dtype=torch.float64)
    weights[weights < 0.2] = 0.0
    return weights, torch.arange(T) < torch.tensor(sizes)[:, None]


@given(sizes=SIZES, seed=SEEDS, more=PADDING)
def test_entropy_equals_the_loop_over_rows(sizes, seed, more):
    attention, mask = some_attention(sizes, seed, more=more)
    got = attention_entropy(attention, mask)
    shares = attention_entropy(attention, mask, share=True)
    expected = []
    scales = []
    for b, n in enumerate(sizes):
        rows = [[rows_loop(attention[b, layer, h], n) for h in range(H)] for layer in range(L)]
        for i in range(n):
            expected.append([[entropy_loop(head[i]) for head in layer] for layer in rows])
            scales.append(math.log(max(n, 2)))
    expected = torch.tensor(expected, dtype=torch.float64)
    torch.testing.assert_close(got, expected, **EXACT)
    scales = torch.tensor(scales, dtype=torch.float64)[:, None, None]
    torch.testing.assert_close(shares, expected / scales, **EXACT)


@given(sizes=SIZES, seed=SEEDS, more=PADDING)
def test_similarity_equals_the_loop_over_tokens(sizes, seed, more):
    attention, mask = some_attention(sizes, seed, more=more)
    other, _ = some_attention(sizes, seed + 100, heads=2, more=more)
    got = head_similarity(attention[:, 0], other[:, 0], mask)

    def rows(of, h):
        return [rows_loop(of[b, 0, h], n) for b, n in enumerate(sizes)]

    expected = [
        [likeness_loop(rows(attention, h), rows(other, g)) for g in range(2)] for h in range(H)
    ]
    # A root near zero makes 1e-8 of a rounding of 1e-16.
    expected = torch.tensor(expected, dtype=torch.float64)
    torch.testing.assert_close(got, expected, rtol=0, atol=1e-7)


@given(sizes=SIZES, seed=SEEDS, more=PADDING, residual=st.sampled_from([0, 0.5]))
def test_rollout_equals_the_sum_over_all_paths(sizes, seed, more, residual):
    attention, mask = some_attention(sizes, seed, more=more)
    got = attention_rollout(attention, mask, residual=residual)
    for b, n in enumerate(sizes):
        torch.testing.assert_close(got[b], rollout_loop(attention[b], n, residual), **EXACT)


def test_readout_shares_come_from_virtual_nodes_or_all_nodes():
    mask = torch.tensor([[True, True, False]])
    assert token_mask(mask, 1).tolist() == [[True, True, True, False]]
    tokens = torch.tensor([[[0.5, 0.2, 0.3, 0], [0, 1, 0, 0], [0.1, 0.3, 0.6, 0], [9, 9, 9, 9.0]]])
    torch.testing.assert_close(read_by_graph(tokens, mask, 1), torch.tensor([[0.2, 0.3, 0.0]]))
    nodes = between_nodes(tokens, 1)
    assert nodes.tolist() == tokens[:, 1:, 1:].tolist()
    torch.testing.assert_close(read_by_graph(nodes, mask), torch.tensor([[0.65, 0.3, 0.0]]))


@given(some=SOME_GRAPHS, seed=SEEDS)
def test_shares_by_hop_equal_the_loop_over_nodes_and_pairs(some, seed):
    batch = collate(small.encoded(*some))
    attention, _ = some_attention([batch.mask.shape[1]] * len(some), seed)
    attention[0, 1, :, 0] *= seed % 2  # a node without attention in a layer is left out
    distances = batch.encodings["distance"]
    expected = [torch.zeros(0, L, 4).double()]
    for b, n in enumerate(len(graph.x) for graph in some):
        for i in range(n):
            shares = torch.zeros(1, L, 4).double()
            for layer in range(L):
                paid = attention[b, layer, :, i].sum(0)
                for j in range(n):
                    distance = int(distances[b, i, j])
                    column = 3 if distance == -1 or distance > 2 else distance
                    shares[0, layer, column] += paid[j] / paid[:n].sum()
            if shares.isfinite().all():
                expected.append(shares)
    got = attention_by_hop(attention, distances, batch.mask, hops=2)
    torch.testing.assert_close(got, torch.cat(expected), rtol=1e-12, atol=1e-12)


def test_pair_kinds_of_a_small_graph_equal_those_found_by_hand():
    """A ring of four, a tail of three, and a node that no path reaches."""
    edges = [(0, 1), (1, 2), (2, 3), (3, 0), (3, 4), (4, 5), (5, 6)]
    graph = graph_of(8, edges + [(j, i) for i, j in edges])
    (kinds,) = pair_kinds(collate(small.encoded(graph)), near=3)
    names = [[KINDS[kind] for kind in row] for row in kinds.tolist()]
    ring_of_1 = ["neighbours", "itself", "neighbours", "same ring"]
    assert names[1] == [*ring_of_1, "near", "far", "far", "far"]
    assert names[3][:6] == ["neighbours", "same ring", "neighbours", "itself", "neighbours", "near"]
    assert names[7] == ["far"] * 7 + ["itself"]


@given(some=SOME_GRAPHS, seed=SEEDS)
def test_shares_by_kind_equal_the_loop_over_nodes_and_pairs(some, seed):
    batch = collate(small.encoded(*some))
    weights, _ = some_attention([batch.mask.shape[1]] * len(some), seed)
    attention = probabilities(1 + weights, batch.mask)
    kind = pair_kinds(batch, near=1)
    nodes = int(batch.mask.sum())
    expected = torch.zeros(L, H, len(KINDS)).double()
    of_even = torch.zeros(len(KINDS)).double()
    for b, n in enumerate(len(graph.x) for graph in some):
        for i in range(n):
            for j in range(n):
                expected[..., kind[b, i, j]] += attention[b, :, :, i, j] / nodes
                of_even[kind[b, i, j]] += 1 / n / nodes
    share, even = attention_by_kind(attention, kind, batch.mask)
    torch.testing.assert_close(share, expected, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(even.double(), of_even, rtol=1e-6, atol=1e-6)


ATTRIBUTED = [
    ("BagTransformer", "alone"),
    ("Graphormer", "edges of paths"),
    ("EGT", "graph"),
    ("EGT", "virtual nodes"),
    ("GRPE", "all terms"),
    ("CGT", "categories of rings"),
    ("CGT", "monochrome"),
]
EVERY = pytest.mark.parametrize(("name", "variant"), ATTRIBUTED)


def graph(types: list[int], edges: list[tuple[int, int]]) -> Data:
    edges = [*edges, *((j, i) for i, j in edges)]
    bonds = [1 + (i + j) % 3 for i, j in edges]
    return Data(
        x=torch.tensor(types)[:, None],
        edge_index=torch.tensor(edges).T,
        edge_attr=torch.tensor(bonds)[:, None],
    )


TYPES = [0, 1, 2, 0, 3]
EDGES = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)]
ONE = graph(TYPES, EDGES)
TWO = graph([4, 2, 2], [(0, 1), (1, 2)])


def encoded(name: str, variant: str, *some: Data) -> list[Data]:
    return small.encoded(*some, encodings=MODELS[name].variants[variant].transforms)


def model_and_batch(name: str, variant: str, *some: Data, num_nodes: int | None = None):
    batch = collate(encoded(name, variant, *some), num_nodes=num_nodes)
    return in_use(name, variant), batch


@EVERY
def test_gradients_equal_finite_differences(name, variant):
    model, batch = model_and_batch(name, variant, TWO, graph([1, 5], [(0, 1)]))
    first = layers_of(model)[0]
    seen = []
    hook = first.register_forward_pre_hook(lambda _, args: seen.append(args[0].detach()))
    model(batch)
    hook.remove()

    @torch.no_grad()
    def predict(h: Tensor) -> Tensor:
        """With anything else in place of what enters the first layer."""
        hook = first.register_forward_pre_hook(lambda _, args: (h, *args[1:]))
        prediction = model(batch)
        hook.remove()
        return prediction.sum()

    slopes = difference_loop(predict, seen[0])[:, -3:]
    h = seen[0][:, -3:]
    for from_mean in (False, True):
        got = gradient_times_input(model, batch, from_mean=from_mean)
        for b, n in enumerate((3, 2)):
            mean = h[b, :n].mean(0) if from_mean else 0.0
            expected = (slopes[b, :n] * (h[b, :n] - mean)).sum(-1)
            torch.testing.assert_close(got[b, :n], expected, rtol=1e-5, atol=1e-5)
            assert (got[b, n:] == 0).all()


@EVERY
def test_weights_times_gradients_sum_to_head_outputs_times_their_gradients(name, variant):
    """z is linear in the weights: the sums over rows are the products of z and its gradient."""
    model, batch = model_and_batch(name, variant, ONE, TWO)
    got = attention_times_gradient(model, batch)
    outputs = []
    handles = [
        layer.attention.output.register_forward_pre_hook(lambda _, args: outputs.append(args[0]))
        for layer in layers_of(model)
    ]
    prediction, attention = model(batch, return_attention=True)
    for handle in handles:
        handle.remove()
    assert got.shape == attention.shape
    gradients = torch.autograd.grad(prediction.sum(), outputs)
    real = token_mask(batch.mask, got.shape[-1] - 5)
    for layer, (z, g) in enumerate(zip(outputs, gradients, strict=True)):
        expected = (z * g).unflatten(-1, (got.shape[2], -1)).sum(dim=-1).mT  # [B, C, T]
        rows = got[:, layer].sum(dim=-1)
        where = real[:, None].expand_as(rows)
        torch.testing.assert_close(rows[where], expected[where], **EXACT)
        assert (got[:, layer].mT[where.logical_not()] == 0).all()


@EVERY
def test_ablating_heads_equals_zero_columns_of_the_output_projection(name, variant):
    model, batch = model_and_batch(name, variant, ONE, TWO)
    usual = model(batch)
    cut = copy.deepcopy(model)
    heads = [(0, 1), (1, 0), (1, 1)]
    for layer, head in heads:
        attention = layers_of(cut)[layer].attention
        K = attention.output.in_features // attention.num_heads
        attention.output.weight.data[:, head * K : (head + 1) * K] = 0
    for spelled in (heads, [*map(list, heads)], iter(heads), np.array(heads), torch.tensor(heads)):
        with ablated(model, spelled) as silent:
            torch.testing.assert_close(silent(batch), cut(batch), **EXACT)
            assert (silent(batch) - usual).abs().min() > 1e-6
    torch.testing.assert_close(model(batch), usual, **EXACT)


@pytest.mark.parametrize(("name", "variant"), [("BagTransformer", "alone"), ("CGT", "monochrome")])
def test_leaving_out_an_isolated_node_equals_the_graph_without_it(name, variant):
    model, batch = model_and_batch(name, variant, graph([*TYPES, 6], EDGES))
    _, without = model_and_batch(name, variant, ONE)
    expected = (model(batch) - model(without))[0]
    torch.testing.assert_close(leave_one_out(model, batch)[0, 5], expected, **EXACT)


@pytest.mark.parametrize(
    "attribute", [gradient_times_input, attention_times_gradient, leave_one_out]
)
def test_attributions_use_evaluation_mode_and_restore_training_mode(attribute):
    """Also where gradients are switched off, and with dropout, which evaluation leaves out."""
    model, batch = model_and_batch("CGT", "categories of rings", ONE, TWO)
    expected = attribute(model, batch)
    model.train()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.5
    with torch.no_grad():
        torch.testing.assert_close(attribute(model, batch), expected, **EXACT)
    assert all(module.training for module in model.modules())


def silenced(model: torch.nn.Module, layer: int, head: int) -> None:
    with ablated(model, [(layer, head)]):
        pass


def some_rows() -> tuple[torch.Tensor, torch.Tensor]:
    """Attention of six tokens, a virtual node and five nodes, and the mask of the nodes."""
    return torch.ones(2, L, H, 6, 6), torch.ones(2, 5).bool()


WRONG = {
    "a head too many": (lambda: silenced(egt(), 0, 2), "there is no head 2; expected 0 to 1."),
    "a negative head": (lambda: silenced(egt(), 0, -1), "there is no head -1; expected 0 to 1."),
    "a layer too many": (lambda: silenced(egt(), 2, 0), "there is no layer 2; expected 0 to 1."),
    "no attention": (lambda: layers_of(gin()), "GIN has no layers of attention between all nodes"),
    "several targets": (lambda: leave_one_out(egt(num_targets=3), both()), "predicts [2, 3]; exp"),
    "targets of nodes": (
        lambda: gradient_times_input(egt(target="node"), both()),
        "one number for",
    ),
    "the mask of nodes": (
        lambda: attention_entropy(*some_rows()),
        "mask [2, 5]; expected [B, L, H, T, T] and [B, T]: see",
    ),
    "a share of two": (
        lambda: attention_rollout(torch.ones(1, 1, 1, 2, 2), torch.ones(1, 2).bool(), residual=2.0),
        "residual is 2.0; expected a number from 0 to 1.",
    ),
    "negative hops": (
        lambda: attention_by_hop(*some_rows()[:1], both().encoding("distance"), both().mask, -1),
        "hops is -1; expected a whole number, 0 or more.",
    ),
    "rows that do not sum to one": (
        lambda: attention_by_kind(torch.ones(2, L, H, 5, 5), pair_kinds(both()), both().mask),
        "as probabilities(attention, mask) returns.",
    ),
    "less than no virtual node": (lambda: token_mask(both().mask, -1), "virtual_nodes is -1; expe"),
}


def egt(**changes) -> EGT:
    return EGT(replace(small.EGT, **changes)).double()


def gin() -> GIN:
    return GIN(GINConfig(num_node_types=(28,), num_node_features=0))


def both():
    return collate(small.encoded(ONE, TWO))


@pytest.mark.parametrize("name", WRONG)
def test_unsupported_models_and_inputs_raise(name):
    call, says = WRONG[name]
    with pytest.raises(ValueError, match=re.escape(says)):
        call()


@EVERY
def test_attributions_are_equivariant_and_ignore_padding(name, variant):
    order = torch.tensor([3, 1, 4, 0, 2])
    one, other = encoded(name, variant, ONE, renumbered(ONE, order))
    if "svd" in one:  # singular vectors have signs and, when equal, no order
        other.svd = one.svd[order]
    model = in_use(name, variant)
    plain = collate([one])
    padded = collate([one], num_nodes=7)
    moved = collate([other])
    for attribute in (gradient_times_input, leave_one_out):
        usual = attribute(model, plain)[0]
        torch.testing.assert_close(attribute(model, padded)[0, :5], usual, **EXACT)
        assert (attribute(model, padded)[0, 5:] == 0).all()
        torch.testing.assert_close(attribute(model, moved)[0], usual[order], **EXACT)


def test_padding_that_is_nan_does_not_reach_probabilities():
    attention = torch.full((1, 3, 3), torch.nan)
    attention[:, :2, :2] = 1.0
    shares = probabilities(attention, torch.tensor([[True, True, False]]))
    assert shares.tolist() == [[[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]]


def test_kinds_at_padding_are_not_read():
    kind = torch.tensor([[[0, 99], [-5, 99]]])
    attention = torch.tensor([[[[[1.0, 0.0], [0.0, 0.0]]]]])
    shares, _ = attention_by_kind(attention, kind, torch.tensor([[True, False]]))
    assert shares.tolist() == [[[1.0, 0.0, 0.0, 0.0, 0.0]]]


@pytest.mark.parametrize("name", ["csa-100k/molecules", "egt-100k/molecules"])
def test_gradients_are_those_of_a_frozen_model_and_of_the_fused_form_too(name):
    pytest.importorskip("numba")
    predictor = load(name)
    model = predictor.model
    batch = collate(
        encode([zinc_data(text) for text in ("CCO", "c1ccccc1O")], *predictor.transforms)
    )
    functions = (gradient_times_input, attention_times_gradient)
    expected = [function(model, batch) for function in functions]
    model.requires_grad_(False)
    for form in (model.config.form, "fused"):
        model.config = replace(model.config, form=form)
        for function, values in zip(functions, expected, strict=True):
            torch.testing.assert_close(function(model, batch), values, atol=1e-5, rtol=1e-4)
