"""Message passing beside the graph Transformers: the benchmark, CYCLES, and SignNet.

The benchmark's runs are those of Dwivedi et al. (2020), with the settings of their files, which the
graph Transformers' papers compare with. Those of GT are its authors' (Dwivedi and Bresson, 2020).
Most of their results and sizes are in ``baselines.toml``; some on ZINC are here.

SignNet (Lim et al., 2023) is added to the benchmark's GatedGCN: the lecture's "50% reduction in
test error", from 0.252 without an encoding to 0.121 with eight eigenvectors. CYCLES is the
lecture's table: two models without and with eigenvectors.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from typing import Any, Literal

from torch import nn
from torch.optim import Adam

from gtcourse import models
from gtcourse.encodings import AddLaplacianEigenvectors, Encoding
from gtcourse.models import GAT, GCN, GIN, GT, GatedGCN
from gtcourse.models.message_passing import MessagePassingConfig
from gtcourse.recipes.recipe import TASKS, Recipe, printed_score, recipe
from gtcourse.train.schedules import halve_on_plateau

Build = Callable[[], nn.Module]
Settings = dict[str, Any]
"""Arguments of a recipe or of a configuration, by name."""

ATOMS: Settings = {"num_node_types": (28,), "num_node_features": 0}


def _recipe(
    name: str,
    build_model: Build,
    *,
    parameters: int,
    result: dict[str, Any],
    source: str,
    k: int = 0,
    lr: float = 1e-3,
    patience: int = 10,
    mode: Literal["min", "max"] = "min",
    stop_below_lr: float = 1e-5,
    batch_size: int = 128,
    epochs: int = 1000,
) -> Recipe:
    """A run with the settings of benchmarking-gnns; the model reads k eigenvectors, if any."""
    transforms: tuple[Encoding, ...] = ()
    if k:
        transforms = (AddLaplacianEigenvectors(k, "symmetric", skip_first=True),)
    return recipe(
        name,
        build_model=build_model,
        transforms=transforms,
        epochs=epochs,
        batch_size=batch_size,
        optimizer=partial(Adam, lr=lr),
        stop_below_lr=stop_below_lr,
        schedule=partial(halve_on_plateau, patience=patience, mode=mode),
        source=source,
        paper_parameters=parameters,
        paper_result=result,
    )


# The models on ZINC.


def _zinc(
    name: str,
    build_model: Build,
    *,
    parameters: int,
    mae: tuple[float, float | None],
    **settings: Any,
) -> Recipe:
    """A run on ZINC, with the printed error and its standard deviation."""
    return _recipe(
        f"{name}/zinc", build_model, parameters=parameters, result={"test_mae": mae}, **settings
    )


def _gin_of_zinc(d_model: int, num_layers: int) -> partial[GIN]:
    return partial(GIN, models.GINConfig(**ATOMS, d_model=d_model, num_layers=num_layers))


def _gat_of_zinc(d_model: int, num_layers: int) -> partial[GAT]:
    return partial(GAT, models.GATConfig(**ATOMS, d_model=d_model, num_layers=num_layers))


def _gated(d_model: int, num_layers: int) -> models.GatedGCNConfig:
    return models.GatedGCNConfig(
        **ATOMS, num_edge_types=(4,), d_model=d_model, num_layers=num_layers, readout="mean"
    )


def _with_eigenvectors(config: models.GatedGCNConfig, k: int) -> GatedGCN:
    return GatedGCN(config, models.LaplacianEncoding(k, config.d_model, flip_signs="batch"))


def _gt_with_eigenvectors(config: models.GTConfig, k: int) -> GT:
    return GT(config, models.LaplacianEncoding(k, config.d_model, flip_signs="batch"))


SOURCE = "Dwivedi et al., 2020, as {}, have it; settings of benchmarking-gnns, ZINC"
OF_EGT = SOURCE.format("Hussain et al., 2021, Table 1")
OF_GRAPHORMER = SOURCE.format("Ying et al., 2021, Table 4")

BASELINES = (
    _zinc(
        "gin-100k",
        _gin_of_zinc(110, 4),
        parameters=100_000,
        mae=(0.387, 0.015),
        source=OF_EGT,
    ),
    _zinc(
        "gat-100k",
        _gat_of_zinc(144, 4),
        parameters=100_000,
        mae=(0.475, 0.007),
        source=OF_EGT,
    ),
    _zinc(
        "gatedgcn-100k",
        partial(GatedGCN, _gated(70, 4)),
        parameters=100_000,
        mae=(0.375, 0.003),
        source=OF_EGT,
    ),
    _zinc(
        "gin",
        _gin_of_zinc(124, 16),
        parameters=509_549,
        mae=(0.526, 0.051),
        source=OF_GRAPHORMER,
    ),
    _zinc(
        "gat",
        _gat_of_zinc(176, 16),
        parameters=531_345,
        mae=(0.384, 0.007),
        source=OF_GRAPHORMER,
    ),
    _zinc(
        "gatedgcn",
        partial(GatedGCN, _gated(78, 16)),
        parameters=504_309,
        mae=(0.282, 0.015),
        source=OF_EGT,
    ),
    _zinc(
        "gatedgcn-pe",
        partial(_with_eigenvectors, _gated(78, 16), 8),
        parameters=505_011,
        mae=(0.214, 0.006),
        k=8,
        source=OF_GRAPHORMER,
    ),
)

# The benchmark on all its data sets.

READS: dict[str, Settings] = {
    "pattern": {"num_node_types": (3,), "num_node_features": 0, "target": "node", "num_targets": 2},
    "cluster": {"num_node_types": (7,), "num_node_features": 0, "target": "node", "num_targets": 6},
    "mnist": {"num_node_features": 3, "num_targets": 10},
    "cifar10": {"num_node_features": 5, "num_targets": 10},
    "tsp": {"num_node_features": 2, "target": "edge", "num_targets": 2},
    "zinc": ATOMS,
}
"""What the models read of a data set, and predict."""

EDGES: dict[str, Settings] = {
    "mnist": {"num_edge_features": 1},
    "cifar10": {"num_edge_features": 1},
    "tsp": {"num_edge_features": 1},
    "zinc": {"num_edge_types": (4,)},
}
"""The features of edges, where there are some, which GatedGCN and GT read as well."""

SETTINGS: dict[str, Settings] = {
    "pattern": {"patience": 5},
    "cluster": {"patience": 5},
    "tsp": {"epochs": 500, "batch_size": 64},
}
"""What the files of a data set have in common."""

MODELS: dict[str, tuple[Callable[..., nn.Module], type[MessagePassingConfig]]] = {
    "gcn": (GCN, models.GCNConfig),
    "gin": (GIN, models.GINConfig),
    "gat": (GAT, models.GATConfig),
    "gatedgcn": (GatedGCN, models.GatedGCNConfig),
    "gt": (GT, models.GTConfig),
}
WIDTHS = {
    "gcn": {"pattern": 146, "mnist": 146, "cifar10": 146, "tsp": 120, "zinc": 145, "500k": 172},
    "gin": {"pattern": 110, "mnist": 110, "cifar10": 110, "tsp": 73, "500k": 124},
    "gat": {"pattern": 152, "mnist": 152, "cifar10": 152, "tsp": 120, "500k": 176},
    "gatedgcn": {"pattern": 70, "mnist": 70, "cifar10": 70, "tsp": 65, "500k": 78},
}
"""Of the 4 layers of about 100,000 parameters by data set, and of the 16 layers of 500,000."""

BATCHES = {"gcn": 64, "gatedgcn": 32}
"""Of the models with 16 layers on PATTERN and CLUSTER, if they are not 128."""

EIGENVECTORS = {
    "gatedgcn-pe": {"pattern": 2, "cluster": 20},
    "gt-pe": {"pattern": 2, "cluster": 10, "zinc": 8},
}
GT_SETTINGS: dict[str, Settings] = {
    "pattern": {"lr": 5e-4, "batch_size": 26},
    "cluster": {"lr": 5e-4, "batch_size": 32},
    "zinc": {"lr": 7e-4, "patience": 15},
}


def _benchmark(model: str, data: str, printed: str, size: str) -> Recipe:
    """A result of ``baselines.toml``, and the printed number of parameters."""
    kind, _, suffix = model.partition("-")
    build, config_of = MODELS[kind]
    reads = dict(READS[data])
    if kind in ("gatedgcn", "gt"):
        reads |= EDGES.get(data, {})
    if data not in ("pattern", "cluster", "tsp"):
        reads["readout"] = "sum" if kind == "gin" else "mean"
    sizes, settings = _sizes_and_settings(kind, suffix, data)
    config = config_of(**reads, **sizes)
    k = EIGENVECTORS.get(model, {}).get(data, 0)
    build_model = partial(build, config)
    if k:
        of_kind: Callable[..., nn.Module] = _with_eigenvectors
        if kind == "gt":
            of_kind = _gt_with_eigenvectors
        build_model = partial(of_kind, config, k)
    task = TASKS[data]
    parameters = 100_000 if suffix == "100k" else 500_000
    if size != "-":
        parameters = int(size)
    authors = "Dwivedi and Bresson, 2020" if kind == "gt" else "Dwivedi et al., 2020"
    files_of = "graphtransformer" if kind == "gt" else "benchmarking-gnns"
    return _recipe(
        f"{model}/{data}",
        build_model,
        parameters=parameters,
        result={f"test_{task.monitor}": printed_score(printed, task)},
        source=f"{authors}, as Hussain et al., 2021, Table 1, have it; settings of {files_of}",
        k=k,
        mode=task.mode,
        **settings,
    )


def _sizes_and_settings(kind: str, suffix: str, data: str) -> tuple[Settings, Settings]:
    """The width and depth of a model, and how it is trained on a data set."""
    if kind == "gt":
        sizes = {} if data == "zinc" else {"d_model": 80}
        return sizes, {**GT_SETTINGS[data], "stop_below_lr": 1e-6}
    settings = SETTINGS.get(data, {})
    if suffix == "100k":
        return {"d_model": WIDTHS[kind][data], "num_layers": 4}, settings
    d_model = WIDTHS[kind]["500k"]
    if data == "tsp":
        d_model = 77  # gives the printed number of parameters; no file is published
    if data in ("pattern", "cluster"):
        settings = {**settings, "batch_size": BATCHES.get(kind, 128)}
    return {"d_model": d_model, "num_layers": 16}, settings


COLUMNS = ("pattern", "cluster", "mnist", "cifar10", "tsp", "zinc")
PRINTED = tomllib.loads((files("gtcourse.recipes") / "baselines.toml").read_text(encoding="utf-8"))
BENCHMARK = tuple(
    _benchmark(model, data, printed, size)
    for model, row in PRINTED["results"].items()
    for data, printed, size in zip(
        COLUMNS, row.split(), PRINTED["parameters"][model].split(), strict=True
    )
    if printed != "-"
)

# CYCLES.


def _gin(pe: bool) -> GIN:
    config = models.GINConfig(num_targets=2, num_node_features=0 if pe else 1)
    return GIN(config, _signs(config) if pe else None)


def _gated_gcn(pe: bool) -> GatedGCN:
    config = models.GatedGCNConfig(num_targets=2, num_node_features=0 if pe else 1)
    return GatedGCN(config, _signs(config) if pe else None)


def _signs(config: MessagePassingConfig) -> models.LaplacianEncoding:
    return models.LaplacianEncoding(20, config.d_model, flip_signs=True)


def _cycles(
    name: str,
    build: Callable[..., nn.Module],
    parameters: int,
    scores: dict[int, tuple[float, float]],
) -> Recipe:
    """A row of the lecture's table: the accuracy by the number of training graphs."""
    pe = name.endswith("-pe")
    return _recipe(
        f"{name}/cycles",
        partial(build, pe=pe),
        parameters=parameters,
        result={"test_accuracy": scores},
        source="CS224W, Laplacian Eigenvectors in Practice; settings of benchmarking-gnns, CYCLES",
        k=20 if pe else 0,
        lr=1e-4,
        mode="max",
        stop_below_lr=1e-6,
        batch_size=25,
    )


