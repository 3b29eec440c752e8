"""The chapters' figures on a phone, in both modes."""

import pytest

from tests.browser.visit import show_in
from tools.chromium import PHONE

CUT = """figures => figures.filter((figure) =>
  figure.parentElement.scrollWidth > figure.parentElement.clientWidth)
  .map((figure) => figure.getAttribute("aria-label").slice(0, 60))"""


@pytest.mark.parametrize("chapter", ["04_positional_encodings", "09_csa", "11_what_attention_sees"])
def test_no_figure_is_cut_off_on_a_phone_in_either_mode(page, book, chapter):
    page.set_viewport_size(PHONE)
    page.route("**/mathjax/**", lambda route: route.abort())
    page.goto(f"{book}/notebooks/{chapter}.html", wait_until="domcontentloaded")
    for mode in ("light", "dark"):
        show_in(page, mode)
        assert page.locator(".cell_output svg[role=img]").evaluate_all(CUT) == [], mode
