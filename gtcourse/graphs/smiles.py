"""Graphs of molecules from SMILES, as ogb makes them: 9 features an atom, 3 a bond."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import numpy as np

from gtcourse.graphs.chemistry import rdkit_chem
from gtcourse.graphs.ragged import RaggedGraphs

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
    smiles = list(smiles)
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
