"""Datasets that are made from a recipe: kept as graph files, or handed over as they are made."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from gtcourse.graphs.dataset import SPLITS, GraphDataset
from gtcourse.graphs.files import read_graphs, write_ragged
from gtcourse.graphs.ragged import RaggedGraphs
from gtcourse.graphs.writing import locked, remove_halves


def kept(
    root: Path,
    name: str,
    build: Callable[[], RaggedGraphs],
    source: str,
    checksum: str | None = None,
) -> GraphDataset:
    """A dataset from its graph file under ``root``, built first where that is not there.

    Args:
        build: makes the graphs; called again where the file is damaged, which a warning says.
        source: says which data this is.
        checksum: sha256 of the file with which the course's numbers were made. A part of it is in
            the file's name, and where the file is another one, ``.source`` says so.
    """
    path = root / (f"{name}-{checksum[:8]}.npz" if checksum else f"{name}.npz")
    dataset = read_or_build(path, build, name)
    if checksum not in (None, dataset.checksum):
        source += ", not byte for byte those of the course's numbers"
    return replace(dataset, source=source)


def read_or_build(path: Path, build: Callable[[], RaggedGraphs], name: str) -> GraphDataset:
    """A dataset from its graph file, built by the first process that asks; others wait for it.

    A file that is there is read without a lock, so its folder may be read-only. One that is damaged
    is named in a warning and made anew.
    """
    dataset, _ = _read(path)
    if dataset is not None:
        return dataset
    with locked(path.with_name(f".{path.name}.lock")):
        remove_halves(path.parent, path.name)
        dataset, fault = _read(path)  # another process may have built it meanwhile
        if fault:
            warnings.warn(f"{fault} It is made anew.", stacklevel=4)
        if dataset is None:
            write_ragged(path, build(), name=name)
            dataset = read_graphs(path)
    return dataset


def _read(path: Path) -> tuple[GraphDataset | None, str | None]:
    """The dataset, or what is wrong with the file; neither where there is no file."""
    try:
        return (read_graphs(path) if path.is_file() else None), None
    except ValueError as error:
        return None, str(error)


def made(name: str, source: str, ragged: RaggedGraphs) -> GraphDataset:
    """Graphs fresh from their recipe, which no file holds: ``.checksum`` is None."""
    return GraphDataset(
        name=name,
        source=source,
        graphs=ragged.to_data(),
        split=ragged.graph["split"],
        target=ragged.target,
    )


def check_split_sizes(split_sizes: Sequence[int]) -> None:
    """Refuses sizes of which no dataset can be made.

    Raises:
        ValueError: they are not three numbers of graphs, or all of them are 0.
    """
    sizes = tuple(split_sizes)
    if len(sizes) != len(SPLITS) or min(sizes) < 0 or sum(sizes) == 0:
        raise ValueError(
            f"split_sizes is {sizes}; expected the numbers of training, validation and test "
            "graphs, at least one graph in all."
        )
