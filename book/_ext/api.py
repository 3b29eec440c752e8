"""The package's pages say nothing twice: parameters with one description share a line, and a
NamedTuple's fields, which are its parameters, are left out. Nor do they say that a function
returns None."""

import re
from itertools import pairwise

from docutils import nodes
from sphinx.application import Sphinx


def skip_aliases(app: Sphinx, kind: str, name: str, thing: object, skip: bool, options) -> bool:
    return skip or (getattr(thing, "__doc__", None) or "").startswith("Alias for field number")


def join_parameters(app: Sphinx, document: nodes.document) -> None:
    if not app.env.docname.startswith("book/api/"):
        return
    for bullets in [*document.findall(nodes.bullet_list)]:
        for item, following in pairwise([*bullets.children]):
            first, second = item[0], following[0]
            if description(first) and description(first) == description(second):
                names = [child.deepcopy() for child in first[: dash(first)]]
                second[:0] = [*names, nodes.Text(", ")]
                bullets.remove(item)


def drop_none(app: Sphinx, document: nodes.document) -> None:
    for field in [*document.findall(nodes.field)]:
        name, body = (part.astext() for part in field)
        if name == "Return type" and body == "NoneNone":  # with and without a link, as yet
            fields = field.parent
            fields.remove(field)
            if not fields.children:
                fields.parent.remove(fields)


def show_examples(app: Sphinx, kind: str, name: str, thing: object, options, lines: list) -> None:
    """The commands' examples are marked for the terminal."""
    lines[:] = [re.sub(r"\[bold\](.*?)\[/\]", r"``\1``", line) for line in lines]


def forget_sourceless(app: Sphinx, env) -> None:
    """Else the list of sources names the module of an alias such as ``list[int]``, builtins."""
    for name in [name for name, found in env._viewcode_modules.items() if not found]:
        del env._viewcode_modules[name]


def description(parameter: nodes.Element) -> str:
    at = dash(parameter)
    return "".join(child.astext() for child in parameter[at + 1 :]) if at else ""


def dash(parameter: nodes.Element) -> int:
    """Where the dash between a parameter and its description stands; 0 if there is none."""
    texts = [child.astext().strip() for child in parameter.children]
    return next((at for at, text in enumerate(texts) if text in ("--", "–")), 0)


def setup(app: Sphinx) -> dict:
    app.connect("autodoc-skip-member", skip_aliases)
    app.connect("doctree-read", join_parameters)
    app.connect("doctree-read", drop_none)
    app.connect("autodoc-process-docstring", show_examples)
    app.connect("env-check-consistency", forget_sourceless)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
