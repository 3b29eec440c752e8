"""The figures among the notebooks' outputs: described, captioned, and readable on a phone.

python -m tools.figures [NAME ...]
"""

import re
import sys

import nbformat
from nbformat import NotebookNode

from tools.notebooks import pairs

PHONE = 334  # CSS pixels that a figure has on a phone of 390
SMALLEST = 8  # pixels of a letter there
SHRINKS_TO = 0.59  # of its own width; then it scrolls (gtcourse.plots.style.accessible_svg)
WIDEST = 570  # pixels: 5.7 inches, and the margin around what is drawn
PIXELS = {"pt": 4 / 3, "px": 1.0}

DRAWING = re.compile(r"<svg\b[^>]*role=[\"']img[\"'][^>]*>", re.DOTALL)
ALT = re.compile(r"aria-label=(\"[^\"]*\"|'[^']*')")
WIDTH = re.compile(r"max-width:(\d+)(pt|px)")
LETTER = re.compile(r"scale\((\d*\.\d+) -\1\)")  # matplotlib's letters: a hundredth of points


def faults(nb: NotebookNode) -> list[str]:
    found = []
    for i, cell in enumerate(nb.cells):
        html = "".join(o.data.get("text/html", "") for o in cell.get("outputs", []) if "data" in o)
        bitmaps = [o for o in cell.get("outputs", []) if "image/png" in o.get("data", {})]
        if not DRAWING.search(html) and not bitmaps:
            continue
        about = [*["is a bitmap; end the cell with plots.show"] * len(bitmaps), *of_html(html)]
        if i + 1 == len(nb.cells) or not says_something(nb.cells[i + 1]):
            about.append("has no caption or sentence after it")
        found += [f"cell {i + 1}: a figure {fault}" for fault in about]
    return found


def of_html(html: str) -> list[str]:
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


def says_something(cell: NotebookNode) -> bool:
    """A caption, or a paragraph: not a heading, a rule or the next code."""
    first = cell.source.strip().split("\n")[0]
    return cell.cell_type == "markdown" and bool(re.match(r"[*\w(\"'`$\\]", first))


def main() -> int:
    found = [
        f"{notebook.name}, {fault}"
        for _, notebook in pairs(sys.argv[1:])
        for fault in faults(nbformat.read(notebook, as_version=4))
    ]
    print("\n".join([*found, f"{len(found)} faults of figures"]))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
