"""A data set written in parts and joined: the same folder whoever makes it, however often it ends.

Batches of the folder are those of ``collate``.
"""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.transforms import AddRandomWalkPE

from gtcourse import load_dataset
from gtcourse.encodings import AddLaplacianEigenvectors, AddRings, AddSVD, encode
from gtcourse.encodings import prepare as module
from gtcourse.encodings.prepare import pcqm4mv2, prepare, process_pool
from gtcourse.graphs import (
    DenseLoader,
    GraphDataset,
    collate,
    open_graphs,
    published,
)
from gtcourse.models import GIN, GINConfig
from tests.faults.jobs import CONTEXT
from tests.graphs.served import PARTS, SMILES, serve, visible, write_layout, write_some
from tests.graphs.served import content as answers_of
from tests.graphs.small import assert_same, graph_of

RINGS = (AddRings(6),)
RING = [(0, 1), (1, 2), (2, 0)]


@pytest.fixture(scope="module")
def layout(tmp_path_factory) -> Path:
    """24 molecules: 12, 4 and 8."""
    return write_some(tmp_path_factory.mktemp("layout"))


def prepared(layout: Path, out: Path, **changes):
    options = {"stored": RINGS, "rows_per_part": 4, "progress": False}
    return prepare(pcqm4mv2(layout), out, **(options | changes))


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != ".lock"}


@pytest.fixture(scope="module")
def unbroken(layout, tmp_path_factory) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("folder")
    prepared(layout, out)
    return content(out)


def numbered(count: int, split: list[int] | None = None, target: str = "graph") -> GraphDataset:
    """Graphs of 1 to 6 nodes, without edges, directed, with rings; the target is the number."""
    graphs = []
    for i in range(count):
        n = 1 + 7 * i % 6
        edges = [(a % n, b % n) for a, b in RING[: i % 4]] if n > 1 else []
        edges += [(b, a) for a, b in edges] if i % 2 else []
        graph = graph_of(n, edges, seed=i)
        size = {"graph": 1, "node": n, "edge": graph.edge_index.shape[1]}[target]
        y = torch.full((size,), float(i))
        graphs.append(Data(x=graph.x, edge_index=graph.edge_index, edge_attr=graph.edge_attr, y=y))
    split = [0] * count if split is None else split
    return GraphDataset("small", "a test", graphs, split, target=target)


@pytest.mark.parametrize("target", ["graph", "node", "edge"])
@pytest.mark.parametrize("stored", [(), (AddRings(6), AddSVD(2), AddLaplacianEigenvectors(2))])
def test_batches_of_a_folder_equal_collated_graphs(tmp_path, target, stored):
    data = numbered(23, target=target)
    folder = prepare(data, tmp_path, stored=stored, rows_per_part=5, progress=False)
    graphs = encode(data.graphs, *stored)
    for start, batch in enumerate(DenseLoader(folder.train, 4)):
        expected = collate(graphs[4 * start : 4 * start + 4], target=target)
        assert_same(batch, expected)


def test_encodings_of_a_generator_are_stored(tmp_path):
    generator = (encoding for encoding in RINGS)
    folder = prepare(numbered(2), tmp_path, stored=generator, progress=False)
    assert "ring" in folder.train[0]


def test_splits_hold_their_graphs_and_first_selects_the_first(tmp_path):
    data = numbered(12, [0, 1, 2] * 4)
    folder = prepare(data, tmp_path, stored=(), rows_per_part=5, progress=False)
    for number, split in enumerate(("train", "val", "test")):
        (batch,) = DenseLoader(folder[split], 12)
        assert batch.y.tolist() == [float(i) for i in range(12) if i % 3 == number]
    cut = folder.first(2)
    assert cut.split_sizes == {"train": 2, "val": 1, "test": 1}
    (batch,) = DenseLoader(cut.train, 12)
    assert batch.y.tolist() == [0.0, 3.0]
    with pytest.raises(KeyError, match="'valid' is not a split"):
        folder["valid"]


def test_a_finished_folder_is_reused_and_leftover_parts_are_removed(
    layout, unbroken, tmp_path, monkeypatch
):
    prepared(layout, tmp_path)
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/00001.npz").write_bytes(b"left behind")
    monkeypatch.setattr(module, "make_part", lambda *task: 1 / 0)
    assert prepared(layout, tmp_path).split_sizes == {"train": 12, "val": 4, "test": 8}
    assert content(tmp_path) == unbroken


def test_parts_of_an_interrupted_call_are_reused(layout, unbroken, tmp_path, monkeypatch):
    calls = []

    def interrupted(task):
        calls.append(task[0].name[:5])
        if len(calls) == 4:
            raise KeyboardInterrupt
        return make(task)

    make = module.make_part
    monkeypatch.setattr(module, "make_part", interrupted)
    with pytest.raises(KeyboardInterrupt):
        prepared(layout, tmp_path)
    with pytest.raises(FileNotFoundError, match=r"has no graphs\.json; expected a folder"):
        open_graphs(tmp_path)
    prepared(layout, tmp_path)
    assert calls[4:] == ["00003", "00004", "00005"]
    assert content(tmp_path) == unbroken


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b"short")])
def test_damaged_array_raises_with_its_name(layout, tmp_path, damage):
    prepared(layout, tmp_path)
    damage(tmp_path / "x.npy")
    with pytest.raises(ValueError, match=r"x\.npy is missing or damaged .*; expected what"):
        open_graphs(tmp_path)


