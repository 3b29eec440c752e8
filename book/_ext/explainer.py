"""The files of the explainer's page: scripts, molecules and, fetched when chosen, the models."""

from pathlib import Path
from string import ascii_letters

import torch
from docutils import nodes
from pictures import HOME
from sphinx.util import logging

# In the order of the chapters: the page opens on the first.
MODELS = [f"{name}-100k/molecules" for name in ("graphormer", "egt", "grpe", "csa")]

MOLECULES = {
    "aspirin": "CC(=O)Oc1ccccc1C(=O)O",
    "paracetamol": "CC(=O)Nc1ccc(O)cc1",
    "caffeine": "Cn1cnc2c1c(=O)n(C)c(=O)n2C",
    "ibuprofen": "CC(C)Cc1ccc(cc1)C(C)C(=O)O",
    "nicotine": "CN1CCCC1c1cccnc1",
    "dopamine": "NCCc1ccc(O)c(O)c1",
    "adrenaline": "CNCC(O)c1ccc(O)c(O)c1",
    "serotonin": "NCCc1c[nH]c2ccc(O)cc12",
    "melatonin": "COc1ccc2[nH]cc(CCNC(C)=O)c2c1",
    "vanillin": "COc1cc(C=O)ccc1O",
    "menthol": "CC1CCC(C(C)C)C(O)C1",
    "camphor": "CC1(C)C2CCC1(C)C(=O)C2",
    "limonene": "CC1=CCC(CC1)C(C)=C",
    "cinnamaldehyde": "O=CC=Cc1ccccc1",
    "capsaicin": "COc1cc(CNC(=O)CCCCC=CC(C)C)ccc1O",
    "lidocaine": "CCN(CC)CC(=O)Nc1c(C)cccc1C",
    "benzocaine": "CCOC(=O)c1ccc(N)cc1",
    "salbutamol": "CC(C)(C)NCC(O)c1ccc(O)c(CO)c1",
    "naproxen": "COc1ccc2cc(ccc2c1)C(C)C(=O)O",
    "diazepam": "CN1C(=O)CN=C(c2ccccc2)c2cc(Cl)ccc12",
    "fluoxetine": "CNCCC(Oc1ccc(cc1)C(F)(F)F)c1ccccc1",
    "sulfanilamide": "Nc1ccc(cc1)S(N)(=O)=O",
    "morphine": "CN1CCC23C4Oc5c2c(CC1C3C=CC4O)ccc5O",
    "thujone": "CC1C(=O)CC2(C(C)C)CC12",
}

OPENS = "diazepam"
"""The first molecule of the home page and of the explainer: a model that reads no rings misses the
penalty for its ring of seven atoms, so the choice of a model can be seen."""

OPENS_ON = {"channel": 4, "i": 1, "j": 2}
"""The first weight of the explainer's page: head 5 of Graphormer's layer 1, from C0 to N1. Of the
weights above 0.3 of this layer it is the one whose cut moves the prediction most, by 0.33."""

HOME_OPENS = 2
"""The atom of the first page whose attention is shown first: C2, which is in the ring of seven. In
the head or channel that is shown of each model, one other atom gets at least 0.7 of its attention,
and in Graphormer O3 gets 0.99."""

WHY = {"channel": 13, "atom": "C4", "to": "C13"}
"""The weight of CSA that answers the first page's question: both atoms are in the ring of seven."""

TITLES = {"graphormer": "Graphormer", "egt": "EGT", "grpe": "GRPE", "csa": "CSA"}

SIZES = ("less than 0.1", "0.1 to 0.5", "more than 0.5")

# What a reader can guess before running the model, and then find out with it.
GUESSES = {
    "graphormer": (
        "The explainer starts with diazepam. If its atom C1 is removed, does the prediction rise "
        "or fall?",
        ("it rises", "it falls"),
    ),
    "egt": (
        "EGT multiplies each weight by a gate. For the molecule shown, by how much does the "
        "predicted penalised logP change if you close all gates of the chosen head in the chosen "
        "layer?",
        SIZES,
    ),
    "grpe": (
        "If you switch off the vectors that GRPE adds to the values, in which layers do the "
        "attention maps change?",
        ("in all", "in all but the first", "only in the last", "in none"),
    ),
    "csa": (
        "For the molecule shown, by how much does the predicted penalised logP change if all "
        "channels of a head share one weight?",
        SIZES,
    ),
}
PLACE = """<p class="of-explainer">The explainer runs the {title} of
<a href="10_one_framework.html#the-leaderboard">section 10.7</a>, which was trained for 100 epochs
to predict penalised logP. It cannot run the models that you trained on this page, because the page
does not save them.</p>
<div class="run-here"><div class="ask"><p><b>Guess first.</b> {question}</p>
<div class="choices" role="group" aria-label="your guess">{answers}</div></div>
<button type="button" class="open-explainer">Run a trained {title} here</button></div>
<div id="explainer" data-start="{kind}"></div>"""
ANSWER = '<button type="button" aria-pressed="false">{}</button>'

CHAPTERS = {
    "notebooks/06_graphormer": "graphormer",
    "notebooks/07_egt": "egt",
    "notebooks/08_grpe": "grpe",
    "notebooks/09_csa": "csa",
}

logger = logging.getLogger(__name__)


