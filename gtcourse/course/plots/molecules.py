"""Molecules drawn by RDKit, with atoms coloured by a value."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import Colormap
from matplotlib.colors import to_rgb as rgb

from gtcourse.course.plots.figures import (
    COLORS,
    INK,
    PAGE_INK,
    PALE,
    accessible_svg,
    disc_color,
    disc_letters,
)
from gtcourse.graphs.molecules import parse

RING = f"stroke:{COLORS['blue']};stroke-width:3px"  #: around the atom that a picture is about

PALETTE = {
    -1: INK,
    6: INK,
    7: "#4f8fd6",
    8: "#d9534f",
    9: "#2a9d8f",
    15: "#d97706",
    16: "#a5852a",
    17: "#2a9d8f",
    35: "#b5651d",
    53: "#8a5fb0",
}
"""Colours of atoms without values, by atomic number; legible on white and on black."""

LEGEND = 13  #: height of a legend's letters, in pixels
CLOSE = 0.9  #: bond lengths; discs of two atoms nearer than this lie on each other
ROUNDS = 20  #: of pushing such atoms apart
WIDE_LETTER = 0.58  #: mean width of a letter in a wide font, as a share of its height


def molecules(
    smiles: Sequence[str],
    *,
    legends: Sequence[str] | None = None,
    values: Sequence[Sequence[float]] | None = None,
    limits: tuple[float, float] | None = None,
    columns: int = 3,
    cell: tuple[int, int] = (180, 165),
    cmap: str | Colormap = PALE,
    value_label: str = "",
    outlined: Sequence[int | None] = (),
    alt: str,
):
    """A grid of molecules as one SVG.

    Args:
        smiles: one string a molecule; atoms keep the order of the string.
        legends: a line under each molecule.
        values: a number for each atom of each molecule, shown as a disc behind the atom.
        limits: the values at the ends of the colours; the smallest and largest by default.
        value_label: what the values are, for the colour bar below the molecules.
        outlined: in each molecule, the atom whose disc gets a blue outline, or None.
        alt: a description of the picture for readers who cannot see it.

    Raises:
        ValueError: RDKit cannot read a molecule, or the other arguments do not fit the molecules.
    """
    from IPython.display import HTML
    from rdkit.Chem.Draw import rdMolDraw2D

    if isinstance(smiles, str) or len(smiles) == 0:
        raise ValueError(f"smiles is {smiles!r}; expected a list of one SMILES or more.")
    mols = [parse(text) for text in smiles]
    if legends and len(legends) != len(mols):
        raise ValueError(f"legends has {len(legends)} lines; expected one for each molecule.")
    atoms = [mol.GetNumAtoms() for mol in mols]
    if values is not None and [len(row) for row in values] != atoms:
        raise ValueError(
            f"values has {[len(row) for row in values]} numbers; expected one for each atom, "
            f"{atoms}."
        )
    if outlined and (values is None or len(outlined) != len(mols)):
        raise ValueError(
            f"outlined is {outlined!r}; expected an atom or None for each molecule, and values."
        )
    rows = -(-len(mols) // columns)
    width, height = cell
    drawer = rdMolDraw2D.MolDraw2DSVG(width * min(columns, len(mols)), height * rows, width, height)
    options = draw_options(drawer, PALETTE)
    options.setLegendColour(rgb(INK))
    options.legendFontSize = LEGEND
    options.legendFraction = max(0.15, 26 / height)
    options.minFontSize = 12
    options.maxFontSize = 13
    options.padding = 0.03
    highlights = {}
    bar = ""
    if values is not None:
        # Otherwise a letter takes the colour of the disc behind it, and cannot be seen.
        options.standardColoursForHighlightedAtoms = True
        options.highlightRadius = 0.4
        low, high = limits or (min(map(min, values)), max(map(max, values)))
        colors = colormaps.get_cmap(cmap)
        shares = [[(float(v) - low) / max(high - low, 1e-9) for v in row] for row in values]
        shades = [{i: colors(share)[:3] for i, share in enumerate(row)} for row in shares]
        highlights = {"highlightAtoms": [*map(list, shades)], "highlightAtomColors": shades}
        highlights["highlightBonds"] = [[] for _ in mols]
        bar = _color_bar(low, high, colors, value_label)
    drawer.DrawMolecules(mols, legends=list(legends or [""] * len(mols)), **highlights)
    drawer.FinishDrawing()
    svg = drawer.GetDrawingText()
    if values is not None:
        svg = on_page(svg, colors, [share for row in shares for share in row])
    if outlined:
        svg = outline(svg, atoms, outlined)
    if legends:
        svg = in_words(svg, legends, columns, cell)
    return HTML(accessible_svg(svg, alt) + bar)


def places(mol) -> list[list[float]]:
    """Positions of the atoms in RDKit's drawing, ``[n, 2]``, in bond lengths; y points down."""
    from rdkit.Chem import Mol, rdDepictor

    mol = Mol(mol)
    rdDepictor.Compute2DCoords(mol)
    at = in_bond_lengths(mol)
    if len(close(at)):  # turned about other bonds, they may be apart
        turned = {"nFlipsPerSample": 3, "nSample": 200, "sampleSeed": 1}
        rdDepictor.Compute2DCoords(mol, permuteDeg4Nodes=True, **turned)
        at = pushed_apart(in_bond_lengths(mol))
    return at.round(2).tolist()


