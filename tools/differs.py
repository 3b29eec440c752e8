"""The pages of book/differs: where papers, their authors' code and this course differ.

python -m tools.differs check    the pages say what the rows and the record say
python -m tools.differs write    make it so

A page's rows are in a TOML file beside it. A row names the test that shows it, and takes its
numbers from gtcourse/recorded/differs-measured.json, which names the commit that measured them, or
from recorded runs.
"""

import ast
import json
import string
import sys
import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from gtcourse.training.records import recorded
from gtcourse.training.results import spread
from tools.ledger import runs
from tools.paths import PACKAGE, ROOT

FOLDER = ROOT / "book" / "differs"
RECORD = PACKAGE / "recorded" / "differs-measured.json"
PAPERS = ("lecture", "signnet", "graphormer", "egt", "grpe", "csa")
FOLLOWS = {
    "paper": "the paper",
    "code": "the code",
    "option": "either",
    "other": "neither",
}
MEASURED = "*Measured at commit `{short}` on {date}, on {device}: `{command}`, {seconds:,} s{all}.*"
MADE = "<!-- written by python -m tools.differs write -->"
FILTER = '## All of them\n\n```{raw} html\n<div class="filter"></div>\n```'


@dataclass(frozen=True)
class Row:
    """One difference.

    Attributes:
        id: its name, part of its address; equation: where it is in the source; what: its heading.
        follows: whom the package follows, a key of ``FOLLOWS``.
        paper, code, here, why: what each does, and why the package does what it does.
        effect: the measured effect, with a place in braces for each number.
        test: "tests/….py::test_…", which shows it.
        runs: place to the recorded run whose test errors stand there.
    """

    id: str
    equation: str
    what: str
    follows: str
    paper: str
    code: str
    here: str
    why: str
    effect: str
    test: str
    runs: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Paper:
    """A page: its file's name, title, first lines and rows."""

    name: str
    title: str
    intro: str
    rows: tuple[Row, ...]


@cache
def read(name: str) -> Paper:
    content = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    rows = tuple(Row(**row) for row in content["row"])
    return Paper(name, content["title"], content["intro"].strip(), rows)


@cache
def record() -> dict:
    return json.loads(RECORD.read_text(encoding="utf-8"))


def faults(paper: Paper) -> list[str]:
    """What a row lacks: a test that exists, a number, or a choice of whom the package follows."""
    found = []
    for row in paper.rows:
        name = f"{paper.name}.toml, {row.id}"
        if not test_exists(row.test):
            found.append(f"{name}: there is no test {row.test}")
        if not numbers_of(row):
            found.append(f"{name}: its effect has no number of a run")
        if row.follows not in FOLLOWS:
            found.append(f"{name}: follows is {row.follows!r}; expected {', '.join(FOLLOWS)}")
    ids = [row.id for row in paper.rows]
    found += [f"{paper.name}.toml: {i} stands there twice" for i in {*ids} if ids.count(i) > 1]
    measured = {*record()["papers"][paper.name]["measured"]}
    found += [f"{paper.name}.toml: nothing asks for the measure {i}" for i in measured - {*ids}]
    return found


def test_exists(test: str) -> bool:
    path, _, name = test.partition("::")
    return (ROOT / path).is_file() and name in tests(ROOT / path)


@cache
def tests(path: Path) -> frozenset[str]:
    """The tests of a file that pytest collects and that are not skipped whatever happens."""
    return frozenset(
        node.name
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and runs(node)
    )


def numbers_of(row: Row) -> set[str]:
    """The places of an effect's text."""
    return {name for _, name, _, _ in string.Formatter().parse(row.effect) if name}


def effect(paper: str, row: Row) -> str:
    """The text with its numbers; a list of numbers is one for each seed."""
    values = record()["papers"][paper]["measured"].get(row.id, {})
    values = {name: spread(v) if isinstance(v, list) else v for name, v in values.items()}
    runs = {
        place: spread([run.result["test_mae"] for run in recorded(name)])
        for place, name in row.runs.items()
    }
    text = row.effect.format(**values, **runs)
    return text.replace(" ± ", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}")


