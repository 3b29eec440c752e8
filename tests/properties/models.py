"""Every model of the package, in small configurations of every form.

A new model is a new entry of ``MODELS``; all properties are then tried on it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from zlib import crc32

import torch
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from gtcourse.encodings import AddLaplacianEigenvectors, AddRandomWalks
from gtcourse.graphs import GraphBatch
from gtcourse.models import (
    EGT,
    GAT,
    GIN,
    BagTransformer,
    BagTransformerConfig,
    GATConfig,
    GatedGCN,
    GatedGCNConfig,
    GINConfig,
    LaplacianEncoding,
    NeighbourTransformer,
    SignNet,
    SignNetConfig,
    SVDEncoding,
    WalkEncoding,
)
from tests.models import csas
from tests.properties.graph_transformers import (
    cgt_variants,
    egt_variants,
    graphormer_variants,
    grpe_variants,
)
from tests.properties.graphs import NONE, examples
from tests.properties.variants import NUMBERS, SPECTRUM, SVD, WALKS, Variant, enough

Results = dict[str, tuple[Tensor, int]]
"""A model's outputs by name: ``[B, …]``, and how many axes of nodes follow the first."""


@dataclass(frozen=True)
class Subject:
    """A model: its variants by name, and the function that computes all its outputs."""

    variants: dict[str, Variant]
    outputs: Callable[[nn.Module, GraphBatch, Variant], Results]


def prediction(model: nn.Module, batch: GraphBatch, variant: Variant) -> Results:
    return {"prediction": (model(batch), variant.level)}


def prediction_states_attention(model: nn.Module, batch: GraphBatch, variant: Variant) -> Results:
    """Of those that have ``encode``; without what belongs to virtual nodes."""
    h, attention = model.encode(batch, return_attention=True)
    virtual = h.shape[1] - batch.mask.shape[1]
    return prediction(model, batch, variant) | {
        "states": (h[:, virtual:], 1),
        "attention": (of_pairs(attention, virtual), 2),
    }


def prediction_attention(model: nn.Module, batch: GraphBatch, variant: Variant) -> Results:
    _, attention = model(batch, return_attention=True)
    return prediction(model, batch, variant) | {"attention": (of_pairs(attention, 0), 2)}


def of_egt(model: EGT, batch: GraphBatch, variant: Variant) -> Results:
    options = {"return_distances": model.config.distance_hops > 0}
    output, *distances, attention = model(batch, return_attention=True, **options)
    results = {"prediction": (output, variant.level)}
    results["attention"] = of_pairs(attention, model.config.virtual_nodes), 2
    if distances:
        results["distances"] = distances[0], 2
    return results


def of_pairs(attention: Tensor, virtual: int) -> Tensor:
    """``[B, L, H, V + N, V + N]`` to ``[B, N, N, L, H]``."""
    return attention[..., virtual:, virtual:].permute(0, 3, 4, 1, 2)


D = 8
PHI = SignNetConfig(
    k=3, d_model=D, phi_layers=2, phi_hidden=6, phi_out=2, rho_layers=2, rho_hidden=7
)
NODE_ENCODINGS = {
    "alone": (lambda: None, ()),
    "eigenvectors": (lambda: LaplacianEncoding(3, D), (SPECTRUM,)),
    "walks": (lambda: WalkEncoding(csas.STEPS, D), (WALKS,)),
    "returns": (lambda: WalkEncoding(csas.STEPS, D), (AddRandomWalks(csas.STEPS, pairs=False),)),
    "singular vectors": (lambda: SVDEncoding(2, D), (SVD,)),
    "signnet": (lambda: SignNet(PHI), (SPECTRUM,)),
}


def with_node_encodings(build: Callable[[nn.Module | None], nn.Module]) -> dict:
    """A model with each of the node encodings."""
    return {
        name: Variant(lambda make=make: build(make()), transforms)
        for name, (make, transforms) in NODE_ENCODINGS.items()
    }


def bag_variants() -> dict[str, Variant]:
    config = BagTransformerConfig(d_model=D, num_heads=2, d_hidden=D)
    dropped = replace(config, dropout=0.3, num_targets=3)
    found = with_node_encodings(lambda encoding: BagTransformer(config, encoding))
    return found | {"dropout, several targets": Variant(partial(BagTransformer, dropped))}


def neighbour_variants() -> dict[str, Variant]:
    config = BagTransformerConfig(d_model=D, num_heads=2, d_hidden=D)
    found = with_node_encodings(lambda encoding: NeighbourTransformer(config, 1, encoding))
    return found | {
        f"{heads} masked": Variant(partial(NeighbourTransformer, config, heads)) for heads in (0, 2)
    }


