"""What reacts to the reader: solutions, folded code, the mode, pictures to look around in."""

import pytest

from tools.paths import NOTEBOOKS

CHAPTERS = sorted(path.stem for path in NOTEBOOKS.glob("[01]*.ipynb"))
SOLUTION = "details:has(> summary:text-is('Solution'))"


@pytest.fixture
def chapter(page, book):
    """Opens a chapter by its number."""

    def opened(number: str):
        page.route("**/mathjax/**", lambda route: route.abort())  # nothing here is a formula
        (name,) = (name for name in CHAPTERS if name.startswith(number))
        page.goto(f"{book}/notebooks/{name}.html", wait_until="domcontentloaded")
        return page

    return opened


@pytest.mark.parametrize("number", ["01", "07", "12"])
def test_solutions_are_folded_and_open_at_a_click_and_at_a_key(chapter, number):
    page = chapter(number)
    solutions = page.locator(SOLUTION)
    assert 3 <= solutions.count() <= 5
    assert solutions.evaluate_all("all => all.some((one) => one.open)") is False
    first = solutions.first
    inside = first.locator(":scope > :not(summary)").first
    assert not inside.is_visible()
    first.locator("summary").click()
    assert inside.is_visible()
    page.keyboard.press("Enter")  # the summary has the focus
    assert not inside.is_visible()


def test_folded_code_opens(chapter):
    page = chapter("01")
    folded = page.locator("details.above-input").first
    assert not folded.locator("pre").first.is_visible()
    folded.locator("summary").click()
    assert folded.locator("pre").first.is_visible()


def test_the_mode_follows_the_system_until_the_reader_chooses(chapter):
    page = chapter("01")
    mode = page.locator("html")
    for system in ("dark", "light"):
        page.emulate_media(color_scheme=system)
        page.wait_for_function("m => document.documentElement.dataset.theme === m", arg=system)
    shown = mode.evaluate("html => getComputedStyle(document.body).backgroundColor")
    for _ in range(3):  # the button goes round: light, dark, as the system
        if mode.get_attribute("data-theme") == "light":
            page.locator("button.theme-switch-button").first.click()
    assert mode.get_attribute("data-theme") == "dark"
    assert mode.evaluate("html => getComputedStyle(document.body).backgroundColor") != shown
