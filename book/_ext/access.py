"""Roles that a screen reader can make sense of, where the builder writes others."""

import re

from pages import built, update

# docutils calls the bibliography a list but its entries no items of one.
ROLES = {'<div role="list" class="citation-list">': '<div class="citation-list">'}

SIDEBAR = '<div id="pst-primary-sidebar"'
LANDMARK = f'{SIDEBAR} role="complementary" aria-label="book"'
"""The logo and the search stand in no landmark of the theme."""

EMPTY_HEADER = re.compile(r'<th\b(?![^>]*class="[^"]*head)([^>]*)>\s*</th>')
"""The corner of an output's table names neither a row nor a column. Of a table of the text, whose
headers have the class ``head``, all headers may be empty: the styles hide these."""

ROW = re.compile(r"<tr\b[^>]*>(?:(?!</tr>).)*</tr>", re.DOTALL)
EMPTY_HEAD = re.compile(r'<th class="head([^"]*)"><p></p></th>')

TABLE = re.compile(r"<table\b.*?</table>", re.DOTALL)
SPREAD = re.compile(r"(?<=\d) ± (?=\d)")
"""A mean and its standard deviation stay in one line of a table's cell."""


PRINTED_TITLE = re.compile(
    r'(<div id="jb-print-docs-body" class="onlyprint">\s*)<h1>(.*?)</h1>', re.DOTALL
)
"""The theme repeats the title for paper; a page has one heading of the first level."""


def mend_roles(app, page, template, context, doctree) -> None:
    for wrong, right in ROLES.items():
        if "body" in context:
            context["body"] = context["body"].replace(wrong, right)


def without_empty_heads(row: re.Match) -> str:
    """A row of the text's table; its empty headers are cells if another one has words."""
    cells = EMPTY_HEAD.sub(r'<td class="head\1"></td>', row[0])
    return cells if '<th class="head' in cells else row[0]


def accessible(page: str) -> str:
    page = ROW.sub(without_empty_heads, page)
    page = TABLE.sub(lambda table: SPREAD.sub("\u00a0±\u00a0", table[0]), page)
    page = PRINTED_TITLE.sub(r'\1<p class="printed-title">\2</p>', page)
    return EMPTY_HEADER.sub(r"<td\1></td>", page.replace(SIDEBAR, LANDMARK))


def mend_pages(app, error) -> None:
    for path, page in built(app, error):
        update(path, page, accessible(page))


def setup(app):
    app.connect("html-page-context", mend_roles)
    app.connect("build-finished", mend_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
