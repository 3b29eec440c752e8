"""Attention weights as a shaded table."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from torch import Tensor

from gtcourse.plots.style import INK, SEQUENTIAL, letters_on


def attention_map(
    weights: Tensor,
    *,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    title: str | None = None,
    limits: tuple[float, float] | None = (0.0, 1.0),
    numbers: bool | None = None,
    cmap: str = SEQUENTIAL,
    row_label: str = "query i",
    column_label: str = "key j",
    ax: Axes | None = None,
) -> Axes:
    """Shows ``weights`` ``[N, M]``: row i is what query i takes from each key j.

    Args:
        numbers: write each weight in its cell; by default where there are at most 8 columns.
        limits: the values at the ends of the colours; None for the data's own.
    """
    ax = ax or plt.subplots(figsize=(3.6, 3.2))[1]
    weights = weights.detach().float().cpu().numpy()
    low, high = limits or (float(weights.min()), float(weights.max()))
    image = ax.imshow(weights, cmap=cmap, vmin=low, vmax=high, aspect="auto")
    ax.grid(visible=False)
    columns = columns if columns is not None else rows
    for axis, names, length in (
        (ax.yaxis, rows, weights.shape[0]),
        (ax.xaxis, columns, weights.shape[1]),
    ):
        if names is not None:
            axis.set_ticks(range(length), labels=[str(name) for name in names])
    ax.set_xlabel(column_label)
    ax.set_ylabel(row_label)
    if weights.shape[1] <= 8 if numbers is None else numbers:
        for i, row in enumerate(weights.tolist()):
            for j, weight in enumerate(row):
                color = letters_on(image.to_rgba(weight))
                ax.text(j, i, f"{weight:.2f}", ha="center", va="center", color=color, fontsize=10)
    if title:
        ax.set_title(title, color=INK)
    return ax
