"""The pages of book/differs: where papers, their authors' code and this course differ.

python -m tools.differs check    the pages agree with the rows and the record
python -m tools.differs write    write the pages

A page's rows are in a TOML file beside it. A row says what the ``paper``, its ``code`` and the
course (``here``) do and ``why``, whom the course ``follows``, and which ``test`` shows it
(tools/tested.toml says what a test checks). The places in braces in its ``effect`` are numbers of
book/differs/measured.json, which names the commit that measured them, or the test errors of
recorded ``runs``.
"""

import ast
import json
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

from gtcourse.course.records import recorded
from gtcourse.runs.record import spread
from tools.ledger import SOURCES, TESTED, cited, read_chapters, runs, section_link
from tools.pages import device, markdown_table, run, together
from tools.paths import ROOT, TEXTS, slug

FOLDER = ROOT / "book" / "differs"
PAPERS = ("lecture", "signnet", "graphormer", "egt", "grpe", "csa")
FOLLOWS = {"paper": "the paper", "code": "the code", "option": "either", "other": "neither"}
HEADER = "<!-- written by python -m tools.differs write -->"
FILTER = '## All of them\n\n```{raw} html\n<div class="filter"></div>\n```'
COLUMNS = ("source", "equation", "what", "here", "test error")
PAGE = """\
(differs-{name})=

# {title}: paper, code and course

{intro}

The table has {count} entries. In most of them the paper and the code differ. In the others, the
paper or the code says nothing about the point, or both agree on something that readers may not
expect. The column *here* shows which one the package follows. The last column gives, where we have
it, the test error of the trained small model with the package's version, and after the arrow its
error with the other version.

{overview}

{sections}

*Measured at commit `{commit:.7}` on {date}, on {device}: `{command}`, {seconds:,} s{all}.*"""
SECTION = """\
(differs-{name}-{id})=
## {equation} · {what}

:::{{list-table}}
:stub-columns: 1
:widths: 18 82
:class: differs

{lines}
:::"""


chapters = cache(lambda: read_chapters(TEXTS)[0])


@cache
def read(name: str) -> dict:
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def record(name: str) -> dict:
    path = FOLDER / "measured.json"
    return json.loads(path.read_text(encoding="utf-8"))["papers"][name]


def faults(name: str, rows: list[dict]) -> list[str]:
    """What a row lacks: a test that exists, a number, or a choice of whom the package follows."""
    found = []
    for row in rows:
        path, _, test = row["test"].partition("::")
        if not (ROOT / path).is_file() or test not in tests(ROOT / path):
            found.append(f"{name}.toml, {row['id']}: there is no test {row['test']}")
        if test not in TESTED:
            found.append(f"{name}.toml, {row['id']}: tools/tested.toml does not say what it tests")
        if not re.search(r"\{\w", row["effect"]):
            found.append(f"{name}.toml, {row['id']}: its effect has no number of a run")
        if row["follows"] not in FOLLOWS:
            found.append(f"{name}.toml, {row['id']}: follows is not one of {', '.join(FOLLOWS)}")
    return found


@cache
def tests(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and runs(node)}


def effect(name: str, row: dict) -> str:
    """The text with its numbers; a list of numbers is one for each seed."""
    values = dict(record(name)["measured"].get(row["id"], {}))
    for place, run_name in row.get("runs", {}).items():
        values[place] = [each.result["test_mae"] for each in recorded(run_name)]
    values = {k: spread(v) if isinstance(v, list) else v for k, v in values.items()}
    return together(row["effect"].format(**values))


def page(name: str) -> str:
    paper = read(name)
    found = record(name)
    found = found | {"device": device(found["device"])}
    return PAGE.format(
        **found,
        name=name,
        title=paper["title"],
        intro=paper["intro"].strip(),
        count=len(paper["row"]),
        overview=markdown_table(COLUMNS[1:], [row[1:] for row in table_rows(name)]),
        sections="\n\n".join(section(name, row) for row in paper["row"]),
        all="" if found["command"].endswith(f" {name}") else " for all pages together",
    )


def section(name: str, row: dict) -> str:
    path, _, test = row["test"].partition("::")
    lines = {
        "Printed": row["paper"],
        "Code": row["code"],
        "Here": row["here"],
        "Why": row["why"],
        "Measured": effect(name, row),
        "Tested": f"[{TESTED[test]}](https://github.com/{slug()}/blob/main/{path})",
        "Explained in": explained(name, row),
    }
    lines = "\n".join(f"* - {label}\n  - {text.strip()}" for label, text in lines.items() if text)
    return SECTION.format(**row, name=name, lines=lines)


def explained(name: str, row: dict) -> str:
    """Links to the sections on the row's equations; "" if it names none."""
    paper = source(name) if source(name) in SOURCES else "CS224W"
    places = (chapters().get(id, [])[:1] for id in cited(f"{paper}, {row['equation']}"))
    links = dict.fromkeys(section_link(place) for found in places for place in found)
    return ", ".join(links).replace("../notebooks", "../../notebooks")


def index() -> str:
    content = read("index")
    counts = []
    for name in PAPERS:
        follows = [row["follows"] for row in read(name)["row"]]
        counts.append([*map(follows.count, FOLLOWS), len(follows)])
    links = [*(f"[{source(name)}]({name}.md)" for name in PAPERS), "all"]
    counts.append([sum(column) for column in zip(*counts, strict=True)])
    rows = [[link, *map(str, count)] for link, count in zip(links, counts, strict=True)]
    columns = ("source", "paper", "code", "either", "neither", "all")
    parts = [content["intro"].strip(), markdown_table(columns, rows), content["text"].strip()]
    every_row = [row for name in PAPERS for row in table_rows(name)]
    return "\n\n".join([*parts, FILTER, markdown_table(COLUMNS, every_row)])


def source(name: str) -> str:
    return read(name)["title"].split(" and ")[0]


def table_rows(name: str) -> list[list[str]]:
    return [
        [
            source(name),
            row["equation"],
            f"[{row['what']}](differs-{name}-{row['id']})",
            FOLLOWS[row["follows"]],
            changed_error(name, row),
        ]
        for row in read(name)["row"]
    ]


def changed_error(name: str, row: dict) -> str:
    """The error of a trained model with the package's version and with the other; "" if unknown."""
    measured = record(name)["measured"].get(row["id"], {})
    if "before" not in measured:
        return ""
    return f"{measured['before']:.3f} → {measured['after']:.3f}"


def pages() -> dict[Path, str]:
    texts = {"index": index(), **{name: page(name) for name in PAPERS}}
    return {FOLDER / f"{name}.md": f"{HEADER}\n\n{text}\n" for name, text in texts.items()}


def main() -> int:
    return run(pages, lambda: [f for n in PAPERS for f in faults(n, read(n)["row"])])


if __name__ == "__main__":
    sys.exit(main())
