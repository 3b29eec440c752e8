"""Which encodings tell what apart: the table of chapter 04 is what these tests compute."""

import json

import pytest

from tools.encoding_table import PATH, table


@pytest.fixture(scope="module")
def computed():
    return table()


@pytest.fixture(scope="module")
def cells(computed):
    return {row["pair"]: row["cells"] for row in computed["rows"]}


def test_the_stored_table_is_the_computed_one(computed):
    assert json.loads(PATH.read_text()) == computed


def test_what_message_passing_cannot_tell_apart_distances_can(cells):
    for pair in ("ring of 6, two triangles", "decalin, bicyclopentyl"):
        assert not cells[pair]["1-WL colours"]
        assert cells[pair]["shortest paths"]
        assert cells[pair]["RWSE"]


def test_csas_figure_2_distances_fail_and_walks_do_not(cells):
    told = cells["middle edge of the diamond, of the path of 4"]
    assert not told["shortest paths"]
    assert told["random walks"]


def test_one_spectrum_is_one_set_of_eigenvalues_and_not_of_eigenvectors(cells):
    told = cells["two graphs of one Laplacian spectrum"]
    assert not told["Laplacian eigenvalues"]
    assert told["Laplacian projectors"]


def test_strongly_regular_graphs_of_the_same_numbers_are_alike_to_all(cells):
    told = cells["rook's graph 4 × 4, Shrikhande's graph"]
    assert not any(told.values())


def test_only_coordinates_tell_nodes_apart_that_a_symmetry_exchanges(cells):
    for pair in ("path of 5: its two ends", "ring of 6: two neighbours"):
        for name, tells in cells[pair].items():
            assert bool(tells) == (
                name in ("Laplacian coordinates", "SVD coordinates", "anchor distances")
            )
