"""Every model of the course at two sizes, for one harness: chapter 10's equal budget.

Each keeps what its paper reads of a graph and how deep its paper is; the width makes up for the
count. No dropout of any kind, for any of them: the runs are too short to overfit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from torch import nn

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
from gtcourse.models import (
    CGT,
    EGT,
    GAT,
    GIN,
    GRPE,
    BagTransformer,
    BagTransformerConfig,
    CGTConfig,
    EGTConfig,
    GATConfig,
    GatedGCN,
    GatedGCNConfig,
    GINConfig,
    Graphormer,
    GraphormerConfig,
    GRPEConfig,
    SignNet,
    SignNetConfig,
)

ATOMS, BONDS = 28, 4
EIGENVECTORS = 8
SIZES = {"100k": 100_000, "500k": 500_000}


@dataclass(frozen=True)
class Entry:
    """One model at one size.

    Attributes:
        name: "model-size".
        build_model: makes the model, freshly initialised.
        transforms: the encodings that it reads.
    """

    name: str
    build_model: Callable[[], nn.Module]
    transforms: tuple[Encoding, ...] = ()

    @property
    def model(self) -> str:
        return self.name.rsplit("-", 1)[0]

    @property
    def size(self) -> str:
        return self.name.rsplit("-", 1)[1]


def _entries(small: bool) -> dict[str, tuple[Callable[[], nn.Module], tuple[Encoding, ...]]]:
    """Each model's builder and encodings."""

    def of(at_100k: int, at_500k: int) -> int:
        return at_100k if small else at_500k

    nodes = {"num_node_types": ATOMS, "num_node_features": 0, "num_layers": of(4, 16)}
    both = {**nodes, "num_edge_types": BONDS}
    dense = {"d_model": of(64, 80), "num_layers": of(4, 12)}
    dense |= {"dropout": 0.0, "attention_dropout": 0.0}
    bag = BagTransformerConfig(ATOMS, of(56, 80), 8, of(4, 10), of(112, 152))
    egt = EGTConfig(
        d_model=of(56, 72), d_edge=of(16, 32), num_layers=of(4, 10), svd_rank=EIGENVECTORS,
        flip_signs="pairs",
    )  # fmt: skip
    csa = CGTConfig(
        d_model=of(52, 76), d_position=of(16, 28), num_layers=of(4, 10), rings="categorical",
        edge_ablation=0.0,
    )  # fmt: skip
    signnet = GatedGCNConfig(**both, d_model=of(62, 76))
    eigenvectors = AddLaplacianEigenvectors(EIGENVECTORS, skip_first=True)
    paths = AddDegrees(), AddShortestPaths(), AddPathEdges(20)
    return {
        "transformer": (partial(BagTransformer, bag), ()),
        "gin": (partial(GIN, GINConfig(**nodes, d_model=of(108, 122))), ()),
        "gat": (partial(GAT, GATConfig(**nodes, d_model=of(144, 168))), ()),
        "gatedgcn": (partial(GatedGCN, GatedGCNConfig(**both, d_model=of(68, 77))), ()),
        "signnet": (partial(_signnet, signnet), (eigenvectors,)),
        "graphormer": (partial(Graphormer, GraphormerConfig(**dense)), paths),
        "egt": (partial(EGT, egt), (AddSVD(EIGENVECTORS),)),
        "grpe": (partial(GRPE, GRPEConfig(**dense)), (AddShortestPaths(),)),
        "csa": (partial(CGT, csa), (AddRandomWalks(20), AddRings(18))),
    }


def _signnet(config: GatedGCNConfig) -> GatedGCN:
    signnet = SignNetConfig(
        k=EIGENVECTORS, d_model=config.d_model, phi_layers=3, phi_hidden=32, phi_out=8,
        rho_layers=2, rho_hidden=64,
    )  # fmt: skip
    return GatedGCN(config, SignNet(signnet))


LEADERBOARD: dict[str, Entry] = {
    f"{name}-{size}": Entry(f"{name}-{size}", *entry)
    for size in SIZES
    for name, entry in _entries(small=size == "100k").items()
}
