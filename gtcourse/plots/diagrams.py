"""Diagrams of a layer: boxes for tensors and operations, arrows for the flow of data.

The colours have the same meaning in every chapter.
"""

from __future__ import annotations

from itertools import pairwise

from matplotlib import pyplot as plt
from matplotlib.patches import FancyBboxPatch

from gtcourse.plots.style import INK, WIDEST, show

FILL = {
    "node": "#a9cdf0",  # the node stream
    "edge": "#f6c893",  # the edge stream
    "bias": "#e9b3d2",  # what is added to the logits
    "gate": "#eeda92",  # what multiplies attention
    "value": "#a5dcc5",  # what the values become
    "op": "#dcdfe3",  # an operation on what comes in
}
LETTERS = "#1b1d20"  # readable on every one of these fills

Box = tuple[float, float, str, str]


def diagram(
    boxes: dict[str, Box],
    arrows: str,
    *,
    alt: str,
    height: float,
    width: float = 1.45,
    skips: dict[tuple[str, str], float] | None = None,
):
    """The data flow of a layer, from bottom to top.

    Args:
        boxes: by name, the centre (x, y) in inches, the label, and its meaning, a key of ``FILL``.
        arrows: chains of boxes, such as ``"h > query > logits, mask > logits"``.
        alt: the flow in words.
        height: of the figure, in inches; width: of a box.
        skips: arrows that leave and enter at a side, by the x at which they run upwards.
    """
    figure, ax = plt.subplots(figsize=(WIDEST, height), layout="none")
    ax.set_position((0, 0, 1, 1))
    ax.set(xlim=(0, WIDEST), ylim=(0, height))
    ax.axis("off")
    for x, y, label, meaning in boxes.values():
        tall = _height(label)
        corner = (x - width / 2, y - tall / 2)
        style = "round,pad=0,rounding_size=0.06"
        box = FancyBboxPatch(corner, width, tall, style, fc=FILL[meaning], ec="none", zorder=2)
        ax.add_patch(box)
        ax.text(x, y, label, ha="center", va="center", fontsize=10, color=LETTERS, zorder=3)
    chains = [chain.split(" > ") for chain in arrows.split(", ") if chain]
    for start, end in (pair for chain in chains for pair in pairwise(chain)):
        (x0, y0, label0, _), (x1, y1, label1, _) = boxes[start], boxes[end]
        if y0 == y1:
            side = width / 2 if x1 > x0 else -width / 2
            _arrow(ax, (x0 + side, y0), (x1 - side, y1))
        else:
            _arrow(ax, (x0, y0 + _height(label0) / 2), (x1, y1 - _height(label1) / 2))
    for (start, end), lane in (skips or {}).items():
        (x0, y0, *_), (x1, y1, *_) = boxes[start], boxes[end]
        out, into = (width / 2 if lane > x else -width / 2 for x in (x0, x1))
        ax.plot([x0 + out, lane, lane], [y0, y0, y1], color=INK, linewidth=1.2, zorder=1)
        _arrow(ax, (lane, y1), (x1 + into, y1))
    return show(figure, alt)


def _height(label: str) -> float:
    return 0.18 + 0.18 * (label.count("\n") + 1)


def _arrow(ax, start: tuple[float, float], end: tuple[float, float]) -> None:
    arrow = {"arrowstyle": "-|>", "color": INK, "linewidth": 1.2, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", end, start, arrowprops=arrow, zorder=1)
