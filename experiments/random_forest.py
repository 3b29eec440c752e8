"""A random forest on ogbg-molhiv: ``python -m experiments.random_forest --molhiv FILE``.

Scikit-learn's forest with its default settings, chosen in advance, on the Morgan counts of the
other simple predictors (:func:`gtcourse.course.leaderboard.simple_errors`).
"""

import argparse
from pathlib import Path

import pandas as pd
from rdkit import Chem
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from torch_geometric.data import Data

from experiments.runs import store_measurement
from gtcourse.course.leaderboard import MINIMUM
from gtcourse.course.records import RECORDS
from gtcourse.runs.overview import morgan_counts

SEEDS = (0, 1, 2)

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--molhiv", type=Path, required=True, help="ogbg-molhiv as a CSV file")
    args = parser.parse_args()
    table = pd.read_csv(args.molhiv)
    readable = table["smiles"].map(lambda smiles: Chem.MolFromSmiles(smiles) is not None)
    table = table[readable]
    parts = [table[table["split"] == name] for name in ("train", "test")]
    y, y_test = (part["HIV_active"].to_numpy() for part in parts)
    # All that the counts read of a graph is its SMILES.
    molecules = [[Data(smiles=smiles) for smiles in part["smiles"]] for part in parts]
    x, x_test = morgan_counts(*molecules)
    common = (x > 0).sum(axis=0).A1 >= MINIMUM
    x, x_test = (part[:, common].astype("float32").toarray() for part in (x, x_test))
    scores = []
    for seed in SEEDS:
        forest = RandomForestClassifier(random_state=seed).fit(x, y)
        scores.append(float(roc_auc_score(y_test, forest.predict_proba(x_test)[:, 1])))
        print(f"seed {seed}: {scores[-1]:.4f}", flush=True)
    content = {
        "name": "random-forest",
        "data": {
            "name": "molhiv",
            "source": f"file: {args.molhiv.name}",
            "sizes": {"train": len(y), "test": len(y_test)},
            "unreadable": int((~readable).sum()),
        },
        "model": f"RandomForestClassifier() with {forest.n_estimators} trees",
        "columns": int(common.sum()),
        "seeds": list(SEEDS),
        "test_auroc": scores,
    }
    store_measurement(
        RECORDS / "random-forest.json", content, "python -m experiments.random_forest --molhiv …"
    )
