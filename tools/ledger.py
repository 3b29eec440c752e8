"""The ledger: each equation of the sources has an object, a test and a section of the book.

python -m tools.ledger check    it is so, and book/ledger.md says it
python -m tools.ledger write    write the tables of book/ledger.md

The first column of the page's tables is written by hand and names the rows: each numbered equation
of a paper, and S1 to S14 for the statements of the lecture. The other columns are found. An
equation is cited in one form, in docstrings as in chapters: "GRPE, Eqs. 6 to 9", "Graphormer,
Fact 1", "CSA, Figure 2", "CS224W, S2 and S3". Files are read, nothing is imported.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from myst_parser.mdit_to_docutils.base import default_slugify

from tools.paths import PACKAGE, ROOT, TEXTS, slug

PAGE = ROOT / "book" / "ledger.md"
API = ROOT / "book" / "api"
TESTS = ROOT / "tests"

TABLE = re.compile(r"<!-- (\w+): written by make tables -->\n(.*?)\n<!-- end of \1 -->", re.S)
MARK = "<!-- {name}: written by make tables -->\n{text}\n<!-- end of {name} -->"
ROW = re.compile(
    r"^\| (?:Eq\. )?(\d+|S\d+|Fact \d+|Figure \d+): (.*?)(?:<br>Erratum: .*?)? \|", re.M
)
SOURCES = {
    name: dict(ROW.findall(table))
    for name, table in TABLE.findall(PAGE.read_text(encoding="utf-8"))
    if name != "totals"
}
"""Of each source its rows, with what each equation defines."""

PAPERS = "|".join(name for name in SOURCES if name != "CS224W")
LIST = r"{0}(?:(?:, | to | and ){0})*"
NUMBERS, STATEMENTS = LIST.format(r"\d+"), LIST.format(r"S\d+")
CITATION = re.compile(
    rf"\b(?P<paper>{PAPERS}), (?P<kind>Eqs?\.|Facts?|Figures?) (?P<numbers>{NUMBERS})"
    rf"|\bCS224W, (?P<statements>{STATEMENTS})"
)
HOLDS = "pytest.mark.holds("
SECTION_OF_DOCSTRING = re.compile(r"^[A-Z][\w ]*:$", re.M)  # "Args:", "Shapes:"


def identifier(source: str, row: str) -> str:
    """How this file names a row: S4, GRPE 6, Graphormer Fact 1."""
    return row if source == "CS224W" else f"{source} {row}"


def label(row: str) -> str:
    """How a row is called within its source."""
    return f"Eq. {row}" if row.isdecimal() else row


def in_full(id: str) -> str:
    """As it is cited: CS224W, S4; GRPE, Eq. 6; Graphormer, Fact 1."""
    source, _, row = id.partition(" ")
    return f"{source}, {label(row)}" if row else f"CS224W, {id}"


IDS = [identifier(name, row) for name, rows in SOURCES.items() for row in rows]


class Found(NamedTuple):
    """An object or a test that names an equation; ``fault`` says why it does not count."""

    id: str
    path: Path
    name: str
    fault: str = ""


class Section(NamedTuple):
    """A section of a chapter: its number and title, and the anchor that MyST makes of the title."""

    path: Path
    title: str
    anchor: str


class Ledger(NamedTuple):
    """For each id what was found, and the faults, a sentence each."""

    objects: dict[str, list[Found]]
    tests: dict[str, list[Found]]
    sections: dict[str, list[Section]]
    errata: dict[str, list[Section]]
    faults: list[str]


def read(package: Path = PACKAGE, tests: Path = TESTS, chapters: Path = TEXTS) -> Ledger:
    """The ledger as these folders have it."""
    citing, holding = [*cited_by_objects(package)], [*held_by_tests(tests)]
    sections, errata, unknown = read_chapters(chapters)
    found = citing + holding
    unknown += [(one.path, one.name, one.id) for one in found if one.id and one.id not in IDS]
    faults = [f"{relative(one.path)}: {one.name} {one.fault}." for one in found if one.fault]
    faults += [
        f"{relative(path)}: {where} names {in_full(id)}, which does not exist."
        for path, where, id in unknown
    ]
    objects, held = by_id(citing), by_id(holding)
    missing = {"docstring cites": objects, "test holds": held, "chapter explains": sections}
    faults += [
        f"{in_full(id)}: no {what} it."
        for what, has in missing.items()
        for id in IDS
        if id not in has
    ]
    return Ledger(objects, held, sections, errata, list(dict.fromkeys(faults)))


def by_id(found: list[Found]) -> dict[str, list[Found]]:
    grouped = defaultdict(list)
    for one in found:
        if not one.fault:
            grouped[one.id].append(one)
    return dict(grouped)


def cited(text: str) -> list[str]:
    """The ids of all citations in a text, whether there are such equations or not."""
    found = []
    for match in CITATION.finditer(" ".join(text.split())):
        if match["statements"]:
            found += [f"S{n}" for n in numbers(match["statements"])]
            continue
        kind = "" if match["kind"].startswith("Eq") else match["kind"].removesuffix("s") + " "
        found += [f"{match['paper']} {kind}{n}" for n in numbers(match["numbers"])]
    # A paper has more figures than the ledger has rows for them.
    return [id for id in found if id in IDS or " Figure " not in id]


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


def cited_by_objects(package: Path) -> Iterator[Found]:
    """Public classes and functions whose docstring cites an equation before its sections."""
    for path, node in definitions(package, "Eq|Fact|Figure|CS224W", ast.ClassDef | ast.FunctionDef):
        if node.name.startswith("_"):
            continue
        says = SECTION_OF_DOCSTRING.split(ast.get_docstring(node) or "")[0]
        for id in dict.fromkeys(cited(says)):
            yield Found(id, path, node.name)
        if re.search(r"\bEqs?\. \d", CITATION.sub("", " ".join(says.split()))):
            yield Found("", path, node.name, "cites an equation and not of which source")


def held_by_tests(folder: Path) -> Iterator[Found]:
    """What tests marked ``@pytest.mark.holds("GRPE, Eqs. 6 to 9")`` hold, unless they never run."""
    for path, node in definitions(folder, "mark.holds", ast.FunctionDef):
        marks = [mark for mark in node.decorator_list if ast.unparse(mark).startswith(HOLDS)]
        fault = "" if runs(node) else "is no test that runs and has to pass"
        for text in (ast.literal_eval(part) for mark in marks for part in mark.args):
            if not cited(text):
                yield Found("", path, node.name, f"holds {text!r}, which cites no equation")
            yield from (Found(id, path, node.name, fault) for id in dict.fromkeys(cited(text)))


def runs(test: ast.FunctionDef) -> bool:
    """False if pytest does not collect the function, always skips it, or expects it to fail."""
    marks = {ast.unparse(mark).partition("(")[0] for mark in test.decorator_list}
    skips = any(ast.unparse(line).startswith("pytest.skip(") for line in test.body[:2])
    return (
        test.name.startswith("test_")
        and not skips
        and marks.isdisjoint({"pytest.mark.skip", "pytest.mark.xfail"})
    )


def read_chapters(folder: Path) -> tuple[dict[str, list[Section]], dict[str, list[Section]], list]:
    """Sections that explain, sections of the errata, and what is named and does not exist."""
    printed, labels, named, errata, unknown = {}, {}, {}, {}, []
    for page in sorted(folder.glob("*.md")):
        name = page.stem.split("_", 1)[-1]
        source = next((source for source in SOURCES if source.lower() == name), None)
        for section, text in paragraphs(page):
            tags, names = tagged(text, source), cited(text)
            unknown += [(page, section.title, id) for id in tags + names if id not in IDS]
            if page.stem == "errata":  # an erratum says in its heading what it is of
                add(errata, names if text == section.title else [], section)
                continue
            for found, ids in (
                (printed, tags),
                (labels, labelled(text, source)),
                (named, names),
            ):
                add(found, ids, section)
    # A printed equation says more than a number in parentheses, and that more than a mention.
    mentions = {id: places[:1] for id, places in (named | labels).items()}
    return mentions | printed, errata, unknown


def add(found: dict[str, list[Section]], ids: list[str], section: Section) -> None:
    for id in ids:
        if section not in found.setdefault(id, []):
            found[id].append(section)


def paragraphs(page: Path) -> Iterator[tuple[Section, str]]:
    """Each paragraph of prose of a page under its heading; code and tables are left out."""
    section, paragraph, fence, number = Section(page, "", ""), "", "", ""
    for line in [*page.read_text(encoding="utf-8").splitlines(), ""]:
        mark = re.match(r"(`{3,}|~{3,})", line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
            continue
        title = re.match(r"(#{1,6}) (.*)", line)
        if mark or title or not line.strip() or line.startswith("|"):
            if paragraph:
                yield section, paragraph
            paragraph, fence = "", mark[1] if mark else ""
        else:
            paragraph += line + "\n"
        if title:
            own = re.match(r"\d+\.\d+ ", title[2])
            number = own[0] if own else number if len(title[1]) > 2 else ""
            section = Section(page, title[2] if own else number + title[2], anchor(title[2]))
            yield section, title[2]


def anchor(title: str) -> str:
    """As MyST makes it from a heading, of which it leaves out formulas."""
    return default_slugify(re.sub(r"\$[^$]*\$|`", "", title))


def tagged(text: str, source: str | None) -> list[str]:
    """The ids of a text's ``\\tag``: {S4}, {CSA 10}, or, in the chapter of its paper, {6}."""
    tags = re.findall(r"\\tag\{([^}]*)\}", text)
    tags = [f"{source} {tag}" if source and tag.isdecimal() else tag for tag in tags]
    return [tag for tag in tags if re.fullmatch(rf"S\d+|(?:{PAPERS}) \d+", tag)]


