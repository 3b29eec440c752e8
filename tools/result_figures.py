"""The figures of the pages with results and benchmarks, drawn from their records.

python -m tools.result_figures write    draw them
python -m tools.result_figures check    they show today's records
"""

import sys
from collections.abc import Sequence
from statistics import mean, stdev
from typing import NamedTuple

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from gtcourse.course.leaderboard import line_to_beat
from gtcourse.course.plots.figures import COLORS, INK, MEANING, use_style
from gtcourse.course.records import recorded
from gtcourse.recipes import RECIPES
from gtcourse.runs.record import read_results, results
from tools.paths import ROOT
from tools.tables import RESULTS, benchmark

PAPER, OURS = MEANING["paper"], MEANING["ours"]
TICKS = [0.05, 0.1, 0.2, 0.5, 1]
BESIDE = {"gat-100k": (-9, -4), "gin": (9, 6), "gatedgcn-100k": (9, -7), "gin-100k": (-9, -6),
          "gatedgcn": (-9, -3), "gatedgcn-pe": (9, -6)}  # fmt: skip
"""Where labels would touch each other: their offsets from the dots, in points."""
STYLE = "svg{color:#5b6069}@media(prefers-color-scheme:dark){svg{color:#a7aeb8}}*{"
"""The ink of book.css: pictures follow the mode of the page that shows them."""


class Row(NamedTuple):
    """A recipe, the paper's mean and standard deviation, our values, and steps where drawn."""

    name: str
    paper: tuple[float, float | None]
    ours: list[float]
    steps: float | None = None

    def __str__(self) -> str:
        return f"{self.name}: paper {self.paper[0]:g}, ours {mean(self.ours):.3f}"


def rows_of(dataset: str) -> list[Row]:
    """The recipes that were run, by the paper's value."""
    runs = [result for result in results(read_results([RESULTS]), dataset) if result.records]
    rows = []
    for result in sorted(runs, key=lambda result: result.paper[0]):
        steps = mean(record.result["steps"] for record in result.records)
        rows.append(Row(result.recipe.name.split("/")[0], result.paper, result.values, steps))
    return rows


def cycles() -> list[Row]:
    """Each recipe for CYCLES with each number of training graphs."""
    return [
        Row(f"{name}, {size} graphs", paper, [r.result["test_accuracy"] for r in runs])
        for name in ("gin", "gin-pe", "gatedgcn", "gatedgcn-pe")
        for size, paper in RECIPES[f"{name}/cycles"].paper_result["test_accuracy"].items()
        for runs in [recorded(f"{name}/cycles-{size}")]
    ]


def dots(ax: Axes, rows: list[Row]) -> None:
    """One row for each recipe: the paper's value and ours, with standard deviations."""
    for y, row in enumerate(reversed(rows)):
        value, deviation = row.paper
        ax.errorbar(value, y + 0.12, xerr=deviation, fmt="o", color=PAPER, capsize=3)
        error = stdev(row.ours) if len(row.ours) > 1 else None
        ax.errorbar(mean(row.ours), y - 0.12, xerr=error, fmt="s", color=OURS, capsize=3)
    ax.set_yticks(range(len(rows)), [row.name for row in reversed(rows)])
    ax.plot([], [], "o", color=PAPER, label="printed")
    ax.plot([], [], "s", color=OURS, label="our runs")
    ax.set(xlabel="test accuracy (higher is better)", ylim=(-0.6, len(rows) - 0.4))
    ax.legend(loc="lower left", bbox_to_anchor=(-0.38, 1), ncols=2, columnspacing=1)


def errors(ax: Axes, rows: list[Row]) -> None:
    """The dots of ZINC between the errors of two linear fits."""
    dots(ax, rows)
    for name, side in (("ridge on Morgan counts", "right"), ("ridge on atom counts", "left")):
        error, above = line_to_beat("zinc")[name], {"xycoords": ("data", "axes fraction")}
        ax.axvline(error, color=INK, linestyle=":", linewidth=1.2)
        ax.annotate(name.replace("on ", "on\n"), (error, 1.02), ha=side, fontsize=9, **above)
    ax.set(xscale="log", xlabel="test MAE on ZINC (lower is better)")
    ax.set_xticks(TICKS, labels=[f"{tick:g}" for tick in TICKS])
    ax.minorticks_off()


def steps(ax: Axes, rows: list[Row]) -> None:
    """Each run at its number of optimizer steps, with a dashed line to its paper's error."""
    for row, color in zip(rows, [*COLORS.values()] * 2, strict=False):
        x, y = row.steps, mean(row.ours)
        ax.plot([x, x], [row.paper[0], y], "_--", color=color, markersize=12, linewidth=1)
        ax.plot(x, y, "o", color=color)
        place, style = BESIDE.get(row.name, (9, 4)), {"textcoords": "offset points"}
        side = "left" if place[0] > 0 else "right"
        ax.annotate(row.name, (x, y), place, fontsize=9, ha=side, **style)
    ax.set(xscale="log", yscale="log", xlabel="optimiser steps of our run", ylabel="test MAE")
    ax.set_xticks([1e4, 2e4, 5e4], labels=["10,000", "20,000", "50,000"])
    ax.set_yticks(TICKS[:-1], labels=[f"{tick:g}" for tick in TICKS[:-1]])
    ax.minorticks_off()
    ax.grid(axis="x", visible=False)
    ax.set_xlim(7e3, 7e4)


def bars(axes: Sequence[Axes], rows: list[dict]) -> None:
    """Time and memory of a training step, the fastest model first."""
    colors = [PAPER if row["peer"] else OURS for row in rows]
    columns = {
        "step, ms": [row["step"]["ms"] for row in rows],
        "peak memory, MiB": [row["peak_mb"] for row in rows],
    }
    for ax, (label, values) in zip(axes, columns.items(), strict=True):
        found = ax.barh([row["model"] for row in rows], values, color=colors)
        ax.bar_label(found, fmt="%.0f", padding=3, fontsize=9)
        ax.set(xlabel=label, xlim=(0, 1.2 * max(values)), ylim=(len(values) - 0.4, -0.6))
        ax.grid(axis="y", visible=False)


def main() -> int:
    zinc, models = rows_of("zinc"), sorted(benchmark()["rows"], key=lambda row: row["step"]["ms"])
    figures = {
        "dots": (errors, zinc, {"figsize": (5.7, 4.2)}),
        "pattern": (dots, rows_of("pattern"), {"figsize": (5.7, 1.6)}),
        "cycles": (dots, cycles(), {"figsize": (5.7, 5)}),
        "steps": (steps, zinc, {"figsize": (5.7, 4.6)}),
        "models": (bars, models, {"ncols": 2, "sharey": True, "figsize": (7.2, 3.8)}),
    }
    use_style()
    stale = 0
    for name, (draw, data, layout) in figures.items():
        path, shown = ROOT / "book" / "_static" / f"results-{name}.svg", "; ".join(map(str, data))
        if sys.argv[1:] == ["write"]:
            figure, axes = plt.subplots(**layout)
            draw(axes, data)
            figure.savefig(path, metadata={"Date": None, "Description": shown})
            path.write_text(path.read_text().replace(INK, "currentColor").replace("*{", STYLE, 1))
        elif not path.exists() or shown not in path.read_text():
            print(f"{path.name} does not show today's records; make tables draws it")
            stale += 1
    return int(stale > 0)


if __name__ == "__main__":
    sys.exit(main())
