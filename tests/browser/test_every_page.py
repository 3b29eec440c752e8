"""Pages of the built book, as their reader meets them: on a phone and a laptop, light and dark."""

import dataclasses
import json
import re

import pytest
import yaml
from bs4 import BeautifulSoup

from tests.browser.visit import READY, Visit, all_faults, show_in, visit
from tests.process import run
from tools.chromium import LAPTOP, PHONE
from tools.paths import CONFIG, HTML, NOTEBOOKS, ROOT, slug

MB = 1_000_000
CUT = """figures => figures.filter((figure) => {
  const frame = figure.parentElement;
  if (!frame.matches(".panels")) return frame.scrollWidth > frame.clientWidth;
  const edge = frame.getBoundingClientRect();
  return [...figure.querySelectorAll(".panel")].map((panel) => panel.getBoundingClientRect())
    .some(({ left, right, bottom }) => left < edge.left - 1 || right > edge.right + 1 ||
      bottom > edge.bottom + 1);
})
  .map((figure) => (figure.ariaLabel ?? figure.textContent).slice(0, 60))"""
KINDS = ["book/intro.html", "notebooks/03_message_passing.html", "book/api/cli.html"]
"""A page of each kind, for what takes too long on all of them."""
BRANCH = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))["repository"]["branch"]
COLAB = f"https://colab.research.google.com/github/{slug()}/blob/{BRANCH}/"
BINDER = f"https://mybinder.org/v2/gh/{slug()}/{BRANCH}?urlpath=lab/tree/"
AWAY = re.compile("https://(colab.research.google.com|mybinder.org)/")


@pytest.mark.parametrize(
    "kind", [field.name for field in dataclasses.fields(Visit) if field.name != "outward"]
)
def test_no_page_has_faults(visits, kind):
    assert {name: found for name, visit in visits.items() if (found := getattr(visit, kind))} == {}


OF_A_KIND = [
    "book/intro.html",
    "book/explainer.html",
    "book/explainer.html#model=egt&molecule=diazepam&beside=csa",
    "notebooks/06_graphormer.html",
    "book/results/index.html",
]


# The explainer has its model, and pictures and widgets near the window have been drawn (book.js).
DRAWN = """() => !document.querySelector("#explainer")?.shadowRoot?.querySelector(".waiting") &&
  [...document.querySelectorAll("[data-script]")]
    .filter((place) => place.getBoundingClientRect().top < innerHeight + 1400)
    .every((place) => (place.shadowRoot ?? place).querySelector("[role=status]"))"""


@pytest.mark.parametrize("name", OF_A_KIND)
def test_axe_finds_no_fault_of_any_weight_on_a_page_of_each_kind(page, book, name):
    page.goto(f"{book}/{name}")
    page.evaluate(READY)
    page.wait_for_function(DRAWN)
    assert all_faults(page) == []


@pytest.mark.parametrize("name", KINDS)
def test_the_browser_blocks_requests_to_other_hosts(page, book, name):
    page.goto(f"{book}/{name}")
    with page.expect_console_message(lambda one: "Content Security Policy" in one.text):
        assert page.evaluate("fetch('https://example.org/').then(() => false, () => true)")


@pytest.mark.parametrize("name", ["book/intro.html", "notebooks/01_self_attention.html"])
def test_the_book_can_be_opened_from_disk(page, book, name):
    found = visit(page, (HTML / name).as_uri())
    assert found == Visit()


def test_the_root_address_redirects_to_the_first_page(page, book):
    page.goto(f"{book}/")
    page.wait_for_url(f"{book}/book/intro.html")
    assert page.title().startswith("Graph Transformers")


@pytest.mark.parametrize("chapter", ["04_positional_encodings", "09_csa", "11_what_attention_sees"])
def test_no_figure_is_cut_off_on_a_phone_in_light_or_dark_mode(page, book, chapter):
    page.set_viewport_size(PHONE)
    page.goto(f"{book}/notebooks/{chapter}.html", wait_until="domcontentloaded")
    for mode in ("light", "dark"):
        show_in(page, mode)
        assert page.locator(".cell_output svg[role=img]").evaluate_all(CUT) == [], mode


