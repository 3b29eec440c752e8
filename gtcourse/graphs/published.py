"""``load_dataset``: every dataset of the course by its name, generated or as published.

No pickle of a publisher is run: readers of our own take tensors and integers, and nothing else.
"""

from __future__ import annotations

import io
import os
import pickle
import shutil
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urljoin, urlsplit

import numpy as np
import torch
from filelock import FileLock
from torch import Tensor
from torch_geometric.data import Data
from tqdm import tqdm

from gtcourse.graphs import molecules
from gtcourse.graphs.arguments import Target, check_path
from gtcourse.graphs.dataset import SPLITS, GraphDataset, RaggedGraphs
from gtcourse.graphs.io import read_graphs, require, write_ragged
from gtcourse.graphs.molecules import ATOM_TYPES, BOND_TYPES

DOWNLOAD = "download"


def load_dataset(
    name: str, source: str | Path | None = None, root: str | Path | None = None
) -> GraphDataset:
    """A dataset by name; the caller chooses where it comes from, and ``.source`` names it.

    Args:
        name: "molecules" is inside the installed RDKit, "digits" inside scikit-learn. "cycles",
            "csl", "pattern", "cluster" and "tsp" (:mod:`gtcourse.course.tasks`) are generated.
            "zinc" (12,000 molecules), "zinc-full", "ogbg-molhiv", "ogbg-molpcba", "pcqm4mv2",
            "pcqm4mv2-subset" (a tenth of its training molecules), "mnist" and "cifar10"
            (superpixels) are downloaded once.
        source: "download" for the published graphs of "pattern", "cluster" and "tsp" instead of
            generated ones. Any other path: read this ``.npz`` graph file
            (:mod:`gtcourse.graphs.io`), or the publisher's own files below this folder.
        root: where built and downloaded datasets are stored; by default the environment variable
            ``GTCOURSE_DATA``, else ``~/.cache/gtcourse``.

    Raises:
        ValueError: there is no such dataset, nothing to download, or the file is damaged.
        RuntimeError: a download failed, or a publisher's files cannot be read.
        ImportError: a library that the dataset needs is not installed.
    """
    if name not in dataset_names():
        names = ", ".join(dataset_names())
        raise ValueError(f"there is no dataset {name!r}; expected one of {names}.")
    if source is not None:
        check_path("source", source, "'download', or the path of graphs")
    if source == DOWNLOAD and name not in PUBLICATIONS:
        names = ", ".join(PUBLICATIONS)
        raise ValueError(f"there is nothing to download for {name!r}; expected one of {names}.")
    if source is None and name in GENERATED:
        return GENERATED[name].load(name, data_root(root))
    if source in (None, DOWNLOAD):
        return PUBLICATIONS[name].load(name, data_root(root))
    if Path(source).is_dir() and name in PUBLICATIONS:
        return PUBLICATIONS[name].load_folder(name, Path(source))
    if name in ("molecules", "zinc", "zinc-full"):
        return read_graphs(
            source, name=name, node_vocabulary=ATOM_TYPES, edge_vocabulary=BOND_TYPES
        )
    return read_graphs(source, name=name)


def data_root(root: str | Path | None = None) -> Path:
    """Where built and downloaded data sets are stored."""
    if root is not None:
        check_path("root", root, "the path of a folder")
    default = os.environ.get("GTCOURSE_DATA") or "~/.cache/gtcourse"
    folder = Path(default if root is None else root).expanduser()
    if folder.is_file():
        raise ValueError(f"{folder} is a file; expected a folder for data sets.")
    return folder


