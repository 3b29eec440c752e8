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
import importlib.util
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
from tqdm import tqdm

from gtcourse.graphs.files import file_sha256
from gtcourse.graphs.ragged import GraphDataset, RaggedGraphs, load_cached

ATOM_TYPES = (
    "C", "O", "N", "F", "C H1", "S", "Cl", "O -", "N H1 +", "Br", "N H3 +", "N H2 +", "N +", "N -",
    "S -", "I", "P", "O H1 +", "N H1 -", "O +", "S +", "P H1", "P H2", "C H2 -", "P +", "S H1 +",
    "C H1 -", "P H1 +",
)  # fmt: skip
"""ZINC's 28 atom types: element, explicit hydrogens, sign of the charge."""

BOND_TYPES = ("NONE", "SINGLE", "DOUBLE", "TRIPLE")
"""ZINC's bond types, Kekulé form (a ring of alternating bonds, no aromatic type); 0 is no bond."""

LOGP, SYNTHETIC_ACCESSIBILITY, CYCLE, OFFSET = 0.6976318, -1.1981676, 3.4751391, 2.1118300
"""Coefficients of ZINC-12k's stored target; they reproduce all 12,000 values to 1e-6."""

RDKIT_MISSING = (
    "the molecules need RDKit, which is not installed; install it with `pip install rdkit`, or "
    "read a graph file with load_dataset(name, source='….npz')."
)


class UnsuitableMolecule(ValueError):  # noqa: N818 (says what it is)
    """A molecule that a dataset cannot hold; ``reason`` names the rule in a few words."""

    def __init__(self, reason: str, sentence: str):
        super().__init__(sentence)
        self.reason = reason


def molecule_graph(smiles: str) -> tuple[list[int], list[tuple[int, int, int]]]:
    """Atom types and bonds (atom, atom, bond type) of a molecule, in the SMILES' atom order.

    The benchmark's own rule: write aromatic rings as alternating single and double bonds, then
    name an atom by its element, the hydrogens written at it, and the sign of its charge.

    Raises:
        UnsuitableMolecule: RDKit cannot read it, or a type is outside the vocabulary.
    """
    return graph_of(parse(smiles), smiles)


def parse(smiles: str):
    """The RDKit molecule of a SMILES string."""
    molecule = rdkit_chem().MolFromSmiles(smiles)
    if molecule is None:
        raise UnsuitableMolecule("unreadable", f"{smiles!r} is no molecule that RDKit can read.")
    return molecule


def graph_of(molecule, smiles: str) -> tuple[list[int], list[tuple[int, int, int]]]:
    """:func:`molecule_graph` of a parsed molecule, which it leaves as it is."""
    chem = rdkit_chem()
    molecule = chem.Mol(molecule)
    chem.Kekulize(molecule, clearAromaticFlags=True)
    atoms = [atom_type(atom) for atom in molecule.GetAtoms()]
    bonds = [
        (bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), bond.GetBondType().name)
        for bond in molecule.GetBonds()
    ]
    for names, vocabulary, kind in (
        (atoms, ATOM_TYPES, "atom"),
        ([name for _, _, name in bonds], BOND_TYPES[1:], "bond"),
    ):
        unknown = sorted(set(names) - set(vocabulary))
        if unknown:
            raise UnsuitableMolecule(
                f"{kind} type",
                f"{smiles!r} has the {kind} type {unknown[0]!r}; expected one of ZINC's: "
                f"{', '.join(vocabulary)}.",
            )
    return (
        [ATOM_TYPES.index(name) for name in atoms],
        [(i, j, BOND_TYPES.index(name)) for i, j, name in bonds],
    )


def atom_type(atom) -> str:
    """The name of an atom's type; hydrogens written in the SMILES count, implicit ones do not."""
    hydrogens, charge = atom.GetNumExplicitHs(), atom.GetFormalCharge()
    sign = " +" if charge > 0 else " -" if charge < 0 else ""
    return atom.GetSymbol() + (f" H{hydrogens}" if hydrogens else "") + sign


def penalized_logp(molecule) -> float:
    r"""ZINC's target: :math:`0.698\,\log P - 1.198\,\mathrm{SA} + 3.475\,c + 2.112`.

    logP is Crippen's estimate of how much better the molecule dissolves in octanol than in water
    (decimal logarithm), SA Ertl's synthetic accessibility from 1, easy, to 10, hard, and
    :math:`c = -\max(0, r - 6)` with r the atoms in the largest ring. ZINC's authors shift and
    scale each term by statistics of the whole database; the coefficients contain that.

    Differs from the benchmark: r comes from RDKit's smallest set of smallest rings. The benchmark
    took an arbitrary cycle basis; in 44 of its 12,000 molecules that gives another r.
    """
    return (
        LOGP * log_p(molecule)
        + SYNTHETIC_ACCESSIBILITY * synthetic_accessibility(molecule)
        + CYCLE * -max(0, largest_ring(molecule) - 6)
        + OFFSET
    )


