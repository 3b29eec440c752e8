"""The published datasets: downloaded once, compared with their pins, kept as one graph file each.

A download and what is read of it lie in a folder of their own, and only the finished graph file
comes to its place. What the course knows of a dataset beforehand is in ``PUBLICATIONS``: the
address, the digest of what lies there where its publisher states one, and the digest of the
finished graph file where we had the published graphs from elsewhere (ZINC's 12,000).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from gtcourse.graphs.chemistry import ATOM_TYPES, BOND_TYPES, rdkit_chem
from gtcourse.graphs.dataset import SPLITS, GraphDataset
from gtcourse.graphs.downloads import Download, download, pin, pins
from gtcourse.graphs.files import read_graphs, write_ragged
from gtcourse.graphs.publishers import read_benchmark, read_ogbg, read_pcqm4mv2, read_zinc
from gtcourse.graphs.ragged import RaggedGraphs
from gtcourse.graphs.smiles import import_ogb
from gtcourse.graphs.writing import locked, work_folder

ZINC_INDEX = (
    "https://raw.githubusercontent.com/graphdeeplearning/benchmarking-gnns/master/data/molecules"
)
OGB = "https://snap.stanford.edu/ogb/data/graphproppred/csv_mol_download"
OGB_LSC = "https://dgl-data.s3-accelerate.amazonaws.com/dataset/OGB-LSC"
PYG = "https://data.pyg.org/datasets/benchmarking-gnns"

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


def _nothing() -> None:
    return


@dataclass(frozen=True)
class Publication:
    """What a dataset consists of, and how to read it.

    Attributes:
        reader: reads the publisher's files below a folder.
        downloads: where these files are.
        split_sizes: as published.
        source: who provides it.
        graph_file: sha256 of the graph file that comes out, where it is known beforehand.
        generated: whether the name alone stands for graphs that we generate.
        needs: raises an ImportError where a library is missing.
    """

    reader: Callable[[Path], RaggedGraphs]
    downloads: tuple[Download, ...]
    split_sizes: tuple[int, int, int]
    source: str
    graph_file: str | None = None
    node_vocabulary: tuple[str, ...] | None = None
    edge_vocabulary: tuple[str, ...] | None = None
    missing_targets: bool = False
    generated: bool = False
    needs: Callable[[], None] = _nothing

    @property
    def files(self) -> tuple[str, ...]:
        """The publisher's own files, relative to the folder."""
        return tuple(path for each in self.downloads for path in each.files)


def _zinc(
    subset: bool, split_sizes: tuple[int, int, int], graph_file: str | None = None
) -> Publication:
    return Publication(
        reader=lambda folder: read_zinc(folder, subset=subset),
        downloads=(
            Download(
                "https://www.dropbox.com/s/feo9qle74kg48gy/molecules.zip?dl=1",
                {f"raw/{split}.pickle": f"molecules/{split}.pickle" for split in SPLITS},
            ),
            *(
                Download(f"{ZINC_INDEX}/{split}.index", {f"raw/{split}.index": ""})
                for split in SPLITS
            ),
        ),
        split_sizes=split_sizes,
        source=f"PyG ZINC(subset={subset})",
        graph_file=graph_file,
        node_vocabulary=ATOM_TYPES,
        edge_vocabulary=BOND_TYPES,
    )


def _ogbg(name: str, split_sizes: tuple[int, int, int], missing_targets: bool) -> Publication:
    short = name.removeprefix("ogbg-mol")
    files = {f"{name.replace('-', '_')}/{file}": f"{short}/{file}" for file in OGBG_FILES}
    return Publication(
        reader=lambda folder: read_ogbg(folder, name),
        downloads=(Download(f"{OGB}/{short}.zip", files),),
        split_sizes=split_sizes,
        source=f"OGB {name}",
        missing_targets=missing_targets,
    )


def _benchmark(
    name: str, split_sizes: tuple[int, int, int], generated: bool = False
) -> Publication:
    file = f"{name}_v2.pt"
    return Publication(
        reader=lambda folder: read_benchmark(folder, name),
        downloads=(Download(f"{PYG}/{name}_v2.zip", {f"{name}/raw/{file}": file}),),
        split_sizes=split_sizes,
        source=f"PyG GNNBenchmarkDataset({name!r})",
        generated=generated,
    )


def _molecule_libraries() -> None:
    rdkit_chem()
    import_ogb()


PCQM4MV2_FILES = ("raw/data.csv.gz", "split_dict.pt", "RELEASE_v1.txt")

