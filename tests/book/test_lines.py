"""Code that breaks on a phone, and pictures that state their sizes."""

import re

import pytest

from book._ext import lines, sizes

CODE = """<div class="highlight"><pre><span class="k">def</span> short(x):
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
