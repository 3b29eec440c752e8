"""One browser for the session, the built book behind an address, and one visit of each page."""

import os

import pytest

from tests.browser.visit import Visit, visit
from tools import chromium
from tools.paths import HTML

PAGES = [
    "book/intro.html",
    "book/how_to_read.html",
    "book/explainer.html",
    "book/results/index.html",
    "book/ledger.html",
    "book/differs/egt.html",
    "book/api/cli.html",
    "book/api/models.html",
    "genindex.html",
    "search.html",
    "notebooks/03_message_passing.html",
    "notebooks/07_egt.html",
    "notebooks/09_csa.html",
    "notebooks/11_what_attention_sees.html",
    "notebooks/12_from_a_laptop_to_a_cluster.html",
]
"""Pages of every kind, the longest chapters among them.

test_built_pages.py looks at the links, pictures and formulas of all pages, without a browser."""


def skip(reason: str) -> None:
    """Says why; but where CI has a Chromium, nothing is left to skip for."""
    if os.environ.get("CI") == "true" and chromium.executable():
        pytest.fail(f"CI has a Chromium, but {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def browser():
    if chromium.executable() is None:
        skip("no Chromium is installed")
    with chromium.browser() as running:
        yield running


@pytest.fixture(scope="session")
def book():
    """The address under which the built book is served."""
    if not (HTML / "index.html").exists():
        skip("there is no built book: make book builds it")
    with chromium.served(HTML) as address:
        yield address


@pytest.fixture(scope="session")
def window(browser):
    """One for all tests, because to open another costs more than to load a page in it."""
    page = browser.new_page()
    yield page
    page.close()


@pytest.fixture(scope="session")
def forget(window):
    """Empties what the pages of all servers have stored since the last time."""
    origins = set()
    window.on("framenavigated", lambda frame: origins.add("/".join(frame.url.split("/")[:3])))
    session = window.context.new_cdp_session(window)

    def clear() -> None:
        for origin in origins:
            if origin.startswith("http"):
                storage = {"origin": origin, "storageTypes": "local_storage"}
                session.send("Storage.clearDataForOrigin", storage)
        origins.clear()

    return clear


@pytest.fixture
def page(window, forget):
    """The window as if it were new: a laptop's size, empty, nothing stored, the pointer aside.

    Who listens to its events stops doing so at the end of the test.
    """
    window.goto("about:blank")
    forget()
    window.set_viewport_size(chromium.LAPTOP)
    window.emulate_media(media="screen", color_scheme="light", reduced_motion="reduce")
    window.mouse.move(0, 0)
    yield window
    window.unroute_all(behavior="ignoreErrors")


@pytest.fixture
def errors(page):
    """What the page's scripts raise; it fails the test."""
    found = []

    def add(error) -> None:
        found.append(str(error))

    page.on("pageerror", add)
    yield found
    page.remove_listener("pageerror", add)
    assert found == []


@pytest.fixture(scope="session")
def visits(window, book) -> dict[str, Visit]:
    """What was found on each page, by its path."""
    return {name: visit(window, f"{book}/{name}") for name in PAGES}
