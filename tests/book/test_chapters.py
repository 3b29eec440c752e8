"""The chapters as one text: all have the same parts, and every term of the glossary has a use."""

import re

import pytest

from tools.paths import ROOT, TEXTS

CHAPTERS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(TEXTS.glob("[0-9]*.md"))}
CARD = ["You build", "You need", "Takes", "Sources", "Run it"]
CODE = re.compile(r"^(```+).*?^\1 *$", re.M | re.S)
HEADING = re.compile(r"^##? (\d\d|\d{1,2}\.\d{1,2}) (.+)$", re.M)
SENTENCE_END = re.compile(r"(?<=[.?])(?: \{cite:\w\}`[^`]*`)?\s+(?=[A-Z$])")


def check(text: str) -> None:
    words = CODE.sub("", text)
    _, promise, card = words.split("\n# ", 1)[1].split("\n## ")[0].split("\n\n", 2)
    assert promise.startswith("You "), "no promise after the title"
    assert len(SENTENCE_END.split(promise.strip())) == 1, "a promise of several sentences"
    assert re.findall(r"^\| ([A-Z][\w ]+) \|", card, re.M) == CARD, "wrong rows in the card"
    (chapter, _), *sections = HEADING.findall(words)
    expected = [f"{int(chapter)}.{n}" for n in range(1, len(sections) + 1)]
    assert [number for number, _ in sections] == expected, "wrong section numbers"
    assert sections[-1][1] == "Summary", "the last section is no summary"
    summary, further = words.rsplit(" Summary\n\n", 1)[1].split("\n\n")[:2]
    assert f"\n{summary}".count("\n- ") == 5, "not five points in the summary"
    assert further.startswith("**Where to read on.** "), "no advice on where to read on"


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_has_its_parts(name):
    check(CHAPTERS[name])


def test_every_entry_of_the_glossary_is_used():
    """A term without an entry is a warning of Sphinx."""
    texts = "\n".join(path.read_text(encoding="utf-8") for path in TEXTS.glob("*.md"))
    words = re.sub(r"\s+", " ", texts).lower()
    glossary = (ROOT / "book" / "glossary.md").read_text(encoding="utf-8")
    for entry in re.findall(r"^(\S.*)\n  \S", glossary, re.M):
        names = [name.strip(" )").lower() for name in re.split(r", |\(", entry)]
        assert any(name in words for name in names), entry
