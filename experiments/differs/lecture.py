"""The lecture and the Transformer: what is printed and what we compute, measured."""

from functools import partial

import torch
from torch import nn

from experiments.differs.common import batches, changed, count, predictions, scale_queries
from experiments.differs.graphormer import edge_encoding
from gtcourse import load_dataset
from gtcourse.encodings import AddLaplacianEigenvectors, encode
from gtcourse.encodings.signs import flip_signs
from gtcourse.encodings.spectral import laplacian
from gtcourse.models import Transformer, TransformerConfig
from gtcourse.training.leaderboard import LEADERBOARD, trained
from gtcourse.training.records import recorded

NAME = "transformer-100k"


def unscaled(model: nn.Module) -> None:
    """Logits as the later slides have them, without the root of d_k."""
    config = model.config
    scale_queries(model, (config.d_model // config.num_heads) ** 0.5)


def sum_along_paths(model: nn.Module) -> None:
    """S11: the sum along a path, where Eq. 7 has the mean."""
    edge_encoding(model).reduce = "sum"


@torch.no_grad()
def key_shift() -> dict:
    """Another shift of the keys, of size one."""
    torch.manual_seed(0)
    model = trained(NAME)
    given = batches(LEADERBOARD[NAME].transforms)
    before = predictions(model, given)
    for layer in model.encoder.layers:
        layer.attention.key.bias.normal_()
    return {"moved": (predictions(model, given) - before).abs().max().item()}


def signs() -> dict:
    """Patterns of eight signs among 1,000 molecules, drawn for each and drawn for all at once."""
    torch.manual_seed(0)
    ones = torch.ones(1000, 1, 8)
    each = flip_signs(ones)[:, 0]
    once = flip_signs(ones[:1])[:, 0].expand(1000, -1)
    return {name: len(drawn.unique(dim=0)) for name, drawn in (("each", each), ("once", once))}


def cycles() -> dict:
    """Graphs labelled "no" that have a cycle, and kept eigenvectors of eigenvalue 0."""
    graphs = [*load_dataset("cycles").test][:1000]
    no = [graph for graph in graphs if int(graph.y) == 0]
    with_cycle = sum(g.edge_index.shape[1] // 2 > g.num_nodes - pieces(g) for g in no)
    kept = encode(graphs, AddLaplacianEigenvectors(20, skip_first=True))
    zeros = torch.stack([(g.laplacian_eigenvalues < 1e-6).sum() for g in kept])
    zeros = zeros.double().mean().item()
    return {"graphs": len(no), "with_cycle": with_cycle / len(no), "zeros": zeros}


def pieces(graph) -> int:
    """Components: as many as the Laplacian has eigenvalues 0."""
    A = torch.zeros(graph.num_nodes, graph.num_nodes, dtype=torch.bool)
    A[tuple(graph.edge_index)] = True
    values = torch.linalg.eigvalsh(laplacian(A, "combinatorial").double())
    return int((values < 1e-9).sum())


def isolated() -> dict:
    """Of two nodes with a bond and one without any: eigenvalues that are 0."""
    A = torch.zeros(3, 3, dtype=torch.bool)
    A[0, 1] = A[1, 0] = True
    return {
        name: int((torch.linalg.eigvalsh(laplacian(A, name).double()).abs() < 1e-9).sum())
        for name in ("combinatorial", "symmetric")
    }


@torch.no_grad()
def last_norm() -> dict:
    """The deviation of a trained pre-LN stack's tokens after its first and its last block."""
    model, sizes = trained(NAME), []
    batch = batches(LEADERBOARD[NAME].transforms)[0]

    def look(layer: nn.Module, given: tuple, result: torch.Tensor | tuple) -> None:
        h = result[0] if isinstance(result, tuple) else result
        sizes.append(h[batch.mask].std().item())

    for layer in model.encoder.layers:
        layer.register_forward_hook(look)
    model(batch)
    return {"first": sizes[0], "last": sizes[-1]}


def tied() -> dict:
    """The base model for 37,000 words with three matrices of words, and with one."""
    words = 37_000
    separate = count(partial(Transformer, TransformerConfig(words, words)))
    return {"separate": separate, "shared": separate - 2 * words * 512}


def warm_up() -> dict:
    """Recorded seeds of a toy that end with a training loss above 1."""
    runs = recorded("transformer/warm-up")
    return {
        name: sum(run.result[kind] > 1 for run in runs)
        for name, kind in (("plain", "post-LN"), ("warm", "post-LN, warm-up"), ("pre", "pre-LN"))
    }


MEASURES = {
    "scale": partial(changed, NAME, unscaled),
    "sum": partial(changed, "graphormer-100k", sum_along_paths),
    "signs": signs,
    "isolated": isolated,
    "cycles": cycles,
    "key-shift": key_shift,
    "last-norm": last_norm,
    "tied": tied,
    "warm-up": warm_up,
}
