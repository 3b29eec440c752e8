import json
import re
from html import unescape
from itertools import combinations, product
from math import dist
from unittest.mock import patch

import networkx as nx
import numpy as np
import pytest
import torch
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb
from rdkit import Chem
from rdkit.Chem import rdDepictor

from book._ext import pictures
from gtcourse.course import plots
from gtcourse.course.blindness import Rung
from gtcourse.course.plots.figures import (
    COLORS,
    OF_PAGE,
    disc_color,
    disc_letters,
    layout,
    luminance,
)
from gtcourse.course.plots.molecules import close, in_bond_lengths, places, pushed_apart
from tools.paths import ROOT


@pytest.fixture(autouse=True)
def no_figure_is_left():
    yield
    plt.close("all")


def test_a_figure_is_a_deterministic_svg_with_alt_text_and_size_limits():
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


def test_text_has_the_pages_colour_and_is_grey_by_default():
    drawn = plots.show(plots.attention_map(torch.eye(2)).figure, alt="x").data
    molecule = plots.molecules(["CCO"], values=[[0.0, 1.0, 2.0]], alt="x").data
    for html in (drawn, molecule):
        assert f"var(--gtcourse-ink, {plots.INK})" in html
        assert plots.INK not in html.replace(f"var(--gtcourse-ink, {plots.INK})", "").lower()


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def read_on(page: str, color: str) -> tuple[float, float, float]:
    """A colour of a figure as book.css sets it for a page."""
    found = re.fullmatch(r"var\((--[\w-]+), (.+)\)", color)
    if found is None:
        return to_rgb(color)
    selector = r'html\[data-theme="dark"\]' if page == "dark" else r"html"
    rules = re.findall(rf"^{selector} \{{(.*?)\}}", CSS, re.M | re.S)
    values = re.findall(rf"{found[1]}: (#\w+);", "".join(rules))
    if page == "dark":
        assert values, f"book.css has no {found[1]} for a dark page"
    return to_rgb(values[-1] if values else found[2])


CSS = (ROOT / "book/_static/book.css").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["light", "dark"])
@pytest.mark.parametrize("colors", [plots.PALE, plots.TWO_SIDED])
@pytest.mark.parametrize("share", np.linspace(0, 1, 17))
def test_letters_on_discs_have_enough_contrast_and_discs_are_not_too_bright(colors, share, page):
    disc = luminance(read_on(page, disc_color(colors, share)))
    letters = read_on(page, OF_PAGE.get(disc_letters(colors, share), disc_letters(colors, share)))
    light, dark = sorted((disc, luminance(letters)), reverse=True)
    assert luminance(colors(share)[:3]) < 0.55  # also where book.css is not, as in Colab
    assert disc < (0.8 if page == "light" else 0.7)
    assert (light + 0.05) / (dark + 0.05) >= (4.5 if page == "light" else 3.9)


def test_zero_is_dark_on_a_dark_page():
    for colors, zero in ((plots.PALE, 0.0), (plots.TWO_SIDED, 0.5)):
        assert luminance(read_on("dark", disc_color(colors, zero))) < 0.05


def test_atoms_and_nodes_have_colours_that_follow_the_page():
    values = [0.0, 0.5, 1.0]
    molecule = plots.molecules(["CCO"], values=[values], alt="x").data
    graph = plots.draw_graph(torch.ones(3, 3) - torch.eye(3), values=values)
    for html in (molecule, plots.show(graph.figure, alt="x").data):
        for level in (0, 8, 16):
            assert f"var(--gtcourse-pale-{level}, " in html


PAGES = {"light": ((1.0, 1.0, 1.0), (0.0, 0.0, 0.0)), "dark": (to_rgb("#14181e"), (1.0, 1.0, 1.0))}
"""Each page's ground, and what book.css writes on tables of numbers there."""


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("colors", [plots.SEQUENTIAL, plots.DIVERGING])
def test_numbers_in_a_map_have_enough_contrast_and_zero_is_transparent(colors, page):
    ground, letters = PAGES[page]
    for place in np.linspace(0, 1, 33):
        *color, alpha = colors(place)
        seen = alpha * np.array(color) + (1 - alpha) * np.array(ground)
        assert contrast(seen, letters) >= 4.5
    zero = 0.0 if colors is plots.SEQUENTIAL else 0.5
    assert colors(zero)[3] < 0.01
    assert contrast(colors(1.0)[:3], ground) >= 3.5


def test_numbers_in_a_map_have_the_pages_text_colour():
    drawn = plots.show(plots.attention_map(torch.eye(2)).figure, alt="x").data
    assert drawn.count("var(--gtcourse-letters, currentColor)") >= 4


