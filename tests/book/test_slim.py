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


def test_styles_of_classes_that_no_page_has_are_left_out():
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


def test_marks_of_code_without_a_colour_of_their_own_are_left_out():
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


def test_styles_that_name_no_colour_of_code_raise():
    with pytest.raises(ValueError, match="name no colour of code"):
        slim.plain_marks('html[data-theme="light"] .highlight .k { color: #ff0000 }')


def test_a_page_has_each_glyph_once():
    one, other = '<path id="A-1" d="M0 0" />', '<path id="A-2" d="M0 1" />'
    assert slim.without_repeated_glyphs(f"{one}a{other}b{one}c") == f"{one}a{other}bc"
