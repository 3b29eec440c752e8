"""Whole models: chapter 10's at their small size, and one layer of each at its paper's width."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import nn
from torch_geometric.data import Data

from gtcourse import GraphBatch, collate
from gtcourse.encodings import Encoding, encode
from gtcourse.models import BagTransformer, BagTransformerConfig
from gtcourse.recipes import RECIPES
from gtcourse.training.leaderboard import LEADERBOARD

ATOMS, BONDS = 28, 4
LISTED = {"num_node_types": (ATOMS,), "num_edge_types": (BONDS,)}
WIDEST = {
    "gin": ("gin/zinc", {}),
    "gat": ("gat/zinc", {}),
    "gatedgcn": ("gatedgcn/zinc", {}),
    "signnet": ("signnet/zinc", {}),
    "graphormer": (
        "graphormer-base/pcqm4m", {"num_node_types": ATOMS, "num_edge_types": BONDS},
    ),
    "egt": ("egt-base/pcqm4m", LISTED),
    "grpe": ("grpe-large/molpcba", {"num_node_types": ATOMS, "num_edge_types": (BONDS,)}),
    "csa": ("csa-deep/pcqm4mv2", LISTED),
}  # fmt: skip
"""The recipe whose width each model has, and the vocabularies of :func:`molecule` in place of its
own. The plain Transformer has the width of Vaswani et al."""


@dataclass(frozen=True)
class Whole:
    """A model and the encodings that it reads."""

    build_model: Callable[[], nn.Module]
    transforms: tuple[Encoding, ...]


def small(name: str) -> Whole:
    entry = LEADERBOARD[f"{name}-100k"]
    return Whole(entry.build_model, entry.transforms)


def one_wide_layer(name: str) -> Whole:
    if name == "transformer":
        return Whole(lambda: BagTransformer(BagTransformerConfig(ATOMS, 512, 8, 1, 2048)), ())
    recipe_name, types = WIDEST[name]
    recipe = RECIPES[recipe_name]
    build = recipe.build_model
    config = replace(build.args[0], num_layers=1, **types)
    return Whole(lambda: build.func(config, *build.args[1:]), recipe.transforms)


WHOLE = {name: (small(name), one_wide_layer(name)) for name in ("transformer", *WIDEST)}


def molecule(n: int, seed: int = 0) -> Data:
    """A tree whose bonds reach four atoms back, and a ring of six at every seventh."""
    generator = torch.Generator().manual_seed(seed)
    tree = [
        (i, int(torch.randint(max(0, i - 4), i, (1,), generator=generator))) for i in range(1, n)
    ]
    rings = [(i, i + 5) for i in range(0, n - 6, 7)]
    bonds = torch.tensor(tree + rings, dtype=torch.int64).reshape(-1, 2).T
    types = torch.randint(1, BONDS, (bonds.shape[1], 1), generator=generator)
    return Data(
        x=torch.randint(0, ATOMS, (n, 1), generator=generator),
        edge_index=torch.cat([bonds, bonds.flip(0)], dim=1),
        edge_attr=torch.cat([types, types]),
        y=torch.randn(1, generator=generator),
    )


def batch_of(whole: Whole, nodes: int) -> GraphBatch:
    """Two graphs, one of them half as large."""
    return collate(encode([molecule(nodes), molecule(nodes // 2, 1)], *whole.transforms))


def doubled(batch: GraphBatch) -> GraphBatch:
    """Its floating-point numbers in float64."""

    def double(tensor):
        return tensor.double() if tensor is not None and tensor.is_floating_point() else tensor

    encodings = {name: double(tensor) for name, tensor in batch.encodings.items()}
    return replace(batch, x=double(batch.x), edge_attr=double(batch.edge_attr), encodings=encodings)
