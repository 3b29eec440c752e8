"""Every option of a configuration that can be set changes the model, or is refused."""

import math
import warnings
from dataclasses import fields, replace

import pytest
import torch
from torch import Tensor

from gtcourse import collate, models
from tests.graphs.small import of_edges
from tests.models import small

MODELS = {
    models.Graphormer: small.GRAPHORMERS,
    models.EGT: small.EGTS,
    models.GRPE: small.GRPES,
    models.CGT: small.CGTS,
}
CASES = [
    pytest.param(model, config, id=f"{model.__name__}, {name}")
    for model, configs in MODELS.items()
    for name, config in configs.items()
    if not name.startswith("fused") and not name.endswith("fused")  # the same functions
]

OTHERS = {
    "path_positions": [5, 9],
    "max_path_length": [1, 2],
    "clip": [0.01, math.inf],
    "flip_signs": ["pairs", "nodes", None],
    "variant": ["full", "simple", "constrained"],
    "structure": ["adjacency", "distance"],
    "edges": ["bias", "node", "aggregation", None],
    "terms": [("value",), ("query_context",)],
    "key_context": ["query_row", "key_column"],
    "relative": ["walks", "distances", None],
    "rings": ["additive", "categorical", None],
    "score": ["dot", "additive"],
    "activation": ["gelu", "relu"],
    "readout": ["sum", "mean"],
    "target": ["graph", "node"],
    "head_widths": [(3, 3)],
}
"""Other values of a field; of a number that is not here, 1 and 4, or 0.6, and of a switch both."""

NO_OPTIONS = {
    "form": "the same function by definition",
    "num_node_types": "of the data",
    "num_node_features": "of the data",
    "num_edge_types": "of the data",
    "num_edge_features": "of the data",
    "edge_step": "of the data",
    "d_model": "changes every tensor",
}

WITHOUT_EFFECT = {
    "chromatic": "with a head for each channel, both are one function",
    "num_heads": "the additive score is the same for any heads, which have to divide d_model",
}
"""Fields that may be without effect, and why they cannot be refused."""


def other_values(name: str, value: object) -> list:
    if name in OTHERS:
        values = OTHERS[name]
    elif isinstance(value, bool):
        values = [not value]
    elif isinstance(value, float):
        values = [0.6]
    else:
        values = [1, 4]
    return [other for other in values if other != value]


def batch_for(config):
    """Three graphs with the features that a configuration names, and all encodings."""
    generator = torch.Generator().manual_seed(0)
    graphs = []
    rings = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 6)]
    for n, edges in ((5, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]), (7, rings), (2, [(0, 1)])):
        graph = of_edges(n, edges)
        E = graph.edge_index.shape[1]
        graph.x = torch.rand(n, config.num_node_features, generator=generator)
        if config.num_node_types:
            columns = [torch.randint(size, (n,)) for size in config.num_node_types]
            graph.x = torch.stack(columns, dim=1)
        if getattr(config, "num_edge_features", 0) or getattr(config, "edge_step", None):
            graph.edge_attr = torch.rand(E, 1, generator=generator)
        elif config.num_edge_types:
            columns = [torch.randint(size, (E,)) for size in config.num_edge_types]
            graph.edge_attr = torch.stack(columns, dim=1)
        else:
            del graph.edge_attr
        graphs.append(graph)
    encodings = small.ENCODINGS
    if "edge_attr" not in graphs[0]:
        encodings = [each for each in encodings if each is not small.PATHS]
    return collate(small.encoded(*graphs, dtype=torch.float32, encodings=encodings))


def function_of(model, config, batch) -> tuple[dict, list[Tensor]]:
    """The shapes of the weights, and what a model with large weights predicts in training."""
    torch.default_generator.manual_seed(0)  # torch.manual_seed takes milliseconds
    built = model(config).train()
    for parameter in built.parameters():
        parameter.data = torch.randn(parameter.shape) * 0.7
    torch.default_generator.manual_seed(1)
    options = {"return_distances": True} if getattr(config, "distance_hops", 0) > 0 else {}
    predictions = built(batch, **options)
    shapes = {name: tuple(tensor.shape) for name, tensor in built.state_dict().items()}
    return shapes, list(predictions) if isinstance(predictions, tuple) else [predictions]


@pytest.mark.parametrize(("model", "config"), CASES)
def test_every_option_has_an_effect_or_is_refused(model, config):
    torch.manual_seed(2)
    batch = batch_for(config)
    shapes, predictions = function_of(model, config, batch)
    for field in fields(config):
        name = field.name
        if name in NO_OPTIONS or name in WITHOUT_EFFECT:
            continue
        has_effect = None
        for value in other_values(name, getattr(config, name)):
            try:
                other = replace(config, **{name: value})
            except ValueError:
                continue
            try:
                with warnings.catch_warnings(action="ignore"):
                    other_shapes, others = function_of(model, other, batch)
            except ValueError:  # it reads an encoding that the graphs do not have
                has_effect = True
                break
            pairs = list(zip(predictions, others, strict=False))
            is_same = other_shapes == shapes and all(
                one.shape == two.shape and torch.equal(one, two) for one, two in pairs
            )
            has_effect = not is_same
            if has_effect:
                break
        assert has_effect is not False, f"{name} has no effect"
