"""Molecules in the files that OGB publishes PCQM4Mv2 in."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

SMILES = ("CCO", "C=O", "CC#N", "c1ccccc1", "C", "C1CC1C(=O)O", "O=C(O)c1ccccc1O", "FC(F)F")


def write_layout(
    root: Path, smiles: Sequence[str], gaps: Sequence[float], parts: dict[str, Sequence[int]]
) -> Path:
    """``data.csv.gz``, ``split_dict.pt`` and ``RELEASE_v1.txt``; a gap that is NaN stays empty.

    Args:
        parts: the molecules of train, valid, test-dev and test-challenge.
    """
    folder = root / "pcqm4m-v2"
    (folder / "raw").mkdir(parents=True)
    with gzip.open(folder / "raw/data.csv.gz", "wt") as file:
        file.write("idx,smiles,homolumogap\n")
        for index, (text, gap) in enumerate(zip(smiles, gaps, strict=True)):
            file.write(f"{index},{text},{'' if np.isnan(gap) else repr(float(gap))}\n")
    split = {name: np.asarray(rows, dtype=np.int64) for name, rows in parts.items()}
    torch.save(split, folder / "split_dict.pt")
    (folder / "RELEASE_v1.txt").touch()
    return root


def write_some(root: Path, count: int = 24, smiles: Sequence[str] = SMILES) -> Path:
    """Small molecules again and again; of six, three are for training and one for each other part.

    The last two parts have no targets.
    """
    texts = [smiles[i % len(smiles)] for i in range(count)]
    rows = np.arange(count)
    part = np.array([0, 0, 1, 0, 2, 3])[rows % 6]
    gaps = np.where(part < 2, 4 + rows / 8, np.nan)
    names = ("train", "valid", "test-dev", "test-challenge")
    return write_layout(
        root, texts, gaps, {name: rows[part == number] for number, name in enumerate(names)}
    )
