"""Datasets that are made from a recipe: kept as graph files, or handed over as they are made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from gtcourse.graphs.dataset import SPLITS, GraphDataset
from gtcourse.graphs.files import read_graphs, write_ragged
from gtcourse.graphs.ragged import RaggedGraphs


def kept(
    root: Path,
    name: str,
    build: Callable[[], RaggedGraphs],
    source: str,
    checksum: str | None = None,
) -> GraphDataset:
    """A dataset from its graph file under ``root``, built first where that is not there.

    Args:
        build: makes the graphs; called again where the file is damaged.
        source: says which data this is.
        checksum: sha256 of the file with which the course's numbers were made. A part of it is in
            the file's name, and where the file is another one, ``.source`` says so.
    """
    path = root / (f"{name}-{checksum[:8]}.npz" if checksum else f"{name}.npz")
    try:
        dataset = read_graphs(path)
    except (FileNotFoundError, ValueError):  # not built yet, or damaged since
        write_ragged(path, build(), name=name)
        dataset = read_graphs(path)
    if checksum not in (None, dataset.checksum):
        source += ", not byte for byte those of the course's numbers"
    return replace(dataset, source=source)


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
