"""Message passing beside the graph Transformers: the benchmark, CYCLES, and SignNet.

The benchmark's runs are those of Dwivedi et al. (2020), with the settings of their files, which the
graph Transformers' papers compare with; those of GT are its authors' (Dwivedi and Bresson, 2020).
Their results and sizes but for some on ZINC are in ``baselines.toml``. SignNet (Lim et al., 2023)
is added to the benchmark's GatedGCN: the lecture's "50% reduction in test error", 0.252 without an
encoding and 0.121 with eight eigenvectors. CYCLES is the lecture's table: two models without and
with eigenvectors.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from typing import Any

from torch import nn
from torch.optim import Adam

from gtcourse import models
from gtcourse.encodings import AddLaplacianEigenvectors
from gtcourse.models import GAT, GCN, GIN, GT, GatedGCN
from gtcourse.recipes.recipe import TASKS, Recipe, recipe
from gtcourse.train.schedules import halve_on_plateau

ATOMS = {"num_node_types": (28,), "num_node_features": 0}


def _recipe(
    name: str, build_model: Callable[[], nn.Module], parameters: int, result: dict, source: str,
    k: int = 0, lr: float = 1e-3, patience: int = 10, mode: str = "min",
    stop_below_lr: float = 1e-5, batch_size: int = 128, epochs: int = 1000,
) -> Recipe:  # fmt: skip
    """A run with the settings of benchmarking-gnns; the model reads k eigenvectors, if any."""
    encodings = [AddLaplacianEigenvectors(k, "symmetric", skip_first=True)] if k else []
    return recipe(
        name,
        build_model=build_model,
        transforms=tuple(encodings),
        epochs=epochs,
        batch_size=batch_size,
        optimizer=partial(Adam, lr=lr),
        stop_below_lr=stop_below_lr,
        schedule=partial(halve_on_plateau, patience=patience, mode=mode),
        source=source,
        paper_parameters=parameters,
        paper_result=result,
    )


def _zinc(name: str, build_model: Callable, parameters: int, *mae: float, **settings) -> Recipe:
    return _recipe(f"{name}/zinc", build_model, parameters, {"test_mae": mae}, **settings)


def _gated(d_model: int, num_layers: int) -> models.GatedGCNConfig:
    return models.GatedGCNConfig(
        **ATOMS, num_edge_types=(4,), d_model=d_model, num_layers=num_layers, readout="mean"
    )


def _with_eigenvectors(config: models.GatedGCNConfig, k: int) -> GatedGCN:
    return GatedGCN(config, models.LaplacianEncoding(k, config.d_model, flip_signs="batch"))


def _gt_with_eigenvectors(config: models.GTConfig, k: int) -> GT:
    return GT(config, models.LaplacianEncoding(k, config.d_model, flip_signs="batch"))


OF_EGT, OF_GRAPHORMER = (
    {"source": f"Dwivedi et al., 2020, as {paper}, have it; settings of benchmarking-gnns, ZINC"}
    for paper in ("Hussain et al., 2021, Table 1", "Ying et al., 2021, Table 4")
)

# fmt: off
BASELINES = (
    _zinc("gin-100k", partial(GIN, models.GINConfig(**ATOMS, d_model=110, num_layers=4)),
          100_000, 0.387, 0.015, **OF_EGT),
    _zinc("gat-100k", partial(GAT, models.GATConfig(**ATOMS, d_model=144, num_layers=4)),
          100_000, 0.475, 0.007, **OF_EGT),
    _zinc("gatedgcn-100k", partial(GatedGCN, _gated(70, 4)), 100_000, 0.375, 0.003, **OF_EGT),
    _zinc("gin", partial(GIN, models.GINConfig(**ATOMS, d_model=124, num_layers=16)),
          509_549, 0.526, 0.051, **OF_GRAPHORMER),
    _zinc("gat", partial(GAT, models.GATConfig(**ATOMS, d_model=176, num_layers=16)),
          531_345, 0.384, 0.007, **OF_GRAPHORMER),
    _zinc("gatedgcn", partial(GatedGCN, _gated(78, 16)), 504_309, 0.282, 0.015, **OF_EGT),
    _zinc("gatedgcn-pe", partial(_with_eigenvectors, _gated(78, 16), 8),
          505_011, 0.214, 0.006, k=8, **OF_GRAPHORMER),
)
# fmt: on


# What the models read of a data set and predict, and what its files have in common.
# fmt: off
READS = {
    "pattern": {"num_node_types": (3,), "num_node_features": 0, "target": "node", "num_targets": 2},
    "cluster": {"num_node_types": (7,), "num_node_features": 0, "target": "node", "num_targets": 6},
    "mnist": {"num_node_features": 3, "num_targets": 10},
    "cifar10": {"num_node_features": 5, "num_targets": 10},
    "tsp": {"num_node_features": 2, "target": "edge", "num_targets": 2},
    "zinc": ATOMS,
}
EDGES = {
    **{data: {"num_edge_features": 1} for data in ("mnist", "cifar10", "tsp")},
    "zinc": {"num_edge_types": (4,)},
}
"""The features of edges, where there are some, of GatedGCN and GT."""

SETTINGS = {
    "pattern": {"patience": 5},
    "cluster": {"patience": 5},
    "tsp": {"epochs": 500, "batch_size": 64},
}
MODELS = {
    "gcn": (GCN, models.GCNConfig), "gin": (GIN, models.GINConfig), "gat": (GAT, models.GATConfig),
    "gatedgcn": (GatedGCN, models.GatedGCNConfig), "gt": (GT, models.GTConfig),
}
WIDTHS = {
    "gcn": {"pattern": 146, "mnist": 146, "cifar10": 146, "tsp": 120, "zinc": 145, "500k": 172},
    "gin": {"pattern": 110, "mnist": 110, "cifar10": 110, "tsp": 73, "500k": 124},
    "gat": {"pattern": 152, "mnist": 152, "cifar10": 152, "tsp": 120, "500k": 176},
    "gatedgcn": {"pattern": 70, "mnist": 70, "cifar10": 70, "tsp": 65, "500k": 78},
}
"""Of the 4 layers of about 100,000 parameters by data set, and of the 16 layers of 500,000."""
# fmt: on

BATCHES = {"gcn": 64, "gatedgcn": 32}
"""Of the models with 16 layers on PATTERN and CLUSTER, if they are not 128."""

EIGENVECTORS = {
    "gatedgcn-pe": {"pattern": 2, "cluster": 20},
    "gt-pe": {"pattern": 2, "cluster": 10, "zinc": 8},
}
GT_SETTINGS = {
    "pattern": {"lr": 5e-4, "batch_size": 26},
    "cluster": {"lr": 5e-4, "batch_size": 32},
    "zinc": {"lr": 7e-4, "patience": 15},
}


def _benchmark(model: str, data: str, printed: str, size: str) -> Recipe:
    """A result of ``baselines.toml``, and the printed number of parameters."""
    kind, _, suffix = model.partition("-")
    build, config_of = MODELS[kind]
    edges = EDGES.get(data, {}) if kind in ("gatedgcn", "gt") else {}
    settings: dict[str, Any] = SETTINGS.get(data, {})
    sizes: dict[str, Any] = {}
    if data not in ("pattern", "cluster", "tsp"):
        sizes["readout"] = "sum" if kind == "gin" else "mean"
    if kind == "gt":
        if data != "zinc":
            sizes["d_model"] = 80
        settings = GT_SETTINGS[data] | {"stop_below_lr": 1e-6}
    elif suffix == "100k":
        sizes |= {"d_model": WIDTHS[kind][data], "num_layers": 4}
    else:
        sizes |= {"d_model": WIDTHS[kind]["500k"], "num_layers": 16}
        if data == "tsp":
            sizes["d_model"] = 77  # gives the printed number of parameters; no file is published
        if data in ("pattern", "cluster"):
            settings = settings | {"batch_size": BATCHES.get(kind, 128)}
    config = config_of(**READS[data], **edges, **sizes)
    k = EIGENVECTORS.get(model, {}).get(data, 0)
    build_model = partial(build, config)
    if k:
        of_kind = _gt_with_eigenvectors if kind == "gt" else _with_eigenvectors
        build_model = partial(of_kind, config, k)
    task = TASKS[data]
    scale = 100 if task.monitor == "accuracy" else 1  # printed in percent
    score = tuple(round(float(number) / scale, 5) for number in printed.split("±"))
    parameters = 100_000 if suffix == "100k" else 500_000
    if size != "-":
        parameters = int(size)
    authors = "Dwivedi and Bresson, 2020" if kind == "gt" else "Dwivedi et al., 2020"
    files_of = "graphtransformer" if kind == "gt" else "benchmarking-gnns"
    return _recipe(
        f"{model}/{data}", build_model, parameters, {f"test_{task.monitor}": score},
        source=f"{authors}, as Hussain et al., 2021, Table 1, have it; settings of {files_of}",
        k=k, mode=task.mode, **settings,
    )  # fmt: skip


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


def _gin(pe: bool) -> GIN:
    config = models.GINConfig(num_targets=2, num_node_features=0 if pe else 1)
    return GIN(config, _signs(config) if pe else None)


def _gated_gcn(pe: bool) -> GatedGCN:
    config = models.GatedGCNConfig(num_targets=2, num_node_features=0 if pe else 1)
    return GatedGCN(config, _signs(config) if pe else None)


def _signs(config: models.GINConfig | models.GatedGCNConfig) -> models.LaplacianEncoding:
    return models.LaplacianEncoding(20, config.d_model, flip_signs=True)


def _cycles(
    name: str, build: Callable[[bool], nn.Module], parameters: int, *scores: tuple[float, float]
) -> Recipe:
    """A row of the lecture's table, for 200, 500, 1000 and 5000 training graphs."""
    pe = name.endswith("-pe")
    return _recipe(
        f"{name}/cycles", partial(build, pe=pe), parameters,
        {"test_accuracy": dict(zip((200, 500, 1000, 5000), scores, strict=True))},
        source="CS224W, Laplacian Eigenvectors in Practice; settings of benchmarking-gnns, CYCLES",
        k=20 if pe else 0, lr=1e-4, mode="max", stop_below_lr=1e-6, batch_size=25,
    )  # fmt: skip


