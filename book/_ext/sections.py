"""The search page finds sections: their titles and prose, without formulas and code.

Sphinx's own index finds pages and is dropped (``offline.py``). While pages are read, each section's
title, address and prose are collected here, and ``_static/search.js`` ranks them.
"""

import json
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import desc
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

GONE = (nodes.section, nodes.literal_block, nodes.system_message, desc)
FORMULAS = (nodes.math, nodes.math_block)


def collect(app: Sphinx, document: nodes.document) -> None:
    page = app.env.docname
    title = next(iter(document.findall(nodes.title)), nodes.title()).astext()
    found(app.env)[page] = [
        {
            "page": title,
            "title": section[0].astext(),
            "url": address(page, section),
            "text": prose(section),
        }
        for section in document.findall(nodes.section)
        if section.children and isinstance(section[0], nodes.title)
    ]


def found(env: BuildEnvironment) -> dict[str, list[dict[str, str]]]:
    """Sections by page; the environment is stored, so pages that are not read again stay."""
    if not hasattr(env, "sections_of_pages"):
        env.sections_of_pages = {}
    return env.sections_of_pages


def address(page: str, section: nodes.section) -> str:
    top = isinstance(section.parent, nodes.document)
    return f"{page}.html" + ("" if top else f"#{section['ids'][0]}")


def prose(section: nodes.section) -> str:
    """A section's own text; that of the sections in it is theirs."""

    def words(node: nodes.Node) -> str:
        if isinstance(node, GONE) or "cell" in getattr(node, "attributes", {}).get("classes", []):
            return ""
        if isinstance(node, FORMULAS):
            return " … "
        if isinstance(node, nodes.Text):
            return str(node)
        space = "" if isinstance(node, nodes.Inline) else " "
        return space + "".join(words(child) for child in node.children) + space

    return " ".join("".join(words(child) for child in section[1:]).split())


def write(app: Sphinx, error: Exception | None) -> None:
    if error or app.builder.format != "html":
        return
    pages = found(app.env)
    sections = [section for page in sorted(pages) for section in pages[page]]
    content = f"const SECTIONS = {json.dumps(sections, ensure_ascii=False)};\n"
    Path(app.outdir, "_static", "sections.js").write_text(content, encoding="utf-8")


def only_here(app: Sphinx, page: str, template: str, context: dict, doctree: object) -> None:
    if page == "search":
        app.add_js_file("sections.js")
        app.add_js_file("search.js")


def setup(app: Sphinx) -> dict:
    app.connect("doctree-read", collect)
    app.connect("html-page-context", only_here)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
