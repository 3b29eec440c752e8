"""The ledger: each equation of the sources has an object, a test and a section of the book.

python -m tools.ledger check    it is so, and book/ledger.md says it
python -m tools.ledger write    write the tables of book/ledger.md

The first column of the page's tables is written by hand and names the rows: each numbered equation
of a paper, and S1 to S14 for the statements of the lecture. The other columns are found. An
equation is cited in one form, in docstrings as in chapters: "GRPE, Eqs. 6 to 9", "Graphormer,
Fact 1", "CSA, Figure 2", "CS224W, S2 and S3". Files are read, nothing is imported.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token
from myst_parser.mdit_to_docutils.base import default_slugify

from tools.pages import placed, run
from tools.paths import PACKAGE, ROOT, TEXTS, slug

PAGE = ROOT / "book" / "ledger.md"
TABLE = re.compile(r"<!-- (\w+): written by make tables -->\n(.*?)\n<!-- end of \1 -->", re.S)
ROW = re.compile(r"^\| (Eq\. \d+|S\d+|Fact \d+|Figure \d+): (.*?)(?:<br>Erratum: .*?)? \|", re.M)
SOURCES = {
    name: dict(ROW.findall(table))
    for name, table in TABLE.findall(PAGE.read_text(encoding="utf-8"))
    if name != "totals"
}
"""Of each source its rows, "Eq. 6" or "S4", with what each equation defines."""

IDS = [f"{source}, {row}" for source, rows in SOURCES.items() for row in rows]
NAMES = "|".join(SOURCES)
NUMBERS = r"S?\d+(?:(?:, | to | and )S?\d+)*"
CITATION = re.compile(rf"\b({NAMES}), (?:(Eq|Fact|Figure)s?\.? |(?=S))({NUMBERS})")
SECTION_OF_DOCSTRING = re.compile(r"^[A-Z][\w ]*:$", re.M)  # "Args:", "Shapes:"
MARKDOWN = MarkdownIt("commonmark").enable("table")
TESTED: dict[str, str | dict[str, str]] = tomllib.loads(
    Path(__file__).with_name("tested.toml").read_text(encoding="utf-8")
)
"""What a test checks, in a sentence, by the name of the test.

