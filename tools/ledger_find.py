"""Where the package, the tests and the chapters speak of the sources' equations.

An equation is cited in one form, in docstrings as in chapters: "GRPE, Eqs. 6 to 9",
"Graphormer, Fact 1", "CSA, Figure 2", "CS224W, S2 and S3". Nothing is imported; files are read.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from myst_parser.mdit_to_docutils.base import default_slugify

from tools.ledger_rows import IDS, SOURCES
from tools.paths import ROOT

PAPERS = "|".join(name for name in SOURCES if name != "CS224W")
LIST = r"{0}(?:(?:, | to | and ){0})*"
NUMBERS, STATEMENTS = LIST.format(r"\d+"), LIST.format(r"S\d+")
CITATION = re.compile(
    rf"\b(?P<paper>{PAPERS}), (?P<kind>Eqs?\.|Facts?|Figures?) (?P<numbers>{NUMBERS})"
    rf"|\bCS224W, (?P<statements>{STATEMENTS})"
)
TAG = re.compile(r"\\tag\{(?P<tag>[^}]*)\}")
SECTION_OF_DOCSTRING = re.compile(r"^[A-Z][\w ]*:$", re.M)  # "Args:", "Shapes:"


class Found(NamedTuple):
    """An object or a test that names an equation."""

    id: str
    path: Path
    name: str
    fault: str = ""
    """Why it does not count, or nothing."""


class Heading(NamedTuple):
    """A section's number and title, and the anchor that MyST makes of the title."""

    title: str
    anchor: str


def numbers(text: str) -> list[int]:
    """All that "4, 6 to 8 and 12" names."""
    found: list[int] = []
    for word, number in re.findall(r"(to )?S?(\d+)", text):
        found += range(found[-1] + 1, int(number) + 1) if word else [int(number)]
    return found


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


def parsed(folder: Path, words: str) -> Iterator[tuple[Path, list[ast.stmt]]]:
    """The statements of each Python file in which one of the words stands."""
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if re.search(words, text):
            yield path, ast.parse(text).body


def objects(package: Path) -> Iterator[Found]:
    """Public classes and functions whose docstring cites an equation before its sections."""
    for path, body in parsed(package, "Eq|Fact|Figure|CS224W"):
        for node in body:
            if not isinstance(node, ast.ClassDef | ast.FunctionDef) or node.name.startswith("_"):
                continue
            says = SECTION_OF_DOCSTRING.split(ast.get_docstring(node) or "")[0]
            for id in dict.fromkeys(cited(says)):
                yield Found(id, path, node.name)
            if re.search(r"\bEqs?\. \d", CITATION.sub("", " ".join(says.split()))):
                yield Found("", path, node.name, "cites an equation and not of which source")


def tests(folder: Path) -> Iterator[Found]:
    """What tests marked ``@pytest.mark.holds("GRPE, Eqs. 6 to 9")`` hold, and if they can."""
    for path, body in parsed(folder, "mark.holds"):
        names = [node.name for node in body if isinstance(node, ast.FunctionDef)]
        skipped = any(
            isinstance(node, ast.Assign)
            and ast.unparse(node.targets[0]) == "pytestmark"
            and is_skip(node.value)
            for node in body
        )
        for node in (node for node in body if isinstance(node, ast.FunctionDef)):
            marks = [mark for mark in node.decorator_list if is_holds(mark)]
            said = [ast.literal_eval(part) for mark in marks for part in mark.args]
            fault = ""
            if not (path.name.startswith("test_") and node.name.startswith("test_")):
                fault = "is no test that pytest collects"
            elif names.count(node.name) > 1:
                fault = "is defined more than once, and only the last of its name runs"
            elif skipped or any(map(is_skip, node.decorator_list)) or begins_with_skip(node):
                fault = "is always skipped"
            elif any(name_of(mark) == "pytest.mark.xfail" for mark in node.decorator_list):
                fault = "is expected to fail"
            for text in said:
                if not cited(text):
                    yield Found("", path, node.name, f"holds {text!r}, which cites no equation")
            for id in dict.fromkeys(id for text in said for id in cited(text)):
                yield Found(id, path, node.name, fault)


