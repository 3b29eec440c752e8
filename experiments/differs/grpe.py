"""GRPE: the paper's print, the authors' code and ours, measured on trained models."""

from dataclasses import replace
from functools import partial

import torch

from experiments.differs.common import (
    batches,
    changed,
    count,
    few_molecules,
    molecules,
    predictions,
    scale_queries,
    short_training,
)
from gtcourse import load_dataset
from gtcourse.encodings import AddShortestPaths, encode
from gtcourse.models import GRPE, GRPEConfig
from gtcourse.recipes import RECIPES
from gtcourse.training.leaderboard import LEADERBOARD, trained

NAME = "grpe-100k"
READS = (AddShortestPaths(),)
SMALL = GRPEConfig(d_model=64, num_layers=4, dropout=0.0, attention_dropout=0.0)


def row_as_key(model: GRPE) -> None:
    """The key context of the authors' code."""
    for layer in model.layers:
        layer.attention.key_context = "query_row"


def no_edge_to_itself(model: GRPE) -> None:
    """A node with itself reads E_no, as in the authors' code."""
    for table in model.tables.values():
        edges = table.edges.weight.data
        edges[-2] = edges[-3]


def far_from_the_longest_on(model: GRPE) -> None:
    """Pairs at distance L read P_far, as in the authors' code."""
    for table in model.tables.values():
        P, L = table.distances.weight.data, table.max_distance
        P[L] = P[L + 1]


def by_the_whole_width(model: GRPE) -> None:
    """Divides the whole logit by the root of d, where ours is that of d / H."""
    factor = model.config.num_heads**-0.5
    scale_queries(model, factor)
    for parameter in model.tables["query"].parameters():
        parameter.data *= factor  # keys meet this table: the second context


def shares() -> dict:
    """Of all pairs of two atoms: those at distance L, and farther."""
    steps = torch.cat([g.distance.flatten() for g in encode(molecules(), *READS)])
    steps, L = steps[steps > 0], trained(NAME).config.max_distance
    return {
        "at": (steps == L).double().mean().item(),
        "beyond": (steps > L).double().mean().item(),
    }


def far() -> dict:
    data = few_molecules(READS)
    return (
        shares()
        | changed(NAME, far_from_the_longest_on)
        | {
            "text": short_training("L = 5", partial(GRPE, SMALL), data),
            "code": short_training("L = 4", partial(GRPE, replace(SMALL, max_distance=4)), data),
        }
    )


def listed_twice() -> dict:
    """The distance of two atoms whose bond is listed twice, by steps and by SciPy's weights."""
    from scipy.sparse.csgraph import shortest_path

    times = torch.zeros(2, 2)
    for i, j in [(0, 1), (1, 0)] * 2:
        times[i, j] += 1
    repeated = sum(g.edge_index.unique(dim=1).shape[1] < g.edge_index.shape[1] for g in molecules())
    return {
        "weighted": float(shortest_path(times.numpy())[0, 1]),
        "steps": float(shortest_path(times.numpy(), unweighted=True)[0, 1]),
        "molecules": repeated,
    }


def directions() -> dict:
    """Pairs of pixels whose two distances differ, in graphs of nearest neighbours."""

    def differing(graphs: list) -> float:
        found = [g.distance for g in encode(graphs, *READS)]
        unlike = sum((d != d.T).sum().item() for d in found)
        return unlike / sum(d.numel() - len(d) for d in found)

    digits = [*load_dataset("digits").test][:200]
    return {"pixels": differing(digits), "atoms": differing(molecules())}


@torch.no_grad()
def noise() -> dict:
    """How far predictions move with the noise that the authors' runs on ZINC train with."""
    torch.manual_seed(0)
    model = trained(NAME)
    given = batches(LEADERBOARD[NAME].transforms)
    quiet = predictions(model, given)
    model.config = replace(model.config, node_noise=0.2)
    noisy = predictions(model.train(), given)  # the model has no dropout
    return {"moved": (noisy - quiet).abs().mean().item()}


def start() -> dict:
    """The deviation of a relation's vector at first."""
    torch.manual_seed(0)

    model = GRPE(GRPEConfig())
    return {
        "ours": model.tables["key"]().detach().std().item(),
        "rows": model.relations.num_relations,
    }


def size() -> dict:
    """The small model with the tables of the authors' script for ZINC, and with ours."""
    config = RECIPES["grpe-small/zinc"].build_model.args[0]
    return {
        "recipe": count(RECIPES["grpe-small/zinc"].build_model),
        "node_types": config.num_node_types,
        "layers": count(lambda: GRPE(config).layers),
    }


MEASURES = {
    "key-context": partial(changed, NAME, row_as_key),
    "self": partial(changed, NAME, no_edge_to_itself),
    "far": far,
    "scale": partial(changed, NAME, by_the_whole_width),
    "listed-twice": listed_twice,
    "directions": directions,
    "noise": noise,
    "start": start,
    "size": size,
}
