"""The package's pages say nothing twice: parameters with one description share a line, and a
NamedTuple's fields, which are its parameters, are left out."""

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
    return {"parallel_read_safe": True, "parallel_write_safe": True}
