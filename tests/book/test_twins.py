"""The wall of twins draws what its table says."""

from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.utils import new_document

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


def test_the_wall_stands_below_the_cell_of_its_table_not_above_the_folded_code():
    table = nodes.figure("", nodes.caption("", "Table 4.1"), ids=[twins.TABLE])
    code = nodes.container("", classes=["hide"])
    cell = nodes.container("", table, code, classes=["cell"])
    text = nodes.paragraph("", "The picture below")
    document = new_document("page")
    document += nodes.section("", cell, text)
    app = SimpleNamespace(builder=SimpleNamespace(format="html"))
    twins.embed(app, document, twins.PAGE)
    section = document[0]
    assert cell.children == [table, code]
    assert section.index(cell) == 0
    assert section[1]["names"] == ["twins"]
    assert section.index(text) == 2
