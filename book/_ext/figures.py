"""Numbered figures: what a cell shows and the line of italics below it become a figure.

A chapter's text has its captions as paragraphs in italics, which Colab shows as well. Here they
are put into a ``<figure>`` with the cell's output, or with the table that the text holds, and
numbered, figures and tables apart: "Figure 6.2". A figure that a phone shows much smaller than it
was made has a button below it, with which ``_static/book.js`` opens it at its own size. What can be
played with is numbered by ``pictures.py``, together with its pictures.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sizes import size
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from widgets import has_widget

DIRECTIVE = re.compile(r"  # noqa: \w+")
SEEDS = re.compile(r" \((\d+) seeds\)")
SPELLED = {"2": "two", "3": "three", "4": "four"}
HEAD = re.compile(r"(<th\b[^>]*>)([^<]{1,12})(</th>)")
MARKS = re.compile(r'<use [^>]*? style="([^"]*)"/>(?:\s*<use [^>]*? style="\1"/>)+')
# Matplotlib's paths; others, with commas or exponents, stay as they are.
PATH = re.compile(r' d="([MLHVCQZz\d\s.-]+)"')
COMMAND = re.compile(r"\s*([MLHVCQZz])\s*")
CHAPTER = re.compile(r"notebooks/(\d\d)_")
# Matplotlib puts the numbers into double quotation marks, RDKit into single ones.
WIDTH = re.compile(
    r"""<svg\b[^>]*?\sviewBox=["'][-\d.]+ [-\d.]+ ([\d.]+) [\d.]+["'][^>]*?\srole="img\""""
)
POINT = 4 / 3  #: pixels
# A hyphen before a number, in a table or a drawing.
MINUS = re.compile(r"(<(?:td|text)\b[^>]*>)-(?=\d)")
SHOWN_TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
ROW = re.compile(r"<tr\b.*?</tr>", re.DOTALL)
CELL = re.compile(r"<t[hd] style=\"text-align:[^>]*>(?:<[^>]*>)*([^<]*)")
RIGHT = re.compile(r"<t[hd] style=\"text-align:\w+")
FOLDED = "tag_fold-table"  # of a cell with this tag
OPENING = '<details class="numbers"><summary>The numbers of the figure as a table</summary>'
PROSE = 60  #: characters of a cell that holds a sentence
MANY_COLUMNS = 4
STARTS_AS_NUMBER = re.compile(r"[−+-]?\d")
WORDED = 16  #: characters of a cell on average, which three columns of a phone break into lines
FORMULAS = 10  #: the same for a printed table of formulas, of which a character takes more room
WITHOUT_LABELS = ("book/ledger", "book/notation")  #: their cells say themselves what they are
WIDE = 480  #: pixels; a phone draws a figure of this width at 70 % of its size
ENLARGE = '<button type="button" class="enlarge">Enlarge this figure</button>'


def number_figures(app: Sphinx, document: nodes.document, page: str) -> None:
    if app.builder.format != "html":
        return
    found = CHAPTER.match(page)
    chapter = f"{int(found[1])}." if found else ""
    count = Counter()
    for figure in document.findall(nodes.figure):  # of a text; Sphinx counts them across pages
        count["Figure"] += 1
        add_number(figure[-1], f"Figure {count['Figure']}")
    for output in [*document.findall(is_shown)]:
        caption = with_caption(output)
        kind = kind_of(output)
        if caption is None:
            continue
        if is_widget(output):
            caption.parent["classes"].append("interactive")
            continue
        fold(caption.parent)
        count_seeds_once(caption)
        count[kind] += 1
        number = f"{kind} {chapter}{count[kind]}"
        add_number(caption, number)
        caption.parent["ids"] = caption.parent["ids"] or [nodes.make_id(number.replace(".", "-"))]


def drop_numbers_of_sphinx(app: Sphinx, env: BuildEnvironment) -> None:
    """Sphinx numbers the figures of all pages in one row, beside the numbers of this module."""
    for numbers in env.toc_fignumbers.values():
        numbers.pop("figure", None)


def offer_enlarged(app: Sphinx, document: nodes.document, page: str) -> None:
    """A button below each wide figure; only phones show it."""
    if app.builder.format != "html":
        return
    for figure in document.findall(nodes.figure):
        if own_width(figure, Path(app.srcdir)) >= WIDE:
            figure.insert(1, nodes.raw("", ENLARGE, format="html"))


def own_width(figure: nodes.figure, root: Path) -> float:
    """In pixels, of a figure's only drawing; 0 if it has none, or several."""
    drawn = "".join(raw.astext() for raw in figure.findall(nodes.raw))
    widths = [POINT * float(width) for width in WIDTH.findall(drawn)]
    pictures = [*figure.findall(nodes.image)]
    widths += [size(root / picture["uri"])[0] for picture in pictures if is_file(picture)]
    return widths[0] if len(widths) == 1 else 0


