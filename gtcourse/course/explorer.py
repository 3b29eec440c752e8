"""The Graph Transformer Explainer: trained models that run live in a page and show their layers.

``gtcourse explore`` writes a page for your own molecules; the book's page has well-known ones. The
forward passes are plain JavaScript (``plots/explainer/models.js``). The page contains the weights
and, for each molecule, the inputs of the models.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files
from math import inf, isfinite
from string import Template

import numpy as np
from torch import Tensor

from gtcourse.course.plots.interactive import as_script, script
from gtcourse.course.plots.molecules import places
from gtcourse.encodings import AddDegrees, AddPathEdges, AddRings, AddShortestPaths, AddSVD, encode
from gtcourse.graphs import collate, load_dataset
from gtcourse.graphs.arguments import check_list
from gtcourse.graphs.molecules import penalized_logp, zinc_data
from gtcourse.interpret import leave_one_out
from gtcourse.names import SIZES
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
        "terms": ("query_context", "key_context", "value"),
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
"""The configurations that ``models.js`` implements, with any sizes and any clip of CSA."""

LONGEST_PATH = 20
ENCODINGS = (AddDegrees(), AddShortestPaths(), AddPathEdges(LONGEST_PATH), AddSVD(8), AddRings(18))


def page(models: Sequence[str], smiles: Sequence[str]) -> str:
    """A self-contained page, for models that :func:`gtcourse.load` accepts.

    Raises a ValueError if a model or a molecule cannot be read or cannot be computed in the page.
    """
    for name, given in (("models", models), ("smiles", smiles)):
        check_list(name, given, "one or more")
        if not len(given):
            raise ValueError(f"{name} is empty; expected a list of one or more.")
    data = {"molecules": molecules({text: text for text in smiles})}
    data["models"] = [model(load(name)) for name in models]
    title = escape(", ".join(smiles)) if len(smiles) < 3 else f"{len(smiles)} molecules"
    start = f"gtcourse.explain(document.getElementById('explainer'), {as_script(data)});"
    scripts = "".join(f"<script>{text}</script>\n" for text in [*code(), start])
    return Template(PAGE.read_text("utf-8")).substitute(title=title, scripts=scripts)


def code() -> list[str]:
    """The scripts of the page, in order: the models and their layers, the reader, the view."""
    run = script("explainer/layers") + script("explainer/models")
    parts = ("colors", "molecule", "smiles", "look", "fetch", "view")
    return [run, "".join(script(f"explainer/{part}") for part in parts)]


def model(predictor: Predictor) -> dict:
    """The data of a trained model for the page: its kind, sizes and weights.

    Raises a ValueError if ``models.js`` does not implement its configuration.
    """
    _check_predictor(predictor)
    kind = type(predictor.model).__name__
    config = getattr(predictor.model, "config", None)
    wrong = [
        f"{name} is {getattr(config, name)!r} instead of {value!r}"
        for name, value in READS.get(kind, {}).items()
        if getattr(config, name) != value
    ]
    known = kind in READS and config.num_targets == 1 and predictor.featurize is zinc_data
    if wrong or not known:
        raise ValueError(
            f"{predictor.name} cannot be explored{': ' + ', '.join(wrong) if wrong else ''}; "
            "expected Graphormer, EGT, GRPE or CSA, trained on ZINC or the embedded molecules."
        )
    clip = getattr(config, "clip", inf)
    weights = {
        name: value.cpu().numpy().astype(np.float64)
        for name, value in predictor.model.state_dict().items()
        if not name.endswith("num_batches_tracked")
    }
    return {
        "name": predictor.name,
        "kind": "csa" if kind == "CGT" else kind.lower(),
        "heads": config.num_heads,
        "layers": config.num_layers,
        "eps": getattr(config, "norm_eps", None),
        "clip": clip if isfinite(clip) else None,
        "error": predictor.record.result.get("test_mae"),
        "trained_on": trained_on(
            predictor.record.data["name"], predictor.record.data["sizes"]["train"]
        ),
        "shapes": {name: list(value.shape) for name, value in weights.items()},
        **packed(weights),
    }


BITS = 23
"""Of a weight, in three bytes. With 16 bits, attention differs from PyTorch's by over 0.0001."""


def packed(weights: dict[str, np.ndarray]) -> dict:
    """Weights as whole numbers of 23 bits: ``data`` in base64, times the ``scales`` of the tensors.

    The scales are in the order of the tensors and have 9 digits.
    The error is at most 2⁻²³ of the largest weight of a tensor. The highest bytes of all numbers
    come first, because they are alike and the text is then compressed better on its way.
    """
    most = 2 ** (BITS - 1) - 1
    largest = [float(np.abs(each).max() or 1.0) for each in weights.values()]
    scales = [float(f"{value / most:.9g}") for value in largest]
    whole = [
        np.rint(each.ravel() / scale).clip(-most, most)
        for each, scale in zip(weights.values(), scales, strict=True)
    ]
    bits = np.concatenate(whole).astype(np.int64)
    planes = [(bits >> shift & 0xFF).astype(np.uint8) for shift in (16, 8, 0)]
    data = base64.b64encode(np.concatenate(planes).tobytes()).decode()
    return {"scales": scales, "data": data}


@cache
def trained_on(name: str, size: int) -> dict | None:
    """The smallest and largest number of atoms in the training molecules, and their atom types.

    The types are None for ZINC, because they are known only after a download. Everything is None
    for your own data.
    """
    if name == "zinc":
        return {"atoms": SIZES["zinc"], "types": None}
    if name != "molecules":
        return None
    graphs = load_dataset(name).train[:size]
    sizes = [graph.num_nodes for graph in graphs]
    types = {kind for graph in graphs for kind in graph.x[:, 0].tolist()}
    return {"atoms": (min(sizes), max(sizes)), "types": sorted(types)}


def molecules(named: dict[str, str]) -> list[dict]:
    """The inputs of the models, for SMILES by name. Pairs have n² values, row by row."""
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
        "paths": ".".join(paths),
        "svd": [round(value, 5) for value in of["svd"].flatten().tolist()],
    }


def effects(predictor: Predictor, smiles: Sequence[str]) -> list[Tensor]:
    """For each molecule ``[n]``: the prediction minus that without the atom (first target)."""
    _check_predictor(predictor)
    check_list("smiles", smiles, "SMILES")
    if predictor.featurize is None:
        raise ValueError(f"{predictor.name} was not trained on molecules; expected one that was.")
    graphs = [encode([predictor.featurize(text)], *predictor.transforms) for text in smiles]
    batches = (collate(graph).to(device()) for graph in graphs)
    return [leave_one_out(predictor.model, batch)[0].cpu() for batch in batches]


def _check_predictor(predictor: Predictor) -> None:
    """Raises a ValueError for another object, such as the name of a model."""
    if not isinstance(predictor, Predictor):
        raise ValueError(
            f"predictor is of type {type(predictor).__name__}; expected a Predictor, as "
            "load('csa/zinc') returns."
        )
