"""The line to beat in every table of molecules: ``python -m experiments.simple_predictors``.

The predictors are fitted to the same training molecules and scored on the same test molecules as
the models in the table.
"""

import argparse
import json
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from scipy.sparse import csr_matrix, hstack
from torch_geometric.data import Data

from experiments.chapter07 import first_training
from gtcourse import load_dataset
from gtcourse.graphs.ragged import GraphDataset
from gtcourse.training.records import current_commit, device_name, installed_versions
from tools.paths import PACKAGE

PATH = PACKAGE / "recorded" / "simple-predictors.json"
SIZES = (1000, 2000, 4000, 10_000)  # the training molecules of the chapters


MINIMUM = 5  # molecules in which a Morgan count occurs, for the trees, which take dense columns


def simple_errors(dataset: GraphDataset) -> dict[str, float]:
    """Mean absolute error on the test molecules, by predictor, in the target's unit.

    Ridge regressions have a penalty of 1, gradient-boosted trees scikit-learn's default settings;
    both were chosen in advance. About half a minute for 10,000 molecules.
    """
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.linear_model import Ridge

    train, test = dataset.train, dataset.test
    y, y_test = (torch.cat([g.y for g in part]).double().numpy() for part in (train, test))

    def error(model: object, x: csr_matrix, x_test: csr_matrix) -> float:
        return float(np.abs(model.fit(x, y).predict(x_test) - y_test).mean())

    atoms = [_counts(part, "x") for part in (train, test)]
    atoms_and_bonds = [
        hstack([x, _counts(part, "edge_attr") / 2]).tocsr()
        for x, part in zip(atoms, (train, test), strict=True)
    ]
    morgan = morgan_counts(train, test)
    common = (morgan[0] > 0).sum(axis=0).A1 >= MINIMUM
    dense = [x[:, common].toarray() for x in morgan]
    ridge = Ridge(alpha=1.0, solver="sparse_cg", tol=1e-8)
    return {
        "mean": float(np.abs(y_test - y.mean()).mean()),
        "ridge on atom counts": error(ridge, *atoms),
        "ridge on atom and bond counts": error(ridge, *atoms_and_bonds),
        "ridge on Morgan counts": error(ridge, *morgan),
        "boosted trees on Morgan counts": error(HistGradientBoostingRegressor(), *dense),
    }


def morgan_counts(train: list[Data], test: list[Data]) -> list[csr_matrix]:
    """How often each atom with its direct neighbours occurs, ``[G, K]`` for train and test.

    The columns are the K environments of the training molecules (Morgan fingerprints of radius 1).
    """
    from rdkit.Chem import MolFromSmiles
    from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

    generator = GetMorganGenerator(radius=1)
    rows = [
        [
            generator.GetSparseCountFingerprint(MolFromSmiles(graph.smiles)).GetNonzeroElements()
            for graph in part
        ]
        for part in (train, test)
    ]
    column = {key: i for i, key in enumerate(sorted(set().union(*rows[0])))}
    return [_matrix(part, column) for part in rows]


def _matrix(rows: list[dict[int, int]], column: dict[int, int]) -> csr_matrix:
    entries = [
        (count, i, column[key])
        for i, row in enumerate(rows)
        for key, count in row.items()
        if key in column
    ]
    values, i, j = zip(*entries, strict=True)
    return csr_matrix((np.array(values, dtype=float), (i, j)), shape=(len(rows), len(column)))


def _counts(graphs: list[Data], attribute: str) -> csr_matrix:
    """How often each value of a categorical attribute occurs, ``[G, 32]``."""
    values = [graph[attribute][:, 0].numpy() for graph in graphs]
    return csr_matrix(np.stack([np.bincount(v, minlength=32) for v in values]).astype(float))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--zinc", type=Path, required=True, help="ZINC-12k as a graph file")
    args = parser.parse_args()
    molecules, zinc = load_dataset("molecules"), load_dataset("zinc", source=args.zinc)
    errors = {
        f"molecules, {size} molecules": simple_errors(first_training(molecules, size))
        for size in SIZES
    }
    errors["zinc, 10000 molecules"] = simple_errors(zinc)
    content = {
        "name": "simple-predictors",
        "data": [molecules.provenance, zinc.provenance],
        "test_mae": errors,
        "command": f"python -m experiments.simple_predictors --zinc {args.zinc.name}",
        "commit": current_commit(),
        "device": device_name(),
        "versions": installed_versions() | {"scikit-learn": version("scikit-learn")},
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }
    PATH.write_text(json.dumps(content, indent=1) + "\n")
    print(json.dumps(errors, indent=1))


if __name__ == "__main__":
    main()
