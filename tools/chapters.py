"""The chapters as one text: every chapter has the same parts, and every term a use.

python -m tools.chapters
"""

import re
import sys

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


def faults(text: str) -> list[str]:
    """What a chapter lacks."""
    words = prose(text)
    found = [*head_faults(words), *numbering_faults(words), *end_faults(words)]
    count = len(exercises(text))
    if not 3 <= count <= 5:
        found.append(f"it has {count} exercises; expected three to five")
    return found


def head_faults(words: str) -> list[str]:
    """After the title a promise in one sentence, then the card."""
    after_title = words.split("\n# ", 1)[-1]
    promise = after_title.split("\n\n")[1]
    rows = re.findall(r"^\| ([A-Z][\w ]+) \|", after_title.split("\n## ")[0], re.M)
    found = []
    if len(SENTENCE_END.split(promise.strip())) != 1 or not promise.startswith("You "):
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


def unused_terms(glossary: str, text: str) -> list[str]:
    """Entries that stand in no chapter; a term without an entry is a warning of Sphinx."""
    entries = re.findall(r"^(\S.*)\n  \S", glossary, re.M)
    words = re.sub(r"\s+", " ", text).lower()
    return [
        f"glossary: {entry} stands in no chapter"
        for entry in entries
        if not any(name.strip(" )").lower() in words for name in re.split(r", |\(", entry))
    ]


def check() -> list[str]:
    texts = {p.stem: p.read_text(encoding="utf-8") for p in sorted(TEXTS.glob("*.md"))}
    numbered = {number: text for number, text in texts.items() if number[0].isdigit()}
    found = [f"{n}: {fault}" for n, text in numbered.items() for fault in faults(text)]
    return found + unused_terms(GLOSSARY.read_text(encoding="utf-8"), "\n".join(texts.values()))


def main() -> int:
    found = check()
    print("\n".join(found))
    print(f"The chapters as one text: {len(found)} faults")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
