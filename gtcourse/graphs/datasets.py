"""``load_dataset``: every dataset of the course by its name."""

from __future__ import annotations

import csv
import gzip
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from gtcourse.graphs.communities import load_cluster, load_pattern
from gtcourse.graphs.cycles import load_csl, load_cycles
from gtcourse.graphs.downloads import Download, download, load_integers, load_tensors, pin, pins
from gtcourse.graphs.files import locked, work_folder
from gtcourse.graphs.molecules import (
    ATOM_TYPES,
    BOND_TYPES,
    import_ogb,
    load_molecules,
    rdkit_chem,
    smiles_graphs,
)
from gtcourse.graphs.ragged import SPLITS, GraphDataset, RaggedGraphs, read_graphs, write_ragged
from gtcourse.graphs.superpixels import load_digits
from gtcourse.graphs.tours import load_tsp

BENCHMARKS = {
    "PATTERN": "node",
    "CLUSTER": "node",
    "TSP": "edge",
    "MNIST": "graph",
    "CIFAR10": "graph",
}
"""What has a class in PyG's copies of the benchmarks (Dwivedi et al., 2023)."""

PCQM4MV2_PARTS = (("train",), ("valid",), ("test-dev", "test-challenge"))
"""The publisher's names of our three splits."""


def read_zinc(folder: Path, subset: bool) -> RaggedGraphs:
    """ZINC below ``folder/raw``, as its benchmark has it; bonds in the matrix's order of rows."""
    parts = []
    for split in SPLITS:
        molecules = load_tensors(folder / f"raw/{split}.pickle")
        if subset:
            index = (folder / f"raw/{split}.index").read_text()
            molecules = [molecules[int(number)] for number in index.split(",")]
        parts.append([_zinc_graph(molecule) for molecule in molecules])
    ragged = _end_to_end(parts, "graph")
    ragged.graph["y"] = ragged.graph["y"].astype(np.float32)
    return ragged


def _zinc_graph(molecule: dict[str, Tensor]) -> dict[str, Tensor]:
    edge_index = molecule["bond_type"].nonzero().T
    return {
        "x": molecule["atom_type"].long().reshape(-1, 1),
        "edge_index": edge_index,
        "edge_attr": molecule["bond_type"][tuple(edge_index)].long(),
        "y": molecule["logP_SA_cycle_normalized"].reshape(1),
    }


def read_benchmark(folder: Path, name: str) -> RaggedGraphs:
    """One of ``BENCHMARKS`` below ``folder``.

    The one-hot types of PATTERN and CLUSTER become categories ``[n, 1]``. A superpixel's intensity
    or colour and its place become one row, ``[n, 3]`` in MNIST and ``[n, 5]`` in CIFAR10.

    PyG's MNIST was reported not to be the authors' own: the same nodes and as many edges, but
    other ones (pyg-team/pytorch_geometric, issue 10592). Of TSP, the authors' loader exchanges
    validation and test, of equal size; whether PyG's files have them in that order or the other is
    not known to us. We have compared neither.
    """
    parts = torch.load(folder / name / f"raw/{name}_v2.pt", weights_only=True)
    ragged = _end_to_end(parts, BENCHMARKS[name])
    classes = getattr(ragged, ragged.target)
    classes["y"] = classes["y"].astype(np.int64)
    if "pos" in ragged.node:
        ragged.node["x"] = np.concatenate([ragged.node["x"], ragged.node.pop("pos")], axis=1)
    if name in ("PATTERN", "CLUSTER"):
        ragged.node["x"] = _categories(ragged.node["x"])
    return ragged


def read_ogbg(folder: Path, name: str) -> RaggedGraphs:
    """A molecular property set of OGB, below ``folder``; both directions of every bond."""
    folder = folder / name.replace("-", "_")
    bonds = _table(folder / "raw/edge.csv.gz")
    directed = np.repeat(bonds, 2, axis=0)
    directed[1::2] = bonds[:, ::-1]
    num_nodes = _table(folder / "raw/num-node-list.csv.gz")[:, 0]
    y = np.loadtxt(
        folder / "raw/graph-label.csv.gz",
        delimiter=",",
        ndmin=2,
        dtype=np.float32,
        converters=lambda field: float(field or "nan"),  # a label that nobody measured is empty
        encoding="utf-8",
    )
    rows = [
        _table(folder / f"split/scaffold/{part}.csv.gz")[:, 0]
        for part in ("train", "valid", "test")
    ]
    return RaggedGraphs(
        num_nodes=num_nodes,
        num_edges=2 * _table(folder / "raw/num-edge-list.csv.gz")[:, 0],
        edge_index=directed.T,
        node={"x": _table(folder / "raw/node-feat.csv.gz")},
        edge={"edge_attr": np.repeat(_table(folder / "raw/edge-feat.csv.gz"), 2, axis=0)},
        graph={"y": y[:, 0] if y.shape[1] == 1 else y, "split": _split(len(num_nodes), rows)},
        smiles=_columns(folder / "mapping/mol.csv.gz", "smiles")[0],
    )


