"""GRPE beside the paper's equations, and what must hold for every graph."""

from dataclasses import replace

import pytest
import torch

from gtcourse import collate
from gtcourse.models import GRPE
from tests.graphs.random_graphs import graph_of
from tests.models.graphormers import large_weights
from tests.models.grpes import CONFIGS, SMALL, encoded
from tests.properties.test_loops import LOOPS

CLOSE = {"rtol": 1e-10, "atol": 1e-10}


@pytest.mark.parametrize("name", ["all terms", "as the authors' code", "L = 0"])
def test_far_and_unreachable_pairs_equal_the_loop(name):
    path_and_pair = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (6, 7)]
    both_ways = path_and_pair + [(j, i) for i, j in path_and_pair]
    (graph,) = encoded(graph_of(8, both_ways))
    assert int(graph.distance.max()) == 5
    assert int(graph.distance.min()) == -1
    for got, expected in LOOPS["GRPE"](large_weights(GRPE(CONFIGS[name])), graph):
        torch.testing.assert_close(got, expected, **CLOSE)


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
