"""GRPE's own runs (Park et al., 2022; called GSA in its first version): Tables 2 to 7.

Table 1 has the widths; layers, heads and what else the paper leaves open are the authors' code's.
The models on MolPCBA start from "grpe-standard/pcqm4m" and "grpe-large/pcqm4m".
"""

from __future__ import annotations

from functools import partial

from gtcourse.encodings import AddShortestPaths
from gtcourse.models import GRPE, GRPEConfig
from gtcourse.recipes.recipe import Recipe, adamw, recipe
from gtcourse.train.schedules import warmup_then_linear

SIZES = {
    "tiny": (4, 64, 8, 106_000),
    "tiny2x": (4, 128, 16, 409_000),
    "small": (12, 80, 8, 489_000),
    "standard": (12, 768, 32, 46_200_000),
    "large": (18, 1024, 32, 118_300_000),
}
"""Layers, d (also the feed-forward network's inner width), heads, and parameters as printed."""

PIXELS = {"num_node_types": (), "num_edge_types": (11,), "edge_step": 0.1, "max_distance": 3}
MOLECULES = {"num_node_types": (512,) * 9, "num_edge_types": (5, 3, 2)}
CONFIGS = {
    "zinc": {"num_node_types": (28,), "num_edge_types": (4,)},
    "mnist": {**PIXELS, "num_node_features": 3, "num_targets": 10},
    "cifar10": {**PIXELS, "num_node_features": 5, "num_targets": 10},
    "pcqm4m": MOLECULES,
    "pcqm4mv2": MOLECULES,
    "molpcba": {**MOLECULES, "num_targets": 128, "dropout": 0.3, "attention_dropout": 0.3},
}
BUDGETS = {
    "zinc": {"epochs": 10_000, "steps": 400_000, "batch_size": 256},
    "mnist": {"epochs": 400, "batch_size": 64},
    "cifar10": {"epochs": 400, "batch_size": 64},
    "pcqm4m": {"epochs": 400, "batch_size": 1024},
    "pcqm4mv2": {"epochs": 400, "batch_size": 1024},
    "molpcba": {"epochs": 200, "batch_size": 256},
}


def _recipe(name: str, table: str, **result: tuple[float, float | None]) -> Recipe:
    size, data = name.removeprefix("grpe-").split("/")
    num_layers, d_model, num_heads, printed = SIZES[size]
    config = {"max_distance": 5, "dropout": 0.1, "attention_dropout": 0.1, **CONFIGS[data]}
    config |= {"num_layers": num_layers, "d_model": d_model, "num_heads": num_heads}
    warmup = 40_000 / 400_000 if data == "zinc" else 3 / BUDGETS[data]["epochs"]
    return recipe(
        name,
        build_model=partial(GRPE, GRPEConfig(**config)),
        transforms=(AddShortestPaths(),),
        optimizer=adamw(2e-4, 1e-3 if data == "zinc" else 0.0),
        **BUDGETS[data],
        schedule=partial(warmup_then_linear, warmup=warmup, end=1e-9),
        grad_clip=None if data == "zinc" else 5.0,
        source=f"Park et al., 2022, first version, {table}; settings of Table 1 and Section 5",
        paper_parameters=printed,
        paper_result=result,
    )


GRPE_RECIPES = (
    _recipe("grpe-tiny/mnist", "Table 2", test_accuracy=(0.9815, 0.0014)),
    _recipe("grpe-tiny2x/mnist", "Table 2", test_accuracy=(0.982, 0.0008)),
    _recipe("grpe-standard/mnist", "Table 2", test_accuracy=(0.9818, 0.0005)),
    _recipe("grpe-tiny/cifar10", "Table 3", test_accuracy=(0.6813, 0.0023)),
    _recipe("grpe-tiny2x/cifar10", "Table 3", test_accuracy=(0.7005, 0.0024)),
    _recipe("grpe-standard/cifar10", "Table 3", test_accuracy=(0.7778, 0.0007)),
    _recipe("grpe-small/zinc", "Table 4", test_mae=(0.094, 0.002)),
    _recipe("grpe-standard/pcqm4m", "Table 6", val_mae=(0.1225, None)),
    _recipe(
        "grpe-standard/pcqm4mv2", "Table 7", val_mae=(0.0890, None), test_dev_mae=(0.0898, None)
    ),
    _recipe("grpe-standard/molpcba", "Table 5", test_ap=(0.3077, 0.0007)),
    _recipe("grpe-large/molpcba", "Table 5", test_ap=(0.3150, 0.0010)),
    _recipe("grpe-large/pcqm4m", "Table 5"),
)
