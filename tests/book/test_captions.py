"""Captions of tables: the paragraph in italics below a table becomes a numbered caption."""

import importlib

import pytest
from docutils import nodes

from tools.paths import ROOT


@pytest.fixture
def figures(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "book" / "_ext"))
    return importlib.import_module("figures")


def test_a_comment_between_a_table_and_its_caption_changes_nothing(figures):
    table = nodes.table()
    caption = nodes.paragraph("", "", nodes.emphasis("", "Errors on ZINC."))
    page = nodes.container("", table, nodes.comment("", "end of summary"), caption)
    assert figures.with_caption(table).astext() == "Errors on ZINC."
    assert [type(node) for node in page] == [nodes.figure, nodes.comment]


def test_a_table_above_ordinary_text_has_no_caption(figures):
    table = nodes.table()
    nodes.container("", table, nodes.paragraph("", "Errors on ZINC."))
    assert figures.with_caption(table) is None
