"""The molecule explorer: choose model, layer, head and atom, and see what the atom attends to.

One piece of HTML without anything from elsewhere, so that it works in the built book, in Colab's
output frame and offline. Where scripts do not run there is a still picture.
Shapes: L layers, H heads, n atoms of a molecule.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files

import numpy as np
from matplotlib.colors import to_hex

from gtcourse.plots.molecules import LETTERS, PALE, _rgb, molecules
from gtcourse.plots.style import COLORS, INK, PAGE_INK

STEPS = 255
"""A weight is kept as a whole number of such parts of its row's largest weight."""
SCALE = 65535
"""And the row's largest as a whole number of such parts of 1."""


def explorer(
    smiles: Sequence[str],
    attentions: Mapping[str, Sequence[np.ndarray]],
    *,
    names: Sequence[str] | None = None,
    cell: tuple[int, int] = (380, 300),
):
    """Attention of several models on several molecules, to look around in.

    Weights are rounded to a 255th of their row's largest, which is rounded to a 65535th.

    Args:
        smiles: one string a molecule; atoms keep the order of the string.
        attentions: of each model an array (or tensor) for each molecule, ``[L, H, n, n]``, from 0
            to 1: row i is what atom i takes from each atom. Rows need not sum to one.
        names: of the molecules; their SMILES by default.
        cell: width and height of a molecule's drawing.

    Raises:
        ValueError: an array is missing or of another shape, or a weight is not from 0 to 1.
    """
    from IPython.display import HTML
    from rdkit import Chem

    mols = [Chem.MolFromSmiles(text) for text in smiles]
    names = list(names or smiles)
    arrays = {
        model: _checked(model, given, [mol.GetNumAtoms() for mol in mols])
        for model, given in attentions.items()
    }
    data = {
        "ink": PAGE_INK,
        "mark": COLORS["blue"],
        "stops": [to_hex(PALE(x)) for x in (0, 0.25, 0.5, 0.75, 1.0)],
        "models": list(attentions),
        "molecules": [
            {
                "name": name,
                "atoms": [atom.GetSymbol() for atom in mol.GetAtoms()],
                "drawing": drawing(mol, cell),
                "attention": [packed(arrays[model][at]) for model in attentions],
            }
            for at, (name, mol) in enumerate(zip(names, mols, strict=True))
        ],
    }
    data["key"] = sha256(json.dumps(data).encode()).hexdigest()[:12]
    script = (files("gtcourse.plots") / "explorer.js").read_text(encoding="utf-8")
    still = _still(smiles[0], names[0], next(iter(arrays)), next(iter(arrays.values()))[0])
    return HTML(
        f'<div data-explorer="{data["key"]}">{still}</div>'
        f"<script>{script.strip()}({_in_script(data)});</script>"
    )


def packed(weights: np.ndarray) -> list:
    """Layers, heads, and two base64 strings: shares ``[L, H, n, n]`` of the rows' largest weights,
    a byte each, and these ``[L, H, n]``, two bytes each (little-endian)."""
    largest = np.round(weights.max(axis=-1) * SCALE)  # [L, H, n]
    share = weights / np.maximum(largest / SCALE, 1e-12)[..., None]
    shares = np.clip(np.round(share * STEPS), 0, STEPS).astype(np.uint8)
    return [*weights.shape[:2], _base64(shares), _base64(largest.astype("<u2"))]


