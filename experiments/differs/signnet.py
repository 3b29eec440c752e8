"""SignNet: the paper's print, the authors' code and ours, measured."""

from statistics import mean

import numpy as np
import torch
from torch import Tensor, nn

from experiments.differs.common import batches, count, molecules
from gtcourse.encodings import AddLaplacianEigenvectors, encode
from gtcourse.encodings.spectral import laplacian
from gtcourse.graphs.batch import GraphBatch
from gtcourse.models import SignNet, SignNetConfig
from gtcourse.recipes import RECIPES
from gtcourse.training.leaderboard import LEADERBOARD
from gtcourse.training.records import recorded

NAME = "signnet-100k"
SMALL = SignNetConfig(k=8, phi_layers=3, rho_layers=2, phi_hidden=16)


def in_two_calls(model: SignNet, vectors: Tensor, batch: GraphBatch) -> Tensor:
    """S14 as it is written: phi of the vectors, and phi of their negatives, one after the other."""
    real = batch.mask[:, :, None] & (vectors != 0).any(dim=1, keepdim=True)
    h = model.phi(vectors, real, batch.adjacency) + model.phi(-vectors, real, batch.adjacency)
    return model.rho(h.flatten(2)[batch.mask])


def in_one_call(model: SignNet, vectors: Tensor, batch: GraphBatch) -> Tensor:
    return model.encode(vectors, batch.adjacency, batch.mask)[batch.mask]


@torch.no_grad()
def calls() -> dict:
    """In training mode, what the sign of one eigenvector of one molecule changes of a batch."""
    torch.manual_seed(0)
    model = SignNet(SMALL).double().train()
    batch = batches(LEADERBOARD[NAME].transforms)[0]
    vectors = batch.encodings["laplacian_eigenvectors"].double()
    flipped = vectors.clone()
    flipped[0, :, 0] *= -1
    own = int(batch.mask[0].sum())  # the rows of the molecule that was flipped come first
    found = {}
    for name, form in (("two", in_two_calls), ("one", in_one_call)):
        moved = (form(model, flipped, batch) - form(model, vectors, batch)).abs()
        found |= {name: moved.max().item(), f"{name}_others": moved[own:].max().item()}
    return found


@torch.no_grad()
def padding() -> dict:
    """What a column of zeros adds to a sum over eigenvectors, beside what a real one adds."""
    torch.manual_seed(0)
    model = SignNet(SignNetConfig(k=None, rho="sum", phi_layers=3, phi_hidden=16, phi_out=16))
    model = model.eval()
    batch = batches(LEADERBOARD[NAME].transforms)[0]
    vectors = batch.encodings["laplacian_eigenvectors"]
    real = model.even(vectors, batch.adjacency, batch.mask)[batch.mask].abs().mean()
    # A column that counts although nothing is in it.
    empty = torch.zeros_like(vectors[:, :, :1])
    counted = batch.mask[:, :, None]
    twice = 2 * model.phi(empty, counted, batch.adjacency)[batch.mask]
    ours = model.even(empty, batch.adjacency, batch.mask)[batch.mask]
    sizes = batch.mask.sum(dim=1)
    return {
        "share": (twice.abs().mean() / real).item(),
        "ours": ours.abs().max().item(),
        "molecules": (sizes <= 37).double().mean().item(),
    }


def solvers() -> dict:
    """Molecules for which the general eigensolver's vectors are not perpendicular."""
    worst, several = {"eig": [], "eigh": []}, 0
    for graph in molecules():
        A = torch.zeros(graph.num_nodes, graph.num_nodes, dtype=torch.float64)
        A[tuple(graph.edge_index)] = 1
        L = laplacian(A.bool(), "combinatorial").double().numpy()
        values = np.linalg.eigvalsh(L)
        several += bool((np.diff(values) < 1e-9).any())
        for name, solver in (("eig", np.linalg.eig), ("eigh", np.linalg.eigh)):
            vectors = solver(L)[1].real
            worst[name].append(np.abs(vectors.T @ vectors - np.eye(len(L))).max())
    eig, eigh = (np.array(worst[name]) for name in ("eig", "eigh"))
    return {
        "repeated": several / len(molecules()),
        "eig": float((eig > 1e-6).mean()),
        "largest": float(eig.max()),
        "eigh": float(eigh.max()),
    }


def first_vector() -> dict:
    """Of a connected molecule the first eigenvector of D - A is the same number at all atoms."""
    graphs = encode(molecules(), AddLaplacianEigenvectors(2))
    first = [graph.laplacian_eigenvectors[:, 0] for graph in graphs]
    return {"spread": max((u.max() - u.min()).item() for u in first)}


def entering() -> dict:
    """Parameters of the recipe for ZINC, and of the maps by which SignNet enters in the code."""
    build = RECIPES["signnet/zinc"].build_model
    with torch.device("meta"):
        width = build().input.encoding.config.d_model
    k = 8
    maps = [nn.Linear(width, k), nn.Linear(k, width), nn.Linear(2 * width, width)]
    theirs = sum(p.numel() for m in maps for p in m.parameters())
    last = sum(p.numel() for p in nn.Linear(width, width).parameters())
    return {"ours": count(build), "theirs": count(build) - last + theirs}


def epochs() -> dict:
    """Validation error of the last epoch less that of the best, in the recorded runs."""
    runs = recorded("bag-signnet/molecules") + recorded("gatedgcn-signnet/molecules")
    gaps = [run.curve[-1]["val_mae"] - run.result["val_mae"] for run in runs]
    return {"mean": mean(gaps), "largest": max(gaps), "runs": len(runs)}


MEASURES = {
    "calls": calls,
    "padding": padding,
    "solver": solvers,
    "first": first_vector,
    "entering": entering,
    "epoch": epochs,
}
"""The row "flips" is about recorded runs."""
