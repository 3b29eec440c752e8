"""The publisher's molecules, from its files or a download."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from gtcourse import prepare as MODULE
from gtcourse.graphs import datasets, load_dataset
from gtcourse.graphs.molecules import rdkit_chem, smiles_graph
from gtcourse.prepare import pcqm4mv2
from tests.graphs.layout import SMILES, write_layout, write_some
from tests.graphs.served import serve, visible

pytestmark = pytest.mark.usefixtures("no_network")


@pytest.fixture
def published(monkeypatch):
    """As if 12, 4 and 8 molecules were published."""
    publication = replace(MODULE.PUBLISHED, split_sizes=(12, 4, 8))
    monkeypatch.setattr(MODULE, "PUBLISHED", publication)
    monkeypatch.setitem(datasets.PUBLICATIONS, "pcqm4mv2", publication)


def test_the_graphs_are_those_that_the_data_set_by_name_has(tmp_path, published):
    root = write_some(tmp_path)
    molecules = pcqm4mv2(root)
    assert (molecules.name, molecules.source[:16]) == ("pcqm4mv2", "OGB-LSC PCQM4Mv2")
    expected = load_dataset("pcqm4mv2", source=root)
    assert molecules.split.tolist() == expected.split.tolist()
    found = molecules.part(slice(24))().to_data()
    for graph, other in zip(found, expected.graphs, strict=True):
        assert graph.smiles == other.smiles
        for name in ("x", "edge_index", "edge_attr"):
            assert torch.equal(graph[name], other[name])
        torch.testing.assert_close(graph.y, other.y, equal_nan=True)


def test_other_molecules_in_the_same_files_are_called_what_they_are(tmp_path):
    molecules = pcqm4mv2(write_some(tmp_path))
    assert molecules.name == "pcqm4mv2-layout"
    assert molecules.source.startswith("12/4/8 other molecules in the files of OGB-LSC PCQM4Mv2, ")
    assert "RDKit " in molecules.source


def test_the_checksum_is_of_the_content_and_not_of_the_files(tmp_path):
    first, again = (pcqm4mv2(write_some(tmp_path / name)) for name in "ab")
    other = pcqm4mv2(write_some(tmp_path / "c", smiles=SMILES[::-1]))
    assert first.checksum == again.checksum != other.checksum


@pytest.mark.parametrize("file", ["raw/data.csv.gz", "split_dict.pt", "RELEASE_v1.txt"])
def test_a_missing_file_is_named_and_nothing_is_downloaded(tmp_path, file):
    write_some(tmp_path)
    (tmp_path / "pcqm4m-v2" / file).unlink()
    with pytest.raises(FileNotFoundError, match=f"has no pcqm4m-v2/{file}; expected the files of"):
        pcqm4mv2(tmp_path)


def test_a_damaged_file_is_one_sentence(tmp_path):
    write_some(tmp_path)
    (tmp_path / "pcqm4m-v2/raw/data.csv.gz").write_bytes(b"no gzip")
    with pytest.raises(RuntimeError, match=r"pcqm4mv2 could not be read from .* as published\."):
        pcqm4mv2(tmp_path)


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"train": [0], "valid": [1], "test-dev": [2], "test-challenge": [2]}, "3 is in no split"),
        ({"train": [3], "valid": [1], "test-dev": [2], "test-challenge": [0]}, "3, for .* no targ"),
    ],
)
def test_a_split_that_cannot_be_is_refused(tmp_path, parts, sentence):
    write_layout(tmp_path, SMILES[:4], [1.0, 2.0, 3.0, np.nan], parts)
    with pytest.raises(RuntimeError, match=f"molecule {sentence}"):
        pcqm4mv2(tmp_path)


def test_without_a_network_one_sentence_says_so_and_nothing_is_left(tmp_path):
    with pytest.raises(
        RuntimeError, match=r"could not be downloaded \(.*no network in this test"
    ) as refusal:
        pcqm4mv2(tmp_path / "root")
    assert "\n" not in str(refusal.value)
    assert visible(tmp_path / "root") == []


@pytest.fixture
def served(monkeypatch, tmp_path_factory):
    """The publisher's archive, of 24 molecules."""
    unpinned = tuple(replace(each, digest=None) for each in MODULE.PUBLISHED.downloads)
    monkeypatch.setattr(MODULE, "PUBLISHED", replace(MODULE.PUBLISHED, downloads=unpinned))
    serve(monkeypatch, unpinned, write_some(tmp_path_factory.mktemp("published")))


def test_a_download_comes_to_its_place_when_it_is_whole(tmp_path, published, served, monkeypatch):
    molecules = pcqm4mv2(tmp_path)
    assert molecules.name == "pcqm4mv2"
    assert visible(tmp_path) == ["downloads.sha256", "pcqm4m-v2"]
    monkeypatch.setattr(MODULE, "download", lambda *arguments: 1 / 0)
    assert pcqm4mv2(tmp_path).checksum == molecules.checksum


def test_a_download_of_other_molecules_is_not_kept(tmp_path, served):
    with pytest.raises(RuntimeError, match=r"it has 12/4/8 molecules for train, val and test"):
        pcqm4mv2(tmp_path)
    assert visible(tmp_path) == []


@pytest.mark.parametrize(
    ("smiles", "sentence"),
    [
        ("C1CC", r"molecule 7 is 'C1CC', of which ogb and RDKit can make no graph \(AttributeErr"),
        ("nan", "molecule 7 is 'nan', of which ogb and RDKit can make no graph"),
        ("", "molecule 7 is '', which has no atoms; expected at least one"),
    ],
)
def test_a_molecule_that_cannot_be_read_is_named_and_rdkit_says_nothing_more(
    smiles, sentence, capfd
):
    with pytest.raises(ValueError, match=sentence):
        smiles_graph(smiles, 7)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("module", "sentence"),
    [("ogb", "made by the package ogb, which is not installed"), ("rdkit", "need RDKit, which is")],
)
def test_a_missing_library_is_named(tmp_path, monkeypatch, module, sentence):
    write_some(tmp_path)
    rdkit_chem.cache_clear()
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=sentence):
        pcqm4mv2(tmp_path)