CYCLES = (
    _cycles(
        "gin",
        _gin,
        100_774,
        {
            200: (0.70585, 0.00636),
            500: (0.74995, 0.01226),
            1000: (0.78083, 0.01083),
            5000: (0.8613, 0.0114),
        },
    ),
    _cycles(
        "gin-pe",
        _gin,
        102_864,
        {
            200: (0.8672, 0.03376),
            500: (0.9596, 0.00393),
            1000: (0.97998, 0.003),
            5000: (0.9957, 0.00089),
        },
    ),
    _cycles(
        "gatedgcn",
        _gated_gcn,
        103_933,
        {200: (0.5, 0.0), 500: (0.5, 0.0), 1000: (0.5, 0.0), 5000: (0.5, 0.0)},
    ),
    _cycles(
        "gatedgcn-pe",
        _gated_gcn,
        105_263,
        {
            200: (0.95082, 0.00346),
            500: (0.967, 0.00381),
            1000: (0.9823, 0.00473),
            5000: (0.99725, 0.00027),
        },
    ),
)

# SignNet.


def _with_signnet(config: models.GatedGCNConfig, signnet: models.SignNetConfig) -> GatedGCN:
    return GatedGCN(config, models.SignNet(signnet))


def _signnet(
    d_model: int, *, k: int | None, rho: Literal["mlp", "sum"], phi_out: int
) -> partial[GatedGCN]:
    config = models.SignNetConfig(
        d_model=d_model,
        phi_hidden=d_model,
        rho_hidden=d_model,
        phi_layers=8,
        rho_layers=8,
        k=k,
        rho=rho,
        phi_out=phi_out,
    )
    return partial(_with_signnet, _gated(d_model, 16), config)


def _lim(
    name: str, build_model: Build, *, parameters: int, mae: float, file: str, k: int = 0
) -> Recipe:
    """A run of SignNet's authors with the settings of one of their files."""
    return _zinc(
        name,
        build_model,
        parameters=parameters,
        mae=(mae, None),
        k=k,
        patience=25,
        stop_below_lr=1e-6,
        source=f"Lim et al., 2023, README of GraphPrediction; settings of GatedGCN_ZINC_{file}",
    )


SIGNNET = (
    _lim(
        "signnet",
        _signnet(68, k=8, rho="mlp", phi_out=4),
        parameters=494_815,
        mae=0.121,
        file="LapPE_signinv_GIN",
        k=8,
    ),
    _lim(
        "signnet-all",
        _signnet(67, k=None, rho="sum", phi_out=67),
        parameters=491_138,
        mae=0.102,
        file="LapPE_signinv_GIN_mask",
        k=37,  # more than any graph of ZINC has
    ),
    _lim(
        "signnet-no-pe",
        partial(GatedGCN, _gated(77, 16)),
        parameters=491_597,
        mae=0.252,
        file="NoPE",
    ),
)
