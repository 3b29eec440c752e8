"""A description of every page, for search engines and for previews of shared links."""

import re
from html import escape

from docutils import nodes

SITE = "Graph Transformers: an open, executable course"


def describe(app, page, template, context, doctree) -> None:
    paragraph = None if doctree is None else next(iter(doctree.findall(nodes.paragraph)), None)
    if paragraph is None:
        return
    title = context.get("title", SITE)
    text = " ".join(re.sub(r" \[[^]]*\]", "", paragraph.astext()).split())  # no citations
    text = text if len(text) <= 200 else text[:200].rsplit(" ", 1)[0] + " …"
    tags = {"og:title": title, "og:description": text, "og:type": "article", "og:site_name": SITE}
    metas = [f'<meta name="description" content="{escape(text)}">']
    metas += [f'<meta property="{k}" content="{escape(v)}">' for k, v in tags.items()]
    context["metatags"] = context.get("metatags", "") + "\n".join(metas)


def setup(app):
    app.connect("html-page-context", describe)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
