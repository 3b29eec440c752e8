"""The figures of the pages with results and benchmarks, drawn from their records.

python -m tools.result_figures write    draw them
python -m tools.result_figures check    they show today's records
"""

import sys
from collections.abc import Sequence
from itertools import accumulate
from statistics import mean, stdev
from typing import NamedTuple

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from gtcourse.course.leaderboard import BEST_SIMPLE, line_to_beat
from gtcourse.course.plots.figures import INK, PLATE, model_color, use_style
from gtcourse.runs.record import read_results, results
from tools.pages import experiment
from tools.paths import ROOT
from tools.result_tables import (
    AUTHORS,
    RESULTS,
    complete,
    curves,
    first_epoch_on_gpu,
    molecules_seen,
    share,
)
from tools.tables import benchmark

TICKS = [0.05, 0.1, 0.2, 0.5, 1]
POINTS = {"textcoords": "offset points"}
STYLE = (
    "svg{color:#5b6069;--page:#fff}"
    "@media(prefers-color-scheme:dark){svg{color:#a7aeb8;--page:#14181e}}*{"
)
"""Ink and ground of the book: pictures follow the mode of the page that shows them."""


class Row(NamedTuple):
    """A recipe, the paper's mean and standard deviation, our values, and their budget."""

    name: str
    paper: tuple[float, float | None]
    ours: list[float]
    complete: bool

    def __str__(self) -> str:
        return f"{self.name}: paper {self.paper[0]:g}, ours {mean(self.ours):.3f}"


def rows_of_zinc() -> list[Row]:
    """The recipes that were run on ZINC, by the paper's error."""
    runs = [result for result in results(read_results([RESULTS]), "zinc") if result.records]
    return [
        Row(result.recipe.name.split("/")[0], result.paper, result.values, complete(result))
        for result in sorted(runs, key=lambda result: result.paper[0])
    ]


class Line(NamedTuple):
    """A run by the molecules seen: its best validation error, its paper's budget and test error."""

    name: str
    seen: list[float]
    errors: list[float]
    paper: tuple[float, float]

    def __str__(self) -> str:
        return f"{self.name}: {self.errors[-1]:.3f} after {self.seen[-1]:.0f}, paper {self.paper}"


def shortened_runs() -> list[Line]:
    """The runs on ZINC that had less than the paper's budget, by the share of it."""
    ran = [result for result in results(read_results([RESULTS]), "zinc") if result.records]
    lines = []
    for result in sorted((r for r in ran if not complete(r)), key=share, reverse=True):
        record = result.records[0]
        seen = [(n + 1) * record.data["sizes"]["train"] for n in range(len(record.curve))]
        errors = [*accumulate((epoch["val_mae"] for epoch in record.curve), min)]
        published = (molecules_seen(result)[1], result.paper[0])
        lines.append(Line(result.recipe.name.split("/")[0], seen, errors, published))
    return lines


def dots(ax: Axes, rows: list[Row]) -> None:
    """One row for each recipe: the paper's error and ours, with standard deviations.

    Both lie on the row's line; where they agree, the square of ours is in the paper's disc. Two
    lines mark the errors of linear fits.
    """
    for y, row in enumerate(reversed(rows)):
        color = model_color(row.name)
        value, deviation = row.paper
        paper = {"fmt": "o", "markersize": 11, "color": color, "alpha": 0.45, "capsize": 3}
        ax.errorbar(value, y, xerr=deviation, **paper)
        error = stdev(row.ours) if len(row.ours) > 1 else None
        face = color if row.complete else "none"
        ours = {"fmt": "s", "markersize": 6, "color": color, "capsize": 3}
        ax.errorbar(mean(row.ours), y, xerr=error, markerfacecolor=face, zorder=3, **ours)
        ax.plot([value, mean(row.ours)], [y, y], color=color, linewidth=1)
    ax.set_yticks(range(len(rows)), [row.name for row in reversed(rows)])
    ax.plot([], [], "o", color=INK, markersize=11, alpha=0.45, label="paper")
    budgets_of_ours = {row.complete for row in rows}
    if True in budgets_of_ours:
        ax.plot([], [], "s", color=INK, label="complete run")
    if False in budgets_of_ours:
        ax.plot([], [], "s", color=INK, markerfacecolor="none", label="shortened run")
    # Above the names of the lines.
    ax.legend(loc="lower left", bbox_to_anchor=(-0.45, 1.1), ncols=3, columnspacing=0.8)
    for name, side in ((BEST_SIMPLE, "right"), ("ridge on atom counts", "left")):
        error = line_to_beat("zinc")[name]
        above = {"xycoords": ("data", "axes fraction")}
        ax.axvline(error, color=INK, linestyle=":", linewidth=1.2)
        ax.annotate(name.replace("on ", "on\n"), (error, 1.02), ha=side, **above)
    ax.set(xscale="log", xlabel="test MAE on ZINC (lower is better)")
    ax.set(ylim=(-0.6, len(rows) - 0.4))
    ax.set_xticks(TICKS, labels=[f"{tick:g}" for tick in TICKS])
    ax.minorticks_off()


