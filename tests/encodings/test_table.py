"""Which encodings tell what apart: the table of chapter 04 is what these tests compute."""

import json

import pytest

from experiments.encoding_table import PATH, table


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


def test_the_skip_links_are_told_by_whatever_sees_further_than_a_neighbour(cells):
    told = cells["CSL: 41 nodes, skips 2 and 3"]
    assert not told["degrees"]
    assert not told["1-WL colours"]
    # A skip of 2 closes triangles with the ring's edges, a skip of 3 does not.
    assert told["rings"]
    assert told["random walks"]


def test_a_ring_and_a_path_of_one_distance_differ_in_rings_and_walks(cells):
    told = cells["3 steps apart in a ring of 6, in a path of 6"]
    assert not told["shortest paths"]
    assert told["rings"]  # the only one of the two pairs that lies on a ring
    assert told["random walks"]  # 2/8 after three steps there, 1/8 here


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
