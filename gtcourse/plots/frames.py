"""Several pictures in one place, with a slider: for layers, steps or choices.

One piece of HTML without anything from elsewhere, as the molecule explorer. Where scripts do not
run, the frame it starts with is a still picture.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from hashlib import sha256
from html import escape
from importlib.resources import files

from gtcourse.plots.style import COLORS, PAGE_INK

LARGEST = 400_000
"""Characters of one output, which a phone has to load."""


def frames(
    pictures: Mapping[str, object],
    *,
    choice: str,
    start: int = 0,
    seconds: float | None = None,
):
    """Pictures of one size, of which a slider shows one.

    Args:
        pictures: as ``plots.molecules`` returns them, or ``plots.show`` with ``trim=False``, by the
            words that are shown below the slider and read out.
        choice: the slider's name: what is chosen.
        start: the picture that is shown first, and alone where scripts do not run.
        seconds: for each picture, where time passes: there is a button that plays them. It is left
            out for readers who have asked their system for less motion.

    Raises:
        ValueError: fewer than two pictures, of several sizes, or together too large; or no such
            start.
    """
    from IPython.display import HTML

    if len(pictures) < 2:
        raise ValueError(f"{len(pictures)} picture is too few for a slider; expected two or more.")
    if not 0 <= start < len(pictures):
        raise ValueError(f"start is {start}; expected 0 to {len(pictures) - 1}.")
    drawings = [picture.data for picture in pictures.values()]
    if len({re.search(r"viewBox=[\"']([^\"']*)", drawing)[1] for drawing in drawings}) > 1:
        raise ValueError(
            "the pictures have several sizes; expected one, so that nothing jumps: "
            "plots.show(figure, alt, trim=False)."
        )
    data = {
        "ink": PAGE_INK,
        "mark": COLORS["blue"],
        "choice": choice,
        "start": start,
        "seconds": seconds,
        "labels": list(pictures),
        "pictures": [_single_quoted(drawing) for drawing in drawings],
    }
    data["key"] = sha256(json.dumps(data).encode()).hexdigest()[:12]
    script = (files("gtcourse.plots") / "frames.js").read_text(encoding="utf-8")
    html = (
        f'<div data-frames="{data["key"]}">{_still(data)}</div>'
        f"<script>{script.strip()}({_in_script(data)});</script>"
    )
    if len(html) > LARGEST:
        raise ValueError(
            f"the pictures take {len(html) // 1000} kB; expected {LARGEST // 1000} at most: fewer "
            "of them, or simpler ones."
        )
    return HTML(html)


def _single_quoted(html: str) -> str:
    """In JSON a double quote takes two characters, and drawings are full of them."""
    return html if "'" in html else html.replace('"', "'")


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
