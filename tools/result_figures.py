"""The figures of the pages with results and benchmarks, drawn from their records.

python -m tools.result_figures write    draw them
python -m tools.result_figures check    they show today's records
"""

import sys
from collections.abc import Sequence
from statistics import mean, stdev

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from gtcourse.plots.style import COLORS, INK, MEANING, use_style
from gtcourse.training.results import Result, read_results, results
from gtcourse.training.simple import line_to_beat
from tools.paths import ROOT
from tools.tables import RESULTS, benchmark

PAPER, OURS = MEANING["paper"], MEANING["ours"]
SIMPLE = ("ridge on atom counts", "ridge on Morgan counts")
TICKS = [0.05, 0.1, 0.2, 0.5, 1, 2]
LABELS = [f"{tick:g}" for tick in TICKS]
BESIDE = {"gin-100k": (-6, -12)}
"""Where a label would lie on another, its offset in points."""


def name_of(result: Result) -> str:
    return result.recipe.name.removesuffix("/zinc")


def steps_of(result: Result) -> float:
    return mean(record.result["steps"] for record in result.records)


def dots(ax: Axes, found: list[Result]) -> None:
    """One row for each recipe: the paper's error and ours, with a standard deviation."""
    for row, result in enumerate(reversed(found)):
        value, deviation = result.paper
        ax.errorbar(value, row + 0.12, xerr=deviation, fmt="o", color=PAPER, capsize=3)
        values = result.values
        error = stdev(values) if len(values) > 1 else None
        ax.errorbar(mean(values), row - 0.12, xerr=error, fmt="s", color=OURS, capsize=3)
    ax.set_yticks(range(len(found)), [name_of(result) for result in reversed(found)])
    ax.plot([], [], "o", color=PAPER, label="paper")
    ax.plot([], [], "s", color=OURS, label="our run")
    for name in SIMPLE:
        error, style = line_to_beat("zinc")[name], {"fontsize": 9, "color": INK}
        ax.axvline(error, color=INK, linestyle=":", linewidth=1.2)
        place = (error, len(found) - 0.45)
        ax.annotate(name, place, rotation=90, ha="right", va="top", **style)
    ax.set(xscale="log", xlabel="test MAE on ZINC (lower is better)", ylim=(-0.6, len(found) - 0.4))
    ax.set_xticks(TICKS, labels=LABELS)
    ax.minorticks_off()
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2)


def steps(ax: Axes, found: list[Result]) -> None:
    """Each run at its number of optimiser steps, joined to its paper's error by a dashed line."""
    style = {"textcoords": "offset points", "fontsize": 9}
    for result, color in zip(found, [*COLORS.values()] * 3, strict=False):
        x, y = steps_of(result), mean(result.values)
        ax.plot([x, x], [result.paper[0], y], color=color, linestyle="--", linewidth=1)
        ax.plot(x, result.paper[0], "_", color=color, markersize=12, markeredgewidth=2)
        ax.plot(x, y, "o", color=color)
        place = BESIDE.get(name_of(result), (6, 3))
        side = "left" if place[0] > 0 else "right"
        ax.annotate(name_of(result), (x, y), place, ha=side, **style)
    error = line_to_beat("zinc")[SIMPLE[1]]
    ax.axhline(error, color=INK, linestyle=":", linewidth=1.2)
    edge = ax.get_yaxis_transform()
    ax.annotate(SIMPLE[1], (0, error), (4, -12), xycoords=edge, color=INK, **style)
    ax.set(xscale="log", yscale="log", xlabel="optimizer steps of our run", ylabel="test MAE")
    ax.set_yticks(TICKS, labels=LABELS)
    ax.minorticks_off()
    ax.set_xlim(ax.get_xlim()[0] / 2.5, ax.get_xlim()[1] * 3)


def bars(axes: Sequence[Axes], rows: list[dict]) -> None:
    """Time and memory of a training step, the fastest model first."""
    colors = [PAPER if row["peer"] else OURS for row in rows]
    columns = (("step, ms", step_ms), ("peak memory, MiB", lambda row: row["peak_mb"]))
    for ax, (label, value) in zip(axes, columns, strict=True):
        found = ax.barh([row["model"] for row in rows], [*map(value, rows)], color=colors)
        ax.bar_label(found, fmt="%.0f", padding=3, fontsize=9)
        ax.set(xlabel=label, xlim=(0, 1.2 * max(map(value, rows))))
    axes[0].invert_yaxis()


def step_ms(row: dict) -> float:
    return row["step"]["ms"]


def main() -> int:
    runs = [result for result in results(read_results([RESULTS]), "zinc") if result.records]
    runs.sort(key=lambda result: result.paper[0])
    rows = sorted(benchmark()["rows"], key=step_ms)
    shown = "; ".join(
        f"{name_of(r)}: paper {r.paper[0]:g}, ours {mean(r.values):.3f}, {steps_of(r):.0f} steps"
        for r in runs
    )
    measured = "; ".join(f"{r['model']}: {step_ms(r)} ms, {r['peak_mb']} MiB" for r in rows)
    figures = {
        "dots": (dots, runs, shown, {"figsize": (5.7, 4.2)}),
        "steps": (steps, runs, shown, {"figsize": (5.7, 4.0)}),
        "models": (bars, rows, measured, {"ncols": 2, "sharey": True, "figsize": (7.2, 3.8)}),
    }
    use_style()
    stale = 0
    for name, (draw, data, description, layout) in figures.items():
        path = ROOT / "book" / "_static" / f"results-{name}.svg"
        if sys.argv[1:] == ["write"]:
            figure, axes = plt.subplots(**layout)
            draw(axes, data)
            figure.savefig(path, metadata={"Date": None, "Description": description})
            plt.close(figure)
        elif not path.exists() or description not in path.read_text():
            print(f"{path.name} does not show today's records; make tables draws it")
            stale += 1
    return int(stale > 0)


if __name__ == "__main__":
    sys.exit(main())
