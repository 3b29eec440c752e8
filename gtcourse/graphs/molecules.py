"""SMILES as graphs, and 12,000 real molecules that need no network.

RDKit ships two files for its own tests: 10,000 molecules of a high-throughput screening library
(WEHI, Melbourne) and the first 5,000 of the open NCI collection. The first of them that qualify, in
file order, make a dataset like ZINC-12k, of the same size, vocabulary and target. They have

- one piece (no salts or mixtures) of 9 to 37 heavy atoms, without radicals and isotopes,
- atoms and bonds with a type in ZINC's vocabulary,
- an identity that no earlier molecule has: the canonical SMILES without stereo marks.

The molecules are sorted by sha256 of their identity: the first 10,000 are for training, the next
1,000 for validation, the last 1,000 for testing. The file is the same on every machine.
"""

from __future__ import annotations

import csv
import hashlib
import importlib.util
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy.sparse import csr_array
from torch_geometric.data import Data
from torch_geometric.utils import from_rdmol
from tqdm import tqdm

from gtcourse.graphs.arguments import check_bools
from gtcourse.graphs.dataset import GraphDataset, RaggedGraphs
from gtcourse.graphs.io import file_sha256, require
from gtcourse.messages import shown

if TYPE_CHECKING:
    from rdkit.Chem import Atom, Mol

ATOM_TYPES = (
    "C",
    "O",
    "N",
    "F",
    "C H1",
    "S",
    "Cl",
    "O -",
    "N H1 +",
    "Br",
    "N H3 +",
    "N H2 +",
    "N +",
    "N -",
    "S -",
    "I",
    "P",
    "O H1 +",
    "N H1 -",
    "O +",
    "S +",
    "P H1",
    "P H2",
    "C H2 -",
    "P +",
    "S H1 +",
    "C H1 -",
    "P H1 +",
)
"""ZINC's 28 atom types: element, explicit hydrogens, sign of the charge."""

BOND_TYPES = ("NONE", "SINGLE", "DOUBLE", "TRIPLE")
"""ZINC's bond types, Kekulé form (a ring of alternating bonds, no aromatic type); 0 is no bond."""

ATOM_NUMBERS = {name: number for number, name in enumerate(ATOM_TYPES)}
BOND_NUMBERS = {name: number for number, name in enumerate(BOND_TYPES)}

LOGP = 0.6976318
SYNTHETIC_ACCESSIBILITY = -1.1981676
CYCLE = 3.4751391
OFFSET = 2.1118300
"""Coefficients of ZINC-12k's stored target; they reproduce all 12,000 values to 1e-6."""

RDKIT = "2026.9.1"
CHECKSUM = "52c73cadf47c05add31ab855986b2a61e47a07432767e9990c2e5a8803e5a9d6"
"""The RDKit with which the course's numbers were made, and sha256 of the graph file it gives."""

WEHI = "Pains/test_data/wehi_mols.csv"
NCI = "NCI/first_5K.smi"
SOURCES = {
    WEHI: "ef14f29a583486042fe4fd8ed8d946aba20963dd3e9d756ea2e3f133f477bed9",
    NCI: "91e71c015f14939837f2943dcc904f7c87e5a3a0124d82b05c28ad2f23004def",
}
"""The files below RDKit's data folder, in the order they are used, and their sha256."""

SPLIT_SIZES = (10_000, 1_000, 1_000)
TARGET_BINS = np.arange(-10.0, 6.01, 0.5)  # of the target's histogram

Bonds = list[tuple[int, int, int]]  # atom, atom, bond type; each bond once


class UnsuitableMolecule(ValueError):  # noqa: N818 (a property of the data, not a mistake)
    """A molecule that a dataset cannot hold."""


