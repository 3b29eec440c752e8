"""The embedded molecules: real, distinct, in ZINC's vocabulary, the same everywhere."""

import hashlib
from collections import Counter

import numpy as np
import pytest

from gtcourse import load_dataset
from gtcourse.graphs import GraphDataset
from gtcourse.graphs import molecules as module
from gtcourse.graphs.molecules import (
    ATOM_TYPES,
    BOND_TYPES,
    fingerprints,
    largest_ring,
    molecule_graph,
    parse,
    penalized_logp,
)
from gtcourse.graphs.tables import scaffold_split

ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"


def names(smiles: str) -> list[str]:
    return [ATOM_TYPES[number] for number in molecule_graph(smiles)[0]]


@pytest.mark.parametrize(
    ("smiles", "types"),
    [
        ("CO", ["C", "O"]),
        ("c1cc[nH]c1", ["C", "C", "C", "N", "C"]),
        ("N[C@@H](C)C(=O)O", ["N", "C H1", "C", "C", "O", "O"]),
        ("C[N+](=O)[O-]", ["C", "N +", "O", "O -"]),
        ("C[NH3+]", ["C", "N H3 +"]),
        ("CC[NH-]", ["C", "C", "N H1 -"]),
        ("CSCCl", ["C", "S", "C", "Cl"]),
    ],
)
def test_atom_types_consist_of_element_explicit_hydrogens_and_charge(smiles, types):
    assert names(smiles) == types


def test_aromatic_bonds_become_alternating_single_and_double_bonds():
    _, bonds = molecule_graph("c1ccccc1")
    assert sorted(kind for _, _, kind in bonds) == [1, 1, 1, 2, 2, 2]
    _, bonds = molecule_graph("CC#N")
    assert bonds == [(0, 1, 1), (1, 2, 3)]
    assert BOND_TYPES[3] == "TRIPLE"


def test_the_target_follows_zincs_formula():
    """Aspirin: Crippen logP 1.3101, SA score 1.580, no ring beyond six atoms."""
    expected = 0.6976318 * 1.3101 - 1.1981676 * 1.580 + 2.11183
    assert penalized_logp(parse(ASPIRIN)) == pytest.approx(expected, abs=1e-3)


def test_each_ring_atom_beyond_six_costs_the_cycle_coefficient():
    six = parse("C1CCCCC1")
    nine = parse("C1CCCCCCCC1")
    assert (largest_ring(parse("CC")), largest_ring(six), largest_ring(nine)) == (0, 6, 9)
    from rdkit.Chem import Crippen

    rest = [
        penalized_logp(molecule) - 0.6976318 * Crippen.MolLogP(molecule) for molecule in (six, nine)
    ]
    # SA adds at most (10 - 1) x 1.198; three ring atoms cost 3 x 3.4751391.
    assert rest[0] - rest[1] == pytest.approx(3 * 3.4751391, abs=3)


@pytest.mark.slow
def test_no_molecule_is_in_two_splits_even_after_neutralisation(molecules: GraphDataset):
    from rdkit.Chem import MolToSmiles
    from rdkit.Chem.MolStandardize.rdMolStandardize import Uncharger

    uncharger = Uncharger()
    identities = Counter(
        MolToSmiles(uncharger.uncharge(parse(graph.smiles)), isomericSmiles=False)
        for graph in molecules
    )
    assert len(identities) == len(molecules)


def test_splits_follow_the_order_of_smiles_hashes(molecules: GraphDataset):
    digests = [hashlib.sha256(graph.smiles.encode()).digest() for graph in molecules]
    assert digests == sorted(digests)
    assert molecules.split.tolist() == sorted(molecules.split.tolist())


def test_graphs_and_targets_are_those_of_the_stored_smiles(molecules: GraphDataset):
    for graph in molecules.graphs[::200]:
        atoms, bonds = molecule_graph(graph.smiles)
        assert graph.x[:, 0].tolist() == atoms
        adjacency = np.zeros((len(atoms), len(atoms)), dtype=int)
        for i, j, kind in bonds:
            adjacency[i, j] = adjacency[j, i] = kind
        assert graph.edge_index.tolist() == np.array(adjacency.nonzero()).tolist()
        assert graph.edge_attr[:, 0].tolist() == adjacency[adjacency > 0].tolist()
        assert graph.y.item() == pytest.approx(penalized_logp(parse(graph.smiles)), abs=1e-5)


def test_another_rdkit_version_gets_its_own_file_and_source(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SPLIT_SIZES", (10, 1, 1))
    monkeypatch.setattr("rdkit.__version__", "2031.03.4")
    dataset = load_dataset("molecules", root=tmp_path)
    assert len(dataset) == 12
    expected = "embedded: 12,000 molecules of RDKit 2031.3.4, not byte for byte those of the course"
    assert dataset.source.startswith(expected)
    assert [path.name for path in tmp_path.glob("*.npz")] == [
        "molecules-rdkit-2031.3.4-52c73cad.npz"
    ]


def test_changed_source_file_raises(tmp_path, monkeypatch):
    monkeypatch.setitem(module.SOURCES, "Pains/test_data/wehi_mols.csv", "0" * 64)
    with pytest.raises(RuntimeError, match=f"pip install rdkit=={module.RDKIT}`, or read a graph"):
        load_dataset("molecules", root=tmp_path)
    assert not list(tmp_path.glob("*.npz"))


def test_only_the_error_says_that_a_smiles_cannot_be_read(capfd):
    """RDKit's own report of it is not printed."""
    for function in (fingerprints, lambda smiles: scaffold_split(smiles, 0)):
        with pytest.raises(ValueError, match="'CCX' is not a molecule that RDKit can read"):
            function(["CCX"])
    assert capfd.readouterr() == ("", "")
