"""Graphormer's own runs (Ying et al., 2021): Tables 1 to 5, with settings of Tables 7 to 10.

"graphormer-large/pcqm4m" and "graphormer-base/pcqm4m" are also the models from which those on
MolPCBA and MolHIV start. Table 5 is the ladder from a Transformer to Graphormer on PCQM4M, of which
"graphormer-none" is the first rung and "graphormer-edges-bias" the last.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from torch import nn

from gtcourse.encodings import (
    AddDegrees,
    AddLaplacianEigenvectors,
    AddPathEdges,
    AddPathTree,
    AddShortestPaths,
    Encoding,
)
from gtcourse.models import Graphormer, GraphormerConfig, LaplacianEncoding
from gtcourse.recipes.recipe import Recipe, adamw, recipe
from gtcourse.train.flag import Flag
from gtcourse.train.schedules import warmup_then_linear

Settings = dict[str, Any]
"""Arguments of a recipe or of a configuration, by name."""

ZINC: Settings = {
    "num_node_types": (64,),  # as many rows as the authors' tables have
    "num_edge_types": (64,),
    "max_distance": 38,  # 40 rows: distances 0 to 38, and no path
    "max_in_degree": 63,
    "max_out_degree": 63,
    "path_positions": 40,
    "num_heads": 8,
}
OGB: Settings = {
    "num_node_types": (512,) * 9,  # the authors' tables have 512 rows for each column
    "num_edge_types": (512,) * 3,
    "max_distance": 510,  # 512 rows
    "max_in_degree": 511,
    "max_out_degree": 511,
    "path_positions": 128,
    "num_heads": 32,
}


def _config(
    data: str, num_layers: int, d_model: int, attention_dropout: float = 0.1
) -> GraphormerConfig:
    """The model of the paper on a data set; its feed-forward network is as wide as its nodes."""
    return GraphormerConfig(
        **(ZINC if data == "zinc" else OGB),
        num_targets=128 if data == "molpcba" else 1,
        num_layers=num_layers,
        d_model=d_model,
        d_hidden=d_model,
        dropout=0.1,
        attention_dropout=attention_dropout,
        input_dropout=0.0,
        max_path_length=20,
    )


def _recipe(
    name: str,
    *,
    num_layers: int,
    d_model: int,
    lr: float,
    warmup: float,
    weight_decay: float = 0.0,
    attention_dropout: float = 0.1,
    **settings: Any,
) -> Recipe:
    """One result; ``warmup`` is a share of the steps."""
    data = name.split("/")[1]
    # A tree holds Eq. 7 in N² numbers a graph: 20 edges of each pair fit no machine on PCQM4M.
    paths = AddPathEdges(20) if data == "zinc" else AddPathTree()
    config = _config(data, num_layers, d_model, attention_dropout)
    settings.setdefault("build_model", partial(Graphormer, config))
    settings.setdefault("transforms", (AddDegrees(), AddShortestPaths(), paths))
    return recipe(
        name,
        optimizer=adamw(lr, weight_decay),
        grad_clip=5.0,
        schedule=partial(warmup_then_linear, warmup=warmup),
        **settings,
    )


def _pcqm4m(
    size: str,
    *,
    num_layers: int,
    d_model: int,
    lr: float,
    parameters: int | None,
    steps: int = 1_000_000,
    source: str = "Table 1; settings of Table 7",
    **settings: Any,
) -> Recipe:
    """A column of Table 7, or a run with its settings; 6 % of the steps are warm-up."""
    return _recipe(
        f"graphormer-{size}/pcqm4m",
        num_layers=num_layers,
        d_model=d_model,
        lr=lr,
        warmup=60_000 / 1_000_000,
        epochs=300,
        steps=steps,
        batch_size=1024,
        source=f"Ying et al., 2021, {source}",
        paper_parameters=parameters,
        **settings,
    )


def with_eigenvectors(config: GraphormerConfig, k: int) -> Graphormer:
    """A Graphormer that adds a learned map of k Laplacian eigenvectors to its nodes.

    The map starts small, as Graphormer's tables do: torch's own start would drown the atoms.
    """
    encoding = LaplacianEncoding(k, config.d_model, flip_signs=True)
    nn.init.normal_(encoding.projection.weight, std=0.02)
    nn.init.zeros_(encoding.projection.bias)
    return Graphormer(config, node_encodings=[encoding])


EIGENVECTORS = 4
"""As the authors' own runs of GT on PCQM4M have (App. B.3.1); Table 5 does not say."""