def parse(smiles: str) -> Mol:
    """The RDKit molecule of a SMILES string."""
    _check_text(smiles)
    if not (smiles.isascii() and smiles.isprintable()):  # RDKit would read what is before it
        other = next(each for each in smiles if not (each.isascii() and each.isprintable()))
        raise UnsuitableMolecule(
            f"{smiles!r} has the character {other!r} (U+{ord(other):04X}), which no SMILES "
            "contains; expected ASCII letters, digits and signs."
        )
    with require("rdkit.rdBase", "rdkit").BlockLogs():  # the sentence below says what is wrong
        molecule = rdkit_chem().MolFromSmiles(smiles)
    if molecule is None:
        raise UnsuitableMolecule(f"{smiles!r} is not a molecule that RDKit can read.")
    return molecule


def _check_text(smiles: object) -> None:
    """Raises an UnsuitableMolecule for what is no text, such as a missing value of a table."""
    if not isinstance(smiles, str):
        raise UnsuitableMolecule(f"the SMILES is {shown(smiles)}; expected a text.")


def molecule_graph(smiles: str, molecule: Mol | None = None) -> tuple[list[int], Bonds]:
    """Atom types and bonds of a molecule, in the SMILES' atom order.

    The benchmark's own rule: write aromatic rings as alternating single and double bonds, then
    name an atom by its element, the hydrogens written at it, and the sign of its charge.

    ``molecule`` is the parsed SMILES, if it is at hand. Raises UnsuitableMolecule if RDKit cannot
    read it, or a type is outside the vocabulary.
    """
    if molecule is None:
        molecule = parse(smiles)
    check_molecule(molecule)
    molecule = _kekulized(molecule)
    # By number, which takes half the time of RDKit's own iterators.
    all_bonds = [molecule.GetBondWithIdx(i) for i in range(molecule.GetNumBonds())]
    atoms = _atoms(molecule, smiles)
    bonds = _types("bond", [bond.GetBondType().name for bond in all_bonds], BOND_NUMBERS, smiles)
    ends = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in all_bonds]
    return atoms, [(*pair, kind) for pair, kind in zip(ends, bonds, strict=True)]


def check_molecule(molecule: object) -> None:
    """Raises a ValueError for what is no molecule of RDKit, such as None for unreadable SMILES."""
    if not isinstance(molecule, rdkit_chem().Mol):
        raise ValueError(
            f"molecule is {shown(molecule)}; expected one of RDKit, as "
            "Chem.MolFromSmiles(smiles) returns for SMILES that it can read."
        )


def _kekulized(molecule: Mol) -> Mol:
    """A copy with alternating single and double bonds in place of aromatic ones."""
    copy = rdkit_chem().Mol(molecule)
    rdkit_chem().Kekulize(copy, clearAromaticFlags=True)
    return copy


def _atoms(molecule: Mol, smiles: str) -> list[int]:
    """The type of each atom of a Kekulé form."""
    all_atoms = [molecule.GetAtomWithIdx(i) for i in range(molecule.GetNumAtoms())]
    return _types("atom", [_atom_type(atom) for atom in all_atoms], ATOM_NUMBERS, smiles)


def _types(level: str, names: list[str], numbers: dict[str, int], smiles: str) -> list[int]:
    """The number of each name in ZINC's vocabulary of atoms or bonds."""
    if unknown := {*names} - numbers.keys():
        raise UnsuitableMolecule(
            f"{smiles!r} has the {level} type {min(unknown)!r}; expected one of ZINC's: "
            f"{', '.join(numbers)}."
        )
    return [numbers[name] for name in names]


def _atom_type(atom: Atom) -> str:
    """Hydrogens written in the SMILES count, implicit ones do not."""
    hydrogens = atom.GetNumExplicitHs()
    charge = atom.GetFormalCharge()
    sign = ""
    if charge != 0:
        sign = " +" if charge > 0 else " -"
    if abs(charge) > 1:  # no type of ZINC's has such a charge, and an error names this one
        sign += str(abs(charge))
    return atom.GetSymbol() + (f" H{hydrogens}" if hydrogens else "") + sign


