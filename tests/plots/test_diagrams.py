import re

import pytest

from gtcourse import plots


def test_a_diagram_draws_each_box_and_each_arrow():
    boxes = {"x": (1, 0.3, "$x$", "node"), "y": (1, 1, "$y$\n[N, d]", "value")}
    drawn = [
        plots.diagram(boxes, arrows, height=1.4, alt="x above y").data for arrows in ("x > y", "")
    ]
    arrows, none = (len(re.findall("<path", html)) for html in drawn)
    assert arrows > none
    assert all('aria-label="x above y"' in html for html in drawn)


def test_an_arrow_to_an_unknown_box_raises():
    with pytest.raises(KeyError, match="z"):
        plots.diagram({"x": (1, 0.3, "x", "node")}, "x > z", height=1, alt="x and z")
