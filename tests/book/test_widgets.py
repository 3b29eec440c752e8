"""Widgets of stored outputs are drawn by today's scripts, which stand beside the page."""

import importlib
from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.utils import new_document

from gtcourse.course import plots
from gtcourse.course.plots.interactive import code
from tools.paths import ROOT


@pytest.fixture
def widgets(monkeypatch):
    """The extension, imported as Sphinx does."""
    monkeypatch.syspath_prepend(str(ROOT / "book" / "_ext"))
    return importlib.import_module("widgets")


def separated(widgets, folder, html: str) -> str:
    """What a page has in the place of an output."""
    document = new_document("page")
    document += nodes.raw(html, html, format="html")
    app = SimpleNamespace(builder=SimpleNamespace(format="html"), outdir=folder)
    widgets.separate(app, document, "page")
    return document[0].astext()


def test_a_widget_leaves_its_still_picture_in_the_page_and_its_script_beside_it(widgets, tmp_path):
    keys = [[2.0, 0.0], [0.0, 1.0]]
    today = plots.attention_widget(keys, keys, [1.0, 0.0]).data
    still, script = today.removesuffix("</script>").split("<script>")
    call = script[script.index('({"ink"') :]
    stored = f"{still}<script>(function () {{}}){call}</script>"
    place = separated(widgets, tmp_path, stored)
    key = place.split('data-attention="')[1].split('"')[0]
    assert place == still.replace(">", f' data-script="../_static/widgets/{key}.js">', 1)
    assert (tmp_path / f"_static/widgets/{key}.js").read_text() == script
    assert script.startswith(code("attention"))


def test_other_outputs_stay_in_the_page(widgets, tmp_path):
    html = "<p>no widget</p><script>draw()</script>"
    assert separated(widgets, tmp_path, html) == html
    assert not [*tmp_path.iterdir()]
