"""What a reader clones and what a reader downloads stay small."""

import pytest

from tests.browser.test_links import tracked
from tools.paths import HTML, ROOT

MB = 1_000_000


def test_the_repository_is_smaller_than_60_mb():
    assert sum((ROOT / name).stat().st_size for name in tracked()) < 60 * MB


def test_the_built_book_is_smaller_than_80_mb(book):
    assert sum(path.stat().st_size for path in HTML.rglob("*") if path.is_file()) < 80 * MB


@pytest.mark.parametrize(
    ("name", "limit"), [("book/intro", MB), ("notebooks/06_graphormer", 3 * MB)]
)
def test_a_page_with_all_that_it_loads_is_light(page, book, name, limit):
    loaded = []
    page.on("response", lambda response: loaded.append(len(response.body())))
    page.goto(f"{book}/{name}.html")
    page.evaluate("window.bookReady")
    page.wait_for_load_state("networkidle")
    assert sum(loaded) < limit