def test_cells_without_a_value_are_hatched():
    weights = torch.tensor([[1.0, float("nan")], [0.0, 1.0]])
    (patch_,) = plots.attention_map(weights, numbers=False).patches
    assert patch_.get_xy() == (0.5, -0.5)
    assert patch_.get_hatch()


# What people without one kind of cone see, in linear light (Machado, Oliveira, Fernandes 2009).
BLINDNESS = {
    "none": np.eye(3),
    "protan": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deutan": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "tritan": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}
TO_XYZ = np.array([[0.4339, 0.3762, 0.1899], [0.2126, 0.7152, 0.0722], [0.0178, 0.1095, 0.8727]])


def lab(color, seen_as):
    """CIELAB of a colour as somebody sees it."""
    srgb = np.array(to_rgb(color))
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    x, y, z = np.cbrt(TO_XYZ @ np.clip(np.array(seen_as) @ linear, 0.0, 1.0))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("seen_as", BLINDNESS.values(), ids=BLINDNESS)
def test_model_colours_differ_for_colour_blind_readers(seen_as):
    hues = [color for color in plots.MODELS.values() if color != plots.INK]
    inks = ("#5b6069", "#a7aeb8")  # of book.css, for the plain Transformer
    pairs = [*combinations(hues, 2), *product(hues, inks)]
    for one, other in pairs:
        assert np.linalg.norm(lab(one, seen_as) - lab(other, seen_as)) > 15


@pytest.mark.parametrize("model", plots.MODELS)
def test_model_colours_stand_out_on_light_and_dark_pages(model):
    for ground, _ in PAGES.values():
        assert contrast(to_rgb(plots.MODELS[model]), ground) >= 3


def test_variants_and_recipes_have_their_models_colour():
    names = ("CSA without rings", "csa-rings", "EGT-U", "gatedgcn-pe", "gat-100k", "bag")
    expected = ("CSA", "CSA", "EGT", "GatedGCN", "GAT", "Transformer")
    for name, model in zip(names, expected, strict=True):
        assert plots.model_color(name) == plots.MODELS[model]
    with pytest.raises(ValueError, match="the model is 'GPS'; expected a name that begins"):
        plots.model_color("GPS")


@pytest.mark.parametrize("picture", ["pair", "metro"])
def test_interactive_pictures_use_the_models_colours(picture):
    code = ROOT / "book/_static/pictures"
    assert json.dumps(plots.MODELS) in pictures.script(code, picture)
    text = (code / f"{picture}.js").read_text(encoding="utf-8")
    assert "const COLORS = gtcourse.models;" in text


def test_edges_chosen_by_egt_have_its_colour():
    css = (ROOT / "book/_static/pictures.css").read_text(encoding="utf-8")
    assert f".picture .edge {{ stroke: {plots.MODELS['EGT']};" in css
    assert f".picture .lines .edge {{ border-top: 4px solid {plots.MODELS['EGT']};" in css


def test_a_diagram_draws_each_arrow_between_its_boxes():
    boxes = {"x": (1, 0.3, "$x$", "node"), "y": (1, 1, "$y$\n[N, d]", "value")}
    with_arrow, without = (
        plots.diagram(boxes, arrows, height=1.4, alt="x above y").data for arrows in ("x > y", "")
    )
    assert with_arrow.count("<path") > without.count("<path")


def test_the_arrow_between_boxes_side_by_side_is_level_and_inside_both():
    boxes = {"x": (1, 1.0, "x\n[N, d]", "node"), "y": (4, 1.2, "y\n[N, d]", "value")}
    with patch("gtcourse.course.plots.figures._arrow") as arrow:
        plots.diagram(boxes, "x > y", height=2, alt="x beside y")
    _, ((x0, y0), (x1, y1)) = arrow.call_args.args
    assert x0 < x1
    assert y0 == y1 == pytest.approx(1.1)


def test_an_arrow_bends_around_a_box_that_is_in_its_way():
    boxes = {
        "low": (1, 0.3, "low", "node"),
        "between": (1, 1, "between", "op"),
        "high": (3, 1, "high", "value"),
    }
    with patch("gtcourse.course.plots.figures._arrow") as arrow:
        plots.diagram(boxes, "low > high", height=2, width=1, alt="low, then high")
    _, ((x0, y0), corner, (x1, y1)) = arrow.call_args.args
    assert y0 == corner[1] == 0.3  # out at the side of "low", below "between"
    assert corner[0] == x1
    assert x0 == 1.5
    assert y1 == pytest.approx(1 - 0.18)  # into "high" from below


def test_a_level_arrow_crosses_an_upright_one_on_a_bridge():
    boxes = {
        "left": (0.5, 1, "left", "node"),
        "right": (4.5, 1, "right", "node"),
        "low": (2.5, 0.2, "low", "op"),
        "high": (2.5, 1.8, "high", "op"),
    }
    with patch("gtcourse.course.plots.figures._arrow") as arrow:
        plots.diagram(boxes, "left > right, low > high", height=2, width=0.8, alt="a cross")
    across, up = (call.kwargs["bridges"] for call in arrow.call_args_list)
    assert across == [(2.5, 1.0)]
    assert up == []
    drawn = plots.diagram(boxes, "left > right, low > high", height=2, width=0.8, alt="a cross")
    (path,) = re.findall(r'<g id="arrow left &gt; right"><path d="([^"]*)"', drawn.data)
    assert path.count("C") == 1  # half a circle


@pytest.mark.parametrize("color", [*plots.COLORS.values(), *plots.MODELS.values()])
def test_the_name_of_a_line_has_its_hue_and_enough_contrast(color):
    _, ax = plt.subplots()
    ax.plot([0, 1], color=color)
    plots.name_line(ax, "rise", (1, 1), color=color)
    (words,) = ax.texts
    if color == plots.INK:
        assert words.get_color() == plots.INK
        return
    assert words.get_color() != color  # so that the page can tell words from lines
    assert contrast(to_rgb(words.get_color()), (1, 1, 1)) >= 4.5
    drawn = plots.show(ax.figure, alt="x").data
    assert f"color-mix(in srgb, {color} 72%, var(--gtcourse-letters, currentColor))" in drawn
    for share, (ground, letters) in ((0.72, page) for page in PAGES.values()):
        mixed = share * np.array(to_rgb(color)) + (1 - share) * np.array(letters)
        assert contrast(mixed, ground) >= 4.5


def test_legends_and_names_lie_on_a_plate_of_the_pages_colour():
    plots.use_style()
    _, ax = plt.subplots()
    ax.plot([0, 1], label="rise")
    ax.legend()
    plots.name_line(ax, "rise", (1, 1))
    drawn = plots.show(ax.figure, alt="x").data
    assert drawn.count("var(--pst-color-background, transparent)") == 2


def test_small_tables_have_a_number_at_each_row_and_column():
    ax = plots.attention_map(torch.ones(4, 12) / 12)
    assert ax.get_yticks().tolist() == [*range(4)]
    assert ax.get_xticks().tolist() == [*range(12)]


def test_the_parts_of_a_diagram_have_their_names_as_ids():
    boxes = {
        "x": (1, 0.3, "$x < 1$", "node"),
        "y": (1, 1, "$y$\n[N, d]", "op"),
        "z": (3, 1, "$z$", "value"),
    }
    drawing = plots.diagram(
        boxes, "x > y > z", skips={("x", "z"): 4}, height=1.4, alt="x, y, z"
    ).data
    ids = [unescape(name) for name in re.findall('<g id="([^"]* [^"]*)"', drawing)]
    arrows = ["arrow x > y", "arrow y > z", "arrow x > z"]
    assert sorted(ids) == sorted(
        [*arrows, "box x", "box y", "box z", "label x", "label y", "label z"]
    )
    assert drawing.startswith('<div class="diagram" ')
    (labels,) = re.findall('data-labels="([^"]*)"', drawing)
    assert json.loads(unescape(labels)) == {"x": "$x < 1$", "y": "$y$\n[N, d]", "z": "$z$"}


def test_legends_of_molecules_are_text_on_one_line_for_each_row():
    legends = ["a & b", "gypsum", "a third and much longer legend"]
    drawn = plots.molecules(["CCO"] * 3, legends=legends, columns=2, cell=(180, 100), alt="x").data
    found = re.findall(r'<text class="legend" ([^>]*)>([^<]*)</text>', drawn)
    assert [unescape(words) for _, words in found] == legends
    spots = [re.search(r'x="([\d.]+)" y="([\d.]+)"', marks).groups() for marks, _ in found]
    assert spots == [("90", "92"), ("270", "92"), ("90", "192")]
    (size,) = {re.search(r'font-size="([\d.]+)"', marks)[1] for marks, _ in found}
    assert 10 < float(size) < 11  # so that the longest fits
    assert "<path class='legend'" not in drawn


def test_a_diagram_has_a_legend_of_its_colours():
    boxes = {"x": (1, 0.3, "$x$", "node"), "y": (1, 1, "$y$", "value")}
    with patch("gtcourse.course.plots.figures.show") as show:
        plots.diagram(boxes, "x > y", height=1.4, alt="x above y")
    (figure, _) = show.call_args.args
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts == ["$x$", "$y$", "nodes", "values"]


def test_paths_are_drawn_along_a_line_and_rings_on_a_circle():
    path, ring = (torch.tensor(nx.to_numpy_array(G)) for G in (nx.path_graph(6), nx.cycle_graph(6)))
    x, y = layout((path > 0).numpy()).T
    assert np.ptp(x) > 10 * np.ptp(y)
    assert (np.sign(np.diff(x)) == np.sign(np.diff(x))[0]).all()
    corners = layout((ring > 0).numpy())
    radii = np.linalg.norm(corners, axis=1)
    assert radii == pytest.approx(np.full(6, radii.mean()), rel=0.01)


def test_only_the_chosen_atom_of_each_molecule_is_outlined():
    values = [[0.0, 1.0, 2.0], [0.0, 1.0, 2.0, 3.0]]
    drawn = plots.molecules(["CCO", "CCCN"], values=values, outlined=[1, 3], alt="x").data
    discs = re.findall(r"<ellipse[^>]*class='atom-(\d)'[^>]*>", drawn)
    ringed = re.findall(rf"<ellipse[^>]*class='atom-(\d)'[^>]*{COLORS['blue']}[^>]*>", drawn)
    assert discs == ["0", "1", "2", "0", "1", "2", "3"]
    assert ringed == ["1", "3"]
    one = plots.molecules(["CCO", "CCCN"], values=values, outlined=[None, 0], alt="x").data
    assert one.count("stroke-width:3px") == 1


@pytest.mark.parametrize(
    "smiles",
    [
        "CC(C)(C)CCNS(=O)(=O)c1cccc2c1C(=O)c1ccccc1C2=O",  # two oxygens
        "CCC1(CC)Cc2ccccc2C2=C(C(=O)N3CCOCC3)C(=O)C(=O)N21",
        "CC=CC1OCC2(CO)C(C)C=C(C)C1C2C",  # a bridge
    ],
)
def test_no_two_atoms_of_a_drawing_lie_on_each_other(smiles):
    drawn = places(Chem.MolFromSmiles(smiles))
    assert min(dist(one, other) for one, other in combinations(drawn, 2)) > 0.85


def test_atoms_that_are_apart_stay_where_rdkit_draws_them():
    molecule = Chem.MolFromSmiles("CC(=O)Oc1ccccc1C(=O)O")
    rdDepictor.Compute2DCoords(molecule)
    assert places(molecule) == in_bond_lengths(molecule).round(2).tolist()


@pytest.mark.parametrize("nodes", [2, 3])
def test_atoms_at_the_same_place_are_pushed_apart(nodes):
    at = pushed_apart(np.zeros((nodes, 2)))
    assert np.isfinite(at).all()
    assert len(close(at)) == 0


def test_a_table_is_shown_as_text_html_or_markdown():
    rows = [["a < b", None, 0.12345], ["c", "0.1", 2]]
    table = plots.table(["MAE", "paper", "run"], rows)
    assert repr(table) == "MAE    paper    run\na < b      —  0.123\nc        0.1      2"
    assert "a &lt; b" in table._repr_html_()
    assert ">0.123</td>" in table._repr_html_()
    table = plots.formula_table(["model", "logit"], [["GIN", "$0$"], ["[a](b.py)", None]])
    expected = "| model | logit |\n| --- | --- |\n| GIN | $0$ |\n| [a](b.py) | — |"
    assert table._repr_markdown_() == expected
    assert table._repr_html_ is None


def test_over_seeds_states_the_number_of_seeds():
    assert plots.over_seeds([0.1, 0.2, 0.3]) == "0.200 ± 0.100 (3 seeds)"
    assert plots.over_seeds([0.25]) == "0.250"


def test_a_rung_draws_each_model_in_its_own_colour():
    rungs = [Rung(1, "bag", "", 0.5, 0.7, 0.8), Rung(3, "GIN", "", 0.0, 0.4, 0.5)]
    pair = [torch.ones(2, 2).bool().triu(1), torch.ones(3, 3).bool().triu(1)]
    drawn = plots.rung(pair, rungs, line=0.4, titles=("one", "other"), current=["GIN"], alt="x")
    assert drawn.data.count("<svg") == 1
    assert plots.MODELS["GIN"] in drawn.data
    assert plots.MODELS["CSA"] not in drawn.data
    equal = plots.rung(pair, rungs, line=0.4, titles=("one", "other"), alt="x")
    assert equal.data != drawn.data  # the chapter's model stands out
