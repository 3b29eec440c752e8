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
BESIDE = {"gat-100k": (-6, 4), "gin": (6, 6), "gatedgcn-100k": (6, -7), "gin-100k": (-6, -6),
          "gatedgcn": (-6, -2), "gatedgcn-pe": (6, -6)}  # fmt: skip
"""Where labels would touch each other: their offsets from the dots, in points."""


def name_of(result: Result) -> str:
    return result.recipe.name.removesuffix("/zinc")


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
    for name in ("ridge on atom counts", "ridge on Morgan counts"):
        error, style = line_to_beat("zinc")[name], {"rotation": 90, "fontsize": 9, "color": INK}
        ax.axvline(error, color=INK, linestyle=":", linewidth=1.2)
        ax.annotate(name, (error, len(found) - 0.45), ha="left", va="top", **style)
    ax.set(xscale="log", xlabel="test MAE on ZINC (lower is better)", ylim=(-0.6, len(found) - 0.4))
    ax.set_xticks(TICKS, labels=[f"{tick:g}" for tick in TICKS])
    ax.minorticks_off()
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2)


def steps(ax: Axes, found: list[Result]) -> None:
    """Each run at its number of optimizer steps, with a dashed line to its paper's error."""
    for result, color in zip(found, [*COLORS.values()] * 2, strict=False):
        x, y = mean(record.result["steps"] for record in result.records), mean(result.values)
        ax.plot([x, x], [result.paper[0], y], "_--", color=color, markersize=12, linewidth=1)
        ax.plot(x, y, "o", color=color)
        place = BESIDE.get(name_of(result), (6, 3))
        side = "left" if place[0] > 0 else "right"
        style = {"textcoords": "offset points", "fontsize": 9, "ha": side}
        ax.annotate(name_of(result), (x, y), place, **style)
    ax.set(xscale="log", yscale="log", xlabel="optimizer steps of our run", ylabel="test MAE")
    ax.set_xticks([1e4, 2e4, 5e4], labels=["10,000", "20,000", "50,000"])
    ax.set_yticks(TICKS[:-2], labels=[f"{tick:g}" for tick in TICKS[:-2]])
    ax.minorticks_off()
    ax.set_xlim(7e3, 7e4)


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
    shown = [f"{name_of(r)}: paper {r.paper[0]:g}, ours {mean(r.values):.3f}" for r in runs]
    measured = [f"{row['model']}: {step_ms(row)} ms, {row['peak_mb']} MiB" for row in rows]
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
            plt.close(figure)
        elif not path.exists() or description not in path.read_text():
            print(f"{path.name} does not show today's records; make tables draws it")
            stale += 1
    return int(stale > 0)


if __name__ == "__main__":
    sys.exit(main())
