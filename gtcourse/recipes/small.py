"""Every model of the course at two equal sizes, for comparisons at one budget.

Each keeps what its paper reads of a graph and how deep its paper is; the width makes up for the
number of parameters. None has dropout of any kind: the runs are too short to overfit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from torch import nn
from torch.optim import AdamW, Optimizer
from torch.optim.lr_scheduler import OneCycleLR

from gtcourse import encodings, models
from gtcourse.recipes.recipe import Recipe
from gtcourse.train.tasks import graph_regression

ATOMS, BONDS = 28, 4
EIGENVECTORS = 8
SIZES = {"100k": 100_000, "500k": 500_000}


@dataclass(frozen=True)
class Entry:
    """One model at one size, called "model-size", and the encodings that it reads."""

    name: str
    build_model: Callable[[], nn.Module]
    transforms: tuple[encodings.Encoding, ...] = ()

    model = property(lambda self: self.name.rsplit("-", 1)[0])
    size = property(lambda self: self.name.rsplit("-", 1)[1])


def _entries(size: str) -> list[Entry]:
    def of(at_100k: int, at_500k: int) -> int:
        return at_100k if size == "100k" else at_500k

    def entry(name: str, model: Callable, config, *transforms: encodings.Encoding) -> Entry:
        return Entry(f"{name}-{size}", partial(model, config), transforms)

    nodes = {"num_node_types": (ATOMS,), "num_node_features": 0, "num_layers": of(4, 16)}
    both = {**nodes, "num_edge_types": (BONDS,)}
    dense = {"d_model": of(64, 80), "num_layers": of(4, 12)}
    dense |= {"dropout": 0.0, "attention_dropout": 0.0}
    bag = models.BagTransformerConfig((ATOMS,), of(56, 80), 8, of(4, 10), of(112, 152))
    gin = models.GINConfig(**nodes, d_model=of(108, 122))
    gat = models.GATConfig(**nodes, d_model=of(144, 168))
    gatedgcn = models.GatedGCNConfig(**both, d_model=of(68, 77))
    signnet = models.GatedGCNConfig(**both, d_model=of(62, 76))
    egt = models.EGTConfig(
        d_model=of(56, 72), d_edge=of(16, 32), num_layers=of(4, 10), svd_rank=EIGENVECTORS,
        flip_signs="pairs",
    )  # fmt: skip
    csa = models.CGTConfig(
        d_model=of(52, 76), d_position=of(16, 28), num_layers=of(4, 10), rings="categorical",
        edge_ablation=0.0,
    )  # fmt: skip
    eigenvectors = encodings.AddLaplacianEigenvectors(EIGENVECTORS, skip_first=True)
    distances = encodings.AddShortestPaths()
    paths = encodings.AddDegrees(), distances, encodings.AddPathEdges(20)
    walks, rings = encodings.AddRandomWalks(20), encodings.AddRings(18)
    return [
        entry("transformer", models.BagTransformer, bag),
        entry("gin", models.GIN, gin),
        entry("gat", models.GAT, gat),
        entry("gatedgcn", models.GatedGCN, gatedgcn),
        entry("signnet", _signnet, signnet, eigenvectors),
        entry("graphormer", models.Graphormer, models.GraphormerConfig(**dense), *paths),
        entry("egt", models.EGT, egt, encodings.AddSVD(EIGENVECTORS)),
        entry("grpe", models.GRPE, models.GRPEConfig(**dense), distances),
        entry("csa", models.CGT, csa, walks, rings),
    ]


def _signnet(config: models.GatedGCNConfig) -> models.GatedGCN:
    signnet = models.SignNetConfig(
        k=EIGENVECTORS, d_model=config.d_model, phi_layers=3, phi_hidden=32, phi_out=8,
        rho_layers=2, rho_hidden=64,
    )  # fmt: skip
    return models.GatedGCN(config, models.SignNet(signnet))


SMALL_MODELS: dict[str, Entry] = {entry.name: entry for size in SIZES for entry in _entries(size)}

PEAK_RATES = {
    "transformer": 5e-4, "gin": 5e-4, "gat": 1e-3, "gatedgcn": 2e-3, "signnet": 2e-3,
    "graphormer": 2e-3, "egt": 2e-3, "grpe": 5e-4, "csa": 2e-3,
}  # fmt: skip
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
    """PyTorch's raises an error for steps after the last; this one stays at the last rate."""

    def step(self, epoch: int | None = None) -> None:
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
