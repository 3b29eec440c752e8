"""Chapter 06: ``python -m experiments.atoms_in_space``, about 40 CPU minutes.

How far from the centre of its molecule does an atom lie in space? RDKit computes a conformer, from
which the targets are measured; the models read the graph alone. Transformers with and without
Graphormer's distances, with walks, with SignNet and with attention along the bonds, the remaining
rows of Graphormer's Table 5, and the message passing of GIN and GatedGCN, each at its best rate.
Also two linear fits, one of which knows how many atoms there are at each distance, and an estimate
of the lowest error that a function of the molecule can have.
"""

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import cache, partial

import numpy as np
import torch
from rdkit.Chem import AddHs
from rdkit.Chem.AllChem import EmbedMolecule, ETKDGv3
from sklearn.linear_model import Ridge
from torch import nn
from torch_geometric.data import Data

from experiments.runs import Run, first_graphs, main, store_measurement
from gtcourse import DenseLoader, collate, load_dataset
from gtcourse.course.records import RECORDS
from gtcourse.encodings import (
    AddDegrees,
    AddLaplacianEigenvectors,
    AddPathEdges,
    AddRandomWalks,
    AddShortestPaths,
    encode,
)
from gtcourse.graphs.dataset import GraphDataset
from gtcourse.graphs.molecules import parse
from gtcourse.models import (
    GIN,
    CentralityEncoding,
    GatedGCN,
    GatedGCNConfig,
    GINConfig,
    Graphormer,
    GraphormerConfig,
    SignNet,
    SignNetConfig,
    WalkEncoding,
)
from gtcourse.models.message_passing import MessagePassingConfig
from gtcourse.recipes.graphormer import with_eigenvectors
from gtcourse.train.tasks import Scale, graph_regression

SIZES = (1500, 300, 500)
ATTEMPTS = 30  # to embed a molecule; without success it is left out
WALK_STEPS = 16
FAR = 20  # the largest distance that is counted on its own
SCALE = Scale((3.6,), (1.7,))
"""About the mean and the standard deviation of the targets, in Å."""

RATES = (1e-3, 3e-3, 1e-2)
EXAMPLE = 12  # the test molecule whose predictions are recorded
CONFORMERS = 17  # of a test molecule; the first is that of the targets
K = 8  # eigenvectors
TRANSFORMS = (
    AddDegrees(),
    AddShortestPaths(),
    AddRandomWalks(WALK_STEPS, pairs=False),
    AddLaplacianEigenvectors(K, skip_first=True),
    AddPathEdges(20),
)

ATOMS = GraphormerConfig(
    d_model=32,
    num_heads=4,
    num_layers=3,
    dropout=0.0,
    attention_dropout=0.0,
    centrality=False,
    spatial=False,
    edges=None,
    target="node",
)
DEGREES = replace(ATOMS, centrality=True)
GRAPHORMER = replace(DEGREES, spatial=True)
SIGNNET = SignNetConfig(
    k=K,
    d_model=ATOMS.d_model,
    phi_layers=3,
    phi_hidden=16,
    phi_out=4,
    rho_layers=2,
    rho_hidden=32,
)
MESSAGES = {
    "num_node_types": ATOMS.num_node_types,
    "num_node_features": 0,
    "d_model": ATOMS.d_model,
    "target": "node",
}
"""Sizes of the models that pass messages. They read no bond types, as no row above reads them."""


def along_bonds(config: GraphormerConfig) -> Graphormer:
    """Attention to the atom itself, its neighbours and [VNode]: Eq. 6 with fixed scalars."""
    model = Graphormer(config)
    scalars = model.bias.encodings[0].scalars.weight
    with torch.no_grad():
        scalars.fill_(-torch.inf)
        scalars[1:3] = 0.0  # distances 0 and 1
    scalars.requires_grad_(False)
    return model


def degrees() -> CentralityEncoding:
    return CentralityEncoding(ATOMS.max_in_degree, ATOMS.max_out_degree, ATOMS.d_model)


def with_walks(config: GraphormerConfig) -> Graphormer:
    return Graphormer(config, [degrees(), WalkEncoding(WALK_STEPS, config.d_model)])


def with_signnet(config: GraphormerConfig) -> Graphormer:
    return Graphormer(config, [degrees(), SignNet(SIGNNET)])


def gin(config: GINConfig) -> GIN:
    return GIN(config, degrees())


def gated_gcn(config: GatedGCNConfig) -> GatedGCN:
    return GatedGCN(config, degrees())


ARMS = {
    "atoms": (Graphormer, ATOMS),
    "degrees": (Graphormer, DEGREES),
    "walks": (with_walks, DEGREES),
    "signnet": (with_signnet, DEGREES),
    "bonds-3-layers": (along_bonds, GRAPHORMER),
    "bonds-6-layers": (along_bonds, replace(GRAPHORMER, num_layers=6)),
    "distances": (Graphormer, GRAPHORMER),
}
DEPTHS = (4, 8, 16)
for depth in DEPTHS:
    ARMS[f"gin-{depth}-layers"] = (gin, GINConfig(**MESSAGES, num_layers=depth))
    ARMS[f"gatedgcn-{depth}-layers"] = (gated_gcn, GatedGCNConfig(**MESSAGES, num_layers=depth))
# The rows of Table 5; "atoms" is its first, and "distances" its fourth.
ARMS |= {
    "laplacian": (partial(with_eigenvectors, k=K), ATOMS),
    "spatial": (Graphormer, replace(ATOMS, spatial=True)),
    "edges-node": (Graphormer, replace(GRAPHORMER, edges="node")),
    "edges-aggregation": (Graphormer, replace(GRAPHORMER, edges="aggregation")),
    "edges-bias": (Graphormer, replace(GRAPHORMER, edges="bias")),
}


