from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gtcourse.encodings import AddRandomWalks
from tests.encodings.graphs import DIAMOND, PATH_OF_FOUR, of_edges
from tests.graphs.random_graphs import graph_of, graphs


@given(graphs(), st.integers(1, 6))
def test_rwse_is_the_diagonal(graph, steps):
    walks = AddRandomWalks(steps)(graph).random_walks
    rwse = AddRandomWalks(steps, pairs=False)(graph)
    assert torch.equal(rwse.rwse, walks.diagonal(dim1=0, dim2=1).T)
    assert "random_walks" not in rwse


@pytest.mark.holds("CSA, Figure 2")
def test_csas_figure_2():
    """Rows 0.33, 0.33, 0.26 and 0.50, 0.00, 0.63 for pairs that are one step apart in both."""
    left = AddRandomWalks(3)(DIAMOND).random_walks[0, 1]
    right = AddRandomWalks(3)(PATH_OF_FOUR).random_walks[1, 2]
    third, half = Fraction(1, 3), Fraction(1, 2)
    expected = [third, third, Fraction(7, 27)], [half, Fraction(0), Fraction(5, 8)]
    for row, fractions in zip((left, right), expected, strict=True):
        torch.testing.assert_close(row, torch.tensor([float(f) for f in fractions]))


def test_a_walk_without_a_way_out_is_lost_and_a_loop_is_a_step():
    graph = graph_of(3, [(0, 1), (2, 2), (2, 0)])
    walks = AddRandomWalks(2)(graph).random_walks
    assert walks[0].tolist() == [[0, 0], [1, 0], [0, 0]]
    assert walks[1].abs().sum() == 0
    assert walks[2].tolist() == [[0.5, 0.25], [0, 0.5], [0.5, 0.25]]


def test_rows_sum_to_1_where_every_node_has_an_edge():
    walks = AddRandomWalks(20)(DIAMOND).random_walks
    torch.testing.assert_close(walks.sum(dim=1), torch.ones(4, 20))


def test_an_edge_given_twice_is_one_way():
    graph = of_edges(3, [(0, 1), (0, 1), (0, 2)], both=False)
    assert AddRandomWalks(1)(graph).random_walks[0, :, 0].tolist() == [0, 0.5, 0.5]