def budgets(ax: Axes, lines: list[Line]) -> None:
    """Best validation error so far of each shortened run, and its paper at its budget."""
    colors = [model_color(line.name) for line in lines]
    for n, line in enumerate(lines):
        pale = colors[n] in colors[n + 1 :]  # of two recipes of a model
        look = {"color": colors[n], "alpha": 0.5 if pale else 1}
        ax.plot(line.seen, line.errors, linewidth=1.8, **look)
        end = (line.seen[-1], line.errors[-1])
        ax.plot(*zip(end, line.paper, strict=True), "--", linewidth=1.1, **look)
        ax.plot(*line.paper, "o", markerfacecolor="none", **look)
        beside = ((8, 0), "left")
        below = ((0, -12), "center")
        at, side = below if line.paper[0] <= 1e7 else beside  # where no other line passes
        ax.annotate(line.name, line.paper, at, ha=side, va="center", **POINTS)
    error = line_to_beat("zinc")[BEST_SIMPLE]
    ax.axhline(error, color=INK, linestyle=":", linewidth=1.2)
    ax.annotate(f"{BEST_SIMPLE}, test", (2.3e9, error), (0, 4), ha="right", **POINTS)
    ax.set(xscale="log", yscale="log", xlabel="training molecules seen", ylabel="MAE")
    ax.set_yticks(TICKS, labels=[f"{tick:g}" for tick in TICKS])
    ax.set(ylim=(0.05, 1.5), xlim=(9e3, 2.5e9))  # with room for the names
    ax.set_xticks([10**power for power in range(4, 9)])
    ax.minorticks_off()


def beside_authors(axes: np.ndarray, names: list[str]) -> None:
    """Training loss and validation error of the authors' code and of ours, by epoch.

    A line in the lower panels marks the test error of the best predictor without a neural network.
    """
    scores = {"train_loss": "training loss", "val_mae": "validation MAE"}
    for column, name in zip(axes.T, names, strict=True):
        for ax, (score, label) in zip(column, scores.items(), strict=True):
            theirs, ours = ([row[score] for row in curve] for curve in curves(name))
            ax.plot(ours, color=model_color(name), label="ours", linewidth=1.4)
            ax.plot(theirs, color=INK, label="the authors' code", linewidth=1.8)
            ax.set(yscale="log", ylim=(0.12, 1.6))
            ax.set_yticks([0.2, 0.5, 1], labels=["0.2", "0.5", "1"])
            ax.minorticks_off()
            if name == names[0]:
                ax.set_ylabel(label)
        error = line_to_beat("zinc")[BEST_SIMPLE]
        column[1].axhline(error, color=INK, linestyle=":", linewidth=1.2)
        left = {"xycoords": ("axes fraction", "data"), **POINTS}
        column[1].annotate("ridge, test", (0.03, error), (0, -13), **left)
        column[0].set_title(name)
        column[1].set_xlabel("epoch")
        column[0].legend()


class Curve(NamedTuple):
    """The training loss of a complete run of csa-rings, by epoch."""

    label: str
    epochs: list[int]
    losses: list[float]

    def __str__(self) -> str:
        return f"{self.label}: {self.losses[-1]:.3f} in epoch {self.epochs[-1]}"


def loss_by_epoch(label: str, rows: list[dict]) -> Curve:
    return Curve(label, [row["epoch"] for row in rows], [row["train_loss"] for row in rows])


