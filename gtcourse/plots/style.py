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
"""What pictures in a page are drawn with. No grey has a contrast of 4.5 on white and on near-black;
so the book sets one for each (``book.css``), and where it does not reach, INK stays."""

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
    "baseline": INK,
}
"""One colour for each thing that figures and diagrams show; a model's parts, and sources of a
number, never occur in one figure."""

FILL = {
    "node": "#a9cdf0",
    "edge": "#f6c893",
    "bias": "#e9b3d2",
    "gate": "#eeda92",
    "value": "#a5dcc5",
    "op": "#dcdfe3",  # an operation on what comes in
}
"""The same hues, light enough for the dark letters of a diagram's boxes."""

DARK = "#1b1d20"
"""Letters on every one of these fills."""

INKED = (
    "text.color",
    "axes.labelcolor",
    "axes.edgecolor",
    "axes.titlecolor",
    "xtick.color",
    "ytick.color",
)

WIDEST = 5.7
"""Inches. On a phone of 390 px such a figure's labels of 10 points are 8 px high."""

# Where an SVG of matplotlib says where something is.
_PLACES = re.compile(r"\b(?:d|x|y|width|height)=\"[^\"]*\"|translate\([^)]*\)")

SEQUENTIAL = "viridis"
DIVERGING = "RdBu_r"


def use_style() -> None:
    """Sets matplotlib to the book's look; figures of a notebook become SVG, byte for byte alike."""
    plt.rcParams.update(
        {
            "figure.figsize": (WIDEST, 3.0),
            "figure.facecolor": "none",
            "axes.facecolor": "none",
            "savefig.facecolor": "none",
            "savefig.bbox": "tight",
            "figure.constrained_layout.use": True,
            "axes.prop_cycle": matplotlib.cycler(color=list(COLORS.values())),
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.alpha": 0.25,
            "grid.color": INK,
            "font.size": 11,
            "legend.frameon": False,
            "legend.labelcolor": INK,
            "svg.fonttype": "path",
            "svg.hashsalt": "gtcourse",
            **dict.fromkeys(INKED, INK),
        }
    )


def show(figure: Figure, alt: str, *, trim: bool = True):
    """Displays a figure as SVG that scales to the page, with ``alt`` for those who cannot see it.

    Args:
        figure: closed afterwards, so that it is shown once.
        alt: what the picture shows, in a sentence or two.
        trim: cut off the margins; not where several pictures have to lie on one place.
    """
    from IPython.display import HTML

    return HTML(accessible_svg(_drawn(figure, trim), alt))


def _drawn(figure: Figure, trim: bool) -> str:
    """The figure as SVG, with places to a hundredth of a point; closed afterwards."""
    text = io.StringIO()
    with plt.rc_context({"savefig.bbox": "tight" if trim else "standard"}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    plt.close(figure)
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text.getvalue(), flags=re.DOTALL)
    return _PLACES.sub(_shorter, re.sub(r">\s+<", "><", svg))


def _shorter(places: re.Match) -> str:
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
    """How light red, green and blue, each from 0 to 1, are together, as WCAG defines it."""
    linear = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color[:3])
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def letters_on(color: Sequence[float]) -> str:
    """Black or white, whichever reads better: with a contrast of 4.5 and more on every colour."""
    return "black" if luminance(color) > 0.18 else "white"
