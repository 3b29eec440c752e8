"""One browser for the session, the built book behind an address, and one visit of each page."""

import os

import pytest

from tests.browser.visit import Visit, visit
from tools import chromium
from tools.paths import HTML

NOT_PAGES = {"index.html"}  # it only leads to the first one


def skip(reason: str) -> None:
    """Says why; but where CI has a Chromium, nothing is left to skip for."""
    if os.environ.get("CI") == "true" and chromium.executable():
        pytest.fail(f"CI has a Chromium, but {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def browser():
    if reason := chromium.why_not():
        skip(reason)
    with chromium.browser() as running:
        yield running


@pytest.fixture(scope="session")
def book():
    """The address under which the built book is served."""
    if not (HTML / "index.html").exists():
        skip("there is no built book: make book builds it")
    with chromium.served(HTML) as address:
        yield address


@pytest.fixture
def page(browser):
    """A window of a laptop's size."""
    context = browser.new_context(viewport=chromium.LAPTOP, reduced_motion="reduce")
    yield context.new_page()
    context.close()


@pytest.fixture(scope="session")
def visits(browser, book) -> dict[str, Visit]:
    """What was found on each page, by its path."""
    paths = sorted(path.relative_to(HTML) for path in HTML.rglob("*.html"))
    names = [path.as_posix() for path in paths if "_static" not in path.parts]
    page = browser.new_page()  # one for all: a new window costs more than a new page in it
    found = {name: visit(page, f"{book}/{name}") for name in names if name not in NOT_PAGES}
    page.close()
    return found
