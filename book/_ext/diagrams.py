"""The diagrams of layers react: a box that the reader chooses shows what it is computed from.

``plots.diagram`` draws arrows first, then the samples of the legend, then boxes and their labels,
each in the order of its arguments. The arguments stand in the cell above the drawing, so the parts
of the drawing get their names from there, and ``_static/diagram.js`` does the rest.
"""

import ast
import html
import json
import re
from itertools import pairwise

from docutils import nodes
from formulas import plain
from sphinx.application import Sphinx
from sphinx.util import logging

CALL = "plots.diagram("
FORMULA = re.compile(r"\$([^$]*)\$")
SHAPE = re.compile(r"\n?(\[[^\]]*\](?: each)?)$")
PATCH = re.compile(r'<g id="patch_\d+"(?=>)')
TEXT = re.compile(r'<g id="text_\d+"(?=>)')
BACKGROUND = 1  #: patches before the first arrow
SAID = (
    '<p class="said" role="status">Point at a box, or tap it, to see what it is computed from.</p>'
)
SCRIPT = '<script src="../_static/diagram.js" defer></script>'

logger = logging.getLogger(__name__)


def name_parts(app: Sphinx, document: nodes.document, page: str) -> None:
    if app.builder.format != "html":
        return
    drawn = False
    for cell in document.findall(is_cell):
        code = next((block.astext() for block in cell.findall(nodes.literal_block)), "")
        drawing = next((raw for raw in cell.findall(nodes.raw) if "<svg" in raw.astext()), None)
        if CALL not in code or drawing is None:
            continue
        try:
            named = with_names(drawing.astext(), *arguments(code))
        except ValueError as error:
            logger.warning("a diagram cannot react: %s", error, location=page)
            continue
        script = "" if drawn else SCRIPT
        drawing.replace_self(nodes.raw("", named + script, **drawing.attributes))
        drawn = True


def is_cell(node: nodes.Node) -> bool:
    return isinstance(node, nodes.container) and "cell" in node.get("classes", [])


def arguments(code: str) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """The labels of the boxes by name, and the arrows in the order in which they are drawn."""
    calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    (call,) = (node for node in calls if getattr(node.func, "attr", "") == "diagram")
    given = {each.arg: each.value for each in call.keywords}
    boxes, arrows = (ast.literal_eval(each) for each in call.args)
    chains = [chain.split(" > ") for chain in arrows.split(", ") if chain]
    ends = [pair for chain in chains for pair in pairwise(chain)]
    skips = ast.literal_eval(given["skips"]) if "skips" in given else {}
    return {name: label for name, (_, _, label, _) in boxes.items()}, [*ends, *skips]


def with_names(drawing: str, boxes: dict[str, str], arrows: list[tuple[str, str]]) -> str:
    """The drawing, whose arrows, boxes and labels say what they are.

    Raises a ValueError if it does not have as many of them as the arguments.
    """
    patches = [*PATCH.finditer(drawing)][BACKGROUND:]
    texts = [*TEXT.finditer(drawing)]
    samples = len(patches) - len(arrows) - len(boxes)
    if not 0 <= samples == len(texts) - len(boxes):
        raise ValueError(
            f"it has {len(patches)} shapes and {len(texts)} texts; expected those of {len(arrows)} "
            f"arrows and {len(boxes)} boxes, and a legend."
        )
    marks = {
        part.end(): f' data-from="{start}" data-to="{end}"'
        for part, (start, end) in zip(patches, arrows, strict=False)
    }
    for parts in (patches[len(arrows) + samples :], texts):
        marks |= {
            part.end(): f' data-box="{name}"' for part, name in zip(parts, boxes, strict=False)
        }
    pieces = []
    done = 0
    for at in sorted(marks):
        pieces += [drawing[done:at], marks[at]]
        done = at
    words = html.escape(json.dumps({name: in_words(name, boxes[name]) for name in boxes}))
    named = "".join([*pieces, drawing[done:]])
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
