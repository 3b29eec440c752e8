"""Code that breaks on a phone, and pictures that state their sizes."""

import re

import pytest

from book._ext import lines, sizes

CODE = """<div class="highlight"><pre><span class="k">def</span> short(x):
<span class="sd">    \"\"\"A docstring that is longer than a phone&#39;s row is.</span>

<span class="sd">    And its second line.\"\"\"</span>
    return <span class="s2">&quot;a.name.that.is.long.but.has.dots.to.break.at&quot;</span>
</pre></div>"""


def test_long_lines_are_marked_with_their_indent_and_the_text_stays():
    marked = lines.with_long_lines(CODE)
    found = re.findall(r'<span class="line" style="--indent:(\d+)">', marked)
    assert found == ["4", "4"]
    text = re.compile("<[^>]*>")
    assert text.sub("", marked) == text.sub("", CODE)
    assert "name.<wbr>that.<wbr>is" in marked
    assert lines.with_long_lines(marked) == marked


def test_a_drawing_states_its_size_in_pixels(tmp_path):
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