def labelled(text: str, source: str | None) -> list[str]:
    """The ids that stand in parentheses, as a tag does: (S12), or, in the chapter of its paper,
    (Eqs. 10 and 11). There a Fact or a Figure needs no parentheses."""
    found = re.findall(r"\b(S\d+)\b", " ".join(re.findall(r"\(S\d[^()]*\)", text)))
    if source:
        own = re.findall(r"\((Eqs?\. [^()]*)\)", text)
        own += re.findall(rf"(?<!, )(?<!'s )\b((?:Facts?|Figure) {NUMBERS})", text)
        found += [id for part in own for id in cited(f"{source}, {part}")]
    return [id for id in found if id in IDS]


def module(path: Path) -> str:
    """gtcourse.models.egt of gtcourse/models/egt.py."""
    return relative(path.with_suffix("")).replace("/", ".")


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name


def with_tables(text: str, ledger: Ledger) -> str:
    """The page with what was found today."""

    def written(match: re.Match) -> str:
        name = match[1]
        return MARK.format(
            name=name, text=totals(ledger) if name == "totals" else table(name, ledger)
        )

    return TABLE.sub(written, text)


def totals(ledger: Ledger) -> str:
    """How many of what, in a sentence."""
    facts, figures = (sum(word in id for id in IDS) for word in (" Fact ", " Figure "))
    statements = len(SOURCES["CS224W"])
    sections = {place for found in ledger.sections.values() for place in found}
    objects, tests = (
        {(one.path, one.name) for found in all_found.values() for one in found}
        for all_found in (ledger.objects, ledger.tests)
    )
    return (
        f"\n{len(IDS)} rows: {len(IDS) - statements - facts - figures} numbered equations, "
        f"{statements} statements of a lecture, {facts} facts and {figures} figures. "
        f"{len(sections)} sections explain them, {len(objects)} classes and functions compute "
        f"them, {len(tests)} tests hold them.\n"
    )


