"""The book's formulas, as MathJax sets them when the book is built."""

import re
import runpy
from unittest.mock import Mock

import pytest
from bs4 import BeautifulSoup

from tools.paths import ROOT


@pytest.fixture(scope="module")
def mathjax():
    return runpy.run_path(str(ROOT / "book/_ext/mathjax.py"))


@pytest.fixture(scope="module")
def set_formula(mathjax):
    return mathjax["set_formula"]


def test_a_typeset_formula_includes_its_tex_and_mathml(set_formula):
    formula = BeautifulSoup(set_formula(r"a < \hat x_{ij}", display=False), "html.parser")
    assert formula.select_one("mjx-container")["data-tex"] == r"a < \hat x_{ij}"
    assert formula.select_one("mjx-math")["aria-hidden"] == "true"
    assert [letter.text for letter in formula.select("math mi")] == ["a", "x", "i", "j"]
    assert formula.select_one("mjx-container").get("display") is None


def test_a_displayed_formula_states_a_width_that_grows_with_its_text(set_formula):
    def width(tex: str) -> float:
        return float(re.search(r'style="--width:([\d.]+);', set_formula(tex, display=True))[1])

    assert width("x") < width("x + y") < width("x + y + z")


@pytest.mark.parametrize(
    ("tex", "why"),
    [
        (r"\frac{a", "Missing close brace"),
        (r"\foo", "Undefined control sequence"),
        (r"\begin{x}", "Unknown environment"),
        ("a & b", "Misplaced &"),
    ],
)
def test_invalid_tex_raises_mathjaxs_message(set_formula, tex, why):
    with pytest.raises(ValueError, match=why):
        set_formula(tex, display=True)


def test_a_wide_formula_comes_a_second_time_in_lines_for_a_phone(mathjax):
    tex = r"a = \exp(b + c + d + e + f), \qquad g = \exp(h + i + j + k + l) \tag{4}"
    html = BeautifulSoup(mathjax["set_displayed"](tex), "html.parser")
    wide, narrow = html.select("mjx-container")
    assert [wide["data-on"], narrow["data-on"]] == ["laptop", "phone"]
    assert wide["data-tex"] == narrow["data-tex"] == tex  # what a reader copies
    assert len(narrow.select("math mtable mtable mtr")) == 2
    assert "data-on" not in mathjax["set_displayed"]("a = b")


def test_equation_numbers_do_not_become_ids(set_formula):
    """Several pages, and the PDF, have an equation (4)."""
    html = set_formula(r"a = b \tag{4}", display=True)
    assert " id=" not in html
    assert "NaN" not in html


def test_sphinx_writes_pages_with_formulas_in_one_process(mathjax):
    """A forked process would have V8's memory, but not the threads that run it."""
    assert mathjax["setup"](Mock())["parallel_write_safe"] is False


@pytest.mark.parametrize(
    "pieces",
    [
        ["A^2 =", "6 I +", "2 A +", "2 (J - I - A) =", "4 I +", "2 J"],
        [r"\rho(\phi(v_1) + \phi(-v_1),", r"\dots,", r"\phi(v_k) + \phi(-v_k))"],
        [
            r"(q_i \cdot",
            "k_j +",
            r"q_i \cdot",
            "R^{key}_r +",
            r"k_j \cdot",
            r"R^{query}_r) / \sqrt K",
        ],
    ],
    ids=["outside parentheses", "after commas", "inside parentheses"],
)
def test_a_long_formula_in_a_line_may_break(set_formula, pieces):
    html = set_formula(" ".join(pieces), display=False)
    broken = [BeautifulSoup(part, "html.parser") for part in html.split("<mjx-break></mjx-break>")]
    letters = [len(part.select("mjx-c")) for part in broken]
    assert letters == [set_formula(piece, display=False).count("<mjx-c ") for piece in pieces]
    assert "<mjx-break>" not in set_formula(" ".join(pieces), display=True)


def test_a_short_formula_in_a_line_does_not_break(set_formula):
    assert "<mjx-break>" not in set_formula("a = b + c", display=False)
