"""Numbered figures: what a cell draws and the line of italics below it become a figure.

A chapter's text has its captions as paragraphs in italics, which Colab shows as well. Here they
are put into a ``<figure>`` with the cell's output and numbered, figures and tables apart:
"Figure 6.2".
"""

import re
from collections import Counter

from docutils import nodes
from sphinx.application import Sphinx

PANEL = re.compile(r'id="[^"]*axes_\d+"')
CHAPTER = re.compile(r"notebooks/(\d\d)_")


def number_figures(app: Sphinx, document: nodes.document, page: str) -> None:
    if app.builder.format != "html":
        return
    found = CHAPTER.match(page)
    chapter, count = (f"{int(found[1])}." if found else ""), Counter()
    for output in [*document.findall(is_drawn)]:
        caption, kind = with_caption(output), kind_of(output)
        if caption is None:
            continue
        count[kind] += 1
        number = f"{kind} {chapter}{count[kind]}"
        caption.insert(0, [nodes.strong(number, number), nodes.Text(". ")])
        caption.parent["ids"] = caption.parent["ids"] or [nodes.make_id(number.replace(".", "-"))]


def is_drawn(node: nodes.Node) -> bool:
    """The output of a cell that shows a picture or a table."""
    return (
        isinstance(node, nodes.container)
        and "cell_output" in node.get("classes", [])
        and kind_of(node) != ""
    )


def kind_of(output: nodes.Node) -> str:
    raw = "".join(node.astext() for node in output.findall(nodes.raw))
    if re.search("<svg|<img|<script", raw) or next(iter(output.findall(nodes.image)), None):
        return "Figure"
    return "Table" if "<table" in raw else ""


def with_caption(output: nodes.container) -> nodes.caption | None:
    """Puts the output into a figure, with the paragraph of italics below its cell, if any."""
    cell = output.parent
    below = cell.parent.index(cell) + 1
    paragraph = cell.parent[below] if below < len(cell.parent) else None
    if not isinstance(paragraph, nodes.paragraph) or len(paragraph) != 1:
        return None
    if not isinstance(paragraph[0], nodes.emphasis):
        return None
    caption = nodes.caption("", "", *paragraph[0].children)
    panels = {panel for node in output.findall(nodes.raw) for panel in PANEL.findall(node.astext())}
    classes = ["wide"] if len(panels) > 2 else []
    cell.replace(output, nodes.figure("", output.deepcopy(), caption, classes=classes))
    cell.parent.remove(paragraph)
    return caption


def hide_directives(app: Sphinx, document: nodes.document, page: str) -> None:
    """Readers need no instructions for the formatter."""
    for block in [*document.findall(nodes.literal_block)]:
        if "# fmt: skip" in block.astext():
            text = block.astext().replace("  # fmt: skip", "")
            block.replace_self(nodes.literal_block(text, text, **block.attributes))


def setup(app: Sphinx) -> dict:
    app.connect("doctree-resolved", number_figures)
    app.connect("doctree-resolved", hide_directives)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