@dataclass(frozen=True)
class Generated:
    """Graphs that need no network.

    Attributes:
        build: makes the graphs.
        source: where they come from, in words.
        checksum: sha256 of the graph file behind the course's numbers.
        version: returns that of RDKit, if it decides on the graphs.
    """

    build: Callable[[], RaggedGraphs]
    source: str
    checksum: str | None = None
    version: Callable[[], str] | None = None

    def load(self, name: str, root: Path) -> GraphDataset:
        """The graphs, built once and then read from a file below ``root``."""
        stem = name
        source = self.source
        if self.version is not None:
            version = self.version()
            stem += f"-rdkit-{version}"
            source += f" {version}"
        if self.checksum is not None:
            stem += f"-{self.checksum[:8]}"
        dataset = cached(root / f"{stem}.npz", name, self.build)
        if self.checksum not in (None, dataset.checksum):
            source += ", not byte for byte those of the course's numbers"
        return replace(dataset, source=source)


@dataclass(frozen=True)
class Publication:
    """A published data set: who provides it, where its files are, and what reads their folder.

    Attributes:
        source: who provides it.
        read: makes the graphs from the folder of the files.
        split_sizes: how many graphs are for training, validation and testing.
        url: of a zip archive with the files.
        folder: of the files, below the root that PyG or ogb would use.
        archive: their folder in the archive.
        digest: of the archive, if the publisher states one.
        other_files: the URL of each file that is not in the archive, by its name.
        checksum: sha256 of our graph file, if known.
        needs: raises an ImportError if a library is missing.
    """

    source: str
    read: Callable[[Path], RaggedGraphs]
    split_sizes: tuple[int, int, int]
    url: str
    folder: str
    archive: str = ""
    digest: str | None = None
    other_files: Mapping[str, str] = field(default_factory=dict)
    checksum: str | None = None
    needs: Callable[[], object] | None = None

    def load(self, name: str, root: Path) -> GraphDataset:
        """The graphs, downloaded once and then read from a file below ``root``.

        It is ``name.npz``, or ``name-published.npz`` if we generate graphs of that name.
        """

        def build() -> RaggedGraphs:
            with self.downloaded(name, root) as folder:
                return self.graphs(name, folder)

        stem = f"{name}-published" if name in GENERATED else name
        path = root / f"{stem}.npz"
        dataset = cached(path, name, build)
        if self.checksum not in (None, dataset.checksum):
            raise ValueError(
                f"{path} has sha256 {dataset.checksum}; expected {self.checksum}. Delete it and "
                f"load {name!r} again."
            )
        return replace(dataset, source=f"download: {self.source}")

    def load_folder(self, name: str, root: Path) -> GraphDataset:
        """From the publisher's own files, below the root that PyG or ogb would use."""
        with TemporaryDirectory() as work:
            build = partial(self.graphs, name, root / self.folder)
            dataset = cached(Path(work, "graphs.npz"), name, build)
        return replace(dataset, source=f"folder: {self.source}")

    def graphs(self, name: str, folder: Path) -> RaggedGraphs:
        """The graphs in a folder of the publisher's files, checked to be as many as published."""
        with self.reading(name, folder):
            graphs = self.read(folder)
            sizes = tuple(np.bincount(graphs.columns["split"], minlength=3).tolist())
            if sizes != self.split_sizes:
                raise ValueError(f"its splits have {sizes} graphs; expected {self.split_sizes}")
            return graphs

    def reading(self, name: str, folder: Path) -> AbstractContextManager[None]:
        """Raises a RuntimeError if what the block reads is not as published."""
        return _with_reason(
            f"{name} could not be read from {folder}",
            f"; expected the files of {self.source} as published.",
        )

    @contextmanager
    def downloaded(self, name: str, root: Path) -> Iterator[Path]:
        """A temporary folder below ``root`` with the publisher's files, downloaded over TLS.

        If the download fails, nothing of it is left, and a RuntimeError says why.
        """
        import pooch

        if self.needs is not None:
            self.needs()
        pooch.get_logger().setLevel("WARNING")
        hooks = {"response": _stay_on_https}
        https = pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), hooks=hooks)
        remedy = (
            ". Try again with a network connection, or read a file with "
            f"load_dataset({name!r}, source='….npz') or, on the command line, with --data FILE.npz."
        )
        work = root / f".{name}.download"
        files = work / self.archive
        shutil.rmtree(work, ignore_errors=True)  # of a process that was killed
        try:
            with _with_reason(f"{name} could not be downloaded", remedy):
                pooch.retrieve(
                    self.url,
                    known_hash=self.digest,
                    fname="archive.zip",
                    path=work,
                    processor=pooch.Unzip(extract_dir="."),
                    downloader=https,
                )
                for file, url in self.other_files.items():
                    pooch.retrieve(url, known_hash=None, fname=file, path=files, downloader=https)
            yield files
        finally:
            shutil.rmtree(work, ignore_errors=True)


