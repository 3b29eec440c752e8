"""The book's look, and its figures: graphs, attention, a layer's diagram, and tables.

Colours and settings read on white and on near-black, on a phone and on paper.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from html import escape
from itertools import pairwise
from statistics import mean, stdev

import matplotlib
import numpy as np
import torch
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from torch import Tensor

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

WIDEST = 5.7  #: inches. On a phone of 390 px such a figure's labels of 10 points are 8 px high

ORANGES = ["#d8d3c8", "#e0ac62", "#e8792f", "#b8480f"]
SEQUENTIAL = LinearSegmentedColormap.from_list("oranges", ORANGES)  # of attention, wherever shown
DIVERGING = "RdBu_r"


def use_style() -> None:
    """Sets matplotlib to the book's look; figures of a notebook become SVG, byte for byte alike."""
    plt.style.use("gtcourse.course.plots.book")
    inked = "text.color axes.labelcolor axes.edgecolor axes.titlecolor xtick.color ytick.color "
    plt.rcParams.update(dict.fromkeys((inked + "grid.color legend.labelcolor").split(), INK))
    plt.rcParams["axes.prop_cycle"] = matplotlib.cycler(color=list(COLORS.values()))
    plt.rcParams["figure.figsize"] = (WIDEST, 3.0)


def show(figure: Figure, alt: str, *, trim: bool = True):
    """Displays a figure as SVG that scales to the page, and closes it.

    ``alt`` says what it shows to those who cannot see it; ``trim`` cuts off the margins.
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
    width = float(size[1])
    unit = size[2] or "px"
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
    adjacency: Tensor,
    *,
    positions: np.ndarray | None = None,
    values: Sequence[float] | None = None,
    colors: Sequence[str] | str | None = None,
    labels: Sequence[str] | None = None,
    limits: tuple[float, float] | None = None,
    cmap: str | Colormap = SEQUENTIAL,
    node_size: float = 420,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
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
        positions = layout(adjacency)
        ax.set_aspect("equal", adjustable="datalim")
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
        ax.text(
            *place[node],
            str(name),
            ha="center",
            va="center",
            fontsize=10,
            weight="bold",
            color=letters_on(shade),
        )
    ax.set_axis_off()
    ax.margins(0.15)
    ax.set_title(title or "")
    return ax


def layout(adjacency: np.ndarray) -> np.ndarray:
    """Where a graph's nodes are drawn, ``[n, 2]``: near in the graph is near on the page.

    The drawing extends furthest along the first axis.
    """
    import networkx as nx

    graph = nx.from_numpy_array((adjacency | adjacency.T).astype(int))
    found = nx.spring_layout(graph, seed=4, iterations=200)
    if nx.is_connected(graph) and len(graph) > 1:
        found = nx.kamada_kawai_layout(graph, pos=found)
    places = np.array([found[node] for node in graph])
    places -= places.mean(axis=0)
    _, _, axes = np.linalg.svd(places, full_matrices=False)
    return places @ axes.T


def attention_map(
    weights: Tensor,
    *,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    title: str | None = None,
    limits: tuple[float, float] | None = (0.0, 1.0),
    numbers: bool | None = None,
    row_label: str = "query i",
    column_label: str = "key j",
    ax: Axes | None = None,
) -> Axes:
    """Shows ``weights`` ``[N, M]``: row i is what query i takes from each key j.

    Each is written in its cell with ``numbers``, by default where there are at most 8 columns;
    ``limits`` are the values at the ends of the colours, None for the data's own.
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


