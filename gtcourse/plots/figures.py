"""Graphs, attention, a layer's diagram, and tables."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from statistics import mean, stdev

import numpy as np
import torch
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch
from torch import Tensor

from gtcourse.plots.style import COLORS, INK, SEQUENTIAL, WIDEST, letters_on, show

FILL = {
    "node": "#a9cdf0",
    "edge": "#f6c893",
    "bias": "#e9b3d2",
    "gate": "#eeda92",
    "value": "#a5dcc5",
    "op": "#dcdfe3",  # an operation on what comes in
}
"""The hues of MEANING, light enough for the dark letters of a diagram's boxes."""


def draw_graph(
    adjacency: Tensor, *, positions: np.ndarray | None = None,
    values: Sequence[float] | None = None, colors: Sequence[str] | str | None = None,
    labels: Sequence[str] | None = None, limits: tuple[float, float] | None = None,
    cmap: str = SEQUENTIAL, node_size: float = 420, title: str | None = None,
    ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draws a graph; the same graph gets the same layout each time.

    Args:
        adjacency: ``[n, n]``; an arrow where an edge goes one way only.
        positions: ``[n, 2]``; a spring layout from a fixed start by default.
        values: a number for each node, shown as its colour on ``cmap`` within ``limits``.
        colors: or the colours themselves.
        labels: written on the nodes; their numbers, from 0, by default.
    """
    import networkx as nx

    ax = ax or plt.subplots(figsize=(3.2, 3.0))[1]
    adjacency = torch.as_tensor(adjacency).bool().cpu().numpy()
    kind = nx.Graph if (adjacency == adjacency.T).all() else nx.DiGraph
    graph = nx.from_numpy_array(adjacency.astype(int), create_using=kind)
    if positions is None:
        positions = nx.spring_layout(nx.Graph(graph), seed=4, iterations=200)
    style = {"node_color": colors or COLORS["sky"]}
    if values is not None:
        low, high = limits or (float(np.min(values)), float(np.max(values)))
        style = {"node_color": np.asarray(values), "cmap": cmap, "vmin": low, "vmax": high}
    place = {node: positions[node] for node in graph}
    nx.draw_networkx_edges(graph, place, ax=ax, edge_color=INK, width=1.6, node_size=node_size)
    discs = nx.draw_networkx_nodes(
        graph, place, ax=ax, node_size=node_size, edgecolors=INK, linewidths=1.0, **style
    )
    discs.update_scalarmappable()
    shades = np.broadcast_to(discs.get_facecolor(), (len(adjacency), 4))
    names = labels if labels is not None else range(len(adjacency))
    for node, (name, shade) in enumerate(zip(names, shades, strict=False)):
        ax.text(*place[node], str(name), ha="center", va="center", fontsize=10, weight="bold",
                color=letters_on(shade))  # fmt: skip
    ax.set_axis_off()
    ax.margins(0.15)
    ax.set_title(title or "")
    return ax


def attention_map(
    weights: Tensor, *, rows: Sequence[str] | None = None, columns: Sequence[str] | None = None,
    title: str | None = None, limits: tuple[float, float] | None = (0.0, 1.0),
    numbers: bool | None = None, row_label: str = "query i", column_label: str = "key j",
    ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Shows ``weights`` ``[N, M]``: row i is what query i takes from each key j.

    Args:
        numbers: write each weight in its cell; by default where there are at most 8 columns.
        limits: the values at the ends of the colours; None for the data's own.
    """
    ax = ax or plt.subplots(figsize=(3.6, 3.2))[1]
    weights = weights.detach().float().cpu().numpy()
    low, high = limits or (float(weights.min()), float(weights.max()))
    image = ax.imshow(weights, cmap=SEQUENTIAL, vmin=low, vmax=high, aspect="auto")
    ax.grid(visible=False)
    for axis, names in ((ax.yaxis, rows), (ax.xaxis, rows if columns is None else columns)):
        if names is not None:
            axis.set_ticks(range(len(names)), labels=[str(name) for name in names])
    ax.set(xlabel=column_label, ylabel=row_label)
    if numbers or (numbers is None and weights.shape[1] <= 8):
        for (i, j), weight in np.ndenumerate(weights):
            color = letters_on(image.to_rgba(weight))
            ax.text(j, i, f"{weight:.2f}", ha="center", va="center", color=color, fontsize=10)
    ax.set_title(title or "", color=INK)
    return ax


Box = tuple[float, float, str, str]


def diagram(
    boxes: dict[str, Box], arrows: str, *, alt: str, height: float, width: float = 1.45,
    skips: dict[tuple[str, str], float] | None = None,
):  # fmt: skip
    """The data flow of a layer, from bottom to top.

    Args:
        boxes: by name, the centre (x, y) in inches, the label, and its meaning, a key of FILL.
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
        corner, height = (x - width / 2, y - _height(label) / 2), _height(label)
        style = {"boxstyle": "round,pad=0,rounding_size=0.06", "fc": FILL[meaning], "ec": "none"}
        ax.add_patch(FancyBboxPatch(corner, width, height, zorder=2, **style))
        ax.text(x, y, label, ha="center", va="center", fontsize=10, color="#1b1d20", zorder=3)
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
    return show(figure, alt, trim=False)  # cut to the boxes, letters would shrink on a phone


def _height(label: str) -> float:
    return 0.18 + 0.18 * (label.count("\n") + 1)


def _arrow(ax, start: tuple[float, float], end: tuple[float, float]) -> None:
    arrow = {"arrowstyle": "-|>", "color": INK, "linewidth": 1.2, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", end, start, arrowprops=arrow, zorder=1)


class Table:
    """Columns and rows that read in a notebook, in the book and as text.

    Args:
        columns: the heads; the first column names things, the others are aligned to the right.
        rows: a cell for each column: text, a number (three decimals) or None ("—").
    """

    def __init__(self, columns: Sequence[str], rows: Sequence[Sequence[object]]):
        self.lines = [[str(cell) for cell in columns], *([_text(c) for c in row] for row in rows)]

    def _repr_html_(self) -> str:
        def row(line: Sequence[str], tag: str) -> str:
            sides = ["left", *["right"] * (len(line) - 1)]
            cells = (
                f'<{tag} style="text-align:{side};padding:.25em .8em">{escape(cell)}</{tag}>'
                for side, cell in zip(sides, line, strict=True)
            )
            return f"<tr>{''.join(cells)}</tr>"

        head, *rows = self.lines
        body = "".join(row(line, "td") for line in rows)
        return f"<table><thead>{row(head, 'th')}</thead><tbody>{body}</tbody></table>"

    def __repr__(self) -> str:
        widths = [max(map(len, column)) for column in zip(*self.lines, strict=True)]
        aligned = ((line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:]))
                   for line in self.lines)  # fmt: skip
        return "\n".join("  ".join(cells).rstrip() for cells in aligned)


class FormulaTable(Table):
    """A table whose cells may hold formulas, ``$…$``, and links: Markdown, which typesets them.

    In the book the cell needs ``markdown_format: myst`` among its ``mystnb`` settings.
    """

    _repr_html_ = None

    def _repr_markdown_(self) -> str:
        head, *rows = self.lines
        return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *rows])


table, formula_table = Table, FormulaTable


def over_seeds(values: Sequence[float], digits: int = 3) -> str:
    """Mean ± standard deviation over seeds, and how many seeds; one value as it is."""
    if len(values) == 1:
        return f"{values[0]:.{digits}f}"
    return f"{mean(values):.{digits}f} ± {stdev(values):.{digits}f} ({len(values)} seeds)"


def _text(cell: object) -> str:
    if cell is None:
        return "—"
    return f"{cell:.3f}" if isinstance(cell, float) else str(cell)
