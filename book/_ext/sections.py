"""The search page finds sections: their titles and prose, formulas as plain text, without code.

Sphinx's own index finds pages and is dropped (``offline.py``). While pages are read, each section's
title, address and prose are collected here, and ``_static/search.js`` ranks them while
the reader types, with the stemmer that Sphinx brings for its own search.
"""

import json
import re
from pathlib import Path

from docutils import nodes
from formulas import plain
from sphinx.addnodes import desc
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

GONE = (
    nodes.section,
    nodes.title,
    nodes.literal_block,
    nodes.system_message,
    desc,
    nodes.comment,
    nodes.raw,
    nodes.image,
)
BLOCKS = (nodes.paragraph, nodes.row, nodes.admonition)


def collect(app: Sphinx, document: nodes.document) -> None:
    page = app.env.docname
    title = next(iter(document.findall(nodes.title)), nodes.title()).astext()
    found(app.env)[page] = [
        {
            "page": title,
            "title": "".join(map(words, section[0].children)),
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

    lines = "".join(words(child) for child in section[1:]).split("\n")
    text = "\n".join(text for line in lines if (text := " ".join(line.split())))
    text = re.sub(r"\n…\n(?=[a-z])", " … ", text).replace("\n…", " …")  # in a sentence
    return re.sub(r" ([.,;:])(?=\s|$)", r"\1", text)  # where a citation stood before the stop


def words(node: nodes.Node) -> str:
    """Text, a line for each paragraph and each row of a table, and what formulas can be as text."""
    attributes = getattr(node, "attributes", {})
    classes = attributes.get("classes", [])
    # A card's link holds its address as text, and the card itself says where it leads.
    if isinstance(node, GONE) or "cell" in classes or "sd-stretched-link" in classes:
        return ""
    if attributes.get("refdomain") == "cite":  # still the key of the source
        return ""
    if isinstance(node, nodes.math | nodes.math_block):
        return plain(node.astext()) if isinstance(node, nodes.math) else " … "
    if isinstance(node, nodes.Text):
        return str(node).replace("\n", " ")
    if isinstance(node, nodes.entry):
        return "".join(words(child).strip() for child in node.children) + " · "
    text = "".join(words(child) for child in node.children)
    is_block = isinstance(node, BLOCKS) or "sd-card" in classes or "sd-card-title" in classes
    return f"\n{text.removesuffix(' · ')}\n" if is_block else text


def write(app: Sphinx, error: Exception | None) -> None:
    if error or app.builder.format != "html":
        return
    pages = found(app.env)
    sections = [section for page in sorted(pages) for section in pages[page]]
    content = f"const SECTIONS = {json.dumps(sections, ensure_ascii=False)};\n"
    Path(app.outdir, "_static", "sections.js").write_text(content, encoding="utf-8")


def setup(app: Sphinx) -> dict:
    app.connect("doctree-read", collect)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
