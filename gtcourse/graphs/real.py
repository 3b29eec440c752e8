"""The published datasets: downloaded once, checked, kept as one graph file each.

PyG and ogb know where the data lie and how to read them. Both leave folders behind that mislead
them when a download breaks off (PyG's ZINC deletes its raw files when one is missing, ogb asks a
question on the terminal), so they work in a temporary folder, and only the finished graph file
moves to its place.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from gtcourse.graphs.chemistry import ATOM_TYPES, BOND_TYPES
from gtcourse.graphs.dataset import SPLITS, GraphDataset
from gtcourse.graphs.files import read_graphs, write_ragged
from gtcourse.graphs.publishers import read_benchmark, read_ogbg, read_pcqm4mv2, read_zinc
from gtcourse.graphs.ragged import RaggedGraphs

OGBG_FILES = (
    "raw/edge.csv.gz",
    "raw/num-node-list.csv.gz",
    "raw/num-edge-list.csv.gz",
    "raw/node-feat.csv.gz",
    "raw/edge-feat.csv.gz",
    "raw/graph-label.csv.gz",
    "split/scaffold/train.csv.gz",
    "split/scaffold/valid.csv.gz",
    "split/scaffold/test.csv.gz",
    "mapping/mol.csv.gz",
    "RELEASE_v1.txt",
)


@dataclass(frozen=True)
class Publication:
    """What a dataset consists of, and how to read it.

    Attributes:
        reader: reads (and, where files are missing, downloads) below a folder.
        files: the publisher's own files, relative to that folder.
        split_sizes: as published.
        source: who provides it.
        generated: whether the name alone stands for graphs that we generate.
    """

    reader: Callable[[Path], RaggedGraphs]
    files: tuple[str, ...]
    split_sizes: tuple[int, int, int]
    source: str
    node_vocabulary: tuple[str, ...] | None = None
    edge_vocabulary: tuple[str, ...] | None = None
    missing_targets: bool = False
    generated: bool = False


def _zinc(subset: bool, split_sizes: tuple[int, int, int]) -> Publication:
    return Publication(
        reader=lambda folder: read_zinc(folder, subset=subset),
        files=tuple(f"raw/{split}.{kind}" for kind in ("pickle", "index") for split in SPLITS),
        split_sizes=split_sizes,
        source=f"PyG ZINC(subset={subset})",
        node_vocabulary=ATOM_TYPES,
        edge_vocabulary=BOND_TYPES,
    )


def _ogbg(name: str, split_sizes: tuple[int, int, int], missing_targets: bool) -> Publication:
    return Publication(
        reader=lambda folder: read_ogbg(folder, name),
        files=tuple(f"{name.replace('-', '_')}/{file}" for file in OGBG_FILES),
        split_sizes=split_sizes,
        source=f"OGB {name}",
        missing_targets=missing_targets,
    )


def _benchmark(
    name: str, split_sizes: tuple[int, int, int], generated: bool = False
) -> Publication:
    return Publication(
        reader=lambda folder: read_benchmark(folder, name),
        files=(f"{name}/raw/{name}_v2.pt",),
        split_sizes=split_sizes,
        source=f"PyG GNNBenchmarkDataset({name!r})",
        generated=generated,
    )


PUBLICATIONS = {
    "zinc": _zinc(True, (10_000, 1_000, 1_000)),
    "zinc-full": _zinc(False, (220_011, 24_445, 5_000)),
    "ogbg-molhiv": _ogbg("ogbg-molhiv", (32_901, 4_113, 4_113), missing_targets=False),
    # Most of its 128 assays were not run on most molecules.
    "ogbg-molpcba": _ogbg("ogbg-molpcba", (350_343, 43_793, 43_793), missing_targets=True),
    # The targets of test-dev and test-challenge (both: test) are kept back by the publisher.
    "pcqm4mv2": Publication(
        reader=read_pcqm4mv2,
        files=tuple(
            f"pcqm4m-v2/{file}" for file in ("raw/data.csv.gz", "split_dict.pt", "RELEASE_v1.txt")
        ),
        split_sizes=(3_378_606, 73_545, 147_037 + 147_432),
        source="OGB-LSC PCQM4Mv2",
        missing_targets=True,
    ),
    "pattern": _benchmark("PATTERN", (10_000, 2_000, 2_000), generated=True),
    "cluster": _benchmark("CLUSTER", (10_000, 1_000, 1_000), generated=True),
    "tsp": _benchmark("TSP", (10_000, 1_000, 1_000), generated=True),
    "mnist": _benchmark("MNIST", (55_000, 5_000, 10_000)),
    "cifar10": _benchmark("CIFAR10", (45_000, 5_000, 10_000)),
}


def load_real(name: str, root: Path) -> GraphDataset:
    """A published dataset, downloaded on the first call and kept as ``root/name.npz``.

    Where we generate graphs of the same name, it is kept as ``root/name-published.npz``.

    Raises:
        ImportError: the library that reads it is not installed.
        RuntimeError: the download failed or is not what was published; nothing of it is kept.
    """
    publication = PUBLICATIONS[name]
    path = root / (f"{name}-published.npz" if publication.generated else f"{name}.npz")
    if not path.is_file():
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=root) as work:
            try:
                ragged = _read(name, Path(work))
                write_ragged(path, ragged, name=name)
            except ImportError:
                raise
            except (Exception, SystemExit) as error:  # whatever urllib, zipfile, PyG or ogb raise
                raise RuntimeError(
                    f"{name} could not be downloaded ({_brief(error)}); nothing of it was kept "
                    f"in {root}. Try again where there is a network, or read a file with "
                    f"load_dataset({name!r}, source='….npz')."
                ) from error
    return replace(read_graphs(path, name=name), source=f"download: {publication.source}")


def read_folder(name: str, folder: Path) -> GraphDataset:
    """A published dataset from the publisher's own files, below the root PyG or ogb would use.

    The folder stays as it is. Nothing is kept; :func:`gtcourse.graphs.write_graphs` does that.

    Raises:
        FileNotFoundError: one of the files is not there.
        RuntimeError: they cannot be read, or are not what was published.
    """
    publication = PUBLICATIONS[name]
    missing = [file for file in publication.files if not (folder / file).is_file()]
    if missing:
        raise FileNotFoundError(
            f"{folder} has no {', '.join(missing)}; expected the files of {publication.source}: "
            f"{', '.join(publication.files)}."
        )
    with tempfile.TemporaryDirectory(prefix=f"{name}-") as work:
        for file in publication.files:
            (Path(work) / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / file, Path(work) / file)
        path = Path(work) / f"{name}.npz"
        try:
            write_ragged(path, _read(name, Path(work)), name=name)
        except ImportError:
            raise
        except (Exception, SystemExit) as error:
            raise RuntimeError(
                f"{name} could not be read from {folder} ({_brief(error)}); expected the files "
                f"of {publication.source} as published."
            ) from error
        return replace(read_graphs(path, name=name), source=f"folder: {publication.source}")


def _read(name: str, work: Path) -> RaggedGraphs:
    """Lets the publisher's library read below ``work``, and compares with what was published."""
    publication = PUBLICATIONS[name]
    ragged = publication.reader(work)
    sizes = tuple(int((ragged.graph["split"] == split).sum()) for split in range(len(SPLITS)))
    if sizes != publication.split_sizes:
        found, expected = (_spelled(each) for each in (sizes, publication.split_sizes))
        raise ValueError(f"it has {found} graphs; expected {expected} for train, val and test")
    ragged.node_vocabulary = publication.node_vocabulary
    ragged.edge_vocabulary = publication.edge_vocabulary
    ragged.missing_targets = publication.missing_targets
    return ragged


def _spelled(sizes: tuple[int, ...]) -> str:
    return "/".join(f"{size:,}" for size in sizes)


def _brief(error: BaseException) -> str:
    first_line = (str(error).strip().splitlines() or ["no details"])[0]
    return f"{type(error).__name__}: {first_line.rstrip('.')}"
