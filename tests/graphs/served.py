"""Tiny files in the publishers' own layouts, and the publishers' servers without a network."""

import gzip
import io
import pickle
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pooch
import pytest
import torch

from gtcourse.graphs.published import PUBLICATIONS, Publication, read_pcqm4mv2_subset

BENCHMARKS = ("pattern", "cluster", "tsp", "mnist", "cifar10")
SIZES = dict.fromkeys(PUBLICATIONS, (1, 1, 1)) | dict.fromkeys(BENCHMARKS, (2, 2, 2))
SIZES |= {"zinc": (2, 2, 2), "zinc-full": (3, 3, 3), "pcqm4mv2": (1, 1, 2)}
SIZES["pcqm4mv2-subset"] = (2, 1, 1)
SUBSET = {"held_out": 2, "validation": 1, "share": 0.5}
"""Of six training molecules two are held out, and half of the others are trained on."""


SMILES = ("CCO", "C=O", "CC#N", "c1ccccc1", "C", "C1CC1C(=O)O", "O=C(O)c1ccccc1O", "FC(F)F")
PARTS = ("train", "valid", "test-dev", "test-challenge")


def tiny(name: str) -> Publication:
    """What is published under this name, with the sizes and the digests of the tiny files."""
    found = replace(PUBLICATIONS[name], split_sizes=SIZES[name], digest=None, checksum=None)
    if name == "pcqm4mv2-subset":
        found = replace(found, read=partial(read_pcqm4mv2_subset, **SUBSET))
    return found


def write_raw(name: str, root: Path) -> None:
    """The publisher's files, where PyG or ogb would put them below their root."""
    if name.startswith("zinc"):
        write_zinc(root)
    elif name == "pcqm4mv2":
        parts = {part: [row] for row, part in enumerate(PARTS)}
        write_layout(root, ["CCO", "C=O", "CC#N", "c1ccccc1"], [7.5, 4.25, np.nan, np.nan], parts)
    elif name == "pcqm4mv2-subset":
        rows = ([5, 3, 1, 0, 4, 7], [2], [6], [8])
        gaps = [np.nan if row in (6, 8) else 4 + row / 8 for row in range(9)]
        write_layout(root, (*SMILES, "CO"), gaps, dict(zip(PARTS, rows, strict=True)))
    elif name in BENCHMARKS:
        path = root / f"{name.upper()}/raw/{name.upper()}_v2.pt"
        path.parent.mkdir(parents=True)
        parts = ((0, 1), (2, 3), (4, 5))
        torch.save([[benchmark_graph(name, i) for i in part] for part in parts], path)
    else:
        molpcba = [[1, "", 0], ["", 1, ""], [0, 0, ""]]
        write_ogbg(root, name, [[1], [0], [0]] if name == "ogbg-molhiv" else molpcba)


def write_zinc(root: Path) -> None:
    """Three molecules a split, of which the index files choose two; CO, CN, CF, …"""
    (root / "raw").mkdir(parents=True)
    for number, split in enumerate(("train", "val", "test")):
        molecules = [
            {
                "num_atom": 2,
                "atom_type": torch.tensor([0, atom]),
                "bond_type": torch.tensor([[0, bond], [bond, 0]]),
                "logP_SA_cycle_normalized": torch.tensor([number + atom / 10]),
            }
            for atom, bond in ((1, 1), (2, 2), (3, 3))
        ]
        (root / f"raw/{split}.pickle").write_bytes(pickle.dumps(molecules))
        (root / f"raw/{split}.index").write_text("2,0\n")


def write_layout(
    root: Path, smiles: Sequence[str], gaps: Sequence[float], parts: dict[str, Sequence[int]]
) -> Path:
    """OGB's files of PCQM4Mv2; a gap that is NaN stays empty.

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
    return write_layout(
        root, texts, gaps, {name: rows[part == number] for number, name in enumerate(PARTS)}
    )


def write_ogbg(root: Path, name: str, labels: list[list]) -> None:
    """CO, CCO and a lone C; OGB lists an undirected edge once and adds the other direction."""
    folder = root / name.replace("-", "_")
    tables = {
        "raw/num-node-list": [[2], [3], [1]],
        "raw/num-edge-list": [[1], [2], [0]],
        "raw/edge": [[0, 1], [0, 1], [1, 2]],
        "raw/node-feat": [[number, 0, 4, 5, 3, 0, 2, 0, 0] for number in (5, 7, 5, 5, 7, 5)],
        "raw/edge-feat": [[0, 0, 0], [0, 0, 0], [1, 0, 1]],
        "raw/graph-label": labels,
        "split/scaffold/train": [[1]],
        "split/scaffold/valid": [[2]],
        "split/scaffold/test": [[0]],
        "mapping/mol": [["smiles", "mol_id"], ["CO", "a"], ["CCO", "b"], ["C", "c"]],
    }
    for stem, rows in tables.items():
        path = folder / f"{stem}.csv.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(path, "wt") as file:
            file.writelines(",".join(map(str, row)) + "\n" for row in rows)
    (folder / "RELEASE_v1.txt").touch()


def benchmark_graph(name: str, number: int) -> dict[str, torch.Tensor]:
    """A directed ring of 3 nodes and more, as PyG's file has it: one edge feature an edge, flat."""
    n = 3 + number
    node = torch.arange(n)
    ring = torch.stack([node, (node + 1) % n])
    places = torch.stack([node / n, node / 10], dim=1)
    match name:
        case "pattern" | "cluster":
            types, classes = (3, 2) if name == "pattern" else (7, 6)
            one_hot = torch.eye(types)[node % types]
            return {"x": one_hot, "edge_index": ring, "y": node % classes}
        case "tsp":
            on_tour = (node != 1).long()
            return {"x": places, "edge_index": ring, "edge_attr": node / 8, "y": on_tour}
    shade = torch.full((n, 1 if name == "mnist" else 3), 0.25 * number)
    graph = {"x": shade, "edge_index": ring, "edge_attr": node / 8, "pos": places}
    return graph | {"y": torch.tensor([number])}


def content(published: Publication, root: Path) -> dict[str, bytes]:
    """The publisher's answers by URL, of its files below ``root``."""
    folder = root / published.folder
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
        for path in folder.rglob("*.*"):
            name = str(path.relative_to(folder))
            if name not in published.other_files:
                opened.write(path, f"{published.archive}/{name}".lstrip("/"))
    others = {url: (folder / name).read_bytes() for name, url in published.other_files.items()}
    return others | {published.url: archive.getvalue()}


def serve(monkeypatch: pytest.MonkeyPatch, answers: dict[str, bytes]) -> None:
    """Answers downloads until the test ends; changing an answer changes what is served."""

    def fetch(downloader, url: str, path: str, *_) -> None:
        Path(path).write_bytes(answers[url])

    monkeypatch.setattr(pooch.HTTPDownloader, "__call__", fetch)


def visible(folder: Path) -> list[str]:
    """The names in a folder, without its locks, which stay."""
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".lock")
