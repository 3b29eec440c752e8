"""How PyG and ogb are made to read their datasets with today's torch, without asking anything."""

from __future__ import annotations

import builtins
import contextlib
import io
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import InMemoryDataset

from gtcourse.graphs.chemistry import rdkit_chem
from gtcourse.graphs.dataset import SPLITS
from gtcourse.graphs.ragged import RaggedGraphs

BENCHMARKS = {
    "PATTERN": "node",
    "CLUSTER": "node",
    "TSP": "edge",
    "MNIST": "graph",
    "CIFAR10": "graph",
}
"""What has a class in PyG's copies of the benchmarks (Dwivedi et al., 2023)."""

OGB_MISSING = (
    "ogbg-molhiv, ogbg-molpcba and pcqm4mv2 are read by the package ogb, which is not installed; "
    "install it with `pip install ogb`, or read a graph file with "
    "load_dataset(name, source='….npz')."
)


def read_zinc(folder: Path, subset: bool) -> RaggedGraphs:
    """ZINC by PyG, below ``folder``; downloaded where ``folder/raw`` is missing a file."""
    from torch_geometric.datasets import ZINC

    with _quiet():
        parts = [_ragged(ZINC(str(folder), subset=subset, split=split)) for split in SPLITS]
    return _end_to_end(parts)


def read_benchmark(folder: Path, name: str) -> RaggedGraphs:
    """One of ``BENCHMARKS`` by PyG, below ``folder``; downloaded where it is missing.

    The one-hot types of PATTERN and CLUSTER become categories ``[n, 1]``. A superpixel's intensity
    or colour and its place become one row, ``[n, 3]`` in MNIST and ``[n, 5]`` in CIFAR10.

    PyG's MNIST was reported not to be the authors' own: the same nodes and as many edges, but
    other ones (pyg-team/pytorch_geometric, issue 10592). Of TSP, the authors' loader exchanges
    validation and test, of equal size; whether PyG's files have them in that order or the other is
    not known to us. We have compared neither.
    """
    from torch_geometric.datasets import GNNBenchmarkDataset

    with _quiet():
        parts = [
            _ragged(GNNBenchmarkDataset(str(folder), name, split=split), BENCHMARKS[name])
            for split in SPLITS
        ]
    ragged = _end_to_end(parts)
    if name in ("PATTERN", "CLUSTER"):
        ragged.node["x"] = _categories(ragged.node["x"])
    return ragged


def read_ogbg(folder: Path, name: str) -> RaggedGraphs:
    """A molecular property set of OGB, below ``folder``."""
    with ogb_ready():
        from ogb.graphproppred import PygGraphPropPredDataset

        dataset = PygGraphPropPredDataset(name, root=str(folder))
        split = dataset.get_idx_split()
        ragged = _ragged(dataset)
        ragged.graph["split"] = _split(len(dataset), split["train"], split["valid"], split["test"])
        ragged.smiles = _column(Path(dataset.root, "mapping", "mol.csv.gz"), "smiles")
    return ragged


def read_pcqm4mv2(folder: Path) -> RaggedGraphs:
    """PCQM4Mv2 of OGB-LSC, below ``folder``; RDKit makes its graphs from SMILES, 3.7 million."""
    rdkit_chem()
    with ogb_ready():
        from ogb.lsc import PygPCQM4Mv2Dataset

        dataset = PygPCQM4Mv2Dataset(root=str(folder))
        split = dataset.get_idx_split()
        ragged = _ragged(dataset)
        test = torch.cat([torch.as_tensor(split[key]) for key in ("test-dev", "test-challenge")])
        ragged.graph["split"] = _split(len(dataset), split["train"], split["valid"], test)
        ragged.smiles = _column(Path(dataset.raw_dir, "data.csv.gz"), "smiles")
    return ragged


