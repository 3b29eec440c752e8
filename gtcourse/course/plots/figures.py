"""The style of the book's figures, and the figures: graphs, attention, diagrams and tables.

Colours and sizes are legible on white and near-black, on a phone and on paper.
"""

from __future__ import annotations

import io
import json
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
from matplotlib.collections import QuadMesh
from matplotlib.colors import Colormap, LinearSegmentedColormap, to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle
from matplotlib.path import Path
from matplotlib.textpath import TextPath
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

MODELS = {
    "Transformer": INK,
    "GAT": "#ca8044",
    "GIN": "#c2273b",
    "GatedGCN": "#2f98d8",
    "SignNet": "#8422f7",
    "Graphormer": "#3965d2",
    "EGT": "#ed710b",
    "GRPE": "#4d8c60",
    "CSA": "#ae419c",
}
"""The colour of each model in every picture of the book; the plain Transformer is the ink's grey.

The hues have a contrast of 3 on white and on the book's dark page, and people with each common
colour blindness can tell any two of them apart.
"""


def model_color(name: str) -> str:
    """The colour of a model or of one of its variants, such as "EGT-U", "csa-rings" or "gat-100k".

    Raises:
        ValueError: ``name`` does not begin with a name in MODELS.
    """
    known = {"bag": MODELS["Transformer"]} | {each.lower(): MODELS[each] for each in MODELS}
    fitting = [each for each in known if str(name).lower().startswith(each)]
    if not fitting:
        raise ValueError(
            f"the model is {name!r}; expected a name that begins with one of {', '.join(MODELS)}."
        )
    return known[max(fitting, key=len)]


MOST_NUMBERED = 12  #: rows or columns of a map without names, each of which has its number
WIDEST = 5.7  #: inches; on a phone of 390 px, labels of 10 points are then 9.2 px high

# Tables of numbers are drawn on the page itself: 0 is transparent, and the colours at the ends have
# the same contrast with white as with near-black.
SEQUENTIAL = LinearSegmentedColormap.from_list("weights", ["#e0812d00", "#d96d1cb0", "#c2540f"])
DIVERGING = LinearSegmentedColormap.from_list(
    "signed", ["#2a78bd", "#3f8fd0b0", "#8a8f9800", "#d96d1cb0", "#c2540f"]
)

PALE = LinearSegmentedColormap.from_list("pale", ["#bfb9ad", "#dfa95c", "#e8792f"])
"""The colours of nodes, from grey to orange: opaque, and light enough for an atom's letter."""

TWO_SIDED = LinearSegmentedColormap.from_list("two-sided", ["#3f8fd0", "#bfb9ad", "#e8792f"])
"""PALE for values with a sign: blue below zero, grey, orange above."""

LEVELS = 16
"""Steps of PALE and TWO_SIDED that ``book.css`` replaces by another colour on a dark page."""

LETTERS = "#010203"
"""The colour of text on a table, or on a node near zero: the page's strongest ink."""

DARK_LETTERS = "#2b2118"
"""The colour of text on a node far from zero, which is light on either page."""

PLATE = "#fdfefc"
"""What lies behind a legend or the name of a line, on a page the colour of the page itself."""


def use_style() -> None:
    """Sets matplotlib to the book's style; figures in notebooks become deterministic SVG."""
    plt.style.use("gtcourse.course.plots.book")
    inked = "text.color axes.labelcolor axes.edgecolor axes.titlecolor xtick.color ytick.color "
    plt.rcParams.update(dict.fromkeys((inked + "grid.color legend.labelcolor").split(), INK))
    plt.rcParams["axes.prop_cycle"] = matplotlib.cycler(color=list(COLORS.values()))
    plt.rcParams["figure.figsize"] = (WIDEST, 3.0)
    plt.rcParams["legend.facecolor"] = PLATE