def baseline_variants(model: type, config: object) -> dict[str, Variant]:
    """Of a message-passing baseline: readouts, targets, numbers in place of types."""
    other = replace(config, num_targets=3, readout="mean" if config.readout == "sum" else "sum")
    numbers = replace(config, num_node_types=0, num_node_features=2)
    found = with_node_encodings(lambda encoding: model(config, encoding))
    return found | {
        "several targets, other readout": Variant(partial(model, other)),
        "numbers": Variant(partial(model, numbers), x=NUMBERS),
    }


def gatedgcn_variants() -> dict[str, Variant]:
    config = GatedGCNConfig(
        num_node_types=28, num_node_features=0, num_edge_types=4, d_model=D, num_layers=2
    )
    bare = Variant(partial(GatedGCN, replace(config, num_edge_types=0)), edges=NONE)
    return baseline_variants(GatedGCN, config) | {"no edge features": bare}


def signnet_variants() -> dict[str, Variant]:
    configs = {
        f"{phi}, {rho}": replace(PHI, phi=phi, rho=rho)
        for phi in ("gin", "mlp")
        for rho in ("mlp", "sum")
    }
    configs["any number"] = replace(PHI, k=None, rho="sum")
    reads = {"any number": (AddLaplacianEigenvectors(6, "symmetric", skip_first=True),)}
    return {
        name: Variant(partial(SignNet, config), reads.get(name, (SPECTRUM,)), edges=NONE, level=1)
        for name, config in configs.items()
    }


def small(config: type, **changes) -> object:
    """Of a message-passing baseline, for types of nodes."""
    return config(num_node_types=28, num_node_features=0, d_model=D, num_layers=2, **changes)


MODELS = {
    "Graphormer": Subject(graphormer_variants(), prediction_states_attention),
    "EGT": Subject(egt_variants(), of_egt),
    "GRPE": Subject(grpe_variants(), prediction_states_attention),
    "CGT": Subject(cgt_variants(), prediction_states_attention),
    "SignNet": Subject(signnet_variants(), prediction),
    "BagTransformer": Subject(bag_variants(), prediction_attention),
    "NeighbourTransformer": Subject(neighbour_variants(), prediction_attention),
    "GIN": Subject(baseline_variants(GIN, small(GINConfig)), prediction),
    "GAT": Subject(baseline_variants(GAT, small(GATConfig, num_heads=2)), prediction),
    "GatedGCN": Subject(gatedgcn_variants(), prediction),
}


PRECISIONS = {"float32": False, "bf16": True}
"""And whether torch is asked to compute in bf16 what it can."""


def try_on_graphs(
    promise: Callable[..., None],
    model: str,
    others: dict[str, st.SearchStrategy] | None = None,
    *,
    chosen: Callable[[str, Variant], bool] = lambda name, variant: True,
    **sizes: int,
) -> None:
    """``promise(model, variant, example, **others)``, variant by variant, on graphs that it reads.

    Every variant has examples of its own, also where they are the same each time.

    Args:
        others: what is drawn beside the graphs; chosen: which variants there are.
    """
    variants = {name: v for name, v in MODELS[model].variants.items() if chosen(name, v)}
    for name, variant in variants.items():
        graphs = examples(variant.x, variant.edges, **sizes)
        holds = given(graphs, st.fixed_dictionaries(others or {}))(_of(promise, model, name))
        if settings.default.derandomize:
            holds = seed(crc32(f"{model}, {name}: {promise.__name__}".encode()))(holds)
        enough(1 / len(variants))(holds)()


def _of(promise: Callable[..., None], model: str, variant: str) -> Callable[..., None]:
    return lambda example, drawn: promise(model, variant, example, **drawn)


@cache
def in_use(model: str, variant: str) -> nn.Module:
    """In float64 and evaluation mode, with weights and statistics behind which nothing hides."""
    torch.manual_seed(0)
    return csas.in_use(MODELS[model].variants[variant].build())


def assert_same(got: Tensor, expected: Tensor, what: str) -> None:
    """In float64, but for rounding, which is of the size of the largest numbers that are added."""
    largest = float(expected.detach().abs().max()) if expected.numel() else 0.0
    torch.testing.assert_close(
        got, expected, rtol=0, atol=1e-9 * max(1.0, largest), msg=lambda text: f"{what}: {text}"
    )
