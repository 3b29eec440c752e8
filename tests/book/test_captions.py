"""Captions of tables: the paragraph in italics below a table becomes a numbered caption."""

import importlib

import pytest
from docutils import nodes
from sphinx.application import Sphinx

from tools.paths import ROOT


@pytest.fixture
def figures(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "book" / "_ext"))
    return importlib.import_module("figures")


def test_a_comment_between_a_table_and_its_caption_changes_nothing(figures):
    table = nodes.table()
    caption = nodes.paragraph("", "", nodes.emphasis("", "Errors on ZINC."))
    comment = nodes.raw("", "<!-- end of summary -->", format="html")  # as MyST reads it
    page = nodes.container("", table, comment, caption)
    assert figures.with_caption(table).astext() == "Errors on ZINC."
    assert [type(node) for node in page] == [nodes.figure, nodes.raw]


def test_a_table_above_ordinary_text_has_no_caption(figures):
    table = nodes.table()
    nodes.container("", table, nodes.paragraph("", "Errors on ZINC."))
    assert figures.with_caption(table) is None


def test_a_figure_has_one_number(figures, tmp_path):
    (tmp_path / "conf.py").write_text("extensions = ['figures']\nnumfig = True\n")
    (tmp_path / "a.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"/>')
    (tmp_path / "index.rst").write_text("Page\n====\n\n.. figure:: a.svg\n\n   A caption.\n")
    out = tmp_path / "html"
    Sphinx(tmp_path, tmp_path, out, out / "doctrees", "html", status=None).build()
    page = (out / "index.html").read_text(encoding="utf-8")
    assert "<strong>Figure 1</strong>. A caption." in page
    assert "Fig. 1" not in page