@contextmanager
def _with_reason(failed: str, rest: str) -> Iterator[None]:
    """Raises one RuntimeError for anything from requests, zipfile, pickle, torch or numpy.

    Args:
        failed: what could not be done; the reason follows in parentheses.
        rest: the rest of the message.
    """
    try:
        yield
    except ImportError:  # which says what to install
        raise
    except Exception as error:
        raise RuntimeError(f"{failed} ({_reason(error)}){rest}") from error


def _reason(error: Exception) -> str:
    """What went wrong, in a few words."""
    request = getattr(error, "request", None)  # requests' errors have it
    if request is not None and getattr(error, "response", None) is None:
        return f"{urlsplit(request.url).hostname} cannot be reached"
    first_line = (str(error).strip().splitlines() or ["no details"])[0].rstrip(".")
    return f"{type(error).__name__}: {first_line}"


def _stay_on_https(response: Any, **_: object) -> None:
    """A hook of requests, called before a redirection is followed."""
    target = urljoin(response.url, response.headers.get("location", ""))
    if not target.startswith("https://"):
        raise ValueError(f"{response.url} leads to {target}; expected an https address")


def cached(path: Path, name: str, build: Callable[[], RaggedGraphs]) -> GraphDataset:
    """The data set in a graph file; the first process that finds none builds it."""
    if not path.is_file():
        with FileLock(path.with_name(f".{path.name}.lock")):
            if not path.is_file():  # another process may have built it meanwhile
                write_ragged(path, build(), name=name)
    return read_graphs(path)


def read_zinc(folder: Path, subset: bool) -> RaggedGraphs:
    """ZINC as its benchmark has it; the bonds are in the order of the rows of their matrix."""
    parts = []
    for split in SPLITS:
        with open(folder / f"{split}.pickle", "rb") as file:
            found = TensorUnpickler(file).load()
        if subset:
            chosen = (folder / f"{split}.index").read_text().split(",")
            found = [found[int(number)] for number in chosen]
        parts.append([_zinc_graph(molecule) for molecule in found])
    graphs = _ragged(parts, "graph")
    graphs.node_vocabulary = ATOM_TYPES
    graphs.edge_vocabulary = BOND_TYPES
    return graphs


def _zinc_graph(molecule: dict[str, Tensor]) -> Data:
    bonds = molecule["bond_type"]  # [n, n], 0 where there is none
    y = molecule["logP_SA_cycle_normalized"].float().reshape(1)
    x = molecule["atom_type"].long().reshape(-1, 1)  # [n, 1]
    edge_index = bonds.nonzero().T  # [2, E]
    edge_attr = bonds[tuple(edge_index)].long().reshape(-1, 1)  # [E, 1]
    return Data(x=x, edge_index=edge_index, edge_attr=edge_attr, y=y)


def read_benchmark(folder: Path, name: str, target: Target) -> RaggedGraphs:
    """One of PyG's copies of the benchmarks of Dwivedi et al. (2023).

    ``target`` says what the classes are of: graphs, nodes or edges.

    The one-hot types of PATTERN and CLUSTER become categories ``[n, 1]``. A superpixel's intensity
    or colour and its place become one row, ``[n, 3]`` in MNIST and ``[n, 5]`` in CIFAR10.

    PyG's MNIST was reported not to be the authors' own: the same nodes and as many edges, but
    other ones (pyg-team/pytorch_geometric, issue 10592). Of TSP, the authors' loader exchanges
    validation and test, of equal size; whether PyG's files have them in that order or the other is
    not known to us. We have compared neither.
    """
    published = torch.load(folder / f"{name}_v2.pt", weights_only=True)
    parts = [[_benchmark_graph(values, name) for values in part] for part in published]
    return _ragged(parts, target)


