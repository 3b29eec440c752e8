"""Source code that a cell prints is shown as code: in its colours, and without broken lines."""

import ast
from textwrap import dedent

from docutils import nodes
from sphinx.application import Sphinx

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def mark_source(app: Sphinx, document: nodes.document, page: str) -> None:
    """Gives each printed definition the language of code and, for ``book.css``, a class."""
    for output in document.findall(is_output):
        for block in output.findall(nodes.literal_block):
            if is_definition(block.astext()):
                block["language"] = "python"
                block["classes"].append("source")


def is_output(node: nodes.Node) -> bool:
    return isinstance(node, nodes.container) and "cell_output" in node.get("classes", [])


def is_definition(text: str) -> bool:
    """Whether a text is one function or class, as ``inspect.getsource`` returns it."""
    try:
        parsed = ast.parse(dedent(text)).body
    except SyntaxError:
        return False
    return len(parsed) == 1 and isinstance(parsed[0], DEFINITIONS)


def setup(app: Sphinx) -> dict:
    app.connect("doctree-resolved", mark_source)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
