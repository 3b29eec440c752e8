"""EGT's own runs (Hussain et al., 2021): every result of Tables 1, 2, 3, 7 and 8 that is theirs.

The results are in ``egt.toml``. The settings are those of Tables 4 to 6; where the paper leaves
them open, those of the authors' first code (TensorFlow), which produced the results.

"simple" and "constrained" are the variants of Appendix C, "ungated" is EGT-U; "spe" are SVD-based
and "epe" Laplacian positional encodings; "do" is the distance objective. "augmented" and
"unaugmented" are the rows of Table 8 that treat the signs of singular vectors differently from the
other runs on their data.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from typing import Any, Literal

from torch.optim import Adam, Optimizer
from torch.optim.lr_scheduler import ReduceLROnPlateau

from gtcourse.encodings import AddLaplacianEigenvectors, AddShortestPaths, AddSVD, Encoding
from gtcourse.models import EGT, EGTConfig, LaplacianEncoding
from gtcourse.recipes.recipe import TASKS, Recipe, printed_score, recipe
from gtcourse.train.schedules import warmup_then_cosine
from gtcourse.train.tasks import with_distances

COLUMNS = ("pattern", "cluster", "mnist", "cifar10", "tsp", "zinc", "zinc-full")
RESULTS = tomllib.loads((files("gtcourse.recipes") / "egt.toml").read_text(encoding="utf-8"))

Variant = Literal["full", "simple", "constrained"]


@dataclass(frozen=True)
class Column:
    """A column of Table 5, and what the model reads of the data set and predicts.

    Attributes:
        reads: these fields of :class:`EGTConfig`.
        epochs: at most.
        patience: epochs without an improvement before the rate is halved.
        batch_size: graphs in a step.
        flips: whether the signs of singular vectors are flipped at random in training.
        eigenvectors: of "epe".
        kappa: the weight κ of "do".
    """

    reads: dict[str, Any]
    epochs: int
    patience: int
    batch_size: int = 128
    flips: bool = False
    eigenvectors: int = 0
    kappa: float = 0.0


def _categories(nodes: int, *edges: int, **target: Any) -> dict[str, Any]:
    """Categories of nodes and edges."""
    return {"num_node_types": (nodes,), "num_edge_types": edges, **target}


def _floats(nodes: int, **target: Any) -> dict[str, Any]:
    """Numbers of nodes, and one of each edge."""
    types = {"num_node_types": (), "num_edge_types": ()}
    return {**types, "num_node_features": nodes, "num_edge_features": 1, **target}


SETTINGS = {
    "pattern": Column(
        _categories(3, target="node", num_targets=2), epochs=200, patience=10, eigenvectors=2
    ),
    "cluster": Column(
        _categories(7, target="node", num_targets=6), epochs=200, patience=10, eigenvectors=20
    ),
    "mnist": Column(_floats(3, num_targets=10), epochs=200, patience=10, flips=True, kappa=5e-4),
    "cifar10": Column(_floats(5, num_targets=10), epochs=200, patience=10, flips=True, kappa=5e-4),
    "tsp": Column(
        _floats(2, target="edge", num_targets=2), epochs=100, patience=5, batch_size=8, flips=True
    ),
    "zinc": Column(
        _categories(28, 4), epochs=600, patience=20, flips=True, eigenvectors=8, kappa=5e-2
    ),
    "zinc-full": Column(_categories(28, 4), epochs=200, patience=5),
}

SIZES = {"100k": (4, 64, 8), "500k": (16, 64, 8)}
ZINC_SIZES = {"100k": (4, 48, 48), "500k": (10, 64, 64), "500k-simple": (10, 80, 8)}
"""Layers, width of the nodes and of the pairs."""


def _recipe(model: str, dataset: str, table: str, printed: str) -> Recipe:
    """A result of ``egt.toml``; the model's name says its size and its variants."""
    column = SETTINGS[dataset]
    task = TASKS[dataset]
    _, size, *variants = model.split("-")
    sizes = ZINC_SIZES if dataset.startswith("zinc") else SIZES
    num_layers, d_model, d_edge = sizes.get("-".join([size, *variants[:1]]), sizes[size])
    variant: Variant = "full"
    if "simple" in variants:
        variant = "simple"
    elif "constrained" in variants:
        variant = "constrained"
    flipped = "augmented" in variants or (column.flips and "unaugmented" not in variants)
    config = EGTConfig(
        **column.reads,
        num_layers=num_layers,
        d_model=d_model,
        d_edge=d_edge,
        norm_eps=1e-3,
        variant=variant,
        gated="ungated" not in variants,
        svd_rank=8 if "spe" in variants else 0,
        distance_hops=3 if "do" in variants else 0,
        flip_signs="pairs" if "spe" in variants and flipped else None,
    )
    build_model: Callable[[], EGT] = partial(EGT, config)
    transforms: list[Encoding] = []
    if "spe" in variants:
        transforms.append(AddSVD(config.svd_rank))
    if "epe" in variants:
        build_model = partial(_with_eigenvectors, config, column.eigenvectors)
        transforms.append(
            AddLaplacianEigenvectors(column.eigenvectors, "symmetric", skip_first=True)
        )
    if "do" in variants:
        transforms.append(AddShortestPaths())
        task = with_distances(task, config.distance_hops, column.kappa, self_is_one_hop=True)
    return recipe(
        f"{model}/{dataset}",
        build_model=build_model,
        transforms=tuple(transforms),
        task=task,
        optimizer=_adam(5e-4),
        epochs=column.epochs,
        batch_size=column.batch_size,
        schedule=partial(_halve_on_plateau, patience=column.patience, mode=task.mode),
        source=f"Hussain et al., 2021, {table}; settings of Tables 4 and 5",
        paper_parameters=int(size.removesuffix("k")) * 1000,
        paper_result={f"test_{task.monitor}": printed_score(printed, task)},
    )


