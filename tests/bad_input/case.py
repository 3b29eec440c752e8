"""One malformed input: where it enters, what it is, and what has to be said about it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

EXPECTED = re.compile(r"\b[Ee]xpected\b|\binstall\b")
OF_TYPER = ("Invalid value for", "Missing ", "No such ")
"""How a sentence of typer begins; its form is typer's."""


@dataclass(frozen=True)
class Case:
    """An input that has to be refused.

    Attributes:
        what: it is, in words.
        make: prepares files in an empty folder, and gives the call that lets the input enter.
        says: what the sentence has to contain; of ``{folder}`` the folder is put in.
        error: what is raised.
        boundary: where it enters, filled in by the catalogue.
    """

    what: str
    make: Callable[[Path], Callable[[], object]]
    says: str
    error: type[Exception] = ValueError
    boundary: str = ""

    def __str__(self) -> str:
        return f"{self.boundary}: {self.what}"


def contents(folder: Path) -> dict[str, bytes | None]:
    """Every file and folder below it; that the input left nothing behind is compared with this."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def fault_of_form(sentence: str) -> str | None:
    """What keeps it from being one sentence that says what was expected."""
    if "\n" in sentence:
        return "more than one line"
    if sentence.startswith(OF_TYPER):
        return None
    if not sentence.endswith("."):
        return "no full stop"
    if len(sentence) > 400 and "expected one of" not in sentence:
        return f"{len(sentence)} characters"
    if not EXPECTED.search(sentence):
        return "not said what was expected"
    return None
