"""12,000 real molecules that need no network: they lie inside the installed RDKit.

RDKit ships two files for its own tests: 10,000 molecules of a high-throughput screening library
(WEHI, Melbourne) and the first 5,000 of the open NCI collection. All of the first that qualify
and then as many of the second as are needed, in file order, make a dataset like ZINC-12k: the same
size, vocabulary and target. A molecule qualifies when

- RDKit reads it, and it is one piece (no salts or mixtures) of 9 to 37 heavy atoms,
- all its atoms and bonds have a type in ZINC's vocabulary, and it has no radicals and isotopes,
- no earlier molecule has its identity, which is the canonical SMILES without stereo marks. (Neither
  file has any: no two of the molecules differ only there, and no two only in where charges sit.)

The molecules are sorted by sha256 of their identity: the first 10,000 are for training, the next
1,000 for validation, the last 1,000 for testing. Whatever machine builds it, the file is the same.
"""

from __future__ import annotations

import csv
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from tqdm import tqdm

from gtcourse.graphs.chemistry import (
    ATOM_TYPES,
    BOND_TYPES,
    RDKIT_MISSING,
    UnsuitableMolecule,
    graph_of,
    identity,
    parse,
    penalized_logp,
    rdkit_chem,
)
from gtcourse.graphs.dataset import GraphDataset
from gtcourse.graphs.generated import read_or_build
from gtcourse.graphs.npz import file_sha256
from gtcourse.graphs.ragged import RaggedGraphs

RDKIT = "2026.9.1"
"""The RDKit with which the course's numbers were made."""

CHECKSUM = "52c73cadf47c05add31ab855986b2a61e47a07432767e9990c2e5a8803e5a9d6"
"""sha256 of the graph file that this RDKit gives."""

SOURCES = {
    "Pains/test_data/wehi_mols.csv": (
        "ef14f29a583486042fe4fd8ed8d946aba20963dd3e9d756ea2e3f133f477bed9"
    ),
    "NCI/first_5K.smi": "91e71c015f14939837f2943dcc904f7c87e5a3a0124d82b05c28ad2f23004def",
}
"""The files below RDKit's data folder, in the order they are used, and their sha256."""

SPLIT_SIZES = (10_000, 1_000, 1_000)
NUM_ATOMS = range(9, 38)


def load_molecules(root: Path) -> GraphDataset:
    """The embedded molecules, built on the first call and kept under ``root``.

    Raises:
        ImportError: RDKit is not installed.
        RuntimeError: its files are not the ones that the molecules were chosen from.
    """
    version = _rdkit_version()
    path = root / f"molecules-rdkit-{version}-{CHECKSUM[:8]}.npz"
    dataset = read_or_build(path, build_molecules, "molecules")
    return replace(dataset, source=_source(version, dataset.checksum))


def build_molecules(refused: Counter | None = None) -> RaggedGraphs:
    """Chooses, featurises and sorts the molecules; about 20 seconds.

    Args:
        refused: counts, by reason, the molecules that were left out.
    """
    refused = Counter() if refused is None else refused
    chosen = dict(_choose(sum(SPLIT_SIZES), refused))
    order = sorted(chosen, key=lambda name: hashlib.sha256(name.encode()).digest())
    molecules = [chosen[name] for name in order]
    edges = [_directed(bonds) for _, _, bonds, _ in molecules]
    return RaggedGraphs(
        num_nodes=np.array([len(atoms) for _, atoms, _, _ in molecules]),
        num_edges=np.array([len(rows) for rows in edges]),
        edge_index=np.concatenate(edges)[:, :2].T,
        node={"x": np.concatenate([atoms for _, atoms, _, _ in molecules])[:, None]},
        edge={"edge_attr": np.concatenate(edges)[:, 2:]},
        graph={
            "y": np.array([y for _, _, _, y in molecules], dtype=np.float32),
            "split": np.repeat(np.arange(3), SPLIT_SIZES),
        },
        smiles=[smiles for smiles, _, _, _ in molecules],
        node_vocabulary=ATOM_TYPES,
        edge_vocabulary=BOND_TYPES,
    )


