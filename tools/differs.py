"""The pages of book/differs: where papers, their authors' code and this course differ.

python -m tools.differs check    the pages agree with the rows and the record
python -m tools.differs write    write the pages

A page's rows are in a TOML file beside it. A row says what the ``paper`` and its ``code`` do, which
of the two the package ``follows``, what it does in detail (``here``) and ``why``, and which
``test`` shows it (tools/tested.toml says what a test checks). ``silent`` names the one of the two
that says nothing about the point. ``sections`` are numbers of sections that explain the point; with
``background``, they explain what it is about but not the difference itself.

The places in braces in an ``effect`` are numbers of book/differs/measured.json, which names the
commit that measured them, or the test errors of recorded ``runs``. ``{change}`` says in words how
the error of a trained model changes, ``{errors_seeds}`` lists the ``errors`` of the seeds, and
``cases`` gives the words for single values of a number, such as 0, and for all others.

The page "How the runs were made" reads three more: ``both_trained`` names the errors of the two
versions, the package's first, if both were trained. ``no_effect`` says why the point makes no
difference on ZINC. ``related`` is a number that was measured where no effect on the error was.
"""

import ast
import json
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

from gtcourse.course.records import file_of, recorded
from gtcourse.runs.record import spread
from tools.ledger import (
    SOURCES,
    Place,
    anchor,
    checked_by,
    cited,
    is_said,
    read_chapters,
    runs,
    section_link,
)
from tools.pages import device, listed, markdown_table, run, together
from tools.paths import PACKAGE, ROOT, TEXTS, slug