def in_bond_lengths(mol) -> np.ndarray:
    """Positions of the atoms of a drawing, ``[n, 2]``, for a median bond of length 1."""
    at = mol.GetConformer().GetPositions()[:, :2] * [1, -1]
    ends = np.array([(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in mol.GetBonds()], dtype=int)
    steps = at[ends[:, 0]] - at[ends[:, 1]] if len(ends) else np.array([[1.0, 0.0]])
    return at / np.median(np.linalg.norm(steps, axis=1))


def close(at: np.ndarray) -> np.ndarray:
    """Pairs of atoms whose discs would lie on each other, ``[pairs, 2]``."""
    apart = np.linalg.norm(at[:, None] - at, axis=-1)
    return np.argwhere(np.triu(apart < CLOSE, k=1))


def pushed_apart(at: np.ndarray) -> np.ndarray:
    """The positions after close atoms have moved away from each other.

    A push can bring an atom near to others. Atoms that are still close after ``ROUNDS`` stay so.
    """
    at = at.copy()
    for _ in range(ROUNDS):
        for i, j in close(at):
            step = at[j] - at[i]
            length = np.linalg.norm(step)
            direction = step / length if length > 0 else np.array([1.0, 0.0])
            push = (CLOSE + 0.01 - length) / 2 * direction
            at[i] -= push
            at[j] += push
    return at


def draw_options(drawer, palette: dict[int, str]):
    """RDKit's options for a transparent page; the palette is of atomic numbers."""
    options = drawer.drawOptions()
    options.clearBackground = False
    options.bondLineWidth = 2
    options.setAtomPalette({number: rgb(color) for number, color in palette.items()})
    return options


def on_page(svg: str, colors: Colormap, shares: Sequence[float]) -> str:
    """Gives discs and letters colours that depend on the page's mode, light or dark.

    ``shares`` has the place of each disc on the colour map, from 0 to 1.
    """
    remaining = iter(shares)
    current: dict[str, float] = {}  # of the molecule that is being drawn, by atom

    def colored(mark: re.Match) -> str:
        if mark["disc"]:
            share = current[mark["of"]] = next(remaining)
            return re.sub(r"#\w{6}", disc_color(colors, share), mark[0])
        return re.sub(r"#\w{6}", disc_letters(colors, current[mark["letter"]]), mark[0])

    disc = r"(?P<disc><ellipse)[^>]*class='atom-(?P<of>\d+)'[^>]*>"
    return re.sub(rf"{disc}|<path class='atom-(?P<letter>\d+)'[^>]*>", colored, svg)


def outline(svg: str, sizes: Sequence[int], atoms: Sequence[int | None]) -> str:
    """Blue rings around discs: ``atoms`` has one for each molecule of these sizes, or None."""
    discs = list(re.finditer(r"<ellipse[^>]*class='atom-\d+'[^>]*stroke:([^;]+);[^>]*>", svg))
    first = 0
    pieces = []
    done = 0
    for size, atom in zip(sizes, atoms, strict=True):
        if atom is not None:
            disc = discs[first + atom]
            ringed = disc[0].replace(f"stroke:{disc[1]};stroke-width:1.0px", RING)
            pieces += [svg[done : disc.start()], ringed]
            done = disc.end()
        first += size
    return "".join([*pieces, svg[done:]])


def in_words(svg: str, legends: Sequence[str], columns: int, cell: tuple[int, int]) -> str:
    """Legends as text in the page's font, those of a row on one line.

    RDKit draws their letters as outlines, and centres each line on the letters that it has.
    """
    width, height = cell
    legends = [re.sub(r"(?<!\w)-(?=\d)", "\N{MINUS SIGN}", legend) for legend in legends]
    longest = max(map(len, legends))
    size = min(LEGEND, width / (WIDE_LETTER * max(longest, 1)))
    words = [
        f'<text class="legend" x="{width * (at % columns + 0.5):g}" '
        f'y="{height * (at // columns + 1) - 8:g}" text-anchor="middle" font-size="{size:.3g}" '
        f'fill="{INK}">{escape(legend)}</text>'
        for at, legend in enumerate(legends)
    ]
    return re.sub(r"<path class='legend'[^>]*>\n?", "", svg).replace(
        "</svg>", "".join(words) + "</svg>"
    )


def _color_bar(low: float, high: float, colors: Colormap, label: str) -> str:
    stops = ", ".join(disc_color(colors, step / 8) for step in range(9))
    ramp = f"background:linear-gradient(to right, {stops});width:8rem;height:.7rem"
    return (
        f'<div style="display:flex;gap:.5rem;align-items:center;justify-content:center;'
        f'flex-wrap:wrap;font-size:.85rem;color:{PAGE_INK}">'
        f"<span>{escape(label)}</span><span>{_signed(low)}</span>"
        f'<span style="{ramp}"></span><span>{_signed(high)}</span></div>'
    )


def _signed(value: float) -> str:
    return f"{value:.3g}".replace("-", "\N{MINUS SIGN}")