def read_pcqm4mv2(folder: Path) -> RaggedGraphs:
    """PCQM4Mv2 of OGB-LSC, below ``folder``; RDKit makes its graphs from SMILES, 3.7 million."""
    smiles, y, split = pcqm4mv2_table(folder)
    ragged = smiles_graphs(tqdm(smiles, desc="molecules", disable=None), range(len(smiles)))
    ragged.graph = {"y": y.astype(np.float32), "split": split}
    return ragged


def pcqm4mv2_table(folder: Path) -> tuple[list[str], np.ndarray, np.ndarray]:
    """SMILES, targets (NaN where they are kept back) and splits of PCQM4Mv2, below ``folder``."""
    folder = folder / "pcqm4m-v2"
    smiles, gaps = _columns(folder / "raw/data.csv.gz", "smiles", "homolumogap")
    y = np.array([float(gap or "nan") for gap in gaps])
    rows = load_integers(folder / "split_dict.pt")
    parts = [np.concatenate([rows[name] for name in names]) for names in PCQM4MV2_PARTS]
    split = _split(len(smiles), parts)
    unknown = np.flatnonzero(np.isnan(y) & (split < 2))
    if len(unknown):
        raise ValueError(f"molecule {unknown[0]}, for training or validation, has no target")
    return smiles, y, split


def _end_to_end(parts: Sequence[Sequence[dict[str, Tensor]]], target: str) -> RaggedGraphs:
    """Training, validation and test graphs as one list; ``y`` is what ``target`` says, flat."""
    graphs = [graph for part in parts for graph in part]
    along = {"edge_index": 1}
    joined = {
        key: torch.cat([graph[key] for graph in graphs], dim=along.get(key, 0)).numpy()
        for key in graphs[0]
    }
    edge_index = joined.pop("edge_index")
    edge = {"edge_attr": joined.pop("edge_attr")} if "edge_attr" in joined else {}
    ragged = RaggedGraphs(
        num_nodes=np.array([len(graph["x"]) for graph in graphs]),
        num_edges=np.array([graph["edge_index"].shape[1] for graph in graphs]),
        edge_index=edge_index,
        node={key: joined[key] for key in ("x", "pos") if key in joined},
        edge={key: values.reshape(edge_index.shape[1], -1) for key, values in edge.items()},
        graph={"split": np.repeat(np.arange(3), [len(part) for part in parts])},
        target=target,
    )
    getattr(ragged, target)["y"] = joined["y"].reshape(-1)
    return ragged


def _categories(one_hot: np.ndarray) -> np.ndarray:
    """``[n, C]`` to ``[n, 1]``."""
    wrong = np.flatnonzero(((one_hot == 1).sum(axis=1) != 1) | ((one_hot != 0).sum(axis=1) != 1))
    if len(wrong):
        row = one_hot[wrong[0]].tolist()
        raise ValueError(f"node {wrong[0]} of all has x = {row}; expected one 1 among zeros")
    return one_hot.argmax(axis=1)[:, None]


def _split(count: int, parts: Sequence[np.ndarray]) -> np.ndarray:
    split = np.full(count, -1)
    for number, rows in enumerate(parts):
        split[rows] = number
    if (split < 0).any():
        raise ValueError(f"molecule {np.flatnonzero(split < 0)[0]} is in no split; expected one")
    return split


def _table(path: Path) -> np.ndarray:
    """Integers; a row a line."""
    return np.loadtxt(path, delimiter=",", dtype=np.int64, ndmin=2)


def _columns(path: Path, *names: str) -> list[list[str]]:
    """Columns by their names in the first line."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        header = next(rows)
        places = [header.index(name) for name in names]
        found = [[row[place] for place in places] for row in rows]
    return [list(column) for column in zip(*found, strict=True)]


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
                f"{name} could not be downloaded ({cause(error)}); nothing of it was kept "
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
                f"{name} could not be read from {folder} ({cause(error)}); expected the files "
                f"of {publication.source} as published."
            ) from error
        return replace(read_graphs(path, name=name), source=f"folder: {publication.source}")


def _read(name: str, folder: Path) -> RaggedGraphs:
    """Reads what lies below ``folder``, and compares with what was published."""
    publication = PUBLICATIONS[name]
    ragged = publication.reader(folder)
    sizes = tuple(int((ragged.graph["split"] == split).sum()) for split in range(len(SPLITS)))
    if sizes != publication.split_sizes:
        found, expected = (spelled(each) for each in (sizes, publication.split_sizes))
        raise ValueError(f"it has {found} graphs; expected {expected} for train, val and test")
    ragged.node_vocabulary = publication.node_vocabulary
    ragged.edge_vocabulary = publication.edge_vocabulary
    ragged.missing_targets = publication.missing_targets
    return ragged


def spelled(sizes: tuple[int, ...]) -> str:
    return "/".join(f"{size:,}" for size in sizes)


def cause(error: BaseException) -> str:
    first_line = (str(error).strip().splitlines() or ["no details"])[0]
    return f"{type(error).__name__}: {first_line.rstrip('.')}"


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
            other path: read this ``.npz`` graph file (:mod:`gtcourse.graphs.ragged`), or the
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
    if not isinstance(source, str | Path | None):
        raise ValueError(f"source is {source!r}; expected 'download', a path, or None.")
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
