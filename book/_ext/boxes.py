"""Boxes and margin notes: a quotation that begins "**Main idea.**" or "**Aside.**".

Colab shows them as quotations; here the first is a box, and the second stands in the margin.
"""

from docutils import nodes
from sphinx.application import Sphinx


def place_boxes(app: Sphinx, document: nodes.document) -> None:
    for quote in [*document.findall(nodes.block_quote)]:
        start = next(iter(quote.findall(nodes.strong)), None)
        kind = start.astext() if start is not None else ""
        if kind == "Main idea.":
            start.parent.remove(start)
            title = nodes.title("", "Main idea")
            quote.replace_self(
                nodes.admonition("", title, *quote.children, classes=["main-idea", "tip"])
            )
        elif kind == "Aside.":
            start.parent.remove(start)
            quote.replace_self(nodes.sidebar("", *quote.children, classes=["margin"]))


def setup(app: Sphinx) -> dict:
    app.connect("doctree-read", place_boxes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
