"""On a phone: where the reader is, formulas and figures that are too wide, and text that stays."""

import time
from collections import Counter

import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import expect

from tests.browser.visit import FRAMES
from tools.chromium import PHONE
from tools.paths import HTML

CHAPTER = "notebooks/06_graphormer.html"
SHIFTS = """
  window.shifted = 0;
  new PerformanceObserver((list) => list.getEntries().forEach((one) => { shifted += one.value; }))
    .observe({ type: "layout-shift", buffered: true });
"""

# Formulas whose end cannot be scrolled to, and those that scroll without a fade or the keyboard.
CUT = """() => [...document.querySelectorAll("div.math")].flatMap((formula) => {
  const inner = formula.querySelector("mjx-container");
  const scrolling = [formula, inner].find((part) => part.scrollWidth > part.clientWidth + 4);
  if (!scrolling) return [];
  const marked = scrolling.tabIndex === 0 && scrolling.hasAttribute("data-more");
  const scrolls = getComputedStyle(scrolling).overflowX === "auto";
  scrolling.scrollLeft = scrolling.scrollWidth;
  const parts = [...inner.querySelectorAll("mjx-math > *")];
  const end = Math.max(...parts.map((part) => part.getBoundingClientRect().right));
  const reached = end <= scrolling.getBoundingClientRect().right + 1;
  return marked && scrolls && reached ? [] : [formula.textContent.trim().slice(0, 50)];
})"""


@pytest.fixture
def phone(page):
    page.set_viewport_size(PHONE)
    return page


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_further_down_a_low_bar_names_the_section_and_opens_the_contents(phone, book, mode):
    phone.emulate_media(color_scheme=mode)
    phone.goto(f"{book}/{CHAPTER}", wait_until="domcontentloaded")
    bar = phone.locator("nav.where")
    expect(bar).to_have_count(1)
    expect(bar).to_be_hidden()
    assert phone.locator(".bd-header-article").is_visible()
    phone.locator("#edges-along-the-shortest-path").evaluate("part => part.scrollIntoView()")
    bar.wait_for()
    assert bar.bounding_box()["height"] <= 40
    heading = phone.locator("#edges-along-the-shortest-path > h2")
    assert heading.bounding_box()["y"] > 40  # not below the bar
    title = bar.locator(".section")
    assert title.inner_text().strip() == "6.4 Edges along the shortest path"
    title.press("Enter")
    contents = phone.locator("dialog#pst-secondary-sidebar-modal")
    contents.wait_for()
    contents.locator("a", has_text="6.8 Where a bias is blind").click()
    phone.wait_for_function(
        "() => document.querySelector('nav.where .section').innerText.startsWith('6.8')"
    )


def test_no_end_of_a_formula_is_out_of_reach(phone, book):
    phone.goto(f"{book}/{CHAPTER}")
    phone.evaluate("window.bookReady")
    words = phone.locator(".more").first
    assert words.inner_text() == "scroll →"
    assert phone.evaluate(CUT) == []


def test_a_figure_of_the_results_opens_at_its_own_size(phone, book):
    phone.goto(f"{book}/book/results/index.html")
    figure = phone.locator("figure:has(img)").first
    shown = figure.locator("img").bounding_box()["width"]
    figure.get_by_role("button", name="Enlarge").click()
    assert phone.locator("dialog.enlarged img").bounding_box()["width"] > 1.4 * shown


@pytest.mark.parametrize(
    "name", ["book/results/index", "notebooks/02_transformer", "notebooks/09_csa"]
)
def test_text_stays_where_it_is_when_a_page_opens_at_a_section(browser, book, name):
    html = (HTML / f"{name}.html").read_text(encoding="utf-8")
    sections = BeautifulSoup(html, "html.parser").select("article section:has(> h2)")
    section = sections[len(sections) // 2]["id"]
    page = browser.new_page(viewport=PHONE)  # with nothing stored
    page.route("**/*.woff", late)
    page.add_init_script(SHIFTS)
    page.goto(f"{book}/{name}.html#{section}")
    page.evaluate("window.bookReady")
    page.evaluate("document.fonts.ready.then(() => true)")
    page.evaluate(FRAMES)  # the observer is told of the last shifts
    assert abs(page.locator(f"#{section}").bounding_box()["y"]) < 120
    assert page.evaluate("shifted") < 0.05
    page.close()


def late(route) -> None:
    """A font comes when the text has been painted."""
    time.sleep(0.2)
    route.continue_()


def test_the_pairs_of_the_wall_of_twins_keep_their_order(phone, book):
    phone.goto(f"{book}/notebooks/04_positional_encodings.html")
    pairs = phone.locator("#twins .pair")
    pairs.first.wait_for()
    places = [(box["y"], box["x"]) for box in (pair.bounding_box() for pair in pairs.all())]
    assert len(places) == 10
    assert places == sorted(places)
    rows = Counter(y for y, _ in places)
    assert [*rows.values()] == [2, 1, 1, 1, 2, 2, 1]  # the third and the fifth are wide


def test_the_list_of_pages_opens_where_the_page_is(phone, book):
    phone.goto(f"{book}/book/bibliography.html")
    entry = phone.locator("dialog .bd-links a.current")
    phone.locator(".bd-header-article .primary-toggle").click()
    entry.wait_for()
    phone.wait_for_timeout(400)  # the list slides in
    box = entry.bounding_box()
    assert 0 <= box["y"] <= PHONE["height"] - box["height"]


def test_without_scripts_the_bar_of_the_theme_stays(browser, book):
    context = browser.new_context(viewport=PHONE, java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{book}/book/how_to_read.html#budgets")
    assert page.locator("nav.where").count() == 0
    assert page.locator(".bd-header-article").bounding_box()["y"] == 0
    context.close()
