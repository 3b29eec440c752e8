"""Graphormer, EGT, GRPE and CGT in small configurations of every form."""

from dataclasses import replace
from functools import partial

from torch import nn

from gtcourse.encodings import AddDegrees, AddPathEdges, AddPathTree, AddRings, AddShortestPaths
from gtcourse.models import CGT, EGT, GRPE, EdgeEncoding, Graphormer, LaplacianEncoding
from tests.models import csas, egts, graphormers, grpes
from tests.properties.graphs import NONE, Features
from tests.properties.variants import (
    LEVELS,
    NUMBER,
    NUMBERS,
    SPECTRUM,
    SVD,
    TWO_BOND_COLUMNS,
    TWO_COLUMNS,
    WALKS,
    Variant,
)

WIDE = {"x": TWO_COLUMNS, "edges": TWO_BOND_COLUMNS}
TWO_COLUMN_TYPES = {"num_node_types": (28, 7), "num_edge_types": (4, 3)}


def of_configs(model: type[nn.Module], configs: dict, reads: tuple, special: dict) -> dict:
    """A variant for each configuration; ``special``: by name, features that are not its own."""
    return {
        name: Variant(
            partial(model, config), reads, level=LEVELS[config.target], **special.get(name, {})
        )
        for name, config in configs.items()
    }


def features_of(config) -> dict[str, Features]:
    return {
        "x": Features(config.num_node_types, config.num_node_features),
        "edges": Features(config.num_edge_types, getattr(config, "num_edge_features", 0)),
    }


def graphormer_variants() -> dict[str, Variant]:
    paths = AddDegrees(), AddShortestPaths(), AddPathEdges(5)
    tree = AddDegrees(), AddShortestPaths(), AddPathTree()
    small = graphormers.SMALL
    columns = replace(small, num_node_types=1024, num_edge_types=1024)
    names = ("no structure", "centrality", "distances", "edges at nodes", "edges of values")
    configs = dict(zip(names, graphormers.LADDER, strict=False)) | {
        "edges of paths": small,
        "dropout": replace(small, dropout=0.3, attention_dropout=0.3, input_dropout=0.3),
        "several targets": replace(small, num_targets=3),
    }
    found = {name: Variant(partial(Graphormer, config), paths) for name, config in configs.items()}
    for use in ("bias", "node", "aggregation"):
        build = partial(Graphormer, replace(columns, edges=use))
        found[f"two columns, edges at {use}"] = Variant(build, paths, **WIDE)
    return found | {
        "trees of paths": Variant(partial(Graphormer, small), tree),
        "two columns, trees": Variant(partial(Graphormer, columns), tree, **WIDE),
        "eigenvectors": Variant(
            lambda: Graphormer(small, [LaplacianEncoding(3, small.d_model)]), (*paths, SPECTRUM)
        ),
        "sums over paths": Variant(
            lambda: Graphormer(small, None, [EdgeEncoding(2, 4, 4, 3, reduce="sum")]), paths
        ),
    }


def egt_variants() -> dict[str, Variant]:
    names = "node_dropout", "edge_dropout"
    numbers = {"num_node_types": (), "num_node_features": 2}
    numbers |= {"num_edge_types": (), "num_edge_features": 1}
    configs = egts.CONFIGS | {
        "dropout": replace(egts.SMALL, **dict.fromkeys(names, 0.3)),
        "flipped pairs": replace(egts.SMALL, flip_signs="pairs"),
        "numbers": replace(egts.SMALL, **numbers),
        "numbers, edge": replace(egts.SMALL, target="edge", **numbers),
        "two columns": replace(egts.SMALL, **TWO_COLUMN_TYPES),
    }
    special = {name: features_of(config) for name, config in configs.items()}
    return of_configs(EGT, configs, (AddShortestPaths(), SVD), special)


def grpe_variants() -> dict[str, Variant]:
    configs = grpes.CONFIGS | {
        "dropout": replace(grpes.SMALL, dropout=0.3, attention_dropout=0.3, node_noise=0.2),
        "numbers": replace(grpes.SMALL, **grpes.NUMBERS),
        "two columns": replace(grpes.SMALL, num_node_types=1024, num_edge_types=(4, 3)),
    }
    special = {
        "edges of one type": {"edges": NONE},
        "numbers": {"x": NUMBERS, "edges": NUMBER},
        "two columns": WIDE,
    }
    return of_configs(GRPE, configs, (AddShortestPaths(),), special)


def cgt_variants() -> dict[str, Variant]:
    ablated = dict.fromkeys(("node_ablation", "edge_ablation", "channel_ablation"), 0.3)
    configs = csas.CONFIGS | {
        "dropout": replace(csas.RINGS, dropout=0.3, **ablated),
        "dropout, chunked": replace(csas.RINGS, dropout=0.3, form="chunked", **ablated),
        "numbers": replace(csas.SMALL, num_node_types=(), num_node_features=2),
        "two columns": replace(csas.DEEP, **TWO_COLUMN_TYPES),
        "two columns, rings": replace(csas.RINGS, **TWO_COLUMN_TYPES),
    }
    special = {name: features_of(config) for name, config in configs.items()}
    return of_configs(CGT, configs, (WALKS, AddShortestPaths(), AddRings(csas.MAX_RING)), special)
