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
from gtcourse.training.records import read_weights, recorded

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


def _entries(size: str) -> list[Entry]:
    small = size == "100k"
    message_passing = {"num_node_types": ATOMS, "num_node_features": 0}
    message_passing |= {"num_layers": 4 if small else 16}
    gated = {**message_passing, "num_edge_types": BONDS}
    without_dropout = {"dropout": 0.0, "attention_dropout": 0.0}
    models = {
        "transformer": (
            partial(
                BagTransformer,
                BagTransformerConfig(ATOMS, 56, 8, 4, 112)
                if small
                else BagTransformerConfig(ATOMS, 80, 8, 10, 152),
            ),
            (),
        ),
        "gin": (partial(GIN, GINConfig(**message_passing, d_model=108 if small else 122)), ()),
        "gat": (
            partial(GAT, GATConfig(**message_passing, d_model=144 if small else 168)),
            (),
        ),
        "gatedgcn": (
            partial(GatedGCN, GatedGCNConfig(**gated, d_model=68 if small else 77)),
            (),
        ),
        "signnet": (
            partial(_signnet, GatedGCNConfig(**gated, d_model=62 if small else 76)),
            (AddLaplacianEigenvectors(EIGENVECTORS, skip_first=True),),
        ),
        "graphormer": (
            partial(
                Graphormer,
                GraphormerConfig(
                    **without_dropout,
                    d_model=64 if small else 80,
                    num_layers=4 if small else 12,
                ),
            ),
            (AddDegrees(), AddShortestPaths(), AddPathEdges(20)),
        ),
        "egt": (
            partial(
                EGT,
                EGTConfig(
                    d_model=56 if small else 72,
                    d_edge=16 if small else 32,
                    num_layers=4 if small else 10,
                    svd_rank=EIGENVECTORS,
                    flip_signs="pairs",
                ),
            ),
            (AddSVD(EIGENVECTORS),),
        ),
        "grpe": (
            partial(
                GRPE,
                GRPEConfig(
                    **without_dropout,
                    d_model=64 if small else 80,
                    num_layers=4 if small else 12,
                ),
            ),
            (AddShortestPaths(),),
        ),
        "csa": (
            partial(
                CGT,
                CGTConfig(
                    d_model=52 if small else 76,
                    d_position=16 if small else 28,
                    num_layers=4 if small else 10,
                    rings="categorical",
                    edge_ablation=0.0,
                ),
            ),
            (AddRandomWalks(20), AddRings(18)),
        ),
    }
    return [Entry(f"{name}-{size}", build, read) for name, (build, read) in models.items()]


def _signnet(config: GatedGCNConfig) -> GatedGCN:
    signnet = SignNetConfig(
        k=EIGENVECTORS, d_model=config.d_model, phi_layers=3, phi_hidden=32, phi_out=8,
        rho_layers=2, rho_hidden=64,
    )  # fmt: skip
    return GatedGCN(config, SignNet(signnet))


LEADERBOARD: dict[str, Entry] = {entry.name: entry for size in SIZES for entry in _entries(size)}


def trained(name: str, seed: int = 0) -> nn.Module:
    """A model of the leaderboard with the weights of its recorded run, in eval mode.

    Raises:
        KeyError: there is no such model, or no such run is recorded.
        ValueError: the weights are not those of the record.
    """
    if name not in LEADERBOARD:
        raise KeyError(f"there is no model {name!r}; expected one of {', '.join(LEADERBOARD)}.")
    runs = {run.seed: run for run in recorded(f"{name}/molecules")}
    if seed not in runs:
        seeds = ", ".join(map(str, runs))
        raise KeyError(f"seed is {seed}; expected one of {seeds}, with which {name} is recorded.")
    model = LEADERBOARD[name].build_model()
    model.load_state_dict(read_weights(runs[seed]))
    return model.eval()
