"""Pictures to play with, each at the end of the text of its section, before its subsections.

``_static/pictures`` has the code that draws each, and the data that ``experiments.pictures`` wrote;
both go into one script beside the page, which ``book.js`` loads when the reader comes near. Where
scripts do not run there is a still picture, and a sentence says what can be done with it.

They are numbered like the figures ("Interactive 8.1"), together with the wall of twins and with the
widgets that cells show (``plots.interactive``). The section of a picture has to mention it, as "the
picture below" or "the picture at the end of this section", and these words become a link to it.
"""

import json
import re
from collections.abc import Iterator
from html import escape
from itertools import takewhile
from pathlib import Path

from docutils import nodes
from sphinx.util import logging

logger = logging.getLogger(__name__)

HOME = "var gtcourse = window.gtcourse || {}; window.gtcourse = gtcourse;\n"
"""What the scripts of a page share."""

OF_MODELS = ("metro", "pair")
"""The pictures that have a colour for each model."""

BY_ARROWS = ("bet", "bias", "flip", "fool", "forget", "ink", "pair", "transformer")
"""Those in which the arrow keys choose a thing: they use ``keys.js``, which a page loads once."""

PARTS = {
    "score": ["layers", "guess"],
    "stack": ["layers", "colors", "guess"],
    "ink": ["colors", "guess"],
    "basis": ["layers", "colors", "guess"],
    "flip": ["layers", "colors", "molecule", "guess"],
    "bias": ["layers", "colors", "molecule", "fetch", "guess", "drag"],
    "tour": ["layers", "guess", "drag"],
    "dial": ["layers", "colors", "guess"],
    "forget": ["layers", "colors", "molecule", "guess"],
    "transformer": ["guess"],
    "metro": ["colors", "guess"],
    "bet": ["colors", "molecule"],
    "pair": ["colors", "molecule", "guess", "drag"],
    "padding": ["layers", "guess", "drag"],
}
"""The explainer's scripts that a picture uses, in order."""

PICTURES = {  # by name: the page and the heading of the section
    "score": ("notebooks/01_self_attention", "one-token-three-steps"),
    "stack": ("notebooks/02_transformer", "residual-connections-and-layer-normalisation"),
    "transformer": ("notebooks/02_transformer", "the-whole-transformer"),
    "ink": ("notebooks/03_message_passing", "over-squashing"),
    "basis": ("notebooks/04_positional_encodings", "three-laplacians-and-what-is-not-unique"),
    "flip": ("notebooks/05_signnet", "a-vector-for-every-node"),
    "bias": ("notebooks/06_graphormer", "vnode-the-layer-the-model"),
    "tour": ("notebooks/07_egt", "the-pairs-of-a-tour-layer-by-layer"),
    "dial": ("notebooks/08_grpe", "relations-inside-the-logits"),
    "forget": ("notebooks/09_csa", "rings"),
    "pair": ("notebooks/10_one_framework", "nine-models-side-by-side"),
    "metro": ("notebooks/10_one_framework", "which-layer-contains-which"),
    "fool": ("notebooks/10_one_framework", "optional-the-smallest-pair-that-fools-a-layer"),
    "bet": ("notebooks/11_what_attention_sees", "is-an-estimate-right"),
    "padding": ("notebooks/12_from_a_laptop_to_a_cluster", "how-much-is-padding"),
}
INVITATIONS = {
    "score": "With scripts enabled, you can move the scores of four tokens here, and see how the "
    "weights and the weighted mean follow.",
    "stack": "With scripts enabled, you can pass tokens through twelve blocks here, with "
    "and without residual connections and norms.",
    "transformer": "With scripts enabled, you can follow a batch through the Transformer here, "
    "and move the norms from the residual streams, on which the sums are formed, to the inputs of "
    "the sub-layers (section 2.9).",
    "basis": "With scripts enabled, you can turn the basis of an eigenspace here.",
    "ink": "With scripts enabled, you can drop ink on a node here and follow it through the layers "
    "of a head that attends to neighbours, one that attends to all nodes, and both.",
    "flip": "With scripts enabled, you can flip the signs of eigenvectors here.",
    "bias": "With scripts enabled, you can change the scalars of a trained Graphormer here, "
    "and see how an atom’s attention and the prediction respond.",
    "tour": "With scripts enabled, you can drag the points here, close gates, and watch which "
    "edges EGT chooses.",
    "dial": "With scripts enabled, you can turn the dial of the listener puzzle here, and compare "
    "a head that has a bias with one that has a query context.",
    "forget": "With scripts enabled, you can switch off the ring feature of a trained CSA here, "
    "and see how its prediction and the attention of an atom change.",
    "metro": "With scripts enabled, one layer turns into another here, step by step, until their "
    "weights and outputs are equal.",
    "pair": "With scripts enabled, you can follow one pair of atoms here through the first layers "
    "of Graphormer, EGT, GRPE and CSA, from the terms of its logit to the message.",
    "fool": "With scripts enabled, you can draw and erase edges here, until a layer cannot tell "
    "two different graphs apart.",
    "bet": "With scripts enabled, you can bet here on the atom whose removal changes the target "
    "most, against attention, the gradient, the model’s own edit and the lookup table.",
    "padding": "With scripts enabled, you can change the batch size and the number of buckets "
    "here, and look into each batch.",
}
"""For readers without scripts, on a screen; what each invites to does not work on paper."""

