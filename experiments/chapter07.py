"""Chapter 07: ``python -m experiments.chapter07``, a few CPU hours.

One EGT on molecules (a number for each graph), digits (a class for each graph), communities (a
class for each node) and tours (yes or no for each edge); its variants beside it; on molecules the
singular vectors with their signs as they are, flipped in pairs and flipped by node, and the
distance objective.
"""

from dataclasses import asdict, replace
from functools import partial

import torch
from torch import nn

from experiments.runs import Run, first_graphs, main
from gtcourse import DenseLoader, load_dataset
from gtcourse.course.tasks import cluster, pattern, tsp
from gtcourse.encodings import AddShortestPaths, AddSVD, encode
from gtcourse.graphs.dataset import GraphDataset
from gtcourse.interpret import attention_by_hop
from gtcourse.models import EGT, EGTConfig
from gtcourse.recipes.recipe import NODES_OF_CLUSTER, NODES_OF_PATTERN
from gtcourse.train import tasks

RANK = 8
HOPS = 8
TRAIN_MOLECULES = 4000
COMMUNITIES = {"pattern": pattern, "cluster": cluster}
COMMUNITIES_SPLIT = (200, 50, 100)
NU = 3
KAPPA = 0.05
"""Hops and weight of the distance objective, Table 5's for ZINC."""

MOLECULES = EGTConfig(d_model=48, d_edge=16, num_layers=4)
"""For every task: small, so that a run takes minutes without an accelerator."""

SVD = replace(MOLECULES, svd_rank=RANK)
FLIPPED = replace(SVD, flip_signs="pairs")
PATTERN = replace(MOLECULES, num_node_types=(3,), num_edge_types=(), target="node", num_targets=2)
CLUSTER = replace(PATTERN, num_node_types=(7,), num_targets=6)
COORDINATES = replace(MOLECULES, num_node_types=(), num_edge_types=(), num_edge_features=1)
TOURS = replace(COORDINATES, num_node_features=2, target="edge", num_targets=2)
FEW_TOURS = replace(TOURS, d_model=32)
DIGITS = replace(COORDINATES, num_node_features=3, num_targets=10)


@torch.no_grad()
def by_hop(model: nn.Module, test: DenseLoader) -> dict[str, list]:
    """The mean share of attention 0 to HOPS hops away, and beyond, for each layer."""
    model.eval()
    shares = []
    for batch in test:
        attention = model(batch, return_attention=True)[-1]
        shares.append(attention_by_hop(attention, batch.encodings["distance"], batch.mask, HOPS))
    layers = torch.cat(shares).mean(dim=0).double().round(decimals=5)
    return {"attention_by_hop": layers.tolist()}


def run_of(config: EGTConfig, data: str = "molecules", batch_size: int = 64, **settings) -> Run:
    build = partial(EGT, config)
    about = asdict(config)
    return Run(build, about, data, batch_size=batch_size, scores=by_hop, **settings)


def variants(data: str, config: EGTConfig, **settings) -> dict[str, Run]:
    """The complete model and the three of Appendices C and D."""
    configs = {
        "egt": config,
        "egt-simple": replace(config, variant="simple"),
        "egt-constrained": replace(config, variant="constrained"),
        "egt-ungated": replace(config, gated=False),
    }
    return {f"{name}/{data}": run_of(c, data, **settings) for name, c in configs.items()}


def with_svd(data: str, variant: str, config: EGTConfig, **settings) -> Run:
    """A variant of Table 3 that reads singular vectors."""
    return run_of(replace(config, variant=variant, svd_rank=RANK), data, **settings)


def with_objective(reduction: str) -> Run:
    def task() -> tasks.Task:
        return tasks.with_distances(tasks.graph_regression(), NU, KAPPA, reduction)

    return run_of(replace(FLIPPED, distance_hops=NU), task=task)


ON_PATTERN = partial(tasks.node_classification, 2, NODES_OF_PATTERN)
ON_CLUSTER = partial(tasks.node_classification, 6, NODES_OF_CLUSTER)
PATTERN_SETTINGS = {"task": ON_PATTERN, "batch_size": 8, "epochs": 15}
RUNS = {
    **variants("molecules", MOLECULES),
    "egt-spe/molecules": run_of(SVD),
    "egt-spe-flips/molecules": run_of(FLIPPED),
    "egt-spe-node-flips/molecules": run_of(replace(SVD, flip_signs="nodes")),
    "egt-simple-spe-flips/molecules": with_svd("molecules", "simple", FLIPPED),
    "egt-constrained-spe-flips/molecules": with_svd("molecules", "constrained", FLIPPED),
    "egt-spe-do/molecules": with_objective("sum"),
    "egt-spe-do-mean/molecules": with_objective("mean"),
    **variants("tsp", TOURS, task=tasks.edge_classification, batch_size=32, epochs=15),
    **variants(
        "few-tours", FEW_TOURS, task=tasks.edge_classification, batch_size=16, epochs=10, buckets=1
    ),
    **variants("pattern", PATTERN, **PATTERN_SETTINGS),
    # The pair of a node with itself gets a vector of its own.
    "egt-constrained-distance/pattern": run_of(
        replace(PATTERN, variant="constrained", structure="distance"),
        "pattern",
        **PATTERN_SETTINGS,
    ),
    "egt-spe/pattern": with_svd("pattern", "full", PATTERN, **PATTERN_SETTINGS),
    "egt-simple-spe/pattern": with_svd("pattern", "simple", PATTERN, **PATTERN_SETTINGS),
    "egt-constrained-spe/pattern": with_svd("pattern", "constrained", PATTERN, **PATTERN_SETTINGS),
    "egt/cluster": run_of(CLUSTER, "cluster", task=ON_CLUSTER, batch_size=8, epochs=30),
    "egt/digits": run_of(
        DIGITS, "digits", task=partial(tasks.graph_multiclass, 10), batch_size=16, epochs=15
    ),
}


def load(name: str) -> GraphDataset:
    """A data set with what the runs on it read."""
    if name == "molecules":
        data = first_graphs(load_dataset(name), TRAIN_MOLECULES)
        return encode(data, AddSVD(RANK), AddShortestPaths())
    if name == "few-tours":  # the chapter's, for ten seeds
        data = tsp((400, 30, 100), range(12, 17), k=8)
    elif name in COMMUNITIES:
        data = encode(COMMUNITIES[name](COMMUNITIES_SPLIT), AddSVD(RANK))
    else:
        data = load_dataset(name)
    return encode(data, AddShortestPaths())


if __name__ == "__main__":
    main("chapter07", RUNS, load)
