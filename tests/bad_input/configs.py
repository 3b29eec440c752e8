"""Models: settings that cannot be."""

from __future__ import annotations

from gtcourse.models import (
    CGT,
    EGT,
    GAT,
    GIN,
    GRPE,
    BagTransformer,
    BagTransformerConfig,
    CGTConfig,
    EGTConfig,
    GATConfig,
    GatedGCN,
    GatedGCNConfig,
    GINConfig,
    Graphormer,
    GraphormerConfig,
    GRPEConfig,
    SignNetConfig,
)
from tests.bad_input.case import Case

NAN = float("nan")
MODELS = {
    "bag": (BagTransformer, BagTransformerConfig, {}),
    "Graphormer": (Graphormer, GraphormerConfig, {}),
    "EGT": (EGT, EGTConfig, {}),
    "GRPE": (GRPE, GRPEConfig, {}),
    "CGT": (CGT, CGTConfig, {}),
    "GIN": (GIN, GINConfig, {"num_node_types": 3}),
    "GAT": (GAT, GATConfig, {"num_node_types": 3}),
    "GatedGCN": (GatedGCN, GatedGCNConfig, {"num_node_types": 3}),
    "SignNet": (lambda config: config, SignNetConfig, {}),
}

WRONG = [
    ("bag", "num_layers", 0, "num_layers is 0; expected a whole number, 1 or more"),
    ("bag", "num_heads", -1, "num_heads is -1; expected a whole number, 1 or more"),
    ("bag", "num_heads", 3, "d_model = 64 is not a multiple of num_heads = 3; expected"),
    ("bag", "d_model", 1.5, "d_model is 1.5; expected a whole number, 1 or more"),
    ("bag", "dropout", NAN, "dropout is nan; expected a share from 0 to 1"),
    ("Graphormer", "num_heads", 0, "num_heads is 0; expected a whole number, 1 or more"),
    ("Graphormer", "attention_dropout", 2, "attention_dropout is 2; expected a share from 0 to"),
    ("Graphormer", "dropout", "x", "dropout is 'x'; expected a share from 0 to 1"),
    ("Graphormer", "centrality", "no", "centrality is 'no'; expected True or False"),
    ("Graphormer", "edges", "odd", "edges is 'odd'; expected one of"),
    ("EGT", "num_node_types", 5, "num_node_types is 5; expected a tuple, such as (28,)"),
    (
        "EGT",
        "num_node_features",
        5,
        "num_node_types is (28,) and num_node_features 5; expected one",
    ),
    ("EGT", "clip", NAN, "clip is nan; expected a number"),
    ("EGT", "node_multiplier", "2", "node_multiplier is '2'; expected a number"),
    ("EGT", "variant", "odd", "variant is 'odd'; expected one of full, simple, constrained"),
    ("EGT", "gated", 2, "gated is 2; expected True or False"),
    ("GRPE", "terms", ("query", "query"), "terms is ('query', 'query'); expected a tuple of some"),
    ("GRPE", "node_noise", -1.0, "node_noise is -1.0; expected a number from 0 on"),
    (
        "GRPE",
        "num_node_types",
        0,
        "num_node_types is 0 and num_node_features 0; expected one of the",
    ),
    ("GRPE", "edge_step", "x", "edge_step is 'x'; expected a number above 0"),
    ("CGT", "chromatic", "no", "chromatic is 'no'; expected True or False"),
    ("CGT", "edge_ablation", 1.5, "edge_ablation is 1.5; expected a share from 0 to 1"),
    ("CGT", "num_edge_types", [4], "num_edge_types is [4]; expected a tuple, such as (28,)"),
    ("GIN", "num_layers", True, "num_layers is True; expected a whole number, 1 or more"),
    ("GIN", "readout", "max", "readout is 'max'; expected 'sum' or 'mean'"),
    ("GIN", "num_node_features", 3, "num_node_types is 3 and num_node_features 3; expected one"),
    ("GAT", "num_heads", 7, "and num_heads 7; expected a multiple"),
    ("GatedGCN", "num_targets", 0, "num_targets is 0; expected a whole number, 1 or more"),
    ("SignNet", "k", None, "k is None and rho is 'mlp'; expected a number k, or rho='sum'"),
    ("SignNet", "phi", "cnn", "phi is 'cnn'; expected one of"),
    ("SignNet", "phi_out", 0, "phi_out is 0; expected a whole number, 1 or more"),
]


def built(model: str, name: str, value: object):
    make, config, given = MODELS[model]
    return lambda folder: lambda: make(config(**given | {name: value}))


CASES = [
    Case(f"{model} with {name} = {value!r}", built(model, name, value), says)
    for model, name, value, says in WRONG
]