def example(model: nn.Module, test: DenseLoader) -> dict[str, list[float]]:
    """What the model predicts for the atoms of one test molecule, in Å."""
    batch = collate([load("molecules").test[EXAMPLE]])
    with torch.no_grad():
        prediction = SCALE.restored(model.eval()(batch))
    return {"example": prediction[0].double().round(decimals=3).tolist()}


def run_of(build: Callable, config: GraphormerConfig | MessagePassingConfig) -> Run:
    function = build.func if isinstance(build, partial) else build
    has_bias = isinstance(config, GraphormerConfig) and config.spatial
    return Run(
        partial(build, config),
        asdict(config) | {"built_by": function.__name__, "transforms": list(map(repr, TRANSFORMS))},
        data="molecules",
        task=partial(graph_regression, SCALE),
        epochs=14,
        batch_size=32,
        faster=(lambda model: model.bias) if has_bias else None,
        scores=example,
    )


RUNS = {name: run_of(*arm) for name, arm in ARMS.items()}


def radii(graph: Data, seed: int) -> torch.Tensor | None:
    """Each atom's distance in Å from the mean of all, in a conformer; None if none is found."""
    molecule = AddHs(parse(graph.smiles))
    settings = ETKDGv3()
    settings.randomSeed = seed
    settings.maxIterations = ATTEMPTS
    if EmbedMolecule(molecule, settings) < 0:
        return None
    positions = molecule.GetConformer().GetPositions()[: graph.num_nodes]  # hydrogens come last
    from_centre = positions - positions.mean(axis=0)
    return torch.tensor(np.linalg.norm(from_centre, axis=1)).float()


@cache
def load(name: str) -> GraphDataset:
    """The molecules for which a conformer is found, with the targets of their atoms."""
    data = first_graphs(load_dataset(name), *SIZES)
    found = []
    rows = []
    for row, graph in enumerate(data):
        y = radii(graph, seed=1)
        if y is not None:
            labelled = graph.clone()
            labelled.y = y
            found.append(labelled)
            rows.append(row)
    data = replace(data, graphs=found, split=data.split[rows], target="node")
    return encode(data, *TRANSFORMS)


def counts(graphs: list[Data], up_to: int) -> np.ndarray:
    """For each atom: the size of its molecule, and how many atoms are 1 to ``up_to`` bonds away."""
    rows = []
    for graph in graphs:
        distance = graph.distance.clamp(max=FAR)
        at = [(distance == d).sum(dim=1) for d in range(1, up_to + 1)]
        size = torch.full((graph.num_nodes,), graph.num_nodes)
        rows.append(torch.stack([size, size**2, *at], dim=1).double())
    return torch.cat(rows).numpy()


def linear_error(data: GraphDataset, up_to: int) -> float:
    """Of ridge regression on :func:`counts`, in Å."""
    y, y_test = (torch.cat([g.y for g in part]).numpy() for part in (data.train, data.test))
    model = Ridge(alpha=1.0).fit(counts(data.train, up_to), y)
    return float(np.abs(model.predict(counts(data.test, up_to)) - y_test).mean())


def conformers(graph: Data) -> np.ndarray:
    """The targets of a molecule's atoms in every conformer that is found, ``[conformers, N]``."""
    others = [radii(graph, seed) for seed in range(2, CONFORMERS + 1)]
    return np.stack([graph.y.numpy()] + [y.numpy() for y in others if y is not None])


def floors(graphs: list[Data]) -> dict[str, float]:
    """Bounds of the lowest error, in Å, that a function of the molecule can have.

    The conformers of a molecule are taken for independent draws from one distribution. The best
    prediction of a draw is then the median of this distribution, for each atom. The median of the
    other draws errs by a little more. The median of all draws, the predicted one among them, errs
    by a little less.
    """
    of_one_pair = []
    above = []
    below = []
    for graph in graphs:
        y = conformers(graph)
        if len(y) > 1:
            of_one_pair.append(np.abs(y[0] - y[1]))
            medians = [np.median(np.delete(y, row, axis=0), axis=0) for row in range(len(y))]
            above.append(np.abs(y - medians).mean(axis=0))
            below.append(np.abs(y - np.median(y, axis=0)).mean(axis=0))
    return {
        "conformers": CONFORMERS,
        "molecules": len(above),
        "difference_of_two": float(np.concatenate(of_one_pair).mean()),
        "median_of_the_others": float(np.concatenate(above).mean()),
        "median_of_all": float(np.concatenate(below).mean()),
    }


def store_context() -> None:
    """The errors without a network, and the floor."""
    data = load("molecules")
    y, y_test = (torch.cat([g.y for g in part]) for part in (data.train, data.test))
    shown = data.test[EXAMPLE]
    content = {
        "name": "atoms-in-space",
        "data": data.provenance,
        "test_mae": {
            "the mean": float((y_test - y.mean()).abs().mean()),
            "linear, distances up to 3": linear_error(data, 3),
            "linear, all distances": linear_error(data, FAR),
        },
        "floor": floors(data.test),
        "example": {"smiles": shown.smiles, "truth": shown.y.tolist()},
    }
    store_measurement(
        RECORDS / "atoms-in-space.json", content, "python -m experiments.atoms_in_space"
    )


if __name__ == "__main__":
    main(
        "chapter06",
        RUNS,
        load,
        title="in-space-{}/molecules",
        module="atoms_in_space",
        rates=RATES,
        context=store_context,
    )