COMPLETE = _config("pcqm4m", 12, 768)
DEFAULTS = GraphormerConfig.defaults()
NO_PATHS: Settings = {name: DEFAULTS[name] for name in ("path_positions", "max_path_length")}
NO_DEGREES: Settings = {name: DEFAULTS[name] for name in ("max_in_degree", "max_out_degree")}
NO_DISTANCES: Settings = {"max_distance": DEFAULTS["max_distance"]}
"""The sizes of encodings that a rung does not have, at their defaults: nothing reads them."""

CENTRAL = replace(COMPLETE, edges=None, **NO_PATHS)
SPATIAL = replace(CENTRAL, centrality=False, **NO_DEGREES)
NOTHING = replace(SPATIAL, spatial=False, **NO_DISTANCES)
DISTANCES = (AddShortestPaths(),)
BOTH = (AddDegrees(), AddShortestPaths())
LADDER: dict[str, tuple[partial[Graphormer], tuple[Encoding, ...], float]] = {
    "none": (partial(Graphormer, NOTHING), (), 0.2276),
    "laplacian": (
        partial(with_eigenvectors, NOTHING, EIGENVECTORS),
        (AddLaplacianEigenvectors(EIGENVECTORS, "symmetric", skip_first=True),),
        0.1483,
    ),
    "spatial": (partial(Graphormer, SPATIAL), DISTANCES, 0.1427),
    "centrality": (partial(Graphormer, CENTRAL), BOTH, 0.1396),
    "edges-node": (partial(Graphormer, replace(CENTRAL, edges="node")), BOTH, 0.1328),
    "edges-aggregation": (partial(Graphormer, replace(CENTRAL, edges="aggregation")), BOTH, 0.1327),
    "edges-bias": (partial(Graphormer, COMPLETE), (*BOTH, AddPathTree()), 0.1304),
}
"""The rows of Table 5: the model, what it reads, and the validation error."""


def _rung(name: str) -> Recipe:
    """A row of Table 5."""
    build_model, transforms, error = LADDER[name]
    return _pcqm4m(
        name,
        num_layers=12,
        d_model=768,
        lr=2e-4,
        parameters=None,
        steps=100_000,
        source="Table 5; settings of Table 7",
        build_model=build_model,
        transforms=transforms,
        paper_result={"val_mae": (error, None)},
    )


GRAPHORMER = (
    _recipe(
        "graphormer-slim/zinc",
        num_layers=12,
        d_model=80,
        lr=2e-4,
        warmup=40_000 / 400_000,
        weight_decay=0.01,
        epochs=10_000,
        steps=400_000,
        batch_size=256,
        source="Ying et al., 2021, Table 4; settings of Table 10",
        paper_parameters=489_321,
        paper_result={"test_mae": (0.122, 0.006)},
    ),
    _pcqm4m(
        "small",
        num_layers=6,
        d_model=512,
        lr=3e-4,
        parameters=12_500_000,
        paper_result={"train_mae": (0.0778, None), "val_mae": (0.1264, None)},
    ),
    _pcqm4m(
        "base",
        num_layers=12,
        d_model=768,
        lr=2e-4,
        parameters=47_100_000,
        paper_result={"train_mae": (0.0582, None), "val_mae": (0.1234, None)},
    ),
    _pcqm4m(
        "large",
        num_layers=18,
        d_model=1024,
        lr=1e-4,
        parameters=119_500_000,
        source="App. B.2.2; settings of Table 7",
        attention_dropout=0.3,
        paper_result={"val_mae": (0.1253, None)},
    ),
    _recipe(
        "graphormer-large/molpcba",
        num_layers=18,
        d_model=1024,
        lr=3e-4,
        warmup=0.06,
        attention_dropout=0.3,
        epochs=10,
        batch_size=256,
        flag=Flag(steps=4, step_size=0.001, bound=0.001),
        source="Ying et al., 2021, Table 2; settings of App. B.2.2 and Tables 7 and 8",
        paper_parameters=119_500_000,
        paper_result={"test_ap": (0.3139, 0.0032)},
    ),
    _recipe(
        "graphormer-base/molhiv",
        num_layers=12,
        d_model=768,
        lr=2e-4,
        warmup=0.06,
        epochs=8,
        batch_size=128,
        flag=Flag(steps=2, step_size=0.2),
        source="Ying et al., 2021, Table 3; settings of App. B.2.3 and Tables 7 and 9",
        paper_parameters=47_000_000,
        paper_result={"test_auroc": (0.8051, 0.0053)},
    ),
    *(_rung(name) for name in LADDER),
)
