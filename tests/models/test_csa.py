"""The Chromatic Graph Transformer beside the paper's equations, and what must hold for graphs."""

import copy
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gtcourse import collate, load_dataset
from gtcourse.encodings import AddRandomWalks, AddRings, encode
from gtcourse.graphs import DenseLoader
from gtcourse.models import CGT, CGTConfig
from tests.encodings.graphs import renumbered
from tests.graphs.random_graphs import graph_of, graphs
from tests.loops.csa import cgt_loop
from tests.models.csas import (
    CONFIGS,
    DEEP,
    MAX_RING,
    RINGS,
    SMALL,
    SOME,
    encoded,
    in_numbers,
    in_use,
)

VARIANTS = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
WAYS = pytest.mark.parametrize("config", SOME.values(), ids=SOME)
FEW = settings(max_examples=settings.default.max_examples // 3)
CLOSE = {"rtol": 1e-10, "atol": 1e-10}
NEAR = {"rtol": 1e-9, "atol": 1e-9}


def assert_equals_the_loop(config: CGTConfig, graph) -> None:
    model, batch = in_use(CGT(config)), collate([graph])
    expected, of_channels = cgt_loop(model, graph, MAX_RING)
    expected = torch.stack(expected) if config.target == "node" else expected
    prediction, filters = model(batch, return_attention=True)
    for got in (prediction, model(batch)):  # the form asked for is that without filters
        got = got[0] if config.num_targets > 1 else got[0][..., None]
        torch.testing.assert_close(got, expected, **CLOSE)
    if not config.chromatic:
        filters = filters.repeat_interleave(config.d_model // config.num_heads, dim=2)
    torch.testing.assert_close(filters[0], torch.stack(of_channels), **CLOSE)


@pytest.mark.holds("CSA, Eqs. 4 to 12")
@VARIANTS
@FEW
@given(graph=graphs(max_nodes=5))
def test_the_whole_model_equals_the_loop_over_nodes_pairs_and_channels(config, graph):
    assert_equals_the_loop(config, *encoded(graph))


@FEW
@given(graph=graphs(max_nodes=4))
def test_numbers_as_features_equal_the_loop(graph):
    config = replace(SMALL, num_node_types=(), num_node_features=2)
    assert_equals_the_loop(config, *encoded(in_numbers(graph)))


@pytest.mark.parametrize("config", [RINGS, DEEP], ids=["categories of rings", "added rings"])
@FEW
@given(graph=graphs(max_nodes=4))
def test_several_columns_of_categories_equal_the_loop(config, graph):
    graph.x = torch.cat([graph.x, graph.x % 7], dim=1)
    graph.edge_attr = torch.cat([graph.edge_attr, graph.edge_attr % 3], dim=1)
    config = replace(config, num_node_types=(28, 7), num_edge_types=(4, 3))
    assert_equals_the_loop(config, *encoded(graph))


@pytest.mark.holds("CSA, Eqs. 8, 11 and 13")
@pytest.mark.parametrize("name", ["categories of rings", "distances and added rings"])
def test_rings_loops_and_far_and_unreachable_pairs_equal_the_loop(name):
    edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (5, 6), (6, 6)]
    (graph,) = encoded(graph_of(7, edges + [(j, i) for i, j in edges]))
    assert int(graph.ring.sum()) == 6
    assert sorted(graph.distance.unique().tolist()) == [-1, 0, 1, 2, 3]
    assert_equals_the_loop(CONFIGS[name], graph)


def test_nodes_may_have_longer_walks_than_pairs():
    config = replace(SMALL, relative_steps=2)
    (graph,) = encoded(graph_of(4, [(0, 1), (1, 2), (2, 0), (0, 2)]))
    graph.rwse = graph.random_walks.diagonal().T.clone()
    graph.random_walks = graph.random_walks[..., :2]
    assert_equals_the_loop(config, graph)


@VARIANTS
@FEW
@given(graph=graphs(max_nodes=7), random=st.randoms(use_true_random=False))
def test_renumbering_the_nodes_renumbers_their_states_and_leaves_the_prediction(
    config, graph, random
):
    model = in_use(CGT(config))
    graph.edge_attr = 1 + graph.edge_index.sum(dim=0)[:, None] % 3  # of a repeated edge, the same
    order = torch.tensor(random.sample(range(len(graph.x)), len(graph.x)))
    before, after = (collate(encoded(one)) for one in (graph, renumbered(graph, order)))
    prediction = model(before)
    expected = prediction[:, order] if config.target == "node" else prediction
    torch.testing.assert_close(model(after), expected, **NEAR)
    h, renumbered_h = model.encode(before)[0], model.encode(after)[0]
    torch.testing.assert_close(renumbered_h, h[:, order], **CLOSE)


def spoil_padding(batch) -> None:
    """What stands at padding is never read."""
    batch.x[~batch.mask] = 3
    batch.edge_attr[~batch.adjacency] = 3
    for name, value in (("distance", 1), ("ring", True), ("random_walks", 7.0)):
        batch.encodings[name][~batch.pair_mask] = value


@VARIANTS
@FEW
@given(some=st.lists(graphs(max_nodes=6), min_size=2, max_size=4), extra=st.integers(0, 3))
def test_neither_padding_nor_company_changes_a_prediction(config, some, extra):
    model, together = in_use(CGT(config)), encoded(*some)
    longest = max(len(graph.x) for graph in together)
    batch = collate(together, num_nodes=longest + extra)
    alone = [model(collate([graph]))[0] for graph in together]
    for _ in range(2):
        for graph, prediction, expected in zip(together, model(batch), alone, strict=True):
            kept = prediction[: len(graph.x)] if config.target == "node" else prediction
            torch.testing.assert_close(kept, expected, **NEAR)
        h, _ = model.encode(batch)
        assert not h[~batch.mask].any()
        spoil_padding(batch)


@WAYS
@FEW
@given(some=st.lists(graphs(max_nodes=6), min_size=1, max_size=3), extra=st.integers(1, 3))
def test_in_training_padding_changes_neither_the_batch_nor_the_running_statistics(
    config, some, extra
):
    together = encoded(*some)
    longest = max(len(graph.x) for graph in together)
    tight, wide = collate(together), collate(together, num_nodes=longest + extra)
    spoil_padding(wide)
    one = in_use(CGT(config)).train()
    other = copy.deepcopy(one)
    expected, got = one(tight), other(wide)
    if config.target == "node":
        expected, got = expected[tight.mask], got[wide.mask]
    # A node's variance may be tiny in a small batch; what is divided by it then is rounding.
    torch.testing.assert_close(got, expected, rtol=1e-6, atol=1e-6)
    for (name, kept), again in zip(one.named_buffers(), other.buffers(), strict=True):
        torch.testing.assert_close(again, kept, rtol=1e-6, atol=1e-6, msg=name)
    for prediction in (expected, got):
        prediction.sum().backward()
    for (name, p), again in zip(one.named_parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(again.grad, p.grad, rtol=1e-6, atol=1e-6, msg=name)


def test_graphs_in_buckets_of_one_size_have_the_predictions_of_any_batch():
    molecules = encode(load_dataset("molecules").graphs[:40], AddRandomWalks(4), AddRings(6))
    for number, molecule in enumerate(molecules):
        molecule.y = torch.tensor([float(number)])
    torch.manual_seed(0)
    model = CGT(CGTConfig(num_layers=3, rings="categorical", node_steps=4, relative_steps=4))
    model(collate(molecules))  # has statistics of its own
    found = []
    for buckets in (1, 4):
        loader = DenseLoader(molecules, 8, buckets=buckets)
        model.eval()
        found.append({int(y): p for b in loader for y, p in zip(b.y, model(b), strict=True)})
    assert list(found[0]) != list(found[1])
    for number in range(40):
        torch.testing.assert_close(found[0][number], found[1][number], rtol=1e-4, atol=1e-4)


@VARIANTS
@FEW
@given(graph=graphs(max_nodes=6), training=st.booleans())
def test_predictions_and_gradients_are_finite_on_every_valid_graph(config, graph, training):
    torch.manual_seed(0)
    model = CGT(config).train(training)
    prediction = model(collate(encoded(graph)))
    prediction.sum().backward()
    assert bool(prediction.isfinite().all())
    for name, p in model.named_parameters():
        assert bool(p.grad.isfinite().all()), name
    assert all(bool(buffer.isfinite().all()) for buffer in model.buffers())


@VARIANTS
@pytest.mark.parametrize("edges", [[], [(0, 0)]], ids=["no edge", "a loop"])
def test_one_node_alone_can_be_trained_on(config, edges):
    torch.manual_seed(0)
    config = replace(config, edge_ablation=0.5, node_ablation=0.3, channel_ablation=0.2)
    model = CGT(config).train()
    prediction = model(collate(encoded(graph_of(1, edges))))
    prediction.sum().backward()
    assert bool(prediction.isfinite().all())
    assert all(bool(p.grad.isfinite().all()) for p in model.parameters())
    assert all(bool(buffer.isfinite().all()) for buffer in model.buffers())


def test_a_head_for_each_channel_makes_colour_and_monochrome_one_model():
    """Table 7: "when h = d the color and monochrome versions are the same"."""
    batch = collate(encoded(graph_of(5, [(0, 1), (1, 2), (2, 0), (3, 4)])))
    colour = in_use(CGT(replace(RINGS, num_heads=8)))
    mono = CGT(replace(RINGS, num_heads=8, chromatic=False)).double().eval()
    mono.load_state_dict(colour.state_dict())
    torch.testing.assert_close(mono(batch), colour(batch), **CLOSE)


def test_edges_that_are_shared_are_computed_once_for_all_layers():
    model, calls, seen = CGT(replace(RINGS, num_layers=3)), [], []
    for part in (model.edge_encoding, *model.edge_maps):
        part.register_forward_hook(lambda part, *_: calls.append(part))
    for layer in model.layers:
        layer.register_forward_pre_hook(lambda layer, inputs: seen.append(inputs[1]))
    model(collate(encoded(graph_of(4, [(0, 1), (1, 2)]))))
    assert calls == [model.edge_encoding, model.edge_maps[0]]
    assert len(seen) == 3
    assert seen[0] is seen[1] is seen[2]
    assert seen[0].factor is not None


def test_edges_that_are_not_shared_have_a_map_in_each_layer():
    model, calls, seen = CGT(replace(RINGS, num_layers=3, share_edges=False)), [], []
    for part in (model.edge_encoding, *model.edge_maps):
        part.register_forward_hook(lambda part, *_: calls.append(part))
    for layer in model.layers:
        layer.register_forward_pre_hook(lambda layer, inputs: seen.append(inputs[1].logits))
    model(collate(encoded(graph_of(4, [(0, 1), (1, 2)]))))
    assert calls == [model.edge_encoding, *model.edge_maps]
    assert len(model.edge_maps) == 3
    assert not torch.equal(seen[0], seen[1])
    assert model.edge_maps[0].logits.bias is None
    assert CGT(RINGS).edge_maps[0].logits.bias is not None


@pytest.mark.parametrize("form", ["factorised", "direct", "chunked"])
def test_half_precision_stays_close_and_finite(form):
    torch.manual_seed(0)
    model, batch = (
        CGT(replace(RINGS, form=form)),
        collate(encoded(graph_of(6, [(0, 1), (1, 2), (3, 4)]))),
    )
    expected = model.eval()(batch)
    with torch.autocast("cpu", torch.bfloat16):
        got = model(batch)
        got.float().sum().backward()
    torch.testing.assert_close(got.float(), expected, rtol=0, atol=0.05)
    assert all(bool(p.grad.isfinite().all()) for p in model.parameters())