def penalized_logp(molecule: Mol) -> float:
    r"""ZINC's target: :math:`0.698\,\log P - 1.198\,\mathrm{SA} + 3.475\,c + 2.112`.

    logP is Crippen's estimate of how much better the molecule dissolves in octanol than in water
    (decimal logarithm), SA Ertl's synthetic accessibility from 1, easy, to 10, hard, and
    :math:`c = -\max(0, r - 6)` with r the atoms in the largest ring. ZINC's authors shift and
    scale each term by statistics of the entire database; the coefficients contain that.

    Differs from the benchmark: r comes from RDKit's smallest set of smallest rings. The benchmark
    took an arbitrary cycle basis; in 44 of its 12,000 molecules that gives another r.

    Raises:
        ValueError: ``molecule`` is no molecule of RDKit, such as None, which RDKit returns for
            SMILES that it cannot read.
    """
    check_molecule(molecule)
    accessibility = synthetic_accessibility(molecule)
    cycle = -max(0, largest_ring(molecule) - 6)
    scaled = LOGP * log_p(molecule) + SYNTHETIC_ACCESSIBILITY * accessibility
    return scaled + CYCLE * cycle + OFFSET


def log_p(molecule: Mol) -> float:
    """Crippen's estimate of logP: octanol against water, decimal logarithm."""
    check_molecule(molecule)
    return require("rdkit.Chem.Crippen", "rdkit").MolLogP(molecule)


def synthetic_accessibility(molecule: Mol) -> float:
    """Ertl's score of how hard a molecule is to make: 1, easy, to 10, hard."""
    check_molecule(molecule)
    return _sascorer().calculateScore(molecule)


def identity(molecule: Mol) -> str:
    """Equal for two molecules that count as one: canonical SMILES without stereo marks."""
    check_molecule(molecule)
    return rdkit_chem().MolToSmiles(molecule, isomericSmiles=False)


def largest_ring(molecule: Mol) -> int:
    """Atoms in the largest ring of the smallest set of smallest rings; 0 without rings."""
    check_molecule(molecule)
    return max((len(ring) for ring in rdkit_chem().GetSSSR(molecule)), default=0)


def rdkit_chem() -> ModuleType:
    """``rdkit.Chem``, imported when it is first needed."""
    return require("rdkit.Chem", "rdkit")


@cache
def _sascorer() -> ModuleType:
    """RDKit's contributed SA score, a script outside the package."""
    path = Path(require("rdkit.RDConfig", "rdkit").RDContribDir, "SA_Score", "sascorer.py")
    specification = importlib.util.spec_from_file_location("sascorer", path)
    if specification is None or specification.loader is None or not path.is_file():
        raise ImportError(f"there is no file {path}; expected an RDKit with its contributed code.")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def rdkit_version() -> str:
    """Without leading zeros: 2026.9.1, not 2026.09.1."""
    parts = require("rdkit", "rdkit").__version__.split(".")
    return ".".join(part.lstrip("0") or "0" for part in parts)


def build_molecules() -> RaggedGraphs:
    """Chooses, featurises and sorts the embedded molecules; about 20 seconds."""
    chosen: dict[str, Data] = {}
    # RDKit reports the few strings that it cannot read on the terminal.
    with require("rdkit.rdBase", "rdkit").BlockLogs():
        for smiles in tqdm(_source_smiles(), desc="molecules", leave=False):
            try:
                name, graph = _qualified(smiles)
            except UnsuitableMolecule:
                continue
            chosen.setdefault(name, graph)
            if len(chosen) == sum(SPLIT_SIZES):
                break
    order = sorted(chosen, key=lambda name: hashlib.sha256(name.encode()).digest())
    graphs = [chosen[name] for name in order]
    split = np.repeat(np.arange(3), SPLIT_SIZES)
    ragged = RaggedGraphs.from_data(graphs, "graph", split)
    ragged.node_vocabulary = ATOM_TYPES
    ragged.edge_vocabulary = BOND_TYPES
    return ragged


