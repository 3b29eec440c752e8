"""The pictures of the reliability page: kills, mutants, and errors beside their bounds."""

from __future__ import annotations

from collections.abc import Callable

from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from gtcourse.plots import COLORS, show, use_style
from gtcourse.plots.style import INK, WIDEST

DTYPES = {"float32": COLORS["blue"], "float16": COLORS["green"], "bfloat16": COLORS["orange"]}


def kills(found: dict[str, dict]) -> str:
    """A line for the duration of each job, with a stroke for each kill."""
    kinds = found["faults"]["kills"]
    figure, axes = _rows([f"{kind['kind']}\n{kind['seconds']:.2g} s" for kind in kinds], 0.5)
    for row, kind in enumerate(kinds):
        axes.plot([0, 1], [row, row], color=INK, linewidth=1)
        for well, color in ((True, COLORS["blue"]), (False, COLORS["red"])):
            at = [m["share"] for m in kind["moments"] if m["same_result"] is well]
            axes.plot(at, [row] * len(at), "|", color=color, markersize=16, markeredgewidth=2)
    axes.set_xlabel("killed after this share of its duration")
    axes.grid(visible=False)
    count = sum(len(kind["moments"]) for kind in kinds)
    names = ", ".join(kind["kind"] for kind in kinds)
    return _shown(
        figure,
        f"{count} strokes on {len(kinds)} lines, one line each for {names}. The strokes are spread "
        "over the whole of each line; all of them are blue: completed with the same result.",
    )


def mutants(found: dict[str, dict]) -> str:
    """A row for each model, a square for each mutant."""
    listed = found["mutants"]["mutants"]
    models = [*dict.fromkeys(mutant["model"] for mutant in listed)]
    figure, axes = _rows(models, 0.27)
    for row, model in enumerate(models):
        verdicts = [m["verdict"] == "caught" for m in listed if m["model"] == model]
        for well, color in ((True, COLORS["blue"]), (False, COLORS["red"])):
            at = [place for place, caught in enumerate(verdicts, 1) if caught is well]
            axes.plot(at, [row] * len(at), "s", color=color, markersize=3.5)
    axes.set_xlabel("mutants")
    axes.set_xlim(left=0)
    axes.grid(visible=False)
    return _shown(
        figure,
        f"{len(listed)} squares in {len(models)} rows, one row for each model; all are blue: some "
        "test fails for every mutant.",
    )


def numerics(found: dict[str, dict]) -> str:
    """A row for each attention and each model, with three errors and their bounds."""
    record = found["numerics"]
    rows = worst_of_families(record["attentions"]) | {
        f"{name}, whole": dtypes for name, dtypes in record["models"].items()
    }
    figure, axes = _rows([*rows], 0.3)
    for row, dtypes in enumerate(rows.values()):
        for (dtype, color), shift in zip(DTYPES.items(), (-0.22, 0, 0.22), strict=True):
            one, y = dtypes[dtype], row + shift
            axes.plot([one["error"], one["bound"]], [y, y], color=color, linewidth=1, alpha=0.5)
            axes.plot(one["error"], y, "o", color=color, markersize=4)
            axes.plot(one["bound"], y, "|", color=color, markersize=7, markeredgewidth=2)
    axes.set_xscale("log")
    axes.set_xlabel("error (dot), bound (stroke)")
    axes.grid(visible=False, axis="y")
    handles = [Line2D([], [], color=color, marker="o", label=d) for d, color in DTYPES.items()]
    axes.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.4, 1), ncols=3)
    return _shown(
        figure,
        f"{len(rows)} rows with three errors each, of float32 near one part in a million, of "
        "float16 and of bfloat16 some thousand and ten thousand times as large; every error lies "
        "below its bound, mostly at a fifth to a half of it.",
    )


def worst_of_families(attentions: dict[str, dict[str, dict]]) -> dict[str, dict[str, dict]]:
    """Of all uses of an attention, in each dtype the one that comes nearest to its bound."""
    found: dict[str, dict[str, dict]] = {}
    for name, dtypes in attentions.items():
        family = found.setdefault(family_of(name), {})
        for dtype, one in dtypes.items():
            if dtype not in family or one["share"] > family[dtype]["share"]:
                family[dtype] = one
    return found


def family_of(name: str) -> str:
    """EGT of "EGT, ungated"; form of "form of EGT"."""
    return name.split(",")[0].split(" of ")[0]


def _rows(labels: list[str], height: float) -> tuple[Figure, plt.Axes]:
    """Axes with a row for each label, from above."""
    use_style()
    figure, axes = plt.subplots(figsize=(WIDEST, 0.9 + height * len(labels)))
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    return figure, axes


def _shown(figure: Figure, alt: str) -> str:
    return show(figure, alt).data


PICTURES: dict[str, Callable[[dict[str, dict]], str]] = {
    "faults": kills,
    "mutants": mutants,
    "numerics": numerics,
}
"""By the record that each is drawn from."""