def _choose(count: int, refused: Counter) -> Iterator[tuple[str, tuple]]:
    """The first ``count`` distinct suitable molecules: identity, (SMILES, atoms, bonds, target)."""
    from rdkit import rdBase

    seen = set()
    # RDKit reports each of the few strings that it cannot read on the terminal.
    with rdBase.BlockLogs(), tqdm(total=count, desc="molecules", leave=False) as bar:
        for smiles in _smiles():
            if len(seen) == count:
                return
            try:
                name, molecule = _suitable(smiles, seen)
            except UnsuitableMolecule as error:
                refused[error.reason] += 1
                continue
            seen.add(name)
            bar.update()
            yield name, molecule
    raise RuntimeError(f"RDKit's files hold {len(seen)} suitable molecules; expected {count}.")


def _suitable(smiles: str, seen: set[str]) -> tuple[str, tuple]:
    chem = rdkit_chem()
    _require("." not in smiles, "several pieces", smiles)
    molecule = parse(smiles)
    _require(molecule.GetNumAtoms() in NUM_ATOMS, "not 9 to 37 heavy atoms", smiles)
    odd = any(atom.GetNumRadicalElectrons() or atom.GetIsotope() for atom in molecule.GetAtoms())
    _require(not odd, "radical or isotope", smiles)
    name = identity(molecule)
    _require(name not in seen, "seen before", smiles)
    # Read it again, so that atom i of the graph is atom i of the SMILES stored with it.
    canonical = chem.MolToSmiles(molecule)
    molecule = parse(canonical)
    atoms, bonds = graph_of(molecule, canonical)
    return name, (canonical, atoms, bonds, penalized_logp(molecule))


def _require(condition: bool, reason: str, smiles: str) -> None:
    if not condition:
        raise UnsuitableMolecule(reason, f"{smiles!r} does not qualify: {reason}.")


def _smiles() -> Iterator[str]:
    """Every SMILES string of the source files, which are checked first."""
    from rdkit import RDConfig

    for name, expected in SOURCES.items():
        path = Path(RDConfig.RDDataDir, name)
        found = file_sha256(path) if path.is_file() else "no such file"
        if found != expected:
            raise RuntimeError(
                f"the embedded molecules are chosen from {name} as in RDKit {RDKIT} (sha256 "
                f"{expected[:12]}…), but RDKit {_rdkit_version()} has another one ({path}: "
                f"{found[:12]}…); run `pip install rdkit=={RDKIT}`, or read a graph file with "
                "load_dataset('molecules', source='….npz')."
            )
        with open(path, newline="", encoding="utf-8") as file:
            rows = csv.reader(file, delimiter="," if name.endswith(".csv") else "\t")
            yield from (row[0] for row in rows if row)


def _directed(bonds: list[tuple[int, int, int]]) -> np.ndarray:
    """Both directions of every bond, row by row of the adjacency matrix, as in ZINC's files."""
    return np.array(sorted(bonds + [(j, i, kind) for i, j, kind in bonds]))


def _source(version: str, checksum: str) -> str:
    if checksum == CHECKSUM:
        return f"embedded: 12,000 molecules of RDKit {version}"
    return (
        f"embedded: 12,000 molecules of RDKit {version}, not byte for byte those of the course's "
        f"numbers (RDKit {RDKIT}): splits and targets may differ"
    )


def _rdkit_version() -> str:
    try:
        import rdkit
    except ImportError:
        raise ImportError(RDKIT_MISSING) from None
    parts = rdkit.__version__.split(".")  # "2026.09.1", which PyPI calls 2026.9.1
    return ".".join(part.lstrip("0") or "0" for part in parts)
