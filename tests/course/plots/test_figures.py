import re
from unittest.mock import patch

import networkx as nx
import numpy as np
import pytest
import torch
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb

from gtcourse.course import plots
from gtcourse.course.blindness import Rung
from gtcourse.course.plots.figures import COLORS, layout, luminance
from gtcourse.course.plots.molecules import LETTERS


@pytest.fixture(autouse=True)
def no_figure_is_left():
    yield
    plt.close("all")


def test_a_figure_is_an_svg_with_a_name_and_limits_of_size_and_always_the_same():
    def picture():
        plots.use_style()
        figure, ax = plt.subplots(figsize=(4, 2))
        ax.plot([0, 1])
        return plots.show(figure, alt='A line, called "rise" & shown').data

    head = re.match(r'<div style="overflow-x:auto"><svg [^>]*>', picture()).group()
    assert 'role="img" aria-label="A line, called &quot;rise&quot; &amp; shown"' in head
    largest, smallest = (float(re.search(rf"{m}-width:(\d+)pt", head)[1]) for m in ("max", "min"))
    assert 200 < largest < 320  # four inches of 72 points, cut to the ink
    assert abs(smallest - 0.59 * largest) <= 1
    assert picture() == picture()
    assert not plt.get_fignums()


def test_ink_is_what_the_page_says_and_grey_where_it_says_nothing():
    drawn = plots.show(plots.attention_map(torch.eye(2)).figure, alt="x").data
    molecule = plots.molecules(["CCO"], values=[[0.0, 1.0, 2.0]], alt="x").data
    for html in (drawn, molecule):
        assert f"var(--gtcourse-ink, {plots.INK})" in html
        assert plots.INK not in html.replace(f"var(--gtcourse-ink, {plots.INK})", "").lower()


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("colors", [plots.molecules.__kwdefaults__["cmap"], plots.TWO_SIDED])
@pytest.mark.parametrize("place", [0.0, 0.25, 0.5, 0.75, 1.0])
def test_an_atoms_letter_reads_on_every_disc_and_no_disc_glares(colors, place):
    assert luminance(colors(place)) < 0.55
    assert contrast(colors(place), to_rgb(LETTERS)) >= 4.5


def test_numbers_in_a_table_of_attention_read_on_every_colour():
    ax = plots.attention_map(torch.linspace(0, 1, 8)[None])
    shades = ax.images[0].to_rgba(ax.images[0].get_array())[0]
    for text, shade in zip(ax.texts, shades, strict=True):
        assert contrast(to_rgb(text.get_color()), shade) >= 4.5


def test_a_diagram_draws_each_arrow_between_its_boxes():
    boxes = {"x": (1, 0.3, "$x$", "node"), "y": (1, 1, "$y$\n[N, d]", "value")}
    with_arrow, without = (
        plots.diagram(boxes, arrows, height=1.4, alt="x above y").data for arrows in ("x > y", "")
    )
    assert with_arrow.count("<path") > without.count("<path")


def test_the_arrow_between_boxes_side_by_side_is_level_and_inside_both():
    boxes = {"x": (1, 1.0, "x\n[N, d]", "node"), "y": (4, 1.2, "y\n[N, d]", "value")}
    ends = []
    with patch("gtcourse.course.plots.figures._arrow", lambda ax, *places: ends.extend(places)):
        plots.diagram(boxes, "x > y", height=2, alt="x beside y")
    (x0, y0), (x1, y1) = ends
    assert x0 < x1
    assert y0 == y1 == pytest.approx(1.1)


def test_a_path_and_a_ring_are_drawn_without_crossings_and_along_the_page():
    path, ring = (torch.tensor(nx.to_numpy_array(G)) for G in (nx.path_graph(6), nx.cycle_graph(6)))
    x, y = layout((path > 0).numpy()).T
    assert np.ptp(x) > 10 * np.ptp(y)
    assert (np.sign(np.diff(x)) == np.sign(np.diff(x))[0]).all()
    corners = layout((ring > 0).numpy())
    radii = np.linalg.norm(corners, axis=1)
    assert radii == pytest.approx(np.full(6, radii.mean()), rel=0.01)


def test_a_ring_marks_the_chosen_atom_of_each_molecule_and_no_other():
    values = [[0.0, 1.0, 2.0], [0.0, 1.0, 2.0, 3.0]]
    drawn = plots.molecules(["CCO", "CCCN"], values=values, outlined=[1, 3], alt="x").data
    discs = re.findall(r"<ellipse[^>]*class='atom-(\d)'[^>]*>", drawn)
    ringed = re.findall(rf"<ellipse[^>]*class='atom-(\d)'[^>]*{COLORS['blue']}[^>]*>", drawn)
    assert discs == ["0", "1", "2", "0", "1", "2", "3"]
    assert ringed == ["1", "3"]
    one = plots.molecules(["CCO", "CCCN"], values=values, outlined=[None, 0], alt="x").data
    assert one.count("stroke-width:3px") == 1


def test_a_table_reads_as_text_as_html_and_with_formulas_as_markdown():
    rows = [["a < b", None, 0.12345], ["c", "0.1", 2]]
    table = plots.table(["MAE", "paper", "run"], rows)
    assert repr(table) == "MAE    paper    run\na < b      —  0.123\nc        0.1      2"
    assert "a &lt; b" in table._repr_html_()
    assert ">0.123</td>" in table._repr_html_()
    table = plots.formula_table(["model", "logit"], [["GIN", "$0$"], ["[a](b.py)", None]])
    expected = "| model | logit |\n| --- | --- |\n| GIN | $0$ |\n| [a](b.py) | — |"
    assert table._repr_markdown_() == expected
    assert table._repr_html_ is None


def test_over_seeds_says_how_many():
    assert plots.over_seeds([0.1, 0.2, 0.3]) == "0.200 ± 0.100 (3 seeds)"
    assert plots.over_seeds([0.25]) == "0.250"


def test_a_rung_shows_each_model_and_the_line_to_beat():
    rungs = [Rung(1, "bag", "", 0.5, 0.7, 0.8), Rung(3, "GIN", "", 0.0, 0.4, 0.5)]
    pair = [torch.ones(2, 2).bool().triu(1), torch.ones(3, 3).bool().triu(1)]
    drawn = plots.rung(pair, rungs, line=0.4, titles=("one", "other"), current=["GIN"], alt="x")
    assert drawn.data.count("<svg") == 1
    assert COLORS["orange"] in drawn.data
    without = plots.rung(pair, rungs, line=0.4, alt="x")
    assert COLORS["orange"] not in without.data
