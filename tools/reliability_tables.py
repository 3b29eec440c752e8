"""The generated blocks of the reliability page: numbers, tables and lists, from the records."""

from __future__ import annotations

from collections.abc import Callable

from tools.reliability_faults import distinct
from tools.reliability_pictures import DTYPES, worst_of_families
from tools.results import markdown, short

Records = dict[str, dict]
COARSE = 0.1
"""The error of which a result keeps no digit, as a part of its size."""


def glance(found: Records) -> str:
    """What was tried, how much of it, and what came of it."""
    kills = [moment for kind in found["faults"]["kills"] for moment in kind["moments"]]
    fuzzed, inputs = found["inputs"]["fuzzed"], found["inputs"]["boundaries"]
    payloads = found["inputs"]["payloads"]
    mutants, gradients = found["mutants"]["mutants"], found["numerics"]["gradients"]
    models, encodings = found["properties"]["models"], found["properties"]["encodings"]
    shares = [one["share"] for part in ("attentions", "models") for one in _errors(found, part)]
    rows = [
        (
            "[Random graphs](#random-graphs)",
            f"{_examples(models) + _examples(encodings):,} examples, "
            f"{len(models)} models, {len(encodings)} encodings",
            "every property held",
        ),
        (
            "[Bad input](#bad-input)",
            f"{sum(b['cases'] for b in inputs):,} malformed inputs, {len(inputs)} boundaries",
            "each refused in one sentence",
        ),
        (
            "[Damaged files](#damaged-files)",
            f"{sum(kind['examples'] for kind in fuzzed):,} files of {len(fuzzed)} kinds, "
            f"{payloads['tried']} with a program inside",
            f"refused or read unchanged; {payloads['executed']} programs were run",
        ),
        (
            "[Faults](#faults)",
            f"{len(kills)} kills of {len(found['faults']['kills'])} jobs, "
            f"{len(found['faults']['cases'])} other faults",
            "every job completed, with the same result",
        ),
        (
            "[Mutants](#mutants)",
            f"{len(mutants)} of {len({m['model'] for m in mutants})} parts",
            "all caught by a test",
        ),
        (
            "[Gradients](#numerics)",
            f"{len(gradients['first'])} attentions",
            "all are those of differences",
        ),
        (
            "[Precision](#numerics)",
            f"{len(shares)} errors in {len(DTYPES)} precisions",
            f"the worst is {max(shares):.2f} of its bound",
        ),
    ]
    return markdown(("tried", "how much", "outcome"), rows)


def _examples(tried: dict[str, dict[str, int]]) -> int:
    return sum(map(distinct, tried.values()))


def _errors(found: Records, part: str) -> list[dict]:
    return [one for dtypes in found["numerics"][part].values() for one in dtypes.values()]


def graphs(found: Records) -> str:
    """What graphs were met, as shares of all of them; the dtypes of their features are folded."""
    met = dict(found["properties"]["graphs"])
    del met["examples"]
    total = met.pop("graphs")
    rows = [(kind, f"{count:,}", f"{100 * count / total:.1f} %") for kind, count in met.items()]
    dtypes = [row for row in rows if " of " in row[0]]
    heads = ("graphs", "number", "share")
    table = markdown(heads, [("all", f"{total:,}", "100 %"), *(r for r in rows if r not in dtypes)])
    return table + "\n" + _folded("The types of their features", markdown(heads, dtypes))


def properties(found: Records) -> str:
    rows = [
        (f"{name}: {prop}", f"{count:,}")
        for part in ("models", "encodings")
        for name, tried in found["properties"][part].items()
        for prop, count in tried.items()
    ]
    return _folded("Every property and its examples", markdown(("property", "examples"), rows))


def inputs(found: Records) -> str:
    """The boundaries, with a sentence each, and all other sentences that are quoted."""
    boundaries = found["inputs"]["boundaries"]
    first = [(b["boundary"], str(b["cases"]), _given(b["sentences"][0])) for b in boundaries]
    more = [(b["boundary"], _given(quoted)) for b in boundaries for quoted in b["sentences"][1:]]
    table = markdown(("boundary", "inputs", "for instance"), first)
    folded = markdown(("boundary", "given, and the answer"), more)
    return table + "\n" + _folded("More of these sentences", folded)


def _given(quoted: dict) -> str:
    return f"{quoted['what']}: {_code(quoted)}"


def _code(quoted: dict) -> str:
    return "`" + quoted["sentence"].replace("`", "'").replace("|", "\\|") + "`"


