"""The recorded runs of chapter 07: ``python -m experiments.chapter07``, a few CPU hours.

One EGT on molecules (a number for each graph), digits (a class for each graph), communities (a
class for each node) and tours (yes or no for each edge); its variants beside it; on molecules the
singular vectors with their signs as they are, flipped in pairs and flipped by node, and the
distance objective.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial

import torch
from torch import nn

from experiments.runs import command_line, record_all, record_run
from gtcourse import DenseLoader, load_dataset
from gtcourse.analysis import attention_by_hop
from gtcourse.encodings import AddShortestPaths, AddSVD, encode
from gtcourse.graphs.communities import cluster, pattern
from gtcourse.graphs.ragged import GraphDataset
from gtcourse.models import EGT, EGTConfig
from gtcourse.recipes.egt import NODES_OF_CLUSTER, NODES_OF_PATTERN
from gtcourse.training.records import Record
from gtcourse.training.tasks import (
    Task,
    edge_classification,
    graph_multiclass,
    graph_regression,
    node_classification,
    with_distances,
)

RANK, HOPS = 8, 8
SIZE = {"d_model": 48, "d_edge": 16, "num_layers": 4}
"""For every task: small, so that a run takes minutes without an accelerator."""

TRAIN_MOLECULES = 4000
MOLECULES = EGTConfig(**SIZE)
SVD = replace(MOLECULES, svd_rank=RANK)
NU, KAPPA = 3, 0.05
"""Hops and weight of the distance objective, Table 5's for ZINC."""

COMMUNITIES_SPLIT = (200, 50, 100)
PATTERN = EGTConfig(**SIZE, num_node_types=(3,), num_edge_types=(), target="node", num_targets=2)
CLUSTER = replace(PATTERN, num_node_types=(7,), num_targets=6)
TOURS = EGTConfig(
    **SIZE,
    num_node_types=(),
    num_node_features=2,
    num_edge_types=(),
    num_edge_features=1,
    target="edge",
    num_targets=2,
)
DIGITS = EGTConfig(
    **SIZE,
    num_node_types=(),
    num_node_features=3,
    num_edge_types=(),
    num_edge_features=1,
    num_targets=10,
)


@dataclass(frozen=True)
class Run:
    """What a name stands for."""

    data: str
    config: EGTConfig
    task: Callable[[], Task] = graph_regression
    batch_size: int = 64
    epochs: int = 20


def variants(data: str, config: EGTConfig, **run) -> dict[str, Run]:
    """The whole model and the three of Appendices C and D."""
    return {
        f"egt/{data}": Run(data, config, **run),
        f"egt-simple/{data}": Run(data, replace(config, variant="simple"), **run),
        f"egt-constrained/{data}": Run(data, replace(config, variant="constrained"), **run),
        f"egt-ungated/{data}": Run(data, replace(config, gated=False), **run),
    }


def distances(reduction: str) -> Task:
    return with_distances(graph_regression(), NU, KAPPA, reduction)


FLIPPED = replace(SVD, flip_signs="pairs")
RUNS = variants("molecules", MOLECULES) | {
    "egt-spe/molecules": Run("molecules", SVD),
    "egt-spe-flips/molecules": Run("molecules", FLIPPED),
    "egt-spe-node-flips/molecules": Run("molecules", replace(SVD, flip_signs="nodes")),
    "egt-spe-do/molecules": Run(
        "molecules", replace(FLIPPED, distance_hops=NU), partial(distances, "sum")
    ),
    "egt-spe-do-mean/molecules": Run(
        "molecules", replace(FLIPPED, distance_hops=NU), partial(distances, "mean")
    ),
}
RUNS |= variants("tsp", TOURS, task=edge_classification, batch_size=32, epochs=15)
RUNS |= variants(
    "pattern",
    PATTERN,
    task=partial(node_classification, 2, NODES_OF_PATTERN),
    batch_size=8,
    epochs=15,
)
RUNS |= {
    "egt/cluster": Run(
        "cluster",
        CLUSTER,
        partial(node_classification, 6, NODES_OF_CLUSTER),
        batch_size=8,
        epochs=30,
    ),
    "egt/digits": Run("digits", DIGITS, partial(graph_multiclass, 10), batch_size=16, epochs=15),
}


def load(name: str) -> GraphDataset:
    """A data set with what the runs on it read."""
    if name == "molecules":
        data = first_training(load_dataset(name), TRAIN_MOLECULES)
        return encode(data, AddSVD(RANK), AddShortestPaths())
    communities = {"pattern": pattern, "cluster": cluster}
    data = communities[name](COMMUNITIES_SPLIT) if name in communities else load_dataset(name)
    return encode(data, AddShortestPaths())


def first_training(data: GraphDataset, count: int) -> GraphDataset:
    """The data set with its first ``count`` training graphs alone."""
    train = (data.split == 0).nonzero().flatten()
    kept = torch.cat([train[:count], (data.split > 0).nonzero().flatten()])
    return replace(data, graphs=[data[int(i)] for i in kept], split=data.split[kept])


def by_hop(model: nn.Module, test: DenseLoader) -> dict[str, list]:
    """The mean share of attention 0 to HOPS hops away, and beyond, for each layer."""
    model.eval()
    with torch.no_grad():
        shares = torch.cat(
            [
                attention_by_hop(
                    model(batch, return_attention=True)[-1],
                    batch.encodings["distance"],
                    batch.mask,
                    HOPS,
                )
                for batch in test
            ]
        )
    return {"attention_by_hop": [[round(float(s), 5) for s in layer] for layer in shares.mean(0)]}


def record(name: str, seed: int, epochs: int | None, data: GraphDataset) -> Record:
    run = RUNS[name]
    epochs = epochs or run.epochs
    return record_run(
        name,
        lambda: EGT(run.config),
        data,
        config=asdict(run.config),
        seed=seed,
        epochs=epochs,
        command=f"python -m experiments.chapter07 {name} --seeds {seed} --epochs {epochs}",
        more_scores=by_hop,
        task=run.task(),
        batch_size=run.batch_size,
    )


def main() -> None:
    args = command_line(__doc__.splitlines()[0], RUNS, epochs=None).parse_args()
    data = {name: load(name) for name in {RUNS[name].data for name in args.names}}
    record_all(args, lambda name, seed: record(name, seed, args.epochs, data[RUNS[name].data]))


if __name__ == "__main__":
    main()