def drawing(mol, cell: tuple[int, int]) -> str:
    """The molecule as SVG, its atoms numbered, on each a disc and, on top, a place to choose it."""
    from rdkit.Chem.Draw import rdMolDraw2D

    drawer = rdMolDraw2D.MolDraw2DSVG(*cell)
    options = drawer.drawOptions()
    options.clearBackground = False
    options.bondLineWidth = 2
    options.addAtomIndices = True
    options.annotationFontScale = 0.75
    options.setAtomPalette({-1: _rgb(INK)})
    drawer.DrawMolecule(mol)
    drawer.FinishDrawing()
    points = [drawer.GetDrawCoords(i) for i in range(mol.GetNumAtoms())]
    svg = drawer.GetDrawingText()
    body = svg[svg.index("<!-- END OF HEADER -->") + 22 : svg.rindex("</svg>")]
    body = re.sub(r"<!--.*?-->|<rect[^>]*>\s*</rect>", "", body, flags=re.S)
    body = re.sub(r"(class='atom-\d+'[^>]*fill=')#\w{6}", rf"\g<1>{LETTERS}", body)
    body = re.sub(r"(class='note'[^>]*fill=')#\w{6}", rf"\g<1>{INK}", body)
    body = re.sub(re.escape(INK), PAGE_INK, body, flags=re.IGNORECASE)
    bond = _bond_length(mol, points)
    radius = 0.36 * bond
    discs = "".join(_circle(p, radius, "class='disc'") for p in points)
    places = "".join(
        _circle(p, radius, f"class='atom' data-atom='{i}' role='button' tabindex='-1' "
                f"aria-pressed='false' aria-label='atom {i}, {atom.GetSymbol()}'")
        for i, (p, atom) in enumerate(zip(points, mol.GetAtoms(), strict=True))
    )  # fmt: skip
    return (
        f"<svg viewBox='{_around(points, 0.9 * bond)}' role='group' aria-label='the molecule'>"
        f"{discs}{body.strip()}{places}</svg>"
    )


def _around(points, margin: float) -> str:
    """The box of the atoms and some margin: left, top, width and height."""
    places = np.array([(point.x, point.y) for point in points])
    corner, size = places.min(axis=0) - margin, np.ptp(places, axis=0) + 2 * margin
    return " ".join(f"{number:.0f}" for number in (*corner, *size))


def _bond_length(mol, points) -> float:
    lengths = [
        (points[bond.GetBeginAtomIdx()] - points[bond.GetEndAtomIdx()]).Length()
        for bond in mol.GetBonds()
    ]
    return float(np.median(lengths)) if lengths else 40.0


def _circle(point, radius: float, attributes: str) -> str:
    return f"<circle cx='{point.x:.1f}' cy='{point.y:.1f}' r='{radius:.1f}' {attributes}/>"


def _checked(model: str, given: Sequence[np.ndarray], sizes: Sequence[int]) -> list[np.ndarray]:
    arrays = [np.asarray(weights, dtype=np.float64) for weights in given]
    if len(arrays) != len(sizes):
        raise ValueError(f"{model} has {len(arrays)} arrays; expected one for each molecule.")
    for weights, n in zip(arrays, sizes, strict=True):
        if weights.ndim != 4 or weights.shape[2:] != (n, n) or 0 in weights.shape:
            raise ValueError(
                f"{model} has attention of shape {list(weights.shape)} for a molecule of {n} "
                f"atoms; expected [L, H, {n}, {n}]."
            )
        if not (weights.min() >= 0 and weights.max() <= 1 + 1e-6):
            raise ValueError(f"{model} has a weight outside of 0 to 1.")
    return [weights.clip(0, 1) for weights in arrays]


def _still(smiles: str, name: str, model: str, weights: np.ndarray, most: int = 3) -> str:
    """The first choice as a picture: what atom 0 takes from each atom in the first heads."""
    rows = weights[0, :most, 0]  # [heads, n]
    picture = molecules(
        [smiles] * len(rows),
        values=rows.tolist(),
        legends=[f"head {head + 1}" for head in range(len(rows))],
        limits=(0.0, float(rows.max())),
        cell=(180, 150),
        value_label="attention of atom 0",
        alt=f"{name}, {len(rows)} times: what atom 0 attends to in heads of the first layer of "
        f"{model}.",
    )
    return (
        f'{picture.data}<p style="color:{PAGE_INK};text-align:center">{escape(model)}, layer 1, '
        "atom 0. With scripts, model, molecule, layer, head and atom can be chosen here.</p>"
    )


def _in_script(data: dict) -> str:
    """JSON that no character of ends the script or its line."""
    text = json.dumps(data, separators=(",", ":"))  # non-ASCII characters are escaped
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _base64(array: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
