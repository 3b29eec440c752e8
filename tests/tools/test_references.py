"""The book's extensions make links of "section 6.8" and "chapter 06", and text of formulas."""

import runpy

import pytest

from tools.paths import ROOT

mentions = runpy.run_path(ROOT / "book/_ext/references.py")["mentions"]
plain = runpy.run_path(ROOT / "book/_ext/formulas.py")["plain"]


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
        ("(Section 3.1.3), chapter 2024, 0.5 and 1.25", []),
    ],
)
def test_mentions_of_the_books_sections_are_found_but_not_those_of_papers(text, found):
    spans = mentions(text)
    assert [(text[start:end], number) for start, end, number in spans] == found


@pytest.mark.parametrize(
    ("tex", "text"),
    [
        (r"q_i \cdot k_j / \sqrt{d_k}", "qᵢ ⋅ kⱼ / √dₖ"),
        (r"\tfrac12 \tilde A^\top \in \mathbb R^n", "1/2 Ãᵀ ∈ Rⁿ"),
        (r"\lVert u \rVert^2", "‖ u ‖²"),
        (r"b_{\phi(i, j)}", "…"),
    ],
)
def test_simple_formulas_become_plain_text_and_others_an_ellipsis(tex, text):
    assert plain(tex) == text
