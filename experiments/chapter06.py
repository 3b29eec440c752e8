"""The recorded runs of chapter 06: ``python -m experiments.chapter06``, about 80 CPU minutes.

Table 5's ladder on the embedded molecules: one Transformer, told step by step what Graphormer
knows of a graph.
"""

from dataclasses import asdict, replace

from torch import nn

from experiments.runs import PEAK_LR, command_line, one_group, record_all, record_run
from gtcourse import load_dataset
from gtcourse.encodings import (
    AddDegrees,
    AddLaplacianEigenvectors,
    AddPathEdges,
    AddShortestPaths,
    encode,
)
from gtcourse.graphs.ragged import GraphDataset
from gtcourse.models import Graphormer, GraphormerConfig, LaplacianEncoding
from gtcourse.training.records import Record

K = 8
TRANSFORMS = (
    AddDegrees(),
    AddShortestPaths(),
    AddPathEdges(20),
    AddLaplacianEigenvectors(K, skip_first=True),
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

FASTER = {"spatial-fast": "spatial", "edges-bias-fast": "edges-bias"}
"""The two rungs that are a bias alone, with RATIO times the rate for the bias: it starts small, and
what it has not learned in so short a run may be a matter of the rate."""
RATIO = 10


def build(rung: str) -> nn.Module:
    config = LADDER[rung]
    if rung == "laplacian":
        encoding = LaplacianEncoding(K, config.d_model, flip_signs=True)
        # Small, as Graphormer starts its tables: torch's own start would drown the atoms.
        nn.init.normal_(encoding.projection.weight, std=0.02)
        nn.init.zeros_(encoding.projection.bias)
        return Graphormer(config, node_encodings=[encoding])
    return Graphormer(config)


def faster_bias(model: Graphormer) -> list[dict]:
    """Two groups: the parameters of the bias, at RATIO times the peak rate, and all others."""
    bias = [*model.bias.parameters()]
    others = [p for p in model.parameters() if not any(p is q for q in bias)]
    return [{"params": others, "lr": PEAK_LR}, {"params": bias, "lr": RATIO * PEAK_LR}]


def record(name: str, seed: int, epochs: int, data: GraphDataset) -> Record:
    rung = FASTER.get(name, name)
    return record_run(
        f"graphormer-{name}/molecules",
        lambda: build(rung),
        data,
        groups=faster_bias if name in FASTER else one_group,
        config=asdict(LADDER[rung])
        | {"rung": rung, "transforms": [repr(transform) for transform in TRANSFORMS]},
        seed=seed,
        epochs=epochs,
        command=f"python -m experiments.chapter06 {name} --seeds {seed} --epochs {epochs}",
    )


def main() -> None:
    parser = command_line(__doc__.splitlines()[0], [*LADDER, *FASTER], epochs=20)
    args = parser.parse_args()
    data = encode(load_dataset("molecules"), *TRANSFORMS)
    record_all(args, lambda name, seed: record(name, seed, args.epochs, data))


if __name__ == "__main__":
    main()
