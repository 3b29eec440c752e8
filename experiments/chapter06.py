"""Chapter 06: ``python -m experiments.chapter06``, about two CPU hours.

Table 5's ladder on the embedded molecules: a Transformer that is given Graphormer's encodings one
after the other. Each row with a bias is trained a second time, with a bias that learns ten times as
fast as the rest, and so is the complete model without its distances. With the degrees alone, this
gives a second order: degrees, edges, distances. The complete model is also trained on few
molecules, without FLAG and with it, with node embeddings that start small and with larger ones, and
it is trained with 2 to 16 layers.
"""

from dataclasses import asdict, replace
from functools import partial

import torch
from torch import nn

from experiments.runs import Run, first_graphs, main
from gtcourse import encodings, load_dataset
from gtcourse.graphs.dataset import GraphDataset
from gtcourse.models import Graphormer, GraphormerConfig
from gtcourse.recipes.graphormer import with_eigenvectors
from gtcourse.train.flag import Flag

K = 8
TRANSFORMS = (
    encodings.AddDegrees(),
    encodings.AddShortestPaths(),
    encodings.AddPathEdges(20),
    encodings.AddLaplacianEigenvectors(K, skip_first=True),
)
CONFIG = GraphormerConfig(d_model=64, num_layers=4, dropout=0.0, attention_dropout=0.0)
NOTHING = replace(CONFIG, centrality=False, spatial=False, edges=None)
SPATIAL = replace(NOTHING, spatial=True)
CENTRAL = replace(SPATIAL, centrality=True)
LADDER = {
    "none": NOTHING,
    "laplacian": NOTHING,
    "spatial": SPATIAL,
    "centrality": CENTRAL,
    "edges-node": replace(CENTRAL, edges="node"),
    "edges-aggregation": replace(CENTRAL, edges="aggregation"),
    "edges-bias": replace(CENTRAL, edges="bias"),
}
"""The rows of Table 5, in its order."""


def build(rung: str) -> nn.Module:
    config = LADDER[rung]
    return with_eigenvectors(config, K) if rung == "laplacian" else Graphormer(config)


def run_of(rung: str) -> Run:
    about = {"rung": rung, "transforms": [repr(transform) for transform in TRANSFORMS]}
    return Run(partial(build, rung), asdict(LADDER[rung]) | about)


RUNS = {rung: run_of(rung) for rung in LADDER}
# A bias starts small; what it has not learned in so short a run may be a matter of the rate.
RUNS |= {
    f"{rung}-fast": replace(RUNS[rung], faster=lambda model: model.bias)
    for rung, config in LADDER.items()
    if config.spatial
}

RUNS["no-distances-fast"] = replace(
    RUNS["edges-bias-fast"],
    build=partial(Graphormer, replace(CONFIG, spatial=False)),
    config=RUNS["edges-bias-fast"].config | {"rung": "edges-bias", "spatial": False},
)
"""The complete model without Eq. 6."""
RUNS["degrees"] = replace(
    RUNS["none"],
    build=partial(Graphormer, replace(NOTHING, centrality=True)),
    config=RUNS["none"].config | {"rung": "degrees", "centrality": True},
)
"""Eq. 5 alone, so that the encodings can be added in another order."""

# Few molecules, so that there is something to overfit to.
FEW = replace(RUNS["edges-bias-fast"], data="200 molecules", epochs=50, peak=1e-3, batch_size=32)
RUNS["few"] = FEW
RUNS |= {
    f"few-flag-{step_size:g}": replace(FEW, flag=Flag(steps=2, step_size=step_size))
    for step_size in (0.001, 0.01, 0.1)
}


def with_larger_embeddings(config: GraphormerConfig) -> Graphormer:
    """Node embeddings that start ten times as large, beside which the shifts of FLAG are small."""
    model = Graphormer(config)
    with torch.no_grad():
        for parameter in (*model.embedding.parameters(), *model.node_encodings.parameters()):
            parameter.mul_(10)
    return model


LARGER = replace(
    FEW,
    build=partial(with_larger_embeddings, CONFIG),
    config=FEW.config | {"node_embeddings": "ten times as large at the start"},
)
RUNS["few-larger"] = LARGER
RUNS["few-larger-flag-0.01"] = replace(LARGER, flag=Flag(steps=2, step_size=0.01))

# Deeper models: does the error rise again, as over-smoothing would have it?
DEPTHS = (2, 4, 8, 16)
DEPTH = replace(RUNS["edges-bias-fast"], data="1000 molecules", epochs=6, batch_size=16, peak=1e-3)


def of_depth(num_layers: int) -> Run:
    config = replace(CONFIG, num_layers=num_layers)
    about = {"transforms": [repr(transform) for transform in TRANSFORMS[:3]]}
    return replace(DEPTH, build=partial(Graphormer, config), config=asdict(config) | about)


RUNS |= {f"depth-{num_layers}": of_depth(num_layers) for num_layers in DEPTHS}
SIZES = {"200 molecules": (200, 200), "1000 molecules": (1000, 300)}
"""Training and validation molecules, where they are not all."""


def load(name: str) -> GraphDataset:
    data = load_dataset("molecules")
    data = first_graphs(data, *SIZES[name]) if name in SIZES else data
    return encodings.encode(data, *TRANSFORMS)


if __name__ == "__main__":
    main("chapter06", RUNS, load, title="graphormer-{}/molecules")
