"""Nothing leaves the window with the larger fonts that readers with poor sight choose."""

import pytest

from tests.browser.visit import FRAMES, READY, WIDE
from tools.chromium import LAPTOP, PHONE

SIZE = {"usual": 16, "enlarged": 24}
"""A browser's default font, in pixels, and what Chrome calls very large."""


@pytest.fixture
def enlarged(page):
    """The window with a default font of 24 px: style sheets know it, and so do their conditions."""
    session = page.context.new_cdp_session(page)
    session.send("Page.setFontSizes", {"fontSizes": {"standard": SIZE["enlarged"]}})
    yield page
    session.send("Page.setFontSizes", {"fontSizes": {"standard": SIZE["usual"]}})
    session.detach()


# What is to the right of the explainer's frame, where it would lie over the page's edge.
SPILLED = """() => {
  const { shadowRoot } = document.getElementById("explainer");
  const edge = shadowRoot.querySelector(".frame").getBoundingClientRect().right + 1;
  return [...shadowRoot.querySelectorAll(".path li *, .scale, .key > *")]
    .filter((part) => part.checkVisibility() && part.getBoundingClientRect().right > edge)
    .map((part) => part.textContent.trim());
}"""


@pytest.mark.parametrize("size", [PHONE, LAPTOP])
def test_enlarged_text_stays_in_the_window(enlarged, book, size):
    enlarged.set_viewport_size(size)
    for name in ("book/intro", "book/explainer", "notebooks/07_egt"):
        enlarged.goto(f"{book}/{name}.html")
        enlarged.evaluate(READY)
        enlarged.evaluate(FRAMES)
        assert enlarged.evaluate("parseFloat(getComputedStyle(document.body).fontSize)") > 20
        assert enlarged.evaluate(WIDE) == [], name
        if name == "book/explainer":
            enlarged.locator("#explainer .path li").first.wait_for()
            assert enlarged.evaluate(SPILLED) == []
            switch = enlarged.locator("#explainer [data-switch]")
            if switch.is_visible():
                words = enlarged.locator("#explainer .now .prediction span").all()
                edge = max(
                    each.bounding_box()["x"] + each.bounding_box()["width"] for each in words
                )
                assert edge <= switch.bounding_box()["x"]


def test_enlarged_text_leaves_the_words_of_the_promise_whole(enlarged, book):
    enlarged.set_viewport_size(LAPTOP)
    enlarged.goto(f"{book}/book/intro.html")
    promise = enlarged.locator(".promise > p").first
    assert promise.bounding_box()["width"] > LAPTOP["width"] / 3
    assert promise.evaluate("part => part.scrollWidth <= part.clientWidth")
