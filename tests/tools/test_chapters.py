"""The check that reads all chapters as one text."""

import re

import pytest

from tools import chapters
from tools.paths import TEXTS

CHAPTER = (TEXTS / "08_grpe.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (r"^You .*\n", "A model is built.\n", "promise"),
        (r"^You (.*)\n", r"You \1 And more.\n", "promise"),
        (r"^\| Takes .*\n", "", "card's rows"),
        (r"^## 8\.2 ", "## 8.20 ", "numbered"),
        (r"^### Exercise .*", "", "0 exercises"),
        (r"( Summary\n\n)- .*\n", r"\1", "4 points"),
        (r" Summary$", " The end", "expected a summary"),
        (r"^\*\*Where to read on\.\*\* ", "", "Where to read on"),
    ],
)
def test_what_a_chapter_lacks_is_named(old, new, fault):
    changed = re.sub(old, new, CHAPTER, flags=re.M)
    assert changed != CHAPTER
    (found,) = chapters.faults(changed)
    assert fault in found


def test_an_entry_of_the_glossary_without_a_use_is_named():
    page = ":::{glossary}\nhop\n  A step.\n\npre-LN, post-LN\n  A norm.\n:::"
    assert chapters.unused_terms(page, "hops, and post-LN") == []
    unused = ["glossary: pre-LN, post-LN stands in no chapter"]
    assert chapters.unused_terms(page, "a hop") == unused


def test_the_chapters_are_one_text():
    assert chapters.check() == []
