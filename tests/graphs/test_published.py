"""The published data sets, read offline from tiny files in the publishers' own layouts."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import requests
import torch

from gtcourse.graphs import datasets, load_dataset, write_graphs
from gtcourse.graphs.datasets import PUBLICATIONS
from gtcourse.graphs.molecules import ogb_mol
from tests.graphs.served import BENCHMARKS, content, serve, tiny, visible, write_raw

pytestmark = pytest.mark.usefixtures("no_network")


@pytest.fixture(autouse=True)
def tiny_sizes(monkeypatch):
    for name in PUBLICATIONS:
        monkeypatch.setitem(PUBLICATIONS, name, tiny(name))


@pytest.fixture
def answers(monkeypatch, tmp_path_factory, name) -> dict[str, bytes]:
    """What the publisher of the test's data set serves, by URL."""
    root = tmp_path_factory.mktemp("published")
    write_raw(name, root)
    answers = content(PUBLICATIONS[name], root)
    serve(monkeypatch, answers)
    return answers


def read_by_their_publishers(name: str, folder: Path) -> list:
    """PyG's and ogb's own classes, three splits; they unpickle what the tests have just written."""
    from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
    from torch_geometric.data.storage import GlobalStorage
    from torch_geometric.datasets import ZINC, GNNBenchmarkDataset

    ogb_mol()
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


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable:UserWarning")
@pytest.mark.parametrize("name", PUBLICATIONS)
def test_graphs_are_those_that_pyg_and_ogb_read(tmp_path, name):
    write_raw(name, tmp_path)
    ours = load_dataset(name, source=tmp_path)
    assert ours.source == f"folder: {PUBLICATIONS[name].source}"
    expected = read_by_their_publishers(name, tmp_path)
    assert tuple(ours.split_sizes.values()) == tuple(len(part) for part in expected)
    for split, part in zip((ours.train, ours.val, ours.test), expected, strict=True):
        for graph, other in zip(split, part, strict=True):
            x = other.x if other.get("pos") is None else torch.cat([other.x, other.pos], dim=1)
            if name in ("pattern", "cluster"):
                x = x.argmax(dim=1, keepdim=True)
            assert torch.equal(graph.x, x)
            assert torch.equal(graph.edge_index, other.edge_index)
            if "edge_attr" in other:
                assert torch.equal(graph.edge_attr.flatten(), other.edge_attr.flatten())
            y, theirs = graph.y.flatten().double(), other.y.flatten().double()
            torch.testing.assert_close(y, theirs, equal_nan=True, rtol=0, atol=0)


@pytest.mark.parametrize("name", PUBLICATIONS)
def test_a_missing_file_is_named_and_nothing_is_deleted(tmp_path, name):
    write_raw(name, tmp_path)
    folder = tmp_path / PUBLICATIONS[name].folder
    file = next(
        path for path in sorted(folder.rglob("*.*")) if path.suffix not in (".txt", ".index")
    )
    file.unlink()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(RuntimeError, match=f"No such file .*{file.name}'.*; expected the files of"):
        load_dataset(name, source=tmp_path)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", PUBLICATIONS)
def test_a_download_becomes_one_file_and_is_read_from_there(tmp_path, name, answers):
    dataset = load_dataset(name, "download", root=tmp_path)
    file = f"{name}-published.npz" if name in datasets.GENERATED else f"{name}.npz"
    assert visible(tmp_path) == [file]
    assert dataset.source == f"download: {PUBLICATIONS[name].source}"
    answers.clear()
    assert load_dataset(name, "download", root=tmp_path).checksum == dataset.checksum


@pytest.mark.parametrize("name", ["zinc", "ogbg-molhiv", "pcqm4mv2", "mnist"])
def test_a_failed_download_is_one_sentence_and_leaves_nothing(tmp_path, name):
    with pytest.raises(RuntimeError, match=f"{name} could not be downloaded") as error:
        load_dataset(name, "download", root=tmp_path)
    assert "there is no network in this test" in str(error.value)
    assert f"or read a file with load_dataset({name!r}, source='….npz')" in str(error.value)
    assert "\n" not in str(error.value)
    assert visible(tmp_path) == []


@pytest.mark.parametrize("name", PUBLICATIONS)
def test_half_an_archive_leaves_nothing(tmp_path, name, answers):
    url = PUBLICATIONS[name].url
    answers[url] = answers[url][: len(answers[url]) // 2]
    with pytest.raises(RuntimeError, match=f"{name} could not be downloaded"):
        load_dataset(name, "download", root=tmp_path)
    assert visible(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "changes", "sentence"),
    [
        ("zinc", {"split_sizes": (9, 1, 1)}, r"have \(2, 2, 2\) graphs; expected \(9, 1, 1\)"),
        ("pcqm4mv2", {"digest": "md5:" + "0" * 32}, "does not match the known hash"),
        ("mnist", {"digest": "0" * 64}, "does not match the known hash"),
    ],
)
def test_other_data_than_published_are_not_stored(
    tmp_path, name, changes, sentence, answers, monkeypatch
):
    monkeypatch.setitem(PUBLICATIONS, name, replace(PUBLICATIONS[name], **changes))
    with pytest.raises(RuntimeError, match=sentence):
        load_dataset(name, "download", root=tmp_path)
    assert visible(tmp_path) == []


@pytest.mark.parametrize("name", ["zinc"])
def test_another_graph_file_than_the_known_one_is_refused(tmp_path, name, answers, monkeypatch):
    dataset = load_dataset(name, root=tmp_path)
    known = replace(PUBLICATIONS[name], checksum=dataset.checksum)
    monkeypatch.setitem(PUBLICATIONS, name, known)
    dataset[0].y = dataset[0].y + 1
    write_graphs(tmp_path / f"{name}.npz", dataset)
    with pytest.raises(ValueError, match=f"zinc.npz has sha256 .*; expected {dataset.checksum}"):
        load_dataset(name, root=tmp_path)


def test_a_redirection_away_from_https_is_not_followed(tmp_path, monkeypatch):
    asked = []

    def send(adapter, request, **_):
        asked.append(request.url)
        response = requests.Response()
        response.status_code, response.url, response.request = 302, request.url, request
        response.headers["location"] = "http://data.example/MNIST_v2.zip"
        return response

    monkeypatch.setattr("requests.adapters.HTTPAdapter.send", send)
    with pytest.raises(RuntimeError, match=r"leads to http://data\.example.*expected an https"):
        load_dataset("mnist", root=tmp_path)
    assert asked == [PUBLICATIONS["mnist"].url]


def test_all_addresses_are_https():
    urls = [url for each in PUBLICATIONS.values() for url in (each.url, *each.others.values())]
    assert len(urls) == 16
    assert all(url.startswith("https://") for url in urls)
