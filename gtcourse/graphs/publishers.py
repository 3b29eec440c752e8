"""The publishers' own files, read as what they are: tables, and tensors in pickles.

PyG and ogb read the same files with ``pickle`` and ``torch.load``, which run what a file names;
:mod:`gtcourse.graphs.pickles` does not. A test holds what is read here to what they read.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from gtcourse.graphs.dataset import SPLITS
from gtcourse.graphs.pickles import load_integers, load_tensors
from gtcourse.graphs.ragged import RaggedGraphs
from gtcourse.graphs.smiles import smiles_graphs

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
