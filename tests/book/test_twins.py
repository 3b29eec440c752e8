"""The wall of twins draws what its table says."""

import pytest

from book._ext import twins
from gtcourse.course.records import measurement
from tools.paths import ROOT


@pytest.fixture(scope="module")
def wall():
    return twins.wall(str(ROOT))


def test_verdicts_on_the_wall_of_twins_equal_the_recorded_table(wall):
    recorded = measurement("encoding-table")
    assert {pair["name"]: pair["told"] for pair in wall["pairs"]} == {
        row["pair"]: row["cells"] for row in recorded["rows"]
    }


def test_twins_have_equal_colours_iff_the_encoding_does_not_separate_them(wall):
    """Graphs by the multiset of their nodes' colours, nodes by their own."""
    compared = 0
    for pair in wall["pairs"]:
        for encoding, colors in pair["colors"].items():
            if pair["kind"] == "pairs":  # of two nodes; colours are of one
                continue
            if pair["kind"] == "graphs":
                first, second = map(sorted, colors)
            else:
                first, second = (
                    [colors[which][node] for node in graph["chosen"]]
                    for which, graph in enumerate(pair["graphs"])
                )
            assert (first != second) == pair["told"][encoding], (pair["name"], encoding)
            compared += 1
    assert compared > 50
