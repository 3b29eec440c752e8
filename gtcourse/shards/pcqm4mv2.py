"""PCQM4Mv2 (OGB-LSC): 3.7 million molecules as the publisher gives them, and a slice as graphs.

The publisher's files hold SMILES; ogb's ``smiles2graph`` makes a graph of one in a fraction of a
millisecond, which for all of them is a good part of an hour on one core. Nothing of that happens
here until a slice is asked for, by whichever process is to make a shard of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path

import numpy as np

from gtcourse.graphs.datasets import PUBLICATIONS, pcqm4mv2_table
from gtcourse.graphs.downloads import download, pin
from gtcourse.graphs.files import locked, work_folder
from gtcourse.graphs.molecules import smiles_graphs
from gtcourse.graphs.ragged import RaggedGraphs

PUBLISHED = PUBLICATIONS["pcqm4mv2"]


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
        made = smiles_graphs(self.smiles, self.index.tolist())
        made.graph = {"y": self.y, "split": self.split, "index": self.index}
        made.missing_targets = True
        return made


def pcqm4mv2(root: str | Path) -> Molecules:
    """PCQM4Mv2's molecules from ``root/pcqm4m-v2``, downloaded if there is no such folder.

    Files in the publisher's layout may hold other molecules: then name and source say so, because
    results on them are none on PCQM4Mv2. The targets of test-dev and test-challenge (both: test)
    are kept back by the publisher, and NaN.

    Raises:
        ImportError: ogb or RDKit is not installed.
        FileNotFoundError: the folder lacks one of the publisher's files.
        RuntimeError: the download failed (nothing of it is kept), or the files cannot be read.
    """
    PUBLISHED.needs()
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
    except Exception as error:  # whatever gzip, csv or torch raise
        raise RuntimeError(
            f"pcqm4mv2 could not be read from {root} ({_brief(error)}); expected the files of "
            f"{PUBLISHED.source} as published."
        ) from error
    return molecules


def _download(root: Path) -> None:
    """Only a download that is whole comes to its place."""
    with locked(root / ".pcqm4m-v2.lock"), work_folder(root / ".pcqm4m-v2.download") as work:
        if (root / "pcqm4m-v2").exists():  # another process has downloaded it meanwhile
            return
        try:
            new = download(PUBLISHED.downloads, work, root)
            found = np.bincount(_read(work).split, minlength=3)
            if tuple(found) != PUBLISHED.split_sizes:
                raise ValueError(f"it has {_spelled(found)} molecules for train, val and test")
        except Exception as error:  # whatever urllib, zipfile, csv or torch raise
            raise RuntimeError(
                f"pcqm4mv2 could not be downloaded ({_brief(error)}); nothing of it was kept in "
                f"{root}. Try again where there is a network, or put the publisher's files there."
            ) from error
        pin(root, new)
        (work / "pcqm4m-v2").rename(root / "pcqm4m-v2")


def _read(root: Path) -> Molecules:
    smiles, y, split = pcqm4mv2_table(root)
    makers = f"graphs by ogb {version('ogb')} and RDKit {version('rdkit')}"
    sizes = tuple(np.bincount(split, minlength=3))
    if sizes == PUBLISHED.split_sizes:
        name, source = "pcqm4mv2", f"{PUBLISHED.source}, {makers}"
    else:
        name = "pcqm4mv2-layout"
        source = f"{_spelled(sizes)} other molecules in the files of {PUBLISHED.source}, {makers}"
    return Molecules(name, source, smiles, y, split)


def _spelled(sizes: Sequence[int]) -> str:
    return "/".join(f"{size:,}" for size in sizes)


def _brief(error: BaseException) -> str:
    first_line = (str(error).strip().splitlines() or ["no details"])[0]
    return f"{type(error).__name__}: {first_line.rstrip('.')}"
