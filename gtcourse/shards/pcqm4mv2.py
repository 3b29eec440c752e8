"""PCQM4Mv2 (OGB-LSC): 3.7 million molecules as the publisher gives them, and a slice as graphs.

The publisher's files hold SMILES; ogb's ``smiles2graph`` makes a graph of one in a fraction of a
millisecond, which for all of them is a good part of an hour on one core. Nothing of that happens
here until a slice is asked for, by whichever process is to make a shard of it.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path

import numpy as np

from gtcourse.graphs.chemistry import rdkit_chem
from gtcourse.graphs.publishers import import_ogb, ogb_ready
from gtcourse.graphs.ragged import RaggedGraphs
from gtcourse.graphs.real import PUBLICATIONS

PUBLISHED = PUBLICATIONS["pcqm4mv2"]
PARTS = (("train",), ("valid",), ("test-dev", "test-challenge"))
"""The publisher's names of our three splits."""


class UnreadableMolecule(ValueError):  # noqa: N818 (says what it is)
    """A molecule of which ogb or RDKit can make no graph; the sentence has its number."""


@dataclass(frozen=True)
class Molecules:
    """SMILES and their targets, as a source of shards (:func:`gtcourse.shards.prepare`).

    Attributes:
        name, source: as of a :class:`~gtcourse.graphs.GraphDataset`.
        smiles: one a molecule.
        y: ``[G]`` float64; NaN where the publisher keeps the target back.
        split: ``[G]`` integers: 0 train, 1 val, 2 test.
    """

    name: str
    source: str
    smiles: Sequence[str] = field(repr=False)
    y: np.ndarray = field(repr=False)
    split: np.ndarray = field(repr=False)

    target = "graph"
    node_vocabulary = edge_vocabulary = None

    @property
    def checksum(self) -> str:
        return self.content

    @cached_property
    def content(self) -> str:
        """sha256 of the molecules, their targets and their split."""
        digest = hashlib.sha256("\n".join(self.smiles).encode())
        for values in (self.y.astype("<f8"), self.split.astype("<i8")):
            digest.update(values.tobytes())
        return digest.hexdigest()

    def piece(self, rows: np.ndarray) -> MoleculePiece:
        """The molecules in these rows, for whoever makes graphs of them."""
        return MoleculePiece(
            index=rows,
            smiles=[self.smiles[row] for row in rows],
            y=self.y[rows].astype(np.float32),
            split=self.split[rows].astype(np.int64),
        )


@dataclass(frozen=True)
class MoleculePiece:
    """A slice of the molecules; small enough to be sent to another process or machine.

    Attributes:
        index: ``[g]``; numbers of the molecules in the publisher's file.
    """

    index: np.ndarray
    smiles: list[str]
    y: np.ndarray
    split: np.ndarray

    def graphs(self) -> RaggedGraphs:
        """Their graphs by ogb: 9 features an atom, 3 a bond, both directions of every bond.

        Raises:
            UnreadableMolecule: ogb or RDKit can make no graph of one.
        """
        made = [
            smiles_graph(smiles, index)
            for smiles, index in zip(self.smiles, self.index.tolist(), strict=True)
        ]
        return RaggedGraphs(
            num_nodes=np.array([graph["num_nodes"] for graph in made]),
            num_edges=np.array([graph["edge_index"].shape[1] for graph in made]),
            edge_index=np.concatenate([graph["edge_index"] for graph in made], axis=1),
            node={"x": np.concatenate([graph["node_feat"] for graph in made])},
            edge={"edge_attr": np.concatenate([graph["edge_feat"] for graph in made])},
            graph={"y": self.y, "split": self.split, "index": self.index},
            smiles=self.smiles,
            missing_targets=True,
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


def pcqm4mv2(root: str | Path) -> Molecules:
    """PCQM4Mv2's molecules from ``root/pcqm4m-v2``, downloaded by ogb if there is no such folder.

    Files in the publisher's layout may hold other molecules: then name and source say so, because
    results on them are none on PCQM4Mv2. The targets of test-dev and test-challenge (both: test)
    are kept back by the publisher, and NaN.

    Raises:
        FileNotFoundError: the folder lacks one of the publisher's files.
        RuntimeError: the download failed (nothing of it is kept), or the files cannot be read.
    """
    root = Path(root).expanduser()
    if not (root / "pcqm4m-v2").exists():
        _download(root)
    missing = [file for file in PUBLISHED.files if not (root / file).is_file()]
    if missing:
        raise FileNotFoundError(
            f"{root} has no {', '.join(missing)}; expected the files of {PUBLISHED.source}: "
            f"{', '.join(PUBLISHED.files)}."
        )
    try:
        molecules = _read(root)
    except ImportError:
        raise
    except Exception as error:  # whatever gzip, pandas, torch or ogb raise
        raise RuntimeError(
            f"pcqm4mv2 could not be read from {root} ({_brief(error)}); expected the files of "
            f"{PUBLISHED.source} as published."
        ) from error
    return molecules


def _download(root: Path) -> None:
    """Only a download that is whole comes to its place."""
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".pcqm4mv2-", dir=root) as work:
        try:
            found = np.bincount(_read(Path(work)).split, minlength=3)
            if tuple(found) != PUBLISHED.split_sizes:
                raise ValueError(f"it has {_spelled(found)} molecules for train, val and test")
        except ImportError:
            raise
        except (Exception, SystemExit) as error:  # whatever urllib, zipfile or ogb raise
            raise RuntimeError(
                f"pcqm4mv2 could not be downloaded ({_brief(error)}); nothing of it was kept in "
                f"{root}. Try again where there is a network, or put the publisher's files there."
            ) from error
        (Path(work) / "pcqm4m-v2").rename(root / "pcqm4m-v2")


def _read(root: Path) -> Molecules:
    """Lets ogb read below ``root``; it downloads what is not there."""
    rdkit_chem()
    with ogb_ready():
        from ogb.lsc import PCQM4Mv2Dataset

        dataset = PCQM4Mv2Dataset(root=str(root), only_smiles=True)
        parts = dataset.get_idx_split()
    split = np.full(len(dataset), -1)
    for number, names in enumerate(PARTS):
        for name in names:
            split[np.asarray(parts[name])] = number
    y = np.asarray(dataset.labels, dtype=np.float64)
    if (split < 0).any():
        raise ValueError(f"molecule {np.flatnonzero(split < 0)[0]} is in no split")
    unknown = np.flatnonzero(np.isnan(y) & (split < 2))
    if len(unknown):
        raise ValueError(f"molecule {unknown[0]}, for training or validation, has no target")
    makers = f"graphs by ogb {version('ogb')} and RDKit {version('rdkit')}"
    sizes = tuple(np.bincount(split, minlength=3))
    if sizes == PUBLISHED.split_sizes:
        name, source = "pcqm4mv2", f"{PUBLISHED.source}, {makers}"
    else:
        name = "pcqm4mv2-layout"
        source = f"{_spelled(sizes)} other molecules in the files of {PUBLISHED.source}, {makers}"
    return Molecules(name, source, [str(each) for each in dataset.graphs], y, split)


def _spelled(sizes: Sequence[int]) -> str:
    return "/".join(f"{size:,}" for size in sizes)


def _brief(error: BaseException) -> str:
    first_line = (str(error).strip().splitlines() or ["no details"])[0]
    return f"{type(error).__name__}: {first_line.rstrip('.')}"