A test of many models or encodings has a sentence for each of the sources whose equations it holds,
or for a single equation.
"""


class Place(NamedTuple):
    """An object or a test by its name, or a section of a chapter by its title and anchor."""

    path: Path
    name: str
    anchor: str = ""


Found = dict[str, list[Place]]
"""Places by the id of an equation."""


class Ledger(NamedTuple):
    objects: Found
    tests: Found
    sections: Found
    errata: Found
    faults: list[str]


def read(package: Path = PACKAGE, tests: Path = ROOT / "tests", chapters: Path = TEXTS) -> Ledger:
    """The ledger as these folders have it."""
    objects = grouped(cited_by_objects(package))
    tests = grouped(held_by_tests(tests))
    sections, errata, named = read_chapters(chapters)
    faults = [
        f"{relative(place.path)}: {place.name} cites {id}, which does not exist."
        for found in (objects, tests, named, errata)
        for id, places in found.items()
        if id not in IDS
        for place in places
    ]
    faults += [
        f"{relative(place.path)}: tools/tested.toml does not say what {place.name} checks of {id}."
        for id, places in tests.items()
        for place in places
        if id in IDS and not is_said(place.name, id)
    ]
    missing = {"docstring cites": objects, "test holds": tests, "chapter explains": sections}
    faults += [
        f"{id}: no {what} it." for what, has in missing.items() for id in IDS if id not in has
    ]
    return Ledger(objects, tests, sections, errata, faults)


def grouped(found: Iterator[tuple[str, Place]]) -> Found:
    groups: dict[str, dict[Place, None]] = {}
    for id, place in found:
        groups.setdefault(id, {})[place] = None
    return {id: [*places] for id, places in groups.items()}


def cited(text: str) -> list[str]:
    """The ids of all citations in a text, whether there are such equations or not."""
    ids = [
        f"{source}, {label(kind, number)}"
        for source, kind, listed in CITATION.findall(" ".join(text.split()))
        for number in numbers(listed)
    ]
    # A paper has more figures than the ledger has rows for them.
    return [id for id in ids if id in IDS or " Figure " not in id]


def label(kind: str, number: int) -> str:
    return {"Eq": f"Eq. {number}", "": f"S{number}"}.get(kind, f"{kind} {number}")


def numbers(text: str) -> list[int]:
    """All that "4, 6 to 8 and 12" names."""
    found: list[int] = []
    for word, number in re.findall(r"(to )?S?(\d+)", text):
        found += range(found[-1] + 1, int(number) + 1) if word else [int(number)]
    return found


def definitions(folder: Path, words: str, kinds: type) -> Iterator[tuple[Path, ast.stmt]]:
    """The classes or functions of each Python file in which one of the words stands."""
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if re.search(words, text):
            yield from ((path, node) for node in ast.parse(text).body if isinstance(node, kinds))


def cited_by_objects(package: Path) -> Iterator[tuple[str, Place]]:
    """What public classes and functions cite in their docstring, before its sections."""
    for path, node in definitions(package, "Eq|Fact|Figure|CS224W", ast.ClassDef | ast.FunctionDef):
        text = SECTION_OF_DOCSTRING.split(ast.get_docstring(node) or "")[0]
        if not node.name.startswith("_"):
            yield from ((id, Place(path, node.name)) for id in cited(text))


def held_by_tests(folder: Path) -> Iterator[tuple[str, Place]]:
    """What tests marked ``@pytest.mark.holds("GRPE, Eqs. 6 to 9")`` hold, unless they never run."""
    for path, node in definitions(folder, "mark.holds", ast.FunctionDef):
        marks = [m for m in node.decorator_list if ast.unparse(m).startswith("pytest.mark.holds(")]
        for text in (ast.literal_eval(part) for mark in marks for part in mark.args if runs(node)):
            yield from ((id, Place(path, node.name)) for id in cited(text))


def runs(test: ast.FunctionDef) -> bool:
    """False if pytest does not collect the function, always skips it, or expects it to fail."""
    marks = {ast.unparse(mark).partition("(")[0] for mark in test.decorator_list}
    skips = any(ast.unparse(line).startswith("pytest.skip(") for line in test.body[:2])
    never = {"pytest.mark.skip", "pytest.mark.xfail"}
    return test.name.startswith("test_") and not skips and marks.isdisjoint(never)


def read_chapters(folder: Path) -> tuple[Found, Found, Found]:
    """The sections that explain each equation, those of the errata, and all that name it."""
    printed = []
    labels = []
    named = []
    errata = []
    for page in sorted(folder.glob("*.md")):
        name = page.stem.split("_", 1)[-1]
        source = next((source for source in SOURCES if source.lower() == name), None)
        for section, text in paragraphs(page):
            names = [(id, section) for id in cited(text)]
            if page.stem != "errata":
                named += names
                printed += [(id, section) for id in tagged(text, source)]
                labels += [(id, section) for id in labelled(text, source)]
            elif text == section.name:  # an erratum names its equation in its heading
                errata += names
    # A printed equation says more than a number in parentheses, and that more than a mention.
    first = {id: places[:1] for id, places in (grouped(named) | grouped(labels)).items()}
    return first | grouped(printed), grouped(errata), grouped(printed + named)


def paragraphs(page: Path) -> Iterator[tuple[Place, str]]:
    """Each paragraph of prose of a page under its heading; code and tables are left out."""
    section = Place(page, "")
    number = ""
    for token, content in pairwise(tokens_of(page.read_text(encoding="utf-8"))):
        if token.type == "heading_open":
            title = content.content
            own = re.match(r"\d+\.\d+ ", title)
            number = own[0] if own else number if token.tag > "h2" else ""
            section = Place(page, title if own else number + title, anchor(title))
            yield section, title
        elif token.type == "paragraph_open":
            yield section, content.content


@cache
def tokens_of(text: str) -> list[Token]:
    """A chapter is read for the tables and for the faults, and parsed once."""
    return MARKDOWN.parse(text)


def anchor(title: str) -> str:
    """As MyST makes it from a heading, of which it leaves out formulas."""
    return default_slugify(re.sub(r"\$[^$]*\$|`", "", title))


def tagged(text: str, source: str | None) -> list[str]:
    """The ids of a text's ``\\tag``: {S4}, {CSA 10}, or, in the chapter of its paper, {6}."""
    found = re.findall(rf"\\tag\{{(?:(S\d+)|(?:({NAMES}) )?(\d+))\}}", text)
    return [
        f"CS224W, {statement}" if statement else f"{name or source}, Eq. {number}"
        for statement, name, number in found
        if statement or name or source
    ]


