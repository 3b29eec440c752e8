"""The numbers and pictures of book/reliability.md, from the records of what was tried.

python -m tools.reliability check    nothing failed, and the page says what the records say
python -m tools.reliability write    make it so
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

from tools.paths import PACKAGE, ROOT
from tools.placed import placed
from tools.reliability_faults import FAULTS
from tools.reliability_names import Names, missing, of_today
from tools.reliability_pictures import PICTURES
from tools.reliability_tables import TABLES

PAGE = ROOT / "book" / "reliability.md"
FOLDER = ROOT / "book" / "reliability"
PREFIX = "reliability-"
MARK = (
    "<!-- {name}: written by python -m tools.reliability write -->\n{text}\n<!-- end of {name} -->"
)


def records() -> dict[str, dict]:
    """What is stored, by part."""
    paths = sorted((PACKAGE / "recorded").glob(f"{PREFIX}*.json"))
    return {path.stem.removeprefix(PREFIX): json.loads(path.read_text()) for path in paths}


def faults(found: dict[str, dict], today: Names) -> list[str]:
    """What a record lacks, of what there is today, or reports as failed: a sentence each."""
    absent = [f"there is no record of {part}" for part in FAULTS if part not in found]
    failed = [
        f"{part}: {fault}"
        for part, look in FAULTS.items()
        if part in found
        for fault in look(found[part])
    ]
    return absent + missing(found, today) + failed


def with_tables(text: str, found: dict[str, dict]) -> str:
    """The page with what is stored today."""
    return placed(text, {name: table(found) for name, table in TABLES.items()}, MARK)


def picture(name: str, found: dict[str, dict]) -> str:
    return f"{drawn_from(name, found)}\n{PICTURES[name](found)}\n"


def drawn_from(name: str, found: dict[str, dict]) -> str:
    """The first line of a picture: what was drawn and by which code, whatever matplotlib drew it.

    The last digits of a drawing are its version's.
    """
    source = (ROOT / "tools" / "reliability_pictures.py").read_text(encoding="utf-8")
    content = json.dumps(found[name], sort_keys=True) + source
    return f"<!-- drawn from {hashlib.sha256(content.encode()).hexdigest()} -->"


def path_of(name: str) -> Path:
    return FOLDER / f"{name}.html"


def write(found: dict[str, dict]) -> None:
    FOLDER.mkdir(exist_ok=True)
    for name in PICTURES:
        path_of(name).write_text(picture(name, found), encoding="utf-8")
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(with_tables(text, found), encoding="utf-8")


def stale(found: dict[str, dict]) -> list[str]:
    """The page and the pictures that do not say what the records say."""
    text = PAGE.read_text(encoding="utf-8")
    wrong = [] if text == with_tables(text, found) else [f"{PAGE.name} is not of these records"]
    for name in PICTURES:
        path = path_of(name)
        first = path.read_text(encoding="utf-8").splitlines()[0] if path.exists() else ""
        if first != drawn_from(name, found):
            wrong.append(f"{path.name} is not drawn from these records")
    return wrong


def main() -> int:
    found = records()
    wrong = faults(found, of_today())
    if not wrong:
        if sys.argv[1:] == ["write"]:
            write(found)
        wrong = stale(found)
    print("\n".join([*wrong, f"Reliability: {len(wrong)} faults"]))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
