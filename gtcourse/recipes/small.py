"""Every model of the course at two equal sizes, for comparisons at one budget.

Each keeps what its paper reads of a graph and how deep its paper is; the width makes up for the
number of parameters. None has dropout of any kind: the runs are too short to overfit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import nn
from torch.optim import AdamW, Optimizer
from torch.optim.lr_scheduler import OneCycleLR

from gtcourse import models
from gtcourse.encodings import (
    AddDegrees,
    AddLaplacianEigenvectors,
    AddPathEdges,
    AddRandomWalks,
    AddRings,
    AddShortestPaths,
    AddSVD,
    Encoding,
)
from gtcourse.recipes.recipe import Recipe
from gtcourse.train.tasks import graph_regression

ATOMS = 28
BONDS = 4
EIGENVECTORS = 8
SIZES = {"100k": 100_000, "500k": 500_000}


@dataclass(frozen=True)
class Entry:
    """One model at one size, called "model-size", and the encodings that it reads."""

    name: str
    build_model: Callable[[], nn.Module]
    transforms: tuple[Encoding, ...] = ()

    @property
    def model(self) -> str:
        """The name without the size."""
        return self.name.rsplit("-", 1)[0]

    @property
    def size(self) -> str:
        """The key of ``SIZES``."""
        return self.name.rsplit("-", 1)[1]


def _entries(size: str) -> list[Entry]:
    """All models at a size, the key of ``SIZES``."""

    def of(at_100k: int, at_500k: int) -> int:
        return at_100k if size == "100k" else at_500k

    def entry(
        name: str, model: Callable[[Any], nn.Module], config: object, *transforms: Encoding
    ) -> Entry:
        return Entry(f"{name}-{size}", partial(model, config), transforms)

    # What the models of message passing read, and how deep they are.
    nodes: dict[str, Any] = {
        "num_node_types": (ATOMS,),
        "num_node_features": 0,
        "num_layers": of(4, 16),
    }
    nodes_and_edges = {**nodes, "num_edge_types": (BONDS,)}
    # The same width and depth for Graphormer and GRPE.
    biased: dict[str, Any] = {
        "d_model": of(64, 80),
        "num_layers": of(4, 12),
        "dropout": 0.0,
        "attention_dropout": 0.0,
    }
    transformer = models.BagTransformerConfig(
        (ATOMS,), of(56, 80), num_heads=8, num_layers=of(4, 10), d_hidden=of(112, 152)
    )
    egt = models.EGTConfig(
        d_model=of(56, 72),
        d_edge=of(16, 32),
        num_layers=of(4, 10),
        svd_rank=EIGENVECTORS,
        flip_signs="pairs",
    )
    csa = models.CGTConfig(
        d_model=of(52, 76),
        d_position=of(16, 28),
        num_layers=of(4, 10),
        rings="categorical",
        edge_ablation=0.0,
    )
    return [
        entry("transformer", models.BagTransformer, transformer),
        entry("gin", models.GIN, models.GINConfig(**nodes, d_model=of(108, 122))),
        entry("gat", models.GAT, models.GATConfig(**nodes, d_model=of(144, 168))),
        entry(
            "gatedgcn",
            models.GatedGCN,
            models.GatedGCNConfig(**nodes_and_edges, d_model=of(68, 77)),
        ),
        entry(
            "signnet",
            _signnet,
            models.GatedGCNConfig(**nodes_and_edges, d_model=of(62, 76)),
            AddLaplacianEigenvectors(EIGENVECTORS, skip_first=True),
        ),
        entry(
            "graphormer",
            models.Graphormer,
            models.GraphormerConfig(**biased),
            AddDegrees(),
            AddShortestPaths(),
            AddPathEdges(20),
        ),
        entry("egt", models.EGT, egt, AddSVD(EIGENVECTORS)),
        entry("grpe", models.GRPE, models.GRPEConfig(**biased), AddShortestPaths()),
        entry("csa", models.CGT, csa, AddRandomWalks(20), AddRings(18)),
    ]


def _signnet(config: models.GatedGCNConfig) -> models.GatedGCN:
    """A GatedGCN that reads eigenvectors through SignNet."""
    signnet = models.SignNetConfig(
        k=EIGENVECTORS,
        d_model=config.d_model,
        phi_layers=3,
        phi_hidden=32,
        phi_out=8,
        rho_layers=2,
        rho_hidden=64,
    )
    return models.GatedGCN(config, models.SignNet(signnet))


SMALL_MODELS: dict[str, Entry] = {entry.name: entry for size in SIZES for entry in _entries(size)}

PEAK_RATES = {
    "transformer": 5e-4,
    "gin": 5e-4,
    "gat": 1e-3,
    "gatedgcn": 2e-3,
    "signnet": 2e-3,
    "graphormer": 2e-3,
    "egt": 2e-3,
    "grpe": 5e-4,
    "csa": 2e-3,
}
"""The best of 5e-4, 1e-3 and 2e-3 on validation, at 100,000 parameters."""


def _recipe(entry: Entry) -> Recipe:
    """The training of the comparison, but for its first 4,000 molecules (``--graphs 4000``)."""
    return Recipe(
        name=f"{entry.name}/molecules",
        build_model=entry.build_model,
        dataset="molecules",
        transforms=entry.transforms,
        task=graph_regression(),
        optimizer=partial(AdamW, lr=PEAK_RATES[entry.model], weight_decay=0.01),
        schedule=one_cycle,
        epochs=100,
        batch_size=64,
        source="chapter 10",
        paper_parameters=None,
        paper_result={},
    )


class _OneCycle(OneCycleLR):
    """PyTorch's schedule, which stays at its last rate instead of raising an error."""

    def step(self, epoch: int | None = None) -> None:
        """Goes on to the next rate, if there is one."""
        if self.last_epoch + 1 < self.total_steps:
            super().step(epoch)


def one_cycle(optimizer: Optimizer, total: int) -> OneCycleLR:
    """Up to the optimizer's own rate and down again, as PyTorch's defaults have it."""
    peaks = [group["lr"] for group in optimizer.param_groups]
    return _OneCycle(optimizer, peaks, total_steps=total)


SMALL_RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (_recipe(entry) for entry in SMALL_MODELS.values() if entry.size == "100k")
}
