"""All built pages: a policy that keeps other hosts out, formulas that are set, links that lead
somewhere, pictures that are described. What pages load is seen in the browser."""

import json
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup, NavigableString, Tag

from tools.paths import HTML

# What a page's policy may name: its own files, over http or from the disk, and what it contains.
OURS = {"'self'", "'unsafe-inline'", "'none'", "data:", "blob:", "file:"}
RAW_TEX = re.compile(r"\$\$|\\\(|\\\[|\\(?:frac|begin|sum|sqrt|mathbb|operatorname|cdot|tfrac)\b")
SET = "mjx-container[data-tex]:has(> mjx-math)"
UNBREAKABLE = re.compile(
    r'data-tex="([^"]*)"[^>]*data-long="">(?:(?!<mjx-break|</mjx-math>).)*</mjx-math>'
)
SPOKEN = "mjx-assistive-mml > math"
COLOURED = re.compile(r'<span class="\w{1,3}">([^<]*)</span>')  # Pygments' names are that short
NOT_PROSE = {"script", "style", "pre", "code", "textarea"}


class Page(NamedTuple):
    faults: list[str]
    links: list[str]
    ids: set[str]
    formulas: int
    unset: list[str]


def test_the_site_has_a_default_icon():
    if not HTML.exists():
        pytest.skip("there is no built book: make book builds it")
    assert (HTML / "favicon.ico").read_bytes()[:4] == b"\0\0\1\0"


def test_the_root_leads_to_the_first_page_and_is_described_as_it_is():
    if not HTML.exists():
        pytest.skip("there is no built book: make book builds it")
    root, home = (
        BeautifulSoup((HTML / name).read_text(encoding="utf-8"), "html.parser")
        for name in ("index.html", "book/intro.html")
    )
    assert root.select_one("a")["href"] == "book/intro.html"
    refresh = root.select_one("meta[http-equiv=refresh]")["content"]
    assert refresh == "0; url=book/intro.html"
    shared = 'link[rel=canonical], meta[name=description], meta[property^="og:"]'
    described = [str(tag) for tag in root.select(shared)]
    assert described == [str(tag) for tag in home.select(shared)]
    assert len(described) > 7


def parsed(path: Path) -> BeautifulSoup:
    """Without the spans that colour the words of code: a page of source has thousands."""
    html = COLOURED.sub(r"\1", path.read_text(encoding="utf-8"))
    return BeautifulSoup(html, "html.parser")


def read(html: str, soup: BeautifulSoup) -> Page:
    """In one walk over the elements: a drawing has thousands, and each CSS selector visits all."""
    found = policy_faults(soup)
    found += [f"no line can break in the long formula {tex}" for tex in UNBREAKABLE.findall(html)]
    links, ids, formulas = [], set(), []
    for element in soup.find_all(True):
        ids.update((element.get("id"), element.get("name")))
        if is_math(element):
            formulas.append(element)
        elif element.name == "a" and element.has_attr("href"):
            links.append(element["href"])
        elif element.name == "img":
            found += picture_faults(element)
        elif element.name == "svg":
            found += drawing_faults(element)
    texts = (text for article in soup.find_all("article") for text in article.strings)
    raw = [text.strip() for text in texts if RAW_TEX.search(text) and is_prose(text)]
    found += [f"raw TeX in the text: {text[:70]!r}" for text in raw]
    unset = [math.text[:70] for math in formulas if not is_set(math)]
    return Page(found, links, ids - {None}, len(formulas), unset)


def is_math(element: Tag) -> bool:
    return element.name in ("span", "div") and "math" in element.get("class", ())


def is_prose(text: NavigableString) -> bool:
    return not any(is_math(each) or each.name in NOT_PROSE for each in text.parents)


def picture_faults(picture: Tag) -> list[str]:
    """Sphinx writes the file's name where there are no words."""
    alt = picture.get("alt", "").strip()
    if alt and not re.search(r"\.(svg|png|jpe?g|gif)$", alt):
        return []
    return [f"picture {picture.get('src', '')[:80]} has no alt text"]