def is_holds(mark: ast.expr) -> bool:
    return isinstance(mark, ast.Call) and name_of(mark) == "pytest.mark.holds"


def name_of(mark: ast.expr) -> str:
    """Of a decorator, called or not."""
    return ast.unparse(mark.func if isinstance(mark, ast.Call) else mark)


def is_skip(mark: ast.expr) -> bool:
    """``pytest.mark.skip``, called or not, or ``skipif`` of something that is always true."""
    if isinstance(mark, ast.List | ast.Tuple):
        return any(map(is_skip, mark.elts))
    if name_of(mark) == "pytest.mark.skipif" and isinstance(mark, ast.Call) and mark.args:
        condition = mark.args[0]
        return isinstance(condition, ast.Constant) and bool(condition.value)
    return name_of(mark) == "pytest.mark.skip"


def begins_with_skip(test: ast.FunctionDef) -> bool:
    statements = [node for node in test.body if not is_docstring(node)]
    return bool(statements) and ast.unparse(statements[0]).startswith("pytest.skip(")


def is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def paragraphs(page: Path) -> Iterator[tuple[Heading, str]]:
    """Each paragraph of prose of a page under its heading; code and tables are left out."""
    heading, paragraph, fence, number = Heading("", ""), "", "", ""
    for line in [*page.read_text(encoding="utf-8").splitlines(), ""]:
        mark = re.match(r"(`{3,}|~{3,})", line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
            continue
        title = re.match(r"(#{1,6}) (.*)", line)
        if mark or title or not line.strip() or line.startswith("|"):
            if paragraph:
                yield heading, paragraph
            paragraph, fence = "", mark[1] if mark else ""
        else:
            paragraph += line + "\n"
        if title:
            section = re.match(r"\d+\.\d+ ", title[2])
            number = section[0] if section else number if len(title[1]) > 2 else ""
            heading = Heading(title[2] if section else number + title[2], anchor(title[2]))
            yield heading, title[2]


def anchor(title: str) -> str:
    """As MyST makes it from a heading, of which it leaves out formulas."""
    return default_slugify(re.sub(r"\$[^$]*\$|`", "", title))


def tagged(text: str, source: str | None) -> list[str]:
    """The ids of a text's ``\\tag``: {S4}, {CSA 10}, or, in the chapter of its paper, {6}."""
    found = []
    for tag in TAG.findall(text):
        if re.fullmatch(rf"S\d+|(?:{PAPERS}) \d+", tag):
            found.append(tag)
        elif source and tag.isdecimal():
            found.append(f"{source} {tag}")
    return found


def labelled(text: str, source: str | None) -> list[str]:
    """The ids that stand in parentheses, as a tag does: (S12), or, in the chapter of its paper,
    (Eqs. 10 and 11). There a Fact or a Figure needs no parentheses."""
    found = re.findall(r"\b(S\d+)\b", " ".join(re.findall(r"\(S\d[^()]*\)", text)))
    if source:
        own = re.findall(r"\((Eqs?\. [^()]*)\)", text)
        own += re.findall(rf"(?<!, )(?<!'s )\b((?:Facts?|Figure) {NUMBERS})", text)
        found += [id for part in own for id in cited(f"{source}, {part}")]
    return [id for id in found if id in IDS]


def source_of(chapter: Path) -> str | None:
    """The paper that a chapter is named after."""
    name = chapter.stem.split("_", 1)[-1]
    return next((source for source in SOURCES if source.lower() == name), None)


def module(path: Path) -> str:
    """gtcourse.models.egt of gtcourse/models/egt.py."""
    return relative(path.with_suffix("")).replace("/", ".")


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name