CYCLES = (
    _cycles(
        "gin", _gin, 100_774,
        (0.70585, 0.00636), (0.74995, 0.01226), (0.78083, 0.01083), (0.8613, 0.0114),
    ),
    _cycles(
        "gin-pe", _gin, 102_864,
        (0.8672, 0.03376), (0.9596, 0.00393), (0.97998, 0.003), (0.9957, 0.00089),
    ),
    _cycles("gatedgcn", _gated_gcn, 103_933, (0.5, 0.0), (0.5, 0.0), (0.5, 0.0), (0.5, 0.0)),
    _cycles(
        "gatedgcn-pe", _gated_gcn, 105_263,
        (0.95082, 0.00346), (0.967, 0.00381), (0.9823, 0.00473), (0.99725, 0.00027),
    ),
)  # fmt: skip


def _with_signnet(config: models.GatedGCNConfig, signnet: models.SignNetConfig) -> GatedGCN:
    return GatedGCN(config, models.SignNet(signnet))


def _signnet(d_model: int, **settings) -> Callable[[], nn.Module]:
    widths = dict.fromkeys(("d_model", "phi_hidden", "rho_hidden"), d_model)
    config = models.SignNetConfig(**widths, phi_layers=8, rho_layers=8, **settings)
    return partial(_with_signnet, _gated(d_model, 16), config)


def _lim(name: str, build: Callable, parameters: int, mae: float, file: str, k: int = 0) -> Recipe:
    return _zinc(
        name, build, parameters, mae, None, k=k, patience=25, stop_below_lr=1e-6,
        source=f"Lim et al., 2023, README of GraphPrediction; settings of GatedGCN_ZINC_{file}",
    )  # fmt: skip


# fmt: off
SIGNNET = (
    _lim("signnet", _signnet(68, k=8, rho="mlp", phi_out=4), 494_815, 0.121,
         "LapPE_signinv_GIN", k=8),
    _lim("signnet-all", _signnet(67, k=None, rho="sum", phi_out=67), 491_138, 0.102,
         "LapPE_signinv_GIN_mask", k=37),  # more than any graph of ZINC has
    _lim("signnet-no-pe", partial(GatedGCN, _gated(77, 16)), 491_597, 0.252, "NoPE"),
)
# fmt: on
