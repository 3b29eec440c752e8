"""Graphs as dots and lines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from torch import Tensor

from gtcourse.plots.style import COLORS, INK, SEQUENTIAL, letters_on


def draw_graph(
    adjacency: Tensor,
    *,
    positions: np.ndarray | None = None,
    values: Sequence[float] | None = None,
    colors: Sequence[str] | str | None = None,
    labels: Sequence[str] | None = None,
    limits: tuple[float, float] | None = None,
    cmap: str = SEQUENTIAL,
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
    adjacency = torch.as_tensor(adjacency).bool().cpu()
    directed = bool((adjacency != adjacency.T).any())
    graph = nx.from_numpy_array(
        adjacency.int().numpy(), create_using=nx.DiGraph if directed else nx.Graph
    )
    if positions is None:
        positions = layout(adjacency)
    style = {"node_color": colors or COLORS["sky"]}
    if values is not None:
        low, high = limits or (float(np.min(values)), float(np.max(values)))
        style = {"node_color": np.asarray(values), "cmap": cmap, "vmin": low, "vmax": high}
    place = dict(enumerate(positions))
    nx.draw_networkx_edges(graph, place, ax=ax, edge_color=INK, width=1.6, node_size=node_size)
    discs = nx.draw_networkx_nodes(
        graph, place, ax=ax, node_size=node_size, edgecolors=INK, linewidths=1.0, **style
    )
    names = dict(enumerate(labels if labels is not None else range(len(adjacency))))
    discs.update_scalarmappable()
    shades = np.broadcast_to(discs.get_facecolor(), (len(names), 4))
    for node, name in names.items():
        ax.text(*place[node], str(name), ha="center", va="center", fontsize=10, weight="bold",
                color=letters_on(shades[node]))  # fmt: skip
    ax.set_axis_off()
    ax.margins(0.15)
    if title:
        ax.set_title(title)
    return ax


def layout(adjacency: Tensor) -> np.ndarray:
    """Positions ``[n, 2]`` for a graph, the same each time."""
    import networkx as nx

    graph = nx.from_numpy_array(torch.as_tensor(adjacency).int().cpu().numpy())
    places = nx.spring_layout(graph, seed=4, iterations=200)
    return np.array([places[node] for node in graph])