def rung(
    pair: Sequence[Tensor],
    rungs: Sequence,
    *,
    line: float,
    titles: Sequence[str] = ("", ""),
    colours: Sequence[Sequence[int]] | None = None,
    labels: Sequence[Sequence[str]] | None = None,
    positions: Sequence[np.ndarray] | None = None,
    current: Sequence[str] = (),
    alt: str,
):
    """The ladder of blindness, the same picture in each chapter.

    On the left two graphs, or two views of one; on the right, for each model so far, the floor of
    its representation, its training error and its test error.

    Args:
        pair: two adjacency matrices, ``[n, n]``.
        rungs: of :func:`gtcourse.course.blindness.ladder`, from the first chapter to this one.
        line: the test error of the line to beat.
        colours: a number for each node of each graph; equal ones get one colour.
        labels: what is written on each node.
        positions: ``[n, 2]`` for each graph; a fixed layout by default.
        current: the models of this chapter, which are drawn in colour.
        alt: what it shows, in words.
    """
    height = max(3.0, 1.0 + 0.27 * len(rungs))
    figure = plt.figure(figsize=(WIDEST, height), layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=(1, 1.7))
    palette = list(COLORS.values())
    for n, adjacency in enumerate(pair):
        ax = figure.add_subplot(grid[n, 0])
        size = len(adjacency)
        numbers = colours[n] if colours is not None else [0] * size
        draw_graph(
            adjacency,
            ax=ax,
            node_size=min(180, 1600 / size),
            positions=None if positions is None else positions[n],
            colors=[palette[int(number) % len(palette)] for number in numbers],
            labels=[""] * size if labels is None else labels[n],
        )
        ax.set_title(titles[n], fontsize=10)
    ax = figure.add_subplot(grid[:, 1])
    for row, each in enumerate(rungs):
        color = COLORS["orange"] if each.model in current else INK
        ax.plot([each.floor, each.test], [row, row], color=color, linewidth=1, alpha=0.5)
        ax.plot(each.floor, row, color=color, marker="|", markersize=13, markeredgewidth=2.5)
        ax.plot(each.train, row, color=color, marker="o", fillstyle="none")
        ax.plot(each.test, row, color=color, marker="o")
    ax.axvline(line, color=INK, linestyle="--", linewidth=1)
    ax.set_yticks(range(len(rungs)), labels=[each.model for each in rungs])
    ax.set(xlim=(-0.03, 0.9), ylim=(len(rungs) - 0.4, -0.6), xlabel="mean absolute error")
    ax.grid(visible=False, axis="y")
    marks = {"floor": "|", "training": "o", "test": "o"}
    for name, marker in marks.items():
        fill = "none" if name == "training" else "full"
        ax.plot(
            [],
            [],
            color=INK,
            marker=marker,
            fillstyle=fill,
            linestyle="none",
            markeredgewidth=2.5 if marker == "|" else 1,
            label=name,
        )
    ax.plot([], [], color=INK, linestyle="--", linewidth=1, label="ridge, colours")
    keys = {"ncols": 4, "columnspacing": 1.2, "handlelength": 1.4, "handletextpad": 0.4}
    figure.legend(loc="outside upper center", fontsize=10, **keys)
    return show(figure, alt)


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
        corner = (x - width / 2, y - _height(label) / 2)
        height = _height(label)
        style = {"boxstyle": "round,pad=0,rounding_size=0.06", "fc": FILL[meaning], "ec": "none"}
        ax.add_patch(FancyBboxPatch(corner, width, height, zorder=2, **style))
        ax.text(x, y, label, ha="center", va="center", fontsize=10, color="#1b1d20", zorder=3)
    chains = [chain.split(" > ") for chain in arrows.split(", ") if chain]
    for start, end in (pair for chain in chains for pair in pairwise(chain)):
        x0, y0, label0, _ = boxes[start]
        x1, y1, label1, _ = boxes[end]
        half0 = _height(label0) / 2
        half1 = _height(label1) / 2
        low = max(y0 - half0, y1 - half1)
        high = min(y0 + half0, y1 + half1)
        if low < high:  # side by side: the arrow runs level, where both boxes are
            side = width / 2 if x1 > x0 else -width / 2
            _arrow(ax, (x0 + side, (low + high) / 2), (x1 - side, (low + high) / 2))
        else:
            _arrow(ax, (x0, y0 + half0), (x1, y1 - half1))
    for (start, end), lane in (skips or {}).items():
        x0, y0, *_ = boxes[start]
        x1, y1, *_ = boxes[end]
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

    The first column names things, the others are aligned to the right. A cell is text, a number
    (three decimals) or None ("—").
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
        aligned = []
        for line in self.lines:
            cells = [line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]
            aligned.append("  ".join(cells).rstrip())
        return "\n".join(aligned)


class FormulaTable(Table):
    """A table whose cells may hold formulas, ``$…$``, and links: Markdown, which typesets them.

    In the book the cell needs ``markdown_format: myst`` among its ``mystnb`` settings.
    """

    _repr_html_ = None

    def _repr_markdown_(self) -> str:
        head, *rows = self.lines
        return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *rows])


table = Table
formula_table = FormulaTable


def over_seeds(values: Sequence[float], digits: int = 3) -> str:
    """Mean ± standard deviation over seeds, and how many seeds; one value as it is."""
    if len(values) == 1:
        return f"{values[0]:.{digits}f}"
    return f"{mean(values):.{digits}f} ± {stdev(values):.{digits}f} ({len(values)} seeds)"


def _text(cell: object) -> str:
    if cell is None:
        return "—"
    return f"{cell:.3f}" if isinstance(cell, float) else str(cell)