def is_file(picture: nodes.image) -> bool:
    return not picture["uri"].startswith("data:") and "://" not in picture["uri"]


def add_number(caption: nodes.Element, number: str) -> None:
    caption.insert(0, [nodes.strong(number, number), nodes.Text(". ")])


def is_shown(node: nodes.Node) -> bool:
    """The output of a cell, or a table of the text."""
    if isinstance(node, nodes.table):
        return not is_printed(node) and "differs" not in node["classes"]
    return is_output(node)


def is_output(node: nodes.Node) -> bool:
    return isinstance(node, nodes.container) and "cell_output" in node.get("classes", [])


def ancestors(node: nodes.Node) -> Iterator[nodes.Node]:
    while node.parent is not None:
        node = node.parent
        yield node


def kind_of(output: nodes.Node) -> str:
    raw = "".join(node.astext() for node in output.findall(nodes.raw))
    if re.search("<svg|<img|<script", raw) or next(iter(output.findall(nodes.image)), None):
        return "Figure"
    return "Table"  # numbers in lines, too


def fold(figure: nodes.figure) -> None:
    """A table that repeats a figure's numbers is folded, if its cell has the tag ``fold-table``."""
    cell = figure.parent
    if FOLDED not in cell.get("classes", []):
        return
    at = cell.index(figure)
    cell.insert(at, nodes.raw("", OPENING, format="html"))
    cell.insert(at + 2, nodes.raw("", "</details>", format="html"))


def is_widget(output: nodes.Node) -> bool:
    return any(has_widget(raw.astext()) for raw in output.findall(nodes.raw))


def with_caption(output: nodes.Element) -> nodes.caption | None:
    """Puts the output into a figure, with the paragraph of italics below its cell, if any."""
    cell = output.parent if is_output(output) else output
    if cell.parent is None:  # the lid of a folded cell, which MyST-NB places without a parent
        return None
    below = cell.parent[cell.parent.index(cell) + 1 :]
    paragraph = next((node for node in below if not is_comment(node)), None)
    if not isinstance(paragraph, nodes.paragraph) or len(paragraph) != 1:
        return None
    if not isinstance(paragraph[0], nodes.emphasis):
        return None
    caption = nodes.caption("", "", *paragraph[0].children)
    figure = nodes.figure("", output.deepcopy(), caption)
    output.parent.replace(output, figure)
    paragraph.parent.remove(paragraph)
    if cell is not output:
        put_lid_below(cell)
    return caption


def is_comment(node: nodes.Node) -> bool:
    """Such as the one that marks the end of a generated table: MyST reads it as raw HTML."""
    return isinstance(node, nodes.raw) and node.astext().strip().startswith("<!--")


def put_lid_below(cell: nodes.Element) -> None:
    """The folded code of a figure or a table comes after it, where it does not delay the reader."""
    lid = cell[0]
    if isinstance(lid, HideCodeCellNode):
        cell.remove(lid)
        cell.append(lid)


def count_seeds_once(caption: nodes.caption) -> None:
    """Where every cell of a table ends in "(3 seeds)", the caption says it once instead."""
    tables = [raw for raw in caption.parent.findall(nodes.raw) if "<table" in raw.astext()]
    found = {number for raw in tables for number in SEEDS.findall(raw.astext())}
    if len(found) != 1:
        return
    rewrite(tables, partial(SEEDS.sub, ""))
    number = SPELLED.get(*found, *found)
    if f"{number} seeds" not in caption.astext():
        caption.append(nodes.Text(f" Each ± is the standard deviation over {number} seeds."))


def hide_directives(app: Sphinx, document: nodes.document, page: str) -> None:
    """Readers need no instructions for the formatter and the linter."""
    rewrite(document.findall(nodes.literal_block), partial(DIRECTIVE.sub, ""))


def hold_short_heads(app: Sphinx, document: nodes.document, page: str) -> None:
    """The head of a column, such as "seed 0", stays in one line if it has at most 12 characters."""
    rewrite(document.findall(nodes.raw), partial(HEAD.sub, held_head))
    for head in document.findall(nodes.thead):
        for entry in head.findall(nodes.entry):
            if len(entry.astext()) <= 12:
                for text in [*entry.findall(nodes.Text)]:
                    text.parent.replace(text, nodes.Text(held(text.astext())))


def mark_prose(app: Sphinx, document: nodes.document, page: str) -> None:
    """Cells with sentences in tables of many columns, which a phone would squeeze.

    ``book.css`` gives them a width there, and the table scrolls.
    """
    for table in document.findall(nodes.table):
        if len([*table.findall(nodes.colspec)]) < MANY_COLUMNS:
            continue
        for entry in table.findall(nodes.entry):
            if len(entry.astext()) > PROSE:
                entry["classes"].append("prose")