def _qualified(smiles: str) -> tuple[str, Data]:
    """The identity, and the graph with its target, in the atom order of the canonical SMILES."""
    molecule = parse(smiles)
    odd = any(atom.GetNumRadicalElectrons() or atom.GetIsotope() for atom in molecule.GetAtoms())
    if "." in smiles or odd or not 9 <= molecule.GetNumAtoms() <= 37:
        raise UnsuitableMolecule(f"{smiles!r} does not qualify.")
    canonical = rdkit_chem().MolToSmiles(molecule)
    again = parse(canonical)
    graph = zinc_data(canonical, again)
    graph.y = torch.tensor([penalized_logp(again)])
    return identity(molecule), graph


def _source_smiles() -> Iterator[str]:
    """Every SMILES string of the source files, which are checked first."""
    for name, expected in SOURCES.items():
        path = Path(require("rdkit.RDConfig", "rdkit").RDDataDir, name)
        if not path.is_file() or file_sha256(path) != expected:
            raise RuntimeError(
                f"{path} is not the file of RDKit {RDKIT} that the embedded molecules are chosen "
                f"from; run `pip install rdkit=={RDKIT}`, or read a graph file with "
                "load_dataset('molecules', source='….npz')."
            )
        with open(path, newline="", encoding="utf-8") as file:
            rows = csv.reader(file, delimiter="," if name.endswith(".csv") else "\t")
            yield from (row[0] for row in rows if row)


def canonical_molecule(smiles: str, largest_fragment: bool = False) -> tuple[Mol, list[int], str]:
    """The molecule that RDKit reads from its own canonical SMILES, and the order of its atoms.

    One molecule can be written in many ways: with or without its hydrogens (``[H]CO``, ``CO``),
    from any atom on, with numbered atoms, with either of two marks for one chiral centre. Features
    that are read from the canonical SMILES are those of the molecule, however it was written.

    Salts and mixtures (pieces joined by a dot) are one molecule of several pieces.

    Args:
        smiles: one SMILES string; spaces around it do not count.
        largest_fragment: keep the largest piece only, by RDKit's ``LargestFragmentChooser``:
            organic pieces first, then by the number of atoms with hydrogens, and by weight.

    Returns:
        The molecule; for each of its atoms the number of the atom in ``smiles``, as RDKit
        counts there (hydrogens that it removes are not counted); the canonical SMILES.

    Raises:
        ValueError: it cannot be read, has no atoms, or is more than one string.
    """
    check_bools(largest_fragment=largest_fragment)
    _check_text(smiles)
    text = smiles.strip()
    if not text:
        raise UnsuitableMolecule(f"{smiles!r} has no atoms; expected at least one.")
    if len(text.split()) > 1:
        raise UnsuitableMolecule(
            f"{smiles!r} has a space in it; expected one SMILES string without a name. The pieces "
            "of a mixture are joined by a dot."
        )
    chemistry = rdkit_chem()
    with require("rdkit.rdBase", "rdkit").BlockLogs():
        written = parse(text)
        if ":" in text:  # a number of an atom, or the sign of an aromatic bond
            for atom in written.GetAtoms():
                atom.SetAtomMapNum(0)
        numbers = list(range(written.GetNumAtoms()))
        if largest_fragment and len(chemistry.GetMolFrags(written)) > 1:
            written, numbers = _largest_fragment(written)
        canonical = chemistry.MolToSmiles(written)
        places = written.GetProp("_smilesAtomOutputOrder")  # a text such as [2,0,1]
        order = [numbers[int(place)] for place in places.strip("[,]").split(",")]
        # Reading takes a third of the time of all this, and canonical text has been read.
        molecule = written if canonical == text else parse(canonical)
    if molecule.GetNumAtoms() != len(order):
        raise UnsuitableMolecule(
            f"{smiles!r} has the canonical form {canonical!r}, in which RDKit finds other atoms; "
            "expected a molecule that RDKit reads in one way."
        )
    return molecule, order, canonical


