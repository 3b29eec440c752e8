"""Pages of the built book, as their reader meets them: on a phone and a laptop, light and dark."""

import dataclasses

import pytest

from tests.browser.visit import Visit, visit
from tools.paths import HTML

KINDS = ["book/intro.html", "notebooks/03_message_passing.html", "book/api/cli.html"]
"""A page of each kind, for what takes too long on all of them."""


@pytest.mark.parametrize(
    "kind", [field.name for field in dataclasses.fields(Visit) if field.name != "outward"]
)
def test_no_page_has_a_fault(visits, kind):
    assert {name: found for name, visit in visits.items() if (found := getattr(visit, kind))} == {}


@pytest.mark.parametrize("name", KINDS)
def test_the_browser_refuses_what_a_page_asks_of_another_host(page, book, name):
    refused = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(f"{book}/{name}")
    failed = page.evaluate("fetch('https://example.org/').then(() => false, () => true)")
    assert failed
    assert any("Content Security Policy" in text for text in refused)


@pytest.mark.parametrize("name", ["book/intro.html", "notebooks/01_self_attention.html"])
def test_the_book_opens_from_the_disk(page, book, name):
    found = visit(page, (HTML / name).as_uri())
    assert found == Visit()


def test_the_folder_opens_at_the_first_page(page, book):
    page.goto(f"{book}/")
    page.wait_for_url(f"{book}/book/intro.html")
    assert page.title().startswith("Graph Transformers")
