"""The published datasets, read offline from tiny files in the publishers' own layouts."""

from __future__ import annotations

import gzip
import pickle
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from gtcourse.graphs import datasets, downloads, load_dataset, write_graphs
from gtcourse.graphs.downloads import PINS
from gtcourse.graphs.molecules import import_ogb, rdkit_chem
from tests.graphs.served import serve, visible

pytestmark = pytest.mark.usefixtures("no_network")

BENCHMARKS = ("pattern", "cluster", "tsp", "mnist", "cifar10")
NAMES = ("zinc", "zinc-full", "ogbg-molhiv", "ogbg-molpcba", "pcqm4mv2", *BENCHMARKS)


def write_zinc(folder: Path) -> None:
    """Three molecules a split, of which the index files choose two; CO, CN, CF, …"""
    (folder / "raw").mkdir(parents=True)
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
        (folder / f"raw/{split}.pickle").write_bytes(pickle.dumps(molecules))
        (folder / f"raw/{split}.index").write_text("2,0\n")


def write_ogbg(folder: Path, name: str, labels: list[list[float]]) -> None:
    """CO, CCO and a lone C; OGB lists an undirected edge once and adds the other direction."""
    folder = folder / name.replace("-", "_")
    atom = [5, 0, 4, 5, 3, 0, 2, 0, 0]
    tables = {
        "raw/num-node-list": [[2], [3], [1]],
        "raw/num-edge-list": [[1], [2], [0]],
        "raw/edge": [[0, 1], [0, 1], [1, 2]],
        "raw/node-feat": [[number, *atom[1:]] for number in (5, 7, 5, 5, 7, 5)],
        "raw/edge-feat": [[0, 0, 0], [0, 0, 0], [1, 0, 1]],
        "raw/graph-label": [["" if np.isnan(v) else f"{v:g}" for v in row] for row in labels],
        "split/scaffold/train": [[1]],
        "split/scaffold/valid": [[2]],
        "split/scaffold/test": [[0]],
        "mapping/mol": [["smiles", "mol_id"], ["CO", "a"], ["CCO", "b"], ["C", "c"]],
    }
    for stem, rows in tables.items():
        write_gz(folder / f"{stem}.csv.gz", rows)
    (folder / "RELEASE_v1.txt").touch()


def write_pcqm4mv2(folder: Path, numpy_1: bool = False) -> None:
    """Four molecules; the last two have no public target."""
    folder = folder / "pcqm4m-v2"
    rows = [["idx", "smiles", "homolumogap"], [0, "CCO", 7.5], [1, "C=O", 4.25], [2, "CC#N", ""]]
    write_gz(folder / "raw/data.csv.gz", [*rows, [3, "c1ccccc1", ""]])
    parts = ("train", "valid", "test-dev", "test-challenge")
    torch.save(
        {part: np.array([number]) for number, part in enumerate(parts)}, folder / "split_dict.pt"
    )
    if numpy_1 and np.__version__ >= "2":  # else it is written so already
        rename_in_zip(folder / "split_dict.pt", b"numpy._core.", b"numpy.core.")
    (folder / "RELEASE_v1.txt").touch()


def benchmark_graph(name: str, number: int) -> dict[str, torch.Tensor]:
    """A directed ring of 3 nodes and more, as PyG's file has it: one edge feature an edge, flat."""
    n = 3 + number
    node = torch.arange(n)
    ring = torch.stack([node, (node + 1) % n])
    match name:
        case "pattern" | "cluster":
            types, classes = (3, 2) if name == "pattern" else (7, 6)
            one_hot = torch.eye(types)[node % types]
            return {"x": one_hot, "edge_index": ring, "y": node % classes}
        case "tsp":
            places = torch.stack([node / n, node / 10], dim=1)
            on_tour = (node != 1).long()
            return {"x": places, "edge_index": ring, "edge_attr": node / 8, "y": on_tour}
    shade = torch.full((n, 1 if name == "mnist" else 3), 0.25 * number)
    pos = torch.stack([node / n, node / 10], dim=1)
    y = torch.tensor([number])
    return {"x": shade, "edge_index": ring, "edge_attr": node / 8, "pos": pos, "y": y}


def write_benchmark(folder: Path, name: str) -> None:
    """Two graphs a split, in one file."""
    path = folder / f"{name.upper()}/raw/{name.upper()}_v2.pt"
    path.parent.mkdir(parents=True)
    torch.save(
        [[benchmark_graph(name, i) for i in part] for part in ((0, 1), (2, 3), (4, 5))], path
    )