def _largest_fragment(molecule: Mol) -> tuple[Mol, list[int]]:
    """The piece that RDKit chooses, and for each of its atoms the number in the molecule."""
    standardize = require("rdkit.Chem.MolStandardize.rdMolStandardize", "rdkit")
    for atom in molecule.GetAtoms():
        atom.SetIntProp("written", atom.GetIdx())
    chosen = standardize.LargestFragmentChooser(preferOrganic=True).choose(molecule)
    return chosen, [atom.GetIntProp("written") for atom in chosen.GetAtoms()]


def canonical_graph(
    smiles: str, featurize: Featurizer, largest_fragment: bool = False
) -> tuple[Data, list[int]]:
    """The graph of :func:`canonical_molecule`, and for each node the atom's number in ``smiles``.

    It is a function of the molecule. Its attribute ``smiles`` is the canonical SMILES, in the order
    of the nodes.
    """
    molecule, order, canonical = canonical_molecule(smiles, largest_fragment)
    graph = featurize(smiles, molecule)
    graph.smiles = canonical
    return graph, order


def zinc_data(smiles: str, molecule: Mol | None = None) -> Data:
    """A molecule as a PyG graph with ZINC's types: ``x`` ``[n, 1]``, ``edge_attr`` ``[E, 1]``.

    Types are those of the :func:`canonical_molecule`; nodes are in the order of ``smiles``. Both
    directions of every bond are there, row by row.

    Args:
        molecule: the RDKit molecule, if it is at hand; it is then taken as it is.

    Raises:
        ValueError: RDKit cannot read it, or a type is outside ZINC's vocabulary.
    """
    if molecule is None:
        return _as_written(smiles, zinc_data)
    check_molecule(molecule)
    if molecule.GetNumAtoms() == 0:
        raise ValueError(f"{smiles!r} has no atoms; expected at least one.")
    with require("rdkit.rdBase", "rdkit").BlockLogs():
        if molecule.HasSubstructMatch(_other_bond()):
            molecule_graph(smiles, molecule)  # raises, and names the bond
        kekulized = _kekulized(molecule)
        x = torch.tensor(_atoms(kekulized, smiles))[:, None]
        # The number of a bond's type is its order. A matrix takes a tenth of the time of a list.
        orders = rdkit_chem().GetAdjacencyMatrix(kekulized, useBO=True, force=True)  # [n, n]
    bonds = orders.nonzero()  # a pair of [E], row by row
    edge_index = torch.from_numpy(np.stack(bonds).astype(np.int64))
    edge_attr = torch.from_numpy(orders[bonds].astype(np.int64))[:, None]
    return Data(x=x, edge_index=edge_index, edge_attr=edge_attr, smiles=smiles)


@cache
def _other_bond() -> Mol:
    """Matches a bond that is neither single, double, triple nor aromatic."""
    return rdkit_chem().MolFromSmarts("*!-;!=;!#;!:*")


def own_data(smiles: str, molecule: Mol | None = None) -> Data:
    """The graph of any molecule: ``x`` ``[n, 9]`` and ``edge_attr`` ``[E, 3]``, by PyG.

    Features are those of the :func:`canonical_molecule`; nodes are in the order of ``smiles``.

    Args:
        molecule: the RDKit molecule, if it is at hand; it is then taken as it is.

    Raises:
        ValueError: RDKit cannot read it, or it has no atoms.
    """
    if molecule is None:
        return _as_written(smiles, own_data)
    check_molecule(molecule)
    try:
        graph = from_rdmol(molecule)
    except ValueError as error:  # such as "12 is not in list"
        raise UnsuitableMolecule(
            f"{smiles!r} has an atom or a bond with a charge, a number of hydrogens or another "
            f"property beyond PyG's vocabulary ({error}); expected one that from_smiles of PyG "
            "can read."
        ) from None
    graph.smiles = smiles
    return graph


