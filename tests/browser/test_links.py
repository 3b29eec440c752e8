"""What leads away from a chapter, and how it is found."""

import re

import pytest
import yaml

from tests.process import run
from tools.paths import CONFIG, ROOT, slug

BRANCH = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))["repository"]["branch"]
COLAB = f"https://colab.research.google.com/github/{slug()}/blob/{BRANCH}/"
BINDER = f"https://mybinder.org/v2/gh/{slug()}/{BRANCH}?urlpath=lab/tree/"
AWAY = re.compile("https://(colab.research.google.com|mybinder.org)/")


def tracked() -> set[str]:
    return {*run("git", "ls-files", cwd=ROOT).splitlines()}


@pytest.mark.parametrize("chapter", ["03_message_passing", "09_csa"])
def test_colab_and_binder_open_a_notebook_that_is_there(visits, chapter):
    addresses = [link for link in visits[f"notebooks/{chapter}.html"].outward if AWAY.match(link)]
    for start in (COLAB, BINDER):
        paths = [a.removeprefix(start) for a in addresses if a.startswith(start)]
        assert f"notebooks/{chapter}.ipynb" in paths
    strange = [a for a in addresses if re.sub(".*/(blob|tree)/(main/)?", "", a) not in tracked()]
    assert strange == []


def test_searching_for_attention_bias_finds_the_section_on_it_first(page, book):
    page.goto(f"{book}/book/intro.html")
    page.keyboard.press("Control+k")
    page.keyboard.type("attention bias")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=attention*bias")
    first = page.locator("#section-results a").first
    assert "06_graphormer.html#distance-as-an-attention-bias" in first.get_attribute("href")
    assert "\\" not in page.locator("#section-results").text_content()


def test_searching_for_nonsense_finds_nothing(page, book):
    page.goto(f"{book}/search.html?q=qqqzzz")
    page.get_by_text("No section has these words").wait_for()
    assert page.locator("#section-results a").count() == 0


def test_a_filter_leaves_the_rows_with_its_words(page, book):
    page.goto(f"{book}/book/differs/index.html")
    page.locator(".filter input").fill("egt clip")
    rows = page.locator(".bd-article table tbody tr:visible")
    assert 0 < rows.count() < 5
    assert all("EGT" in row for row in rows.all_text_contents())
