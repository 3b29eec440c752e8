"""The ledger: each equation of the sources has an object, a test and a section of the book.

python -m tools.ledger check    it is so, and book/ledger.md says it
python -m tools.ledger write    write the tables of book/ledger.md
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from tools import ledger_find as find
from tools import ledger_page
from tools.ledger_find import Found, Heading
from tools.ledger_rows import IDS, in_full
from tools.paths import PACKAGE, ROOT, TEXTS

PAGE = ROOT / "book" / "ledger.md"
API = ROOT / "book" / "api"
TESTS = ROOT / "tests"
ERRATA = "errata"

Place = tuple[Path, Heading]


class Ledger(NamedTuple):
    """For each id what was found, and the faults, a sentence each."""

    objects: dict[str, list[Found]]
    tests: dict[str, list[Found]]
    sections: dict[str, list[Place]]
    errata: dict[str, list[Place]]
    faults: list[str]


def read(package: Path = PACKAGE, tests: Path = TESTS, chapters: Path = TEXTS) -> Ledger:
    """The ledger as these folders have it."""
    found = [*find.objects(package), *find.tests(tests)]
    sections, errata, unknown = texts(chapters)
    unknown += [(one.path, one.name, one.id) for one in found if one.id and one.id not in IDS]
    faults = [f"{find.relative(one.path)}: {one.name} {one.fault}." for one in found if one.fault]
    faults += [
        f"{find.relative(path)}: {where} names {in_full(id)}, which does not exist."
        for path, where, id in unknown
    ]
    good = [one for one in found if not one.fault]
    objects = by_id(one for one in good if one.path.is_relative_to(package))
    held = by_id(one for one in good if one.path.is_relative_to(tests))
    missing = {"docstring cites": objects, "test holds": held, "chapter explains": sections}
    faults += [
        f"{in_full(id)}: no {what} it."
        for what, has in missing.items()
        for id in IDS
        if id not in has
    ]
    return Ledger(objects, held, sections, errata, list(dict.fromkeys(faults)))


def by_id(found: Iterable[Found]) -> dict[str, list[Found]]:
    sorted_out: dict[str, list[Found]] = {}
    for one in found:
        sorted_out.setdefault(one.id, []).append(one)
    return sorted_out


def texts(folder: Path) -> tuple[dict[str, list[Place]], dict[str, list[Place]], list]:
    """Sections that explain, sections of the errata, and what is named and does not exist."""
    printed, label, named, errata, unknown = {}, {}, {}, {}, []
    for page in sorted(folder.glob("*.md")):
        source = find.source_of(page)
        for heading, text in find.paragraphs(page):
            here, tags = (page, heading), find.tagged(text, source)
            labels, names = find.labelled(text, source), find.cited(text)
            unknown += [(page, heading.title, id) for id in tags + names if id not in IDS]
            if page.stem == ERRATA:  # an erratum says in its heading what it is of
                add(errata, names if text == heading.title else [], here)
                continue
            for found, ids in ((printed, tags), (label, labels), (named, names)):
                add(found, ids, here)
    # A printed equation says more than a number in parentheses, and that more than a mention.
    mentions = {id: places[:1] for id, places in (named | label).items()}
    return mentions | printed, errata, unknown


def add(found: dict[str, list[Place]], ids: list[str], place: Place) -> None:
    for id in ids:
        if place not in found.setdefault(id, []):
            found[id].append(place)


def without_reference(ledger: Ledger, api: Path = API) -> Iterator[str]:
    """Objects that the page could not link to."""
    pages = "".join(page.read_text(encoding="utf-8") for page in sorted(api.glob("*.md")))
    documented = set(re.findall(r"automodule:: (\S+)", pages))
    for one in dict.fromkeys(chain.from_iterable(ledger.objects.values())):
        if find.module(one.path) not in documented:
            yield f"{find.relative(one.path)}: {one.name} is on no page of book/api."


def faults() -> list[str]:
    """All that keeps the book from being built, a sentence each."""
    ledger = read()
    found = [*ledger.faults, *without_reference(ledger)]
    text = PAGE.read_text(encoding="utf-8")
    if ledger_page.with_tables(text, ledger) != text:
        found.append("book/ledger.md is not what code and chapters say; make tables mends that.")
    return found


def main() -> int:
    if sys.argv[1:] == ["write"]:
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(ledger_page.with_tables(text, read()), encoding="utf-8")
    found = faults()
    print("".join(f"{fault}\n" for fault in found), end="")
    print(f"Ledger: {len(IDS)} rows, {len(found)} faults")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
