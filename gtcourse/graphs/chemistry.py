"""From a SMILES string to the benchmark ZINC's graph and target.

ZINC here is ZINC-12k of *Benchmarking Graph Neural Networks* (Dwivedi et al., 2020): heavy atoms as
nodes, bonds as edges, and penalised logP as the target.
"""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from types import ModuleType

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
