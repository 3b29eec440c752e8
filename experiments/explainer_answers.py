"""What the explainer's page answers to its questions, computed with the models in PyTorch.

    python -m experiments.explainer_answers --out experiments/records/explainer-answers.json

The page computes the same numbers in the browser; its tests compare the two.
"""

from __future__ import annotations

import argparse
import ast
import json
from functools import partial
from pathlib import Path
from unittest.mock import patch

import torch
from rdkit.Chem import MolFromSmarts, MolFromSmiles
from torch import Tensor

from experiments.runs import origin
from gtcourse import collate, load
from gtcourse.course.explorer import effects
from gtcourse.encodings import encode
from gtcourse.graphs.molecules import penalized_logp, zinc_data
from gtcourse.models import CGT, EdgeTerms
from gtcourse.runs.record import write_json
from tools.paths import ROOT


def listed() -> dict[str, str]:
    """The molecules of the page, SMILES by name."""
    module = ast.parse((ROOT / "book/_ext/explainer.py").read_text(encoding="utf-8"))
    assigned = [statement for statement in module.body if isinstance(statement, ast.Assign)]
    (value,) = (each.value for each in assigned if ast.unparse(each.targets[0]) == "MOLECULES")
    return ast.literal_eval(value)


MOLECULES = listed()
TEXTS = list(MOLECULES.values())
EXACT = torch.tensor([penalized_logp(MolFromSmiles(text)) for text in TEXTS])
ASPIRIN = [*MOLECULES].index("aspirin")
HYDROXYL = MolFromSmarts("[OX2H]")
OF_THE_CHAIN = MolFromSmarts("[CX4H2,CX4H1,CX4H3,CX3H1;!$(CN);!$(CO)]")
"""The carbons of capsaicin's long chain, without those beside a nitrogen or an oxygen."""


def named(chosen: Tensor) -> list[str]:
    return [name for name, each in zip(MOLECULES, chosen.tolist(), strict=True) if each]


def batches(predictor) -> list:
    """One molecule each, as on the page."""
    return [collate(encode([zinc_data(text)], *predictor.transforms)) for text in TEXTS]


@torch.no_grad()
def predictions(predictor) -> Tensor:
    return torch.cat([predictor.model(batch) for batch in batches(predictor)])


def raised_bias() -> dict:
    """Question 1: Graphormer with a larger bias at distance 1, in all heads."""
    graphormer = load("graphormer-100k/molecules")
    table = graphormer.model.bias.encodings[0].scalars.weight
    before = predictions(graphormer)
    found = {"aspirin": before[ASPIRIN].item()}
    for more in (2, 3):
        with torch.no_grad():
            table[2] += more  # row n + 1 is distance n
            after = predictions(graphormer)
            table[2] -= more
        found[f"aspirin, {more} more"] = after[ASPIRIN].item()
        found[f"falls, {more} more"] = int((after < before).sum())
        found[f"rises, {more} more"] = int((after > before).sum())
    return found


@torch.no_grad()
def flipped_pairs() -> dict:
    """Question 2: EGT with each of the eight pairs of singular vectors flipped."""
    model = load("egt-100k/molecules").model
    changes = []
    for batch in batches(load("egt-100k/molecules")):
        vectors = batch.encodings["svd"]
        before = model(batch)
        of_molecule = []
        for pair in range(8):
            signs = torch.ones(16)
            signs[[pair, 8 + pair]] = -1
            batch.encodings["svd"] = vectors * signs
            of_molecule.append((model(batch) - before).abs().item())
        changes.append(of_molecule)
    table = torch.tensor(changes)
    return {
        "aspirin, smallest": table[ASPIRIN].min().item(),
        "aspirin, largest": table[ASPIRIN].max().item(),
        "mean": table.mean().item(),
        "largest": table.max().item(),
    }


def without_value_term() -> dict:
    """Question 3: GRPE without its value term."""
    grpe = load("grpe-100k/molecules")
    before = predictions(grpe)[ASPIRIN].item()
    with torch.no_grad():
        for table in (grpe.model.tables["value"].distances, grpe.model.tables["value"].edges):
            table.weight.zero_()
    return {"aspirin": before, "aspirin, without": predictions(grpe)[ASPIRIN].item()}


