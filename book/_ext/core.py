"""Which sections of a chapter are its core: in its card, in the headings and in the contents.

The others have a class, with which ``_static/book.js`` folds them for readers who ask for the core,
at a switch under the chapter's title.

There is one list, the page for teachers. The core of a chapter is what its plan for one hour names,
and what the plans of other chapters ask students to have read. The remaining sections go deeper.
"""

import re
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from bs4 import BeautifulSoup, Tag
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

PLANS = "book/teach.md"
CHAPTER = re.compile(r"notebooks/(\d\d)_\w+$")
NUMBER = re.compile(r"\d+\.\d+")
NAMED = re.compile(r"\bsections? (\d+\.\d+(?:(?: to |, and |, | and )\d+\.\d+)*)")
RANGE = re.compile(r"(\d+)\.(\d+) to \1\.(\d+)")
HEADING = re.compile(r"^## (?=\d+\.\d+ )", re.MULTILINE)
MARK = '<span class="core">core</span>'
SWITCH = """\
<label class="core-only d-print-none" title="Folds the sections that go deeper to their headings">\
<input type="checkbox" autocomplete="off"><span>Core only</span>\
<span class="core-time">about {} of {} minutes</span></label>"""
DOT = {"class": "core", "role": "img", "aria-label": "core", "title": "core of the chapter"}

logger = logging.getLogger(__name__)


@cache
def core_sections(plans: str) -> frozenset[str]:
    """The sections, such as "6.3", that the page for teachers names."""
    found = set()
    for named in NAMED.findall(plans):
        found.update(NUMBER.findall(named))
        for chapter, first, last in RANGE.findall(named):
            found.update(f"{chapter}.{number}" for number in range(int(first), int(last) + 1))
    return frozenset(found)


def mark(app: Sphinx, document: nodes.document, page: str) -> None:
    """Labels the headings of a chapter's core, and adds a row to its card that lists them.

    The numbered sections that are not core get the class "deeper".
    """
    chapter = CHAPTER.match(page)
    if chapter is None or app.builder.format != "html":
        return
    beginning = f"{int(chapter[1])}."
    listed = {number for number in core_of(app) if number.startswith(beginning)}
    sections = {number_of(section): section for section in document.findall(nodes.section)}
    for number in sorted(listed - sections.keys()):
        logger.warning("%s names section %s, which is not there", PLANS, number, location=page)
    marked = {number: section for number, section in sections.items() if number in listed}
    for number, section in sections.items():
        if number in marked:
            section[0] += nodes.raw("", MARK, format="html")
        elif number:
            section["classes"].append("deeper")
    takes = next((row for row in document.findall(nodes.row) if row[0].astext() == "Takes"), None)
    if takes is None or not marked:
        logger.warning("no card, or no core, of chapter %s", chapter[1], location=page)
        return
    times = minutes(app, text_of(app, page), listed)
    takes.parent.insert(takes.parent.index(takes), row(takes, marked, times))
    badge = next((image for image in document.findall(nodes.image) if is_badge(image)), None)
    if badge is not None:
        badge.parent.parent += nodes.raw("", SWITCH.format(*times), format="html")


def is_badge(image: nodes.image) -> bool:
    return "colab" in image["classes"]


def depend(app: Sphinx, document: nodes.document) -> None:
    """A chapter's page is made again when the page for teachers or the chapter's text changes."""
    page = app.env.docname
    if CHAPTER.match(page):
        for path in (Path(app.srcdir, PLANS), text_of(app, page)):
            app.env.note_dependency(str(path))


def text_of(app: Sphinx, page: str) -> Path:
    return Path(app.srcdir, "book/chapters", page.split("/")[1] + ".md")


def core_of(app: Sphinx) -> frozenset[str]:
    return core_sections(Path(app.srcdir, PLANS).read_text(encoding="utf-8"))


def number_of(section: nodes.section) -> str:
    title = section[0].astext().split(" ")[0] if section.children else ""
    return title if NUMBER.fullmatch(title) else ""


def minutes(app: Sphinx, path: Path, listed: set[str]) -> tuple[int, int]:
    """Minutes that it takes to read the core, and to read the complete chapter."""
    sys.path.insert(0, str(app.srcdir))
    from tools.times import reading

    text = path.read_text(encoding="utf-8")
    return reading(core_text(text, listed)), reading(text)


def core_text(text: str, listed: Iterable[str]) -> str:
    """Those sections of a chapter's text that are listed."""
    wanted = set(listed)
    parts = (part for part in HEADING.split(text) if part.split(" ")[0] in wanted)
    return "\n\n".join(parts)


def row(takes: nodes.row, marked: dict[str, nodes.section], times: tuple[int, int]) -> nodes.row:
    """A row in the form of the card's others."""
    words = nodes.paragraph("", "sections ")
    runs = consecutive(list(marked))
    for at, (first, last) in enumerate(runs):
        if at:
            words += nodes.Text(" and " if at + 1 == len(runs) else ", ")
        words += link(first, marked)
        if last != first:
            words += nodes.Text(" to ")
            words += link(last, marked)
    words += nodes.Text(
        f" (about {times[0]} of the {times[1]} minutes of reading). The other sections go deeper."
    )
    added = takes.deepcopy()
    added["classes"] = ["core"]
    added[0].children = [nodes.paragraph("", "Core")]
    added[1].children = [words]
    return added


def link(number: str, marked: dict[str, nodes.section]) -> nodes.reference:
    return nodes.reference("", number, refid=marked[number]["ids"][0], internal=True)


def consecutive(numbers: list[str]) -> list[tuple[str, str]]:
    """The first and the last of each run, as 6.1 and 6.3 of 6.1, 6.2, 6.3."""
    runs: list[tuple[str, str]] = []
    for number in numbers:
        if runs and apart(runs[-1][1], number) == 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    parts: list[tuple[str, str]] = []
    for first, last in runs:
        if apart(first, last) == 1:  # two sections in a row are "6.7 and 6.8"
            parts += [(first, first), (last, last)]
        else:
            parts.append((first, last))
    return parts


def apart(first: str, last: str) -> int:
    return int(last.split(".")[1]) - int(first.split(".")[1])


def mark_contents(app: Sphinx, page: str, template: str, context: dict, document) -> None:
    """A dot beside each core section in the list of the page's contents."""
    listed = context.get("generate_toc_html")
    if CHAPTER.match(page) is None or listed is None:
        return
    wanted = core_of(app)

    def with_dots(kind: str = "html") -> Tag | str:
        found = listed(kind)
        for entry in found.select("a.nav-link") if found else ():
            if entry.get_text().split(" ")[0] in wanted and not entry.select("span.core"):
                bind_dot(entry)
        return found

    context["generate_toc_html"] = with_dots


def bind_dot(entry: Tag) -> None:
    """The dot stands in the line of the last word, which may have marks around it."""
    last = [text for text in entry.find_all(string=True) if text.strip()][-1]
    before, _, word = last.rstrip().rpartition(" ")
    together = BeautifulSoup("", "html.parser").new_tag("span")
    together["class"] = "together"
    together.append(word)
    together.append(dot())
    last.replace_with(f"{before} " if before else last[: -len(last.lstrip())], together)


def dot() -> Tag:
    made = BeautifulSoup("", "html.parser").new_tag("span")
    made.attrs.update(DOT)
    return made


def setup(app: Sphinx) -> dict:
    app.connect("doctree-read", depend)
    app.connect("doctree-resolved", mark)
    app.connect("html-page-context", mark_contents, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
