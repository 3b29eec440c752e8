"""Captions of tables: the paragraph in italics below a table becomes a numbered caption."""

from types import SimpleNamespace

from docutils import nodes
from docutils.utils import new_document
from sphinx.application import Sphinx

from book._ext import figures, pictures

HTML = SimpleNamespace(builder=SimpleNamespace(format="html"))


def test_a_comment_between_a_table_and_its_caption_changes_nothing():
    table = nodes.table()
    caption = nodes.paragraph("", "", nodes.emphasis("", "Errors on ZINC."))
    comment = nodes.raw("", "<!-- end of summary -->", format="html")  # as MyST reads it
    page = nodes.container("", table, comment, caption)
    assert figures.with_caption(table).astext() == "Errors on ZINC."
    assert [type(node) for node in page] == [nodes.figure, nodes.raw]


def test_a_table_above_ordinary_text_has_no_caption():
    table = nodes.table()
    nodes.container("", table, nodes.paragraph("", "Errors on ZINC."))
    assert figures.with_caption(table) is None


def cell(html, *classes):
    """A cell whose output is a piece of HTML, with a caption below it."""
    output = nodes.container("", nodes.raw("", html, format="html"), classes=["cell_output"])
    shown = nodes.container("", output, classes=["cell", *classes])
    page = nodes.section("", shown, nodes.paragraph("", "", nodes.emphasis("", "Errors.")))
    document = new_document("page")
    document += page
    return document, shown


def test_a_table_that_repeats_a_figure_is_folded_below_a_sentence():
    document, shown = cell("<table><tr><td>-2.44</td></tr></table>", "tag_fold-table")
    figures.number_figures(HTML, document, "notebooks/06_graphormer")
    opening, figure, closing = shown
    assert opening.astext().startswith("<details")
    assert figure[-1].astext() == "Table 6.1. Errors."
    assert closing.astext() == "</details>"


def test_a_widget_is_numbered_among_the_interactive_pictures():
    document, shown = cell('<div data-signs="1a"></div><script>draw();</script>')
    figures.number_figures(HTML, document, "notebooks/04_positional_encodings")
    pictures.number(HTML, document, "notebooks/04_positional_encodings")
    (figure,) = shown
    assert figure["classes"] == ["interactive"]
    assert figure[-1].astext() == "Interactive 4.1. Errors."


def test_negative_numbers_in_tables_and_drawings_have_a_minus_sign():
    html = '<td style="a">-2.44</td><text x="-3">-5.6</text><td>a-1</td><script>x = -1</script>'
    document, _ = cell(html)
    figures.write_minus_signs(HTML, document, "notebooks/01_self_attention")
    (raw,) = document.findall(nodes.raw)
    assert raw.astext() == (
        '<td style="a">−2.44</td><text x="-3">−5.6</text><td>a-1</td><script>x = -1</script>'
    )


def test_a_figure_has_one_number(tmp_path):
    (tmp_path / "conf.py").write_text("extensions = ['figures']\nnumfig = True\n")
    (tmp_path / "a.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"/>')
    (tmp_path / "index.rst").write_text("Page\n====\n\n.. figure:: a.svg\n\n   A caption.\n")
    out = tmp_path / "html"
    Sphinx(tmp_path, tmp_path, out, out / "doctrees", "html", status=None).build()
    page = (out / "index.html").read_text(encoding="utf-8")
    assert "<strong>Figure 1</strong>. A caption." in page
    assert "Fig. 1" not in page
