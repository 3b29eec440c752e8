"""The calculator: choose model, graphs and nodes, and see what a training step holds and counts.

One piece of HTML without anything from elsewhere, as the molecule explorer. Where scripts do not
run there is a table. Shapes: B graphs, N nodes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING

from gtcourse.plots.explorer import _in_script
from gtcourse.plots.style import COLORS, PAGE_INK
from gtcourse.plots.tables import table

if TYPE_CHECKING:
    from gtcourse.training.costs import StepFormula

BYTES_OF_A_NUMBER = 4
LARGEST = {"graphs": 100_000, "nodes": 100_000}


def calculator(
    formulas: Mapping[str, StepFormula], *, graphs: int = 64, nodes: int = 32, gigabytes: float = 16
):
    """What a training step of each model takes, for any B and N, to calculate with.

    Args:
        formulas: of each model, by name (:func:`gtcourse.training.costs.recorded_formulas`).
        graphs, nodes, gigabytes: what it starts with; the last is the memory of a device.

    Raises:
        ValueError: no formula, or a start that cannot be meant.
    """
    from IPython.display import HTML

    if not formulas:
        raise ValueError("there are no formulas; expected one at least.")
    for name, value in (("graphs", graphs), ("nodes", nodes)):
        if not 1 <= value <= LARGEST[name]:
            raise ValueError(f"{name} is {value}; expected 1 to {LARGEST[name]:,}.")
    if not gigabytes > 0:
        raise ValueError(f"gigabytes is {gigabytes}; expected more than 0.")
    data = {
        "ink": PAGE_INK,
        "mark": COLORS["blue"],
        "other": COLORS["orange"],
        "start": {"graphs": graphs, "nodes": nodes, "gigabytes": gigabytes},
        "largest": LARGEST,
        "models": [
            {
                "name": name,
                "parameters": formula.parameters,
                "gradients": formula.gradients,
                "optimizer": formula.optimizer,
                "flops": list(formula.flops),
                "activations": [list(moment) for moment in formula.activations],
            }
            for name, formula in formulas.items()
        ],
    }
    data["key"] = sha256(json.dumps(data).encode()).hexdigest()[:12]
    script = (files("gtcourse.plots") / "calculator.js").read_text(encoding="utf-8")
    return HTML(
        f'<div data-calculator="{data["key"]}">{_still(formulas, graphs, nodes)}</div>'
        f"<script>{script.strip()}({_in_script(data)});</script>"
    )


def with_unit(value: float, unit: str) -> str:
    """Three digits and a prefix: of bytes by 1024, "1.50 MiB", of others by 1000, "2.30 G"."""
    step, prefixes = (1024, ("", "Ki", "Mi", "Gi", "Ti", "Pi")) if unit == "B" else (
        1000, ("", "k", "M", "G", "T", "P", "E"))  # fmt: skip
    power = 0
    while value >= 999.5 and power < len(prefixes) - 1:
        value, power = value / step, power + 1
    digits = 0 if value >= 99.95 or not power else 1 if value >= 9.995 else 2
    return f"{value:.{digits}f} {prefixes[power]}{unit}".strip()


def _still(formulas: Mapping[str, StepFormula], graphs: int, nodes: int) -> str:
    """All models at the first choice."""
    rows = [
        [
            name,
            f"{formula.parameters // BYTES_OF_A_NUMBER:,}",
            with_unit(formula.memory(graphs, nodes), "B"),
            with_unit(formula.products(graphs, nodes), "FLOP"),
        ]
        for name, formula in formulas.items()
    ]
    shown = table(["model", "parameters", "memory", "products"], rows)._repr_html_()
    return (
        f'{shown}<p style="color:{PAGE_INK}">{graphs} graphs of {nodes} nodes, one training'
        " step. With scripts, model, graphs, nodes and memory can be chosen here.</p>"
    )
