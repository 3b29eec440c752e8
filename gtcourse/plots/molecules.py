"""Molecules by RDKit: atoms numbered or coloured by a value."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib import colormaps

from gtcourse.plots.style import INK, SEQUENTIAL, accessible_svg


def molecules(
    smiles: Sequence[str],
    *,
    legends: Sequence[str] | None = None,
    values: Sequence[Sequence[float]] | None = None,
    limits: tuple[float, float] | None = None,
    columns: int = 3,
    cell: tuple[int, int] = (220, 190),
    cmap: str = SEQUENTIAL,
    alt: str,
):
    """A grid of molecules as one SVG.

    Args:
        smiles: one string a molecule; atoms keep the order of the string.
        legends: a line under each molecule.
        values: a number for each atom of each molecule, shown as a disc behind the atom.
        limits: the values at the ends of the colours; the smallest and largest by default.
        alt: what the picture shows, for those who cannot see it.
    """
    from IPython.display import HTML
    from rdkit import Chem
    from rdkit.Chem.Draw import rdMolDraw2D

    mols = [Chem.MolFromSmiles(text) for text in smiles]
    rows = -(-len(mols) // columns)
    width, height = cell
    drawer = rdMolDraw2D.MolDraw2DSVG(width * min(columns, len(mols)), height * rows, width, height)
    options = drawer.drawOptions()
    options.clearBackground = False
    options.setLegendColour(_rgb(INK))
    options.legendFontSize = 15
    options.bondLineWidth = 2
    # Mid-grey carbon, and hues that read on white and on black.
    options.setAtomPalette(
        {-1: _rgb(INK), 6: _rgb(INK), 7: _rgb("#4f8fd6"), 8: _rgb("#d9534f"), 9: _rgb("#2a9d8f"),
         16: _rgb("#b8962e"), 17: _rgb("#2a9d8f"), 35: _rgb("#b5651d"), 53: _rgb("#8a5fb0"),
         15: _rgb("#d97706")}
    )  # fmt: skip
    legends = list(legends) if legends is not None else [""] * len(mols)
    if values is None:
        drawer.DrawMolecules(mols, legends=legends)
    else:
        flat = np.concatenate([np.asarray(v, dtype=float) for v in values])
        low, high = limits or (flat.min(), flat.max())
        shades = [_shades(v, low, high, cmap) for v in values]
        drawer.DrawMolecules(
            mols,
            legends=legends,
            highlightAtoms=[list(shade) for shade in shades],
            highlightAtomColors=shades,
            highlightBonds=[[] for _ in mols],
        )
    drawer.FinishDrawing()
    return HTML(accessible_svg(drawer.GetDrawingText(), alt))


def _shades(values: Sequence[float], low: float, high: float, cmap: str) -> dict[int, tuple]:
    scaled = (np.asarray(values, dtype=float) - low) / max(high - low, 1e-9)
    return {i: tuple(map(float, colormaps[cmap](v)[:3])) for i, v in enumerate(scaled)}


def _rgb(color: str) -> tuple[float, float, float]:
    return tuple(int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