def ogb_molecule(smiles: str, molecule: Mol | None = None) -> Data:
    """:func:`ogb_data` of an RDKit molecule, in the order of its atoms; as :func:`own_data`."""
    if molecule is None:
        return _as_written(smiles, ogb_molecule)
    check_molecule(molecule)
    return ogb_data(rdkit_chem().MolToSmiles(molecule, canonical=False))


def _as_written(smiles: str, featurize: Featurizer) -> Data:
    """The canonical molecule's features, with its nodes in the order of ``smiles``."""
    molecule, order, _ = canonical_molecule(smiles)
    graph = featurize(smiles, molecule)
    written = torch.tensor(order)  # the place of each canonical atom
    graph.x = graph.x[written.argsort()]
    ends = written[graph.edge_index]
    by_row = (ends[0] * len(order) + ends[1]).argsort()
    graph.edge_index = ends[:, by_row]
    graph.edge_attr = graph.edge_attr[by_row]
    return graph


FINGERPRINT_BITS = 2048


def fingerprints(molecules: Iterable[str | Mol]) -> np.ndarray:
    """Morgan fingerprints of radius 2, ``[G, 256]`` bytes of 2,048 bits in all.

    Args:
        molecules: SMILES, or RDKit molecules.

    Raises:
        ValueError: RDKit cannot read a SMILES string, or there are no molecules.
    """
    is_one = isinstance(molecules, str | bytes)
    if is_one or isinstance(molecules, Mapping) or not isinstance(molecules, Iterable):
        raise ValueError(f"molecules is {shown(molecules)}; expected a list of molecules.")
    Molecule = rdkit_chem().Mol
    generators = require("rdkit.Chem.rdFingerprintGenerator", "rdkit")
    generator = generators.GetMorganGenerator(radius=2, fpSize=FINGERPRINT_BITS)
    bits = []
    for each in molecules:
        molecule = each if isinstance(each, Molecule) else parse(each)
        bits.append(np.packbits(generator.GetFingerprintAsNumPy(molecule)))
    if not bits:
        raise ValueError("there are no molecules; expected one or more.")
    return np.stack(bits)


def nearest_similarity(queries: np.ndarray, known: np.ndarray) -> np.ndarray:
    """The largest Tanimoto similarity of each query to a known molecule, ``[Q]`` from 0 to 1.

    Both are :func:`fingerprints`. Tanimoto similarity is the share of common bits among all that
    either molecule has.
    """
    # A molecule has a few dozen of the bits, so that a sparse product takes a tenth of the time.
    wanted = csr_array(np.unpackbits(queries, axis=1).astype(np.int16))  # [Q, 2048]
    of_wanted = wanted.sum(axis=1, dtype=np.float32)[:, None]
    nearest = np.zeros(len(queries), dtype=np.float32)
    for start in range(0, len(known), 1024):
        bits = np.unpackbits(known[start : start + 1024], axis=1)  # [G, 2048]
        of_others = bits.sum(axis=1, dtype=np.float32)
        others = np.array(bits.T, dtype=np.int16, order="C")  # [2048, G]
        for first in range(0, len(queries), 512):
            some = slice(first, first + 512)
            common = (wanted[some] @ others).astype(np.float32)  # [Q, G]
            either = of_wanted[some] + of_others - common
            similarity = (common / np.maximum(either, 1)).max(axis=1)
            np.maximum(nearest[some], similarity, out=nearest[some])
    return nearest


Featurizer = Callable[[str, Any], Data]
"""From SMILES, for messages, and an RDKit molecule to the graph of that molecule."""

FEATURES: dict[str, tuple[Featurizer, tuple[int, ...], tuple[int, ...]]] = {
    "any": (own_data, (119, 9, 11, 12, 9, 5, 8, 2, 2), (22, 6, 2)),
    "zinc": (zinc_data, (28,), (4,)),
    "ogb": (ogb_molecule, (119, 5, 12, 12, 10, 6, 6, 2, 2), (5, 6, 2)),
}
"""How molecules become graphs, and the categories of each column of ``x`` and ``edge_attr``: PyG's
features, which every molecule has; ZINC's and OGB's, for models that were trained on their data."""


