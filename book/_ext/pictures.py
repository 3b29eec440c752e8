"""Pictures to play with, each at the end of a section of its chapter.

``_static/pictures`` has the code that draws each, and the data that ``experiments.pictures`` wrote;
both go into one script beside the page. Where scripts do not run, a sentence says what the picture
would show, and the figures of the section are there.
"""

from pathlib import Path

from docutils import nodes
from sphinx.util import logging

logger = logging.getLogger(__name__)

PICTURES = {  # by name: the page and the heading of the section
    "tour": ("notebooks/07_egt", "choosing-the-edges-of-a-tour"),
    "pair": ("notebooks/10_one_framework", "nine-choices-on-one-table"),
    "metro": ("notebooks/10_one_framework", "who-contains-whom"),
    "bet": ("notebooks/11_what_attention_sees", "what-the-prediction-depends-on"),
}
INSTEAD = {
    "tour": "With scripts, cities can be dragged here, and EGT chooses the edges of their tour. "
    "The figure above shows one of its answers.",
    "metro": "With scripts, a layer turns into another one here, step by step, and the gap "
    "between their outputs falls to rounding. The figure above shows the same relations.",
    "pair": "With scripts, one pair of atoms is followed here through the first layers of "
    "Graphormer, EGT, GRPE and CSA, from the terms of its logit to the message. The table above "
    "has the same terms.",
    "bet": "With scripts, you bet here on the atom whose removal matters most, against attention, "
    "the gradient and the model itself. In 37 molecules with 2 or more end atoms, attention finds "
    "it 17 times, gradient × input 15 times, the model’s own edit 19 times and the lookup table 22 "
    "times; chance would find it 10 times.",
}


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
            f'<div id="{name}" class="picture"><noscript><p>{INSTEAD[name]}</p></noscript></div>'
            f'<script src="../_static/pictures/{name}.data.js" defer></script>'
        )
        section = sections[heading]
        inner = (n for n, part in enumerate(section) if isinstance(part, nodes.section))
        section.insert(next(inner, len(section)), nodes.raw("", place, format="html"))


def write(app, error) -> None:
    if error is not None or app.builder.format != "html":
        return
    code = Path(app.srcdir, "book/_static/pictures")
    out = Path(app.outdir, "_static/pictures")
    out.mkdir(parents=True, exist_ok=True)
    for name in PICTURES:
        (out / f"{name}.data.js").write_text(script(code, name), encoding="utf-8")


def script(code: Path, name: str) -> str:
    """The page's script: drawings of molecules where needed, the code and the data."""
    from gtcourse.course import explorer

    needed = {"tour": "layers", "bet": "molecule", "pair": "molecule"}
    shared = explorer.script(f"explainer/{needed[name]}") if name in needed else ""
    text = (code / f"{name}.js").read_text(encoding="utf-8").strip()
    data = (code / f"{name}.json").read_text(encoding="utf-8").strip()
    home = "var gtcourse = window.gtcourse || {}; window.gtcourse = gtcourse;\n"
    return f"{home}{shared}{text}({data});\n"


def setup(app):
    app.connect("doctree-resolved", embed, priority=900)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