SHOWN = {
    "score": "The picture shows a query that asks for red.",
    "stack": "The picture shows the tokens after each of twelve blocks.",
    "basis": "The picture shows one of infinitely many bases, and for comparison an eigenvalue "
    "that does not repeat.",
    "ink": "The picture shows a path of eight nodes after two layers.",
    "flip": "The picture shows caffeine after a flip. The outputs of φ have changed, and SignNet’s "
    "sum has not.",
    "bias": "The picture shows the attention of atom O3 of aspirin in head 6 of layer 1: 0.59 of "
    "it goes to the atoms three bonds away. If all scalars of this head were 0, only 0.28 would.",
    "tour": "The picture shows which edges EGT chooses for one set of points.",
    "dial": "In the picture the dial is set to 6. The head with the query context attends to the "
    "sign at this distance. The head with the bias attends to the sign at distance 3, whatever the "
    "dial shows.",
    "forget": "In the picture the ring feature is on.",
    "pair": "The picture shows the pair C6 and C9 of paracetamol.",
    "bet": "In 37 molecules with 2 or more end atoms, attention finds the atom whose removal "
    "changes the target most 18 times, gradient × input 15 times, the model’s own edit 19 times "
    "and the lookup table 23 times; chance would find it 13 times.",
    "padding": "The picture shows an epoch in batches of 64 molecules, without buckets: 50 % of "
    "the pairs are padding.",
}
"""What a still shows, where its caption and its drawing do not say it."""

