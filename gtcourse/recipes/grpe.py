"""GRPE's own runs (Park et al., 2022; called GSA in its first version): Tables 2 to 7.

Table 1 has the widths; layers, heads and what else the paper leaves open are the authors' code's.
The models on MolPCBA start from "grpe-standard/pcqm4m" and "grpe-large/pcqm4m".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from gtcourse.encodings import AddShortestPaths
from gtcourse.models import GRPE, GRPEConfig
from gtcourse.recipes.recipe import Recipe, adamw, recipe
from gtcourse.train.schedules import warmup_then_linear


@dataclass(frozen=True)
class Size:
    """A row of Table 1; ``d_model`` is also the inner width of the feed-forward network."""

    num_layers: int
    d_model: int
    num_heads: int
    parameters: int  #: as printed


SIZES = {
    "tiny": Size(4, 64, 8, 106_000),
    "tiny2x": Size(4, 128, 16, 409_000),
    "small": Size(12, 80, 8, 489_000),
    "standard": Size(12, 768, 32, 46_200_000),
    "large": Size(18, 1024, 32, 118_300_000),
}

Settings = dict[str, Any]
"""Arguments of a recipe or of a configuration, by name."""

PIXELS: Settings = {
    "num_node_types": (),
    "num_edge_types": (11,),
    "edge_step": 0.1,
    "max_distance": 3,
}
MOLECULES: Settings = {"num_node_types": (512,) * 9, "num_edge_types": (5, 3, 2)}
CONFIGS: dict[str, Settings] = {
    "zinc": {"num_node_types": (28,), "num_edge_types": (4,)},
    "mnist": {**PIXELS, "num_node_features": 3, "num_targets": 10},
    "cifar10": {**PIXELS, "num_node_features": 5, "num_targets": 10},
    "pcqm4m": MOLECULES,
    "pcqm4mv2": MOLECULES,
    "molpcba": {**MOLECULES, "num_targets": 128, "dropout": 0.3, "attention_dropout": 0.3},
}
"""What the model reads of each data set and predicts."""

BUDGETS: dict[str, Settings] = {
    "zinc": {"epochs": 10_000, "steps": 400_000, "batch_size": 256},
    "mnist": {"epochs": 400, "batch_size": 64},
    "cifar10": {"epochs": 400, "batch_size": 64},
    "pcqm4m": {"epochs": 400, "batch_size": 1024},
    "pcqm4mv2": {"epochs": 400, "batch_size": 1024},
    "molpcba": {"epochs": 200, "batch_size": 256},
}


def _recipe(name: str, table: str, **result: tuple[float, float | None]) -> Recipe:
    """A printed result; the size of the model and the data set are those in its name."""
    model, data = name.split("/")
    size = SIZES[model.removeprefix("grpe-")]
    settings: Settings = {"max_distance": 5, "dropout": 0.1, "attention_dropout": 0.1}
    config = GRPEConfig(
        num_layers=size.num_layers,
        d_model=size.d_model,
        num_heads=size.num_heads,
        **{**settings, **CONFIGS[data]},
    )
    warmup = 3 / BUDGETS[data]["epochs"]
    weight_decay = 0.0
    grad_clip: float | None = 5.0
    if data == "zinc":
        warmup = 40_000 / 400_000
        weight_decay = 1e-3
        grad_clip = None
    return recipe(
        name,
        build_model=partial(GRPE, config),
        transforms=(AddShortestPaths(),),
        optimizer=adamw(2e-4, weight_decay),
        schedule=partial(warmup_then_linear, warmup=warmup, end=1e-9),
        grad_clip=grad_clip,
        source=f"Park et al., 2022, first version, {table}; settings of Table 1 and Section 5",
        paper_parameters=size.parameters,
        paper_result=result,
        **BUDGETS[data],
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
