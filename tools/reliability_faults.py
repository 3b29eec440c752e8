"""What keeps a record of the reliability page from being shown: something failed, or too little."""

from __future__ import annotations

from collections.abc import Callable

EXAMPLES = 2000
"""Of the properties of each model."""
SAME_GRAPHS = {"finite in bf16", "later words"}
"""Properties that are looked at on examples that another property has counted."""
INPUTS = 60
FILES = 1000
"""Damaged ones of each kind."""
KILLS = 20
"""Of each kind."""
DTYPES = ("float32", "float16", "bfloat16")
MUTANTS = 10
"""Of each model."""


def distinct(tried: dict[str, int]) -> int:
    """Examples of all properties of a model or an encoding, none counted twice."""
    return sum(count for name, count in tried.items() if name not in SAME_GRAPHS)


def of_properties(record: dict) -> list[str]:
    few = [
        f"{name} was tried on {distinct(tried)} examples; expected {EXAMPLES} or more"
        for name, tried in record["models"].items()
        if distinct(tried) < EXAMPLES
    ]
    return [f"{name} failed" for name in record["failures"]] + few


def of_inputs(record: dict) -> list[str]:
    cases = sum(boundary["cases"] for boundary in record["boundaries"])
    faults = [f"{cases} malformed inputs; expected {INPUTS} or more"] if cases < INPUTS else []
    faults += [
        f"{kind['kind']}: {failure}" for kind in record["fuzzed"] for failure in kind["failures"]
    ]
    faults += [
        f"{kind['kind']}: {kind['examples']} files; expected {FILES} or more"
        for kind in record["fuzzed"]
        if kind["examples"] < FILES
    ]
    if not (record["bombs"] and record["payloads"]["tried"]):
        faults.append("no bombs or no payloads; expected some of both")
    if executed := record["payloads"]["executed"]:
        faults.append(f"{executed} payloads were executed")
    return faults


def of_faults(record: dict) -> list[str]:
    faults = []
    for kind in record["kills"]:
        moments = kind["moments"]
        if len(moments) < KILLS:
            faults.append(f"{kind['kind']}: {len(moments)} kills; expected {KILLS} or more")
        faults += [
            f"{kind['kind']}: not completed after a kill at {moment['seconds']} s"
            for moment in moments
            if not moment["same_result"] or moment.get("rubbish")
        ]
        if len({moment["phase"] for moment in moments}) < 2:
            faults.append(f"{kind['kind']}: all kills in one phase; expected several")
    return faults + [f"{c['kind']}: {c['what']}" for c in record["cases"] if not c["passed"]]


def of_mutants(record: dict) -> list[str]:
    mutants = record["mutants"]
    faults = [f"{m['id']}: {m['verdict']}" for m in mutants if m["verdict"] != "caught"]
    for model in dict.fromkeys(m["model"] for m in mutants):
        count = sum(m["model"] == model for m in mutants)
        if count < MUTANTS:
            faults.append(f"{model} has {count} mutants; expected {MUTANTS} or more")
    return faults


def of_numerics(record: dict) -> list[str]:
    faults = [
        f"{name} in {dtype} has an error of {one['share']:.2f} of its bound"
        for part in ("attentions", "models")
        for name, dtypes in record[part].items()
        for dtype, one in dtypes.items()
        if not (one["finite"] and one["share"] <= 1)
    ]
    faults += [
        f"{name} has errors in {', '.join(dtypes)}; expected {', '.join(DTYPES)}"
        for part in ("attentions", "models")
        for name, dtypes in record[part].items()
        if {*dtypes} != {*DTYPES}
    ]
    found = record["determinism"]
    for question in ("in another process", "with other threads", "in a second step"):
        faults += [f"{name} differs {question}" for name in found[f"differ {question}"]]
    faults += [
        f"gradients of {name} differ by {distance:.1e} with other threads"
        for name, distance in found["gradients with other threads"].items()
        if distance >= found["close"]
    ]
    return faults


FAULTS: dict[str, Callable[[dict], list[str]]] = {
    "properties": of_properties,
    "inputs": of_inputs,
    "faults": of_faults,
    "mutants": of_mutants,
    "numerics": of_numerics,
}
