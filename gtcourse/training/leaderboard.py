"""What a model's error is compared with: every model at two sizes, and the line to beat.

Each model of the leaderboard, chapter 10's equal budget, keeps what its paper reads of a graph and
how deep its paper is; the width makes up for the count. No dropout of any kind, for any of them:
the runs are too short to overfit.

The line to beat is what is reached on molecules without a neural network. An error means something
only beside it: fitted to the same training molecules and scored on the same test molecules.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from typing import Literal

import numpy as np
import torch
from scipy.sparse import csr_matrix, hstack
from torch import nn
from torch_geometric.data import Data

from gtcourse import encodings, models
from gtcourse.graphs.ragged import GraphDataset

ATOMS, BONDS = 28, 4
EIGENVECTORS = 8
SIZES = {"100k": 100_000, "500k": 500_000}


@dataclass(frozen=True)
class Entry:
    """One model at one size, called "model-size", and the encodings that it reads."""

    name: str
    build_model: Callable[[], nn.Module]
    transforms: tuple[encodings.Encoding, ...] = ()

    model = property(lambda self: self.name.rsplit("-", 1)[0])
    size = property(lambda self: self.name.rsplit("-", 1)[1])


def _entries(size: str) -> list[Entry]:
    def of(at_100k: int, at_500k: int) -> int:
        return at_100k if size == "100k" else at_500k

    def entry(name: str, model: Callable, config, *transforms: encodings.Encoding) -> Entry:
        return Entry(f"{name}-{size}", partial(model, config), transforms)

    nodes = {"num_node_types": ATOMS, "num_node_features": 0, "num_layers": of(4, 16)}
    both = {**nodes, "num_edge_types": BONDS}
    dense = {"d_model": of(64, 80), "num_layers": of(4, 12)}
    dense |= {"dropout": 0.0, "attention_dropout": 0.0}
    bag = models.BagTransformerConfig(ATOMS, of(56, 80), 8, of(4, 10), of(112, 152))
    gin = models.GINConfig(**nodes, d_model=of(108, 122))
    gat = models.GATConfig(**nodes, d_model=of(144, 168))
    gatedgcn = models.GatedGCNConfig(**both, d_model=of(68, 77))
    signnet = models.GatedGCNConfig(**both, d_model=of(62, 76))
    egt = models.EGTConfig(
        d_model=of(56, 72), d_edge=of(16, 32), num_layers=of(4, 10), svd_rank=EIGENVECTORS,
        flip_signs="pairs",
    )  # fmt: skip
    csa = models.CGTConfig(
        d_model=of(52, 76), d_position=of(16, 28), num_layers=of(4, 10), rings="categorical",
        edge_ablation=0.0,
    )  # fmt: skip
    eigenvectors = encodings.AddLaplacianEigenvectors(EIGENVECTORS, skip_first=True)
    distances = encodings.AddShortestPaths()
    paths = encodings.AddDegrees(), distances, encodings.AddPathEdges(20)
    walks, rings = encodings.AddRandomWalks(20), encodings.AddRings(18)
    return [
        entry("transformer", models.BagTransformer, bag),
        entry("gin", models.GIN, gin),
        entry("gat", models.GAT, gat),
        entry("gatedgcn", models.GatedGCN, gatedgcn),
        entry("signnet", _signnet, signnet, eigenvectors),
        entry("graphormer", models.Graphormer, models.GraphormerConfig(**dense), *paths),
        entry("egt", models.EGT, egt, encodings.AddSVD(EIGENVECTORS)),
        entry("grpe", models.GRPE, models.GRPEConfig(**dense), distances),
        entry("csa", models.CGT, csa, walks, rings),
    ]


def _signnet(config: models.GatedGCNConfig) -> models.GatedGCN:
    signnet = models.SignNetConfig(
        k=EIGENVECTORS, d_model=config.d_model, phi_layers=3, phi_hidden=32, phi_out=8,
        rho_layers=2, rho_hidden=64,
    )  # fmt: skip
    return models.GatedGCN(config, models.SignNet(signnet))


LEADERBOARD: dict[str, Entry] = {entry.name: entry for size in SIZES for entry in _entries(size)}

MINIMUM = 5  # molecules in which a Morgan count occurs, for the trees, which take dense columns


def simple_errors(
    dataset: GraphDataset, metric: Literal["mae", "auroc"] = "mae"
) -> dict[str, float]:
    """Mean absolute error on the test molecules, by predictor, in the target's unit.

    With "auroc", the area under the ROC curve instead, for targets that are 0 or 1.

    Ridge regressions have a penalty of 1, gradient-boosted trees scikit-learn's default settings;
    both were chosen in advance. About half a minute for 10,000 molecules.
    """
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.linear_model import Ridge
    from sklearn.metrics import mean_absolute_error, roc_auc_score

    train, test = dataset.train, dataset.test
    y, y_test = (torch.cat([g.y for g in part]).double().numpy() for part in (train, test))
    score = {"mae": mean_absolute_error, "auroc": roc_auc_score}[metric]

    def error(model: object, x: csr_matrix, x_test: csr_matrix) -> float:
        return float(score(y_test, model.fit(x, y).predict(x_test)))

    atoms, bonds = ([_counts(part, key) for part in (train, test)] for key in ("x", "edge_attr"))
    atoms_and_bonds = [hstack([x, e / 2]).tocsr() for x, e in zip(atoms, bonds, strict=True)]
    morgan = morgan_counts(train, test)
    common = (morgan[0] > 0).sum(axis=0).A1 >= MINIMUM
    dense = [x[:, common].toarray() for x in morgan]
    ridge = Ridge(alpha=1.0, solver="sparse_cg", tol=1e-8)
    return {
        "mean": float(score(y_test, np.full_like(y_test, y.mean()))),
        "ridge on atom counts": error(ridge, *atoms),
        "ridge on atom and bond counts": error(ridge, *atoms_and_bonds),
        "ridge on Morgan counts": error(ridge, *morgan),
        "boosted trees on Morgan counts": error(HistGradientBoostingRegressor(), *dense),
    }


def line_to_beat(data: str = "molecules", train: int = 10_000) -> dict[str, float]:
    """Recorded :func:`simple_errors`, fitted to the first ``train`` training molecules.

    Of "molecules", the embedded ones, "zinc", the real ZINC-12k, or "molhiv", whose scores are
    areas under the ROC curve. Raises a KeyError if nothing is recorded for this number of them.
    """
    record = json.loads((files("gtcourse") / "recorded" / "simple-predictors.json").read_text())
    return (record["test_mae"] | record["test_auroc"])[f"{data}, {train} molecules"]


def morgan_counts(train: list[Data], test: list[Data]) -> list[csr_matrix]:
    """How often each atom with its direct neighbours occurs, ``[G, K]`` for train and test.

    The columns are the K environments of the training molecules (Morgan fingerprints of radius 1).
    """
    from rdkit.Chem import MolFromSmiles
    from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator
    from sklearn.feature_extraction import DictVectorizer

    generator, columns = GetMorganGenerator(radius=1), DictVectorizer()

    def counts(graph: Data) -> dict[int, int]:
        molecule = MolFromSmiles(graph.smiles)
        return generator.GetSparseCountFingerprint(molecule).GetNonzeroElements()

    return [columns.fit_transform(map(counts, train)), columns.transform(map(counts, test))]


def _counts(graphs: list[Data], attribute: str) -> csr_matrix:
    """How often each value of a categorical attribute occurs, ``[G, 128]``."""
    values = [graph[attribute][:, 0].numpy() for graph in graphs]
    return csr_matrix(np.stack([np.bincount(v, minlength=128) for v in values]).astype(float))
