"""A picture on every chapter's card: on the first page, and after the promise of the chapter.

In the chapter, a sentence below the picture says what it shows. On the first page, each card ends
with how long its chapter takes to read and to run. Under the chapter's title stands the badge that
opens it in Colab, instead of the card's last row.

The pictures are book/_static/cards/NN.svg, named for the beginning of the notebook's name; the
<title> of each is its alt text. They are put in here and not in the notebooks, where Colab would
look for them in vain.
"""

import html
import re
import sys
from pathlib import Path

from docutils import nodes
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

CHAPTER = re.compile(r"(?:^|/)notebooks/(?:(\d\d)_\w+|(data|your_molecules))$")
TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL)

CAPTIONS = {
    "01": "A query gives each key a weight. Here the word Thinking attends mostly to itself.",
    "02": "The encoder (left) reads the input. Every block of the decoder (right) attends to it.",
    "03": "A node attends to its neighbours (left) or, as in a Transformer, to all nodes (right).",
    "04": "Two eigenvectors of a grid, drawn as colours: one changes slowly, the other from node "
    "to node.",
    "05": "An eigenvector and its negative describe the same graph. SignNet gives both the same "
    "answer.",
    "06": "To each attention logit, Graphormer adds a learned number that depends on the distance. "
    "Here, the paler a node, the farther it is from the leftmost one.",
    "07": "EGT updates a vector for every ordered pair of nodes. Here the vectors of three pairs "
    "are drawn, each as three bars.",
    "08": "In GRPE, the relation of two nodes acts on the query, the key and the value.",
    "09": "CSA gives a pair of nodes one attention weight for each channel, here six.",
    "10": "Which layer is a special case of which? Each frame contains the next. From "
    "the outside in: CSA’s attention; attention with a bias and a value vector for each relation; "
    "attention with a bias for each relation, as in Graphormer, where the relation is the distance "
    "(without its term for the edges along a path); and the Transformer’s attention.",
    "11": "A map of attention marks one atom. Does the prediction depend on it?",
    "12": "The same training run, first on one laptop and then on nine connected machines.",
    "data": "A molecule of ZINC, and how often each value of the target occurs.",
    "your_molecules": "From a table of molecules and measurements to predictions, explained atom "
    "by atom.",
}

logger = logging.getLogger(__name__)


class CardPictures(SphinxTransform):
    """Runs while pages are read, so that Sphinx copies the pictures as it does others."""

    default_priority = 400

    def apply(self, **kwargs) -> None:
        if self.app.builder.format != "html":
            return  # paper has the figures
        name = chapter(self.env.docname)
        if name:
            self.head(name)
        if self.env.docname.startswith("notebooks/"):
            self.badge()
        for card in self.document.findall(is_card):
            links = (chapter(xref.get("reftarget", "")) for xref in card.findall(is_link))
            name = next(filter(None, links), None)
            if name:
                card.insert(0, self.picture(name, ["sd-card-img-top"]))
                self.time(card, name)

    def time(self, card: nodes.Node, name: str) -> None:
        """At the end of a chapter's card: how long it takes."""
        sys.path.insert(0, str(self.app.srcdir))
        from tools.times import reading, running

        text = next(iter(Path(self.app.srcdir, "book/chapters").glob(f"{name}_*.md")), None)
        body = next((part for part in card.findall(nodes.container) if is_body(part)), None)
        if text is None or body is None:
            logger.warning("no chapter or no text for the card of %s", name)
            return
        runs = Path(self.app.srcdir, "book/run_times.json")
        for path in (text, runs):
            self.env.note_dependency(str(path))
        minutes = reading(text.read_text(encoding="utf-8"))
        said = f"{minutes} min to read, {running(text.stem)} to run"
        body += nodes.paragraph("", said, classes=["card-time"])

    def badge(self) -> None:
        """Colab's badge under the title, with the address of the card's row "Run it"."""
        for row in self.document.findall(nodes.row):
            link = next(iter(row.findall(nodes.reference)), None)
            if row[0].astext() == "Run it" and link is not None:
                picture = nodes.image(uri="/book/_static/colab.svg", alt="Open in Colab")
                picture["classes"] = ["colab"]
                address = link["refuri"]
                row.parent.remove(row)
                badge = nodes.paragraph("", "", nodes.reference("", "", picture, refuri=address))
                next(iter(self.document.findall(nodes.section))).insert(1, badge)
                return

    def head(self, name: str) -> None:
        """On the chapter's page, after the first paragraph under its title."""
        section = next(iter(self.document.findall(nodes.section)), nodes.section())
        at = section.first_child_matching_class(nodes.paragraph)
        if at is None:
            logger.warning("no paragraph to put the card's picture after", location=self.document)
        else:
            caption = nodes.paragraph("", CAPTIONS[name], classes=["chapter-caption"])
            section.insert(at + 1, [self.picture(name, []), caption])

    def picture(self, name: str, classes: list[str]) -> nodes.image:
        path = f"/book/_static/cards/{name}.svg"
        file = Path(self.app.srcdir, path.lstrip("/"))
        title = TITLE.search(file.read_text(encoding="utf-8")) if file.exists() else None
        if title is None:
            logger.warning("%s is no picture with a title", path)
        alt = html.unescape(title[1]) if title else ""
        return nodes.image(uri=path, alt=alt, classes=["chapter-picture", *classes])


def chapter(address: str) -> str | None:
    """01 to 12, data or your_molecules, if this is a chapter's page."""
    found = CHAPTER.search(address.removesuffix(".ipynb"))
    return found and (found[1] or found[2])


def is_body(node: nodes.container) -> bool:
    return "sd-card-body" in node["classes"]


def is_card(node: nodes.Node) -> bool:
    """Doors are cards that lead to more than one page, and have no picture."""
    classes = node.get("classes", []) if isinstance(node, nodes.Element) else []
    return "sd-card" in classes and "door" not in classes


def is_link(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Element) and "reftarget" in node.attributes


def setup(app):
    app.add_transform(CardPictures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
