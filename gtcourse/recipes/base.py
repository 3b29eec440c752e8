"""What recipes of several papers share: each data set's task, and the papers' AdamW."""

from __future__ import annotations

import re
import tomllib
from functools import partial
from importlib.resources import files

from torch.optim import AdamW

from gtcourse.training.recipe import Recipe
from gtcourse.training.tasks import (
    edge_classification,
    graph_classification,
    graph_multiclass,
    graph_regression,
    node_classification,
)

NODES_OF_PATTERN = (979_220, 209_900)
NODES_OF_CLUSTER = (19_695, 19_222, 19_559, 19_417, 19_801, 20_139)
"""Nodes of each class, as EGT's authors count them."""

TASKS = {
    "zinc": graph_regression(),
    "zinc-full": graph_regression(),
    "pcqm4m": graph_regression(),
    "pcqm4mv2": graph_regression(),
    "molpcba": graph_classification(128),
    "cycles": graph_multiclass(2),
    "mnist": graph_multiclass(10),
    "cifar10": graph_multiclass(10),
    "pattern": node_classification(2, NODES_OF_PATTERN),
    "cluster": node_classification(6, NODES_OF_CLUSTER),
    "tsp": edge_classification(),
}
DATASETS = {"pcqm4m": "pcqm4mv2", "molpcba": "ogbg-molpcba"}

NOTES = tomllib.loads((files("gtcourse.recipes") / "notes.toml").read_text(encoding="utf-8"))


def recipe(name: str, **settings) -> Recipe:
    """A recipe whose data set, task and notes follow from its name, "model-size/dataset"."""
    data = name.split("/")[1]
    settings = {"dataset": DATASETS.get(data, data), "task": TASKS[data]} | settings
    notes = (note for pattern, note in NOTES.items() if re.fullmatch(pattern, name))
    return Recipe(name=name, notes="; ".join(notes), **settings)


def adamw(lr: float, weight_decay: float = 0.0) -> partial[AdamW]:
    return partial(AdamW, lr=lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=weight_decay)
