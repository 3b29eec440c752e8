"""The diagrams of layers react: a box that the reader chooses shows what it is computed from.

``plots.diagram`` gives the boxes, labels and arrows of a drawing their names as ids. Here the ids
become attributes, and the labels words, which ``_static/diagram.js`` reads.
"""

import html
import json
import re

from docutils import nodes
from formulas import plain
from sphinx.application import Sphinx

LABELS = re.compile(r'<div class="diagram" data-labels="([^"]*)">')
BOX = re.compile(r'<g id="(box|label) ([^"]*)"')
ARROW = re.compile(r'<g id="arrow ([^"]*) &gt; ([^"]*)"')
FORMULA = re.compile(r"\$([^$]*)\$")
SHAPE = re.compile(r"\n?(\[[^\]]*\](?: each)?)$")
SAID = (
    '<p class="said" role="status">Point at a box, tap it or use the arrow keys to see what it is '
    "computed from.</p>"
)
SCRIPT = '<script src="../_static/diagram.js" defer></script>'


def name_parts(app: Sphinx, document: nodes.document, page: str) -> None:
    if app.builder.format != "html":
        return
    drawings = [raw for raw in document.findall(nodes.raw) if LABELS.match(raw.astext())]
    for drawing in drawings:
        named = with_names(drawing.astext())
        script = SCRIPT if drawing is drawings[0] else ""
        drawing.replace_self(nodes.raw("", named + script, **drawing.attributes))


def with_names(drawing: str) -> str:
    """The drawing, whose arrows, boxes and labels say what they are, and a line for words."""
    labels = json.loads(html.unescape(LABELS.match(drawing)[1]))
    words = html.escape(json.dumps({name: in_words(name, labels[name]) for name in labels}))
    named = LABELS.sub("", drawing).removesuffix("</div>")
    named = BOX.sub(r'<g class="\1" data-box="\2"', named)
    named = ARROW.sub(r'<g data-from="\1" data-to="\2"', named)
    return f'<div class="diagram" data-boxes="{words}">{named}{SAID}</div>'


def in_words(box: str, label: str) -> list[str]:
    """A label in a line of text, and the shape of its tensor, "" if it has none.

    Where Unicode has no signs for the label's formula, the name of its box stands for it.
    """
    text = FORMULA.sub(lambda formula: plain(formula[1]), label)
    shape = SHAPE.search(text)
    name = text[: shape.start()] if shape else text
    name = " ".join(name.split())
    return [box if name == "…" else name, shape[1] if shape else ""]


def setup(app: Sphinx) -> dict:
    app.connect("doctree-resolved", name_parts, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