def _with_eigenvectors(config: EGTConfig, k: int) -> EGT:
    return EGT(config, [LaplacianEncoding(k, config.d_model, flip_signs=True)])


def _adam(lr: float) -> partial[Adam]:
    return partial(Adam, lr=lr, betas=(0.9, 0.999), eps=1e-7)


def _halve_on_plateau(
    optimizer: Optimizer, steps: int, *, patience: int, mode: Literal["min", "max"]
) -> ReduceLROnPlateau:
    """Half the rate, down to 5e-6, after ``patience`` epochs without an improvement.

    As in Keras: torch would wait for one more epoch and ignore small improvements.
    """
    return ReduceLROnPlateau(
        optimizer, mode, factor=0.5, patience=patience - 1, threshold=0.0, min_lr=5e-6
    )


def _pcqm4m(
    model: str, parameters: int, table: str, *, variant: Variant = "full", **maes: float
) -> Recipe:
    """A column of Table 6."""
    small = model == "egt-small"
    d_model = 512 if small else 768
    config = EGTConfig(
        num_node_types=(53, 3, 7, 10, 5, 5, 6, 2, 2),
        num_edge_types=(4, 3, 2),
        num_layers=6 if small else 12,
        d_model=d_model,
        d_edge=128,
        num_heads=32,
        node_multiplier=1.0,
        # EGT-Simple has no such network, and the default is 2.
        edge_multiplier=2.0 if variant == "simple" else 1.0,
        structure="distance",
        max_distance=16,
        variant=variant,
        virtual_nodes=4 if small else 8,
        head_widths=(d_model, d_model),
        node_dropout=0.1,
        norm_eps=1e-3,
    )
    return recipe(
        f"{model}/pcqm4m",
        build_model=partial(EGT, config),
        transforms=(AddShortestPaths(),),
        optimizer=_adam(2e-4),
        epochs=200,
        steps=1_000_000,
        batch_size=128 if small else 512,
        schedule=partial(warmup_then_cosine, warmup=60_000 / 1_000_000, quarter=True),
        source=f"Hussain et al., 2021, {table}; settings of Table 6",
        paper_parameters=parameters,
        paper_result={split: (mae, None) for split, mae in maes.items()},
    )


EGT_RECIPES = (
    *(
        _recipe(model, dataset, table, printed)
        for table, rows in RESULTS.items()
        for model, row in rows.items()
        for dataset, printed in zip(COLUMNS, row.split(), strict=True)
        if printed != "-"
    ),
    _pcqm4m("egt-small", 11_100_000, "Table 2", train_mae=0.0728, val_mae=0.1299),
    _pcqm4m("egt-base", 48_500_000, "Table 2", train_mae=0.0270, val_mae=0.1263),
    _pcqm4m("egt-base-simple", 48_000_000, "Table 3", val_mae=0.1276, variant="simple"),
    _pcqm4m("egt-base-constrained", 48_000_000, "Table 3", val_mae=0.1328, variant="constrained"),
)
