"""Words in the chapters' figures stand out from what is drawn behind them, in both modes."""

import numpy as np
import pytest

from tests.browser.figures import faint_texts, ratio
from tests.browser.visit import show_in
from tools.chromium import PHONE

CHAPTERS = ["04_positional_encodings", "07_egt", "09_csa", "11_what_attention_sees"]
FIGURES = ".bd-article svg[role=img]"

CUT = """figures => figures.filter((figure) =>
  figure.parentElement.scrollWidth > figure.parentElement.clientWidth)
  .map((figure) => figure.getAttribute("aria-label").slice(0, 60))"""

DRAWN = """<!doctype html><style>:root { --gtcourse-ink: #5b6069 }</style>
<svg role="img" width="200" height="100"><rect width="100" height="100" fill="#222"/>
<g id="text_1"><path d="M PLACE 20 h 30 v 20 h -30 z" style="fill: COLOR; HALO"/></g></svg>"""


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_words_of_every_figure_stand_out_in_both_modes(page, book, chapter):
    page.route("**/mathjax/**", lambda route: route.abort())  # formulas are judged elsewhere
    page.goto(f"{book}/notebooks/{chapter}.html", wait_until="domcontentloaded")
    figures, faults = page.locator(FIGURES), {}
    for mode in ("light", "dark"):
        show_in(page, mode)
        for at in range(figures.count()):
            figure = figures.nth(at)
            if figure.is_visible() and (found := faint_texts(figure)):
                faults[mode, (figure.get_attribute("aria-label") or "")[:60]] = found[:5]
    assert faults == {}


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_no_figure_is_cut_off_on_a_phone_in_either_mode(page, book, chapter):
    page.set_viewport_size(PHONE)
    page.route("**/mathjax/**", lambda route: route.abort())
    page.goto(f"{book}/notebooks/{chapter}.html", wait_until="domcontentloaded")
    for mode in ("light", "dark"):
        show_in(page, mode)
        assert page.locator(".cell_output svg[role=img]").evaluate_all(CUT) == [], mode


@pytest.mark.parametrize(
    ("place", "color", "halo", "faint"),
    [
        (120, "#767676", "", False),  # on the white page
        (120, "#aaa", "", True),
        (20, "#aaa", "", False),  # on the dark square
        (20, "#555", "", True),
        (120, "#fff", "stroke: #333", False),  # on its halo
        (20, "#333", "stroke: #222", True),
        (20, "var(--gtcourse-ink)", "", True),  # the ink needs more than 3, and has 2.5
        (120, "var(--gtcourse-ink)", "", False),
    ],
)
def test_a_text_is_judged_by_what_is_behind_it(page, place, color, halo, faint):
    drawn = DRAWN.replace("PLACE", str(place)).replace("COLOR", color).replace("HALO", halo)
    page.set_content(drawn)
    assert bool(faint_texts(page.locator("svg"))) is faint


def test_the_box_around_a_text_is_behind_it(page):
    path = '<path d="M 110 10 h 80 v 60 h -80 z" style="fill: #222; stroke: #fff"/>'
    box = f'<g id="patch_1">{path}</g>'
    drawn = (
        DRAWN.replace("PLACE", "120").replace("HALO", "").replace('"text_1">', f'"text_1">{box}')
    )
    page.set_content(drawn.replace("COLOR", "#aaa"))
    assert faint_texts(page.locator("svg")) == []
    page.set_content(drawn.replace("COLOR", "#444"))
    assert len(faint_texts(page.locator("svg"))) == 1


def test_the_ratio_is_that_of_wcag():
    black, white, grey = (np.array([float(value)] * 3) for value in (0, 255, 0x76))
    assert ratio(black, white) == pytest.approx(21)
    assert ratio(white, grey) == pytest.approx(4.54, abs=0.01)
