"""What is left out of the built pages is what no reader sees."""

import re
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from sphinx.highlighting import PygmentsBridge

from book._ext import slim
from gtcourse.course import plots

GLYPH_ID = re.compile(r'<path id="([^"]+)"')

STYLES = """
:root { --ink: #111 }
a { color: blue }
.used, .unused { color: red }
.used .unused { color: green }
.used:not(.unused) { margin: 0 }
.bs-tooltip-top { top: 0 }
@media (min-width: 9px) { .used { top: 1px } .unused { top: 2px } }
@media print { .unused { top: 3px } }
@font-face { font-family: "A" }
"""


def test_styles_of_unused_classes_are_removed():
    kept = slim.used_styles(STYLES, {"used"})
    assert slim.used_styles(kept, {"used"}) == kept
    squeezed = kept.replace(" ", "")
    assert ".used{color:red}" in squeezed
    assert ".used:not(.unused){margin:0}" in squeezed
    assert "@media(min-width:9px){.used{top:1px}}" in squeezed
    for part in ("--ink", "blue", "bs-tooltip-top", "@font-face"):
        assert part in kept
    for part in ("green", "2px", "3px", ",.unused"):
        assert part not in squeezed


CODE = """// What it does,
// in two lines.
const x = 1;  // stays with its line

/** A block
    of several lines. */
function add(y) {
  /* one */ const z = `a
    b // no comment ${y}`;
  return x + y;
}
"""


def test_a_script_keeps_its_statements_without_comments_and_indentation():
    assert slim.bare(CODE) == (
        "const x = 1;  // stays with its line\nfunction add(y) {\n/* one */ const z = `a\n"
        "b // no comment ${y}`;\nreturn x + y;\n}\n"
    )


def code_styles() -> str:
    modes = (("light", "#080808", "#00622f"), ("dark", "#f8f8f2", "#abe338"))
    return "\n".join(
        f'html[data-theme="{mode}"] .highlight {{ background: #fff; color: {ink} }}\n'
        f'html[data-theme="{mode}"] .highlight .n {{ color: {ink} }} /* Name */\n'
        f'html[data-theme="{mode}"] .highlight .o {{ color: {green} }} /* Operator */\n'
        f'html[data-theme="{mode}"] .highlight .s {{ color: {green} }} /* String */\n'
        f'html[data-theme="{mode}"] .highlight .s2 {{ color: {green} }}\n'
        f'html[data-theme="{mode}"] .highlight .gs {{ color: {ink}; font-weight: bold }}\n'
        f'html[data-theme="{mode}"] .highlight .hll {{ background-color: {ink} }}'
        for mode, ink, green in modes
    )


def test_highlighting_spans_without_a_colour_of_their_own_are_removed():
    alike = slim.marks_alike(code_styles())
    assert alike == {"": "", "n": "", "o": "", "s": "s", "s2": "s", "gs": "gs", "hll": "hll"}
    code = '<span class="n">x</span><span class="o">=</span><span class="kc">None</span>'
    page = f'<div class="highlight"><pre>{code}</pre></div><p>{code}</p>'
    shorter = f'<div class="highlight"><pre>x=<span class="kc">None</span></pre></div><p>{code}</p>'
    assert slim.with_few_marks(page, alike) == shorter


def test_highlighting_spans_of_one_look_beside_each_other_are_joined():
    marks = (("s", "f"), ("s2", "&quot;a &quot;"), ("s", "b"), ("gs", "c"))
    code = " ".join(f'<span class="{mark}">{text}</span>' for mark, text in marks)
    page = f'<div class="highlight"><pre>{code}</pre></div>'
    joined = '<span class="s">f &quot;a &quot; b</span> <span class="gs">c</span>'
    assert slim.with_few_marks(page, slim.marks_alike(code_styles())) == (
        f'<div class="highlight"><pre>{joined}</pre></div>'
    )


def test_a_style_sheet_without_a_text_colour_for_code_raises():
    with pytest.raises(ValueError, match="name no colour of code"):
        slim.marks_alike('html[data-theme="light"] .highlight .k { color: #ff0000 }')


def test_repeated_glyph_definitions_are_removed():
    one, other = '<path id="A-1" d="M0 0" />', '<path id="A-2" d="M0 1" />'
    assert slim.without_repeated_glyphs(f"{one}a{other}b{one}c") == f"{one}a{other}bc"


def figure_with(words: str) -> str:
    """A figure of matplotlib as a cell stores it, with glyphs as paths."""
    figure = Figure(figsize=(2, 1))
    figure.text(0.1, 0.5, words)
    return plots.show(figure, alt=words).data


def test_each_id_of_a_glyph_is_unique_in_a_page_with_spaces_in_its_figures():
    page = f"<p>{figure_with('no way')}</p><p>{figure_with('on a way')}</p>"
    repeated = GLYPH_ID.findall(page)
    assert "DejaVuSans-3" in repeated  # the space
    assert len(repeated) > len(set(repeated))
    found = GLYPH_ID.findall(slim.without_repeated_glyphs(page))
    assert sorted(found) == sorted(set(repeated))


def test_dense_styles_keep_their_rules_and_what_is_quoted():
    styles = """a > b { color: red; margin: 0 1px; } /* the page's own { */
@media print { .c::after { content: " ; } "; } }
"""
    dense = slim.dense(styles)
    assert "a > b{color: red;margin: 0 1px;}" in dense
    assert '.c::after{content: " ; } ";}}' in dense
    assert "own" not in dense
    assert slim.dense(dense) == dense


def test_the_dark_rules_of_the_book_name_the_marks_that_are_left_in_the_pages():
    styles = "\n".join(
        f'html[data-theme="{mode}"] {rule}'
        for mode in ("light", "dark")
        for rule in PygmentsBridge("html", f"a11y-high-contrast-{mode}")
        .get_stylesheet()
        .splitlines()
        if rule.startswith(".highlight")
    )
    alike = slim.marks_alike(styles)
    text = Path("book/_static/book.css").read_text(encoding="utf-8")
    rules = text.split('html[data-theme="dark"] .bd-article .highlight {')[1].split("\n}")[0]
    named = re.findall(r"& \.(\w+) \{", rules)
    assert named == ["c", "k", "l", "fm", "s"]
    assert [alike[mark] for mark in named] == named
    common = {"c1", "sd", "kn", "ow", "mi", "mf", "nf", "nc", "nd", "nb", "bp", "s1", "s2", "si"}
    assert {alike[mark] for mark in common} == {*named}
