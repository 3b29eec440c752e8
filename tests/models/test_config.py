"""Configurations check themselves when they are made, and can be read off graphs."""

from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from gtcourse import collate, models
from gtcourse.models import (
    CGT,
    EGT,
    GCN,
    GIN,
    GRPE,
    BagTransformer,
    BagTransformerConfig,
    CGTConfig,
    ChromaticSelfAttention,
    EdgeEncoding,
    EGTAttention,
    EGTConfig,
    EGTLayer,
    GATConfig,
    GatedGCN,
    GatedGCNConfig,
    GCNConfig,
    GINConfig,
    Graphormer,
    GraphormerConfig,
    GraphormerLayer,
    GRPEAttention,
    GRPEConfig,
    LaplacianEncoding,
    MultiHeadAttention,
    NeighbourTransformer,
    SignNetConfig,
    SVDEncoding,
    TransformerConfig,
    TransformerEncoder,
)
from gtcourse.recipes.recipe import read_call
from tests.models.small import encoded

CONFIGS = [
    value() if name != "TransformerConfig" else value(7, 7)
    for name, value in vars(models).items()
    if name.endswith("Config")
]

WRONG = [
    (
        CGTConfig,
        {"rings": "catagorical"},
        "rings is 'catagorical'; expected one of 'additive', 'ca",
    ),
    (CGTConfig, {"score": "add"}, "score is 'add'; expected one of 'dot', 'additive'"),
    (CGTConfig, {"readout": "avg"}, "readout is 'avg'; expected one of 'sum', 'mean'"),
    (CGTConfig, {"form": "factorized"}, "form is 'factorized'; expected one of 'factorised'"),
    (CGTConfig, {"relative": "walk"}, "relative is 'walk'; expected one of 'walks', 'distances'"),
    (
        CGTConfig,
        {"relative": None, "relative_steps": 8},
        "relative_steps is 8 and relative is None, which has neither walks nor distances; expected",
    ),
    (CGTConfig, {"clip": 5.0}, "clip is 5.0 and form is 'factorised'; expected another form"),
    (CGTConfig, {"clip": 0.0, "form": "direct"}, "clip is 0.0; expected"),
    (
        CGTConfig,
        {"score": "additive", "chromatic": False},
        "score is 'additive' and chromatic is False; expected chromatic=True",
    ),
    (CGTConfig, {"d_model": 30}, "d_model is 30 and num_heads is 4; expected a d_model that is a"),
    (CGTConfig, {"node_steps": 0}, "node_steps is 0 and d_position is 28; expected both above 0"),
    (CGTConfig, {"d_position": 64}, "d_position below d_model, 64"),
    (CGTConfig, {"activation": "selu"}, "activation is 'selu'; expected one of 'relu', 'gelu'"),
    (EGTConfig, {"variant": "simpel"}, "variant is 'simpel'; expected one of 'full', 'simple'"),
    (EGTConfig, {"structure": "distances"}, "expected one of 'adjacency', 'distance'"),
    (EGTConfig, {"flip_signs": "node"}, "flip_signs is 'node'; expected one of 'pairs', 'nodes'"),
    (EGTConfig, {"target": "graphs"}, "expected one of 'graph', 'node', 'edge'"),
    (EGTConfig, {"d_model": 60}, "d_model is 60 and num_heads is 8"),
    (EGTConfig, {"d_model": 64.0}, "d_model is 64.0; expected a whole number above 0"),
    (EGTConfig, {"num_layers": 0}, "num_layers is 0; expected a number above 0"),
    (EGTConfig, {"clip": -1.0}, "clip is -1.0; expected a number above 0"),
    (EGTConfig, {"node_dropout": 1.5}, "node_dropout is 1.5; expected a number from 0 to 1"),
    (EGTConfig, {"head_widths": (32, 0)}, "expected each entry to be a number above 0"),
    (EGTConfig, {"head_widths": (32,)}, "head_widths is (32,); expected two values"),
    (EGTConfig, {"node_dropout": True}, "node_dropout is True; expected a number from 0 to 1"),
    (EGTConfig, {"norm_eps": float("inf")}, "norm_eps is inf; expected a number above 0"),
    (EGTConfig, {"flip_signs": "pairs"}, "flip_signs is 'pairs' and svd_rank is 0; expected an"),
    (
        EGTConfig,
        {"max_distance": 4},
        "max_distance is 4 and structure is 'adjacency', which has no distances; expected struct",
    ),
    (
        EGTConfig,
        {"edge_dropout": 0.1, "variant": "simple"},
        "edge_dropout is 0.1 and variant is 'simple', in which pairs never change; expected",
    ),
    (EGTConfig, {"node_multiplier": 0.001}, "node_multiplier is 0.001 and the width is 64; expe"),
    (EGTConfig, {"num_node_types": (28, 0)}, "expected each entry to be a number above 0"),
    (EGTConfig, {"num_node_types": [28]}, "num_node_types is [28]; expected a tuple"),
    (EGTConfig, {"num_node_features": 2}, "expected only one of the two"),
    (EGTConfig, {"gated": "no"}, "gated is 'no'; expected True or False"),
    (GraphormerConfig, {"edges": "nodes"}, "edges is 'nodes'; expected one of 'bias', 'node'"),
    (GraphormerConfig, {"target": "edge"}, "expected one of 'graph', 'node'"),
    (GraphormerConfig, {"num_edge_features": 1}, "expected only one of the two"),
    *(
        (
            GraphormerConfig,
            {"centrality": False, "spatial": False, "edges": edges, name: 7},
            f"{name} is 7 and {reason}, so that nothing reads it; expected {name}={default}, the",
        )
        for edges, name, reason, default in (
            (None, "max_in_degree", "centrality is False", 63),
            (None, "max_out_degree", "centrality is False", 63),
            (None, "max_distance", "spatial is False", 38),
            (None, "path_positions", "edges is not 'bias'", 40),
            ("node", "path_positions", "edges is not 'bias'", 40),
            ("aggregation", "max_path_length", "edges is not 'bias'", 20),
        )
    ),
    (
        EGTConfig,
        {"edge_multiplier": 1.0, "variant": "simple"},
        "edge_multiplier is 1.0 and variant is 'simple', so that nothing reads it; expected edge_",
    ),
    (
        CGTConfig,
        {"readout": "mean", "target": "node"},
        "readout is 'mean' and target is 'node', so that nothing reads it; expected readout='sum'",
    ),
    (
        GINConfig,
        {"readout": "mean", "target": "edge"},
        "readout is 'mean' and target is 'edge', so that nothing reads it; expected readout='sum'",
    ),
    (
        GRPEConfig,
        {"edge_step": 0.1, "num_edge_types": ()},
        "edge_step is 0.1 and num_edge_types is (); expected the number of types of the only colu",
    ),
    (
        GRPEConfig,
        {"terms": ("query_context", "keys")},
        "expected each entry to be one of 'query_context', 'key_context', 'value'",
    ),
    (GRPEConfig, {"key_context": "row"}, "expected one of 'key_column', 'query_row'"),
    (
        GRPEConfig,
        {"key_context": "query_row", "terms": ("value",)},
        "key_context is 'query_row' and terms is ('value',); expected terms with 'key_context'",
    ),
    (
        GRPEConfig,
        {"max_distance": 3, "terms": ()},
        "max_distance is 3 with terms=() and bias=False, where no relation is read; expected",
    ),
    (GRPEConfig, {"target": "edge"}, "expected one of 'graph', 'node'"),
    (GRPEConfig, {"edge_step": 0.0}, "edge_step is 0.0; expected a number above 0"),
    (SignNetConfig, {"phi": "GIN"}, "phi is 'GIN'; expected one of 'gin', 'mlp'"),
    (SignNetConfig, {"rho": "Sum"}, "rho is 'Sum'; expected one of 'mlp', 'sum'"),
    (SignNetConfig, {"k": None}, "k is None and rho is 'mlp'; expected rho 'sum'"),
    (GINConfig, {"readout": "add"}, "readout is 'add'; expected one of 'sum', 'mean'"),
    (GINConfig, {"num_node_types": 28}, "num_node_features is 1; expected only one of the two"),
    (GATConfig, {"d_model": 100}, "d_model is 100 and num_heads is 8"),
    (BagTransformerConfig, {"num_heads": 5}, "d_model is 64 and num_heads is 5"),
    (BagTransformerConfig, {"num_heads": -4}, "num_heads is -4; expected a number above 0"),
]