def fuzzed(found: Records) -> str:
    record = found["inputs"]
    rows = [
        (kind["kind"], *(f"{kind[n]:,}" for n in ("examples", "refused", "unchanged")))
        for kind in record["fuzzed"]
    ]
    table = markdown(("file", "examples", "refused", "content unchanged"), rows)
    rows = [
        (bomb["what"], f"{bomb['declared_mib']:,.0f}", f"{bomb['peak_mib']:,.0f}")
        for bomb in record["bombs"]
    ]
    return table + markdown(("bomb", "says or unpacks to, MiB", "memory spent, MiB"), rows)


def faults(found: Records) -> str:
    rows = [
        (case["kind"], case["what"], case.get("outcome") or _code(case))
        for case in found["faults"]["cases"]
    ]
    return _folded(
        "Every other fault and what was said", markdown(("fault", "at", "outcome"), rows)
    )


def mutants(found: Records) -> str:
    rows = [
        (m["model"], m["phrase"].replace("|", "\\|"), f"`{m['test'].replace('|', '')}`")
        for m in found["mutants"]["mutants"]
    ]
    return _folded(
        "Every mutant and a test that caught it",
        markdown(("part", "what is broken", "caught by"), rows),
    )


def precision(found: Records) -> str:
    """The errors of the picture as numbers."""
    rows = {
        **worst_of_families(found["numerics"]["attentions"]),
        **{f"{name}, whole": dtypes for name, dtypes in found["numerics"]["models"].items()},
    }
    table = [
        (name, *(f"{dtypes[d]['error']:.1e} of {dtypes[d]['bound']:.1e}" for d in DTYPES))
        for name, dtypes in rows.items()
    ]
    return _coarse(found) + _folded("The errors and their bounds", markdown(("", *DTYPES), table))


def _coarse(found: Records) -> str:
    """Which results keep less than a digit."""
    said = [
        f"{name} in {dtype} ({one['error']:.2f})"
        for part in ("attentions", "models")
        for name, dtypes in found["numerics"][part].items()
        for dtype, one in dtypes.items()
        if one["error"] > COARSE
    ]
    if not said:
        return "\nNo error is above a tenth of its result's size.\n"
    names = ", ".join(said)
    return f"\nErrors above a tenth of the result's size, where no digit is left: {names}.\n"


def determinism(found: Records) -> str:
    record = found["numerics"]["determinism"]
    distances = record["gradients with other threads"]
    threads = ", ".join(map(str, record["threads"]))
    rows = [
        ("a training step, done again", "the same bits", f"{len(distances)} models"),
        ("in another process, with other hashes", "the same bits", "steps, run, encodings, data"),
        (
            f"with {threads} threads: encodings and generated data",
            "the same bits",
            f"{len(record['encodings'])} encodings, {len(record['data'])} data sets",
        ),
        (
            f"with {threads} threads: gradients",
            f"within {_power(record['close'])} of the largest",
            f"{_power(max(distances.values()))} at most",
        ),
    ]
    return markdown(("one seed", "promised", "found"), rows)


def _power(number: float) -> str:
    return f"{number:.0e}".replace("e-0", "e-")


def gradients(found: Records) -> str:
    counted = {name: len(uses) for name, uses in found["numerics"]["gradients"].items()}
    return (
        f"\n{counted['first']} uses of an attention have the right first derivatives, "
        f"{counted['second']} of them the right second ones. The other {counted['refused']} "
        "have no second derivative, and an error says so.\n"
    )


def measured(found: Records) -> str:
    """Who measured what, where and when, for each record."""
    lines = []
    for record in found.values():
        took = f"{max(1, round(record['seconds'] / 60))} min; " if "seconds" in record else ""
        lines.append(
            f"- `{record['command']}`: {took}{record['device']}, {record['cores']} cores; "
            f"torch {record['versions']['torch']}; {record['date']}, commit "
            f"`{short(record['commit'])}`"
        )
    return "\n" + "\n".join(lines) + "\n"


def _folded(title: str, text: str) -> str:
    opened = f'<details style="margin-bottom:1em">\n<summary>{title}</summary>'
    return f"\n{opened}\n{text}\n</details>\n"


TABLES: dict[str, Callable[[Records], str]] = {
    "glance": glance,
    "graphs": graphs,
    "properties": properties,
    "inputs": inputs,
    "fuzzed": fuzzed,
    "faults": faults,
    "mutants": mutants,
    "gradients": gradients,
    "precision": precision,
    "determinism": determinism,
    "measured": measured,
}
