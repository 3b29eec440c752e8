"""The Graph Transformer Explainer: trained models that run live in a page, and what goes on inside.

``gtcourse explore`` writes a page for molecules of your own; the book's page has famous ones. The
forward passes are plain JavaScript (``plots/explainer/models.js``): what the page needs is the
weights and, for each molecule, what the models read of it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from html import escape

import numpy as np
from torch import Tensor

from gtcourse.analysis import leave_one_out
from gtcourse.encodings import AddDegrees, AddPathEdges, AddRings, AddShortestPaths, AddSVD, encode
from gtcourse.graphs.batch import collate
from gtcourse.graphs.molecules import penalized_logp
from gtcourse.inference import Predictor, load
from gtcourse.plots.interactive import drawing, script
from gtcourse.training.budget import device
from gtcourse.training.own import zinc_data

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 75rem;
        margin: 1rem auto; padding: 0 1rem; }}
</style>
</head>
<body>
<h1>{title}</h1>
<div id="explainer">This page needs scripts: the models run in it.</div>
{scripts}
</body>
</html>
"""

READS = {
    "Graphormer": {"centrality": True, "spatial": True, "edges": "bias"},
    "EGT": {
        "target": "graph", "structure": "adjacency", "variant": "full", "gated": True,
        "virtual_nodes": 0, "scaled": True, "clip": 5.0,
    },
    "GRPE": {
        "target": "graph", "terms": ("query", "key", "value"), "bias": False, "edge_step": None,
        "key_context": "key_column", "virtual_node": True,
    },
    "CGT": {
        "target": "graph", "relative": "walks", "chromatic": True, "edge_values": True,
        "share_edges": True, "score": "dot", "activation": "relu", "readout": "sum",
    },
}  # fmt: skip
"""The configurations that ``models.js`` computes; the sizes are free."""

SVD_RANK, LONGEST_PATH, LARGEST_RING = 8, 20, 18


def page(models: Sequence[str], smiles: Sequence[str]) -> str:
    """One page with everything in it.

    Args:
        models: names or folders, as :func:`gtcourse.load` takes them; smiles: the molecules.

    Raises:
        ValueError: a model or a molecule cannot be read, or the page cannot compute the model.
    """
    data = {
        "molecules": molecules({text: text for text in smiles}),
        "models": [model(load(name)) for name in models],
    }
    title = escape(", ".join(smiles)) if len(smiles) < 3 else f"{len(smiles)} molecules"
    start = f"gtcourse.explain(document.getElementById('explainer'), {as_script(data)});"
    scripts = "".join(f"<script>{text}</script>\n" for text in [*code(), start])
    return PAGE.format(title=title, scripts=scripts)


def code() -> list[str]:
    """The scripts of the page, in order: the models with their layers, and the view."""
    layers, models, view = (script(f"explainer/{name}") for name in ("layers", "models", "view"))
    return [layers + models, view]


def as_script(data: object) -> str:
    """JSON that may stand in a script: nothing in it ends the script."""
    return json.dumps(data, separators=(",", ":")).replace("</", "<\\/").replace("<!", "\\u003c!")


def model(predictor: Predictor) -> dict:
    """What the page needs of a trained model: its kind, sizes and weights.

    Raises:
        ValueError: ``models.js`` does not compute this configuration.
    """
    own = type(predictor.model).__name__
    config = getattr(predictor.model, "config", None)
    wrong = [name for name, value in READS.get(own, {}).items() if getattr(config, name) != value]
    if own not in READS or wrong or config.num_targets != 1 or predictor.featurize is not zinc_data:
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
        "kind": "csa" if own == "CGT" else own.lower(),
        "heads": config.num_heads,
        "layers": config.num_layers,
        "eps": getattr(config, "norm_eps", None),
        "error": predictor.record.result.get("test_mae"),
        "shapes": {name: list(value.shape) for name, value in weights.items()},
        "data": base64.b64encode(b"".join(each.tobytes() for each in weights.values())).decode(),
    }


def molecules(named: dict[str, str]) -> list[dict]:
    """What the models read of molecules, given as SMILES by name. Pairs are row by row, n² values.

    Raises:
        ValueError: a molecule cannot be read.
    """
    from rdkit import Chem

    reads = AddDegrees(), AddShortestPaths(), AddPathEdges(LONGEST_PATH), AddSVD(SVD_RANK)
    found = []
    for name, text in named.items():
        batch = collate(encode([zinc_data(text)], *reads, AddRings(LARGEST_RING)))
        of = {key: value[0].numpy() for key, value in batch.encodings.items()}
        bonds = np.where(batch.adjacency[0], batch.edge_attr[0, ..., 0], -1)
        mol = Chem.MolFromSmiles(text)
        found.append(
            {
                "name": name,
                "smiles": text,
                "value": round(penalized_logp(mol), 3),
                "symbols": [atom.GetSymbol() for atom in mol.GetAtoms()],
                "drawing": drawing(mol, (380, 300)),
                "x": batch.x[0, :, 0].tolist(),
                "degree": of["out_degree"].tolist(),
                "distance": of["distance"].flatten().tolist(),
                "edge": bonds.flatten().tolist(),
                "ring": of["ring"].astype(int).flatten().tolist(),
                "paths": _paths(of["path_edges"], of["distance"]),
                "svd": [round(value, 7) for value in of["svd"].flatten().tolist()],
            }
        )
    return found


def _paths(path_edges: np.ndarray, distance: np.ndarray) -> list[str]:
    """The bond types along each pair's shortest path, a digit each."""
    n = len(distance)
    lengths = distance.clip(0, LONGEST_PATH)
    return [
        "".join(str(int(bond)) for bond in path_edges[i, j, : lengths[i, j], 0])
        for i in range(n)
        for j in range(n)
    ]


def effects(predictor: Predictor, smiles: Sequence[str]) -> list[Tensor]:
    """Of each molecule ``[n]``: the prediction less that without the atom (first target)."""
    found = []
    for text in smiles:
        graph = encode([predictor.featurize(text)], *predictor.transforms)
        found.append(leave_one_out(predictor.model, collate(graph).to(device()))[0].cpu())
    return found