def test_an_array_of_the_wrong_length_raises_with_its_name(tmp_path):
    folder = prepare(numbered(6), tmp_path, stored=(), progress=False).folder
    np.save(folder / "x.npy", np.zeros((3, 1), dtype=np.uint8))
    with pytest.raises(ValueError, match=r"x\.npy is missing or damaged \(it has 3 rows\); exp"):
        open_graphs(folder)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"source": [Data()]}, "source is of type list; expected a GraphDataset."),
        ({"stored": AddSVD(2)}, "stored is AddSVD.*; expected a list of encodings"),
        ({"stored": [AddRandomWalkPE(3)]}, "stored is .*; expected a list of encodings"),
        ({"out": ""}, "out is ''; expected the path of a folder."),
        ({"out": None}, "out is None; expected the path of a folder."),
        ({"rows_per_part": 0}, "rows_per_part is 0; expected a whole number, 1 or more."),
    ],
    ids=str,
)
def test_invalid_arguments_raise_and_leave_no_folder(tmp_path, arguments, says):
    given = {"source": numbered(6), "out": tmp_path / "new", "progress": False} | arguments
    with pytest.raises(ValueError, match=says):
        prepare(**given)
    assert not (tmp_path / "new").exists()


def test_an_unknown_category_in_a_folder_is_reported_with_its_graph(tmp_path):
    data = numbered(6)
    data.graphs[4].x[-1] = 99
    loader = DenseLoader(prepare(data, tmp_path, stored=(), progress=False).train, 3)
    loader.check_features(GIN(GINConfig(num_node_types=(28,), num_node_features=0)))
    with pytest.raises(ValueError, match="graph 4 of the split: x has category 99 in column 0;"):
        list(loader)


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("x", lambda values: values.astype("i2"), "its type is <i2, not |u1"),
        ("x", lambda values: values[:, [0, 0]], "its row shape is [2], not [1]"),
        ("y", lambda values: values + 1, "its values are not those that were written"),
        ("num_edges", lambda values: values[::-1], "its values are not those that were written"),
        ("split", lambda values: values[::-1], "its values are not those that were written"),
    ],
)
def test_a_folder_with_another_file_than_was_written_raises(tmp_path, name, change, says):
    prepare(numbered(6, [0, 0, 0, 0, 1, 2]), tmp_path, stored=RINGS, progress=False)
    path = tmp_path / f"{name}.npy"
    np.save(path, change(np.load(path)))
    with pytest.raises(ValueError, match=re.escape(f"{path} is missing or damaged ({says});")):
        open_graphs(tmp_path)


def test_a_folder_of_an_earlier_release_is_read(tmp_path):
    """Its description has the level and the type of each array alone."""
    folder = prepare(numbered(6), tmp_path, stored=RINGS, progress=False)
    path = tmp_path / "graphs.json"
    meta = json.loads(path.read_text())
    for column in meta["columns"].values():
        for name in column.keys() - {"level", "dtype"}:
            del column[name]
    path.write_text(json.dumps(meta))
    assert_same(next(iter(DenseLoader(open_graphs(tmp_path).train, 4))), first_batch(folder))


def first_batch(folder):
    return next(iter(DenseLoader(folder.train, 4)))


@pytest.mark.parametrize("end", ["source", "destination"])
def test_an_edge_of_a_folder_to_no_node_of_its_graph_raises(tmp_path, end):
    """The file has the shape and the type of the one that was written."""
    data = numbered(6)
    assert data.graphs[1].num_edges > 0
    prepare(data, tmp_path, stored=(), progress=False)
    path = tmp_path / f"{end}.npy"
    values = np.load(path)
    values[0] = 200
    np.save(path, values)
    with pytest.raises(ValueError, match="of the folder has an edge of node 200; expected 0 to "):
        list(DenseLoader(open_graphs(tmp_path).train, 6))


def test_a_damaged_edge_is_of_a_graph_of_the_folder_not_of_its_split(tmp_path):
    data = numbered(6, [0, 1, 0, 1, 1, 2])
    prepare(data, tmp_path, stored=(), progress=False)
    damaged = 3  # the second graph of its split
    assert data.graphs[damaged].num_edges > 0
    values = np.load(tmp_path / "source.npy")
    values[sum(graph.num_edges for graph in data.graphs[:damaged])] = 200
    np.save(tmp_path / "source.npy", values)
    with pytest.raises(ValueError, match="graph 3 of the folder has an edge of node 200"):
        list(DenseLoader(open_graphs(tmp_path).val, 6))


