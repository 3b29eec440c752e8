"""The pages of book/differs: where papers, their authors' code and this course differ.

python -m tools.differs check    the pages agree with the rows and the record
python -m tools.differs write    write the pages

A page's rows are in a TOML file beside it. A row says what the ``paper`` and its ``code`` do, which
of the two the package ``follows``, what it does in detail (``here``) and ``why``, and which
``test`` shows it (tools/tested.toml says what a test checks). ``silent`` names the one of the two
that says nothing about the point. The places in braces in its ``effect`` are numbers of
book/differs/measured.json, which names the commit that measured them, or the test errors of
recorded ``runs``. ``sections`` are numbers of sections that explain the point.
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
from tools.ledger import SOURCES, TESTED, Place, anchor, cited, read_chapters, runs, section_link
from tools.pages import device, markdown_table, run, together
from tools.paths import PACKAGE, ROOT, TEXTS, slug

FOLDER = ROOT / "book" / "differs"
PAPERS = ("lecture", "signnet", "graphormer", "egt", "grpe", "csa")
FOLLOWS = {
    "paper": ("the paper", "The package follows the paper."),
    "code": ("the code", "The package follows the code."),
    "both": ("both", "The package does what the paper and the code do."),
    "option": ("either", "You can choose with an option of the package."),
    "other": ("neither", "The package follows neither."),
}
"""Which side the package takes: in a table, and in the entry's first sentence about the package."""

SILENT = {"paper": ("code", "option", "other"), "code": ("paper", "option", "other")}
"""What the package can follow if the paper, or the code, says nothing about the point."""

OPTION = re.compile(r"\b([a-z]\w*)=")
POWER = re.compile(r"\b(\d(?:\.\d+)?)e-0?(\d+)\b")
HEADER = "<!-- written by python -m tools.differs write -->"
FILTER = '## All entries\n\n```{raw} html\n<div class="filter"></div>\n```'
COLUMNS = ("source", "place", "entry", "the package follows", "test error")
PAGE = """\
(differs-{name})=

# {title}: paper, code and course

{intro}

The table has {count} entries. The column *the package follows* names the paper, the code, both,
either or neither, as the [first of these pages](differs) explains. The last column gives the test
error of a trained small model, first with the package's version and after the arrow with the other
version that the entry names. It is empty where we have not measured this. In the entries, ± is the
standard deviation over three seeds.

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
        found += [f"{name}.toml, {row['id']}: {fault}" for fault in contradictions(row)]
    return found


def contradictions(row: dict) -> list[str]:
    """Where what the package follows contradicts the rest of the row."""
    follows = row["follows"]
    if follows not in FOLLOWS:
        return [f"follows is {follows!r}; expected one of {', '.join(FOLLOWS)}"]
    found = []
    if "silent" in row and follows not in SILENT[row["silent"]]:
        found.append(f"the {row['silent']} says nothing, so the package cannot follow {follows!r}")
    options = OPTION.findall(row["here"])
    if follows == "option" and not options:
        found.append("follows is 'option'; expected an option, `name=value`, in here")
    if follows != "option" and options:
        found.append(f"here names the option {options[0]}; expected follows to be 'option'")
    found += [f"the package has no option {option}" for option in options if not has(option)]
    return found


@cache
def has(option: str) -> bool:
    """Whether the package has an argument or a field of this name."""
    texts = (path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    return any(re.search(rf"^.*\b{option}: ", text, re.M) for text in texts)


@cache
def tests(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and runs(node)}


def effect(name: str, row: dict) -> str:
    """The text with its numbers; a list of numbers is one for each seed."""
    values = dict(record(name)["measured"].get(row["id"], {}))
    for place, run_name in row.get("runs", {}).items():
        values[place] = [each.result["test_mae"] for each in recorded(run_name)]
    values = {k: over_seeds(v) if isinstance(v, list) else v for k, v in values.items()}
    text = row["effect"].format(**values)
    return together(POWER.sub(r"$\1 \\cdot 10^{-\2}$", text))


def over_seeds(values: list[float]) -> str:
    """Mean and deviation; the page says once that there are three seeds."""
    return spread(values).removesuffix(" (3 seeds)")


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
        "Paper": row["paper"],
        "Code": row["code"],
        "Package": f"{FOLLOWS[row['follows']][1]} {row['here']}",
        "Why": row["why"],
        "Measured": effect(name, row),
        "Test": f"[{TESTED[test]}](https://github.com/{slug()}/blob/main/{path})",
        "Explained in": explained(name, row),
    }
    lines = "\n".join(f"* - {label}\n  - {text.strip()}" for label, text in lines.items() if text)
    return SECTION.format(**row, name=name, lines=lines)


def explained(name: str, row: dict) -> str:
    """Links to the row's sections or, if it names none, to those on its equations."""
    paper = source(name) if source(name) in SOURCES else "CS224W"
    found = (chapters().get(id, [])[:1] for id in cited(f"{paper}, {row['equation']}"))
    of_equations = [place for places in found for place in places]
    places = [numbered(number) for number in row.get("sections", [])] or of_equations
    links = dict.fromkeys(map(section_link, places))
    return ", ".join(links).replace("../notebooks", "../../notebooks")


def numbered(section: str) -> Place:
    """The section of a chapter by its number, "7.6"."""
    (text,) = TEXTS.glob(f"{int(section.split('.')[0]):02d}_*.md")
    heading = rf"^## ({re.escape(section)} .+)$"
    title = re.search(heading, text.read_text(encoding="utf-8"), re.M)[1]
    return Place(text, title, anchor(title))


def index() -> str:
    content = read("index")
    counts = []
    for name in PAPERS:
        follows = [row["follows"] for row in read(name)["row"]]
        counts.append([*map(follows.count, FOLLOWS), len(follows)])
    links = [*(f"[{source(name)}]({name}.md)" for name in PAPERS), "all"]
    counts.append([sum(column) for column in zip(*counts, strict=True)])
    rows = [[link, *map(str, count)] for link, count in zip(links, counts, strict=True)]
    columns = ("source", *(word.removeprefix("the ") for word, _ in FOLLOWS.values()), "all")
    every_row = [row for name in PAPERS for row in table_rows(name)]
    changed = sum(bool(row[-1]) for row in every_row)
    text = content["text"].format(
        entries=len(every_row), changed=changed, largest=largest_changes(5)
    )
    parts = [content["intro"].strip(), markdown_table(columns, rows), text.strip()]
    return "\n\n".join([*parts, FILTER, markdown_table(COLUMNS, every_row)])


def largest_changes(count: int) -> str:
    """The entries whose other version changes the error of a trained model most, as a list."""
    found = []
    for name in PAPERS:
        for row in read(name)["row"]:
            measured = record(name)["measured"].get(row["id"], {})
            if "before" in measured:
                change = abs(measured["after"] - measured["before"])
                line = f"- {source(name)}: [{row['what']}](differs-{name}-{row['id']})"
                found.append((change, f"{line}, {changed_error(name, row)}"))
    return "\n".join(line for _, line in sorted(found, reverse=True)[:count])


def source(name: str) -> str:
    return read(name)["title"].split(" and ")[0]


def table_rows(name: str) -> list[list[str]]:
    return [
        [
            "The Transformer" if row["equation"].startswith("Transformer, ") else source(name),
            row["equation"],
            f"[{row['what']}](differs-{name}-{row['id']})",
            FOLLOWS[row["follows"]][0],
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
