"""The widgets of stored outputs, as today's package draws them.

A cell's output has a widget's script and its data, so that it works in Colab. Here both go into a
script beside the pages, which ``_static/book.js`` loads when the reader comes near.
"""

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

WIDGET = re.compile(
    r'<div data-(?P<kind>attention|calculator|heads|signs)="(?P<key>\w+)">(?P<still>.*)</div>'
    r'<script>.*(?P<call>\(\{"ink":.*"key":"(?P=key)"\}\);)</script>',
    re.DOTALL,
)
STARTS = re.compile(r"<div data-(?:attention|calculator|heads|signs)=")
PLACE = '<div data-{kind}="{key}" data-script="../_static/{script}">{still}</div>'


def separate(app: Sphinx, document: nodes.document, page: str) -> None:
    if app.builder.format != "html":
        return
    for raw in [*document.findall(nodes.raw)]:
        found = WIDGET.search(raw.astext())
        if found is None:
            continue
        script = f"widgets/{found['key']}.js"
        write(Path(app.outdir, "_static", script), today(found))
        place = PLACE.format(script=script, **found.groupdict())
        text = raw.astext()[: found.start()] + place + raw.astext()[found.end() :]
        raw.replace_self(nodes.raw(text, text, **raw.attributes))


def today(found: re.Match) -> str:
    """Today's script of a widget, with the data that was stored."""
    from gtcourse.course.plots.interactive import code

    return code(found["kind"]) + found["call"]


def write(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script, encoding="utf-8")


def has_widget(html: str) -> bool:
    return STARTS.search(html) is not None


def setup(app: Sphinx) -> dict:
    app.connect("doctree-resolved", separate, priority=600)  # after figures.py has found them
    return {"parallel_read_safe": True, "parallel_write_safe": True}
