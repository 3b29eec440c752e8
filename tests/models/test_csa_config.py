"""Which settings and which graphs CGT refuses, and that the others arrive."""

from dataclasses import replace

import pytest
import torch

from gtcourse import collate
from gtcourse.models import CGT
from tests.graphs.random_graphs import graph_of
from tests.models.csas import DEEP, RINGS, SMALL, encoded


def test_the_configuration_reaches_every_layer():
    given = {
        "score": "additive",
        "form": "chunked",
        "node_ablation": 0.1,
        "edge_ablation": 0.2,
        "channel_ablation": 0.3,
    }
    model = CGT(replace(SMALL, dropout=0.4, activation="gelu", **given))
    for layer in model.layers:
        assert {name: getattr(layer.attention, name) for name in given} == given
        assert layer.dropout.p == layer.feed_forward[2].p == 0.4
        assert isinstance(layer.feed_forward[1], torch.nn.GELU)
        assert layer.feed_forward[0].out_features == 16


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"num_heads": 3}, "multiple of num_heads"),
        ({"num_layers": 0}, "num_layers is 0; expected a whole number, 1 or more"),
        ({"num_targets": 0}, "num_targets"),
        ({"relative_steps": 0}, "relative_steps"),
        ({"d_model": 2}, "d_model is 2; expected a whole number, 4 or more"),
        ({"num_node_types": 28}, r"num_node_types is 28; expected a tuple, such as \(28,\)"),
        ({"num_edge_types": 4}, "num_edge_types is 4; expected a tuple"),
        ({"num_edge_types": (4, 0)}, "num_edge_types is 0"),
        ({"num_node_types": ()}, "expected one of the two"),
        ({"num_node_features": 2}, "expected one of the two"),
        ({"target": "edge"}, "target is 'edge'; expected one of graph, node"),
        ({"relative": "rwse"}, "expected one of None, walks, distances"),
        ({"rings": True}, "rings is True; expected one of None, additive, categorical"),
        ({"score": "sum"}, "expected one of dot, additive"),
        ({"form": "fast"}, "expected one of factorised, direct, chunked"),
        ({"activation": "elu"}, "expected one of relu, gelu"),
        ({"readout": "max"}, "expected one of sum, mean"),
        ({"edge_ablation": 1.5}, "edge_ablation is 1.5; expected a share from 0 to 1"),
        ({"node_ablation": -0.1}, "node_ablation"),
        ({"channel_ablation": 2}, "channel_ablation"),
        ({"dropout": float("nan")}, "dropout is nan"),
        ({"node_steps": 0}, "expected both 0, or both above"),
        ({"d_position": 0}, "expected both 0, or both above"),
        ({"d_position": 8}, "d_position below d_model = 8"),
        ({"score": "additive", "chromatic": False}, "chromatic"),
    ],
)
def test_a_configuration_that_cannot_be_is_refused(changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        CGT(replace(SMALL, **changes))


@pytest.mark.parametrize(
    ("config", "spoil", "sentence"),
    [
        (SMALL, lambda g: g.__delitem__("random_walks"), "no rwse; expected what AddRandomWalks"),
        (
            replace(SMALL, node_steps=0, d_position=0),
            lambda g: g.__delitem__("random_walks"),
            "no random_walks; expected what AddRandomWalks",
        ),
        (DEEP, lambda g: g.__delitem__("distance"), "no distance; expected what AddShortestPaths"),
        (DEEP, lambda g: g.__delitem__("ring"), "no ring; expected what AddRings"),
        (RINGS, lambda g: g.__delitem__("ring"), "no ring; expected what AddRings"),
        (replace(SMALL, relative_steps=4), lambda g: None, "have 3 columns; expected 4"),
        (replace(SMALL, node_steps=2), lambda g: None, "have 3 columns; expected 2"),
        (SMALL, lambda g: g.__delitem__("edge_attr"), "no edge_attr; expected it, or num_edge_ty"),
        (SMALL, lambda g: setattr(g, "edge_attr", g.edge_attr / 2), "integer categories"),
        (SMALL, lambda g: setattr(g, "edge_attr", g.edge_attr + 4), "expected 0 to 3"),
        (SMALL, lambda g: setattr(g, "x", g.x / 2), "integer categories"),
        (SMALL, lambda g: setattr(g, "x", g.x + 28), "expected 0 to 27"),
        (
            replace(SMALL, num_node_types=(), num_node_features=2),
            lambda g: None,
            "expected 2 of floating point",
        ),
    ],
)
def test_graphs_that_do_not_fit_the_model_are_refused(config, spoil, sentence):
    (graph,) = encoded(graph_of(3, [(0, 1), (1, 2)]))
    spoil(graph)
    with pytest.raises(ValueError, match=sentence):
        CGT(config)(collate([graph]))
