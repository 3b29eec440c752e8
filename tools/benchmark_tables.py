"""What each stored benchmark says, as tables: ratios first, then medians with their quartiles."""

from __future__ import annotations

from collections.abc import Callable

from tools.benchmark_numbers import (
    digits,
    memory_ratio,
    ratio,
    said_once,
    seconds,
    timed,
)

Table = tuple[tuple[str, ...], list[tuple[str, ...]]]
"""Column heads, and rows."""


def encodings(record: dict) -> list[Table]:
    ours = {r["encoding"]: r["seconds"] for r in record["rows"] if r["method"] == "gtcourse"}
    rows = [
        (
            row["encoding"],
            row["method"],
            ratio(row["seconds"] / ours[row["encoding"]]),
            seconds(row),
            *(digits(value) for value in row["ms_a_graph"].values()),
        )
        for row in record["rows"]
    ]
    rows = said_once(rows, 1)
    sizes = tuple(f"{n} atoms, ms" for n in record["rows"][0]["ms_a_graph"])
    return [(("encoding", "by", "× gtcourse", f"{record['graphs']:,} molecules, s", *sizes), rows)]


def models(record: dict) -> list[Table]:
    times = [
        (
            name_of(row),
            ratio(row["step"]["ratio"]),
            ratio(row["forward"]["ratio"]),
            timed(row["step"]),
            timed(row["forward"]),
            f"{row['graphs_per_second']:,}",
            f"{row['peak_mb']:.1f}",
        )
        for row in record["rows"]
    ]
    reads = [(name_of(row), f"{row['parameters']:,}", row["reads"]) for row in record["rows"]]
    heads = ("model", "step, ×", "forward, ×", "step, ms", "forward, ms", "graphs/s", "peak, MiB")
    return [(heads, times), (("model", "parameters", "what of a graph reaches it"), reads)]


def profile(record: dict) -> list[Table]:
    rows = record["rows"]
    kinds = [kind for kind in rows[0]["kinds"] if max(r["kinds"][kind] for r in rows) >= 0.5]
    shares = [(f"`{r['model']}`", *(f"{r['kinds'][kind]:.0f}" for kind in kinds)) for r in rows]
    kept = [*rows[0]["kept_mb"]]
    memory = [
        (
            f"`{row['model']}`",
            *(f"{share:.0f}" for share in row["phases"].values()),
            f"{row['operators']:,}",
            f"{row['peak_mb']:.1f}",
            *(f"{row['kept_mb'][what]:.1f}" for what in kept),
        )
        for row in rows
    ]
    phases = tuple(f"{phase}, %" for phase in rows[0]["phases"])
    heads = ("model", *phases, "operators", "peak, MiB", *(f"kept of {what}, MiB" for what in kept))
    return [(("% of the time", *kinds), shares), (heads, memory)]


def epoch(record: dict) -> list[Table]:
    rows = [
        (
            row["method"],
            ratio(row["training"]["ratio"]),
            ratio(row["loading"]["ratio"]),
            f"{row['epoch_seconds']:.1f}",
            timed(row["loading"]),
            f"{100 * row['loading_share']:.1f}",
            f"{100 * row['padded_pairs']:.0f}",
            f"{row['graphs_per_second']:,}",
        )
        for row in record["rows"]
    ]
    heads = ("the data", "epoch, ×", "loading, ×", "epoch, s", "loading, ms")
    return [((*heads, "of it loading, %", "padding among pairs, %", "graphs/s"), rows)]


def shards(record: dict) -> list[Table]:
    making = [
        (
            row["method"],
            ratio(row["ratio"]),
            timed(row),
            f"{row['molecules_per_second']:,}",
            digits(row["hours_for_pcqm4mv2"]),
        )
        for row in record["preparing"]
    ]
    loading = [
        (
            code(part["model"]),
            f"{part['parameters']:,}",
            f"{part['times_as_fast']:g}",
            *(f"{row['graphs_per_second']:,}" for row in reversed(part["compared"])),
            *map(timed, reversed(part["compared"])),
            str(part["batches"]),
        )
        for part in record["loading"]
    ]
    several = [
        (
            code(name),
            str(row["processes"]),
            ratio(row["efficiency"]),
            f"{row['graphs_per_second']:,}",
            timed(row),
        )
        for name, rows in record["processes"].items()
        for row in rows
    ]
    heads = ("batches for", "parameters", "× the step's rate", "loader, graphs/s", "step, graphs/s")
    return [
        (("prepared by", "time, ×", "ms", "molecules/s", "hours for PCQM4Mv2"), making),
        ((*heads, "loader, ms", "step, ms", "of so many batches"), loading),
        (
            ("training", "processes", "speed of one, ×", "graphs/s of all", "step, ms"),
            said_once(several, 1),
        ),
    ]


