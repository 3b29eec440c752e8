"""Plain text becomes a link: "section 6.8" to its heading, "chapter 06" to its page.

The sources stay as they read in Jupyter and Colab. A number that no heading has is a warning, and
a warning fails the build. A capital "Section" counts as ours at the start of a sentence only:
"the paper's Section 5.4" is the paper's.
"""

import re

from docutils import nodes
from sphinx.util import logging
from sphinx.util.nodes import make_refnode

logger = logging.getLogger(__name__)

LIST = r"{0}(?:(?:, |,? and | to |,? or ){0})*"
SECTION = r"\d{1,2}\.\d{1,2}(?![\d.]*\d)"
CHAPTER = r"\d\d(?!\d)"
MENTION = re.compile(
    rf"\b[Ss]ections? {LIST.format(SECTION)}|\b[Cc]hapters? {LIST.format(CHAPTER)}"
)
NUMBER = re.compile(rf"{SECTION}|{CHAPTER}")
HEADING = re.compile(r"(\d{1,2}\.\d{1,2}|\d\d) \S")
# Where a link would be one too many, or would change what is shown.
UNTOUCHED = (
    nodes.title,
    nodes.reference,
    nodes.literal,
    nodes.literal_block,
    nodes.math,
    nodes.math_block,
    nodes.raw,
    nodes.comment,
    nodes.image,
    nodes.Inline,
)
TRANSPARENT = (nodes.emphasis, nodes.strong, nodes.inline)


def mentions(text: str, before: str = "") -> list[tuple[int, int, str]]:
    """(start, end, number) of what should be a link in ``text``, which follows on ``before``.

    One number with its word, "section 6.8"; of several the first with the word, the others alone.
    """
    found = []
    for mention in MENTION.finditer(text):
        if mention[0].startswith("Section") and not begins(before + text[: mention.start()]):
            continue
        start = mention.start()
        for number in NUMBER.finditer(mention[0]):
            end = mention.start() + number.end()
            found.append((start, end, number[0]))
            start = next_start(mention, number)
    return found


def begins(before: str) -> bool:
    """Does a sentence begin here?"""
    return not before.strip() or before.rstrip()[-1] in ".:!?(|"


def next_start(mention: re.Match, number: re.Match) -> int:
    following = NUMBER.search(mention[0], number.end())
    return mention.start() + (following.start() if following else len(mention[0]))


def note_headings(app, doctree) -> None:
    """Remember where each numbered heading of this page stands."""
    places = app.env.numbered_headings
    for section in doctree.findall(nodes.section):
        heading = HEADING.match(section.next_node(nodes.title).astext())
        if heading:
            anchor = "" if heading[1].isdigit() else section["ids"][0]
            places[heading[1]] = (app.env.docname, anchor)


def forget(app, env, docname) -> None:
    places = getattr(env, "numbered_headings", {})
    env.numbered_headings = {n: place for n, place in places.items() if place[0] != docname}


def link(app, doctree, docname) -> None:
    for text in list(doctree.findall(nodes.Text)):
        if not untouched(text):
            replace(app, text, docname)


def untouched(text: nodes.Text) -> bool:
    """Is it a place where links have no business, or text that stands in no paragraph?"""
    node = text.parent
    while isinstance(node, nodes.Element) and not isinstance(node, nodes.document):
        if isinstance(node, UNTOUCHED) and type(node) not in TRANSPARENT:
            return True
        node = node.parent
    return node is None


def replace(app, text: nodes.Text, docname: str) -> None:
    pieces = []
    done = 0
    for start, end, number in mentions(text.astext(), words_before(text)):
        place = app.env.numbered_headings.get(number)
        if place is None:
            kind = "section" if "." in number else "chapter"
            logger.warning("there is no %s %s", kind, number, location=text.parent)
        elif place != (docname, ""):  # a chapter need not be linked to itself
            words = nodes.Text(text[start:end])
            pieces += [nodes.Text(text[done:start])]
            pieces += [make_refnode(app.builder, docname, *place, words)]
            done = end
    if pieces:
        text.parent.replace(text, [*pieces, nodes.Text(text[done:])])


def words_before(text: nodes.Text) -> str:
    """What stands before this text in its paragraph."""
    node = text
    words = ""
    while isinstance(node, nodes.Text) or type(node) in TRANSPARENT:
        earlier = ""
        for sibling in node.parent.children:
            if sibling is node:
                break
            earlier += sibling.astext()
        node = node.parent
        words = earlier + words
    return words


def setup(app):
    app.connect("env-purge-doc", forget)
    app.connect("doctree-read", note_headings)
    app.connect("doctree-resolved", link)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
