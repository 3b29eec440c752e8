"""The figures of the pages with results and benchmarks, drawn from their records.

python -m tools.result_figures write    draw them
python -m tools.result_figures check    they show today's records
"""

import sys
from collections.abc import Sequence
from statistics import mean, stdev

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from gtcourse.plots.figures import COLORS, INK, MEANING, use_style
from gtcourse.training.leaderboard import line_to_beat
from gtcourse.training.records import Result, read_results, results
from tools.paths import ROOT
from tools.tables import RESULTS, benchmark

PAPER, OURS = MEANING["paper"], MEANING["ours"]
TICKS = [0.05, 0.1, 0.2, 0.5, 1, 2]
BESIDE = {"gat-100k": (-9, -4), "gin": (9, 6), "gatedgcn-100k": (9, -7), "gin-100k": (-9, -6),
          "gatedgcn": (-9, -3), "gatedgcn-pe": (9, -6)}  # fmt: skip
"""Where labels would touch each other: their offsets from the dots, in points."""
STYLE = "svg{color:#5b6069}@media(prefers-color-scheme:dark){svg{color:#a7aeb8}}*{"
"""The ink of book.css: pictures follow the mode of the page that shows them."""


def name_of(result: Result) -> str:
    return result.recipe.name.removesuffix("/zinc")


def dots(ax: Axes, found: list[Result]) -> None:
    """One row for each recipe: the paper's error and ours, with a standard deviation."""
    for row, result in enumerate(reversed(found)):
        value, deviation = result.paper
        ax.errorbar(value, row + 0.12, xerr=deviation, fmt="o", color=PAPER, capsize=3)
        error = stdev(result.values) if len(result.values) > 1 else None
        ax.errorbar(mean(result.values), row - 0.12, xerr=error, fmt="s", color=OURS, capsize=3)
    ax.set_yticks(range(len(found)), [name_of(result) for result in reversed(found)])
    ax.plot([], [], "o", color=PAPER, label="paper")
    ax.plot([], [], "s", color=OURS, label="our run")
    for name, side in (("ridge on Morgan counts", "right"), ("ridge on atom counts", "left")):
        error, above = line_to_beat("zinc")[name], {"xycoords": ("data", "axes fraction")}
        ax.axvline(error, color=INK, linestyle=":", linewidth=1.2)
        ax.annotate(name.replace("on ", "on\n"), (error, 1.02), ha=side, fontsize=9, **above)
    ax.set(xscale="log", xlabel="test MAE on ZINC (lower is better)", ylim=(-0.6, len(found) - 0.4))
    ax.set_xticks(TICKS, labels=[f"{tick:g}" for tick in TICKS])
    ax.minorticks_off()
    ax.legend(loc="lower left", bbox_to_anchor=(-0.38, 1), ncols=2, columnspacing=1)


def steps(ax: Axes, found: list[Result]) -> None:
    """Each run at its number of optimizer steps, with a dashed line to its paper's error."""
    for result, color in zip(found, [*COLORS.values()] * 2, strict=False):
        x, y = mean(record.result["steps"] for record in result.records), mean(result.values)
        ax.plot([x, x], [result.paper[0], y], "_--", color=color, markersize=12, linewidth=1)
        ax.plot(x, y, "o", color=color)
        place, style = BESIDE.get(name_of(result), (9, 4)), {"textcoords": "offset points"}
        side = "left" if place[0] > 0 else "right"
        ax.annotate(name_of(result), (x, y), place, fontsize=9, ha=side, **style)
    ax.set(xscale="log", yscale="log", xlabel="optimiser steps of our run", ylabel="test MAE")
    ax.set_xticks([1e4, 2e4, 5e4], labels=["10,000", "20,000", "50,000"])
    ax.set_yticks(TICKS[:-2], labels=[f"{tick:g}" for tick in TICKS[:-2]])
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
    runs = [result for result in results(read_results([RESULTS]), "zinc") if result.records]
    runs.sort(key=lambda result: result.paper[0])
    rows = sorted(benchmark()["rows"], key=lambda row: row["step"]["ms"])
    shown = [f"{name_of(r)}: paper {r.paper[0]:g}, ours {mean(r.values):.3f}" for r in runs]
    measured = [f"{row['model']}: {row['step']['ms']} ms, {row['peak_mb']} MiB" for row in rows]
    figures = {
        "dots": (dots, runs, shown, {"figsize": (5.7, 4.2)}),
        "steps": (steps, runs, shown, {"figsize": (5.7, 4.6)}),
        "models": (bars, rows, measured, {"ncols": 2, "sharey": True, "figsize": (7.2, 3.8)}),
    }
    use_style()
    stale = 0
    for name, (draw, data, lines, layout) in figures.items():
        path, description = ROOT / "book" / "_static" / f"results-{name}.svg", "; ".join(lines)
        if sys.argv[1:] == ["write"]:
            figure, axes = plt.subplots(**layout)
            draw(axes, data)
            figure.savefig(path, metadata={"Date": None, "Description": description})
            path.write_text(path.read_text().replace(INK, "currentColor").replace("*{", STYLE, 1))
        elif not path.exists() or description not in path.read_text():
            print(f"{path.name} does not show today's records; make tables draws it")
            stale += 1
    return int(stale > 0)


if __name__ == "__main__":
    sys.exit(main())
