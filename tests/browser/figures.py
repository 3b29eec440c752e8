"""Do a figure's words stand out from what is drawn behind them? Judged from pixels.

axe-core cannot say: letters in a drawing are paths, and behind them are discs, cells and bars.
"""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

# Of each text in a figure its box, from the figure's corner, its colour, and that of its halo; its
# glyphs are hidden afterwards. The box that matplotlib draws around a text is no part of it.
TEXTS = """(svg) => {
  const corner = svg.getBoundingClientRect();
  const words = "g[id^=text_], text, path[class*=atom-], path[class=note], path[class=legend]";
  const painted = (e, what) => {
    const style = getComputedStyle(e);
    return style[what] === "none" || style[what + "Opacity"] === "0" ? null : style[what];
  };
  const found = [...svg.querySelectorAll(words)].map((text) => {
    const strokes = text.tagName === "g" ? [...text.querySelectorAll("path, use")] : [text];
    const glyphs = strokes.filter((e) => !e.closest("defs, g[id^=patch_]"));
    const box = text.getBoundingClientRect();
    return {
      glyphs,
      box: [box.left - corner.left, box.top - corner.top, box.width, box.height],
      color: glyphs.map((g) => painted(g, "fill")).filter(Boolean).pop() ?? null,
      halo: glyphs.map((g) => painted(g, "stroke")).filter(Boolean).shift() ?? null,
    };
  }).filter(({ color, box }) => color && box[2] > 0 && box[3] > 0);
  found.forEach(({ glyphs }) => glyphs.forEach((glyph) =>
    glyph.style.setProperty("visibility", "hidden", "important")));
  return found.map(({ box, color, halo }) => ({ box, color, halo }));
}"""

# The colour of the book's ink in this mode, written as that of a text.
INK = """(svg) => {
  const probe = svg.ownerDocument.body.appendChild(document.createElement("i"));
  probe.style.color = "var(--gtcourse-ink)";
  const ink = getComputedStyle(probe).color;
  probe.remove();
  return ink;
}"""

SHOW = """(svg) => svg.querySelectorAll("[style*=visibility]").forEach((text) =>
  text.style.removeProperty("visibility"))"""

WORDS, LETTERS = 4.5, 3.0
"""What is asked of words, which have the book's ink, and of what belongs to the drawing: an atom's
letter, a number on a disc, a name in the colour of its line."""


def luminance(colors: np.ndarray) -> np.ndarray:
    """WCAG's relative luminance of ``[..., 3]`` channels from 0 to 255."""
    x = colors / 255
    linear = np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)
    return linear @ np.array([0.2126, 0.7152, 0.0722])


def ratio(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Of brighter to darker, from 1 to 21."""
    a, b = luminance(one) + 0.05, luminance(other) + 0.05
    return np.maximum(a, b) / np.minimum(a, b)


def faint_texts(picture) -> list[str]:
    """The texts of one figure, a locator, that stand out too little.

    A text's contrast is the median, over its box, of that to the pixels which are there without
    it; to its halo, where it has one.
    """
    ink, texts = picture.evaluate(INK), picture.evaluate(TEXTS)
    ground = np.asarray(Image.open(io.BytesIO(picture.screenshot())).convert("RGB"), dtype=float)
    picture.evaluate(SHOW)
    faults = []
    for text in texts:
        needed = WORDS if text["color"] == ink else LETTERS
        found = float(np.median(ratio(rgb(text["color"]), behind(text, ground))))
        if found < needed - 0.005:
            left, top = (round(number) for number in text["box"][:2])
            faults.append(f"{found:.2f} of {needed}: {text['color']} at {left}, {top}")
    return faults


def behind(text: dict, ground: np.ndarray) -> np.ndarray:
    """Colours ``[n, 3]``."""
    if text["halo"]:
        return rgb(text["halo"])[None]
    left, top, width, height = (round(number) for number in text["box"])
    part = ground[max(top, 0) : top + max(height, 1), max(left, 0) : left + max(width, 1)]
    return part.reshape(-1, 3)


def rgb(color: str) -> np.ndarray:
    """Of ``rgb(1, 2, 3)``, as a browser writes computed colours."""
    return np.array([float(part) for part in color.strip("rgba()").split(",")[:3]])
