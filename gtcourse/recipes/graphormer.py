"""Graphormer's own runs (Ying et al., 2021): Tables 1, 2 and 4, with settings of Tables 7 to 10."""

from __future__ import annotations

from functools import partial

from gtcourse.encodings import AddDegrees, AddPathEdges, AddPathTree, AddShortestPaths
from gtcourse.models import Graphormer, GraphormerConfig
from gtcourse.recipes.recipe import Recipe, adamw, recipe
from gtcourse.train.flag import Flag
from gtcourse.train.schedules import warmup_then_linear

ZINC = {
    "num_node_types": (64,),  # as many rows as the authors' tables have
    "num_edge_types": (64,),
    "max_distance": 38,  # 40 rows: distances 0 to 38, and no path
    "max_in_degree": 63,
    "max_out_degree": 63,
    "path_positions": 40,
    "num_heads": 8,
}
OGB = {
    "num_node_types": (512,) * 9,  # the authors' tables have 512 rows for each column
    "num_edge_types": (512,) * 3,
    "max_distance": 510,  # 512 rows
    "max_in_degree": 511,
    "max_out_degree": 511,
    "path_positions": 128,
    "num_heads": 32,
}


def _recipe(
    name: str, lr: float, warmup: float, sizes: tuple[int, int],
    weight_decay: float = 0.0, attention_dropout: float = 0.1, **settings,
) -> Recipe:  # fmt: skip
    """One result; ``sizes`` are the layers and the width of the nodes and of the network."""
    zinc = name.endswith("/zinc")
    config = GraphormerConfig(
        **(ZINC if zinc else OGB),
        num_targets=128 if name.endswith("/molpcba") else 1,
        num_layers=sizes[0],
        d_model=sizes[1],
        d_hidden=sizes[1],
        dropout=0.1,
        attention_dropout=attention_dropout,
        input_dropout=0.0,
        max_path_length=20,
    )
    # A tree holds Eq. 7 in N² numbers a graph: 20 edges of each pair fit no machine on PCQM4M.
    paths = AddPathEdges(20) if zinc else AddPathTree()
    return recipe(
        name,
        build_model=partial(Graphormer, config),
        optimizer=adamw(lr, weight_decay),
        transforms=(AddDegrees(), AddShortestPaths(), paths),
        grad_clip=5.0,
        schedule=partial(warmup_then_linear, warmup=warmup),
        **settings,
    )


def _pcqm4m(
    size: str, lr: float, sizes: tuple[int, int], parameters: int, train: float, val: float
) -> Recipe:
    """A column of Table 7."""
    return _recipe(
        f"graphormer-{size}/pcqm4m", lr, 60_000 / 1_000_000, sizes,
        epochs=300, steps=1_000_000, batch_size=1024,
        source="Ying et al., 2021, Table 1; settings of Table 7",
        paper_parameters=parameters,
        paper_result={"train_mae": (train, None), "val_mae": (val, None)},
    )  # fmt: skip


GRAPHORMER = (
    _recipe(
        "graphormer-slim/zinc", 2e-4, 40_000 / 400_000, (12, 80),
        weight_decay=0.01, epochs=10_000, steps=400_000, batch_size=256,
        source="Ying et al., 2021, Table 4; settings of Table 10",
        paper_parameters=489_321, paper_result={"test_mae": (0.122, 0.006)},
    ),
    _pcqm4m("small", 3e-4, (6, 512), 12_500_000, 0.0778, 0.1264),
    _pcqm4m("base", 2e-4, (12, 768), 47_100_000, 0.0582, 0.1234),
    _recipe(
        "graphormer-large/molpcba", 3e-4, 0.06, (18, 1024),
        attention_dropout=0.3, epochs=10, batch_size=256,
        flag=Flag(steps=4, step_size=0.001, bound=0.001),
        source="Ying et al., 2021, Table 2; settings of App. B.2.2 and Tables 7 and 8",
        paper_parameters=119_500_000, paper_result={"test_ap": (0.3139, 0.0032)},
    ),
)  # fmt: skip
