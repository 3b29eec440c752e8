from fractions import Fraction

import pytest
import torch

from gtcourse.encodings import AddRandomWalks
from tests.encodings.graphs import DIAMOND, PATH_OF_FOUR
from tests.graphs.random_graphs import graph_of


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