def show(figure: Figure, alt: str, *, trim: bool = True):
    """Displays a figure as SVG that scales to the page, and closes it.

    ``alt`` describes the figure for readers who cannot see it; ``trim`` cuts off the margins.
    """
    from IPython.display import HTML

    for ax in figure.axes:
        if ax.images:
            ax.spines[:].set_visible(True)  # zeros are as the page, so a table has a frame
        for mesh in ax.collections:
            if isinstance(mesh, QuadMesh):  # a colour bar: one image instead of 256 paths
                mesh.set_rasterized(True)
    text = io.StringIO()
    with plt.rc_context({"savefig.bbox": "tight" if trim else "standard"}):
        figure.savefig(text, format="svg", metadata={"Date": None}, dpi=200)
    plt.close(figure)
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text.getvalue(), flags=re.DOTALL)
    svg = re.sub(r">\s+<", "><", svg)
    places = r"\b(?:d|x|y|width|height)=\"[^\"]*\"|translate\([^)]*\)"
    return HTML(accessible_svg(re.sub(places, _rounded, svg), alt))


def _rounded(places: re.Match) -> str:
    """Positions to a hundredth of a point."""
    text = re.sub(r"\s*\n\s*", " ", places[0])
    return re.sub(r"\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}", text)


def _of_page(color: re.Match) -> str:
    return OF_PAGE.get(color[0].lower(), color[0])


def accessible_svg(svg: str, alt: str) -> str:
    """The ``<svg>`` element, named by ``alt``, as wide as the page allows up to its own size.

    On a phone it shrinks to 0.59 of its size but no further, so that its labels stay readable. A
    figure that is still too wide scrolls inside its own box.
    """
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"#[0-9a-f]{6}\b", _of_page, svg, flags=re.IGNORECASE)
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


FILL = {
    "node": "#a9cdf0",
    "edge": "#f6c893",
    "bias": "#e9b3d2",
    "gate": "#eeda92",
    "value": "#a5dcc5",
    "op": "#dcdfe3",  # an operation on what comes in
}
"""The hues of MEANING, light enough for the dark letters of a diagram's boxes."""

BOX_LETTERS = "#1b1d20"

OF_PAGE = {
    INK: PAGE_INK,
    LETTERS: "var(--gtcourse-letters, currentColor)",
    BOX_LETTERS: f"var(--gtcourse-box-letters, {BOX_LETTERS})",
    PLATE: "var(--pst-color-background, transparent)",
} | {fill: f"var(--gtcourse-{name}, {fill})" for name, fill in FILL.items()}
"""Colours that ``book.css`` sets for a light and a dark page, each with its value elsewhere."""


def disc_color(colors: Colormap, share: float) -> str:
    """The colour of a node at a share of a colour map; on a dark page, zero is dark."""
    own = to_hex(colors(share))
    if colors.name not in (PALE.name, TWO_SIDED.name):
        return own
    level = round(LEVELS * min(max(share, 0.0), 1.0))
    return f"var(--gtcourse-{colors.name}-{level}, {own})"


def disc_letters(colors: Colormap, share: float) -> str:
    """The colour of the text on such a node."""
    far = abs(2 * share - 1) if colors.name == TWO_SIDED.name else share
    return DARK_LETTERS if far > 0.65 else LETTERS


OF_PAGE |= {  # matplotlib writes colours; RDKit's discs are coloured one by one
    to_hex(colors(share)): disc_color(colors, share)
    for colors in (TWO_SIDED, PALE)  # grey and orange of both are the same
    for share in np.arange(colors.N) / (colors.N - 1)
}


def luminance(color: Sequence[float]) -> float:
    """Of red, green and blue, each from 0 to 1, as WCAG defines it."""
    linear = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color[:3])
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def letters_on(color: Sequence[float]) -> str:
    """Black or white, whichever has a contrast of 4.5 or more on the colour."""
    return "black" if luminance(color) > 0.18 else "white"


def word_color(color: str) -> str:
    """A colour in which words can be read on white; on a page, it follows light and dark."""
    red, green, blue = to_rgb(color)
    shares = (share / 100 for share in range(98, 0, -2))
    darker = ((share * red, share * green, share * blue) for share in shares)
    return to_hex(next(each for each in darker if luminance(each) <= 0.18))


OF_PAGE |= {
    word_color(color): f"color-mix(in srgb, {color} 72%, var(--gtcourse-letters, currentColor))"
    for color in (*COLORS.values(), *MODELS.values())
    if color != INK
}


