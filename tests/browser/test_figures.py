"""Words in the chapters' figures stand out from what is drawn behind them, in both modes."""

import pytest

from tests.browser.figures import faint_texts
from tests.browser.visit import show_in
from tools.chromium import PHONE

CHAPTERS = ["04_positional_encodings", "07_egt", "09_csa", "11_what_attention_sees"]
FIGURES = ".bd-article svg[role=img]"

CUT = """figures => figures.filter((figure) =>
  figure.parentElement.scrollWidth > figure.parentElement.clientWidth)
  .map((figure) => figure.getAttribute("aria-label").slice(0, 60))"""


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