def _ragged(dataset: InMemoryDataset, classes_of: str | None = None) -> RaggedGraphs:
    """PyG keeps a dataset end to end already; one target a graph becomes ``[G]``.

    Args:
        classes_of: what has a class each, "graph", "node" or "edge"; by default targets are
            numbers, one or several a graph.
    """
    data, slices = dataset._data, dataset.slices
    edges = data.edge_index.shape[1]
    x = data.x if data.get("pos") is None else torch.cat([data.x, data.pos], dim=1)
    ragged = RaggedGraphs(
        num_nodes=np.diff(slices["x"].numpy()),
        num_edges=np.diff(slices["edge_index"].numpy()),
        edge_index=data.edge_index.numpy(),
        node={"x": x.numpy()},
        edge={},
        graph={},
        target=classes_of or "graph",
    )
    if data.get("edge_attr") is not None:
        ragged.edge["edge_attr"] = data.edge_attr.reshape(edges, -1).numpy()
    if classes_of is None:
        y = data.y.reshape(len(dataset), -1).to(torch.float32).numpy()
        y = y[:, 0] if y.shape[1] == 1 else y
    else:
        y = data.y.reshape(-1).to(torch.int64).numpy()
    getattr(ragged, ragged.target)["y"] = y
    return ragged


def _end_to_end(parts: list[RaggedGraphs]) -> RaggedGraphs:
    """Training, validation and test graphs as one list."""
    joined = RaggedGraphs(
        num_nodes=np.concatenate([part.num_nodes for part in parts]),
        num_edges=np.concatenate([part.num_edges for part in parts]),
        edge_index=np.concatenate([part.edge_index for part in parts], axis=1),
        node={},
        edge={},
        graph={"split": np.repeat(np.arange(3), [len(part.num_nodes) for part in parts])},
        target=parts[0].target,
    )
    for level in ("node", "edge", "graph"):
        for name in getattr(parts[0], level):
            values = np.concatenate([getattr(part, level)[name] for part in parts])
            getattr(joined, level)[name] = values
    return joined


def _categories(one_hot: np.ndarray) -> np.ndarray:
    """``[n, C]`` to ``[n, 1]``."""
    wrong = np.flatnonzero(((one_hot == 1).sum(axis=1) != 1) | ((one_hot != 0).sum(axis=1) != 1))
    if len(wrong):
        row = one_hot[wrong[0]].tolist()
        raise ValueError(f"node {wrong[0]} of all has x = {row}; expected one 1 among zeros")
    return one_hot.argmax(axis=1)[:, None]


def _split(count: int, *parts: torch.Tensor) -> np.ndarray:
    split = np.full(count, -1)
    for number, part in enumerate(parts):
        split[np.asarray(part)] = number
    if (split < 0).any():
        raise ValueError(f"graph {np.flatnonzero(split < 0)[0]} is in no split; expected one")
    return split


def _column(path: Path, name: str) -> list[str]:
    import pandas as pd

    return pd.read_csv(path, usecols=[name])[name].tolist()


@contextlib.contextmanager
def ogb_ready() -> Iterator[None]:
    """Everything that ogb 1.3.6 needs: permission to load its own files, and no questions.

    It loads what it has just written with ``torch.load``, which since torch 2.6 refuses classes it
    was not told of; PCQM4Mv2's split is a dict of numpy arrays, pickled under numpy 1's names.
    """
    from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
    from torch_geometric.data.storage import GlobalStorage

    import_ogb()
    reconstruct = np.empty(0).__reduce__()[0]
    allowed = contextlib.nullcontext()
    if torch.__version__ >= (2, 6):
        allowed = torch.serialization.safe_globals(
            [
                DataEdgeAttr,
                DataTensorAttr,
                GlobalStorage,
                np.ndarray,
                np.dtype,
                type(np.dtype(np.int64)),
                (reconstruct, "numpy.core.multiarray._reconstruct"),
                (reconstruct, "numpy._core.multiarray._reconstruct"),
            ]
        )
    with allowed, _quiet(), _unattended(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        yield


def import_ogb() -> None:
    """Imports ogb without the thread in which it asks PyPI for a newer version."""
    if sys.modules.get("ogb") is not None:
        return
    known = "outdated" in sys.modules
    outdated = sys.modules.get("outdated")
    sys.modules["outdated"] = None
    try:
        import ogb  # noqa: F401
    except ImportError:
        raise ImportError(OGB_MISSING) from None
    finally:
        del sys.modules["outdated"]
        if known:
            sys.modules["outdated"] = outdated


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Progress bars stay; the libraries' other lines go."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield


@contextlib.contextmanager
def _unattended() -> Iterator[None]:
    """Answers ogb's question about a large download; any other question is an error."""

    def answer(question: str = "") -> str:
        if question.startswith("This will download"):
            return "y"
        raise RuntimeError(f"the library asks {question.strip()!r}, and nobody is there to answer")

    original, builtins.input = builtins.input, answer
    try:
        yield
    finally:
        builtins.input = original
