"""How the ledger looks: a table for each source, with links to sections, reference and tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tools.ledger_find import Found, module, relative
from tools.ledger_rows import IDS, SOURCES, identifier, label
from tools.paths import slug
from tools.placed import placed

if TYPE_CHECKING:
    from tools.ledger import Ledger, Place

MARK = "<!-- {name}: written by python -m tools.ledger write -->\n{text}\n<!-- end of {name} -->"
HEADS = ["equation", "explained in", "computed by", "held by"]


def with_tables(text: str, ledger: Ledger) -> str:
    """The page with what was found today."""
    tables = {name: table(name, ledger) for name in SOURCES}
    return placed(text, {"totals": totals(ledger)} | tables, MARK)


def totals(ledger: Ledger) -> str:
    """How many of what, in a sentence."""
    kinds = {"facts": " Fact ", "figures": " Figure "}
    counts = {kind: sum(word in id for id in IDS) for kind, word in kinds.items()}
    counts["statements of a lecture"] = len(SOURCES["CS224W"])
    equations = len(IDS) - sum(counts.values())
    places = {place for found in ledger.sections.values() for place in found}
    objects, tests = (
        {(one.path, one.name) for found in all_found.values() for one in found}
        for all_found in (ledger.objects, ledger.tests)
    )
    return (
        f"\n{len(IDS)} rows: {equations} numbered equations, "
        f"{counts['statements of a lecture']} statements of a lecture, {counts['facts']} facts and "
        f"{counts['figures']} figures. {len(places)} sections explain them, {len(objects)} classes "
        f"and functions compute them, {len(tests)} tests hold them.\n"
    )


def table(source: str, ledger: Ledger) -> str:
    rows = [HEADS, ["---"] * len(HEADS)]
    for number, phrase in SOURCES[source].items():
        id = identifier(source, number)
        errata = [erratum_link(one) for one in ledger.errata.get(id, [])]
        rows.append([
            cell([f"{label(number)}: {phrase}", *errata]),
            cell(map(section_link, ledger.sections.get(id, []))),
            cell(map(object_link, ledger.objects.get(id, []))),
            cell(map(test_link, ledger.tests.get(id, []))),
        ])  # fmt: skip
    return "\n" + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def cell(parts: Iterable[str]) -> str:
    return "<br>".join(parts)


def section_link(place: Place) -> str:
    path, heading = place
    return f"[{heading.title}](../notebooks/{path.stem}.ipynb#{heading.anchor})"


def erratum_link(place: Place) -> str:
    """The heading without the equation's name, which stands in the row already."""
    path, heading = place
    title = heading.title.partition(": ")[2] or heading.title
    return f"Erratum: {section_link((path, heading._replace(title=title)))}"


def object_link(found: Found) -> str:
    source = f"([source]({on_github(found)}))"
    return f"{{py:obj}}`~{module(found.path)}.{found.name}` {source}"


def test_link(found: Found) -> str:
    """Tests are named by sentences: the name without its underscores."""
    sentence = found.name.removeprefix("test_").replace("_", " ")
    return f"[{sentence}]({on_github(found)}) (`{found.path.name}`)"


def on_github(found: Found) -> str:
    return f"https://github.com/{slug()}/blob/main/{relative(found.path)}"