def name_line(
    ax: Axes,
    name: str,
    at: tuple[float, float],
    *,
    color: str = INK,
    shift: tuple[float, float] = (6, 0),
    side: str = "left",
) -> None:
    """Writes the name of a line beside one of its points.

    Args:
        ax: The axes of the line.
        name: The text.
        at: The point, in data coordinates.
        color: The colour of the line.
        shift: From the point to the name, in typographic points.
        side: The side of the name that touches the shifted point: "left", "right" or "center".
    """
    place = {"xytext": shift, "textcoords": "offset points", "ha": side, "va": "center"}
    plate = {"facecolor": PLATE, "edgecolor": "none", "pad": 0.8}
    ink = color if color == INK else word_color(color)
    ax.annotate(name, at, color=ink, bbox=plate, **place)


def draw_graph(
    adjacency: Tensor,
    *,
    positions: np.ndarray | None = None,
    values: Sequence[float] | None = None,
    colors: Sequence[str] | str | None = None,
    labels: Sequence[str] | None = None,
    limits: tuple[float, float] | None = None,
    cmap: str | Colormap = PALE,
    node_size: float = 420,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draws a graph; the same graph gets the same layout each time.

    Args:
        adjacency: ``[n, n]``; an arrow where an edge goes one way only.
        positions: ``[n, 2]``; a spring layout from a fixed start by default.
        values: a number for each node, shown as its colour on ``cmap`` within ``limits``.
        colors: the colours themselves, in place of ``values``.
        labels: written on the nodes; their numbers, from 0, by default.

    Raises:
        ValueError: The adjacency is not one of a graph, or another argument does not fit it.
    """
    import networkx as nx

    adjacency = torch.as_tensor(adjacency).bool().cpu().numpy()
    n = len(adjacency) if adjacency.ndim else 0
    for what, given, expected in (
        ("adjacency", adjacency, (n, n)),
        ("positions", positions, (n, 2)),
        ("values", values, (n,)),
    ):
        if given is not None and np.shape(given) != expected:
            raise ValueError(f"{what} is {[*np.shape(given)]}; expected {[*expected]}.")
    if labels is not None and len(labels) != n:
        raise ValueError(f"labels has {len(labels)} entries; expected one for each of {n} nodes.")
    if colors is not None and values is not None:
        raise ValueError("colors has no effect beside values; expected one of the two.")
    if limits is not None and values is None:
        raise ValueError("limits has no effect without values; expected values as well.")
    ax = ax or plt.subplots(figsize=(3.2, 3.0))[1]
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
    discs.set_clip_on(False)  # a node at the edge of a flat picture stays whole
    discs.update_scalarmappable()
    shades = np.broadcast_to(discs.get_facecolor(), (len(adjacency), 4))
    letters = [letters_on(shade) for shade in shades]
    if values is not None:
        shares = discs.norm(np.asarray(values, dtype=float))
        letters = [disc_letters(discs.cmap, float(share)) for share in shares]
    names = labels if labels is not None else range(len(adjacency))
    for node, (name, color) in enumerate(zip(names, letters, strict=True)):
        ax.text(
            *place[node],
            str(name),
            ha="center",
            va="center",
            weight="bold",
            color=color,
        )
    ax.set_axis_off()
    ax.margins(0.15)
    ax.set_title(title or "")
    return ax


def layout(adjacency: np.ndarray) -> np.ndarray:
    """The positions of a graph's nodes, ``[n, 2]``; nodes near in the graph are drawn near.

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
    """Shows ``weights`` ``[N, M]``: row i has the weights of query i over the keys j.

    Cells whose value is NaN are hatched.

    Args:
        weights: ``[N, M]``.
        rows: Names of the rows; by default their numbers, if there are at most 12.
        columns: Names of the columns; by default those of the rows.
        title: The text above the picture.
        limits: The values at the ends of the colour map; None for the smallest and the largest.
        numbers: Whether each weight is written in its cell; by default with at most 8 columns.
        row_label: What the rows are.
        column_label: What the columns are.
        ax: Where to draw; by default a new figure.

    Raises:
        ValueError: ``weights`` is no such tensor.
    """
    if not isinstance(weights, Tensor) or weights.dim() != 2:
        given = list(weights.shape) if isinstance(weights, Tensor) else type(weights).__name__
        raise ValueError(f"weights is {given}; expected a tensor [N, M], of one graph and head.")
    ax = ax or plt.subplots(figsize=(3.6, 3.2))[1]
    weights = weights.detach().float().cpu().numpy()
    low, high = limits or (float(weights.min()), float(weights.max()))
    ax.imshow(weights, cmap=SEQUENTIAL, vmin=low, vmax=high, aspect="auto")
    ax.grid(visible=False)
    for i, j in np.argwhere(np.isnan(weights)):
        style = {"fill": False, "hatch": "////", "edgecolor": INK, "linewidth": 0, "alpha": 0.35}
        ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, **style))
    given = (rows, rows if columns is None else columns)
    for axis, names, size in zip((ax.yaxis, ax.xaxis), given, weights.shape, strict=True):
        if names is None and size <= MOST_NUMBERED:
            names = range(size)
        if names is not None:
            axis.set_ticks(range(len(names)), labels=[str(name) for name in names])
    ax.set(xlabel=column_label, ylabel=row_label)
    if numbers or (numbers is None and weights.shape[1] <= 8):
        for (i, j), weight in np.ndenumerate(weights):
            ax.text(j, i, f"{weight:.2f}", ha="center", va="center", color=LETTERS)
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
    """The ladder of blindness, in the same form in every chapter.

    On the left are two graphs, or two views of one. On the right are, for each model so far, the
    error floor of its representation, its training error and its test error.

    Args:
        pair: two adjacency matrices, ``[n, n]``.
        rungs: the result of :func:`gtcourse.course.blindness.ladder` for this chapter.
        line: the test error of the line to beat.
        colours: a number for each node of each graph; equal numbers get the same colour.
        labels: what is written on each node.
        positions: ``[n, 2]`` for each graph; a fixed layout by default.
        current: the models of this chapter, which stand out.
        alt: a description of what it shows.
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
        ax.set_title(titles[n])
    ax = figure.add_subplot(grid[:, 1])
    standing_out = set(current) if len(current) < len(rungs) else set()
    for row, each in enumerate(rungs):
        color = model_color(each.model)
        new = each.model in standing_out
        size = {"markersize": 8 if new else 6}
        ax.plot([each.floor, each.test], [row, row], color=color, linewidth=2 if new else 1)
        ax.plot(each.floor, row, color=color, marker="|", markersize=13, markeredgewidth=2.5)
        ax.plot(each.train, row, color=color, marker="o", fillstyle="none", **size)
        ax.plot(each.test, row, color=color, marker="o", **size)
    ax.axvline(line, color=INK, linestyle="--", linewidth=1)
    ax.set_yticks(range(len(rungs)), labels=[each.model for each in rungs])
    for name in ax.get_yticklabels():
        name.set_fontweight("bold" if name.get_text() in standing_out else "normal")
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
    figure.legend(loc="outside upper center", **keys)
    return show(figure, alt)


Box = tuple[float, float, str, str]
Point = tuple[float, float]

KEYS = {
    "node": "nodes",
    "edge": "edges, pairs",
    "bias": "logit terms",
    "gate": "gate",
    "value": "values",
    "op": "operation",
}
"""What the colours of FILL are called below a diagram."""

BELOW = 0.4  #: inches, of the line that names the colours
ASIDE = 0.08  #: inches, between arrows that leave and enter a box at the same side
ROUNDING = 0.09  #: inches, of the corners of an arrow
BRIDGE = 0.065  #: inches, the radius of the arc by which a level arrow crosses an upright one


def diagram(
    boxes: dict[str, Box],
    arrows: str,
    *,
    alt: str,
    height: float,
    width: float = 1.45,
    skips: dict[tuple[str, str], float] | None = None,
):
    """The data flow of a layer, from bottom to top. Its colours are named below it.

    An arrow is vertical if one box is above the other, horizontal if they are side by side, and has
    one corner otherwise.

    In the drawing, a box has the id "box NAME", its label "label NAME", and an arrow
    "arrow START > END". The attribute ``data-labels`` has the labels by name, as JSON. With these
    the book's pages show what a box is computed from.

    Args:
        boxes: by name, the centre (x, y) in inches, the label, and its meaning, a key of FILL.
        arrows: chains of boxes, such as ``"h > query > logits, mask > logits"``.
        alt: a description of the flow.
        height: of the flow, in inches; width: of a box.
        skips: arrows that leave and enter at a side, with the x at which they run upwards.
    """
    figure, ax = plt.subplots(figsize=(WIDEST, height + BELOW), layout="none")
    ax.set_position((0, 0, 1, 1))
    ax.set(xlim=(0, WIDEST), ylim=(-BELOW, height))
    ax.axis("off")
    for name, (x, y, label, meaning) in boxes.items():
        tall = _height(label)
        rounding = min(tall / 2, 0.2) if meaning == "op" else 0.06  # an operation is not a tensor
        style = {
            "boxstyle": f"round,pad=0,rounding_size={rounding}",
            "facecolor": FILL[meaning],
            "edgecolor": MEANING.get(meaning, INK),
            "linewidth": 1,
        }
        corner = (x - width / 2, y - tall / 2)
        box = ax.add_patch(FancyBboxPatch(corner, width, tall, zorder=2, **style))
        box.set_gid(f"box {name}")
        centred = {"ha": "center", "va": "center", "fontsize": 10, "color": BOX_LETTERS}
        letters = ax.text(x, y, label, zorder=3, **centred)
        letters.set_gid(f"label {name}")
    chains = [chain.split(" > ") for chain in arrows.split(", ") if chain]
    ends = [pair for chain in chains for pair in pairwise(chain)]
    ways = {(start, end): _route(boxes, start, end, width) for start, end in ends}
    for (start, end), lane in (skips or {}).items():
        x0, y0, *_ = boxes[start]
        x1, y1, *_ = boxes[end]
        out, into = (width / 2 if lane > x else -width / 2 for x in (x0, x1))
        y0 += ASIDE
        ways[start, end] = [(x0 + out, y0), (lane, y0), (lane, y1), (x1 + into, y1)]
    for (start, end), way in ways.items():
        others = [ways[pair] for pair in ways if pair != (start, end)]
        arrow = _arrow(ax, way, bridges=_crossings(way, others))
        arrow.set_gid(f"arrow {start} > {end}")
    _name_colors(ax, {meaning for *_, meaning in boxes.values()})
    drawing = show(figure, alt, trim=False)  # cut to the boxes, letters would shrink on a phone
    labels = json.dumps({name: label for name, (_, _, label, _) in boxes.items()})
    drawing.data = f'<div class="diagram" data-labels="{escape(labels)}">{drawing.data}</div>'
    return drawing


def _height(label: str) -> float:
    return 0.18 + 0.18 * (label.count("\n") + 1)


def _name_colors(ax: Axes, used: set[str]) -> None:
    """A line below the flow: a small box of each colour, and what it stands for."""
    x = 0.05
    for meaning in (meaning for meaning in KEYS if meaning in used):
        style = {"facecolor": FILL[meaning], "edgecolor": MEANING.get(meaning, INK)}
        rounding = 0.07 if meaning == "op" else 0.03
        box = f"round,pad=0,rounding_size={rounding}"
        ax.add_patch(FancyBboxPatch((x, -0.31), 0.2, 0.14, boxstyle=box, linewidth=1, **style))
        ax.text(x + 0.26, -0.24, KEYS[meaning], va="center_baseline", fontsize=10)
        x += 0.26 + TextPath((0, 0), KEYS[meaning], size=10).get_extents().x1 / 72 + 0.1


def _route(boxes: dict[str, Box], start: str, end: str, width: float) -> list[Point]:
    """The corners of an arrow from one box to another, clear of all others where there is a way."""
    x0, y0, label0, _ = boxes[start]
    x1, y1, label1, _ = boxes[end]
    half0 = _height(label0) / 2
    half1 = _height(label1) / 2
    side = width / 2 if x1 > x0 else -width / 2
    low = max(y0 - half0, y1 - half1)
    high = min(y0 + half0, y1 + half1)
    if low < high:  # side by side: the arrow runs level, where both boxes are
        level = (low + high) / 2
        return [(x0 + side, level), (x1 - side, level)]
    inset = 0.2  # an arrow keeps this far from a box's corners
    left = max(x0, x1) - width / 2 + inset
    right = min(x0, x1) + width / 2 - inset
    if left <= right:
        x = (left + right) / 2
        straight = [(x, y0 + half0), (x, y1 - half1)]
        if _clear(straight, boxes, (start, end), width):
            return straight
    out = x0 + side - inset * np.sign(side)  # up beside the centre, and into the other's side
    into = x1 - side + inset * np.sign(side)  # out at the side, and up into the other
    ways = [
        [(out, y0 + half0), (out, y1 - ASIDE), (x1 - side, y1 - ASIDE)],
        [(x0 + side, y0), (into, y0), (into, y1 - half1)],
        [(x0 + side, y0), (x1, y0), (x1, y1 - half1)],
    ]
    clear = [way for way in ways if _clear(way, boxes, (start, end), width)]
    return clear[0] if clear else [(x0, y0 + half0), (x1, y1 - half1)]


def _clear(way: list[Point], boxes: dict[str, Box], but: tuple[str, str], width: float) -> bool:
    """Whether level and upright pieces of a way miss all boxes but two by 0.05 inches."""
    for name, (x, y, label, _) in boxes.items():
        if name in but:
            continue
        beside = width / 2 + 0.05
        above = _height(label) / 2 + 0.05
        for (x0, y0), (x1, y1) in pairwise(way):
            apart = min(x0, x1) > x + beside or max(x0, x1) < x - beside
            if not (apart or min(y0, y1) > y + above or max(y0, y1) < y - above):
                return False
    return True


def _crossings(way: list[Point], others: list[list[Point]]) -> list[Point]:
    """Where the level pieces of an arrow cross upright pieces of others, away from all ends."""
    found = []
    apart = BRIDGE + 0.02
    for (x0, y0), (x1, y1) in pairwise(way):
        if y0 != y1:
            continue
        for (u0, v0), (u1, v1) in (piece for other in others for piece in pairwise(other)):
            over = min(x0, x1) + apart < u0 < max(x0, x1) - apart
            if u0 == u1 and over and min(v0, v1) + 0.02 < y0 < max(v0, v1) - 0.02:
                found.append((u0, y0))
    return found


def _arrow(ax: Axes, way: Sequence[Point], *, bridges: Sequence[Point] = ()) -> FancyArrowPatch:
    """Draws an arrow along a way, with rounded corners and an arc over each bridge."""
    way = [np.asarray(point, dtype=float) for point in way]
    points = [way[0]]
    codes = [Path.MOVETO]

    def draw_to(end: np.ndarray) -> None:
        (x0, _), (x1, level) = points[-1], end
        forwards = 1 if x1 > x0 else -1
        crossed = [x for x, y in bridges if y == level and min(x0, x1) < x < max(x0, x1)]
        for x in sorted(crossed, key=lambda x: forwards * x):
            before, after = x - forwards * BRIDGE, x + forwards * BRIDGE
            above = level + 4 / 3 * BRIDGE  # two control points of half a circle
            points.extend([(before, level), (before, above), (after, above), (after, level)])
            codes.extend([Path.LINETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
        points.append(end)
        codes.append(Path.LINETO)

    for before, corner, after in zip(way, way[1:], way[2:], strict=False):
        shortened = []
        for other in (before, after):
            step = other - corner
            length = np.linalg.norm(step)
            shortened.append(corner + step * min(ROUNDING, length / 2) / length)
        draw_to(shortened[0])
        points.extend([corner, shortened[1]])
        codes.extend([Path.CURVE3, Path.CURVE3])
    draw_to(way[-1])
    style = {"arrowstyle": "-|>", "mutation_scale": 9, "color": INK, "linewidth": 1.2}
    arrow = FancyArrowPatch(path=Path(points, codes), shrinkA=0, shrinkB=0, zorder=1, **style)
    ax.add_patch(arrow)
    return arrow


class Table:
    """Columns and rows that are shown in a notebook, in the book and as text.

    The first column has names; the other columns are aligned to the right. A cell is text, a number
    (three decimals) or None ("—").
    """

    def __init__(self, columns: Sequence[str], rows: Sequence[Sequence[object]]):
        self.lines = [[str(cell) for cell in columns], *([_text(c) for c in row] for row in rows)]
        for line in self.lines:
            if len(line) != len(columns):
                raise ValueError(
                    f"the row {line} has {len(line)} cells; expected {len(columns)}, one for each "
                    "column."
                )

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
    """Mean ± standard deviation over seeds and the number of seeds; or the only value."""
    if len(values) == 1:
        return f"{values[0]:.{digits}f}"
    return f"{mean(values):.{digits}f} ± {stdev(values):.{digits}f} ({len(values)} seeds)"


def _text(cell: object) -> str:
    if cell is None:
        return "—"
    return f"{cell:.3f}" if isinstance(cell, float) else str(cell)
