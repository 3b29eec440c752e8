"""Shorter drawings have the same strokes."""

import io
import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
import resvg_py
from PIL import Image

from book._ext import drawings, strokes

PATHS = {
    "M0 195.60L418.76 195.60L418.76 0L0 0L0 195.60z": "M0 195.6H418.76V0H0V195.6z",
    "M 10.0,20.0 L 10.5,19.5": "M10 20l.5-.5",
    "M0 1C0.27 1 0.52 0.89 0.71 0.71z": "M0 1C.27 1 .52.89.71.71z",
    "M1 1 Q2 3 4 4 2 0 1 1": "M1 1Q2 3 4 4 2 0 1 1",
    "M0 0A1 1 0 0 1 2 2": "M0 0A1 1 0 0 1 2 2",
    "M1e-5 0L1 1": "M1e-5 0L1 1",
}


def pixels(svg: str) -> np.ndarray:
    png = resvg_py.svg_to_bytes(svg, width=800, height=600, background="#ffffff")
    return np.asarray(Image.open(io.BytesIO(bytes(png))).convert("RGB"), dtype=int)


def plotted() -> str:
    """A drawing of matplotlib as the pages have it."""
    figure, axes = plt.subplots(figsize=(4, 3))
    axes.scatter([0.1, 0.2, 0.4], [0.5, 0.25, 0.125], alpha=0.5)
    axes.plot(np.linspace(0, 0.5, 40), np.sin(np.linspace(0, 9, 40)) / 9, clip_on=True)
    axes.plot([0, 0.5], [0.3, 0.3])
    held = io.StringIO()
    figure.savefig(held, format="svg")
    plt.close(figure)
    svg = held.getvalue()
    svg = re.sub("<metadata>.*</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    svg = re.sub(r">\s+<", "><", svg).strip().replace('pt"', '"')
    return svg.replace("<svg ", '<svg role="img" ', 1)


@pytest.mark.parametrize("path", PATHS)
def test_a_path_is_written_with_relative_segments_where_that_is_shorter(path):
    assert strokes.short_path(path) == PATHS[path]
    assert strokes.short_path(PATHS[path]) == PATHS[path]


def test_a_shorter_drawing_of_matplotlib_looks_the_same():
    drawing = plotted()
    short = drawings.with_short_drawings(f"<p>{drawing}</p>")[3:-4]
    assert len(short) < 0.75 * len(drawing)
    assert np.abs(pixels(short) - pixels(drawing)).max() <= 8
    assert np.abs(pixels(short) - 255).max() > 100  # it is not empty
    assert drawings.with_short_drawings(short) == short


def test_the_drawings_of_a_page_share_styles_and_rows_of_glyphs():
    drawing = plotted()
    page = drawings.with_short_drawings(f"<p>{drawing}</p><p>{drawing}</p>")
    first, second = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert "<style>.s" in first
    assert "<style" not in second
    rows = re.findall(r'<g id="(r\w+)">', first)
    assert rows
    assert all(f'<use href="#{row}"/>' in second for row in rows)


def test_other_drawings_stay_as_they_are():
    diagram = '<svg role="img"><g id="a"><path d="M0 0L1.50 0" style="fill: none"/></g></svg>'
    assert drawings.with_short_drawings(diagram) == diagram


def first_tag(tag: str) -> str:
    """What a tag of a drawing becomes."""
    written = "".join(drawings.tags(tag, set()))
    assert written.count("<") == 1
    return written


@pytest.mark.parametrize(
    ("tag", "written"),
    [
        ("<text name='a \"b\"'/>", '<text name="a &quot;b&quot;"/>'),
        ("<text style='font: \"A\" 1px;'/>", '<text style="font:&quot;A&quot; 1px"/>'),
        ('<text style="font: &quot;A&quot; b"/>', '<text style="font: &quot;A&quot; b"/>'),
        ('<text x="1.50" hidden />', '<text x="1.50" hidden />'),
        ("<rect x=1.50 />", "<rect x=1.50 />"),
        ('<g id="none" hidden>', '<g id="none" hidden>'),
        ('<rect x="1.50"\n  y="0.5" />', '<rect x="1.5" y=".5"/>'),
    ],
)
def test_attributes_keep_their_values_and_unreadable_ones_stay(tag, written):
    assert first_tag(tag) == written


def test_two_contents_of_one_name_raise(monkeypatch):
    monkeypatch.setattr(drawings, "CONTENT_OF", {})
    name = drawings.named("r", "one")
    assert drawings.named("r", "one") == name
    monkeypatch.setitem(drawings.CONTENT_OF, name, "two")
    with pytest.raises(ValueError, match=f"{name} is the name of 'one' and 'two'"):
        drawings.named("r", "one")
