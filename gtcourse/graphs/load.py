"""``load_dataset``: every dataset of the course by its name."""

from __future__ import annotations

import os
from pathlib import Path

from gtcourse.graphs.chemistry import ATOM_TYPES, BOND_TYPES
from gtcourse.graphs.communities import load_cluster, load_pattern
from gtcourse.graphs.cycles import load_csl, load_cycles
from gtcourse.graphs.dataset import GraphDataset
from gtcourse.graphs.files import read_graphs
from gtcourse.graphs.molecules import load_molecules
from gtcourse.graphs.real import PUBLICATIONS, load_real, read_folder
from gtcourse.graphs.superpixels import load_digits
from gtcourse.graphs.tours import load_tsp

ZINC_LIKE = ("molecules", "zinc", "zinc-full")
GENERATED = {
    "molecules": load_molecules,
    "cycles": load_cycles,
    "csl": load_csl,
    "pattern": load_pattern,
    "cluster": load_cluster,
    "tsp": load_tsp,
    "digits": load_digits,
}
NAMES = tuple(dict.fromkeys((*GENERATED, *PUBLICATIONS)))

DOWNLOAD = "download"


def load_dataset(
    name: str, source: str | Path | None = None, root: str | Path | None = None
) -> GraphDataset:
    """A dataset by name; the caller chooses where it comes from, and ``.source`` says it.

    Args:
        name: "molecules" lies inside the installed RDKit, and "digits" inside scikit-learn
            (:mod:`gtcourse.graphs.superpixels`). "cycles" and "csl"
            (:mod:`gtcourse.graphs.cycles`), "pattern" and "cluster"
            (:mod:`gtcourse.graphs.communities`) and "tsp" (:mod:`gtcourse.graphs.tours`) are
            generated. "zinc" (12,000 molecules), "zinc-full", "ogbg-molhiv", "ogbg-molpcba",
            "pcqm4mv2", "mnist" and "cifar10" (superpixels) are downloaded once.
        source: "download" for the published graphs of "pattern", "cluster" and "tsp" instead of
            generated ones (where a dataset is downloaded in any case, it changes nothing). Any
            other path: read this ``.npz`` graph file (:mod:`gtcourse.graphs.files`), or the
            publisher's own files below this folder.
        root: where built and downloaded datasets are kept; by default the environment variable
            ``GTCOURSE_DATA``, else ``~/.cache/gtcourse``.

    Raises:
        ValueError: there is no dataset of this name, the file is damaged, or there is nothing to
            download.
        RuntimeError: a download failed; nothing of it is kept.
    """
    if name not in NAMES:
        raise ValueError(f"there is no dataset {name!r}; expected one of {', '.join(NAMES)}.")
    root = data_root(root)
    if source == DOWNLOAD:
        if name not in PUBLICATIONS:
            raise ValueError(
                f"there is nothing to download for {name!r}; expected one of "
                f"{', '.join(PUBLICATIONS)}."
            )
        return load_real(name, root)
    if source is not None:
        if Path(source).is_dir() and name in PUBLICATIONS:
            return read_folder(name, Path(source))
        atoms, bonds = (ATOM_TYPES, BOND_TYPES) if name in ZINC_LIKE else (None, None)
        return read_graphs(source, name=name, node_vocabulary=atoms, edge_vocabulary=bonds)
    if name in GENERATED:
        return GENERATED[name](root)
    return load_real(name, root)


def data_root(root: str | Path | None = None) -> Path:
    """Where built and downloaded data sets are kept, if nothing else is said."""
    named = os.environ.get("GTCOURSE_DATA") or "~/.cache/gtcourse"
    folder = Path(named if root is None else root).expanduser()
    if os.path.isfile(folder):  # which a closed folder does not raise at
        raise ValueError(f"root is {folder}, a file; expected a folder for data sets.")
    return folder
