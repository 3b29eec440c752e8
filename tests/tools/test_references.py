"""The book's extension that makes links of "section 6.8" and "chapter 06"."""

import importlib.util

import pytest

from tools.paths import ROOT

spec = importlib.util.spec_from_file_location("references", ROOT / "book/_ext/references.py")
references = importlib.util.module_from_spec(spec)
spec.loader.exec_module(references)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("as section 6.8 shows", [("section 6.8", "6.8")]),
        ("of sections 2.5 and 2.6.", [("sections 2.5", "2.5"), ("2.6", "2.6")]),
        ("chapters 06 to 08", [("chapters 06", "06"), ("08", "08")]),
        ("Chapter 02's layer", [("Chapter 02", "02")]),
        ("Section 4.12 shows it.", [("Section 4.12", "4.12")]),
        ("So it is. Section 4.12 shows it.", [("Section 4.12", "4.12")]),
        ("the paper's Section 5.4 names", []),
        ("(Section 3.1.3) and section 3.1.3", []),
        ("chapter 2024, section 4", []),
        ("0.5 and 1.25", []),
    ],
)
def test_mentions_of_sections_and_chapters_are_found_and_a_papers_own_are_not(text, found):
    spans = references.mentions(text)
    assert [(text[start:end], number) for start, end, number in spans] == found
