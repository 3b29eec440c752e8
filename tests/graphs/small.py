"""Graphs small enough to see through."""

from __future__ import annotations

import torch
from torch_geometric.data import Data

from gtcourse.graphs import GraphDataset
from gtcourse.graphs.molecules import ATOM_TYPES, BOND_TYPES


def chain(*atoms: int, y: float = 0.0, bond: int = 1) -> Data:
    """Atoms in a row, each bonded to the next."""
    pairs = [(i, i + 1) for i in range(len(atoms) - 1)]
    edges = sorted(pairs + [(j, i) for i, j in pairs])
    return Data(
        x=torch.tensor(atoms)[:, None],
        edge_index=torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).T.contiguous(),
        edge_attr=torch.full((len(edges), 1), bond),
        y=torch.tensor([y]),
    )


def three_chains() -> GraphDataset:
    """CO, C=C=N and a lone C: one for each split."""
    return GraphDataset(
        name="chains",
        source="made by a test",
        graphs=[chain(0, 1, y=1.5), chain(0, 0, 2, y=-2.0, bond=2), chain(0)],
        split=torch.tensor([0, 1, 2]),
        node_vocabulary=ATOM_TYPES,
        edge_vocabulary=BOND_TYPES,
    )
