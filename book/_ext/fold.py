"""Long code that a phone folds to a line, which opens it.

A long cell of code gets a button with a comment at its top, or the name that it defines, and the
number of its lines.
``_static/book.css`` shows the button on phones alone, and only where scripts run. Cells that are
folded everywhere have none.
"""

import re
from html import escape, unescape

from pages import built, update

MOST = 15  #: lines that are not folded

CELL = re.compile(
    r"(?<!</summary>\n)"
    r'(<div class="(?:cell_input docutils container|output stream source\b[^"]*)">)'
    r'(\s*(?:<div class="highlight-[^"]*">)?<div class="highlight"><pre>)(.*?)(?=</pre>)',
    re.DOTALL,
)
TAG = re.compile(r"<[^>]*>")
COMMENT = re.compile(r"# (?!noqa|NBVAL|\[)(.+)")
DEFINED = re.compile(r"(?:def|class) (\w+)")


def with_folds(page: str) -> str:
    return CELL.sub(folded, page)


def folded(cell: re.Match) -> str:
    opening, between, code = cell.groups()
    lines = unescape(TAG.sub("", code)).rstrip("\n").split("\n")
    if len(lines) <= MOST:
        return cell[0]
    said = escape(title(lines), quote=False)
    button = (
        '<button type="button" class="fold" aria-expanded="false">'
        f"<b>{said}</b><span>{len(lines)} lines</span></button>"
    )
    return opening + button + between + code


def title(lines: list[str]) -> str:
    """A comment at the top, or the first function or class that the code defines, or "Code"."""
    first = next(line for line in lines if line.strip())
    if comment := COMMENT.match(first):
        return comment[1]
    defined = next(filter(None, map(DEFINED.match, lines)), None)
    return f"Defines {defined[1]}" if defined else "Code"


def fold_code(app, error) -> None:
    for path, page in built(app, error):
        update(path, page, with_folds(page))


def setup(app):
    app.connect("build-finished", fold_code, priority=905)  # after slim.py, before lines.py
    return {"parallel_read_safe": True, "parallel_write_safe": True}