@pytest.mark.parametrize(
    ("config", "unread"),
    [
        (GRPEConfig(terms=("value",)), {"key_context": "'query_row'"}),
        (GRPEConfig(terms=()), {"key_context": "'query_row'", "max_distance": "3"}),
        (CGTConfig(relative=None), {"relative_steps": "8"}),
        (CGTConfig(target="node"), {"readout": "'mean'"}),
        (GINConfig(target="edge"), {"readout": "'mean'"}),
        (GCNConfig(target="node"), {"readout": "'sum'"}),
        (EGTConfig(variant="simple"), {"edge_multiplier": "1.0"}),
        (GraphormerConfig(spatial=False), {"max_distance": "510"}),
        (
            GraphormerConfig(centrality=False, edges="node"),
            {"max_in_degree": "511", "max_out_degree": "511", "path_positions": "128"},
        ),
    ],
)
def test_recorded_sizes_that_nothing_reads_are_read_as_the_defaults(config, unread):
    """They were allowed until 0.17 or 0.18, so records of these releases may have them."""
    todays = {name: repr(value) for name, value in vars(config).items()}
    recorded = ", ".join(f"{name}={text}" for name, text in (todays | unread).items())
    assert read_call(f"{type(config).__name__}({recorded})")["arguments"] == todays


