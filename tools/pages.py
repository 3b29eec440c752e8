"""Pages and tables that are generated: compared with what they should say, or written."""

import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from tools.paths import ROOT

EPOCHS = r"\d+(?: to \d+)?"
OF_EPOCHS = re.compile(rf"(\S.*?) for epochs? ({EPOCHS}(?: and {EPOCHS})*)(?: \([^)]*\))?(?:, |$)")
MARK = "<!-- {name}: written by make tables -->\n{text}\n<!-- end of {name} -->"


def markdown_table(columns: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return together("\n".join(f"| {' | '.join(line)} |" for line in lines))


def markdown(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    return f"\n{markdown_table([*columns], rows)}\n"


def short(commit: str) -> str:
    """Seven figures of each commit, with the "+changes" that it may have had."""
    return re.sub(r"\b([0-9a-f]{7})[0-9a-f]{33}\b", r"\1", commit)


def device(name: str) -> str:
    """A record's device, without the "thread(s)" of older records."""
    return name.replace("1 thread(s)", "1 thread").replace("thread(s)", "threads")


class Span(NamedTuple):
    """The epochs that a machine worked on in one piece, counted from 0."""

    machine: str
    first: int
    last: int

    @property
    def epochs(self) -> int:
        return self.last - self.first + 1


def spans(name: str) -> list[Span]:
    """The machines of a record's device, by their epochs; none if there was one for all epochs.

    As in "A for epochs 1 to 8 (compiled), B for epochs 0 and 9".
    """
    found = [
        Span(machine, int(first), int(last or first))
        for machine, epochs in OF_EPOCHS.findall(name)
        for first, last in re.findall(r"(\d+)(?: to (\d+))?", epochs)
    ]
    return sorted(found, key=lambda span: span.first)


def listed(words: Iterable[str]) -> str:
    """Words as in a sentence: "a, b and c"."""
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def experiment(name: str) -> dict:
    """A record in experiments/records, which no chapter reads."""
    path = ROOT / "experiments" / "records" / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))


def together(text: str) -> str:
    """Keeps a mean and its deviation on one line."""
    return text.replace(" ± ", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}")


def placed(text: str, tables: dict[str, str]) -> str:
    """The page with each table in the one place that is marked with its name."""
    for name, table in tables.items():
        begin, end = (re.escape(part.format(name=name)) for part in MARK.split("{text}"))
        new = MARK.format(name=name, text=table)
        text, count = re.subn(f"{begin}.*?{end}", lambda _, new=new: new, text, flags=re.S)
        if count != 1:
            raise ValueError(f"the page has {count} places for the table {name!r}; expected one")
    return text


def stale(pages: dict[Path, str]) -> list[str]:
    """A sentence for each page that differs from its text."""
    return [
        f"{path.relative_to(ROOT)} is out of date; run make tables."
        for path, text in pages.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


def run(pages: Callable[[], dict[Path, str]], faults: Callable[[], list[str]] = list) -> int:
    """The command line of a generator: ``check`` the pages, or ``write`` them if there is no fault.

    Args:
        pages: gives each page's text; faults: what has to be corrected first, a sentence each.
    """
    found = faults()
    if not found:
        new = pages()
        if sys.argv[1:] == ["write"]:
            for path, text in new.items():
                path.write_text(text, encoding="utf-8")
        found = stale(new)
    print("\n".join([*found, f"{len(found)} faults"]))
    return int(bool(found))
