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
from functools import partial
from importlib.resources import files

from torch.optim import Adam, Optimizer
from torch.optim.lr_scheduler import ReduceLROnPlateau

from gtcourse.encodings import AddLaplacianEigenvectors, AddShortestPaths, AddSVD
from gtcourse.models import EGT, EGTConfig, LaplacianEncoding
from gtcourse.recipes.recipe import TASKS, Recipe, recipe
from gtcourse.train.schedules import warmup_then_cosine
from gtcourse.train.tasks import with_distances

COLUMNS = ("pattern", "cluster", "mnist", "cifar10", "tsp", "zinc", "zinc-full")
RESULTS = tomllib.loads((files("gtcourse.recipes") / "egt.toml").read_text(encoding="utf-8"))


def _categories(nodes: int, *edges: int, **target) -> dict:
    return {"num_node_types": (nodes,), "num_edge_types": edges, **target}


def _floats(nodes: int, **target) -> dict:
    types = {"num_node_types": (), "num_edge_types": ()}
    return types | {"num_node_features": nodes, "num_edge_features": 1, **target}


# fmt: off
SETTINGS = {
    "pattern": (_categories(3, target="node", num_targets=2), 200, 10, {"eigenvectors": 2}),
    "cluster": (_categories(7, target="node", num_targets=6), 200, 10, {"eigenvectors": 20}),
    "mnist": (_floats(3, num_targets=10), 200, 10, {"flips": True, "kappa": 5e-4}),
    "cifar10": (_floats(5, num_targets=10), 200, 10, {"flips": True, "kappa": 5e-4}),
    "tsp": (_floats(2, target="edge", num_targets=2), 100, 5, {"flips": True, "batch_size": 8}),
    "zinc": (_categories(28, 4), 600, 20, {"flips": True, "eigenvectors": 8, "kappa": 5e-2}),
    "zinc-full": (_categories(28, 4), 200, 5, {}),
}
# fmt: on
"""Columns of Table 5: what the model reads and predicts, epochs, patience, and the rest."""

SIZES = {"100k": (4, 64, 8), "500k": (16, 64, 8)}
ZINC_SIZES = {"100k": (4, 48, 48), "500k": (10, 64, 64), "500k-simple": (10, 80, 8)}
"""Layers, width of the nodes and of the pairs."""


def _recipe(
    model: str, dataset: str, table: str, printed: str, reads: dict, epochs: int, patience: int,
    flips: bool = False, batch_size: int = 128, eigenvectors: int = 0, kappa: float = 0.0,
) -> Recipe:  # fmt: skip
    """A printed result; ``flips`` are of singular vectors' signs, κ is of "do"."""
    task = TASKS[dataset]
    _, size, *variants = model.split("-")
    spe, epe, do = (variant in variants for variant in ("spe", "epe", "do"))
    sizes = ZINC_SIZES if dataset.startswith("zinc") else SIZES
    num_layers, d_model, d_edge = sizes.get("-".join([size, *variants[:1]]), sizes[size])
    flipped = "augmented" in variants or (flips and "unaugmented" not in variants)
    config = EGTConfig(
        **reads,
        num_layers=num_layers,
        d_model=d_model,
        d_edge=d_edge,
        norm_eps=1e-3,
        variant=next((v for v in ("simple", "constrained") if v in variants), "full"),
        gated="ungated" not in variants,
        svd_rank=8 if spe else 0,
        distance_hops=3 if do else 0,
        flip_signs="pairs" if spe and flipped else None,
    )
    build_model, transforms = partial(EGT, config), []
    if spe:
        transforms.append(AddSVD(config.svd_rank))
    if epe:
        build_model = partial(_with_eigenvectors, config, eigenvectors)
        transforms.append(AddLaplacianEigenvectors(eigenvectors, "symmetric", skip_first=True))
    if do:
        transforms.append(AddShortestPaths())
        task = with_distances(task, config.distance_hops, kappa, self_is_one_hop=True)
    scale = 100 if task.monitor == "accuracy" else 1  # printed in percent
    score = tuple(round(float(number) / scale, 5) for number in printed.split("±"))
    return recipe(
        f"{model}/{dataset}",
        build_model=build_model,
        transforms=tuple(transforms),
        task=task,
        optimizer=_adam(5e-4),
        epochs=epochs,
        batch_size=batch_size,
        schedule=partial(_halve_on_plateau, patience=patience, mode=task.mode),
        source=f"Hussain et al., 2021, {table}; settings of Tables 4 and 5",
        paper_parameters=int(size[:-1]) * 1000,
        paper_result={f"test_{task.monitor}": score},
    )


def _with_eigenvectors(config: EGTConfig, k: int) -> EGT:
    return EGT(config, [LaplacianEncoding(k, config.d_model, flip_signs=True)])


def _adam(lr: float) -> partial[Adam]:
    return partial(Adam, lr=lr, betas=(0.9, 0.999), eps=1e-7)


def _halve_on_plateau(
    optimizer: Optimizer, steps: int, *, patience: int, mode: str
) -> ReduceLROnPlateau:
    """Half the rate, down to 5e-6, after ``patience`` epochs without an improvement.

    As in Keras: torch would wait for one more epoch and ignore small improvements.
    """
    return ReduceLROnPlateau(
        optimizer, mode, factor=0.5, patience=patience - 1, threshold=0.0, min_lr=5e-6
    )


def _pcqm4m(model: str, parameters: int, table: str, *, variant="full", **maes: float) -> Recipe:
    """A column of Table 6."""
    small = model == "egt-small"
    num_layers, d_model, virtual_nodes = (6, 512, 4) if small else (12, 768, 8)
    config = EGTConfig(
        num_node_types=(53, 3, 7, 10, 5, 5, 6, 2, 2), num_edge_types=(4, 3, 2),
        num_layers=num_layers, d_model=d_model, d_edge=128, num_heads=32,
        node_multiplier=1.0, edge_multiplier=1.0, structure="distance", max_distance=16,
        variant=variant, virtual_nodes=virtual_nodes, head_widths=(d_model, d_model),
        node_dropout=0.1, norm_eps=1e-3,
    )  # fmt: skip
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
        _recipe(model, dataset, table, printed, *SETTINGS[dataset][:3], **SETTINGS[dataset][3])
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
