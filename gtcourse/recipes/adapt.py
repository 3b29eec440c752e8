"""Training on your own data: a CSV file of molecules, or a list of PyG graphs.

The recipe keeps its model, optimizer and schedule; what depends on the data (vocabularies, feature
widths, number of targets, task) is inferred from the graphs, in the same way for every model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any

import torch
from torch_geometric.data import Data

from gtcourse.graphs.batch import Target
from gtcourse.graphs.check import check_graphs, labels_of, target_level
from gtcourse.graphs.dataset import GraphDataset, MappedGraphs
from gtcourse.graphs.molecules import FEATURES, own_data
from gtcourse.graphs.tables import read_csv, read_table, scaffold_split
from gtcourse.models.config import feature_sizes
from gtcourse.recipes import get_recipe
from gtcourse.recipes.recipe import Recipe
from gtcourse.train import tasks
from gtcourse.train.tasks import Scale, Task

__all__ = [
    "FEATURES",
    "own_data",
    "own_recipe",
    "read_csv",
    "read_table",
    "recipe_for",
    "scaffold_split",
    "standardised",
]

TASKS: dict[tuple[str, str], Callable[[int], Task]] = {
    ("graph", "regression"): lambda num_targets: tasks.graph_regression(),
    ("graph", "binary"): tasks.graph_classification,
    ("graph", "classes"): tasks.graph_multiclass,
    ("node", "regression"): lambda num_targets: tasks.graph_regression(),
    ("node", "binary"): lambda num_targets: tasks.node_binary_classification(),
    ("node", "classes"): tasks.node_classification,
    ("edge", "classes"): lambda num_targets: tasks.edge_classification(),
}
"""By what has a target and what the targets are; of T targets or of T classes."""


def own_recipe(
    recipe: Recipe | str,
    task: str,
    targets: Sequence[str],
    features: str | None = "any",
    level: str = "graph",
    *,
    largest_fragment: bool = False,
    scale: dict[str, Sequence[float]] | None = None,
    vocabularies: Sequence[Sequence[int]] | None = None,
    **sizes: Any,
) -> Recipe:
    """A recipe for other graphs: its model with their vocabularies and targets.

    Args:
        recipe: one, or the name of a published one.
        task: "regression", "binary" (not of edges) or "classes"; targets: their names, or those of
            the classes; level: what has one, "graph", "node" or "edge".
        features: of molecules, one of ``FEATURES``; None for graphs that are no molecules.
        largest_fragment: what :func:`~gtcourse.graphs.molecules.canonical_molecule` does with salts
            and mixtures, in training and in prediction.
        scale: "mean" and "sd" of each target of a regression; the model predicts standardised
            ones. :func:`standardised` takes them from the training split.
        vocabularies: categories of each column of ``x``, and of ``edge_attr``, in place of those
            of the features: of a trained model, to start from it.
        sizes: of other graphs. ``num_node_types`` and ``num_edge_types``: categories of each column
            of ``x`` and ``edge_attr``; ``num_node_features`` and ``num_edge_features``: width of
            floats.

    Raises a ValueError if the recipe's model cannot be built for such data.
    """
    recipe = get_recipe(recipe) if isinstance(recipe, str) else recipe
    if (level, task) not in TASKS:
        expected = ", ".join(name for of, name in TASKS if of == level)
        raise ValueError(f"the task of a {level} is {task!r}; expected one of {expected}.")
    build = recipe.build_model
    if not isinstance(build, partial) or not any(
        hasattr(part, "num_node_types") for part in build.args
    ):
        raise ValueError(
            f"the model of {recipe.name} is built for its data set alone; expected a recipe of a "
            "graph Transformer, such as csa-rings/zinc or graphormer-slim/zinc."
        )
    config, *rest = build.args
    known = {field.name: field.type for field in fields(config)}
    # Records written before December 2026 call the sizes node_columns and node_features.
    sizes = {
        name if name.startswith("num_") else f"num_{name.replace('columns', 'types')}": size
        for name, size in sizes.items()
    }
    columns: Sequence[Sequence[int]] = ((), ())
    if vocabularies is not None:
        columns = vocabularies
    elif features is not None:
        columns = FEATURES[features][1:]
    types = dict(zip(("num_node_types", "num_edge_types"), columns, strict=True))
    wanted: dict[str, Any] = {**types, "num_node_features": 0, "num_edge_features": 0, **sizes}
    for name in types:  # a list, where it comes from a record
        wanted[name] = tuple(wanted[name])
    wanted |= {"num_targets": len(targets), "target": level}
    if any(wanted[name] and name not in known for name in wanted if name.endswith("features")):
        raise ValueError(
            f"the features are floats, but the model of {recipe.name} takes categories; expected "
            "integers, or egt-100k/zinc, which takes both."
        )
    if level != "graph" and repr(level) not in known.get("target", ""):
        models = "egt, gcn, gin, gat or gatedgcn" if level == "edge" else "csa, egt or grpe"
        raise ValueError(
            f"the model of {recipe.name} has no targets of {level}s; expected a recipe of {models}."
        )
    config = replace(config, **{name: value for name, value in wanted.items() if name in known})
    own: dict[str, Any] = {"recipe": recipe.name, "task": task, "targets": [*targets]}
    own |= {"features": features, "level": level, **sizes}
    if vocabularies is not None:
        own["vocabularies"] = [[*column] for column in vocabularies]
    if largest_fragment:
        own["largest_fragment"] = True
    of_targets = TASKS[level, task](len(targets))
    if scale is not None:
        own["scale"] = {name: [*values] for name, values in scale.items()}
        of_targets = tasks.graph_regression(Scale(tuple(scale["mean"]), tuple(scale["sd"])))
    build_model = partial(build.func, config, *rest)
    changed = recipe.changed | {"own_data": own}
    return replace(
        recipe, build_model=build_model, task=of_targets, paper_result={}, changed=changed
    )


def standardised(recipe: Recipe, data: GraphDataset) -> Recipe:
    """The recipe with its targets standardised by the training split.

    A recipe of :func:`own_recipe` for regression; any other is returned as it is. The model then
    predicts (y - mean) / sd; errors and predictions stay in the unit of the targets. The scale is
    in the run's record, from which a trained model is loaded. A target that is the same for all
    training graphs is only shifted.
    """
    own = recipe.changed.get("own_data", {})
    if own.get("task") != "regression" or "scale" in own or isinstance(data, MappedGraphs):
        return recipe
    y = torch.cat([graph.y for graph in data.train]).double()
    y = y[:, None] if y.dim() == 1 else y  # [targets, T]
    known = ~y.isnan()
    count = known.sum(dim=0).clamp(min=1)
    mean = y.nan_to_num().sum(dim=0) / count
    variance = ((y - mean).nan_to_num() ** 2).sum(dim=0) / count
    sd = variance.sqrt()
    sd = sd.where(sd > 0, 1.0)
    scale = {"mean": mean.tolist(), "sd": sd.tolist()}
    task = tasks.graph_regression(Scale(tuple(scale["mean"]), tuple(scale["sd"])))
    changed = recipe.changed | {"own_data": own | {"scale": scale}}
    return replace(recipe, task=task, changed=changed)


def recipe_for(
    recipe: Recipe | str, graphs: Sequence[Data], task: str, level: Target | None = None
) -> Recipe:
    """The recipe for a list of PyG graphs with targets ``y``, all inferred from them.

    Integer ``x`` and ``edge_attr`` are categories, each column with its own vocabulary; floats are
    taken as they are. ``y`` is float for "regression" and (of graphs) "binary", integer for
    "classes"; its level, by default read off its lengths, is "graph", "node" or "edge".
    """
    check_graphs(graphs)
    if graphs[0].get("y") is None:
        raise ValueError("the graphs have no targets y; expected one for each graph, node or edge.")
    found_level = target_level(graphs, level)
    y = torch.cat([graph.y for graph in graphs])
    found = labels_of(graphs, task)
    count = y.shape[1] if y.dim() > 1 else 1
    if task == "classes":
        count = 2 if found_level == "edge" else max(2, int(y.max()) + 1)
    sizes: dict[str, Any] = {
        name: size for name, size in feature_sizes(graphs).items() if size != 0
    }
    targets = [f"{'class' if task == 'classes' else 'target'} {i}" for i in range(count)]
    own = own_recipe(recipe, task, targets, features=None, level=found_level, **sizes)
    if task != "regression" and len(found) < 2:
        value = ", ".join(f"{value:g}" for value in found) or "none"
        raise ValueError(
            f"the targets y have one class alone ({value}); expected two or more classes."
        )
    return own