def _benchmark_graph(values: dict[str, Tensor], name: str) -> Data:
    x = values["x"]
    if "pos" in values:
        x = torch.cat([x, values["pos"]], dim=1)
    if name in ("PATTERN", "CLUSTER"):
        x = x.argmax(dim=1, keepdim=True)
    graph = Data(x=x, edge_index=values["edge_index"], y=values["y"].long().reshape(-1))
    if "edge_attr" in values:
        graph.edge_attr = values["edge_attr"].reshape(-1, 1)
    return graph


def _ragged(parts: Sequence[Sequence[Data]], target: Target) -> RaggedGraphs:
    """Training, validation and test graphs end to end."""
    graphs = [graph for part in parts for graph in part]
    split = np.repeat(np.arange(3), [len(part) for part in parts])
    return RaggedGraphs.from_data(graphs, target, split)


def read_ogbg(folder: Path) -> RaggedGraphs:
    """A molecular property set of OGB; a label that was not measured is NaN."""
    read_csv = require("pandas", "pandas").read_csv

    def table(name: str) -> np.ndarray:
        return read_csv(folder / f"{name}.csv.gz", header=None).to_numpy(copy=True)

    bonds = table("raw/edge")
    num_nodes = table("raw/num-node-list")[:, 0]
    y = table("raw/graph-label").astype(float)
    parts = [table(f"split/scaffold/{part}") for part in ("train", "valid", "test")]
    columns = {
        "x": torch.as_tensor(table("raw/node-feat")),
        "edge_attr": torch.as_tensor(np.repeat(table("raw/edge-feat"), 2, axis=0)),
        "y": torch.as_tensor(y[:, 0] if y.shape[1] == 1 else y),
        "split": torch.as_tensor(_split(len(num_nodes), parts)),
    }
    # OGB lists a bond once; its other direction follows.
    edge_index = np.stack([bonds, bonds[:, ::-1]], axis=1).reshape(-1, 2).T
    num_edges = 2 * table("raw/num-edge-list")[:, 0]
    return RaggedGraphs(
        torch.as_tensor(num_nodes),
        torch.as_tensor(num_edges),
        torch.as_tensor(edge_index),
        columns,
        smiles=read_csv(folder / "mapping/mol.csv.gz")["smiles"].tolist(),
    )


def read_pcqm4mv2(folder: Path) -> RaggedGraphs:
    """PCQM4Mv2 of OGB-LSC; RDKit makes its graphs from SMILES, 3.7 million."""
    smiles, y, split = pcqm4mv2_table(folder)
    graphs = molecules.ogb_graphs(tqdm(smiles, desc="molecules", disable=None), y)
    return RaggedGraphs.from_data(graphs, "graph", split)


def read_pcqm4mv2_subset(
    folder: Path, held_out: int = 150_000, validation: int = 50_000, share: float = 0.1
) -> RaggedGraphs:
    """A tenth of PCQM4Mv2, of the same molecules as CSA's and GraphGPS's authors have.

    They shuffle the training molecules with numpy's generator of seed 42, hold 150,000 out, of
    which 50,000 are for validation, and train on a tenth of the others. The official validation
    molecules are for testing.

    Args:
        folder: of the publisher's files.
        held_out: training molecules that are not trained on.
        validation: how many of these are for validation.
        share: of the other training molecules, the part that is trained on.
    """
    smiles, y, _ = pcqm4mv2_table(folder)
    published = load_integers(folder / "split_dict.pt")
    shuffled = np.random.default_rng(seed=42).permutation(published["train"])
    train = shuffled[held_out:]
    train = train[: int(share * len(train))]
    val = shuffled[:held_out][:validation]
    test = published["valid"]
    parts = (train, val, test)
    rows = np.concatenate(parts)
    chosen = tqdm([smiles[row] for row in rows], desc="molecules", disable=None)
    graphs = molecules.ogb_graphs(chosen, y[rows])
    split = np.repeat(np.arange(3), [len(part) for part in parts])
    return RaggedGraphs.from_data(graphs, "graph", split)


