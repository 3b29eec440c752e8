"""The Chromatic Graph Transformer beside the paper's equations, and what must hold for graphs."""

import copy
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gtcourse import collate
from gtcourse.models import CGT, CGTConfig
from tests.graphs.random_graphs import graph_of, graphs
from tests.models.csas import (
    CONFIGS,
    RINGS,
    SMALL,
    SOME,
    encoded,
    in_use,
)
from tests.properties.test_loops import LOOPS

VARIANTS = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
WAYS = pytest.mark.parametrize("config", SOME.values(), ids=SOME)
FEW = settings(max_examples=settings.default.max_examples // 3)
CLOSE = {"rtol": 1e-10, "atol": 1e-10}


def assert_equals_the_loop(config: CGTConfig, graph) -> None:
    for got, expected in LOOPS["CGT"](in_use(CGT(config)), graph):
        torch.testing.assert_close(got, expected, **CLOSE)


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


def spoil_padding(batch) -> None:
    """What stands at padding is never read."""
    batch.x[~batch.mask] = 3
    batch.edge_attr[~batch.adjacency] = 3
    for name, value in (("distance", 1), ("ring", True), ("random_walks", 7.0)):
        batch.encodings[name][~batch.pair_mask] = value


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


def test_a_head_for_each_channel_makes_colour_and_monochrome_one_model():
    """Table 7: "when h = d the color and monochrome versions are the same"."""
    batch = collate(encoded(graph_of(5, [(0, 1), (1, 2), (2, 0), (3, 4)])))
    colour = in_use(CGT(replace(RINGS, num_heads=8)))
    mono = CGT(replace(RINGS, num_heads=8, chromatic=False)).double().eval()
    mono.load_state_dict(colour.state_dict())
    torch.testing.assert_close(mono(batch), colour(batch), **CLOSE)


@pytest.mark.parametrize("share_edges", [True, False])
def test_edge_maps_are_computed_once_for_all_layers_or_once_for_each(share_edges):
    model, calls, seen = CGT(replace(RINGS, num_layers=3, share_edges=share_edges)), [], []
    for part in (model.edge_encoding, *model.edge_maps):
        part.register_forward_hook(lambda part, *_: calls.append(part))
    for layer in model.layers:
        layer.register_forward_pre_hook(lambda layer, inputs: seen.append(inputs[1].logits))
    model(collate(encoded(graph_of(4, [(0, 1), (1, 2)]))))
    assert len(model.edge_maps) == (1 if share_edges else 3)
    assert calls == [model.edge_encoding, *model.edge_maps]
    assert torch.equal(seen[0], seen[1]) == share_edges
    assert (model.edge_maps[0].logits.bias is not None) == share_edges
