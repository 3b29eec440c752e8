"""Boxes, notes, what the lid of a hidden cell says, formulas that keep their full stop,
short code that stays in one line, and exercises without a verdict on an empty answer.

Colab shows a quotation that begins "**Main idea.**" or "**Aside.**" as a quotation; here the first
is a box, and the second a note in small print.
"""

import ast

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from gtcourse.course.exercises.checker import UNATTEMPTED

FOLDED_TABLE = "Show the table"
"""The lid of a cell that is folded with its output, if this is a table to look numbers up in."""

FOLDED_CELL = "Show the code and its output"
"""The lid of any other cell that is folded with its output."""

SETUP = ("# Colab only", "# Finds the course")
"""How the first cell of a notebook begins."""


class aside(nodes.General, nodes.Element):  # noqa: N801, as docutils names its nodes
    """A note in small print. With docutils' "sidebar" the theme would hide the list of contents."""


def open_aside(page: HTML5Translator, node: aside) -> None:
    page.body.append(page.starttag(node, "aside", CLASS="note"))


def close_aside(page: HTML5Translator, node: aside) -> None:
    page.body.append("</aside>\n")


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
            quote.replace_self(aside("", *quote.children))


def name_hidden_cells(app: Sphinx, document: nodes.document) -> None:
    for cell in document.findall(nodes.container):
        if cell.get("hide_mode") in ("input", "all"):
            name = label if cell["hide_mode"] == "input" else label_of_both
            cell["prompt_show"] = name(code_of(cell))
            cell["prompt_hide"] = cell["prompt_show"].replace("Show", "Hide", 1)


def code_of(cell: nodes.Element) -> str:
    """The code of a cell, "" if it has none."""
    return next((block.astext() for block in cell.findall(nodes.literal_block)), "")


def drop_empty_verdicts(app: Sphinx, document: nodes.document) -> None:
    """On a page nobody can answer an exercise, so none says that it was not attempted."""
    for output in [*document.findall(nodes.container)]:
        if "cell_output" in output["classes"] and output.astext().startswith(UNATTEMPTED):
            output.parent.remove(output)


def drop_setup_output(app: Sphinx, document: nodes.document) -> None:
    """Removes the line that says where the notebook found the course: a reader does not need it."""
    for cell in document.findall(nodes.container):
        if "cell" not in cell["classes"] or not code_of(cell).startswith(SETUP):
            continue
        for output in [part for part in cell if "cell_output" in part.get("classes", [])]:
            cell.remove(output)


def hold_punctuation(app: Sphinx, document: nodes.document) -> None:
    """Without this, a line may begin with the full stop that follows a formula."""
    for formula in [*document.findall(nodes.math)]:
        after = formula.next_node(descend=False, siblings=True)
        if isinstance(after, nodes.Text) and after[:1] in tuple(".,;:?!)”’"):
            # By its place: an earlier text may be equal, and replace() would take that one.
            after.parent[formula.parent.index(formula) + 1] = nodes.Text(after[1:])
            together = nodes.inline(classes=["together"])
            formula.replace_self(together)
            together += [formula, nodes.Text(after[0])]


def hold_short_code(app: Sphinx, document: nodes.document) -> None:
    """``--buckets 8`` and ``gin-100k`` stay in one line; a phone has room for 24 characters."""
    for literal in document.findall(nodes.literal):
        if len(literal.astext()) <= 24:
            literal["classes"].append("together")


def label_of_both(source: str) -> str:
    """What a cell is that is folded with its output."""
    return FOLDED_TABLE if "table(" in source else FOLDED_CELL


def label(source: str) -> str:
    """What a cell is for, as far as its code shows it."""
    if source.startswith(SETUP):
        return "Colab setup (skip elsewhere)"
    body = ast.parse(source).body
    imports = [line for line in body if isinstance(line, (ast.Import, ast.ImportFrom))]
    if 2 * len(imports) > len(body):
        return "Show imports"
    if "plt." in source or "plots.show" in source or "plots.molecules" in source:
        return "Show plotting code"
    if "plots.table(" in source or "plots.formula_table(" in source:
        return "Show the table’s code"
    if "plots.diagram(" in source:
        return "Show the diagram’s code"
    if "widget(" in source or "plots.calculator(" in source:
        return "Show the widget’s code"
    if "assert" in source:
        return "Show the check"
    defined = [line.name for line in body if isinstance(line, (ast.FunctionDef, ast.ClassDef))]
    if len(defined) > 1:
        return "Show helper code"
    return f"Show {defined[0] if defined else 'the code'}"


def setup(app: Sphinx) -> dict:
    app.add_node(aside, html=(open_aside, close_aside))
    app.connect("doctree-read", place_boxes)
    app.connect("doctree-read", name_hidden_cells)
    app.connect("doctree-read", drop_empty_verdicts)
    app.connect("doctree-read", drop_setup_output)
    app.connect("doctree-read", hold_punctuation)
    app.connect("doctree-read", hold_short_code)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
