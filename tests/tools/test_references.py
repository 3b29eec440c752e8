"""The book's extension that makes links of "section 6.8" and "chapter 06"."""

import importlib.util
from types import SimpleNamespace

import pytest
from docutils import nodes

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


def page(*children):
    document = nodes.document("", "")
    document += nodes.paragraph("", "", *children)
    return document


def book(**places):
    builder = SimpleNamespace(get_relative_uri=lambda here, there: f"{there}.html")
    env = SimpleNamespace(numbered_headings=places.pop("places"))
    return SimpleNamespace(builder=builder, env=env)


def test_a_mention_becomes_a_link_to_its_heading():
    document = page(nodes.Text("As section 6.8 shows."))
    references.link(book(places={"6.8": ("graphormer", "blind")}), document, "egt")
    (link,) = document.findall(nodes.reference)
    assert (link.astext(), link["refuri"]) == ("section 6.8", "graphormer.html#blind")
    assert document.astext() == "As section 6.8 shows."


def test_a_section_that_does_not_exist_is_a_warning(monkeypatch):
    said = []
    monkeypatch.setattr(references.logger, "warning", lambda text, *args, **_: said.append(args))
    references.link(book(places={}), page(nodes.Text("As section 6.99 shows.")), "egt")
    assert said == [("section", "6.99")]