FOLDER = ROOT / "book" / "differs"
PAPERS = ("lecture", "signnet", "graphormer", "egt", "grpe", "csa")
FOLLOWS = {
    "paper": ("the paper", "The package follows the paper."),
    "code": ("the code", "The package follows the code."),
    "both": ("both", "The package does what the paper and the code do."),
    "option": ("either", "The package can do either."),
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

{intro}{model}

The table lists the {count} entries of this page. Its third column says what the package follows.
The page [Where papers and code differ](differs) explains the words of this column and describes how
we measured.{errors} In the entries, a ± gives the standard deviation over three seeds.

{overview}

{sections}

*Measured on {date} at commit `{commit:.7}`, with that commit's `{command}`, on {device},
in {seconds:,} s{all}.*"""
ERRORS = """
In the last column, the number before the arrow is the test error of the trained small model with
the package's version, and the number after it is the error of the same weights with the other
version. It is empty where we have not measured such a pair of errors.{note}"""
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
        if not is_said(test, equation(name, row)):
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
    text = row["effect"].format(**in_words(measured(name, row), row.get("cases", {})))
    return together(POWER.sub(r"$\1 \\cdot 10^{-\2}$", text))


def measured(name: str, row: dict) -> dict:
    """The numbers of an entry, with the test errors of its recorded runs."""
    values = dict(record(name)["measured"].get(row["id"], {}))
    for place, run_name in row.get("runs", {}).items():
        values[place] = errors_of(run_name)
    return values


def in_words(values: dict, cases: dict[str, dict[str, str]]) -> dict:
    """The numbers of an effect, and the words that depend on them."""
    words = dict(values)
    for place, value in values.items():
        if isinstance(value, list):
            words[place] = over_seeds(value)
            words[f"{place}_seeds"] = listed(f"{error:.3f}" for error in value)
    if "before" in values:
        words["change"] = change(values["before"], values["after"])
    for place, texts in cases.items():
        text = texts.get(f"{values[place]:g}", texts["else"])
        words[place] = text.format(**values)
    return words


def change(before: float, after: float) -> str:
    """The end of a sentence about an error, as a reader sees it: with three decimals."""
    first, second = f"{before:.3f}", f"{after:.3f}"
    if first == second:
        return f"stays at {first}"
    return f"{'rises' if after > before else 'falls'} from {first} to {second}"


def over_seeds(values: list[float]) -> str:
    """Mean and deviation; the page says once that there are three seeds."""
    return spread(values).removesuffix(" (3 seeds)")


def page(name: str) -> str:
    paper = read(name)
    found = record(name)
    found = found | {"device": device(found["device"])}
    rows = table_rows(name)
    changed = any(row[-1] for row in rows)  # the error of a trained model
    return PAGE.format(
        **found,
        name=name,
        title=paper["title"],
        intro=paper["intro"].strip(),
        model=f"\n\n{small_model(paper['model'])}" if "model" in paper else "",
        count=len(paper["row"]),
        errors=ERRORS.format(note=paper.get("note", "")) if changed else "",
        overview=markdown_table(
            COLUMNS[1:] if changed else COLUMNS[1:-1],
            [row[1:] if changed else row[1:-1] for row in rows],
        ),
        sections="\n\n".join(section(name, row) for row in paper["row"]),
        all="" if found["command"].endswith(f" {name}") else " for all pages together",
    )


def section(name: str, row: dict) -> str:
    path, _, test = row["test"].partition("::")
    lines = {
        "Paper": row["paper"],
        "Code": row["code"],
        "Package": f"{stance(row)} {row['here']}",
        "Why": row["why"],
        "Measured": effect(name, row),
        "Runs": trainings(row),
        "Test": f"[{checked_by(test, equation(name, row))}](https://github.com/{slug()}/blob/main/{path})",
        "Background" if row.get("background") else "Explained in": explained(name, row),
    }
    lines = "\n".join(f"* - {label}\n  - {text.strip()}" for label, text in lines.items() if text)
    return SECTION.format(**row, name=name, lines=lines)


def stance(row: dict) -> str:
    """Which side the package takes, in a sentence."""
    if row["follows"] == "other" and "silent" in row:
        return f"The package differs from the {'code' if row['silent'] == 'paper' else 'paper'}."
    return FOLLOWS[row["follows"]][1]


def trainings(row: dict) -> str:
    """Which recorded runs an effect is about, how long they were trained, and where they are."""
    names = list(row.get("runs", {}).values())
    if not names:
        return ""
    records = [each for run_name in names for each in recorded(run_name)]
    lengths = {(each.data["sizes"]["train"], each.config["epochs"]) for each in records}
    files = {file_of(run_name) for run_name in names}
    if len(lengths) > 1 or len(files) > 1 or len(records) != 3 * len(names):
        raise ValueError(f"{row['id']}: its runs differ in seeds, length or file")
    ((molecules, epochs),) = lengths
    (file,) = files
    shown = listed(f"`{run_name}` ({over_seeds(errors_of(run_name))})" for run_name in names)
    link = f"https://github.com/{slug()}/blob/main/{file.relative_to(ROOT).as_posix()}"
    return (
        f"{shown}. The numbers in parentheses are the test errors over three seeds. Each run took "
        f"{epochs} epochs on {molecules:,} molecules ([records of chapter "
        f"{file.stem.removeprefix('chapter')}]({link}))."
    )


def errors_of(run_name: str) -> list[float]:
    """The test error of each seed."""
    return [each.result["test_mae"] for each in recorded(run_name)]


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
    links = [*(f"[{read(name)['title']}]({name}.md)" for name in PAPERS), "all"]
    counts.append([sum(column) for column in zip(*counts, strict=True)])
    rows = [[link, *map(str, count)] for link, count in zip(links, counts, strict=True)]
    columns = ("source", *(word.removeprefix("the ") for word, _ in FOLLOWS.values()), "entries")
    every_row = [row for name in PAPERS for row in table_rows(name)]
    changed = sum(bool(row[-1]) for row in every_row)
    text = content["text"].format(
        entries=len(every_row),
        changed=changed,
        largest=largest_changes(5),
        models=small_models(),
        scale=errors_of_both("graphormer", entry("graphormer", "scale")),
        key=errors_of_both("grpe", entry("grpe", "key-context")),
    )
    parts = [content["intro"].strip(), markdown_table(columns, rows), text.strip()]
    return "\n\n".join([*parts, FILTER, markdown_table(COLUMNS, every_row)])


def entry(name: str, id: str) -> dict:
    """The row with this id."""
    (row,) = (row for row in read(name)["row"] if row["id"] == id)
    return row


def errors_of_both(name: str, row: dict) -> str:
    """The test errors of two versions that were both trained, the package's first."""
    values = measured(name, row)
    ours, other = row["both_trained"]
    return f"{over_seeds(values[ours])} against {over_seeds(values[other])}"


def small_models() -> str:
    """The trained models that the entries change, as a table."""
    rows = [
        [
            model["name"],
            f"{model['parameters']:,}",
            f"{model['molecules']:,}",
            str(model["epochs"]),
            over_seeds(model["test_mae"]),
        ]
        for model in measured_models()
    ]
    return markdown_table(("model", "parameters", "molecules", "epochs", "test error"), rows)


def small_model(name: str) -> str:
    """What "the trained small model" of a page is."""
    (model,) = (model for model in measured_models() if model["name"] == name)
    return (
        f'"The trained small model" is the small {name} of chapter 10 at the commit named at the '
        "foot of this page. (The model that comes with the package today was trained for longer.) "
        f"It has {model['parameters']:,} parameters and was trained for {model['epochs']} epochs "
        f"on {model['molecules']:,} molecules. Its test error is {over_seeds(model['test_mae'])}, "
        "over three seeds."
    )


def measured_models() -> list[dict]:
    """What the records of the changed models said when the effects were measured."""
    path = FOLDER / "measured.json"
    return json.loads(path.read_text(encoding="utf-8"))["models"]["rows"]


def largest_changes(count: int) -> str:
    """The entries whose other version changes the error of a trained model most, as a list."""
    found = []
    for name in PAPERS:
        for row in read(name)["row"]:
            errors = changed_errors(name, row)
            if errors is not None:
                before, after = errors
                line = f"- {source(name)}: [{row['what']}](differs-{name}-{row['id']})"
                found.append((abs(after - before), f"{line}, {with_arrow(errors)}"))
    return "\n".join(line for _, line in sorted(found, reverse=True)[:count])


def source(name: str) -> str:
    return read(name)["title"].split(" and ")[0]


def equation(name: str, row: dict) -> str:
    """What an entry is about, as the ledger names it: "GRPE, Eq. 7"."""
    return f"{source(name)}, {row['equation']}"


def table_rows(name: str) -> list[list[str]]:
    return [
        [
            "The Transformer" if row["equation"].startswith("Transformer, ") else source(name),
            row["equation"],
            f"[{row['what']}](differs-{name}-{row['id']})",
            FOLLOWS[row["follows"]][0],
            with_arrow(changed_errors(name, row)),
        ]
        for row in read(name)["row"]
    ]


def changed_errors(name: str, row: dict) -> tuple[float, float] | None:
    """The errors of a trained model with the package's version and with the other, if known."""
    measured = record(name)["measured"].get(row["id"], {})
    if "before" not in measured:
        return None
    return measured["before"], measured["after"]


def with_arrow(errors: tuple[float, float] | None) -> str:
    """The cell of a table about two errors; empty if there are none."""
    if errors is None:
        return ""
    before, after = errors
    return f"{before:.3f} → {after:.3f}"


def pages() -> dict[Path, str]:
    texts = {"index": index(), **{name: page(name) for name in PAPERS}}
    return {FOLDER / f"{name}.md": f"{HEADER}\n\n{text}\n" for name, text in texts.items()}


def main() -> int:
    return run(pages, lambda: [f for n in PAPERS for f in faults(n, read(n)["row"])])


if __name__ == "__main__":
    sys.exit(main())