def write(app, error) -> None:
    if error is not None or app.builder.format != "html":
        return
    from gtcourse.course import explorer
    from gtcourse.predict import load

    folder = Path(app.outdir, "_static", "explainer")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in zip(("models.js", "view.js"), explorer.code(), strict=True):
        (folder / name).write_text(text, encoding="utf-8")
    listed = []
    shown = explorer.molecules(MOLECULES)
    for molecule in shown:
        molecule["predictions"] = {}
    for name in MODELS:
        predictor = load(name)
        model = explorer.model(predictor)
        values = predictor.predict([*MOLECULES.values()]).flatten().tolist()
        for molecule, value in zip(shown, values, strict=True):
            molecule["predictions"][model["kind"]] = round(value, 5)
        script = (
            f"gtcourse.deliver({explorer.as_script(model['name'])}, {explorer.as_script(model)});"
        )
        (folder / f"{model['kind']}.js").write_text(script, encoding="utf-8")
        source = f"../_static/explainer/{model['kind']}.js"
        listed.append(
            {key: model[key] for key in ("name", "kind", "error", "trained_on")} | {"src": source}
        )
    code = explorer.script("explainer/colors") + explorer.script("explainer/molecule").strip()
    home = Path(app.srcdir, "book/_static/live.js").read_text(encoding="utf-8").strip()
    (first,) = (molecule for molecule in shown if molecule["name"] == OPENS)
    live = explorer.as_script(first_page(first))
    (folder / "home.js").write_text(f"{HOME}{code}\n{home}({live});", encoding="utf-8")
    csa = {"channel": WHY["channel"] - 1, "i": atom_of(WHY["atom"]), "j": atom_of(WHY["to"])}
    csa["outline"] = outlined_ring(MOLECULES[OPENS])
    opens = {"molecule": OPENS, **OPENS_ON, "of": {"csa": csa}}
    data = explorer.as_script({"models": listed, "molecules": shown, "opens": opens})
    start = f"gtcourse.explain(document.getElementById('explainer'), {data});"
    (folder / "data.js").write_text(start, encoding="utf-8")


def embed(app, document: nodes.document, page: str) -> None:
    """In a model's chapter, below the first link to the explainer: itself, loaded at a click."""
    kind = CHAPTERS.get(page)
    if kind is None or app.builder.format != "html":
        return
    for link in document.findall(nodes.reference):
        if "explainer.html" in link.get("refuri", ""):
            paragraph = link
            while not isinstance(paragraph, nodes.paragraph):
                paragraph = paragraph.parent
            question, answers = GUESSES[kind]
            choices = "\n".join(map(ANSWER.format, answers))
            place = PLACE.format(kind=kind, title=TITLES[kind], question=question, answers=choices)
            at = paragraph.parent.index(paragraph) + 1
            paragraph.parent.insert(at, nodes.raw("", place, format="html"))
            return
    logger.warning("no link to the explainer, below which it would stand", location=page)


def first_page(molecule: dict) -> dict:
    """What the first page shows of a molecule: the models' predictions and where each atom looks.

    Attention ``[n, n]`` is of each model's most peaked head or channel, because a mean over heads
    is close to uniform. The largest ring is outlined where a model reads rings.
    """
    from gtcourse.graphs.molecules import CYCLE
    from gtcourse.predict import load

    shown = {key: molecule[key] for key in ("places", "symbols", "edge", "value", "name")}
    shown["ring"] = outlined_ring(molecule["smiles"])
    shown |= {"cycle": CYCLE, "opens": HOME_OPENS, "why": WHY}
    shown["models"] = []
    for name in MODELS:
        values, attention = load(name).predict([molecule["smiles"]], return_attention=True)
        layer, head = most_peaked(attention[0])
        rows = [[round(value, 3) for value in row] for row in attention[0][layer][head].tolist()]
        kind = name.split("-")[0]
        shown["models"].append(
            {"title": TITLES[kind], "kind": kind, "prediction": values.item()}
            | {"attention": rows, "layer": layer + 1, "head": head + 1}
        )
    return shown


def most_peaked(attention) -> tuple[int, int]:
    """The layer and the head or channel in which each atom's largest weight on another atom is,
    on average over the atoms, the largest. Layers are ``[H, n, n]``.
    """
    others = (1 - torch.eye(attention[0].shape[-1])) * torch.stack(list(attention))
    means = others.amax(dim=-1).mean(dim=-1)
    layer, head = divmod(means.argmax().item(), means.shape[1])
    return layer, head


def atom_of(name: str) -> int:
    """The number in an atom's name."""
    return int(name.lstrip(ascii_letters))


def outlined_ring(smiles: str) -> tuple[int, ...]:
    """The atoms of the largest ring.

    Raises:
        ValueError: It lacks an atom that the first page says is in it.
    """
    from rdkit import Chem

    molecule = Chem.MolFromSmiles(smiles)  # the rings are lost with it
    ring = max(molecule.GetRingInfo().AtomRings(), key=len)
    names = [f"{molecule.GetAtomWithIdx(atom).GetSymbol()}{atom}" for atom in ring]
    if HOME_OPENS not in ring or WHY["atom"] not in names or WHY["to"] not in names:
        raise ValueError(
            f"the largest ring of {smiles} is {', '.join(names)}; expected it to contain atom "
            f"{HOME_OPENS}, {WHY['atom']} and {WHY['to']}, as the first page says."
        )
    return ring


def setup(app):
    app.connect("doctree-resolved", embed)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