# How what a drawing draws looks, in order. Uses are left out: a repeated row of glyphs is one use.
LOOKS = """drawing => [...drawing.querySelectorAll("path, text, circle, rect")]
  .filter((part) => !part.closest("defs, clipPath")).map((part) => {
    const { fill, fillOpacity, stroke, strokeWidth, strokeDasharray, opacity } =
      getComputedStyle(part);
    return [fill, fillOpacity, stroke, strokeWidth, strokeDasharray, opacity].join(" ");
  })"""
ALONE = """(article, drawing) => {
  const place = article.appendChild(document.createElement("div"));
  place.attachShadow({ mode: "open" }).innerHTML = drawing;  // no style of the page applies there
  return place.shadowRoot.querySelector("svg");
}"""


@pytest.mark.parametrize("chapter", ["03_message_passing", "07_egt"])
def test_drawings_have_the_colours_and_strokes_of_the_stored_ones(page, book, chapter):
    """In the page, the styles that many strokes share are classes (drawings.py)."""
    stored = json.loads((NOTEBOOKS / f"{chapter}.ipynb").read_text(encoding="utf-8"))
    outputs = [output for cell in stored["cells"] for output in cell.get("outputs", [])]
    html = "".join("".join(output.get("data", {}).get("text/html", "")) for output in outputs)
    labelled = BeautifulSoup(html, "html.parser").select("svg[role=img][aria-label]")
    page.goto(f"{book}/notebooks/{chapter}.html", wait_until="domcontentloaded")
    article = page.locator(".bd-article")
    labels = [drawing["aria-label"] for drawing in labelled]
    built = {
        drawing.get_attribute("aria-label"): drawing
        for drawing in article.locator(".cell_output svg[role=img]").element_handles()
    }
    assert len(labels) > 5
    for label, drawing in zip(labels, labelled, strict=True):
        alone = article.evaluate_handle(ALONE, str(drawing)).as_element()
        assert built[label].evaluate(LOOKS) == alone.evaluate(LOOKS), label
    classes = article.locator(".cell_output svg[role=img] path[class^=s]")
    assert classes.count() > 50


def test_repository_book_and_pages_stay_below_their_size_limits(browser, book):
    assert sum((ROOT / name).stat().st_size for name in tracked()) < 60 * MB
    assert sum(path.stat().st_size for path in HTML.rglob("*") if path.is_file()) < 80 * MB
    page = browser.new_page(viewport=LAPTOP)  # which has stored no files yet
    loaded = []
    page.on("response", lambda response: loaded.append(int(response.headers["content-length"])))
    heaviest = ("02_transformer", "06_graphormer", "08_grpe")
    limits = {"book/intro": MB} | {f"notebooks/{chapter}": 2.6 * MB for chapter in heaviest}
    for name, limit in limits.items():
        loaded.clear()
        page.goto(f"{book}/{name}.html")
        page.evaluate(READY)
        page.wait_for_function(DRAWN)
        assert limit / 4 < sum(loaded) < limit
    page.close()


def tracked() -> set[str]:
    return {*run("git", "ls-files", cwd=ROOT).splitlines()}


@pytest.mark.parametrize("chapter", ["03_message_passing", "09_csa"])
def test_colab_and_binder_links_point_to_existing_notebooks(visits, chapter):
    addresses = [link for link in visits[f"notebooks/{chapter}.html"].outward if AWAY.match(link)]
    for start in (COLAB, BINDER):
        paths = [a.removeprefix(start) for a in addresses if a.startswith(start)]
        assert f"notebooks/{chapter}.ipynb" in paths
    strange = [a for a in addresses if re.sub(".*/(blob|tree)/(main/)?", "", a) not in tracked()]
    assert strange == []