def ogb_data(smiles: str, index: int = 0) -> Data:
    """ogb's graph of a molecule: ``x`` ``[n, 9]``, ``edge_attr`` ``[E, 3]``.

    Raises UnsuitableMolecule, with the index, where ogb or RDKit can make no graph of it.
    """
    smiles2graph = ogb_mol().smiles2graph
    reason = "it has no atoms"
    try:
        with require("rdkit.rdBase", "rdkit").BlockLogs():
            graph = smiles2graph(smiles)
    except Exception as error:  # anything, from RDKit or ogb
        graph = None
        reason = type(error).__name__
    if graph is None or graph["num_nodes"] == 0:
        raise UnsuitableMolecule(
            f"molecule {index} is {smiles!r}, which ogb and RDKit cannot convert to a graph "
            f"({reason}); expected SMILES that RDKit reads."
        )
    names = {"x": "node_feat", "edge_index": "edge_index", "edge_attr": "edge_feat"}
    arrays = {key: torch.from_numpy(graph[name]) for key, name in names.items()}
    return Data(**arrays, smiles=smiles)


def ogb_graphs(smiles: Iterable[str], y: np.ndarray, first: int = 0) -> list[Data]:
    """:func:`ogb_data` of molecules, with their targets; ``first`` is the first one's index."""
    graphs = [ogb_data(text, number) for number, text in enumerate(smiles, first)]
    for graph, target in zip(graphs, torch.from_numpy(y.astype(np.float32)).split(1), strict=True):
        graph.y = target
    return graphs


def ogb_mol() -> ModuleType:
    """``ogb.utils.mol``, imported without the thread in which ogb asks PyPI for a newer version."""
    rdkit_chem()
    # ogb starts no thread if it cannot import a function from this module, which is empty.
    sys.modules.setdefault("outdated", ModuleType("outdated"))
    return require("ogb.utils.mol", "ogb")


def describe(dataset: GraphDataset) -> dict[str, Any]:
    """Sizes, rings, atom types and targets of a data set in ZINC's vocabulary.

    Raises:
        ValueError: This is no data set, or an atom has a type beyond ZINC's.
    """
    if not isinstance(dataset, GraphDataset):
        raise ValueError(f"dataset is of type {type(dataset).__name__}; expected a GraphDataset.")
    for number, graph in enumerate(dataset):
        highest = graph.x.max()
        if highest >= len(ATOM_TYPES):
            raise ValueError(
                f"graph {number} has {highest:g} in x; expected ZINC's atom types, 0 to "
                f"{len(ATOM_TYPES) - 1}."
            )
    atoms = np.array([graph.num_nodes for graph in dataset])
    bonds = np.array([graph.num_edges // 2 for graph in dataset])
    y = np.array([graph.y.item() for graph in dataset])
    counts = np.stack([np.bincount(graph.x[:, 0], minlength=len(ATOM_TYPES)) for graph in dataset])
    charged = counts[:, [name[-1] in "+-" for name in ATOM_TYPES]].any(axis=1)
    percent = 100 * counts.sum(axis=0) / counts.sum()

    def spread(values: np.ndarray) -> dict[str, float]:
        return {
            "mean": float(values.mean()),
            "sd": float(values.std()),
            "min": float(values.min()),
            "max": float(values.max()),
        }

    types = zip(ATOM_TYPES, percent.tolist(), strict=True)
    return {
        "molecules": len(dataset),
        "atoms": spread(atoms),
        "bonds": spread(bonds),
        "rings": spread(bonds - atoms + 1),  # of a connected graph; benzene has 6 - 6 + 1
        "target": spread(y),
        "charged_percent": 100 * float(charged.mean()),
        "atom_type_percent": {name: share for name, share in types if share},
        "atoms_histogram": dict(sorted(Counter(atoms.tolist()).items())),
        "target_histogram": np.histogram(y, TARGET_BINS)[0].tolist(),
    }
