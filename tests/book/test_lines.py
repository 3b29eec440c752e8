"""Outputs that break on a phone, code that it folds, and pictures that state their sizes."""

import re

import pytest

from book._ext import fold, lines, sizes
from tools.paths import ROOT

OPENING = '<div class="output stream highlight-none notranslate"><div class="highlight"><pre>'
CODE = f"""{OPENING}<span class="k">def</span> short(x):
<span class="sd">    \"\"\"A docstring that is longer than a phone&#39;s row is.</span>

<span class="sd">    And its second line.\"\"\"</span>
    return <span class="s2">&quot;a.name.that.is.long.but.has.dots.to.break.at&quot;</span>
</pre></div>"""


def test_marking_long_lines_stores_their_indent_and_leaves_the_text_unchanged():
    marked = lines.with_long_lines(CODE)
    found = re.findall(r'<span class="line" style="--indent:(\d+)">', marked)
    assert found == ["4", "4"]
    text = re.compile("<[^>]*>")
    assert text.sub("", marked) == text.sub("", CODE)
    assert "name.<wbr>that.<wbr>is" in marked
    assert lines.with_long_lines(marked) == marked


def test_printed_source_stays_as_it_is():
    name = "output stream source highlight-python notranslate"
    code = CODE.replace("output stream highlight-none notranslate", name)
    assert lines.with_long_lines(code) == code


def test_long_lines_of_code_are_marked_and_their_names_stay_whole():
    code = CODE.replace("output stream highlight-none", "highlight-python")
    marked = lines.with_long_lines(code)
    assert marked.count('<span class="line"') == 2
    assert "a.name.that.is.long.but.has.dots.to.break.at" in marked
    assert re.sub("<[^>]*>", "", marked) == re.sub("<[^>]*>", "", code)
    assert lines.with_long_lines(marked) == marked
    call = code.replace("a.name.that.is.long", "a_function(a_name, another")
    assert "a_function(<wbr>a_name, another.but.has" in lines.with_long_lines(call)


def cell(count: int, before: str = "") -> str:
    code = "import math\n\n@remembered\ndef area(r):\n" + "    r += 1\n" * (count - 4)
    return (
        f'{before}\n<div class="cell_input docutils container">\n<div class="highlight-python '
        f'notranslate"><div class="highlight"><pre>{code}</pre></div>\n</div>\n</div>'
    )


def test_code_of_more_than_fifteen_lines_gets_a_button_that_says_what_it_defines():
    assert fold.with_folds(cell(15)) == cell(15)
    assert fold.with_folds(cell(16, "</summary>")) == cell(16, "</summary>")  # folded already
    folded = fold.with_folds(cell(16))
    (button,) = re.findall(r'<button type="button" class="fold".*?</button>', folded)
    assert "<b>Defines area</b><span>16 lines</span>" in button
    assert folded.replace(button, "") == cell(16)
    assert fold.with_folds(folded) == folded


def test_a_long_name_in_a_text_can_break_after_its_dots():
    text = '<code><span class="pre">gtcourse.course.leaderboard.simple_errors(data)</span></code>'
    breakable = lines.with_breakable_names(text)
    assert "gtcourse.<wbr>course.<wbr>leaderboard.<wbr>simple_errors(<wbr>data)" in breakable
    assert breakable.replace("<wbr>", "") == text
    assert lines.with_breakable_names(breakable) == breakable
    short = '<code><span class="pre">torch.nn.Linear</span></code>'
    assert lines.with_breakable_names(short) == short


def test_an_svg_image_gets_a_width_and_height_in_pixels(tmp_path):
    (tmp_path / "_images").mkdir()
    drawing = '<svg width="300pt" height="150pt" viewBox="0 0 300 150"></svg>'
    (tmp_path / "_images/one.svg").write_text(drawing, encoding="utf-8")
    page = '<img alt="One" src="_images/one.svg" />'
    sized = sizes.with_sizes(page, tmp_path)
    assert sized == '<img alt="One" src="_images/one.svg" width="400" height="200" />'
    assert sizes.with_sizes(sized, tmp_path) == sized
    (tmp_path / "_images/two.svg").write_text("<svg></svg>", encoding="utf-8")
    with pytest.raises(ValueError, match=r"two\.svg has no size"):
        sizes.with_sizes(page.replace("one", "two"), tmp_path)


@pytest.mark.parametrize(
    ("code", "title"),
    [
        ("# Three seeds of each model\nMETHODS = [\n    1,\n]\n", "Three seeds of each model"),
        ("k = 8\n\ndef molecule(smiles):\n    pass\n", "Defines molecule"),
        ("METHODS = [\n    1,\n]\n", "Code"),
    ],
)
def test_folded_code_is_named_by_its_first_comment_or_what_it_defines(code, title):
    assert fold.title(code.split("\n")) == title


def test_columns_of_an_output_are_not_broken_into_lines():
    table = "heads off:   0    10    20    30    40    50\nerror:       0.1  0.2   0.3   0.4\n"
    page = f"{OPENING}{table}</pre></div>"
    shown = lines.with_long_lines(page)
    assert 'class="output aligned stream' in shown
    assert table in shown
    assert lines.with_long_lines(shown) == shown


def test_letters_outside_of_drawings_grow_with_the_readers_font():
    """Those of a drawing are in its own units."""
    sheet = (ROOT / "book/_static/book.css").read_text(encoding="utf-8")
    rules = re.findall(r"^\s*([^{}/@]+)\{([^{}]*)\}", sheet, re.M)
    fixed = [where.strip() for where, rule in rules if re.search(r"font-size: *[\d.]+px", rule)]
    assert fixed
    assert [where for where in fixed if "svg text" not in where] == []