def pcqm4mv2_table(folder: Path) -> tuple[list[str], np.ndarray, np.ndarray]:
    """SMILES, targets (NaN for the test graphs, as published) and splits of PCQM4Mv2."""
    # As text at first: not every version of pandas reads the last digits of a number.
    table = require("pandas", "pandas").read_csv(folder / "raw/data.csv.gz", dtype=str)
    y = table["homolumogap"].astype(float).to_numpy(copy=True)
    rows = load_integers(folder / "split_dict.pt")
    test = np.concatenate([rows["test-dev"], rows["test-challenge"]])
    split = _split(len(table), (rows["train"], rows["valid"], test))
    is_wrong = (split < 0) | (np.isnan(y) & (split < 2))
    if is_wrong.any():
        wrong = int(is_wrong.argmax())
        raise ValueError(f"molecule {wrong} is in no split, or has no target to train on")
    return table["smiles"].tolist(), y, split


def _split(count: int, parts: Sequence[np.ndarray]) -> np.ndarray:
    """The part of each graph, ``[count]``, from the graphs of each part; -1 if it is in none."""
    split = np.full(count, -1)
    for number, rows in enumerate(parts):
        split[rows.ravel()] = number
    return split


class TensorUnpickler(pickle.Unpickler):
    """Reads tensors in lists and dicts; raises an UnpicklingError if a file asks for more."""

    def find_class(self, module: str, name: str) -> object:
        # New functions each time, because a pickle can set attributes on them.
        allowed = {
            "collections.OrderedDict": OrderedDict,
            "_codecs.encode": lambda text, _: text.encode("latin1"),  # bytes, before protocol 3
            "torch._utils._rebuild_tensor_v2": lambda *a: torch._utils._rebuild_tensor_v2(*a),
            "torch.storage._load_from_bytes": lambda content: torch.load(
                io.BytesIO(content), weights_only=True
            ),
        }
        if f"{module}.{name}" not in allowed:
            raise pickle.UnpicklingError(f"the file refers to {module}.{name}; expected tensors")
        return allowed[f"{module}.{name}"]


def load_integers(path: Path) -> dict[str, np.ndarray]:
    """A dict of integer arrays that ``torch.save`` wrote; an UnpicklingError for anything else.

    numpy's own way to rebuild an array trusts the type that the file states, even one of objects.
    So the names of numpy in the file stand for a class of ours, which knows 64-bit integers alone.
    """
    names = ("ndarray", "dtype", "core.multiarray._reconstruct", "_core.multiarray._reconstruct")
    with torch.serialization.safe_globals([(_Integers, f"numpy.{name}") for name in names]):
        arrays = torch.load(path, weights_only=True)
    return {key: array.values for key, array in arrays.items()}


class _Integers:
    """What a pickle has for an array of 64-bit integers, and for their dtype.

    A pickle first makes either of them and then sets its state: (version, shape, dtype, whether its
    order is Fortran's, bytes) of an array, and (version, byte order, …) of a dtype.
    """

    def __init__(self, code: object, *_: object):
        if isinstance(code, str) and code != "i8":  # of a dtype; an array begins with its class
            raise pickle.UnpicklingError(f"the file has an array of type {code!r}; expected 'i8'")

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        if isinstance(state[-1], bytes):
            _, shape, _, is_fortran, content = state
            values = np.frombuffer(content, dtype="<i8")
            self.values = values.reshape(shape, order="F" if is_fortran else "C")
            return
        byte_order = state[1]
        if byte_order != "<":
            raise pickle.UnpicklingError("the file has big-endian integers; expected '<i8'")