def drawing_faults(drawing: Tag) -> list[str]:
    """Of a drawing among the outputs, not of one inside another."""
    if drawing.find_parent("svg") or not drawing.find_parent(class_="cell_output"):
        return []
    hidden = drawing.get("aria-hidden") == "true"
    if hidden or drawing.get("aria-label") or drawing.find("title"):
        return []
    return ["a drawing among the outputs has no title"]


def is_set(formula: Tag) -> bool:
    """Whether MathJax has set it, with its TeX and its words for a screen reader."""
    parts = formula.select_one(SET), formula.select_one(SPOKEN)
    return all(parts) and formula.select_one("mjx-merror") is None


def policy_faults(soup: BeautifulSoup) -> list[str]:
    meta = soup.select_one('meta[http-equiv="Content-Security-Policy" i]')
    if meta is None:  # the root leads to the first page, and loads nothing
        loads = soup.select_one("script, link:not([rel=canonical]), img")
        return ["no Content-Security-Policy keeps other hosts out"] if loads else []
    policy = meta["content"]
    allowed = {word for part in policy.split(";") for word in part.split()[1:]}
    if allowed <= OURS and "default-src" in policy:
        return []
    return [f"its Content-Security-Policy is {policy!r}; expected default-src, ours"]


def broken_links(pages: dict[str, Page], root: Path) -> list[str]:
    @cache
    def leads_to(folder: Path, path: str) -> tuple[bool, str]:
        """Whether it exists, and its name in the book. Most links are in the menu of every page."""
        target = folder / unquote(path)
        return target.exists(), target.resolve().relative_to(root.resolve()).as_posix()

    found = []
    for name, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            folder = (root / name).parent
            exists, target = leads_to(folder, parts.path) if parts.path else (True, name)
            if not exists:
                found.append(f"{name}: link to {link}, which does not exist")
            elif (
                parts.fragment
                and not parts.fragment.startswith("model=")  # a state of the explainer
                and target in pages
                and unquote(parts.fragment) not in pages[target].ids
            ):
                found.append(f"{name}: link to {link}: no such place on that page")
    return found


@pytest.fixture(scope="module")
def chapters() -> dict[str, BeautifulSoup]:
    """By number."""
    if not (HTML / "index.html").exists():
        pytest.skip("there is no built book: make book builds it")
    return {path.name[:2]: parsed(path) for path in sorted((HTML / "notebooks").glob("[01]*.html"))}


@pytest.fixture(scope="module")
def pages(chapters) -> dict[str, Page]:
    found = {}
    for path in sorted(HTML.rglob("*.html")):
        if "_static" not in path.parts:
            name = path.relative_to(HTML).as_posix()
            is_chapter = path.parent.name == "notebooks" and path.name[:2] in chapters
            soup = chapters[path.name[:2]] if is_chapter else parsed(path)
            found[name] = read(path.read_text(encoding="utf-8"), soup)
    return found


@pytest.mark.parametrize("number", ["03", "09"])
def test_a_shared_link_shows_a_chapters_first_sentence_and_picture(chapters, number):
    soup = chapters[number]
    said = soup.select_one('meta[property="og:description"]')["content"]
    first = soup.select_one("article p:not(:has(img))").get_text()
    assert said[:40] == " ".join(first.split())[:40]
    address = urlsplit(soup.select_one('meta[property="og:image"]')["content"])
    assert address.scheme == "https"
    picture = HTML / "_static/previews" / f"{number}.png"
    assert address.path.endswith(f"/_static/previews/{picture.name}")
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_every_chapter_picture_has_a_caption(chapters):
    pages = [*chapters.values(), parsed(HTML / "notebooks/data.html")]
    for page in pages:
        caption = page.select_one("article img.chapter-picture + p.chapter-caption")
        assert caption.get_text().endswith((".", "?"))
    assert len(pages) == 13


