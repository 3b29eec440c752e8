"""Learning curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from gtcourse.plots.style import COLORS, INK


def learning_curve(
    runs: Mapping[str, Sequence[Sequence[float]] | Sequence[float]],
    *,
    baselines: Mapping[str, float] | None = None,
    colors: Mapping[str, str] | None = None,
    x_label: str = "epoch",
    y_label: str = "validation MAE",
    ax: Axes | None = None,
) -> Axes:
    """A line for each entry of ``runs``: one curve, or several seeds as their mean and range.

    Args:
        runs: name to ``[epochs]`` or ``[seeds, epochs]``.
        baselines: name to a value, drawn as a dashed line.
        colors: name to a colour, for those that another figure shows as well.
    """
    ax = ax or plt.subplots()[1]
    for color, (name, values) in zip(COLORS.values(), runs.items(), strict=False):
        color = (colors or {}).get(name, color)
        curves = np.atleast_2d(np.asarray(values, dtype=float))
        epochs = np.arange(1, curves.shape[1] + 1)
        ax.plot(epochs, curves.mean(axis=0), color=color, label=name, linewidth=2)
        if len(curves) > 1:
            ax.fill_between(epochs, curves.min(axis=0), curves.max(axis=0), color=color, alpha=0.2)
    for style, (name, value) in zip(("--", ":", "-."), (baselines or {}).items(), strict=False):
        ax.axhline(value, color=INK, linestyle=style, linewidth=1.5)
        ax.annotate(name, (1, value), xycoords=("axes fraction", "data"), ha="right", va="bottom")
    ax.set_xlabel(x_label)
    ax.set_ylabel(y_label)
    ax.legend()
    return ax