def table(source: str, ledger: Ledger) -> str:
    lines = ["", "| equation | explained in | computed by | held by |", "| --- | --- | --- | --- |"]
    for row, phrase in SOURCES[source].items():
        id = identifier(source, row)
        columns = (
            [f"{label(row)}: {phrase}", *map(erratum_link, ledger.errata.get(id, []))],
            map(section_link, ledger.sections.get(id, [])),
            map(object_link, ledger.objects.get(id, [])),
            map(test_link, ledger.tests.get(id, [])),
        )
        lines.append(f"| {' | '.join(map('<br>'.join, columns))} |")
    return "\n".join(lines) + "\n"


def section_link(section: Section) -> str:
    return f"[{section.title}](../notebooks/{section.path.stem}.ipynb#{section.anchor})"


def erratum_link(section: Section) -> str:
    """The heading without the equation's name, which stands in the row already."""
    title = section.title.partition(": ")[2] or section.title
    return f"Erratum: {section_link(section._replace(title=title))}"


def object_link(found: Found) -> str:
    return f"{{py:obj}}`~{module(found.path)}.{found.name}` ([source]({on_github(found)}))"


def test_link(found: Found) -> str:
    """Tests are named by sentences: the name without its underscores."""
    sentence = found.name.removeprefix("test_").replace("_", " ")
    return f"[{sentence}]({on_github(found)}) (`{found.path.name}`)"


def on_github(found: Found) -> str:
    return f"https://github.com/{slug()}/blob/main/{relative(found.path)}"


def faults() -> list[str]:
    """All that keeps the book from being built, a sentence each."""
    ledger, text = read(), PAGE.read_text(encoding="utf-8")
    pages = "".join(page.read_text(encoding="utf-8") for page in sorted(API.glob("*.md")))
    documented = set(re.findall(r"automodule:: (\S+)", pages))
    objects = dict.fromkeys(one for found in ledger.objects.values() for one in found)
    found = ledger.faults + [
        f"{relative(one.path)}: {one.name} is on no page of book/api."
        for one in objects
        if module(one.path) not in documented
    ]
    if with_tables(text, ledger) != text:
        found.append("book/ledger.md is not what code and chapters say; run make tables.")
    return found


def main() -> int:
    if sys.argv[1:] == ["write"]:
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(with_tables(text, read()), encoding="utf-8")
    found = faults()
    print("".join(f"{fault}\n" for fault in found), end="")
    print(f"Ledger: {len(IDS)} rows, {len(found)} faults")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