def test_core_sections_are_marked_in_headings_contents_and_card(chapters):
    """They are those that the page for teachers names: here, of three chapters, read by hand."""
    expected = {
        "06": ["6.1", "6.2", "6.3", "6.5", "6.6", "6.8"],
        "09": ["9.1", "9.3", "9.5", "9.6", "9.11"],
        "10": ["10.1", "10.2", "10.3", "10.4", "10.7", "10.9", "10.10", "10.12"],
    }
    for number, page in chapters.items():
        marked = [mark.parent.get_text().split()[0] for mark in page.select("h2 > span.core")]
        contents = page.select("#pst-page-toc-nav a:has(span.core)")
        assert [entry.get_text().split()[0] for entry in contents] == marked
        if number in expected:
            assert marked == expected[number]
        assert 3 < len(marked) < len(page.select("article h2"))
        others = [part.h2.text.split()[0] for part in page.find_all("section", class_="deeper")]
        numbered = [head.text.split()[0] for head in page.article.find_all("h2")]
        assert [number for number in numbered if number[0].isdigit()] == sorted(
            marked + others, key=numbered.index
        )
    (row,) = (
        row for row in chapters["06"].select("tr") if row.td and row.td.text.strip() == "Core"
    )
    words = " ".join(row.select("td")[1].text.split())
    said = (
        r"sections 6\.1 to 6\.3, 6\.5, 6\.6 and 6\.8 \(about (\d+) of the (\d+) "
        r"minutes of reading\)\. "
        r"The other sections go deeper\."
    )
    core, complete = map(int, re.fullmatch(said, words).groups())
    assert 5 <= core < complete


def test_no_aside_hides_the_list_of_contents(chapters):
    """The theme hides the list while an element of the class "margin" or "sidebar" is in view."""
    asides = [aside for page in chapters.values() for aside in page.article.find_all("aside")]
    assert len(asides) > 20
    assert {tuple(aside["class"]) for aside in asides} == {("note",)}


def test_the_folded_code_of_a_figure_or_a_table_follows_it(chapters):
    below, above = 0, []
    for number, page in chapters.items():
        for figure in page.select("article .cell > figure"):
            below += bool(figure.find_next_sibling("details", class_="hide"))
            if figure.find_previous_sibling("details", class_="hide"):
                above.append((number, figure.figcaption.get_text()[:20]))
    assert above == []
    assert below > 100


def test_every_part_of_a_layers_diagram_is_a_box_or_an_arrow_between_two(chapters):
    diagrams = {number: page.select(".diagram") for number, page in chapters.items()}
    assert [number for number, found in diagrams.items() if found] == [
        "02",
        "05",
        "06",
        "07",
        "08",
        "09",
        "10",
    ]
    for (diagram,) in filter(None, diagrams.values()):
        labels = json.loads(diagram["data-boxes"])
        boxes = [part["data-box"] for part in diagram.select(".box")]
        assert boxes == list(labels)
        assert [part["data-box"] for part in diagram.select(".label")] == boxes
        ends = {part[end] for part in diagram.select("[data-from]") for end in part.attrs}
        assert set(boxes) <= ends
        assert "…" not in [label for label, _ in labels.values()]


def test_without_scripts_a_page_has_the_colours_of_the_light_mode():
    if not (HTML / "index.html").exists():
        pytest.skip("there is no built book: make book builds it")
    for name in ("book/intro.html", "book/explainer.html", "notebooks/06_graphormer.html"):
        soup = BeautifulSoup((HTML / name).read_text(encoding="utf-8"), "html.parser")
        assert soup.html["data-theme"] == "light"


def test_no_page_has_faults(pages):
    assert {name: page.faults for name, page in pages.items() if page.faults} == {}


def test_every_link_has_an_existing_target(pages):
    assert broken_links(pages, HTML) == []


def test_mathjax_reads_every_formula(pages):
    assert sum(page.formulas for page in pages.values()) > 2000
    assert {name: page.unset for name, page in pages.items() if page.unset} == {}


def test_the_styles_of_formulas_contain_the_font_of_no_height(pages):
    styles = (HTML / "_static/mathjax/mathjax.css").read_text(encoding="utf-8")
    assert "MathJax_Zero" not in styles
    assert "data:font/woff;base64," in styles
    lists = re.findall("MJXZERO,[^;}!]*", styles)
    assert lists
    assert [fonts for fonts in lists if "MJXNONE" not in fonts] == []


def test_no_page_loads_mathjax(pages):
    scripts = [path.name for path in HTML.rglob("*.js") if "mathjax" in path.as_posix().lower()]
    assert scripts == []