def _zinc(subset: bool, split_sizes: tuple[int, int, int], checksum: str | None) -> Publication:
    github = "https://raw.githubusercontent.com/graphdeeplearning/benchmarking-gnns/master"
    indices = [f"{split}.index" for split in SPLITS]
    other_files = {name: f"{github}/data/molecules/{name}" for name in indices}
    url = "https://www.dropbox.com/s/feo9qle74kg48gy/molecules.zip?dl=1"
    return Publication(
        f"PyG ZINC(subset={subset})",
        partial(read_zinc, subset=subset),
        split_sizes,
        url=url,
        folder="raw",
        archive="molecules",
        other_files=other_files,
        checksum=checksum,
    )


def _ogbg(name: str, split_sizes: tuple[int, int, int]) -> Publication:
    url = f"https://snap.stanford.edu/ogb/data/graphproppred/csv_mol_download/{name}.zip"
    folder = f"ogbg_mol{name}"
    source = f"OGB ogbg-mol{name}"
    return Publication(source, read_ogbg, split_sizes, url=url, folder=folder, archive=name)


def _benchmark(name: str, target: Target, split_sizes: tuple[int, int, int]) -> Publication:
    read = partial(read_benchmark, name=name, target=target)
    url = f"https://data.pyg.org/datasets/benchmarking-gnns/{name}_v2.zip"
    source = f"PyG GNNBenchmarkDataset({name!r})"
    folder = f"{name}/raw"
    return Publication(source, read, split_sizes, url=url, folder=folder)


def _pcqm4mv2(
    read: Callable[[Path], RaggedGraphs], split_sizes: tuple[int, int, int]
) -> Publication:
    return Publication(
        "OGB-LSC PCQM4Mv2",
        read,
        split_sizes,
        url="https://dgl-data.s3-accelerate.amazonaws.com/dataset/OGB-LSC/pcqm4m-v2.zip",
        folder="pcqm4m-v2",
        archive="pcqm4m-v2",
        digest="md5:65b742bafca5670be4497499db7d361b",
        needs=molecules.ogb_mol,
    )


ZINC = "87389ef67b5fdbb30e55dca840e2c3eb2e3c9df061d413cc6e2120991d0b34e9"
PUBLICATIONS = {
    "zinc": _zinc(True, (10_000, 1_000, 1_000), ZINC),
    "zinc-full": _zinc(False, (220_011, 24_445, 5_000), None),
    "ogbg-molhiv": _ogbg("hiv", (32_901, 4_113, 4_113)),
    "ogbg-molpcba": _ogbg("pcba", (350_343, 43_793, 43_793)),
    "pcqm4mv2": _pcqm4mv2(read_pcqm4mv2, (3_378_606, 73_545, 147_037 + 147_432)),
    "pcqm4mv2-subset": _pcqm4mv2(read_pcqm4mv2_subset, (322_860, 50_000, 73_545)),
    "pattern": _benchmark("PATTERN", "node", (10_000, 2_000, 2_000)),
    "cluster": _benchmark("CLUSTER", "node", (10_000, 1_000, 1_000)),
    "tsp": _benchmark("TSP", "edge", (10_000, 1_000, 1_000)),
    "mnist": _benchmark("MNIST", "graph", (55_000, 5_000, 10_000)),
    "cifar10": _benchmark("CIFAR10", "graph", (45_000, 5_000, 10_000)),
}

GENERATED = {
    "molecules": Generated(
        molecules.build_molecules,
        "embedded: 12,000 molecules of RDKit",
        molecules.CHECKSUM,
        molecules.rdkit_version,
    ),
}
"""Data sets that need no network; :mod:`gtcourse.course.tasks` adds those that are generated."""


def dataset_names() -> list[str]:
    """The names that :func:`load_dataset` knows."""
    return [*dict.fromkeys((*GENERATED, *PUBLICATIONS))]
