"""What is left out of the built pages is what no reader sees."""

import pytest

from book._ext import slim

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


def test_highlighting_spans_without_a_colour_of_their_own_are_removed():
    styles = "\n".join(
        f'html[data-theme="{mode}"] .highlight {{ background: #fff; color: {ink} }}\n'
        f'html[data-theme="{mode}"] .highlight .n {{ color: {ink} }} /* Name */\n'
        f'html[data-theme="{mode}"] .highlight .o {{ color: {other} }} /* Operator */\n'
        f'html[data-theme="{mode}"] .highlight .gs {{ color: {ink}; font-weight: bold }}\n'
        f'html[data-theme="{mode}"] .highlight .hll {{ background-color: {ink} }}'
        for mode, ink, other in (("light", "#080808", "#080808"), ("dark", "#F8F8F2", "#00E0E0"))
    )
    assert slim.plain_marks(styles) == ["n"]  # an operator has a colour in the dark
    code = '<span class="n">x</span><span class="o">=</span>'
    page = f'<div class="highlight"><pre>{code}</pre></div><p>{code}</p>'
    shorter = f'<div class="highlight"><pre>x<span class="o">=</span></pre></div><p>{code}</p>'
    assert slim.without_marks(page, ["n"]) == shorter


def test_a_style_sheet_without_a_text_colour_for_code_raises():
    with pytest.raises(ValueError, match="name no colour of code"):
        slim.plain_marks('html[data-theme="light"] .highlight .k { color: #ff0000 }')


def test_repeated_glyph_definitions_are_removed():
    one, other = '<path id="A-1" d="M0 0" />', '<path id="A-2" d="M0 1" />'
    assert slim.without_repeated_glyphs(f"{one}a{other}b{one}c") == f"{one}a{other}bc"


def test_dense_styles_keep_their_rules_and_what_is_quoted():
    styles = """a > b { color: red; margin: 0 1px; } /* the page's own { */
@media print { .c::after { content: " ; } "; } }
"""
    dense = slim.dense(styles)
    assert "a > b{color: red;margin: 0 1px;}" in dense
    assert '.c::after{content: " ; } ";}}' in dense
    assert "own" not in dense
    assert slim.dense(dense) == dense
