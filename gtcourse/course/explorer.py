"""The Graph Transformer Explainer: trained models that run live in a page, and what goes on inside.

``gtcourse explore`` writes a page for molecules of your own; the book's page has famous ones. The
forward passes are plain JavaScript (``plots/explainer/models.js``): what the page needs is the
weights and, for each molecule, what the models read of it.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files
from string import Template

import numpy as np
from torch import Tensor

from gtcourse.course.plots.interactive import as_script, script
from gtcourse.course.plots.molecules import places
from gtcourse.encodings import AddDegrees, AddPathEdges, AddRings, AddShortestPaths, AddSVD, encode
from gtcourse.graphs import collate, load_dataset
from gtcourse.graphs.molecules import penalized_logp, zinc_data
from gtcourse.interpret import leave_one_out
from gtcourse.predict import Predictor, load
from gtcourse.train.loop import device

PAGE = files("gtcourse.course.plots") / "explainer" / "page.html"
READS = {
    "Graphormer": {"centrality": True, "spatial": True, "edges": "bias"},
    "EGT": {
        "target": "graph",
        "structure": "adjacency",
        "variant": "full",
        "gated": True,
        "virtual_nodes": 0,
        "scaled": True,
        "clip": 5.0,
    },
    "GRPE": {
        "target": "graph",
        "terms": ("query", "key", "value"),
        "bias": False,
        "edge_step": None,
        "key_context": "key_column",
        "virtual_node": True,
    },
    "CGT": {
        "target": "graph",
        "relative": "walks",
        "chromatic": True,
        "edge_values": True,
        "share_edges": True,
        "score": "dot",
        "activation": "relu",
        "readout": "sum",
    },
}
"""The configurations that ``models.js`` computes; the sizes are free."""

ZINC_ATOMS = (9, 37)  # of the 10,000 training molecules of ZINC
LONGEST_PATH = 20
ENCODINGS = (AddDegrees(), AddShortestPaths(), AddPathEdges(LONGEST_PATH), AddSVD(8), AddRings(18))


def page(models: Sequence[str], smiles: Sequence[str]) -> str:
    """One page with everything in it, for models as :func:`gtcourse.load` takes them.

    Raises a ValueError if a model or a molecule cannot be read, or the page cannot compute it.
    """
    for name, given in (("models", models), ("smiles", smiles)):
        if isinstance(given, str) or not given:
            raise ValueError(f"{name} is {given!r}; expected a list of one or more.")
    data = {"molecules": molecules({text: text for text in smiles})}
    data["models"] = [model(load(name)) for name in models]
    title = escape(", ".join(smiles)) if len(smiles) < 3 else f"{len(smiles)} molecules"
    start = f"gtcourse.explain(document.getElementById('explainer'), {as_script(data)});"
    scripts = "".join(f"<script>{text}</script>\n" for text in [*code(), start])
    return Template(PAGE.read_text("utf-8")).substitute(title=title, scripts=scripts)


def code() -> list[str]:
    """The scripts of the page, in order: the models with their layers, and what reads and shows."""
    run = script("explainer/layers") + script("explainer/models")
    parts = ("colors", "molecule", "smiles", "look", "fetch", "view")
    return [run, "".join(script(f"explainer/{part}") for part in parts)]


def model(predictor: Predictor) -> dict:
    """What the page needs of a trained model: its kind, sizes and weights.

    Raises a ValueError if ``models.js`` does not compute its configuration.
    """
    kind = type(predictor.model).__name__
    config = getattr(predictor.model, "config", None)
    wrong = [name for name, value in READS.get(kind, {}).items() if getattr(config, name) != value]
    known = kind in READS and config.num_targets == 1 and predictor.featurize is zinc_data
    if wrong or not known:
        raise ValueError(
            f"{predictor.name} cannot be explored{': ' + ', '.join(wrong) if wrong else ''}; "
            "expected Graphormer, EGT, GRPE or CSA, trained on ZINC or the embedded molecules."
        )
    weights = {
        name: value.cpu().numpy().astype("<f4")
        for name, value in predictor.model.state_dict().items()
        if not name.endswith("num_batches_tracked")
    }
    return {
        "name": predictor.name,
        "kind": "csa" if kind == "CGT" else kind.lower(),
        "heads": config.num_heads,
        "layers": config.num_layers,
        "eps": getattr(config, "norm_eps", None),
        "error": predictor.record.result.get("test_mae"),
        "trained_on": trained_on(
            predictor.record.data["name"], predictor.record.data["sizes"]["train"]
        ),
        "shapes": {name: list(value.shape) for name, value in weights.items()},
        "data": base64.b64encode(b"".join(each.tobytes() for each in weights.values())).decode(),
    }


@cache
def trained_on(name: str, size: int) -> dict | None:
    """The fewest and the most atoms of the training molecules, and their types of atoms.

    The types are None for ZINC, which has to be downloaded to know them; all is None for data of
    your own.
    """
    if name == "zinc":
        return {"atoms": ZINC_ATOMS, "types": None}
    if name != "molecules":
        return None
    graphs = load_dataset(name).train[:size]
    sizes = [graph.num_nodes for graph in graphs]
    types = {kind for graph in graphs for kind in graph.x[:, 0].tolist()}
    return {"atoms": (min(sizes), max(sizes)), "types": sorted(types)}


def molecules(named: dict[str, str]) -> list[dict]:
    """What the models read of molecules, SMILES by name. Pairs are row by row, n² values."""
    return [_molecule(name, smiles) for name, smiles in named.items()]


def _molecule(name: str, smiles: str) -> dict:
    from rdkit import Chem

    graph = zinc_data(smiles)  # raises if it cannot be read
    batch = collate(encode([graph], *ENCODINGS))
    of = {key: value[0].numpy() for key, value in batch.encodings.items()}
    bonds = np.where(batch.adjacency[0], batch.edge_attr[0, ..., 0], -1)
    # The bond types along each pair's shortest path, a digit each.
    lengths = of["distance"].clip(0, LONGEST_PATH)
    paths = [
        "".join(str(int(bond)) for bond in of["path_edges"][i, j, : lengths[i, j], 0])
        for i, j in np.ndindex(lengths.shape)
    ]
    mol = Chem.MolFromSmiles(smiles)
    return {
        "name": name,
        "smiles": smiles,
        "value": round(penalized_logp(mol), 3),
        "symbols": [atom.GetSymbol() for atom in mol.GetAtoms()],
        "places": places(mol),
        "x": batch.x[0, :, 0].tolist(),
        "degree": of["out_degree"].tolist(),
        "distance": of["distance"].flatten().tolist(),
        "edge": bonds.flatten().tolist(),
        "ring": of["ring"].astype(int).flatten().tolist(),
        "paths": paths,
        "svd": [round(value, 7) for value in of["svd"].flatten().tolist()],
    }


def effects(predictor: Predictor, smiles: Sequence[str]) -> list[Tensor]:
    """For each molecule ``[n]``: the prediction less that without the atom (first target)."""
    graphs = [encode([predictor.featurize(text)], *predictor.transforms) for text in smiles]
    batches = (collate(graph).to(device()) for graph in graphs)
    return [leave_one_out(predictor.model, batch)[0].cpu() for batch in batches]
