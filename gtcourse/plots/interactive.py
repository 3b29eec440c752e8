"""Pictures to look around in: frames with a slider, the calculator; molecules to choose atoms in.

Each is one piece of HTML without anything from elsewhere, so that it works in the built book, in
Colab's output frame and offline. Where scripts do not run there is a still picture or a table.
Shapes: B graphs of N nodes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from gtcourse.plots.figures import table
from gtcourse.plots.molecules import LETTERS, rgb
from gtcourse.plots.style import COLORS, INK, PAGE_INK

if TYPE_CHECKING:
    from gtcourse.training.costs import StepFormula


def _html(kind: str, data: dict, still: str):
    """What is seen without scripts, and ``kind``.js, called with the data."""
    from IPython.display import HTML

    data = {"ink": PAGE_INK, "mark": COLORS["blue"], **data}
    data["key"] = sha256(json.dumps(data).encode()).hexdigest()[:12]
    script = (files("gtcourse.plots") / f"{kind}.js").read_text(encoding="utf-8").strip()
    # Only those characters are escaped that could end the script: drawings have many a <.
    text = json.dumps(data, separators=(",", ":")).replace("</", "<\\/").replace("<!", "\\u003c!")
    return HTML(f'<div data-{kind}="{data["key"]}">{still}</div><script>{script}({text});</script>')


def frames(
    pictures: Mapping[str, object], *, choice: str, start: int = 0, seconds: float | None = None
):
    """Pictures of one size, of which a slider shows one: layers, steps or choices.

    Args:
        pictures: as ``plots.molecules`` returns them, or ``plots.show`` with ``trim=False``, by the
            words that are shown below the slider and read out.
        choice: the slider's name: what is chosen.
        start: the picture that is shown first, and alone where scripts do not run.
        seconds: for each picture, where time passes: there is a button that plays them. It is left
            out for readers who have asked their system for less motion.
    """
    # In JSON a double quote takes two characters, and drawings are full of them.
    drawings = [
        picture.data if "'" in picture.data else picture.data.replace('"', "'")
        for picture in pictures.values()
    ]
    labels = list(pictures)
    data = {"choice": choice, "start": start, "seconds": seconds, "labels": labels}
    words = f"{escape(labels[start])}. With scripts, {escape(choice)} can be chosen here."
    return _html("frames", data | {"pictures": drawings}, drawings[start] + _paragraph(words))


def drawing(mol, cell: tuple[int, int]) -> str:
    """The molecule as SVG, its atoms numbered, on each a disc and, on top, a place to choose it."""
    from rdkit.Chem.Draw import rdMolDraw2D

    drawer = rdMolDraw2D.MolDraw2DSVG(*cell)
    options = drawer.drawOptions()
    options.clearBackground = False
    options.bondLineWidth = 2
    options.addAtomIndices = True
    options.annotationFontScale = 0.75
    options.setAtomPalette({-1: rgb(INK)})
    drawer.DrawMolecule(mol)
    drawer.FinishDrawing()
    svg = drawer.GetDrawingText()
    body = svg[svg.index("<!-- END OF HEADER -->") + 22 : svg.rindex("</svg>")]
    body = re.sub(r"<!--.*?-->|<rect[^>]*>\s*</rect>", "", body, flags=re.S)
    body = re.sub(r"(class='atom-\d+'[^>]*fill=')#\w{6}", rf"\g<1>{LETTERS}", body)
    body = re.sub(r"(class='note'[^>]*fill=')#\w{6}", rf"\g<1>{INK}", body)
    body = re.sub(re.escape(INK), PAGE_INK, body, flags=re.IGNORECASE)
    places = np.array([(p.x, p.y) for p in map(drawer.GetDrawCoords, range(mol.GetNumAtoms()))])
    ends = np.array([(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in mol.GetBonds()], dtype=int)
    steps = places[ends[:, 0]] - places[ends[:, 1]] if len(ends) else np.array([[40.0, 0.0]])
    bond = float(np.median(np.linalg.norm(steps, axis=1)))
    corner, size = places.min(axis=0) - 0.9 * bond, np.ptp(places, axis=0) + 1.8 * bond
    box = " ".join(f"{number:.0f}" for number in (*corner, *size))
    circles = [f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{0.36 * bond:.1f}'" for x, y in places]
    discs = "".join(f"{circle} class='disc'/>" for circle in circles)
    buttons = "".join(
        f"{circle} class='atom' data-atom='{i}' role='button' tabindex='-1' aria-pressed='false' "
        f"aria-label='atom {i}, {atom.GetSymbol()}'/>"
        for i, (circle, atom) in enumerate(zip(circles, mol.GetAtoms(), strict=True))
    )
    return (
        f"<svg viewBox='{box}' role='group' aria-label='the molecule'>"
        f"{discs}{body.strip()}{buttons}</svg>"
    )


def calculator(
    formulas: Mapping[str, StepFormula], *, graphs: int = 64, nodes: int = 32, gigabytes: float = 16
):
    """What a training step of each model takes, for any B and N, to calculate with.

    Args:
        formulas: of each model, by name (:func:`gtcourse.training.costs.step_formula`).
        graphs, nodes, gigabytes: what it starts with; the last is the memory of a device.
    """
    data = {
        "other": COLORS["orange"],
        "start": {"graphs": graphs, "nodes": nodes, "gigabytes": gigabytes},
        "largest": {"graphs": 100_000, "nodes": 100_000},
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
    rows = [
        [
            name,
            f"{formula.parameters // 4:,}",  # of 4 bytes each
            with_unit(formula.memory(graphs, nodes), "B"),
            with_unit(formula.products(graphs, nodes), "FLOP"),
        ]
        for name, formula in formulas.items()
    ]
    still = table(["model", "parameters", "memory", "products"], rows)._repr_html_()
    words = (
        f"{graphs} graphs of {nodes} nodes, one training step. With scripts, model, graphs, nodes "
        "and memory can be chosen here."
    )
    return _html("calculator", data, still + _paragraph(words))


def with_unit(value: float, unit: str) -> str:
    """Three digits and a prefix: of bytes by 1024, "1.50 MiB", of others by 1000, "2.30 G"."""
    step, prefixes = (1024, ("", "Ki", "Mi", "Gi", "Ti", "Pi")) if unit == "B" else (
        1000, ("", "k", "M", "G", "T", "P", "E"))  # fmt: skip
    power = 0
    while value >= 999.5 and power < len(prefixes) - 1:
        value, power = value / step, power + 1
    digits = 0 if value >= 99.95 or not power else 1 if value >= 9.995 else 2
    return f"{value:.{digits}f} {prefixes[power]}{unit}".strip()


def _paragraph(words: str) -> str:
    return f'<p style="color:{PAGE_INK};text-align:center">{words}</p>'
