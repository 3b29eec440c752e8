"""What a molecular dataset looks like.

The same functions describe the embedded molecules on the data page and, through
``experiments/zinc_statistics.py``, the real ZINC in ``recorded/zinc-statistics.json``.
"""

from __future__ import annotations

import json
from collections import Counter
from importlib.resources import files

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch_geometric.data import Data

from gtcourse.graphs.molecules import ATOM_TYPES, BOND_TYPES
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
