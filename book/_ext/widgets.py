"""The widgets of stored outputs, as today's package draws them.

A cell's output has a widget's script and its data, so that it works in Colab. Here both go into a
script beside the pages, which ``_static/book.js`` loads when the reader comes near.
"""

import re
from functools import partial
from pathlib import Path

from docutils import nodes
from pages import built
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

KINDS = "attention|calculator|heads|signs"
STARTS = re.compile(rf"<div data-(?:{KINDS})=")
WIDGET = re.compile(
    rf'<div data-(?P<kind>{KINDS})="(?P<key>\w+)">(?P<still>.*?)</div>'
    r'<script>.*?(?P<call>\(\{"ink":.*?"key":"(?P=key)"\}\);)</script>',
    re.DOTALL,
)
PLACE = '<div data-{kind}="{key}" data-script="../_static/{script}">{still}</div>'
LINKED = re.compile(r'data-script="\.\./_static/(widgets/\w+\.js)"')


def separate(app: Sphinx, document: nodes.document, page: str) -> None:
    """Moves the scripts of a page's widgets into files, and warns of those that it cannot read."""
    if app.builder.format != "html":
        return
    static = Path(app.outdir, "_static")
    for raw in [*document.findall(nodes.raw)]:
        stored = raw.astext()
        text, count = WIDGET.subn(partial(without_script, static), stored)
        if count < len(STARTS.findall(stored)):
            message = "a widget that is not written as plots.interactive writes it stays as stored"
            logger.warning(message, location=page)
        if count:
            raw.replace_self(nodes.raw(text, text, **raw.attributes))


def without_script(static: Path, found: re.Match) -> str:
    """What a page has in the place of a widget, whose script is written into ``static``."""
    script = f"widgets/{found['key']}.js"
    path = static / script
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(todays_script(found), encoding="utf-8")
    return PLACE.format(script=script, **found.groupdict())


def todays_script(found: re.Match) -> str:
    """Today's script of a widget, with the data that was stored."""
    from gtcourse.course.plots.interactive import code

    return code(found["kind"]) + found["call"]


def has_widget(html: str) -> bool:
    return STARTS.search(html) is not None


def remove_stale(app: Sphinx, error: Exception | None) -> None:
    """Removes scripts of former builds that no page loads.

    This is done at the end, because a build keeps the pages whose text has not changed.
    """
    if error is not None or app.builder.format != "html":
        return
    linked = {script for _, page in built(app, error) for script in LINKED.findall(page)}
    for script in Path(app.outdir, "_static", "widgets").glob("*.js"):
        if f"widgets/{script.name}" not in linked:
            script.unlink()


def setup(app: Sphinx) -> dict:
    app.connect("doctree-resolved", separate, priority=600)  # after figures.py has found them
    app.connect("build-finished", remove_stale)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
