"""What a molecular dataset looks like, and how far simple predictors get on it.

A Transformer's error means something only beside what needs no Transformer: the mean, and a linear
model on counts. The same functions describe the embedded molecules on the data page and, through
``experiments/zinc_statistics.py``, the real ZINC in ``recorded/zinc-statistics.json``.
"""

from __future__ import annotations

import json
from collections import Counter
from importlib.resources import files

import numpy as np
import torch
from scipy.sparse import csr_matrix, hstack
from torch_geometric.data import Data

from gtcourse.graphs.molecules import ATOM_TYPES, BOND_TYPES, parse
from gtcourse.graphs.ragged import GraphDataset

TARGET_BINS = np.arange(-10.0, 6.01, 0.5)
"""Edges of the target's histogram; the few targets below the first are counted apart."""


def describe(dataset: GraphDataset) -> dict:
    """Sizes, rings, atom and bond types, and targets of a dataset in ZINC's vocabulary."""
    sizes = np.array([graph.num_nodes for graph in dataset])
    bonds = np.array([graph.edge_index.shape[1] // 2 for graph in dataset])
    y = targets(dataset.graphs)
    atoms = torch.cat([graph.x[:, 0] for graph in dataset]).numpy()
    kinds = torch.cat([graph.edge_attr[:, 0] for graph in dataset]).numpy()
    signs = np.array([name[-1] in "+-" for name in ATOM_TYPES])
    return {
        "molecules": len(dataset),
        "atoms": _spread(sizes),
        "bonds": _spread(bonds),
        # Of a connected graph; benzene has 6 atoms and 6 bonds, hence one.
        "rings": _spread(bonds - sizes + 1),
        "target": _spread(y),
        "charged_percent": 100 * np.mean([signs[graph.x[:, 0]].any() for graph in dataset]),
        "atom_type_percent": _shares(atoms, ATOM_TYPES),
        "bond_type_percent": _shares(kinds, BOND_TYPES),
        "atoms_histogram": {int(n): int(count) for n, count in sorted(Counter(sizes).items())},
        "target_histogram": np.histogram(y, TARGET_BINS)[0].tolist(),
        "targets_below": int((y < TARGET_BINS[0]).sum()),
        "targets_above": int((y > TARGET_BINS[-1]).sum()),
    }


def simple_predictors(dataset: GraphDataset) -> dict[str, float]:
    """Mean absolute error on the test molecules of what was fitted to the training molecules.

    Ridge regressions have a penalty of 1, chosen in advance.
    """
    y, y_test = targets(dataset.train), targets(dataset.test)
    errors = {
        "mean": np.abs(y_test - y.mean()).mean(),
        "median": np.abs(y_test - np.median(y)).mean(),
    }
    atoms, atoms_test = atom_counts(dataset.train), atom_counts(dataset.test)
    bonds, bonds_test = bond_counts(dataset.train), bond_counts(dataset.test)
    both, both_test = hstack([atoms, bonds]).tocsr(), hstack([atoms_test, bonds_test]).tocsr()
    neighbourhoods = _neighbourhood_counts(dataset.train)
    columns = {key: i for i, key in enumerate(sorted(set().union(*neighbourhoods)))}
    environments = [
        _matrix(rows, columns) for rows in (neighbourhoods, _neighbourhood_counts(dataset.test))
    ]
    errors["ridge on atom counts"] = _ridge_error(atoms, y, atoms_test, y_test)
    errors["ridge on atom and bond counts"] = _ridge_error(both, y, both_test, y_test)
    errors["ridge on Morgan counts, radius 1"] = _ridge_error(
        environments[0], y, environments[1], y_test
    )
    return {name: float(error) for name, error in errors.items()}


def recorded_statistics() -> dict:
    """What was computed from the real ZINC-12k, with its provenance."""
    return json.loads((files("gtcourse") / "recorded" / "zinc-statistics.json").read_text())


def targets(graphs: list[Data]) -> np.ndarray:
    """``[G]`` float64."""
    return torch.cat([graph.y for graph in graphs]).double().numpy()


def atom_counts(graphs: list[Data]) -> csr_matrix:
    """How many atoms of each type, ``[G, 28]``."""
    return csr_matrix(
        np.stack([np.bincount(graph.x[:, 0], minlength=len(ATOM_TYPES)) for graph in graphs])
    )


def bond_counts(graphs: list[Data]) -> csr_matrix:
    """How many single, double and triple bonds, ``[G, 3]``."""
    directed = [np.bincount(graph.edge_attr[:, 0], minlength=len(BOND_TYPES)) for graph in graphs]
    return csr_matrix(np.stack(directed)[:, 1:] / 2)


def _neighbourhood_counts(graphs: list[Data]) -> list[dict[int, int]]:
    """Morgan (circular) fingerprints: each atom, alone and with its neighbours, counted by kind."""
    from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

    generator = GetMorganGenerator(radius=1)
    return [
        generator.GetSparseCountFingerprint(parse(graph.smiles)).GetNonzeroElements()
        for graph in graphs
    ]


def _matrix(rows: list[dict[int, int]], columns: dict[int, int]) -> csr_matrix:
    """Counts as a sparse matrix; kinds that training never showed are left out."""
    entries = [
        (i, columns[key], count)
        for i, row in enumerate(rows)
        for key, count in row.items()
        if key in columns
    ]
    place_i, place_j, values = zip(*entries, strict=True)
    shape = (len(rows), len(columns))
    return csr_matrix((np.array(values, dtype=float), (place_i, place_j)), shape=shape)


def _ridge_error(x: csr_matrix, y: np.ndarray, x_test: csr_matrix, y_test: np.ndarray) -> float:
    from sklearn.linear_model import Ridge

    model = Ridge(alpha=1.0, solver="sparse_cg", tol=1e-8).fit(x.astype(float), y)
    return np.abs(model.predict(x_test.astype(float)) - y_test).mean()


def _spread(values: np.ndarray) -> dict[str, float]:
    low, high = np.percentile(values, [5, 95])
    summary = {
        "mean": values.mean(),
        "sd": values.std(),
        "min": values.min(),
        "5%": low,
        "95%": high,
        "max": values.max(),
    }
    return {name: float(value) for name, value in summary.items()}


def _shares(types: np.ndarray, vocabulary: tuple[str, ...]) -> dict[str, float]:
    counts = np.bincount(types, minlength=len(vocabulary))
    return {
        name: float(100 * count / len(types))
        for name, count in zip(vocabulary, counts, strict=True)
        if count
    }