def code(name: str) -> str:
    """A recipe's name is there to be typed; others are words."""
    return f"`{name}`" if "/" in name else name


def compiled(record: dict) -> list[Table]:
    rows = [
        (
            f"`{part['model']}`",
            row["method"],
            ratio(row["ratio"]),
            timed(row),
            f"{row['first_seconds']:.1f}",
            f"{row['peak_mb']:.1f}",
            f"{row['difference']:.1e}" if row["difference"] else "0",
        )
        for part in record["models"]
        for row in part["rows"]
    ]
    heads = ("model", "", "step, ×", "step, ms", "first step, s", "peak, MiB")
    return [((*heads, "predictions differ by"), said_once(rows, 1))]


def flex(record: dict) -> list[Table]:
    rows = [
        (
            {"graphormer": "Graphormer", "grpe": "GRPE, logits"}[part["model"]],
            str(part["nodes"]),
            str(part["graphs"]),
            row["method"],
            ratio(row["ratio"]),
            memory_ratio(row, part["compared"]),
            timed(row),
            f"{row['peak_mb']:.2f}",
            f"{row['first_seconds']:.1f}",
        )
        for part in record["sizes"]
        for row in part["compared"]
    ]
    heads = ("attention", "atoms", "graphs", "", "time, ×", "memory, ×", "ms", "peak, MiB")
    return [((*heads, "first call, s"), said_once(rows, 3))]


def graphormer(record: dict) -> list[Table]:
    structure = [(r["method"], ratio(r["ratio"]), timed(r)) for r in record["structure"]]
    flag = [
        (r["method"], ratio(r["ratio"]), memory_ratio(r, record["flag"]), timed(r))
        for r in record["flag"]
    ]
    kinds = {row["kind"]: {} for row in record["memory"]}
    for row in record["memory"]:
        kinds[row["kind"]][row["atoms"]] = f"{row['peak_mb']:,.0f}"
    sizes = [*next(iter(kinds.values()))]
    return [
        (("slim model, forward and backward", "time, ×", "ms"), structure),
        (("step", "time, ×", "memory, ×", "ms"), flag),
        (
            ("peak of one chain, MiB", *(f"{n} atoms" for n in sizes)),
            [(kind, *(found[n] for n in sizes)) for kind, found in kinds.items()],
        ),
    ]


def grpe(record: dict) -> list[Table]:
    return [by_size(record["sizes"], "one attention, forward and backward")]


def csa(record: dict) -> list[Table]:
    model = record["model"]
    rows = [
        (r["method"], ratio(r["ratio"]), memory_ratio(r, model["compared"]), timed(r),
         f"{r['peak_mb']:.1f}")
        for r in model["compared"]
    ]  # fmt: skip
    heads = (f"{model['layers']} layers, forward and backward", "time, ×", "memory, ×", "ms")
    return [((*heads, "peak, MiB"), rows), by_size(record["sizes"], "one attention with its edges")]


def by_size(sizes: list[dict], what: str) -> Table:
    rows = [
        (
            str(part["nodes"]),
            str(part["graphs"]),
            row["method"],
            ratio(row["ratio"]),
            memory_ratio(row, part["compared"]),
            timed(row),
            f"{row['peak_mb']:.1f}",
        )
        for part in sizes
        for row in part["compared"]
    ]
    heads = ("atoms", "graphs", what, "time, ×", "memory, ×", "ms", "peak, MiB")
    return heads, said_once(rows, 2)


def name_of(row: dict) -> str:
    return row["model"] if row["peer"] else f"`{row['model']}`"


TABLES: dict[str, Callable[[dict], list[Table]]] = {
    "encoding": encodings,
    "models": models,
    "profile": profile,
    "epoch": epoch,
    "shards": shards,
    "compile": compiled,
    "flex": flex,
    "graphormer": graphormer,
    "grpe": grpe,
    "csa": csa,
}
"""Of a record's name without "-benchmark"."""