def mean_channels() -> dict:
    """Question 4: CSA with its pair features averaged over the channels of each head."""
    csa = load("csa-100k/molecules")
    before = (predictions(csa) - EXACT).abs()
    compute = CGT.edge_terms

    def averaged(self, batch):
        found = []
        for terms in compute(self, batch):
            heads = terms.logits.unflatten(1, (self.config.num_heads, -1))
            logits = heads.mean(dim=2, keepdim=True).expand_as(heads).flatten(1, 2)
            found.append(EdgeTerms(logits, terms.values))
        return found

    with patch.object(CGT, "edge_terms", averaged):
        after = (predictions(csa) - EXACT).abs()
    largest = int((after - before).argmax())
    return {
        "grows": int((after > before).sum()),
        "falls": named(after < before),
        "mean": before.mean().item(),
        "mean, averaged": after.mean().item(),
        "grows most": [*MOLECULES][largest],
        "its error": before[largest].item(),
        "its error, averaged": after[largest].item(),
    }


def contributions() -> dict:
    """Question 5: the worth of hydroxyl groups and of a chain, for CSA."""
    salbutamol, capsaicin = effects(
        load("csa-100k/molecules"), [MOLECULES["salbutamol"], MOLECULES["capsaicin"]]
    )
    oxygens, chain = (
        [place[0] for place in MolFromSmiles(MOLECULES[name]).GetSubstructMatches(pattern)]
        for name, pattern in (("salbutamol", HYDROXYL), ("capsaicin", OF_THE_CHAIN))
    )
    return {
        "salbutamol": sorted(salbutamol[oxygens].tolist()),
        "capsaicin": capsaicin[chain].tolist(),
    }


@torch.no_grad()
def cut_weights() -> dict:
    """Question 6: Graphormer on aspirin, with the largest weight of an atom's row cut.

    The changes of the prediction over all atoms and heads, in the first and in the last layer.
    """
    graphormer = load("graphormer-100k/molecules")
    model = graphormer.model
    batch = batches(graphormer)[ASPIRIN]
    before, attention = model(batch, return_attention=True)  # [1, L, H, 1 + N, 1 + N]
    changes: dict = {}
    for layer in (0, model.config.num_layers - 1):
        module = model.layers[layer].attention
        changes[layer] = []
        for head, rows in enumerate(attention[0, layer]):
            for row in range(1, len(rows)):
                largest = int(rows[row].argmax())
                cut = partial(without_weight, head, row, largest, rows[row, largest])
                handle = module.register_forward_hook(cut)
                changes[layer].append((model(batch) - before).abs().item())
                handle.remove()
    first, last = (torch.tensor(found) for found in changes.values())
    return {
        "first layer, median": first.median().item(),
        "first layer, largest": first.max().item(),
        "last layer, largest": last.max().item(),
    }


def without_weight(head: int, row: int, column: int, weight: Tensor, module, given, z) -> Tensor:
    """The output of an attention module if one of its weights is 0."""
    value = module.value(given[0])[0, column]
    width = len(value) // module.num_heads
    channels = slice(head * width, (head + 1) * width)
    z = z.clone()
    z[0, row] -= weight * (module.output.weight[:, channels] @ value[channels])
    return z


def two_models() -> dict:
    """Question 7: errors of EGT and of CSA."""
    egt, csa = (
        (predictions(load(f"{name}-100k/molecules")) - EXACT).abs() for name in ("egt", "csa")
    )
    return {
        "egt": egt.mean().item(),
        "csa": csa.mean().item(),
        "egt larger": int((egt > csa).sum()),
        "csa larger": named(csa > egt),
    }


ANSWERS = (
    raised_bias,
    flipped_pairs,
    without_value_term,
    mean_channels,
    contributions,
    cut_weights,
    two_models,
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    found = {answer.__name__: answer() for answer in ANSWERS}
    record = {"answers": found} | origin("python -m experiments.explainer_answers")
    write_json(parser.parse_args().out, record)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
