"""GRPE beside the paper's equations, and what must hold for every graph."""

import copy
from dataclasses import replace

import pytest
import torch

from gtcourse import collate
from gtcourse.models import GRPE, GRPEConfig
from tests.graphs.random_graphs import graph_of
from tests.loops.grpe import grpe_loop
from tests.models.graphormers import large_weights
from tests.models.grpes import CONFIGS, SMALL, encoded

CLOSE = {"rtol": 1e-10, "atol": 1e-10}


def assert_equals_the_loop(config: GRPEConfig, graph) -> None:
    model = large_weights(GRPE(config))
    prediction, attention = model(collate([graph]), return_attention=True)
    expected, shares = grpe_loop(model, graph)
    prediction = prediction[0] if config.num_targets > 1 else prediction[0][..., None]
    if config.target == "node":
        expected = torch.stack(expected)
    torch.testing.assert_close(prediction, expected, **CLOSE)
    torch.testing.assert_close(attention[0], torch.stack(shares), **CLOSE)


@pytest.mark.parametrize("term", ["query", "key"])
def test_each_context_is_nothing_where_what_meets_it_is_zero(term):
    model = large_weights(GRPE(replace(SMALL, terms=(term,), num_layers=1)))
    batch, other = collate(encoded(graph_of(4, [(0, 1), (1, 2)]))), {"query": "key", "key": "query"}
    for projection, moves in ((other[term], True), (term, False)):
        probe = copy.deepcopy(model)
        for p in getattr(probe.layers[0].attention, projection).parameters():
            p.data.zero_()
        before = probe(batch)
        for p in probe.tables.parameters():
            p.data.mul_(-2)
        assert bool((probe(batch) - before).abs() > 1e-6) == moves


@pytest.mark.parametrize("name", ["all terms", "as the authors' code", "L = 0"])
def test_far_and_unreachable_pairs_equal_the_loop(name):
    path_and_pair = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (6, 7)]
    both_ways = path_and_pair + [(j, i) for i, j in path_and_pair]
    (graph,) = encoded(graph_of(8, both_ways))
    assert int(graph.distance.max()) == 5
    assert int(graph.distance.min()) == -1
    assert_equals_the_loop(CONFIGS[name], graph)


def test_the_tables_and_the_relations_are_made_once_and_shared_by_all_layers():
    model, calls, seen = GRPE(replace(SMALL, num_layers=3)), [], []
    for part in (model.relations, *model.tables.values()):
        part.register_forward_hook(lambda part, *_: calls.append(part))
    for layer in model.layers:
        layer.register_forward_pre_hook(lambda layer, inputs: seen.append(inputs[1:]))
    model(collate(encoded(graph_of(4, [(0, 1), (1, 2)]))))
    assert len(calls) == 4
    assert len(seen) == 3
    assert all(a is b for given in seen[1:] for a, b in zip(given, seen[0], strict=True))


@torch.no_grad()
def test_noise_is_added_to_the_nodes_in_training_alone():
    model = GRPE(replace(SMALL, node_noise=0.2))
    batch = collate(encoded(graph_of(4, [(0, 1)])))
    plain = model.eval().embed(batch)
    noise = model.train().embed(batch) - plain
    assert -0.2 - 1e-6 <= float(noise.min()) < -0.1  # of 32 numbers in both directions
    assert 0.1 < float(noise.max()) <= 0.2 + 1e-6
    assert not torch.equal(noise[0, 0], noise[0, 1])
    assert torch.equal(model.eval().embed(batch), plain)
