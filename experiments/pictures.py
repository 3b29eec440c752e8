"""Data of the pictures to play with: ``python -m experiments.pictures``, about a minute.

It is computed from the shipped weights and written to ``book/_static/pictures``, a file for each
picture.
"""

import base64
import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from statistics import mean

import networkx as nx
import numpy as np
import torch
from rdkit import Chem, RDLogger

from gtcourse import collate, load, load_dataset
from gtcourse.course import explorer
from gtcourse.course.exercises.chapter10 import Terms, attend
from gtcourse.course.plots.molecules import places
from gtcourse.course.records import measurement
from gtcourse.encodings import encode
from gtcourse.graphs.molecules import (
    UnsuitableMolecule,
    molecule_graph,
    parse,
    penalized_logp,
)
from gtcourse.interpret import gradient_times_input, probabilities, read_by_graph, token_mask
from tools.paths import ROOT

OUT = ROOT / "book/_static/pictures"

STEPS = 11
WIDTH = 16
HEADS = 4
CLIP = 1.0  # narrower than the paper's 5, which random numbers would hardly reach


def metro() -> dict:
    """Six steps between layers, in the general form of chapter 10, on the atoms of aspirin.

    Each step has a part that is faded by factors from 1 to 0. ``gaps`` are the largest differences
    from the output of the layer that it leads to, in float64; ``weights`` is the row of the chosen
    atom, one for each channel, and ``outputs`` is what this atom gets, both in hundredths.
    """
    smiles = "CC(=O)Oc1ccccc1C(=O)O"
    atom = 3
    molecule = parse(smiles)
    n = molecule.GetNumAtoms()
    torch.manual_seed(0)
    content = torch.randn(1, HEADS, n, n).double().repeat_interleave(WIDTH // HEADS, dim=1)
    own = 1.5 * torch.randn(1, WIDTH, n, n).double()  # a number for each pair and channel
    heads = own.unflatten(1, (HEADS, -1)).mean(2).repeat_interleave(WIDTH // HEADS, dim=1)
    value = torch.randn(1, n, WIDTH).double()
    pair_value = torch.randn(1, WIDTH, n, n).double()
    gate = torch.rand(1, WIDTH, n, n).double()
    context = torch.randn(1, HEADS, n, n).double().repeat_interleave(WIDTH // HEADS, dim=1)
    cut_off = content - content.clamp(-CLIP, CLIP)

    def layer(of_pair, values=0.0, gates=None, clipped=0.0):
        pairs = {"of_pair": of_pair, "pair_value": values * pair_value, "gate": gates}
        return attend(Terms(of_nodes=content - clipped * cut_off, value=value, **pairs))

    def channels(f):
        return layer(heads + f * (own - heads), 1.0)

    def values(f):
        return layer(heads, f)

    def contexts(f):
        return layer(heads + f * context, 1.0)

    def gates(f):
        return layer(heads, 0.0, 1 - f * (1 - gate), clipped=1.0)

    def clip(f):
        return layer(heads, clipped=f)

    def bias(f):
        return layer(f * heads)

    legs = {"channels": channels, "values": values, "contexts": contexts}
    legs |= {"gates": gates, "clip": clip, "bias": bias}
    found = {}
    for name, leg in legs.items():
        goal = leg(0.0)[0]
        steps = [leg((STEPS - 1 - k) / (STEPS - 1)) for k in range(STEPS)]
        found[name] = {
            "gaps": [float(f"{(out - goal).abs().max().item():.2e}") for out, _ in steps],
            "weights": [(100 * weights[0, :, atom]).round().int().tolist() for _, weights in steps],
            "outputs": [(100 * out[0, atom]).round().int().tolist() for out, _ in steps],
        }
    symbols = [f"{each.GetSymbol()}{each.GetIdx()}" for each in molecule.GetAtoms()]
    return {"legs": found, "atoms": symbols, "atom": symbols[atom], "channels": WIDTH}


PAIR = ("paracetamol", "CC(=O)Nc1ccc(O)cc1")


@torch.no_grad()
def pair() -> dict:
    """The first layer of four trained models on one molecule: what makes up each weight."""
    name, smiles = PAIR
    models = []
    for kind, title in MODELS.items():
        model = load(f"{kind}-100k/molecules")
        batch = collate(encode([model.featurize(smiles)], *model.transforms))
        attention = model.model.layers[0].attention
        _, weights = model.model.eval()(batch, return_attention=True)
        given = met_by_attention(model, batch)
        terms, gate, extra = TERMS[kind](attention, batch, *given)
        first = 1 if kind in ("graphormer", "grpe") else 0  # [VNode] is token 0
        weights = weights[0, 0, :, first:, first:]  # [C, n, n]
        value = attention.value(given[0])[0, first:]  # [n, d]
        message = value.T[:, None] + (0 if extra is None else extra[:, first:, first:])  # [d, n, n]
        message = message.expand(-1, *weights.shape[1:]).unflatten(0, (len(weights), -1))
        shown = {
            "name": title,
            "terms": [[words, packed(part[:, first:, first:])] for words, part in terms],
            "weight": packed(weights),
            "message": packed((weights[:, None] * message).norm(dim=1)),
        }
        if gate is not None:
            shown["gate"] = packed(gate)
        models.append(shown)
    molecule = parse(smiles)
    kekulised = Chem.Mol(molecule)
    Chem.Kekulize(kekulised, clearAromaticFlags=True)
    bonds = [
        [bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), int(bond.GetBondTypeAsDouble())]
        for bond in kekulised.GetBonds()
    ]
    symbols = [atom.GetSymbol() for atom in molecule.GetAtoms()]
    drawn = {"name": name, "places": places(molecule), "symbols": symbols, "bonds": bonds}
    return {"molecule": drawn, "models": models}


def met_by_attention(model, batch) -> list[torch.Tensor]:
    """What the attention of the first layer is given."""
    given = []
    attention = model.model.layers[0].attention
    hook = attention.register_forward_pre_hook(lambda _, inputs: given.extend(inputs))
    model.model.eval()(batch)
    hook.remove()
    return given


def packed(values: torch.Tensor) -> dict:
    """Numbers as 16 bits and a scale."""
    scale = values.abs().max().item() / 32767 or 1.0
    whole = (values / scale).round().numpy().astype("<i2")
    return {"scale": scale, "data": base64.b64encode(whole.tobytes()).decode()}


def dots(attention, x: torch.Tensor) -> torch.Tensor:
    """q · k over the square root of a head's width, ``[H, T, T]``."""
    heads = (attention.num_heads, -1)
    query, key = (
        part(x)[0].unflatten(-1, heads).transpose(0, 1) for part in (attention.query, attention.key)
    )
    return query @ key.mT / query.shape[-1] ** 0.5


def of_graphormer(attention, batch, x, bias):
    return [("q·k / √K", dots(attention, x)), ("bias b + c", bias[0])], None, None


def of_egt(attention, batch, x, e):
    gate = attention.edge_gate(e)[0].permute(2, 0, 1).sigmoid()
    bias = attention.edge_bias(e)[0].permute(2, 0, 1)
    clipped = dots(attention, x).clamp(-attention.clip, attention.clip)
    return [("q·k / √K, clipped", clipped), ("pair E", bias)], gate, None


def of_grpe(attention, batch, x, relation, tables):
    query, key, _ = attention.project(x, x, x)
    query = query * query.shape[-1] ** -0.5
    pairs = relation[:, None].expand(-1, attention.num_heads, -1, -1)
    contexts = [part[0] for part in attention.contexts(query, key, pairs, tables)]
    names = ("query context", "key context")
    extra = tables.value[relation[0]].permute(2, 0, 1)
    return [("q·k / √K", dots(attention, x)), *zip(names, contexts, strict=True)], None, extra


def of_csa(attention, batch, x, terms):
    return [("q·k / √K", dots(attention, x)), ("pair E", terms.logits[0])], None, terms.values[0]


MODELS = {"graphormer": "Graphormer", "egt": "EGT", "grpe": "GRPE", "csa": "CSA"}
TERMS = {"graphormer": of_graphormer, "egt": of_egt, "grpe": of_grpe, "csa": of_csa}


BIASED = {
    "aspirin": "CC(=O)Oc1ccccc1C(=O)O",
    "paracetamol": "CC(=O)Nc1ccc(O)cc1",
    "caffeine": "Cn1cnc2c1c(=O)n(C)c(=O)n2C",
}


def bias() -> dict:
    """The scalars of a trained Graphormer, and all other terms of its first layer's logits.

    ``rest`` of a molecule is ``[H, n + 1, n + 1]``, with [VNode] first: queries and keys, the bonds
    along the paths and the scalar of [VNode]. With b of its distance, an entry becomes the logit.
    The molecules are as :func:`gtcourse.course.explorer.molecules` writes them, less what
    Graphormer does not read.
    """
    name = "graphormer-100k/molecules"
    model = load(name)
    spatial, _ = model.model.bias.encodings
    shown = explorer.molecules(BIASED)
    for molecule in shown:
        batch = collate(encode([model.featurize(molecule["smiles"])], *model.transforms))
        x, pairs = met_by_attention(model, batch)
        rest = dots(model.model.layers[0].attention, x) + pairs[0]
        rest[:, 1:, 1:] -= spatial(batch)[0]
        molecule["rest"] = packed(rest.detach())
        for unread in ("svd", "ring"):
            del molecule[unread]
    longest = max(max(molecule["distance"]) for molecule in shown)
    trained = spatial.scalars.weight.detach()[
        1 : longest + 2
    ].T  # [H, longest + 1], from distance 0
    return {
        "model": name,
        "layers": model.model.config.num_layers,
        "start": {"atom": 3, "head": 5},  # as section 6.6 asks, it looks three bonds away
        "scalars": [[round(value, 4) for value in row] for row in trained.tolist()],
        "molecules": shown,
    }


def bet() -> dict:
    """Chapter 11's 150 cuts, with each method's estimate for the large CSA of section 11.5."""
    data = load_dataset("molecules")
    model = load("csa/zinc")
    graphs = data.test[:40]
    cuts = [(row, *cut) for row, graph in enumerate(graphs) for cut in cut_off(graph.smiles)]
    rows, atoms, rests, worth = zip(*cuts, strict=True)
    batch = collate(encode(graphs, *model.transforms))
    with torch.no_grad():
        _, attention = model.model(batch, return_attention=True)
    tokens = token_mask(batch.mask, 0)
    looked = read_by_graph(probabilities(attention[:, -1].mean(dim=1), tokens), batch.mask, 0)
    gradient = gradient_times_input(model.model, batch, from_mean=True).detach()
    edits = model.predict([graph.smiles for graph in graphs])[list(rows)] - model.predict([*rests])
    known = defaultdict(list)
    for graph in data.train[:500]:
        whole = parse(graph.smiles)
        for atom, _, value in cut_off(graph.smiles):
            known[kind(whole, atom)].append(value)
    shown = []
    for row, graph in enumerate(graphs):
        molecule = parse(graph.smiles)
        mine = [n for n, each in enumerate(rows) if each == row]
        if len(mine) < 2:
            continue  # there is nothing to choose
        n = molecule.GetNumAtoms()
        kekulised = Chem.Mol(molecule)
        Chem.Kekulize(kekulised, clearAromaticFlags=True)
        ends = [(b.GetBeginAtomIdx(), b.GetEndAtomIdx(), b) for b in kekulised.GetBonds()]
        shown.append(
            {
                "places": places(molecule),
                "symbols": [atom.GetSymbol() for atom in molecule.GetAtoms()],
                "bonds": [[i, j, int(bond.GetBondTypeAsDouble())] for i, j, bond in ends],
                "attention": [round(x, 4) for x in looked[row, :n].tolist()],
                "atoms": [atoms[each] for each in mine],
                "worth": [round(worth[each], 3) for each in mine],
                "attended": [round(looked[row, atoms[each]].item(), 4) for each in mine],
                "gradient": [round(gradient[row, atoms[each]].item(), 4) for each in mine],
                "edit": [round(edits[each].item(), 3) for each in mine],
                "table": [round(mean(known[kind(molecule, atoms[each])]), 3) for each in mine],
            }
        )
    return {"cuts": len(cuts), "molecules": shown}


def cut_off(smiles: str) -> Iterator[tuple[int, str, float]]:
    """As in section 11.4: each end atom's index, the molecule without it, and its worth."""
    whole = parse(smiles)
    for atom in whole.GetAtoms():
        if atom.GetDegree() != 1:
            continue
        rest = Chem.RWMol(whole)
        rest.RemoveAtom(atom.GetIdx())
        try:
            text = Chem.MolToSmiles(rest)
            molecule_graph(text)
        except UnsuitableMolecule:
            continue
        remainder = parse(text)
        if any(other.GetNumRadicalElectrons() for other in remainder.GetAtoms()):
            continue  # the data set has no radicals
        yield atom.GetIdx(), text, penalized_logp(whole) - penalized_logp(remainder)


def kind(molecule, index: int) -> tuple:
    """As in section 11.4: an end atom's element and charge, its bond, and what it hangs on."""
    atom = molecule.GetAtomWithIdx(index)
    (bond,) = atom.GetBonds()
    other = bond.GetOtherAtom(atom)
    own = (atom.GetSymbol(), atom.GetFormalCharge(), bond.GetBondType())
    return (*own, other.GetSymbol(), other.GetIsAromatic())


FOOLED = {"mean": "GAT", "once": "1-WL, 1 layers", "sum": "1-WL", "distances": "distances"}
"""What ``fool.js`` calls the views of ``blindness``, and what the record does."""


def fool() -> dict:
    """The smallest pairs of connected graphs that four layers confuse, each with a drawing.

    The picture starts with a ring and as many nodes without edges.
    """
    views = measurement("blindness")["small"]["views"]
    pairs = {}
    for name, view in FOOLED.items():
        pairs[name] = [drawn(text) for text in views[view]["smallest"]]
    ring = nx.cycle_graph(6)
    places = (np.array([*nx.circular_layout(ring).values()]).round(2) + 0.0).tolist()  # no -0
    start = [{"n": 6, "edges": edges, "places": places} for edges in ([*ring.edges], [])]
    return {"start": start, "pairs": pairs}


def drawn(text: str) -> dict:
    """A graph in graph6: its number of nodes, its edges, and places from -1 to 1."""
    graph = nx.from_graph6_bytes(text.encode())
    at = np.array([*nx.kamada_kawai_layout(graph, pos=nx.planar_layout(graph)).values()])
    at = at - (at.max(axis=0) + at.min(axis=0)) / 2
    at = at / np.abs(at).max()
    return {"n": len(graph), "edges": [*map(list, graph.edges)], "places": at.round(2).tolist()}


def score() -> dict:
    """The coloured numbers of section 1.1 and two more, and the query of section 1.2 for red."""
    values = {"red": 9, "green": 1, "blue": 6, "gold": 3}
    return {
        "tokens": [{"color": color, "value": value} for color, value in values.items()],
        "start": [8, 0, 0, 0],
        "reach": 10,
        "axis": 10,
    }


def stack() -> dict:
    """The sizes of the stacks of section 2.2; the page draws their weights itself."""
    return {"blocks": 12, "tokens": 6, "width": 16, "heads": 4}


def ink() -> dict:
    """The path and the barbell of section 3.6, and a molecule: edges, and places from -1 to 1."""
    n = 8
    bend = np.pi * (np.arange(n) / (n - 1) - 0.5)
    path = {
        "name": "path",
        "edges": [[i, i + 1] for i in range(n - 1)],
        "places": np.stack([np.linspace(-1, 1, n), 0.25 - 0.5 * np.cos(bend)], axis=1),
    }
    m = 5
    angle = 2 * np.pi * np.arange(m) / m
    bell = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    barbell = {
        "name": "barbell",
        "edges": [*map(list, nx.barbell_graph(m, 0).edges)],
        "places": np.concatenate([np.roll(bell, -1, axis=0) - [2, 0], [2, 0] - bell]) / 3,
    }
    molecule = parse("CC(=O)Oc1ccccc1C(=O)O")
    at = np.array(places(molecule))
    at = at - (at.max(axis=0) + at.min(axis=0)) / 2
    aspirin = {
        "name": "aspirin",
        "edges": [[b.GetBeginAtomIdx(), b.GetEndAtomIdx()] for b in molecule.GetBonds()],
        "places": at / np.abs(at * [1, 1.7]).max(),
    }
    graphs = [path, barbell, aspirin]
    return {"graphs": [{**each, "places": each["places"].round(2).tolist()} for each in graphs]}


def transformer() -> dict:
    """The sizes of the model of section 2.6, and of the batch that it reads there."""
    sizes = {"B": 2, "N": 8, "M": 5, "d": 32, "H": 4, "hidden": 64, "words": 10}
    return {**sizes, "layers": [2, 2]}


def basis() -> dict:
    """A ring whose second eigenvalue repeats, and the first turn of its basis in degrees."""
    return {"nodes": 12, "start": 35}


def dial() -> dict:
    """Signs of the listener puzzle of section 8.1, and the one logit of a head that is not 0."""
    samples = np.random.default_rng(1).choice([-1, 1], size=(6, 8))
    return {"strength": 8, "start": 3, "samples": samples.tolist()}


RINGED = {
    "cyclooctyl acetate": "CC(=O)OC1CCCCCCC1",
    "caprolactam": "O=C1CCCCCN1",
    "caffeine": "Cn1cnc2c1c(=O)n(C)c(=O)n2C",
}


@torch.no_grad()
def forget() -> dict:
    """What a trained CSA predicts with and without its ring feature, and the first layer's filters.

    Without it, no two atoms share a ring. The filters are ``[d, n, n]``, in steps of 1 / 255.
    """
    model = load("csa-rings/zinc")
    network = model.model.eval()
    shown = explorer.molecules(RINGED)
    molecules = []
    for drawn in shown:
        batch = collate(encode([model.featurize(drawn["smiles"])], *model.transforms))
        ring = batch.encodings["ring"]
        molecule = {name: drawn[name] for name in ("name", "places", "symbols", "edge", "value")}
        molecule["atom"] = int(ring[0].sum(dim=1).argmax())
        of_atom = {}
        for state, feature in (("with", ring), ("without", torch.zeros_like(ring))):
            changed = replace(batch, encodings=batch.encodings | {"ring": feature})
            prediction, filters = network(changed, return_attention=True)
            of_atom[state] = filters[0, 0, :, molecule["atom"]]  # [d, n]
            whole = (255 * filters[0, 0]).round().to(torch.uint8)  # [d, n, n]
            molecule[state] = {
                "prediction": round(prediction.item(), 3),
                "filters": base64.b64encode(whole.numpy().tobytes()).decode(),
            }
        change = (of_atom["with"] - of_atom["without"]).abs().sum(dim=1)  # [d]
        molecule["channel"] = 1 + int(change.argmax())
        molecules.append(molecule)
    return {
        "channels": model.model.config.d_model,
        "axis": [-8, 4],
        "molecules": molecules,
    }


FLIPPED = {
    "caffeine": "Cn1cnc2c1c(=O)n(C)c(=O)n2C",
    "lidocaine": "CCN(CC)CC(=O)Nc1c(C)cccc1C",
    "1-butanol": "CCCCO",
}
"""None of their eigenvalues repeats."""


@torch.no_grad()
def flip() -> dict:
    """Outputs of a trained φ for eigenvectors u and -u, with two decimals, ``[k, C, n]``.

    The picture adds the stored numbers, so that the sums are those of the numbers that it shows.
    """
    model = load("signnet-100k/molecules")
    signnet = model.model.eval().input.encoding
    molecules = []
    for drawn in explorer.molecules(FLIPPED):
        batch = collate(encode([model.featurize(drawn["smiles"])], *model.transforms))
        vectors = batch.encoding("laplacian_eigenvectors").float()  # [1, n, k]
        is_vector = (vectors != 0).any(dim=1)[0]
        vectors = vectors[:, :, is_vector]
        is_real = torch.ones_like(vectors, dtype=torch.bool)
        plus, minus = (
            signnet.phi(signed, is_real, batch.adjacency)[0].permute(1, 2, 0)
            for signed in (vectors, -vectors)
        )  # [k, C, n] each
        molecule = {name: drawn[name] for name in ("name", "places", "symbols", "edge")}
        molecule |= {"u": hundredths(vectors[0].T), "plus": hundredths(plus)}
        molecules.append(molecule | {"minus": hundredths(minus)})
    return {"channels": signnet.config.phi_out, "start": 2, "molecules": molecules}


def hundredths(values: torch.Tensor) -> list:
    """Nested lists of whole numbers of 1 / 100."""
    return (100 * values).round().int().tolist()


def padding() -> dict:
    """The numbers of atoms of the molecules of section 12.3, in the order of the data."""
    return {"sizes": [graph.num_nodes for graph in load_dataset("molecules").train[:4000]]}


DATA: dict[str, Callable[[], dict]] = {
    "score": score,
    "stack": stack,
    "transformer": transformer,
    "ink": ink,
    "basis": basis,
    "bias": bias,
    "dial": dial,
    "forget": forget,
    "flip": flip,
    "pair": pair,
    "metro": metro,
    "bet": bet,
    "fool": fool,
    "padding": padding,
}


def text(data: dict) -> str:
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False) + "\n"


if __name__ == "__main__":
    RDLogger.DisableLog("rdApp.*")
    for name, compute in DATA.items():
        (OUT / f"{name}.json").write_text(text(compute()), encoding="utf-8")
