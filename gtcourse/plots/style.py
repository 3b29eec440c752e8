"""Colours and settings that read on white and on near-black, on a phone and on paper."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from html import escape

import matplotlib
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

INK = "#7a7f87"
"""Text, axes and edges: a grey with a contrast of about 4 on white and on the book's dark page."""

PAGE_INK = f"var(--gtcourse-ink, {INK})"
"""For pictures in a page: no grey has a contrast of 4.5 on white and on near-black, so ``book.css``
sets one for each."""

COLORS = {
    "blue": "#3b82c4",
    "orange": "#d97706",
    "green": "#199e77",
    "pink": "#c2559b",
    "sky": "#4fa8d8",
    "gold": "#b8962e",
    "red": "#d1495b",
}
"""Hues that people with each common colour blindness can tell apart in this order."""

MEANING = {
    "node": COLORS["blue"],
    "edge": COLORS["orange"],
    "bias": COLORS["pink"],  # what is added to the logits
    "gate": COLORS["gold"],  # what multiplies attention
    "value": COLORS["green"],
    "paper": COLORS["blue"],
    "ours": COLORS["orange"],
}
"""What a colour stands for. Parts of a model and sources of a number never share a figure."""

WIDEST = 5.7
"""Inches. On a phone of 390 px such a figure's labels of 10 points are 8 px high."""

SEQUENTIAL = "viridis"
DIVERGING = "RdBu_r"


def use_style() -> None:
    """Sets matplotlib to the book's look; figures of a notebook become SVG, byte for byte alike."""
    plt.style.use("gtcourse.plots.book")
    inked = "text.color axes.labelcolor axes.edgecolor axes.titlecolor xtick.color ytick.color "
    plt.rcParams.update(dict.fromkeys((inked + "grid.color legend.labelcolor").split(), INK))
    plt.rcParams["axes.prop_cycle"] = matplotlib.cycler(color=list(COLORS.values()))
    plt.rcParams["figure.figsize"] = (WIDEST, 3.0)


def show(figure: Figure, alt: str, *, trim: bool = True):
    """Displays a figure as SVG that scales to the page, and closes it.

    Args:
        alt: what the picture shows, in a sentence or two, for those who cannot see it.
        trim: cut off the margins; not if several pictures have to lie on one place.
    """
    from IPython.display import HTML

    text = io.StringIO()
    with plt.rc_context({"savefig.bbox": "tight" if trim else "standard"}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    plt.close(figure)
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text.getvalue(), flags=re.DOTALL)
    svg = re.sub(r">\s+<", "><", svg)
    places = r"\b(?:d|x|y|width|height)=\"[^\"]*\"|translate\([^)]*\)"
    return HTML(accessible_svg(re.sub(places, _rounded, svg), alt))


def _rounded(places: re.Match) -> str:
    """Positions to a hundredth of a point."""
    text = re.sub(r"\s*\n\s*", " ", places[0])
    return re.sub(r"\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}", text)


def accessible_svg(svg: str, alt: str) -> str:
    """The ``<svg>`` element, named by ``alt``, as wide as the page allows up to its own size.

    On a phone it shrinks to 0.59 of it and not further, which keeps its labels readable; a figure
    that is wider still scrolls inside its own box.
    """
    svg = re.sub(re.escape(INK), PAGE_INK, svg[svg.index("<svg") :].strip(), flags=re.IGNORECASE)
    size = re.search(r"<svg[^>]*?\bwidth=[\"']([\d.]+)(pt|px)?", svg, re.S)
    width, unit = float(size[1]), size[2] or "px"
    head, body = re.match(r"(<svg[^>]*>)(.*)", svg, re.S).groups()
    head = re.sub(r"\s(width|height|style)=(\"[^\"]*\"|'[^']*')", "", head)
    style = (
        f"width:100%;max-width:{width:.0f}{unit};min-width:{0.59 * width:.0f}{unit};"
        "height:auto;display:block;margin:auto"
    )
    named = f'{head[:-1]} role="img" aria-label="{escape(alt, quote=True)}" style="{style}">'
    return f'<div style="overflow-x:auto">{named}{body}</div>'


def luminance(color: Sequence[float]) -> float:
    """Of red, green and blue, each from 0 to 1, as WCAG defines it."""
    linear = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color[:3])
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def letters_on(color: Sequence[float]) -> str:
    """Black or white, whichever has a contrast of 4.5 or more on the colour."""
    return "black" if luminance(color) > 0.18 else "white"