def log_p(molecule) -> float:
    """Crippen's estimate of logP: octanol against water, decimal logarithm."""
    from rdkit.Chem import Crippen

    return Crippen.MolLogP(molecule)


def synthetic_accessibility(molecule) -> float:
    """Ertl's score of how hard a molecule is to make: 1, easy, to 10, hard."""
    return _sascorer().calculateScore(molecule)


def identity(molecule) -> str:
    """What makes two molecules the same one here: canonical SMILES without stereo marks."""
    return rdkit_chem().MolToSmiles(molecule, isomericSmiles=False)


def largest_ring(molecule) -> int:
    """Atoms in the largest ring of the smallest set of smallest rings; 0 without rings."""
    return max((len(ring) for ring in rdkit_chem().GetSSSR(molecule)), default=0)


@cache
def rdkit_chem() -> ModuleType:
    """``rdkit.Chem``, imported when it is first needed."""
    try:
        from rdkit import Chem
    except ImportError:
        raise ImportError(RDKIT_MISSING) from None
    return Chem


@cache
def _sascorer() -> ModuleType:
    """RDKit's contributed SA score; a script beside the package, so it is loaded by its path."""
    from rdkit import RDConfig

    path = Path(RDConfig.RDContribDir, "SA_Score", "sascorer.py")
    if not path.is_file():
        raise ImportError(
            f"this RDKit has no {path}, which computes the synthetic accessibility; install the "
            "one from PyPI (`pip install rdkit`) or conda-forge."
        )
    specification = importlib.util.spec_from_file_location("sascorer", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


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
    tag = f"-rdkit-{version}"
    dataset = load_cached(root, "molecules", build_molecules, "", CHECKSUM, tag)
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


OGB_MISSING = (
    "the graphs of pcqm4mv2 are made by the package ogb, which is not installed; install it with "
    "`pip install ogb`, or read a graph file with load_dataset(name, source='….npz')."
)


class UnreadableMolecule(ValueError):  # noqa: N818 (says what it is)
    """A molecule of which ogb or RDKit can make no graph; the sentence has its number."""


def smiles_graphs(smiles: Iterable[str], indices: Iterable[int]) -> RaggedGraphs:
    """ogb's graphs of molecules, both directions of every bond; they have no targets yet.

    Args:
        indices: their numbers, for the sentence.

    Raises:
        UnreadableMolecule: ogb or RDKit can make no graph of one.
    """
    smiles, indices = list(smiles), list(indices)
    if not smiles or len(smiles) != len(indices):
        raise ValueError(
            f"there are {len(smiles)} SMILES and {len(indices)} indices; expected one index for "
            "each SMILES, and at least one."
        )
    made = [smiles_graph(text, index) for text, index in zip(smiles, indices, strict=True)]
    return RaggedGraphs(
        num_nodes=np.array([graph["num_nodes"] for graph in made]),
        num_edges=np.array([graph["edge_index"].shape[1] for graph in made]),
        edge_index=np.concatenate([graph["edge_index"] for graph in made], axis=1),
        node={"x": np.concatenate([graph["node_feat"] for graph in made])},
        edge={"edge_attr": np.concatenate([graph["edge_feat"] for graph in made])},
        graph={},
        smiles=smiles,
    )


def smiles_graph(smiles: str, index: int) -> dict:
    """ogb's graph of a molecule.

    ogb's own loader ends in the middle with an ``AttributeError`` at a molecule that RDKit cannot
    read; here it is named.

    Args:
        index: the molecule's number, for the sentence.

    Raises:
        UnreadableMolecule: ogb or RDKit can make no graph of it, or one without atoms.
    """
    rdkit_chem()
    import_ogb()
    from ogb.utils.mol import smiles2graph
    from rdkit.rdBase import BlockLogs

    try:
        with BlockLogs():  # RDKit's own lines, several a molecule, on every machine's terminal
            graph = smiles2graph(smiles)
    except Exception as error:  # whatever RDKit and ogb raise at it
        raise UnreadableMolecule(
            f"molecule {index} is {smiles!r}, of which ogb and RDKit can make no graph "
            f"({type(error).__name__}); expected SMILES that RDKit reads."
        ) from None
    if graph["num_nodes"] == 0:
        raise UnreadableMolecule(
            f"molecule {index} is {smiles!r}, which has no atoms; expected at least one."
        )
    return graph


def import_ogb() -> None:
    """Imports ogb without the thread in which it asks PyPI for a newer version."""
    if sys.modules.get("ogb") is not None:
        return
    known = "outdated" in sys.modules
    outdated = sys.modules.get("outdated")
    sys.modules["outdated"] = None
    try:
        import ogb  # noqa: F401
    except ImportError:
        raise ImportError(OGB_MISSING) from None
    finally:
        del sys.modules["outdated"]
        if known:
            sys.modules["outdated"] = outdated
