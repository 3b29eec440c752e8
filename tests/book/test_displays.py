"""Where a displayed formula breaks into lines; a letter or a command is one em wide here."""

import re

import pytest

from book._ext.displays import in_lines

ENVIRONMENT = re.compile(r"\\(?:begin|end)\{\w+\}|\\displaystyle|\\q?quad|&")
SIGN = re.compile(r"\\[A-Za-z]+|[^\s{}_^]")


def width(tex: str) -> float:
    """Of the longest line."""
    lines = ENVIRONMENT.sub("", tex).split("\\\\")
    return max(len(SIGN.findall(line)) for line in lines)


@pytest.mark.parametrize(
    ("tex", "lines"),
    [
        (r"a = b + c, \qquad d = e + f", ["a = b + c,", "d = e + f"]),
        ("f(x) = a + b = c + d", ["f(x) = a + b", r"\quad = c + d"]),
        ("f(x) = a + b + c + d", ["f(x) = a + b + c", r"\qquad + d"]),
        ("f(x, y, z) = g(x, y, z)", ["f(x, y, z)", r"\quad = g(x, y, z)"]),
        ("f(x) = |a - b| + c - d_+ + e", ["f(x) = |a - b|", r"\qquad + c - d_+ + e"]),
        (r"a = -b + \big(c + d + e\big)", ["a = -b", r"\qquad + \big(c + d + e\big)"]),
    ],
)
def test_a_formula_breaks_between_statements_then_before_relations_then_before_operators(
    tex, lines
):
    rows = r" \\ ".join(f"& {line}" for line in lines)
    assert in_lines(tex, width, 10) == rf"\begin{{aligned}} {rows} \end{{aligned}}"


@pytest.mark.parametrize(
    "tex",
    [
        "a = b",
        r"f(a, b, c, d, e, f, g, h)",  # has no place to break at
        r"\begin{split} a &= b + c + d + e \\ f &= g + h + i + j + k \end{split}",
    ],
)
def test_a_formula_that_fits_or_cannot_break_or_has_lines_stays_as_it_is(tex):
    assert in_lines(tex, width, 10) is None


def test_the_number_of_an_equation_stays_outside_its_lines():
    laid = in_lines(r"a + b + c = d + e + f \tag{3}", width, 10)
    assert laid.endswith(r"\end{aligned} \tag{3}")
