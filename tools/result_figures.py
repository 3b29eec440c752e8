"""The figures of the pages with results and benchmarks, drawn from their records.

python -m tools.result_figures write    draw them
python -m tools.result_figures check    they show today's records
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from gtcourse.plots.style import INK, MEANING, use_style
from gtcourse.training.records import Result, read_results, results
from gtcourse.training.simple import line_to_beat
from tools.paths import ROOT
from tools.tables import benchmark

FOLDER = ROOT / "book" / "results"
STATIC = ROOT / "book" / "_static"
PAPER, OURS = MEANING["paper"], MEANING["ours"]
LINES = {name: line_to_beat("zinc")[name] for name in
         ("ridge on atom counts", "ridge on Morgan counts")}  # fmt: skip


def zinc_runs() -> list[Result]:
    """The recipes with a run, by the paper's error."""
    found = [r for r in results(read_results([FOLDER]), "zinc") if r.records]
    return sorted(found, key=lambda result: result.paper[0])


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
    for name, error in LINES.items():
        ax.axvline(error, color=INK, linestyle=":", linewidth=1.2)
        ax.annotate(name, (error, len(found) - 0.45), rotation=90, fontsize=9, ha="left",
                    va="top", color=INK)  # fmt: skip
    ax.set(xscale="log", xlabel="test MAE on ZINC (lower is better)", ylim=(-0.6, len(found) - 0.4))
    ax.set_xticks([0.05, 0.1, 0.2, 0.5, 1, 2], labels=["0.05", "0.1", "0.2", "0.5", "1", "2"])
    ax.minorticks_off()
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2)


def bars(axes: Sequence[Axes], rows: list[dict]) -> None:
    """Time and memory of a training step, the fastest model first."""
    colors = [MEANING["paper"] if row["peer"] else OURS for row in rows]
    columns = (("step, ms", step_ms), ("peak memory, MiB", lambda row: row["peak_mb"]))
    for ax, (label, value) in zip(axes, columns, strict=True):
        found = ax.barh([row["model"] for row in rows], [*map(value, rows)], color=colors)
        ax.bar_label(found, fmt="%.0f", padding=3, fontsize=9)
        ax.set(xlabel=label, xlim=(0, 1.2 * max(map(value, rows))))
    axes[0].invert_yaxis()


def step_ms(row: dict) -> float:
    return row["step"]["ms"]


def measured(rows: list[dict]) -> str:
    return "; ".join(f"{row['model']}: {step_ms(row)} ms, {row['peak_mb']} MiB" for row in rows)


def shown(found: list[Result]) -> str:
    """What the figures of the runs show, as their description."""
    return "; ".join(
        f"{name_of(r)}: paper {r.paper[0]:g}, ours {mean(r.values):.3f}" for r in found
    )


def path_of(name: str) -> Path:
    return STATIC / f"results-{name}.svg"


def main() -> int:
    runs, rows = zinc_runs(), sorted(benchmark()["rows"], key=step_ms)
    figures = {
        "dots": (dots, runs, shown(runs), {"figsize": (5.7, 4.2)}),
        "models": (bars, rows, measured(rows), {"ncols": 2, "sharey": True, "figsize": (7.2, 3.8)}),
    }
    if sys.argv[1:] == ["write"]:
        use_style()
        for name, (draw, found, description, layout) in figures.items():
            figure, axes = plt.subplots(**layout)
            draw(axes, found)
            metadata = {"Date": None, "Description": description}
            figure.savefig(path_of(name), format="svg", metadata=metadata)
            plt.close(figure)
    stale = [
        name
        for name, (_, _, description, _) in figures.items()
        if not path_of(name).exists() or description not in path_of(name).read_text()
    ]
    for name in stale:
        print(f"{path_of(name).name} does not show today's records; make tables draws it")
    return int(bool(stale))


if __name__ == "__main__":
    sys.exit(main())