def test_only_the_sizes_targets_and_split_of_a_folder_are_hashed(tmp_path):
    data = numbered(6)
    for graph in data.graphs:
        graph.fingerprint = torch.zeros(1, 4)
    prepare(data, tmp_path, stored=(), progress=False)
    columns = json.loads((tmp_path / "graphs.json").read_text())["columns"]
    assert columns["fingerprint"]["level"] == "graph"
    hashed = {name for name, column in columns.items() if "sha256" in column}
    assert hashed == {"num_nodes", "num_edges", "y", "split"}


@pytest.mark.nightly
def test_two_new_processes_write_the_same_bytes(layout, unbroken, tmp_path):
    with process_pool(2) as executor:
        prepared(layout, tmp_path, executor=executor)
    assert content(tmp_path) == unbroken


@pytest.mark.slow
def test_two_processes_write_the_same_bytes(layout, unbroken, tmp_path, monkeypatch):
    """Forked from one that imported PyTorch. Like new ones they get each task as bytes."""
    contexts = SimpleNamespace(get_context={"spawn": CONTEXT}.__getitem__)
    monkeypatch.setattr(module, "multiprocessing", contexts)
    with process_pool(2) as executor:
        prepared(layout, tmp_path, executor=executor)
    assert content(tmp_path) == unbroken


@pytest.mark.parametrize("pool", [None, ThreadPoolExecutor])
def test_an_unreadable_molecule_is_named_and_finished_parts_remain(tmp_path, pool):
    layout = write_some(tmp_path / "layout", smiles=("CCO", "C=O", "CN", "CC", "CC#N", "C1CC"))
    with pytest.raises(ValueError, match="molecule 5 is 'C1CC', which ogb and RDKit cannot conv"):
        prepared(layout, tmp_path / "out", executor=pool(1) if pool else None)
    parts = {path.name[:5] for path in tmp_path.glob("out/parts/*.npz")}
    assert "00000" in parts
    assert "00001" not in parts  # a pool may have begun later ones


def test_preparing_other_data_in_a_folder_raises_and_leaves_it_unchanged(
    layout, unbroken, tmp_path
):
    prepared(layout, tmp_path)
    molecules = pcqm4mv2(layout)
    other = replace(molecules, smiles=["CCC", *molecules.smiles[1:]])
    with pytest.raises(ValueError, match="other graphs, different in stored; expected"):
        prepared(layout, tmp_path, stored=(AddSVD(2),))
    with pytest.raises(ValueError, match="other graphs, different in checksum, content; exp"):
        prepare(other, tmp_path, stored=RINGS)
    assert content(tmp_path) == unbroken


@pytest.fixture
def publication(monkeypatch):
    """As if 12, 4 and 8 molecules were published, without a digest."""
    publication = replace(module.PUBLISHED, split_sizes=(12, 4, 8), digest=None)
    monkeypatch.setattr(module, "PUBLISHED", publication)
    monkeypatch.setitem(published.PUBLICATIONS, "pcqm4mv2", publication)
    return publication


def test_prepared_graphs_equal_those_of_the_data_set(tmp_path, publication):
    root = write_some(tmp_path)
    molecules = pcqm4mv2(root)
    assert (molecules.name, molecules.source[:16]) == ("pcqm4mv2", "OGB-LSC PCQM4Mv2")
    expected = load_dataset("pcqm4mv2", source=root)
    assert molecules.split.tolist() == expected.split.tolist()
    found = molecules.part(slice(0, 24))()
    for graph, other in zip(found, expected.graphs, strict=True):
        assert graph.smiles == other.smiles
        for name in ("x", "edge_index", "edge_attr"):
            assert torch.equal(graph[name], other[name])
        torch.testing.assert_close(graph.y, other.y, equal_nan=True)


@pytest.mark.parametrize("rows", [[0, 1, 2, 2], [3, 1, 2, 0]], ids=["in no split", "no target"])
def test_invalid_splits_raise(tmp_path, rows):
    parts = {name: [row] for name, row in zip(PARTS, rows, strict=True)}
    write_layout(tmp_path, SMILES[:4], [1.0, 2.0, 3.0, np.nan], parts)
    with pytest.raises(RuntimeError, match=r"could not be read from .*molecule 3 is in no split"):
        pcqm4mv2(tmp_path)


def test_only_a_complete_download_is_stored(tmp_path, publication, no_network, monkeypatch):
    root = tmp_path / "root"
    with pytest.raises(RuntimeError, match=r"could not be downloaded \(\S+ cannot be reached\)"):
        pcqm4mv2(root)
    assert visible(root) == []
    serve(monkeypatch, answers_of(publication, write_some(tmp_path / "published")))
    molecules = pcqm4mv2(root)
    assert visible(root) == ["pcqm4m-v2"]
    serve(monkeypatch, {})
    assert pcqm4mv2(root).checksum == molecules.checksum