ALT = {
    "score": "Four tokens with their scores and weights, discs of their weights on an axis of "
    "their values, and the weighted mean near the value of the red token.",
    "stack": "Tokens after each of twelve blocks in four stacks. Without residual connections they "
    "become equal. The curves below show how much the tokens of a stack differ and how long their "
    "vectors are.",
    "transformer": "Encoder and decoder side by side, each a thick line that is its residual "
    "stream, with sub-layers beside it that read the line and add to it. Every box names its "
    "shape. The memory leads from the top of the encoder to the decoder’s cross-attention. "
    "A smaller drawing compares two places for the norm: on the line after each sum (post-LN), or "
    "at the input of each sub-layer (pre-LN).",
    "basis": "Twelve points on a circle, with two axes that are turned by 35 degrees from a dashed "
    "pair, and two copies of a ring of twelve nodes, each coloured by the points’ coordinates on "
    "one axis. Below, a path coloured by an eigenvector, and by its negative.",
    "ink": "A path three times, its nodes coloured by the share of their vector that comes from "
    "one node: through neighbours, through all nodes, and through both.",
    "flip": "Four drawings of caffeine, coloured by an eigenvector, by what a trained φ makes of "
    "it and of its negative, and by the sum of the two. Below the first three stands “changed”, "
    "and below the sum “unchanged”.",
    "bias": "A drawing of aspirin, coloured by the attention of its atom O3 in one head. Beside "
    "it, one bar for each distance shows the head’s scalar, and below each bar is the share of "
    "O3’s attention that goes to atoms at this distance.",
    "tour": "Thirteen points. The shortest tour is drawn in grey. The edges that EGT chooses are "
    "orange, and most of them lie on the tour.",
    "dial": "A table of eight signs, one for each distance. Below the signs are the weights that a "
    "bias and a query context give to them, the weighted mean of the signs, and the answer of "
    "each head.",
    "forget": "Cyclooctyl acetate, coloured by the attention of one of its ring atoms in one "
    "channel. Beside it, a line shows the exact value and the predictions with and without the "
    "ring feature.",
    "metro": "Lines lead from CSA and GRPE by way of “bias + value”, and from EGT by way of EGT-U, "
    "to bias attention and on to the Transformer. Below is an equation with a marked term, and "
    "below it two grids side by side show one atom’s weights in every channel, each with a column "
    "of outputs. In the grid of CSA all rows differ. In that of the next layer, the rows of a head "
    "are equal.",
    "pair": "Paracetamol with four arcs from atom C6 to atom C9. For each of four models, bars "
    "show the terms of the logit, the weight and the size of the message.",
    "fool": "Two different graphs of six nodes, coloured alike by sums over neighbours.",
    "bet": "A molecule coloured by attention, one of its end atoms cut off, and a table of what "
    "attention, gradient, edit and a lookup table bet on.",
    "padding": "4,000 thin columns in 63 batches. In each batch the real pairs are a staircase "
    "that falls from left to right, and the padding above it fills about half of the area. Beside "
    "them is the square of pairs of one batch, whose colour fades towards the pairs that only few "
    "molecules have.",
}

CAPTIONS = {
    "score": "Four tokens whose scores you can move, and the weighted mean of their values.",
    "stack": "Four stacks of twelve blocks, with and without residual connections and norms.",
    "transformer": "The whole Transformer, stage by stage, with its norms in either of two places.",
    "ink": "Ink on one node, and how it spreads through three kinds of heads.",
    "basis": "The eigenspace of a ring’s repeated eigenvalue, whose basis you can turn.",
    "twins": "The comparisons of the table and four more, drawn in the colours of an encoding.",
    "flip": "The outputs of a trained φ for an eigenvector and for its negative, and their sum.",
    "bias": "The scalars of a trained Graphormer, which you can change.",
    "tour": "The edges that a trained EGT chooses for points that you can drag.",
    "dial": "A head with a bias and a head with a query context in the listener puzzle.",
    "forget": "A trained CSA with and without the feature that says which atoms share a ring.",
    "pair": "One pair of atoms in the first layers of four trained models.",
    "metro": "Layers that turn into other layers, step by step.",
    "fool": "Two graphs whose edges you can change until a layer cannot tell them apart.",
    "bet": "Molecules with end atoms to bet on, against four methods.",
    "padding": "The batches of an epoch, whose size and number of buckets you can change.",
}
MENTION = re.compile(r"picture\s+(?:below|at\s+the\s+end\s+of\s+this\s+section)")
CHAPTER = re.compile(r"notebooks/(\d\d)_")


def still(name: str, alt: str, invitation: str, shown: str) -> str:
    """The picture at its start, for readers without scripts or on paper; ``tools.stills`` draws it.

    Args:
        name: The picture's name.
        alt: Its text for who cannot see it.
        invitation: What scripts would let the reader do; it is not printed.
        shown: What the picture shows; it can be empty.
    """
    picture = f'<img src="../_static/stills/{name}.webp" alt="{escape(alt)}">'
    description = shown and f"<p>{shown}</p>"
    return f'<noscript>{picture}<p class="invitation">{invitation}</p>{description}</noscript>'


