"""Training on your own data: a CSV file of molecules, or a list of PyG graphs.

The recipe keeps its model, optimizer and schedule; what depends on the data (vocabularies, feature
widths, number of targets, task) is inferred from the graphs, in the same way for every model.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path

import torch
from torch_geometric.data import Data
from tqdm import tqdm

from gtcourse.graphs.batch import Target, check_graphs, target_level
from gtcourse.graphs.dataset import GraphDataset
from gtcourse.graphs.molecules import zinc_data
from gtcourse.models.config import feature_sizes
from gtcourse.recipes.recipe import Recipe
from gtcourse.train import tasks
from gtcourse.train.tasks import Task

SPLIT_NAMES = {"train": 0, "val": 1, "valid": 1, "validation": 1, "test": 2}
TASKS: dict[tuple[str, str], Callable[[int], Task]] = {
    ("graph", "regression"): lambda num_targets: tasks.graph_regression(),
    ("graph", "binary"): tasks.graph_classification,
    ("graph", "classes"): tasks.graph_multiclass,
    ("node", "regression"): lambda num_targets: tasks.graph_regression(),
    ("node", "classes"): tasks.node_classification,
    ("edge", "classes"): lambda num_targets: tasks.edge_classification(),
}
"""By what has a target and what the targets are; of T targets or of T classes."""


def own_recipe(
    recipe: Recipe,
    task: str,
    targets: Sequence[str],
    features: str = "any",
    level: str = "graph",
    **sizes,
) -> Recipe:
    """A recipe for other graphs: its model with their vocabularies and targets.

    Args:
        task: "regression", "binary" (graphs only) or "classes"; targets: their names, or those of
            the classes; level: what has one, "graph", "node" or "edge".
        features: of molecules, one of ``FEATURES``.
        sizes: of other graphs. ``num_node_types`` and ``num_edge_types``: categories of each column
            of ``x`` and ``edge_attr``; ``num_node_features`` and ``num_edge_features``: width of
            floats.

    Raises a ValueError if the recipe's model cannot be built for such data.
    """
    if (level, task) not in TASKS:
        known = ", ".join(name for of, name in TASKS if of == level)
        raise ValueError(f"the task of a {level} is {task!r}; expected one of {known}.")
    build = recipe.build_model
    if not any(hasattr(part, "num_node_types") for part in getattr(build, "args", ())):
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
    types = dict(zip(("num_node_types", "num_edge_types"), FEATURES[features][1:], strict=True))
    wanted = {**types, "num_node_features": 0, "num_edge_features": 0, **sizes}
    for name in types:  # a list, where it comes from a record
        wanted[name] = tuple(wanted[name])
    wanted |= {"num_targets": len(targets), "target": level}
    if any(wanted[name] and name not in known for name in wanted if name.endswith("features")):
        raise ValueError(
            f"the features are floats, but the model of {recipe.name} takes categories; expected "
            "integers, or egt-100k/zinc, which takes both."
        )
    if level != "graph" and repr(level) not in known.get("target", ""):
        models = "egt" if level == "edge" else "csa, egt or grpe"
        raise ValueError(
            f"the model of {recipe.name} has no targets of {level}s; expected a recipe of {models}."
        )
    config = replace(config, **{name: value for name, value in wanted.items() if name in known})
    own = {"recipe": recipe.name, "task": task, "targets": [*targets]}
    own |= {"features": features, "level": level, **sizes}
    build_model, task = partial(build.func, config, *rest), TASKS[level, task](len(targets))
    changed = recipe.changed | {"own_data": own}
    return replace(recipe, build_model=build_model, task=task, paper_result={}, changed=changed)


def recipe_for(
    recipe: Recipe, graphs: Sequence[Data], task: str, level: Target | None = None
) -> Recipe:
    """The recipe for a list of PyG graphs with targets ``y``, all inferred from them.

    Integer ``x`` and ``edge_attr`` are categories, each column with its own vocabulary; floats are
    taken as they are. ``y`` is float for "regression" and (of graphs) "binary", integer for
    "classes"; its level, by default read off its lengths, is "graph", "node" or "edge".
    """
    check_graphs(graphs)
    level = target_level(graphs, level)
    y = torch.cat([graph.y for graph in graphs])
    count = y.shape[1] if y.dim() > 1 else 1
    if task == "classes":
        count = 2 if level == "edge" else int(y.max()) + 1
    sizes = {name: size for name, size in feature_sizes(graphs).items() if size != 0}
    targets = [f"{'class' if task == 'classes' else 'target'} {i}" for i in range(count)]
    return own_recipe(recipe, task, targets, level=level, **sizes)


def own_data(smiles: str) -> Data:
    """The graph of any molecule: ``x`` ``[n, 9]`` and ``edge_attr`` ``[E, 3]``, by PyG.

    Raises a ValueError if RDKit cannot read it, or it has no atoms.
    """
    from rdkit import Chem
    from rdkit.rdBase import BlockLogs
    from torch_geometric.utils import from_rdmol

    with BlockLogs():
        molecule = Chem.MolFromSmiles(smiles)
    if molecule is None or not molecule.GetNumAtoms():
        raise ValueError(f"{smiles!r} is no molecule that RDKit can read; expected SMILES.")
    graph = from_rdmol(molecule)
    graph.smiles = smiles
    return graph


FEATURES = {
    "any": (own_data, (119, 9, 11, 12, 9, 5, 8, 2, 2), (22, 6, 2)),
    "zinc": (zinc_data, (28,), (4,)),
}
"""How SMILES become graphs, and the categories of each column of ``x`` and ``edge_attr``: PyG's
features, which every molecule has, and ZINC's, for models that were trained on it."""


