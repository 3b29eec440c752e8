"""The figures among the notebooks' outputs: described, captioned, and readable on a phone."""

import re
from itertools import pairwise

import nbformat
import pytest

from book._ext import figures
from gtcourse.course.plots.figures import table
from tools.paths import NOTEBOOKS

PHONE = 382  # CSS pixels that a figure has on a phone of 390, whose margins it uses (book.css)
SMALLEST = 8  # pixels of a letter there
SHRINKS_TO = 0.59  # of its own width; then it scrolls (plots.figures.accessible_svg)
WIDEST = 570  # pixels: 5.7 inches, and the margin around what is drawn
PIXELS = {"pt": 4 / 3, "px": 1.0}

DRAWING = re.compile(r"<svg\b[^>]*role=[\"']img[\"'][^>]*>", re.DOTALL)
ALT = re.compile(r"aria-label=(\"[^\"]*\"|'[^']*')")
WIDTH = re.compile(r"max-width:(\d+)(pt|px)")
LETTER = re.compile(r"scale\((\d*\.\d+) -\1\)")  # matplotlib's letters: a hundredth of points


def faults(html: str) -> list[str]:
    found = []
    for opening in DRAWING.finditer(html):
        alt = ALT.search(opening[0])
        if alt is None or len(alt[1].split()) < 4:
            found.append("has no description, or hardly one")
    for width, unit in WIDTH.findall(html):
        pixels = int(width) * PIXELS[unit]
        if pixels > WIDEST:
            found.append(f"is {pixels:.0f} px wide; {WIDEST} fit")
        shown = min(1, max(SHRINKS_TO, PHONE / pixels))
        sizes = sorted({100 * float(size) * PIXELS["pt"] * shown for size in LETTER.findall(html)})
        if sizes and round(sizes[0], 1) < SMALLEST:
            found.append(f"has letters of {sizes[0]:.1f} px on a phone; {SMALLEST} can be read")
    return found


@pytest.mark.parametrize("name", [path.name for path in sorted(NOTEBOOKS.glob("*.ipynb"))])
def test_a_notebooks_figures_have_alt_text_captions_and_readable_labels(name):
    cells = nbformat.read(NOTEBOOKS / name, as_version=4).cells
    for cell, below in pairwise([*cells, nbformat.v4.new_markdown_cell()]):
        data = [output.get("data", {}) for output in cell.get("outputs", [])]
        assert not any("image/png" in each for each in data), "end the cell with plots.show"
        html = "".join(each.get("text/html", "") for each in data)
        assert faults(html) == [], cell.source
        if DRAWING.search(html):  # then a caption or a paragraph: no heading, no rule, no code
            assert below.cell_type == "markdown"
            assert re.match(r"[*\w(\"'`$\\]", below.source.strip()), cell.source


def test_a_column_of_words_begins_at_the_left_and_numbers_end_at_the_right():
    rows = [["2", "everything", 53.8], ["2", "inputs only", 9.2]]
    shown = table(["layers", "each layer saves", "saved, MiB"], rows)._repr_html_()
    turned = figures.SHOWN_TABLE.sub(figures.aligned, shown)
    sides = re.findall(r"text-align:(left|right)", turned)
    assert sides == 3 * ["left", "left", "right"]
    assert re.sub("left|right", "", turned) == re.sub("left|right", "", shown)