def page(paper: Paper) -> str:
    parts = [
        MADE,
        f"(differs-{paper.name})=",
        f"# {paper.title}: paper, code and course",
        paper.intro,
        overview(paper),
        *(section(paper.name, row) for row in paper.rows),
        measured(**record()["papers"][paper.name], name=paper.name),
    ]
    return "\n\n".join(parts) + "\n"


def measured(*, commit: str, command: str, name: str, **found) -> str:
    """The line below a page; a command that names no paper has measured all of them."""
    together = "" if command.endswith(f" {name}") else " for all pages together"
    return MEASURED.format(**found, short=commit[:7], command=command, all=together)


def overview(paper: Paper) -> str:
    count = f"Paper and code differ in {len(paper.rows)} places."
    first = f"{count} The last column shows which one the package follows."
    rows = [row[1:] for row in every_row([paper])]
    return f"{first}\n\n{markdown_table(rows)}"


def section(paper: str, row: Row) -> str:
    """A heading with an address, and a table with a line for each of those who have a say."""
    path, _, test = row.test.partition("::")
    sentence = test.removeprefix("test_").replace("_", " ")
    lines = {
        "Printed": row.paper,
        "Code": row.code,
        "Here": row.here,
        "Why": row.why,
        "Measured": effect(paper, row),
        "Test": f"*{sentence}*, in `{path}`",
    }
    table = [f"* - {name}\n  - {text.strip()}" for name, text in lines.items()]
    return "\n".join(
        [
            f"(differs-{paper}-{row.id})=",
            f"## {row.equation} · {row.what}",
            "",
            ":::{list-table}",
            ":stub-columns: 1",
            ":widths: 18 82",
            ":class: differs",
            "",
            *table,
            ":::",
        ]
    )


def index(papers: list[Paper]) -> str:
    text = (FOLDER / "index.toml").read_text(encoding="utf-8")
    content = tomllib.loads(text)
    counts = [["source", "paper", "code", "either", "neither", "all"]]
    for paper in papers:
        of = [row.follows for row in paper.rows]
        link = f"[{paper.title.split(' and ')[0]}]({paper.name}.md)"
        counts.append([link, *(str(of.count(name)) for name in FOLLOWS), str(len(of))])
    counts.append(["all", *(str(sum(int(row[i]) for row in counts[1:])) for i in range(1, 6))])
    parts = [MADE, content["intro"].strip(), markdown_table(counts), content["text"].strip()]
    return "\n\n".join([*parts, FILTER, markdown_table(every_row(papers))]) + "\n"


def every_row(papers: list[Paper]) -> list[list[str]]:
    rows = [["source", "equation", "what", "here"]]
    for paper in papers:
        name = paper.title.split(" and ")[0]
        for row in paper.rows:
            link = f"[{row.what}](differs-{paper.name}-{row.id})"
            rows.append([name, row.equation, link, FOLLOWS[row.follows]])
    return rows


def markdown_table(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "| --- " * len(rows[0]) + "|")
    return "\n".join(lines)


def pages() -> dict[Path, str]:
    papers = [read(name) for name in PAPERS]
    found = {FOLDER / f"{paper.name}.md": page(paper) for paper in papers}
    return {FOLDER / "index.md": index(papers)} | found


def main() -> int:
    found = [fault for name in PAPERS for fault in faults(read(name))]
    if not found:
        new = pages()
        if sys.argv[1:] == ["write"]:
            for path, text in new.items():
                path.write_text(text, encoding="utf-8")
        found = [
            f"{path.name} differs from its rows: run make tables"
            for path, text in new.items()
            if not path.exists() or path.read_text(encoding="utf-8") != text
        ]
    rows = sum(len(read(name).rows) for name in PAPERS)
    print("\n".join([*found, f"Differences: {rows} rows, {len(found)} faults"]))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
