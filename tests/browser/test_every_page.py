"""Pages of the built book, as their reader meets them: on a phone and a laptop, light and dark."""

import pytest

from tests.browser.visit import EMPTY_PICTURES, Visit, grave_faults, show_in, visit
from tools.paths import HTML

KINDS = ["book/intro.html", "notebooks/03_message_passing.html", "book/api/cli.html"]
"""A page of each kind, for what takes too long on all of them."""


def faults(visits: dict[str, Visit], kind: str) -> list[str]:
    return [f"{name}: {fault}" for name, found in visits.items() for fault in getattr(found, kind)]


def test_no_page_has_an_error_in_the_console(visits):
    assert faults(visits, "errors") == []


def test_no_page_asks_another_host(visits):
    assert faults(visits, "foreign") == []


@pytest.mark.parametrize("name", KINDS)
def test_the_browser_refuses_what_a_page_asks_of_another_host(page, book, name):
    refused = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(f"{book}/{name}")
    failed = page.evaluate("fetch('https://example.org/').then(() => false, () => true)")
    assert failed
    assert any("Content Security Policy" in text for text in refused)


def test_no_page_scrolls_sideways_on_a_phone(visits):
    assert faults(visits, "wide") == []


def test_every_formula_is_set(visits):
    assert faults(visits, "unset") == []


def test_axe_finds_no_serious_fault_on_any_page(visits):
    assert faults(visits, "inaccessible") == []


def test_every_text_stands_out_in_both_modes(visits):
    assert faults(visits, "faint") == []


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("name", KINDS)
def test_axe_agrees_on_the_contrast_of_each_kind_of_page(page, book, name, mode):
    page.goto(f"{book}/{name}")
    page.evaluate("window.bookReady")
    show_in(page, mode)
    page.evaluate(EMPTY_PICTURES)
    assert grave_faults(page, ["color-contrast"]) == []


@pytest.mark.parametrize("name", ["book/intro.html", "notebooks/01_self_attention.html"])
def test_the_book_opens_from_the_disk(page, book, name):
    found = visit(page, (HTML / name).as_uri())
    assert found == Visit()


def test_the_folder_opens_at_the_first_page(page, book):
    page.goto(f"{book}/")
    page.wait_for_url(f"{book}/book/intro.html")
    assert page.title().startswith("Graph Transformers")
