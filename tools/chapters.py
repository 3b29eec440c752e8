"""The chapters as one text: every chapter has the same parts, and what is referred to exists.

python -m tools.chapters
"""

import importlib.util
import re
import sys
from pathlib import Path

from tools.exercises import exercises
from tools.paths import ROOT, TEXTS

CARD = ["You build", "You need", "Takes", "Sources", "Run it"]
GLOSSARY = ROOT / "book" / "glossary.md"
CODE = re.compile(r"^(```+).*?^\1 *$", re.M | re.S)
HEADING = re.compile(r"^##? (\d\d|\d{1,2}\.\d{1,2}) (.+)$", re.M)
SENTENCE_END = re.compile(r"(?<=[.?])(?: \{cite:\w\}`[^`]*`)?\s+(?=[A-Z$])")


def prose(text: str) -> str:
    """The text without code."""
    return CODE.sub("", text)


def faults(text: str, numbers: set[str]) -> list[str]:
    """What a chapter lacks; ``numbers`` are those of all chapters and sections."""
    words = prose(text)
    found = [*head_faults(words), *numbering_faults(words), *end_faults(words)]
    count = len(exercises(text))
    if not 3 <= count <= 5:
        found.append(f"it has {count} exercises; expected three to five")
    return found + dangling(words, numbers)


def head_faults(words: str) -> list[str]:
    """After the title a promise in one sentence, then the card."""
    after_title = words.split("\n# ", 1)[-1]
    promise = after_title.split("\n\n")[1]
    rows = re.findall(r"^\| ([A-Z][\w ]+) \|", after_title.split("\n## ")[0], re.M)
    found = []
    if len(sentences(promise)) != 1 or not promise.startswith("You "):
        found.append("the title is not followed by a promise, one sentence that begins with You")
    if rows != CARD:
        found.append(f"the card's rows are {rows}; expected {CARD}")
    return found


def numbering_faults(words: str) -> list[str]:
    """The sections are numbered 1, 2, 3 … behind the chapter's own number."""
    chapter, *sections = (number for number, _ in HEADING.findall(words))
    expected = [f"{int(chapter)}.{n}" for n in range(1, len(sections) + 1)]
    return [] if sections == expected else [f"its sections are numbered {', '.join(sections)}"]


def end_faults(words: str) -> list[str]:
    """At the end a summary of five points, and where to read on."""
    title = HEADING.findall(words)[-1][1]
    if title != "Summary":
        return [f"its last section is {title!r}; expected a summary"]
    summary, further = [*words.rsplit(" Summary\n\n", 1)[-1].split("\n\n"), ""][:2]
    found = []
    if (points := f"\n{summary}".count("\n- ")) != 5:
        found.append(f"its summary has {points} points; expected five")
    if not further.startswith("**Where to read on.** "):
        found.append("its summary is not followed by 'Where to read on.'")
    return found


def sentences(paragraph: str) -> list[str]:
    return SENTENCE_END.split(paragraph.strip())


def dangling(words: str, numbers: set[str]) -> list[str]:
    """References to sections and chapters that are not there."""
    mentions = extension().mentions
    found = {n for line in words.splitlines() for _, _, n in mentions(line)} - numbers
    return [f"it refers to {number}, which does not exist" for number in sorted(found)]


def extension():
    """The book's extension, which knows what a reference is; it is no package."""
    spec = importlib.util.spec_from_file_location(
        "references", ROOT / "book" / "_ext" / "references.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def unused_terms(glossary: str, text: str) -> list[str]:
    """Entries that stand in no chapter; a term without an entry is a warning of Sphinx."""
    entries = re.findall(r"^(\S.*)\n  \S", glossary, re.M)
    words = re.sub(r"\s+", " ", text).lower()
    return [
        f"glossary: {entry} stands in no chapter"
        for entry in entries
        if not any(name.strip(" )").lower() in words for name in re.split(r", |\(", entry))
    ]


def sources() -> dict[str, str]:
    """The text of each numbered chapter by its number."""
    return {p.name[:2]: p.read_text(encoding="utf-8") for p in sorted(TEXTS.glob("[0-9]*.md"))}


def all_numbers(chapters: dict[str, str]) -> set[str]:
    return {number for text in chapters.values() for number, _ in HEADING.findall(prose(text))}


def pages() -> list[Path]:
    """The prose pages and the chapters without a number, which refer to the chapters too."""
    return sorted(p for p in (ROOT / "book").rglob("*.md") if not p.name[:2].isdigit())


def check() -> list[str]:
    chapters = sources()
    numbers = all_numbers(chapters)
    found = [
        f"chapter {n}: {fault}" for n, text in chapters.items() for fault in faults(text, numbers)
    ]
    for path in pages():
        words = prose(path.read_text(encoding="utf-8"))
        found += [f"{path.name}: {fault}" for fault in dangling(words, numbers)]
    text = "\n".join(p.read_text(encoding="utf-8") for p in sorted(TEXTS.glob("*.md")))
    return found + unused_terms(GLOSSARY.read_text(encoding="utf-8"), text)


def main() -> int:
    found = check()
    print("\n".join(found))
    print(f"The chapters as one text: {len(found)} faults")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