def read_table(path: Path, smiles: str, *columns: str):
    """A CSV file as a pandas table that has these columns; a missing SMILES is empty."""
    import pandas as pd

    table = pd.read_csv(path)
    if missing := [name for name in (smiles, *columns) if name not in table]:
        raise ValueError(
            f"{path} has no column {missing[0]!r}; expected one of {', '.join(table.columns)}."
        )
    return table.fillna({smiles: ""}).astype({smiles: str})


def read_csv(
    path: Path,
    smiles: str,
    targets: Sequence[str],
    task: str,
    split: str | None = None,
    seed: int = 0,
    features: str = "any",
) -> tuple[GraphDataset, list[str]]:
    """A data set from a CSV file of molecules, and one line for each row that was left out.

    Args:
        smiles: the column with SMILES; targets: those with numbers, empty where unknown.
        split: a column with train, val and test; otherwise :func:`scaffold_split` by ``seed``.
        features: one of ``FEATURES``.

    Raises a ValueError if a column is missing, a target is no number (or, for "binary", not 0 or
    1), or no molecule can be read.
    """
    table = read_table(path, smiles, *targets, *([split] if split else []))
    try:
        y = torch.tensor(table[list(targets)].to_numpy(dtype="float32"))
    except ValueError as error:
        raise ValueError(f"{path} has text for a target ({error}); expected numbers.") from None
    if task == "binary" and not (y.isnan() | (y == 0) | (y == 1)).all():
        raise ValueError(f"the targets of {path} are not all 0 or 1, which task binary expects.")
    graphs, rows, skipped = [], [], []
    bar = tqdm(table[smiles], unit="molecule", leave=False, delay=1, disable=None)
    for row, text in enumerate(bar):
        try:
            graph = FEATURES[features][0](text)
        except ValueError as error:
            skipped.append(f"row {row + 2}: {error}")
            continue
        graph.y = y[row] if len(targets) == 1 else y[row : row + 1]
        graphs.append(graph)
        rows.append(row)
    if not graphs:
        raise ValueError(f"{path} has no molecule that RDKit can read in column {smiles!r}.")
    if split is None:
        parts = scaffold_split([graph.smiles for graph in graphs], seed)
    else:
        words = table[split].iloc[rows].astype(str).str.lower()
        if unknown := sorted({*words} - {*SPLIT_NAMES}):
            raise ValueError(f"column {split!r} holds {unknown[0]!r}; expected train, val or test.")
        parts = [SPLIT_NAMES[word] for word in words]
    name, source = path.name.partition(".")[0], f"file: {path.name}"
    return GraphDataset(name, source, graphs, torch.tensor(parts)), skipped


def scaffold_split(smiles: Sequence[str], seed: int) -> list[int]:
    """0 (train, about 80 %), 1 (val) and 2 (test): molecules of one Murcko scaffold stay together.

    Scaffolds are taken in a random order, seeded; a scaffold larger than the room that is left in
    validation and test is for training.
    """
    from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles

    groups = defaultdict(list)
    for i, text in enumerate(smiles):
        groups[MurckoScaffoldSmiles(smiles=text)].append(i)
    order = list(groups.values())
    random.Random(seed).shuffle(order)  # noqa: S311
    parts, room = [0] * len(smiles), {1: len(smiles) // 10, 2: len(smiles) // 10, 0: len(smiles)}
    for members in order:
        part = next(part for part in room if len(members) <= room[part])
        room[part] -= len(members)
        for i in members:
            parts[i] = part
    return parts
