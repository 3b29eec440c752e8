"""Several pictures in one place, with a slider: for layers, steps or choices.

One piece of HTML without anything from elsewhere, as the molecule explorer. Where scripts do not
run, the frame it starts with is a still picture.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files

from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from gtcourse.plots.style import COLORS, PAGE_INK, accessible_svg, drawn

LARGEST = 400_000
"""Characters of one output, which a phone has to load."""


def frames(
    figures: Mapping[str, Figure],
    *,
    alts: Sequence[str],
    choice: str,
    start: int = 0,
    seconds: float | None = None,
):
    """Figures of one size, of which a slider shows one.

    Args:
        figures: by the words that are read out and shown beside the slider; closed afterwards.
        alts: what each picture shows, for those who cannot see it.
        choice: the slider's name: what is chosen.
        start: the frame that is shown first, and alone where scripts do not run.
        seconds: for each frame, where time passes: there is a button that plays them. It is left
            out for readers who have asked their system for less motion.

    Raises:
        ValueError: fewer than two figures, sizes or numbers that do not agree, or too large.
    """
    from IPython.display import HTML

    if len(figures) < 2 or len(alts) != len(figures):
        raise ValueError(
            f"there are {len(figures)} figures and {len(alts)} descriptions; expected two figures "
            "at least, and a description of each."
        )
    if not 0 <= start < len(figures):
        raise ValueError(f"start is {start}; expected 0 to {len(figures) - 1}.")
    if len({tuple(figure.get_size_inches()) for figure in figures.values()}) > 1:
        raise ValueError("the figures have several sizes; expected one, so that nothing jumps.")
    data = {
        "ink": PAGE_INK,
        "mark": COLORS["blue"],
        "choice": choice,
        "start": start,
        "seconds": seconds,
        "labels": list(figures),
        "pictures": [_svg(f, alt) for f, alt in zip(figures.values(), alts, strict=True)],
    }
    data["key"] = sha256(json.dumps(data).encode()).hexdigest()[:12]
    script = (files("gtcourse.plots") / "frames.js").read_text(encoding="utf-8")
    html = (
        f'<div data-frames="{data["key"]}">{_still(data)}</div>'
        f"<script>{script.strip()}({_in_script(data)});</script>"
    )
    if len(html) > LARGEST:
        raise ValueError(
            f"the frames take {len(html) // 1000} kB; expected {LARGEST // 1000} at most: fewer "
            "of them, or simpler ones."
        )
    return HTML(html)


def _svg(figure: Figure, alt: str) -> str:
    """As ``plots.show`` has it, but not cut to its ink: all frames stay in one place."""
    with plt.rc_context({"savefig.bbox": "standard"}):
        svg = drawn(figure)
    svg = accessible_svg(svg, alt)
    return svg if "'" in svg else svg.replace('"', "'")  # in JSON a " takes two characters


def _still(data: dict) -> str:
    label = data["labels"][data["start"]]
    return (
        f'{data["pictures"][data["start"]]}<p style="color:{PAGE_INK};text-align:center">'
        f"{escape(label)}. With scripts, {escape(data['choice'])} can be chosen here.</p>"
    )


def _in_script(data: dict) -> str:
    """JSON that ends no script. Drawings have many a <: only those that could are written out."""
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("</", "<\\/").replace("<!", "\\u003c!")
