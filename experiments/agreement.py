"""Chapter 07, section 7.5: which models learn to count the neighbours that agree with a node.

    python -m experiments.agreement --seeds 0 1 2 3 4 5 6 7 8 9, about an hour of one core

Whether two nodes agree is a property of the pair. Each model is trained with ten seeds, at the one
of three learning rates that is best in validation.
"""

from dataclasses import asdict, replace
from functools import partial

from torch import nn

from experiments.runs import Run, main
from gtcourse.course.tasks import AGREEMENT_FEATURES, AGREEMENT_MOST, agreement
from gtcourse.graphs.dataset import GraphDataset
from gtcourse.models import EGT, GIN, EGTConfig, GatedGCN, GatedGCNConfig, GINConfig
from gtcourse.train.tasks import node_classification

RATES = (1e-3, 3e-3, 1e-2)
NUM_CLASSES = AGREEMENT_MOST + 1

EGT_CONFIG = EGTConfig(
    num_node_types=(),
    num_node_features=AGREEMENT_FEATURES,
    num_edge_types=(),
    target="node",
    num_targets=NUM_CLASSES,
    d_model=32,
    d_edge=16,
    num_heads=4,
    num_layers=3,
)
"""A head is as wide as the vectors whose dot product decides."""

MESSAGES = {
    "num_node_types": (),
    "num_node_features": AGREEMENT_FEATURES,
    "target": "node",
    "num_targets": NUM_CLASSES,
    "num_layers": 3,
}


def run_of(build: type[nn.Module], config) -> Run:
    return Run(
        partial(build, config),
        asdict(config),
        data="agreement",
        task=partial(node_classification, NUM_CLASSES),
        batch_size=64,
        buckets=1,
        epochs=20,
    )


RUNS = {
    "egt": run_of(EGT, EGT_CONFIG),
    "egt-simple": run_of(EGT, replace(EGT_CONFIG, variant="simple")),
    "egt-ungated": run_of(EGT, replace(EGT_CONFIG, gated=False)),
    "egt-one-layer": run_of(EGT, replace(EGT_CONFIG, num_layers=1)),
    "egt-simple-wide": run_of(
        EGT, replace(EGT_CONFIG, variant="simple", d_model=64, d_edge=32, num_heads=8)
    ),
    "gatedgcn": run_of(GatedGCN, GatedGCNConfig(**MESSAGES, num_edge_types=(), d_model=42)),
    "gin": run_of(GIN, GINConfig(**MESSAGES, d_model=64)),
}


def load(name: str) -> GraphDataset:
    """The only data set of these runs."""
    return agreement((2000, 200, 1000))


if __name__ == "__main__":
    main("chapter07", RUNS, load, title="{}/agreement", module="agreement", rates=RATES)
