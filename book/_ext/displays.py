"""Displayed formulas in several lines, for phones.

A line ends between two statements (before ``\\qquad``), before a relation after the first, or
before an operator, where no bracket is open. Which of these places are taken depends on the widths
that MathJax finds (``mathjax.py``).
"""

import re
from collections.abc import Callable

TAG = re.compile(r"\s*\\tag\{[^{}]*\}|\s*\\label\{[^{}]*\}")
OUTER = re.compile(r"\\begin\{(split|aligned)\}(.*)\\end\{\1\}", re.DOTALL)
TOKEN = re.compile(r"\\(?:begin|end)\{\w+\*?\}|\\[A-Za-z]+|\\.|.", re.DOTALL)
OPENING = {"{", "(", "[", r"\{", r"\langle", r"\lfloor", r"\lceil", r"\left", r"\bigl", r"\Bigl"}
CLOSING = {"}", ")", "]", r"\}", r"\rangle", r"\rfloor", r"\rceil", r"\right", r"\bigr", r"\Bigr"}
SIZED = {r"\left", r"\right", r"\bigl", r"\bigr", r"\Bigl", r"\Bigr"}
BARS = ("|", r"\|")
GAPS = {r"\qquad", r"\quad"}
RELATIONS = {"=", "<", ">", r"\le", r"\leq", r"\ge", r"\geq", r"\approx", r"\equiv", r"\in"}
RELATIONS |= {r"\subseteq", r"\iff", r"\leftarrow", r"\to"}
OPERATORS = {"+", "-", r"\cdot", r"\odot"}
KINDS = (GAPS, RELATIONS, OPERATORS)
INDENTS = ("", r"\quad ", r"\qquad ")
"""Before a line that goes on after each kind of break."""

SLACK = 0.6  #: em, by which a formula may be wider and still stay in one line


def in_lines(tex: str, width_of: Callable[[str], float], room: float) -> str | None:
    """The formula in lines of at most ``room`` em, as far as it has places to break at.

    None if it nearly fits as it is, has lines of its own, or does not become narrower.
    """
    own = width_of(tex)
    if own <= room + SLACK:
        return None
    tags = "".join(TAG.findall(tex))
    body = TAG.sub("", tex).strip()
    outer = OUTER.fullmatch(body)
    if outer:
        body = outer[2].strip()
    if re.search(r"\\\\|(?<!\\)&", _outside(body)):
        return None  # lines of its own
    free = room - (width_of("x" + tags) - width_of("x") if tags else 0)
    lines = _lines(body, lambda text: width_of(rf"\displaystyle {text}"), free, 0)
    if len(lines) < 2:
        return None
    rows = r" \\ ".join(f"& {line}" for line in lines)
    laid = rf"\begin{{aligned}} {rows} \end{{aligned}}{tags}"
    return laid if width_of(laid) < own - 0.5 else None


def _lines(tex: str, width_of: Callable[[str], float], room: float, kind: int) -> list[str]:
    """The formula broken at places of this kind or a later one, no more often than needed."""
    if kind == len(KINDS) or width_of(tex) <= room:
        return [tex]
    ways = [_filled(_split(tex, kind, late), width_of, room, kind) for late in (True, False)]
    fits = [way for way in ways if max(map(width_of, way)) <= room]
    return min(fits or ways, key=len)  # the first of two as short ones


def _filled(pieces: list[str], width_of: Callable, room: float, kind: int) -> list[str]:
    lines: list[str] = []
    current = ""
    for piece in pieces:
        indent = INDENTS[kind] if lines else ""
        if current and kind and width_of(indent + current + " " + piece) <= room:
            current += " " + piece
            continue
        if current:
            lines.append(indent + current)
        current = piece
    lines.append((INDENTS[kind] if lines else "") + current)
    return [part for line in lines for part in _lines(line, width_of, room, kind + 1)]


def _split(tex: str, kind: int, late: bool) -> list[str]:
    """The pieces between the places of a kind; a relation or an operator begins the next piece.

    A gap ends a line, and the line before it keeps its comma. A sign that nothing precedes stays
    where it is and, if ``late``, so does the first relation of a statement. There is no place
    inside brackets, between two bars, or after the sign of an index or a power.
    """
    pieces = [""]
    depth = 0
    relations = 0
    tokens = TOKEN.findall(tex)
    has_pairs = {bar: tokens.count(bar) % 2 == 0 for bar in BARS}
    opened: set[str] = set()
    for at, token in enumerate(tokens):
        before = tokens[at - 1] if at else ""
        if token.startswith(r"\begin"):
            depth += 1
        elif token.startswith(r"\end{"):
            depth -= 1
        elif token in OPENING and before not in SIZED:
            depth += 1
        elif token in CLOSING and before not in SIZED:
            depth -= 1
        elif has_pairs.get(token):
            opened ^= {token}
        if depth == 0 and not opened and before not in ("^", "_") and token in KINDS[kind]:
            if token in GAPS:
                if pieces[-1].strip():
                    pieces.append("")
                continue
            relations += token in RELATIONS
            leads = not pieces[-1].strip() or pieces[-1].strip() in RELATIONS | OPERATORS
            is_first = late and token in RELATIONS and relations == 1
            if not leads and not is_first and not pieces[-1].rstrip().endswith((*RELATIONS,)):
                pieces.append("")
        pieces[-1] += token
    return [piece.strip() for piece in pieces if piece.strip()]


def _outside(tex: str) -> str:
    """The formula without its environments, such as matrices, whose rows are theirs."""
    inner = re.compile(r"\\begin\{(\w+\*?)\}(?:(?!\\begin).)*?\\end\{\1\}", re.DOTALL)
    while (shorter := inner.sub("", tex)) != tex:
        tex = shorter
    return tex