def complete_runs() -> list[Curve]:
    """The runs of csa-rings' complete protocol: four without a bound, and one with it."""
    diverged = experiment("csa-rings-diverged")
    return [
        loss_by_epoch("seed 0, CPU", diverged["cpu"]),
        loss_by_epoch("seed 0, GPU from epoch 97", diverged["gpu"]),
        loss_by_epoch("seed 1, GPU from epoch 30", diverged["seed1"]),
        loss_by_epoch(
            "seed 0, changed code, CPU", experiment("csa-rings-bounded")["curve without the bound"]
        ),
        loss_by_epoch(
            f"logits bounded by 5, GPU from epoch {first_epoch_on_gpu()}",
            experiment("csa-rings-bounded")["curve"],
        ),
    ]


def divergence(ax: Axes, runs: list[Curve]) -> None:
    """Training loss by epoch, and the test error of the best predictor without a neural network."""
    *free, bounded = runs
    for run, style in zip(free, ("-", ":", "--", "-."), strict=True):
        ax.plot(run.epochs, run.losses, style, color=model_color("csa-rings"), linewidth=1.6)
        ax.lines[-1].set_label(run.label)
    ax.plot(bounded.epochs, bounded.losses, color=INK, linewidth=1.2, label=bounded.label)
    # The jumps are early in a long run, so the epochs are on a logarithmic axis too.
    ax.set(xscale="log", yscale="log", xlabel="epoch", ylabel="training loss")
    ax.set(xlim=(10, 2000), ylim=(0.02, 1.6))
    epochs = [10, 30, 100, 300, 1000]
    ax.set_xticks(epochs, labels=[f"{epoch:,}" for epoch in epochs])
    losses = [0.02, 0.05, 0.1, 0.2, 0.5, 1]
    ax.set_yticks(losses, labels=[f"{loss:g}" for loss in losses])
    ax.minorticks_off()
    error = line_to_beat("zinc")[BEST_SIMPLE]
    ax.axhline(error, color=INK, linestyle=":", linewidth=1.2)
    ax.annotate("ridge, test", (1900, error), (0, -13), ha="right", **POINTS)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)


def bars(axes: Sequence[Axes], rows: list[dict]) -> None:
    """Time and memory of a training step, the fastest model first."""
    edges = [INK if row["peer"] else model_color(row["model"]) for row in rows]
    faces = ["none" if row["peer"] else edge for row, edge in zip(rows, edges, strict=True)]
    columns = {
        "step, ms": [row["step"]["ms"] for row in rows],
        "peak memory, MiB": [row["peak_mb"] for row in rows],
    }
    for ax, (label, values) in zip(axes, columns.items(), strict=True):
        names = [row["model"] for row in rows]
        found = ax.barh(names, values, color=faces, edgecolor=edges)
        ax.bar_label(found, fmt="%.0f", padding=3)
        ax.set_axisbelow(True)
        ax.set(xlabel=label, xlim=(0, 1.3 * max(values)), ylim=(len(values) - 0.4, -0.6))
        ax.locator_params(axis="x", nbins=3)
        ax.grid(axis="y", visible=False)


def main() -> int:
    zinc = rows_of_zinc()
    models = sorted(benchmark()["rows"], key=lambda row: row["step"]["ms"])
    figures = {
        "dots": (dots, zinc, {"figsize": (5.7, 4.2)}),
        "budgets": (budgets, shortened_runs(), {"figsize": (5.7, 4.6)}),
        "authors": (
            beside_authors,
            list(AUTHORS),
            {
                "nrows": 2,
                "ncols": 2,
                "sharex": True,
                "sharey": "row",
                "figsize": (5.7, 4.4),
            },
        ),
        "diverged": (divergence, complete_runs(), {"figsize": (5.7, 3.4)}),
        "models": (bars, models, {"ncols": 2, "sharey": True, "figsize": (5.7, 4.2)}),
    }
    use_style()
    stale = 0
    for name, (draw, data, layout) in figures.items():
        path = ROOT / "book" / "_static" / f"results-{name}.svg"
        shown = "; ".join(map(str, data))
        if sys.argv[1:] == ["write"]:
            figure, axes = plt.subplots(**layout)
            draw(axes, data)
            figure.savefig(path, metadata={"Date": None, "Description": shown})
            drawn = path.read_text().replace(INK, "currentColor").replace(PLATE, "var(--page)")
            path.write_text(drawn.replace("*{", STYLE, 1))
        elif not path.exists() or shown not in path.read_text():
            print(f"{path.name} does not show today's records; make tables draws it")
            stale += 1
    return int(stale > 0)


if __name__ == "__main__":
    sys.exit(main())