def label_rows(app: Sphinx, document: nodes.document, page: str) -> None:
    """Tables of words get a label in each cell, for phones: ``book.css`` makes a row a block."""
    if app.builder.format != "html" or page in WITHOUT_LABELS:
        return
    for table in document.findall(nodes.table):
        if is_worded(table):
            table["classes"].append("worded")
            heads = [entry.astext() for entry in next(iter(table.findall(nodes.thead)))[-1]]
            for row in next(iter(table.findall(nodes.tbody))):
                for head, entry in list(zip(heads, row, strict=True))[1:]:
                    add_label(entry, head)


def is_worded(table: nodes.table) -> bool:
    """Whether a table with a head of one row has many columns for what its cells say.

    Where most cells are numbers, a reader compares the rows of a column. Of what cells print, only
    tables of formulas count.
    """
    if not table.children or (is_printed(table) and not has_formulas(table)):
        return False
    heads = [*table.findall(nodes.thead)]
    cells = [entry.astext().strip() for entry in table.findall(nodes.entry)]
    columns = len([*table.findall(nodes.colspec)])
    if not heads or len(heads[0]) != 1 or columns < 3 or len(cells) % columns:
        return False
    numbers = [cell for cell in cells[columns:] if STARTS_AS_NUMBER.match(cell)]
    if 2 * len(numbers) > len(cells) - columns:
        return False
    enough = FORMULAS if is_printed(table) else WORDED
    return sum(map(len, cells)) / len(cells) >= enough


def is_printed(table: nodes.table) -> bool:
    return any(is_output(above) for above in ancestors(table))


def has_formulas(table: nodes.table) -> bool:
    return next(iter(table.findall(nodes.math)), None) is not None


def add_label(entry: nodes.entry, head: str) -> None:
    if not entry.astext().strip():
        entry["classes"].append("none")
    elif isinstance(entry[0], nodes.paragraph) and head:
        entry[0].insert(0, nodes.inline("", f"{head}: ", classes=["label"]))


def held_head(head: re.Match) -> str:
    return head[1] + held(head[2]) + head[3]


def held(words: str) -> str:
    return words.replace(" ", "\N{NO-BREAK SPACE}")


def shrink_figures(app: Sphinx, document: nodes.document, page: str) -> None:
    """Less text for the same picture.

    Matplotlib repeats the style of a scatter plot at each mark, where a group says it once, and
    puts spaces around the commands of a path.
    """
    rewrite(document.findall(nodes.raw), partial(MARKS.sub, grouped))
    rewrite(document.findall(nodes.raw), partial(PATH.sub, without_spaces))


def align_words(app: Sphinx, document: nodes.document, page: str) -> None:
    """Columns of words begin at the left, in tables that cells show; numbers end at the right."""
    rewrite(document.findall(nodes.raw), partial(SHOWN_TABLE.sub, aligned))


def aligned(table: re.Match) -> str:
    rows = [CELL.findall(row) for row in ROW.findall(table[0])]
    columns = [*zip(*(row for row in rows[1:] if len(row) == len(rows[0])), strict=True)]
    worded = {at for at, cells in enumerate(columns) if all(cell[:1].isalpha() for cell in cells)}

    def turned(cell: str, column: int) -> str:
        return cell.replace("right", "left", 1) if column in worded else cell

    def in_row(row: re.Match) -> str:
        numbers = iter(range(len(rows[0])))
        return RIGHT.sub(lambda cell: turned(cell[0], next(numbers, -1)), row[0])

    return ROW.sub(in_row, table[0])


def write_minus_signs(app: Sphinx, document: nodes.document, page: str) -> None:
    """Numbers below zero have the minus sign of the text, not Python's hyphen."""
    rewrite(document.findall(nodes.raw), partial(MINUS.sub, "\\1\N{MINUS SIGN}"))


def grouped(marks: re.Match) -> str:
    style = f' style="{marks[1]}"'
    return f"<g{style}>{marks.group().replace(style, '')}</g>"


def without_spaces(found: re.Match) -> str:
    commands = COMMAND.sub(r"\1", found[1])
    return f' d="{commands}"'


def rewrite(found: Iterable[nodes.TextElement], change: Callable[[str], str]) -> None:
    """Puts changed copies in the place of the nodes whose text changes."""
    for node in [*found]:  # all are found before the first is replaced
        text = change(node.astext())
        if text != node.astext():
            node.replace_self(type(node)(text, text, **node.attributes))


def setup(app: Sphinx) -> dict:
    app.connect("env-check-consistency", drop_numbers_of_sphinx)
    app.connect("doctree-resolved", number_figures)
    app.connect("doctree-resolved", offer_enlarged)
    app.connect("doctree-resolved", hide_directives)
    app.connect("doctree-resolved", shrink_figures)
    app.connect("doctree-resolved", hold_short_heads)
    app.connect("doctree-resolved", align_words)
    app.connect("doctree-resolved", write_minus_signs)
    app.connect("doctree-resolved", label_rows)
    app.connect("doctree-resolved", mark_prose)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
