"""Errors of simple predictors, with which a model's error is compared.

The error of a model means little without this comparison. The simple predictors are fitted to the
same training molecules and scored on the same test molecules.
"""

from __future__ import annotations

from collections import Counter
from typing import Literal

import numpy as np
import torch
from scipy.sparse import csr_matrix, hstack
from torch_geometric.data import Data

from gtcourse.course.records import measurement
from gtcourse.graphs.dataset import GraphDataset
from gtcourse.recipes.small import SMALL_MODELS
from gtcourse.runs.overview import morgan_counts as morgan_counts

LEADERBOARD = SMALL_MODELS

MINIMUM = 5  # molecules in which a Morgan count occurs, for the trees, which take dense columns

BEST_SIMPLE = "ridge on 1-WL colour counts"
"""The simple predictor that is the first row of every table of networks on ZINC."""


def simple_errors(
    dataset: GraphDataset, metric: Literal["mae", "auroc"] = "mae"
) -> dict[str, float]:
    """Mean absolute errors on the test molecules, by predictor, in the unit of the target.

    With "auroc" they are areas under the ROC curve, for targets of 0 or 1.

    Ridge regression has a penalty of 1, and gradient-boosted trees have scikit-learn's default
    settings; both were chosen in advance. It takes about a minute for 10,000 molecules.
    """
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.linear_model import Ridge
    from sklearn.metrics import mean_absolute_error, roc_auc_score

    train = dataset.train
    test = dataset.test
    y = torch.cat([graph.y for graph in train]).double().numpy()
    y_test = torch.cat([graph.y for graph in test]).double().numpy()
    score = {"mae": mean_absolute_error, "auroc": roc_auc_score}[metric]

    def error(model: object, x: csr_matrix, x_test: csr_matrix) -> float:
        return float(score(y_test, model.fit(x, y).predict(x_test)))

    atoms = [_counts(train, "x"), _counts(test, "x")]
    atoms_and_bonds = []
    for part, of_atoms in zip((train, test), atoms, strict=True):
        bonds = _counts(part, "edge_attr") / 2  # both directions of a bond are there
        atoms_and_bonds.append(hstack([of_atoms, bonds]).tocsr())
    morgan = morgan_counts(train, test)
    common = (morgan[0] > 0).sum(axis=0).A1 >= MINIMUM
    dense = [x[:, common].toarray() for x in morgan]
    ridge = Ridge(alpha=1.0, solver="sparse_cg", tol=1e-8)
    return {
        "mean": float(score(y_test, np.full_like(y_test, y.mean()))),
        "ridge on atom counts": error(ridge, *atoms),
        "ridge on atom and bond counts": error(ridge, *atoms_and_bonds),
        "ridge on Morgan counts": error(ridge, *morgan),
        "boosted trees on Morgan counts": error(
            HistGradientBoostingRegressor(random_state=0), *dense
        ),
        BEST_SIMPLE: error(ridge, *colour_counts(train, test)),
    }


def line_to_beat(data: str = "molecules", train: int = 10_000) -> dict[str, float]:
    """Recorded :func:`simple_errors`, fitted to the first ``train`` training molecules.

    ``data`` is "molecules" (the embedded ones), "zinc" (the real ZINC-12k) or "molhiv", whose
    scores are areas under the ROC curve. Raises a ValueError if nothing is recorded for this number
    of molecules.
    """
    record = measurement("simple-predictors")
    errors = record["test_mae"] | record["test_auroc"]
    wanted = f"{data}, {train} molecules"
    if wanted not in errors:
        raise ValueError(
            f"no errors of simple predictors are recorded for {wanted!r}; expected one of "
            f"{', '.join(map(repr, errors))}."
        )
    return errors[wanted]


def colour_counts(train: list[Data], test: list[Data], rounds: int = 4) -> list[csr_matrix]:
    """How often each colour of 1-WL occurs, ``[G, K]`` for train and test.

    A node's first colour consists of its categories. In each round, its new colour combines the old
    colour with the multiset of its neighbours' colours and the categories of the edges to them. The
    columns are the K colours of the training graphs, of all rounds from 0 to ``rounds``.
    """
    from sklearn.feature_extraction import DictVectorizer

    numbers: dict[tuple, int] = {}
    columns = DictVectorizer()

    def number(signature: tuple) -> int:
        """A number for each signature; unlike hashes, numbers never collide."""
        return numbers.setdefault(signature, len(numbers))

    def counts(graph: Data) -> Counter[int]:
        neighbours: list[list[tuple]] = [[] for _ in range(graph.num_nodes)]
        edges = zip(*graph.edge_index.tolist(), graph.edge_attr.tolist(), strict=True)
        for source, target, categories in edges:
            neighbours[target].append((categories, source))
        colours = [number((0, *categories)) for categories in graph.x.tolist()]
        found = Counter(colours)
        for level in range(1, rounds + 1):
            colours = [
                number((level, colour, tuple(sorted((*edge, colours[j]) for edge, j in around))))
                for colour, around in zip(colours, neighbours, strict=True)
            ]
            found.update(colours)
        return found

    return [columns.fit_transform(map(counts, train)), columns.transform(map(counts, test))]


def _counts(graphs: list[Data], attribute: str) -> csr_matrix:
    """How often each value of a categorical attribute occurs, ``[G, 128]``."""
    values = [graph[attribute][:, 0].numpy() for graph in graphs]
    return csr_matrix(np.stack([np.bincount(v, minlength=128) for v in values]).astype(float))