@pytest.mark.parametrize(("config", "change", "sentence"), WRONG)
def test_unknown_option_raises_in_one_sentence(config, change, sentence):
    for make in (lambda: config(**change), lambda: replace(config(), **change)):
        with pytest.raises(ValueError) as error:
            make()
        assert sentence in str(error.value)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: type(config).__name__)
def test_every_field_of_every_config_rejects_invalid_values(config):
    for field in fields(config):
        with pytest.raises(ValueError, match=rf"{field.name} is "):
            replace(config, **{field.name: "no such thing"})


def test_numpy_numbers_become_python_numbers():
    config = EGTConfig(num_layers=np.int64(3), node_dropout=np.float64(0.25), gated=np.bool_(True))
    assert repr(config) == repr(EGTConfig(num_layers=3, node_dropout=0.25, gated=True))
    types = GINConfig(num_node_types=(np.int16(28), 7), num_node_features=0).num_node_types
    assert repr(types) == "(28, 7)"


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.uint16, torch.int32])
def test_counting_categories_does_not_overflow_small_integer_dtypes(dtype):
    largest = min(torch.iinfo(dtype).max, 999)
    x = torch.full((3, 1), largest, dtype=dtype)
    graph = Data(x=x, edge_index=torch.zeros(2, 0).long(), edge_attr=x[:0])
    assert EGTConfig.from_graphs([graph]).num_edge_types == (1,)
    assert EGTConfig.from_graphs([graph]).num_node_types == (largest + 1,)
    assert collate([graph]).x.flatten().tolist() == [largest] * 3


def test_an_mlp_of_width_zero_raises():
    config = GCNConfig(num_node_types=(28,), num_node_features=0, d_model=3)
    with pytest.raises(
        ValueError, match="a network has the widths 3, 1, 0, 1; expected widths of 1 or more"
    ):
        GCN(config)


def test_modules_reject_unknown_options():
    for make in (
        lambda: LaplacianEncoding(4, 8, flip_signs="batches"),
        lambda: SVDEncoding(4, 8, flip_signs="pair"),
        lambda: EdgeEncoding(4, 4, 8, 5, reduce="avg"),
        lambda: ChromaticSelfAttention(16, 4, form="chunk"),
        lambda: ChromaticSelfAttention(16, 4, score="add"),
        lambda: GRPEAttention(16, 4, key_context="row"),
        lambda: TransformerEncoder(1, 8, 2, 8, activation="selu"),
    ):
        with pytest.raises(ValueError, match=r" is .*; expected one of "):
            make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: MultiHeadAttention(10, 4),
        lambda: GraphormerLayer(10, 4),
        lambda: EGTAttention(10, 3, 4),
        lambda: EGTLayer(10, 3, 4),
        lambda: GRPEAttention(10, 4),
        lambda: ChromaticSelfAttention(10, 4),
        lambda: TransformerConfig(7, 7, d_model=10, num_heads=4),
        lambda: MultiHeadAttention(8, 0),
    ],
)
def test_a_width_not_divisible_by_the_heads_raises(make):
    with pytest.raises(ValueError, match=r"expected a d_model that is a multiple of|above 0"):
        make()