def labelled(text: str, source: str | None) -> list[str]:
    """The ids that stand in parentheses, as a tag does: (S12), or, in the chapter of its paper,
    (Eqs. 10 and 11). There a Fact or a Figure needs no parentheses."""
    inside = re.findall(r"\(S\d[^()]*\)", text)
    found = [f"CS224W, {id}" for id in re.findall(r"\b(S\d+)\b", " ".join(inside))]
    if source:
        own = re.findall(r"\((Eqs?\. [^()]*)\)", text)
        own += re.findall(rf"(?<!, )(?<!'s )\b((?:Facts?|Figure) {NUMBERS})", text)
        found += [id for part in own for id in cited(f"{source}, {part}")]
    return [id for id in found if id in IDS]


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name


def tables(ledger: Ledger) -> dict[str, str]:
    return {name: table(name, ledger) for name in SOURCES} | {"totals": totals(ledger)}


def totals(ledger: Ledger) -> str:
    """How many of what, in a sentence."""
    facts, figures = (sum(word in id for id in IDS) for word in (" Fact ", " Figure "))
    statements = len(SOURCES["CS224W"])
    objects, tests, sections = (
        len({place for places in found.values() for place in places}) for found in ledger[:3]
    )
    return (
        f"\nThe ledger has {len(IDS)} rows: {len(IDS) - statements - facts - figures} numbered "
        f"equations, {facts} facts and {figures} figures of the papers, and {statements} "
        f"statements of the lecture. They are explained in {sections} sections, computed by "
        f"{objects} classes and functions, and checked by {tests} tests.\n"
    )


def table(source: str, ledger: Ledger) -> str:
    header = "| equation | explained in | computed by | what is tested |"
    lines = ["", header, "| --- | --- | --- | --- |"]
    for row, phrase in SOURCES[source].items():
        objects, tests, sections, errata = (
            found.get(f"{source}, {row}", []) for found in ledger[:4]
        )
        columns = (
            [f"{row}: {phrase}", *map(erratum_link, errata)],
            map(section_link, sections),
            map(object_link, objects),
            [test_link(place, f"{source}, {row}") for place in tests],
        )
        lines.append(f"| {' | '.join(map('<br>'.join, columns))} |")
    return "\n".join(lines) + "\n"


def section_link(section: Place) -> str:
    return f"[{section.name}](../notebooks/{section.path.stem}.ipynb#{section.anchor})"


def erratum_link(section: Place) -> str:
    """The heading without the equation's name, which stands in the row already."""
    title = section.name.partition(": ")[2] or section.name
    return f"Erratum: {section_link(section._replace(name=title))}"


def object_link(found: Place) -> str:
    module = relative(found.path.with_suffix("")).replace("/", ".")
    return f"{{py:obj}}`~{module}.{found.name}` ([source]({on_github(found)}))"


def test_link(found: Place, id: str) -> str:
    return f"[{checked_by(found.name, id)}]({on_github(found)})"


def checked_by(test: str, id: str) -> str:
    """What a test checks, for an equation if the sentence depends on it.

    Raises:
        KeyError: tools/tested.toml does not say it; :func:`is_said` tells.
    """
    sentence = TESTED[test]
    if isinstance(sentence, str):
        return sentence
    source = id.partition(", ")[0]
    return sentence[id] if id in sentence else sentence[source]


def is_said(test: str, id: str) -> bool:
    """Whether tools/tested.toml says what a test checks, for this equation."""
    sentence = TESTED.get(test, {})
    source = id.partition(", ")[0]
    return isinstance(sentence, str) or id in sentence or source in sentence


def on_github(found: Place) -> str:
    return f"https://github.com/{slug()}/blob/main/{relative(found.path)}"


def pages() -> dict[Path, str]:
    return {PAGE: placed(PAGE.read_text(encoding="utf-8"), tables(read()))}


def main() -> int:
    return run(pages, lambda: read().faults)


if __name__ == "__main__":
    sys.exit(main())
