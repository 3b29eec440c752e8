"""The publisher's molecules, from its files or a download."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from gtcourse import prepare as module
from gtcourse.graphs import datasets, load_dataset
from gtcourse.graphs.molecules import UnsuitableMolecule, ogb_data
from gtcourse.prepare import pcqm4mv2
from tests.graphs.layout import SMILES, write_layout, write_some
from tests.graphs.served import content, serve, visible

pytestmark = pytest.mark.usefixtures("no_network")


@pytest.fixture
def publication(monkeypatch):
    """As if 12, 4 and 8 molecules were published, without a digest."""
    publication = replace(module.PUBLISHED, split_sizes=(12, 4, 8), digest=None)
    monkeypatch.setattr(module, "PUBLISHED", publication)
    monkeypatch.setitem(datasets.PUBLICATIONS, "pcqm4mv2", publication)
    return publication


def test_the_graphs_are_those_of_the_data_set(tmp_path, publication):
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


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"train": [0], "valid": [1], "test-dev": [2], "test-challenge": [2]}, "molecule 3 is"),
        (
            {"train": [3], "valid": [1], "test-dev": [2], "test-challenge": [0]},
            "molecule 3 ",
        ),
    ],
)
def test_invalid_splits_raise(tmp_path, parts, sentence):
    write_layout(tmp_path, SMILES[:4], [1.0, 2.0, 3.0, np.nan], parts)
    with pytest.raises(RuntimeError, match=f"could not be read from .*{sentence}"):
        pcqm4mv2(tmp_path)


def test_only_a_complete_download_is_stored(tmp_path, publication, monkeypatch):
    root = tmp_path / "root"
    with pytest.raises(RuntimeError, match=r"could not be downloaded \(.*no network in this test"):
        pcqm4mv2(root)
    assert visible(root) == []
    serve(monkeypatch, content(publication, write_some(tmp_path / "published")))
    molecules = pcqm4mv2(root)
    assert visible(root) == ["pcqm4m-v2"]
    serve(monkeypatch, {})
    assert pcqm4mv2(root).checksum == molecules.checksum


@pytest.mark.parametrize("smiles", ["C1CC", "nan", ""])
def test_a_molecule_that_cannot_be_read_is_named_in_one_sentence(smiles, capfd):
    with pytest.raises(UnsuitableMolecule, match=f"molecule 7 is '{smiles}', of which ogb and RDK"):
        ogb_data(smiles, 7)
    assert capfd.readouterr().err == ""
