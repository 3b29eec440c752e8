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
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from torch_geometric.data import Data

from gtcourse.graphs.arguments import Target, check_bools, is_one_of, whole_number
from gtcourse.graphs.check import check_graphs, labels_of, target_level
from gtcourse.graphs.dataset import GraphDataset, MappedGraphs
from gtcourse.graphs.molecules import FEATURES, own_data
from gtcourse.graphs.tables import read_csv, read_table, scaffold_split
from gtcourse.messages import shown
from gtcourse.models.config import feature_sizes
from gtcourse.recipes import as_recipe
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

TASKS = {
    "graph": ("regression", "binary", "classes"),
    "node": ("regression", "binary", "classes"),
    "edge": ("classes",),
}
"""What the targets of graphs, nodes and edges can be."""


SIZES = ("num_node_types", "num_edge_types", "num_node_features", "num_edge_features")
"""What a configuration has to know of graphs that are no molecules."""


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
        recipe: a recipe, or the name of a published one.
        task: "regression", "binary" (not of edges) or "classes".
        targets: the names of the targets, or of the classes.
        features: the features of molecules, a key of ``FEATURES``; None for graphs that are no
            molecules.
        level: what has a target, "graph", "node" or "edge".
        largest_fragment: whether to keep only the largest piece of a salt or a mixture, in training
            and in prediction (:func:`~gtcourse.graphs.molecules.canonical_molecule`).
        scale: "mean" and "sd" of each target of a regression, whose model then predicts
            standardised targets. :func:`standardised` takes them from the training split.
        vocabularies: categories of each column of ``x``, and of ``edge_attr``, in place of those
            that the features have. To start from a trained model, they are that model's.
        sizes: what graphs that are no molecules have. ``num_node_types`` and ``num_edge_types`` are
            the categories of each column of ``x`` and ``edge_attr``; ``num_node_features`` and
            ``num_edge_features`` are the columns of floats.

    Returns:
        Recipe: with the same optimizer, schedule and epochs. ``changed["own_data"]`` holds the
        arguments, from which the model is built again when a run is loaded.

    Raises:
        ValueError: the recipe's model cannot be built for such data.
    """
    recipe = as_recipe(recipe)
    if not is_one_of(level, TASKS):
        raise ValueError(f"level is {shown(level)}; expected one of {', '.join(TASKS)}.")
    if not is_one_of(task, TASKS[level]):
        raise ValueError(
            f"the task of each {level} is {shown(task)}; expected one of {', '.join(TASKS[level])}."
        )
    check_bools(largest_fragment=largest_fragment)
    _check_targets(targets, task, scale)
    if features is not None and not is_one_of(features, FEATURES):
        raise ValueError(f"features is {shown(features)}; expected one of {', '.join(FEATURES)}.")
    if largest_fragment and features is None:
        raise ValueError(
            "largest_fragment is True and features is None, which is for graphs that are no "
            "molecules; expected the features of molecules, or largest_fragment=False."
        )
    build = recipe.build_model
    if not isinstance(build, partial) or not any(
        hasattr(argument, "num_node_types") for argument in build.args
    ):
        raise ValueError(
            f"the model of {recipe.name} is built only for its own data set; expected a recipe of "
            "a graph Transformer, such as csa-rings/zinc or graphormer-slim/zinc."
        )
    config, *others = build.args
    known = {field.name: field.type for field in fields(config)}
    sizes = {_name_of_size(name): size for name, size in sizes.items()}
    for name in sizes:
        if name not in SIZES:
            raise ValueError(f"there is no size {name}; expected one of {', '.join(SIZES)}.")
        if name in ("num_node_features", "num_edge_features"):
            sizes[name] = whole_number(name, sizes[name], 0)
    wanted = _wanted(features, vocabularies, sizes)
    for name in ("num_node_features", "num_edge_features"):
        if wanted[name] != 0 and name not in known:
            raise ValueError(
                f"the features are floats, but the model of {recipe.name} takes categories; "
                "expected integers, or egt-100k/zinc, which takes both."
            )
    if level != "graph" and repr(level) not in known.get("target", ""):
        models = "egt, gcn, gin, gat or gatedgcn" if level == "edge" else "csa, egt or grpe"
        raise ValueError(
            f"the model of {recipe.name} has no targets of {level}s; expected a recipe of {models}."
        )
    wanted["num_targets"] = len(targets)
    wanted["target"] = level
    wanted["edge_step"] = None  # the features of edges are categories, or refused above
    if level != "graph":  # a recipe's readout of graphs is not read
        wanted["readout"] = type(config).defaults().get("readout")
    config = replace(config, **{name: value for name, value in wanted.items() if name in known})
    own: dict[str, Any] = {
        "recipe": recipe.name,
        "task": task,
        "targets": [*targets],
        "features": features,
        "level": level,
        **sizes,
    }
    if vocabularies is not None:
        own["vocabularies"] = [[*column] for column in vocabularies]
    if largest_fragment:
        own["largest_fragment"] = True
    if scale is not None:
        own["scale"] = {name: [*values] for name, values in scale.items()}
    own_task = _task(task, level, len(targets), scale)
    return replace(
        recipe,
        build_model=partial(build.func, config, *others),
        task=own_task,
        schedule=_schedule_for(own_task, recipe),
        paper_result={},
        changed={**recipe.changed, "own_data": own},
    )


def _check_targets(
    targets: Sequence[str], task: str, scale: dict[str, Sequence[float]] | None
) -> None:
    """Raises a ValueError unless the targets have different names, and a scale has their number."""
    is_list = isinstance(targets, Sequence) and not isinstance(targets, str)
    names = [*targets] if is_list else []
    is_text = all(isinstance(name, str) for name in names)
    if not names or not is_text or len(set(names)) < len(names):
        raise ValueError(
            f"targets is {shown(targets)}; expected a list of one or more different names."
        )
    if scale is None:
        return
    if task != "regression":
        raise ValueError(f"scale has no effect on the task {task!r}; expected the task regression.")
    is_scale = isinstance(scale, dict) and scale.keys() == {"mean", "sd"}
    if not is_scale or not all(_has_length(values, len(names)) for values in scale.values()):
        raise ValueError(
            f"scale is {shown(scale)}; expected mean and sd, each with {len(names)} number(s)."
        )


def _has_length(values: object, length: int) -> bool:
    return isinstance(values, Sequence) and len(values) == length


def _schedule_for(task: Task, recipe: Recipe) -> Callable[..., LRScheduler | ReduceLROnPlateau]:
    """The recipe's schedule; one that waits for a better score waits for the task's.

    A recipe of a regression waits for a smaller error, while a better accuracy is a larger one.
    """
    schedule = recipe.schedule
    if isinstance(schedule, partial) and "mode" in schedule.keywords:
        return partial(schedule, mode=task.mode)
    return schedule


def _name_of_size(name: str) -> str:
    """The name of a size. Records written before December 2026 have node_columns, for instance."""
    if name.startswith("num_"):
        return name
    return f"num_{name.replace('columns', 'types')}"


def _wanted(
    features: str | None, vocabularies: Sequence[Sequence[int]] | None, sizes: dict[str, Any]
) -> dict[str, Any]:
    """The fields of a configuration that depend on what graphs have."""
    node_types: Sequence[int] = ()
    edge_types: Sequence[int] = ()
    if vocabularies is not None:
        is_list = isinstance(vocabularies, Sequence) and len(vocabularies) == 2
        if not is_list or not all(isinstance(each, Sequence) for each in vocabularies):
            raise ValueError(
                f"vocabularies is {shown(vocabularies)}; expected two, of nodes and of edges."
            )
        node_types, edge_types = vocabularies
    elif features is not None:
        _, node_types, edge_types = FEATURES[features]
    wanted: dict[str, Any] = {
        "num_node_types": node_types,
        "num_edge_types": edge_types,
        "num_node_features": 0,
        "num_edge_features": 0,
        **sizes,
    }
    for name in ("num_node_types", "num_edge_types"):
        if isinstance(wanted[name], list):  # as in a record
            wanted[name] = tuple(wanted[name])
    return wanted


def _task(
    task: str, level: str, num_targets: int, scale: dict[str, Sequence[float]] | None
) -> Task:
    """The loss and the metric of so many targets, or of so many classes."""
    if task == "regression":
        if scale is None:
            return tasks.graph_regression()
        return tasks.graph_regression(Scale(tuple(scale["mean"]), tuple(scale["sd"])))
    if level == "edge":
        return tasks.edge_classification()
    if level == "node":
        if task == "binary":
            return tasks.node_binary_classification()
        return tasks.node_classification(num_targets)
    if task == "binary":
        return tasks.graph_classification(num_targets)
    return tasks.graph_multiclass(num_targets)


def standardised(recipe: Recipe | str, data: GraphDataset) -> Recipe:
    """The recipe with its targets standardised by the training split.

    Only a recipe of :func:`own_recipe` for regression is changed. Its model then predicts
    (y - mean) / sd, while errors and predictions stay in the unit of the targets. The scale is in
    the run's record, from which a trained model is loaded. A target that is the same for all
    training graphs is only shifted.

    Raises:
        ValueError: this is no recipe, or no data set.
    """
    recipe = as_recipe(recipe)
    if not isinstance(data, GraphDataset):
        raise ValueError(f"data is of type {type(data).__name__}; expected a GraphDataset.")
    own = recipe.changed.get("own_data", {})
    if own.get("task") != "regression" or "scale" in own or isinstance(data, MappedGraphs):
        return recipe
    y = torch.cat([graph.y for graph in data.train]).double()
    if y.dim() == 1:
        y = y[:, None]  # [targets, T]
    known = ~y.isnan()
    count = known.sum(dim=0).clamp(min=1)
    mean = y.nan_to_num().sum(dim=0) / count
    variance = ((y - mean).nan_to_num() ** 2).sum(dim=0) / count
    sd = variance.sqrt()
    sd = sd.where(sd > 0, 1.0)
    scale = Scale(tuple(mean.tolist()), tuple(sd.tolist()))
    own = {**own, "scale": {"mean": [*scale.mean], "sd": [*scale.sd]}}
    return replace(
        recipe,
        task=tasks.graph_regression(scale),
        changed={**recipe.changed, "own_data": own},
    )


def recipe_for(
    recipe: Recipe | str, graphs: Sequence[Data], task: str, level: Target | None = None
) -> Recipe:
    """A recipe for PyG graphs with targets ``y``; what depends on the data is read from them.

    Integers in ``x`` and ``edge_attr`` are categories, each column with its own vocabulary. Floats
    are numbers.

    Args:
        recipe: a recipe, or the name of a published one.
        graphs: all graphs, those for validation and testing too.
        task: "regression" and "binary" want floats in ``y``, "classes" integers.
        level: what has a target, "graph", "node" or "edge"; by default it is read from the lengths
            of ``y``.

    Raises:
        ValueError: a graph is malformed, the targets do not fit the task or are all of one class,
            or the recipe's model cannot be built for such data.
    """
    check_graphs(graphs)
    if graphs[0].get("y") is None:
        raise ValueError("the graphs have no targets y; expected one for each graph, node or edge.")
    found_level = target_level(graphs, level)
    y = torch.cat([graph.y for graph in graphs])
    found = labels_of(graphs, task)
    count = y.shape[1] if y.dim() > 1 else 1
    if y.dim() > 2:
        raise ValueError(
            f"graph 0 has y of shape {list(graphs[0].y.shape)}; expected one axis, or two for "
            "several targets."
        )
    if y.is_floating_point():
        is_unknown = y.isnan().all(dim=0)  # [T], or [] of one target
        if is_unknown.any():
            column = f"column {int(is_unknown.nonzero()[0])} of y" if y.dim() == 2 else "y"
            raise ValueError(
                f"{column} is unknown (NaN) in all graphs; expected one known target or more."
            )
    if task == "classes":
        if y.dim() > 1 and count > 1:
            raise ValueError(
                f"y has {count} columns of classes; expected one class for each {found_level}."
            )
        count = max(2, int(y.max()) + 1)
        if found_level == "edge" and count > 2:
            raise ValueError(f"y of edges has the class {count - 1}; expected 0 and 1.")
    sizes: dict[str, Any] = {
        name: size for name, size in feature_sizes(graphs).items() if size != 0
    }
    noun = "class" if task == "classes" else "target"
    targets = [f"{noun} {i}" for i in range(count)]
    own = own_recipe(recipe, task, targets, features=None, level=found_level, **sizes)
    if task != "regression" and len(found) < 2:
        value = ", ".join(f"{value:g}" for value in found) or "none"
        raise ValueError(
            f"the targets y have only one class ({value}); expected two or more classes."
        )
    return own