PUBLICATIONS = {
    "zinc": _zinc(
        True,
        (10_000, 1_000, 1_000),
        graph_file="87389ef67b5fdbb30e55dca840e2c3eb2e3c9df061d413cc6e2120991d0b34e9",
    ),
    "zinc-full": _zinc(False, (220_011, 24_445, 5_000)),
    "ogbg-molhiv": _ogbg("ogbg-molhiv", (32_901, 4_113, 4_113), missing_targets=False),
    # Most of its 128 assays were not run on most molecules.
    "ogbg-molpcba": _ogbg("ogbg-molpcba", (350_343, 43_793, 43_793), missing_targets=True),
    # The targets of test-dev and test-challenge (both: test) are kept back by the publisher.
    "pcqm4mv2": Publication(
        reader=read_pcqm4mv2,
        downloads=(
            Download(
                f"{OGB_LSC}/pcqm4m-v2.zip",
                {f"pcqm4m-v2/{file}": f"pcqm4m-v2/{file}" for file in PCQM4MV2_FILES},
                digest="md5:65b742bafca5670be4497499db7d361b",  # of all digests, ogb states this
            ),
        ),
        split_sizes=(3_378_606, 73_545, 147_037 + 147_432),
        source="OGB-LSC PCQM4Mv2",
        missing_targets=True,
        needs=_molecule_libraries,
    ),
    "pattern": _benchmark("PATTERN", (10_000, 2_000, 2_000), generated=True),
    "cluster": _benchmark("CLUSTER", (10_000, 1_000, 1_000), generated=True),
    "tsp": _benchmark("TSP", (10_000, 1_000, 1_000), generated=True),
    "mnist": _benchmark("MNIST", (55_000, 5_000, 10_000)),
    "cifar10": _benchmark("CIFAR10", (45_000, 5_000, 10_000)),
}


def load_real(name: str, root: Path) -> GraphDataset:
    """A published dataset, downloaded on the first call and kept as ``root/name.npz``.

    Where we generate graphs of the same name, it is kept as ``root/name-published.npz``. The file
    is compared with its pin each time: the course's own, or that of the first download.

    Raises:
        ImportError: a library that it needs is not installed.
        RuntimeError: the download failed or is not what was published; nothing of it is kept.
        ValueError: the kept file is damaged, or is not the one that was downloaded.
    """
    publication = PUBLICATIONS[name]
    path = root / (f"{name}-published.npz" if publication.generated else f"{name}.npz")
    if not path.is_file():
        _download(name, path)
    dataset = read_graphs(path, name=name)
    expected = publication.graph_file or pins(root).get(path.name, dataset.checksum)
    if dataset.checksum != expected:
        raise ValueError(
            f"{path} is not the file that was downloaded: its sha256 is {dataset.checksum}; "
            f"expected {expected}. Delete it and load {name!r} again."
        )
    return replace(dataset, source=f"download: {publication.source}")


def _download(name: str, path: Path) -> None:
    publication = PUBLICATIONS[name]
    publication.needs()
    root = path.parent
    with (
        locked(root / f".{path.name}.lock"),
        work_folder(root / f".{path.name}.download") as work,
    ):
        if path.is_file():  # another process has downloaded it meanwhile
            return
        finished = work / path.name
        try:
            new = download(publication.downloads, work, root)
            digest = write_ragged(finished, _read(name, work), name=name)
            if publication.graph_file not in (None, digest):
                raise ValueError(
                    f"its graph file has sha256 {digest}; expected {publication.graph_file}"
                )
        except Exception as error:  # whatever urllib, zipfile, pickle, torch or numpy raise
            raise RuntimeError(
                f"{name} could not be downloaded ({_brief(error)}); nothing of it was kept "
                f"in {root}. Try again where there is a network, or read a file with "
                f"load_dataset({name!r}, source='….npz')."
            ) from error
        pin(root, new | {path.name: digest})
        os.replace(finished, path)


def read_folder(name: str, folder: Path) -> GraphDataset:
    """A published dataset from the publisher's own files, below the root PyG or ogb would use.

    The folder stays as it is. Nothing is kept; :func:`gtcourse.graphs.write_graphs` does that.

    Raises:
        ImportError: a library that it needs is not installed.
        FileNotFoundError: one of the files is not there.
        RuntimeError: they cannot be read, or are not what was published.
    """
    publication = PUBLICATIONS[name]
    publication.needs()
    missing = [file for file in publication.files if not (folder / file).is_file()]
    if missing:
        raise FileNotFoundError(
            f"{folder} has no {', '.join(missing)}; expected the files of {publication.source}: "
            f"{', '.join(publication.files)}."
        )
    with tempfile.TemporaryDirectory(prefix=f"{name}-") as work:
        path = Path(work) / f"{name}.npz"
        try:
            write_ragged(path, _read(name, folder), name=name)
        except Exception as error:
            raise RuntimeError(
                f"{name} could not be read from {folder} ({_brief(error)}); expected the files "
                f"of {publication.source} as published."
            ) from error
        return replace(read_graphs(path, name=name), source=f"folder: {publication.source}")


def _read(name: str, folder: Path) -> RaggedGraphs:
    """Reads what lies below ``folder``, and compares with what was published."""
    publication = PUBLICATIONS[name]
    ragged = publication.reader(folder)
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