def write_gz(path: Path, rows: list[list]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt") as file:
        file.writelines(",".join(map(str, row)) + "\n" for row in rows)


def rename_in_zip(path: Path, old: bytes, new: bytes) -> None:
    """torch.save's archive with another name in its pickle, as an older numpy wrote it."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    assert any(old in content for content in members.values())
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content.replace(old, new) if name.endswith(".pkl") else content)


def write_raw(name: str, folder: Path) -> None:
    if name.startswith("zinc"):
        write_zinc(folder)
    elif name == "pcqm4mv2":
        write_pcqm4mv2(folder)
    elif name in BENCHMARKS:
        write_benchmark(folder, name)
    else:
        nan = float("nan")
        molpcba = [[1, nan, 0], [nan, 1, nan], [0, 0, nan]]
        write_ogbg(folder, name, [[1], [0], [0]] if name == "ogbg-molhiv" else molpcba)


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    """The published sizes and pins, for the tiny files."""
    sizes = dict.fromkeys(NAMES, (1, 1, 1)) | dict.fromkeys(BENCHMARKS, (2, 2, 2))
    sizes |= {
        "zinc": (2, 2, 2),
        "zinc-full": (3, 3, 3),
        "pcqm4mv2": (1, 1, 2),
    }
    for name, split_sizes in sizes.items():
        published = datasets.PUBLICATIONS[name]
        downloads = tuple(replace(each, digest=None) for each in published.downloads)
        publication = replace(
            published, split_sizes=split_sizes, downloads=downloads, graph_file=None
        )
        monkeypatch.setitem(datasets.PUBLICATIONS, name, publication)


@pytest.fixture
def served(monkeypatch, tmp_path_factory):
    """Puts the publisher's files where they are downloaded from."""

    def put(name: str, spoil=lambda folder: None) -> None:
        folder = tmp_path_factory.mktemp("published")
        write_raw(name, folder)
        spoil(folder)
        serve(monkeypatch, datasets.PUBLICATIONS[name].downloads, folder)

    return put


def read_by_their_publishers(name: str, folder: Path) -> list:
    """PyG's and ogb's own classes, three splits; they unpickle what the tests have just written."""
    from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
    from torch_geometric.data.storage import GlobalStorage
    from torch_geometric.datasets import ZINC, GNNBenchmarkDataset

    import_ogb()
    from ogb.graphproppred import PygGraphPropPredDataset
    from ogb.lsc import PygPCQM4Mv2Dataset

    splits = ("train", "val", "test")
    if name.startswith("zinc"):
        return [ZINC(str(folder), subset=name == "zinc", split=split) for split in splits]
    if name in BENCHMARKS:
        return [GNNBenchmarkDataset(str(folder), name.upper(), split) for split in splits]
    numpy_names = [np.ndarray, np.dtype, type(np.dtype(np.int64)), np.empty(0).__reduce__()[0]]
    allowed = [DataEdgeAttr, DataTensorAttr, GlobalStorage, *numpy_names]
    with torch.serialization.safe_globals(allowed):
        if name == "pcqm4mv2":
            dataset = PygPCQM4Mv2Dataset(str(folder))
        else:
            dataset = PygGraphPropPredDataset(name, str(folder))
        rows = dataset.get_idx_split()
    parts = ([rows["train"]], [rows["valid"]], [rows[key] for key in rows if "test" in key])
    return [[dataset[int(row)] for row in torch.cat(part)] for part in parts]


def test_zinc_follows_its_index_files(tmp_path):
    write_zinc(tmp_path)
    dataset = load_dataset("zinc", source=tmp_path)
    assert dataset.split.tolist() == [0, 0, 1, 1, 2, 2]
    assert dataset[0].x.tolist() == [[0], [3]]
    assert dataset[0].edge_attr.tolist() == [[3], [3]]
    assert dataset[0].edge_index.tolist() == [[0, 1], [1, 0]]
    assert [graph.y.item() for graph in dataset] == pytest.approx([0.3, 0.1, 1.3, 1.1, 2.3, 2.1])
    assert dataset.node_vocabulary[3] == "F"
    assert dataset.source == "folder: PyG ZINC(subset=True)"


def test_molhiv_has_nine_features_an_atom_and_both_directions_of_a_bond(tmp_path):
    write_raw("ogbg-molhiv", tmp_path)
    dataset = load_dataset("ogbg-molhiv", source=tmp_path)
    assert dataset.split.tolist() == [2, 0, 1]
    assert [graph.smiles for graph in dataset] == ["CO", "CCO", "C"]
    assert dataset[1].x.shape == (3, 9)
    assert dataset[1].x[:, 0].tolist() == [5, 5, 7]
    bonds = zip(*dataset[1].edge_index.tolist(), dataset[1].edge_attr.tolist(), strict=True)
    assert sorted(bonds) == [
        (0, 1, [0, 0, 0]),
        (1, 0, [0, 0, 0]),
        (1, 2, [1, 0, 1]),
        (2, 1, [1, 0, 1]),
    ]
    assert [graph.y.tolist() for graph in dataset] == [[1.0], [0.0], [0.0]]
    assert dataset[0].y.dtype == torch.float32
    assert dataset.target == "graph"


@pytest.mark.parametrize("numpy_1", [False, True])
def test_pcqm4mv2_keeps_back_the_targets_of_its_test_sets(tmp_path, numpy_1):
    write_pcqm4mv2(tmp_path, numpy_1)
    dataset = load_dataset("pcqm4mv2", source=tmp_path)
    assert dataset.split.tolist() == [0, 1, 2, 2]
    assert [graph.y.item() for graph in dataset][:2] == [7.5, 4.25]
    assert all(graph.y.isnan().all() for graph in dataset.test)
    assert [graph.num_nodes for graph in dataset] == [3, 2, 3, 6]
    assert dataset[0].x.shape == (3, 9)
    assert dataset[0].edge_attr.shape == (4, 3)
    assert dataset[3].smiles == "c1ccccc1"


@pytest.mark.parametrize(("name", "types"), [("pattern", 3), ("cluster", 7)])
def test_one_hot_types_become_categories(tmp_path, name, types):
    write_benchmark(tmp_path, name)
    dataset = load_dataset(name, source=tmp_path)
    assert dataset.split.tolist() == [0, 0, 1, 1, 2, 2]
    assert dataset.target == "node"
    for number, graph in enumerate(dataset):
        n = 3 + number
        assert sorted(graph.keys()) == ["edge_index", "x", "y"]
        assert graph.x.dtype == graph.y.dtype == torch.int64
        assert graph.x.tolist() == [[node % types] for node in range(n)]
        assert graph.y.tolist() == [node % (types - 1) for node in range(n)]
        assert graph.edge_index.T.tolist() == [[node, (node + 1) % n] for node in range(n)]


@pytest.mark.parametrize("name", ["pattern", "cluster", "tsp"])
def test_published_graphs_and_generated_ones_never_mix(tmp_path, name, served, monkeypatch):
    served(name)
    monkeypatch.setitem(datasets.GENERATED, name, lambda root: root / "generated")
    assert load_dataset(name, root=tmp_path) == tmp_path / "generated"
    published = load_dataset(name, "download", root=tmp_path)
    assert visible(tmp_path) == sorted([f"{name}-published.npz", PINS])
    assert published.name == name
    assert published.source == f"download: PyG GNNBenchmarkDataset({name.upper()!r})"
    assert load_dataset(name, root=tmp_path) == tmp_path / "generated"


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable:UserWarning")
@pytest.mark.parametrize("name", NAMES)
def test_what_is_read_here_is_what_pyg_and_ogb_read(tmp_path, name):
    write_raw(name, tmp_path)
    ours = load_dataset(name, source=tmp_path)
    expected = read_by_their_publishers(name, tmp_path)
    assert len(ours) == sum(len(part) for part in expected)
    for split, part in enumerate(expected):
        found = [graph for graph, number in zip(ours, ours.split, strict=True) if number == split]
        for graph, other in zip(found, part, strict=True):
            x = other.x if other.get("pos") is None else torch.cat([other.x, other.pos], dim=1)
            if name in ("pattern", "cluster"):
                x = x.argmax(dim=1, keepdim=True)
            assert torch.equal(graph.x, x)
            assert torch.equal(graph.edge_index, other.edge_index)
            if "edge_attr" in other:
                assert torch.equal(graph.edge_attr.flatten(), other.edge_attr.flatten())
            torch.testing.assert_close(
                graph.y.flatten().double(),
                other.y.flatten().double(),
                equal_nan=True,
                rtol=0,
                atol=0,
            )


@pytest.mark.parametrize("name", ["molecules", "cycles", "csl", "digits"])
def test_what_is_published_nowhere_is_not_downloaded(tmp_path, name):
    with pytest.raises(ValueError, match=f"there is nothing to download for {name!r}; expected"):
        load_dataset(name, "download", root=tmp_path)
    assert visible(tmp_path) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_raw_file_is_named_and_nothing_is_deleted(tmp_path, name):
    write_raw(name, tmp_path)
    lost = datasets.PUBLICATIONS[name].files[-1]
    (tmp_path / lost).unlink()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(FileNotFoundError) as refusal:
        load_dataset(name, source=tmp_path)
    assert str(refusal.value).startswith(f"{tmp_path} has no {lost}; expected the files of ")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", NAMES)
def test_a_download_is_kept_as_one_file_and_read_from_there(tmp_path, name, served, monkeypatch):
    served(name)
    dataset = load_dataset(name, "download", root=tmp_path)
    generated = name in datasets.GENERATED
    file = f"{name}-published.npz" if generated else f"{name}.npz"
    assert visible(tmp_path) == sorted([file, PINS])
    assert dataset.source == f"download: {datasets.PUBLICATIONS[name].source}"
    monkeypatch.setattr(downloads, "_open", lambda url: 1 / 0)
    assert load_dataset(name, "download", root=tmp_path).checksum == dataset.checksum


@pytest.mark.parametrize("name", NAMES)
def test_without_a_network_one_sentence_says_so_and_nothing_is_left(tmp_path, name, capfd):
    with pytest.raises(RuntimeError) as refusal:
        load_dataset(name, "download", root=tmp_path)
    sentence = str(refusal.value)
    assert sentence.startswith(f"{name} could not be downloaded (")
    assert "there is no network in this test" in sentence
    assert f"or read a file with load_dataset({name!r}, source='….npz')" in sentence
    assert "\n" not in sentence
    assert visible(tmp_path) == []


def cut_first_file(name):
    def spoil(folder: Path) -> None:
        path = folder / datasets.PUBLICATIONS[name].files[0]
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    return spoil


@pytest.mark.parametrize("name", NAMES)
def test_a_corrupt_download_leaves_nothing(tmp_path, name, served):
    served(name, spoil=cut_first_file(name))
    with pytest.raises(RuntimeError, match=f"{name} could not be downloaded .*nothing of it was"):
        load_dataset(name, "download", root=tmp_path)
    assert visible(tmp_path) == []


@pytest.mark.parametrize("name", ["zinc", "ogbg-molhiv", "mnist"])
def test_a_kept_file_that_is_not_the_downloaded_one_is_refused(tmp_path, name, served):
    served(name)
    dataset = load_dataset(name, "download", root=tmp_path)
    dataset[0].y = dataset[0].y + 1
    write_graphs(tmp_path / f"{name}.npz", dataset)
    with pytest.raises(
        ValueError, match=f"{name}.npz is not the file that was downloaded: its sha"
    ):
        load_dataset(name, "download", root=tmp_path)
    (tmp_path / f"{name}.npz").unlink()
    assert load_dataset(name, "download", root=tmp_path)[0].y != dataset[0].y


def test_an_archive_that_has_changed_since_the_first_time_is_refused(tmp_path, served):
    served("mnist")
    load_dataset("mnist", root=tmp_path)
    (tmp_path / "mnist.npz").unlink()

    def spoil(folder: Path) -> None:
        path = folder / "MNIST/raw/MNIST_v2.pt"
        graphs = torch.load(path, weights_only=True)
        graphs[0][0]["y"] += 1
        torch.save(graphs, path)

    served("mnist", spoil)
    with pytest.raises(RuntimeError, match=r"MNIST_v2\.zip is not what was pinned: it has sha256:"):
        load_dataset("mnist", root=tmp_path)


def test_a_download_of_the_wrong_size_is_refused(tmp_path, served, monkeypatch):
    served("zinc")
    publication = replace(datasets.PUBLICATIONS["zinc"], split_sizes=(10_000, 1_000, 1_000))
    monkeypatch.setitem(datasets.PUBLICATIONS, "zinc", publication)
    with pytest.raises(RuntimeError, match=r"it has 2/2/2 graphs; expected 10,000/1,000/1,000"):
        load_dataset("zinc", root=tmp_path)
    assert visible(tmp_path) == []


def test_an_interrupted_download_leaves_nothing(tmp_path, monkeypatch):
    def interrupt(url: str):
        raise KeyboardInterrupt

    monkeypatch.setattr(downloads, "_open", interrupt)
    with pytest.raises(KeyboardInterrupt):
        load_dataset("zinc", root=tmp_path)
    assert visible(tmp_path) == []


@pytest.mark.parametrize(
    ("module", "name", "sentence"),
    [
        ("ogb", "pcqm4mv2", "made by the package ogb, which is not installed; install it with"),
        ("rdkit", "pcqm4mv2", "need RDKit, which is not installed; install it with"),
    ],
)
def test_a_missing_library_is_named(tmp_path, monkeypatch, module, name, sentence):
    rdkit_chem.cache_clear()
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=sentence):
        load_dataset(name, root=tmp_path)
    assert visible(tmp_path) == []


def test_ogb_asks_nobody_for_a_newer_version(monkeypatch):
    asked = []
    outdated = ModuleType("outdated")
    outdated.check_outdated = lambda *arguments: asked.append(arguments)
    monkeypatch.setitem(sys.modules, "outdated", outdated)
    for name in ("ogb", "ogb.version"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import_ogb()
    assert sys.modules["outdated"] is outdated
    assert sys.modules["ogb.version"].check_outdated is None
    assert not asked
