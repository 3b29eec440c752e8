"""The parts of a layer's diagram have the attributes that book/_static/diagram.js reads."""

import json

import pytest
from bs4 import BeautifulSoup
from docutils import nodes

from book._ext import diagrams
from gtcourse.course import plots

BOXES = {
    "x": (1, 0.3, "$x$\n[N, d]", "node"),
    "sum": (1, 1, "$\\sum_j x_j$", "op"),
    "out": (3, 1, "out\n[N, d]", "value"),
}


class HtmlBuilder:
    format = "html"


class App:
    builder = HtmlBuilder()


@pytest.fixture
def drawing():
    arrows = "x > sum > out"
    skips = {("x", "out"): 4}
    return plots.diagram(BOXES, arrows, skips=skips, height=1.4, alt="x, sum, out").data


def test_boxes_labels_and_arrows_get_the_names_of_the_call(drawing):
    page = BeautifulSoup(diagrams.with_names(drawing), "html.parser")
    (diagram,) = page.select(".diagram")
    assert [box["data-box"] for box in diagram.select(".box")] == list(BOXES)
    assert [label["data-box"] for label in diagram.select(".label")] == list(BOXES)
    ends = [(arrow["data-from"], arrow["data-to"]) for arrow in diagram.select("[data-from]")]
    assert ends == [("x", "sum"), ("sum", "out"), ("x", "out")]
    assert not [part["id"] for part in diagram.select("[id]") if " " in part["id"]]


def test_a_label_becomes_words_and_a_shape(drawing):
    (diagram,) = BeautifulSoup(diagrams.with_names(drawing), "html.parser").select(".diagram")
    assert json.loads(diagram["data-boxes"]) == {
        "x": ["x", "[N, d]"],
        "sum": ["Σⱼ xⱼ", ""],
        "out": ["out", "[N, d]"],
    }


def test_a_page_loads_the_script_once_and_other_drawings_stay(drawing):
    other = "<div><svg></svg></div>"
    page = nodes.container("")
    page += [nodes.raw("", text, format="html") for text in (other, drawing, drawing)]
    diagrams.name_parts(App, page, "notebooks/06_graphormer")
    untouched, *changed = [raw.astext() for raw in page.findall(nodes.raw)]
    assert untouched == other
    assert [diagrams.SCRIPT in text for text in changed] == [True, False]
    assert all('data-box="sum"' in text for text in changed)
