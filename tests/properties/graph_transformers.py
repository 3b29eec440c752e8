"""Graphormer, EGT, GRPE and CGT in small configurations of every form."""

from dataclasses import replace
from functools import partial

from gtcourse.encodings import (
    AddDegrees,
    AddPathEdges,
    AddPathTree,
    AddRings,
    AddShortestPaths,
)
from gtcourse.models import (
    CGT,
    EGT,
    GRPE,
    EdgeEncoding,
    Graphormer,
    LaplacianEncoding,
)
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


def graphormer_variants() -> dict[str, Variant]:
    paths = AddDegrees(), AddShortestPaths(), AddPathEdges(5)
    tree = AddDegrees(), AddShortestPaths(), AddPathTree()
    names = ("no structure", "centrality", "distances", "edges at nodes", "edges of values")
    found = {
        name: Variant(partial(Graphormer, config), paths)
        for name, config in zip(names, graphormers.LADDER, strict=False)
    }
    small = graphormers.SMALL
    dropped = replace(small, dropout=0.3, attention_dropout=0.3, input_dropout=0.3)
    columns = replace(small, num_node_types=1024, num_edge_types=1024)
    wide = {"x": TWO_COLUMNS, "edges": TWO_BOND_COLUMNS}
    return found | {
        "edges of paths": Variant(partial(Graphormer, small), paths),
        "trees of paths": Variant(partial(Graphormer, small), tree),
        "dropout": Variant(partial(Graphormer, dropped), paths),
        "several targets": Variant(partial(Graphormer, replace(small, num_targets=3)), paths),
        **{
            f"two columns, edges at {use}": Variant(
                partial(Graphormer, replace(columns, edges=use)), paths, **wide
            )
            for use in ("bias", "node", "aggregation")
        },
        "two columns, trees": Variant(partial(Graphormer, columns), tree, **wide),
        "eigenvectors": Variant(
            lambda: Graphormer(small, [LaplacianEncoding(3, small.d_model)]), (*paths, SPECTRUM)
        ),
        "sums over paths": Variant(
            lambda: Graphormer(small, None, [EdgeEncoding(2, 4, 4, 3, reduce="sum")]), paths
        ),
    }


def egt_variants() -> dict[str, Variant]:
    reads = AddShortestPaths(), SVD
    dropped = replace(
        egts.SMALL, node_dropout=0.3, edge_dropout=0.3, attention_dropout=0.3, random_mask=0.3
    )
    numbers = {
        "num_node_types": (),
        "num_node_features": 2,
        "num_edge_types": (),
        "num_edge_features": 1,
    }
    configs = egts.CONFIGS | {
        "dropout": dropped,
        "flipped pairs": replace(egts.SMALL, flip_signs="pairs"),
        "numbers": replace(egts.SMALL, **numbers),
        "numbers, edge": replace(egts.SMALL, target="edge", **numbers),
        "two columns": replace(egts.SMALL, num_node_types=(28, 7), num_edge_types=(4, 3)),
    }
    return {
        name: Variant(
            partial(EGT, config),
            reads,
            x=Features(config.num_node_types, config.num_node_features),
            edges=Features(config.num_edge_types, config.num_edge_features),
            level=LEVELS[config.target],
        )
        for name, config in configs.items()
    }


def grpe_variants() -> dict[str, Variant]:
    reads = (AddShortestPaths(),)
    configs = grpes.CONFIGS | {
        "dropout": replace(grpes.SMALL, dropout=0.3, attention_dropout=0.3, node_noise=0.2),
        "numbers": replace(grpes.SMALL, **grpes.NUMBERS),
        "two columns": replace(grpes.SMALL, num_node_types=1024, num_edge_types=(4, 3)),
    }
    special = {
        "numbers": {"x": NUMBERS, "edges": NUMBER},
        "two columns": {"x": TWO_COLUMNS, "edges": TWO_BOND_COLUMNS},
    }
    return {
        name: Variant(
            partial(GRPE, config),
            reads,
            level=LEVELS[config.target],
            **special.get(name, {} if config.num_edge_types else {"edges": NONE}),
        )
        for name, config in configs.items()
    }


def cgt_variants() -> dict[str, Variant]:
    reads = WALKS, AddShortestPaths(), AddRings(csas.MAX_RING)
    ablated = {"node_ablation": 0.3, "edge_ablation": 0.3, "channel_ablation": 0.3}
    configs = csas.CONFIGS | {
        "dropout": replace(csas.RINGS, dropout=0.3, **ablated),
        "dropout, chunked": replace(csas.RINGS, dropout=0.3, form="chunked", **ablated),
        "numbers": replace(csas.SMALL, num_node_types=(), num_node_features=2),
        "two columns": replace(csas.DEEP, num_node_types=(28, 7), num_edge_types=(4, 3)),
        "two columns, rings": replace(csas.RINGS, num_node_types=(28, 7), num_edge_types=(4, 3)),
    }
    return {
        name: Variant(
            partial(CGT, config),
            reads,
            x=Features(config.num_node_types, config.num_node_features),
            edges=Features(config.num_edge_types),
            level=LEVELS[config.target],
        )
        for name, config in configs.items()
    }