def embed(app, document: nodes.document, page: str) -> None:
    if app.builder.format != "html":
        return
    sections = {name: part for part in document.findall(nodes.section) for name in part["ids"]}
    for name, (where, heading) in PICTURES.items():
        if where != page:
            continue
        if heading not in sections:
            text = "there is no section %s to put the picture %s into"
            logger.warning(text, heading, name, location=page)
            continue
        place = (
            f'<div id="{name}" class="picture" data-script="../_static/pictures/{name}.data.js">'
            f"{still(name, ALT[name], INVITATIONS[name], SHOWN.get(name, ''))}</div>"
        )
        section = sections[heading]
        section.insert(len(own_parts(section)), with_caption(name, place))


def own_parts(section: nodes.section) -> list[nodes.Node]:
    """What a section has before the first section inside it."""
    return [*takewhile(lambda part: not isinstance(part, nodes.section), section)]


def with_caption(name: str, place: str) -> nodes.figure:
    """The place of a picture in the page, and the line below it."""
    caption = nodes.caption("", CAPTIONS[name])
    return nodes.figure(
        "", nodes.raw("", place, format="html"), caption, classes=["interactive"], names=[name]
    )


def number(app, document: nodes.document, page: str) -> None:
    """Numbers the pictures of a chapter in the order in which they stand, and links to them."""
    if app.builder.format != "html":
        return
    pictures = [part for part in document.findall(nodes.figure) if "interactive" in part["classes"]]
    chapter = CHAPTER.match(page)
    if pictures and chapter is None:
        logger.warning("a picture outside the chapters has no number", location=page)
        return
    for count, picture in enumerate(pictures, start=1):
        label = f"Interactive {int(chapter[1])}.{count}"
        picture["ids"] = [nodes.make_id(label.replace(".", "-"))]
        picture[-1].insert(0, [nodes.strong(label, label), nodes.Text(". ")])
        if picture["names"]:  # a widget has none: the text right above it introduces it
            link(picture)


def link(picture: nodes.figure) -> None:
    """Makes the words with which a section mentions its picture, at their first place, a link."""
    (name,) = picture["names"]
    section = picture.parent
    for text in own_texts(section):
        mention = MENTION.search(text.astext())
        if mention is None or not isinstance(text.parent, nodes.paragraph):
            continue
        words = mention[0]
        before, after = text.astext().split(words, 1)
        reference = nodes.reference(words, words, internal=True, refid=name)
        text.parent.replace(text, [nodes.Text(before), reference, nodes.Text(after)])
        return
    logger.warning("the section of the picture %s does not mention it", name, location=section)


def own_texts(section: nodes.section) -> Iterator[nodes.Text]:
    for part in own_parts(section):
        yield from part.findall(nodes.Text)


def style(app, page, template, context, doctree) -> None:
    names = [name for name, (where, _) in PICTURES.items() if where == page]
    if names:
        app.add_css_file("pictures.css", priority=510)  # after book.css
    if any(name in BY_ARROWS for name in names):
        app.add_js_file("pictures/keys.js", loading_method="defer")


def write(app, error) -> None:
    if error is not None or app.builder.format != "html":
        return
    code = Path(app.srcdir, "book/_static/pictures")
    out = Path(app.outdir, "_static/pictures")
    out.mkdir(parents=True, exist_ok=True)
    for name in PICTURES:
        (out / f"{name}.data.js").write_text(script(code, name), encoding="utf-8")
        # Copied with all static files, but no page loads them.
        (out / f"{name}.js").unlink(missing_ok=True)
        (out / f"{name}.json").unlink(missing_ok=True)


def script(code: Path, name: str) -> str:
    """The page's script: the models' colours, drawings of molecules, the code and the data."""
    from gtcourse.course import explorer
    from gtcourse.course.plots.figures import MODELS

    shared = "".join(explorer.script(f"explainer/{part}") for part in PARTS.get(name, []))
    text = (code / f"{name}.js").read_text(encoding="utf-8").strip()
    data = (code / f"{name}.json").read_text(encoding="utf-8").strip()
    models = f"gtcourse.models = {json.dumps(MODELS)};\n" if name in OF_MODELS else ""
    return f"{HOME}{models}{shared}{text}({data});\n"


def setup(app):
    app.connect("doctree-resolved", embed, priority=900)
    app.connect("doctree-resolved", number, priority=910)  # those of twins.py, too
    app.connect("html-page-context", style)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
