"""The summary of a user's own molecules: their splits, possible faults, and simple baselines."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from gtcourse.graphs.batch import MISSING_LABEL
from gtcourse.graphs.dataset import SPLITS, GraphDataset
from gtcourse.graphs.io import require
from gtcourse.graphs.loader import DenseLoader
from gtcourse.train.loop import count_parameters, device, evaluating
from gtcourse.train.tasks import Task

MINIMUM = 5  # molecules in which a Morgan count occurs, for the trees, which take dense columns
MOST_FOR_TREES = 20_000  # training molecules; their dense columns are gigabytes beyond that


def overview(
    data: GraphDataset, task: Task, names: Iterable[str], model: torch.nn.Module
) -> list[str]:
    """Lines about molecules: their number and classes in each split, and what may mislead.

    Args:
        data: molecules, each with targets.
        task: what the targets are.
        names: the names of the targets, or of the classes.
        model: the model to train, whose parameters are compared with the number of molecules.
    """
    names = [*names]
    lines = [f"{part}: {_counted(data[part], task, names)}" for part in SPLITS]
    lines += conflicts(data, task)
    lines += constants(data, task, names)
    parameters = count_parameters(model)
    molecules = len(data.train)
    if parameters > 100 * molecules:
        lines.append(
            f"{molecules:,} training {_noun(molecules)} for {parameters:,} parameters: compare "
            "with the baselines before you trust the model."
        )
    return lines


def _counted(graphs: Sequence[Data], task: Task, names: list[str]) -> str:
    """How many molecules a split has, and how many of its targets are known, or of which class."""
    y = _targets(graphs)
    text = f"{len(graphs):,} {_noun(len(graphs))}"
    if task.kind == "probabilities":
        counts = [int((y == number).sum()) for number in range(len(names))]
        classes = (f"{count:,} {name}" for count, name in zip(counts, names, strict=True))
        return f"{text} ({', '.join(classes)})"
    parts = []
    for name, column in zip(names, y.T, strict=True):
        known = column[~column.isnan()]
        if task.kind == "probability":
            parts.append(f"{name}: {int((known == 1).sum()):,} of {len(known):,} are 1")
        elif len(known) < len(column):
            parts.append(f"{name}: {len(known):,} known")
    return f"{text} ({'; '.join(parts)})" if parts else text


def _noun(count: int) -> str:
    return "molecule" if count == 1 else "molecules"


def conflicts(data: GraphDataset, task: Task) -> list[str]:
    """Sentences on repeated molecules that have conflicting targets or are in several splits."""
    rows = defaultdict(list)  # the numbers of a molecule's graphs
    for i, graph in enumerate(data.graphs):
        rows[graph.smiles].append(i)
    repeated = {smiles: places for smiles, places in rows.items() if len(places) > 1}
    if not repeated:
        return []
    conflicting: list[tuple[str, list[float]]] = []
    across = 0
    for smiles, places in repeated.items():
        y = _targets([data.graphs[i] for i in places]).double()  # [places, T]
        if task.kind == "probabilities":
            y = y.masked_fill(y == MISSING_LABEL, torch.nan)
        for column in y.T:
            values = column[~column.isnan()].unique().tolist()
            if len(values) > 1:
                conflicting.append((smiles, values))
                break
        across += len({int(data.split[i]) for i in places}) > 1
    lines = [f"repeated molecules: {len(repeated):,}"]
    if conflicting:
        smiles, values = conflicting[0]
        shown = ", ".join(f"{value:g}" for value in values[:4])
        lines[0] += f", {len(conflicting):,} with conflicting values, such as {smiles} ({shown})"
    lines[0] += "."
    if across:
        lines.append(f"molecules in more than one split: {across:,}. The test error is too small.")
    return lines


def constants(data: GraphDataset, task: Task, names: list[str]) -> list[str]:
    """Sentences on targets that are the same, or unknown, for all molecules of a split.

    A class that no training molecule has is never predicted.
    """
    lines = []
    if task.kind == "probabilities":
        known_classes = _targets(data.train).unique().tolist()
        for number, name in enumerate(names):
            if number not in known_classes:
                lines.append(f"no training molecule has {name}: the model will not predict it.")
    for part in SPLITS:
        y = _targets(data[part])
        if task.kind == "probabilities":
            columns = [(names[0].partition(" = ")[0], y[:, 0])]
        else:
            columns = [*zip(names, y.T, strict=True)]
        for name, column in columns:
            known = column[~column.isnan() & (column != MISSING_LABEL)]
            if len(known) == 0:
                lines.append(f"{name} is unknown for all molecules of the split {part!r}.")
            elif len(known) > 1 and (known == known[0]).all():
                value = f"{known[0]:g}"
                if task.kind == "probabilities":
                    value = names[int(known[0])].removeprefix(f"{name} = ")
                lines.append(f"{name} is {value} for all molecules of the split {part!r}.")
    return lines


def baselines(data: GraphDataset, task: Task) -> dict[str, list[float]]:
    """The task's metric on the test molecules, for predictors other than neural networks.

    They are a constant (the median of each target, or the most frequent class), ridge regression
    with a penalty of 1, and gradient-boosted trees with scikit-learn's default settings. The last
    two read Morgan counts. All settings are chosen in advance. Classes are fitted one against the
    rest. Without scikit-learn there is only the constant.

    Returns:
        dict: the scores by the name of the predictor: one number or, with several targets, the mean
            over targets followed by the score of each.
    """
    train = data.train
    test = data.test
    y = _one_hot(_targets(train), task)
    constant = y.nanmedian(dim=0).values if task.kind == "value" else y.nanmean(dim=0)
    scores = {"constant": scores_of(task, constant.expand(len(test), -1), test)}
    if find_spec("sklearn") is None:
        return scores
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.linear_model import Ridge

    x, x_test = morgan_counts(train, test)
    ridge = Ridge(alpha=1.0, solver="sparse_cg", tol=1e-8)
    scores["ridge on Morgan counts"] = _fitted(ridge, x, x_test, y, task, test)
    if len(train) <= MOST_FOR_TREES:
        common = min(MINIMUM, len(train)) <= (x > 0).sum(axis=0).A1
        if common.any():
            dense = x[:, common].toarray()
            dense_test = x_test[:, common].toarray()
            trees = HistGradientBoostingRegressor()
            name = "boosted trees on Morgan counts"
            scores[name] = _fitted(trees, dense, dense_test, y, task, test)
    return scores


def _fitted(
    model: Any, x: Any, x_test: Any, y: Tensor, task: Task, test: Sequence[Data]
) -> list[float]:
    """The scores of a regression that is fitted to each target where the target is known.

    Args:
        model: a model of scikit-learn, which is fitted again for each target.
        x: features of the training molecules, ``[G, K]``.
        x_test: features of the test molecules.
        y: targets of the training molecules, ``[G, T]``, NaN where unknown.
        task: what the targets are.
        test: the test molecules.
    """
    columns = []
    for column in y.T:
        known = (~column.isnan()).numpy()
        if not known.any():
            columns.append(np.zeros(len(test)))
            continue
        model.fit(x[known], column[known].double().numpy())
        columns.append(model.predict(x_test))
    predictions = torch.from_numpy(np.stack(columns, axis=1)).float()
    return scores_of(task, predictions, test)


def scores_of(task: Task, predictions: Tensor, test: Sequence[Data]) -> list[float]:
    """The task's metric of all targets and, if there are several, of each.

    Args:
        predictions: ``[G, T]`` in the unit of the targets, or ``[G, C]`` for C classes.
    """
    y = torch.cat([graph.y for graph in test])
    scores = [_score(task, predictions, y)]
    if task.kind != "probabilities" and predictions.dim() > 1 and predictions.shape[1] > 1:
        y = y.reshape(predictions.shape)
        columns = zip(predictions.split(1, dim=1), y.split(1, dim=1), strict=True)
        scores += [_score(task, predicted, known) for predicted, known in columns]
    return scores


def scores_of_targets(model: torch.nn.Module, task: Task, test: DenseLoader) -> list[float]:
    """The metric of a trained model on test graphs, for each of several targets."""
    predictions = []
    y = []
    with evaluating(model):
        for batch in test:
            predictions.append(task.predictions(model(batch.to(device()))).cpu())
            assert batch.y is not None
            y.append(batch.y.cpu())
    columns = zip(torch.cat(predictions).T, torch.cat(y).T, strict=True)
    return [_score(task, predicted[:, None], known[:, None]) for predicted, known in columns]


def _score(task: Task, predictions: Tensor, y: Tensor) -> float:
    """The metric of predictions ``[G, T]`` for targets with as many numbers."""
    metric = task.metric()
    if task.kind == "value":
        y = y.reshape(predictions.shape)
        known = ~y.isnan()
        metric.update(predictions[known], y[known])
    else:
        if task.kind == "probability" and y.dim() == 1:
            predictions = predictions[:, 0]
        if task.kind == "probabilities":
            y = y.flatten()  # [G], one class for each graph
        targets: Any = SimpleNamespace(y=y, target="graph")  # all that a metric reads of a batch
        task.update(metric, predictions, targets)
    return float(metric.compute())


def _one_hot(y: Tensor, task: Task) -> Tensor:
    """Classes ``[G, 1]`` as columns of 0 and 1, ``[G, C]``, NaN where unknown; numbers stay."""
    if task.kind != "probabilities":
        return y
    assert task.num_classes is not None  # as of all tasks with classes
    columns = (y == torch.arange(task.num_classes)).float()
    return columns.masked_fill(y == MISSING_LABEL, torch.nan)


def _targets(graphs: Sequence[Data]) -> Tensor:
    """The targets of graphs, ``[G, T]``."""
    y = torch.cat([graph.y for graph in graphs])
    return y.reshape(len(graphs), -1)


def morgan_counts(train: Sequence[Data], test: Sequence[Data]) -> tuple[Any, Any]:
    """How often each atom with its direct neighbours occurs, ``[G, K]`` for train and test, sparse.

    The columns are the K environments of the training molecules (Morgan fingerprints of radius 1).
    """
    from sklearn.feature_extraction import DictVectorizer

    chemistry = require("rdkit.Chem", "rdkit")
    fingerprints = require("rdkit.Chem.rdFingerprintGenerator", "rdkit")
    generator = fingerprints.GetMorganGenerator(radius=1)
    columns = DictVectorizer()

    def counts(graph: Data) -> dict[int, int]:
        molecule = chemistry.MolFromSmiles(graph.smiles)
        return generator.GetSparseCountFingerprint(molecule).GetNonzeroElements()

    return columns.fit_transform(map(counts, train)), columns.transform(map(counts, test))


def table(scores: dict[str, list[float]], metric: str, names: Sequence[str] = ()) -> list[str]:
    """A line for each predictor, in which the best is marked.

    Args:
        scores: the scores of each predictor, as :func:`baselines` returns them.
        metric: the name of the metric.
        names: the names of the targets. The lines of several targets follow those of their mean.
    """
    width = max(map(len, scores), default=0)
    # A ranking needs two classes; an error and an accuracy need a target.
    why = "no known target" if metric in ("mae", "accuracy") else "one class"
    lines = []
    several = len(names) > 1 and all(len(values) > 1 for values in scores.values())
    titles = ["mean over targets", *names] if several else [""]
    for number, title in enumerate(titles):
        column = {name: values[number] for name, values in scores.items()}
        known = [value for value in column.values() if not math.isnan(value)]
        best = min(known, default=None) if metric == "mae" else max(known, default=None)
        lines.append(f"{'':{width}}  " + ", ".join(filter(None, [f"test {metric}", title])))
        for name, value in column.items():
            line = f"{name:{width}}  {value:.4g}"
            if math.isnan(value):
                line = f"{name:{width}}  none: {why} in the test split"
            elif value == best:
                line += "  (best)"
            lines.append(line)
    return lines