def test_masking_more_heads_than_there_are_raises():
    with pytest.raises(ValueError, match="masked_heads is 5; expected 0 to 4"):
        NeighbourTransformer(BagTransformerConfig(), 5)


def test_an_integer_vocabulary_means_one_column():
    assert GINConfig(28, 0).num_node_types == (28,)
    assert GraphormerConfig(num_node_types=28, num_edge_types=4) == GraphormerConfig()
    assert GINConfig(0).num_node_types == ()


# From graphs


def graphs_with(x: torch.Tensor, edge_attr: torch.Tensor | None) -> list[Data]:
    edge_index = torch.tensor([[0, 1, 1], [1, 0, 2]])
    other = Data(x=torch.zeros_like(x), edge_index=edge_index)
    graph = Data(x=x, edge_index=edge_index)
    if edge_attr is not None:
        graph.edge_attr = edge_attr
        other.edge_attr = torch.zeros_like(edge_attr)
    return [other, graph]


CATEGORIES = torch.tensor([[4, 0], [1, 2], [0, 0]])
BONDS = torch.tensor([[3], [0], [1]])


@pytest.mark.parametrize(
    ("model", "config", "settings"),
    [
        (BagTransformer, BagTransformerConfig, {}),
        (GIN, GINConfig, {"d_model": 8}),
        (GatedGCN, GatedGCNConfig, {"d_model": 8}),
        (Graphormer, GraphormerConfig, {"num_layers": 1}),
        (EGT, EGTConfig, {"num_layers": 1}),
        (GRPE, GRPEConfig, {"num_layers": 1}),
        (CGT, CGTConfig, {"num_layers": 1, "node_steps": 3, "relative_steps": 3}),
    ],
)
def test_config_from_graphs_builds_a_model_for_them(model, config, settings):
    graphs = graphs_with(CATEGORIES, BONDS)
    made = config.from_graphs(graphs, **settings)
    assert made.num_node_types == (5, 3)
    assert getattr(made, "num_edge_types", (4,)) == (4,)
    assert all(getattr(made, name) == value for name, value in settings.items())
    model(made).double()(collate(encoded(*graphs)))
    graphs = graphs_with(torch.randn(3, 2).double(), BONDS)
    made = config.from_graphs(graphs, **settings)
    assert (made.num_node_types, made.num_node_features) == ((), 2)
    model(made).double()(collate(encoded(*graphs)))
    if "num_edge_features" in {field.name for field in fields(config)}:
        graphs = graphs_with(CATEGORIES, torch.randn(3, 2).double())
        made = config.from_graphs(graphs, **settings)
        assert (made.num_edge_types, made.num_edge_features) == ((), 2)
        model(made).double()(collate(encoded(*graphs)))


def test_config_from_graphs_without_edge_features_has_no_edge_types():
    assert EGTConfig.from_graphs(graphs_with(CATEGORIES, None)).num_edge_types == ()


def test_config_from_malformed_graphs_raises():
    graphs = graphs_with(CATEGORIES, BONDS)
    graphs[1].x = graphs[1].x.float()
    with pytest.raises(ValueError, match=r"graph 1 has x of torch.float32"):
        EGTConfig.from_graphs(graphs)


def test_configurations_are_frozen_dataclasses():
    assert all(is_dataclass(config) for config in CONFIGS)
    with pytest.raises(AttributeError):
        CONFIGS[0].d_model = 3


def test_recorded_categories_of_one_column_are_read_as_todays():
    fields = CGTConfig.complete({"num_node_types": "28", "num_edge_types": "0", "d_model": "64"})
    assert fields["num_node_types"] == "(28,)"
    assert fields["num_edge_types"] == "()"
    assert fields["d_model"] == "64"
    assert CGTConfig.complete({"num_node_types": "(28, 3)"})["num_node_types"] == "(28, 3)"
