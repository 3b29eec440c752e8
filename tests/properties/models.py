"""Every model of the package, in small configurations of every form.

A new model is a new entry of ``MODELS``; all properties are then tried on it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from zlib import crc32

import torch
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from gtcourse import encodings, models
from gtcourse.graphs import GraphBatch
from tests.models import small
from tests.models.small import GRAPHORMER, STEPS
from tests.properties.graphs import ATOMS, BONDS, Features, examples

LEVELS = {"graph": 0, "node": 1, "edge": 2}


@dataclass(frozen=True)
class Variant:
    """One configuration of a model.

    Attributes:
        build: makes it, with the weights of its start.
        transforms: the encodings that it reads.
        x, edges: the features that it reads.
        level: axes of nodes of its prediction: 0 of a graph, 1 of nodes, 2 of edges.
    """

    build: Callable[[], nn.Module]
    transforms: tuple = ()
    x: Features = ATOMS
    edges: Features = BONDS
    level: int = 0


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


def of_egt(model: models.EGT, batch: GraphBatch, variant: Variant) -> Results:
    options = {"return_distances": model.config.distance_hops > 0}
    output, *distances, attention = model(batch, return_attention=True, **options)
    if model.config.form == "fused":  # which computes no attention that could be returned
        output, *distances = predictions_of_egt(model, batch)
    results = {"prediction": (output, variant.level)}
    results["attention"] = of_pairs(attention, model.config.virtual_nodes), 2
    if distances:
        results["distances"] = distances[0], 2
    return results


def predictions_of_egt(model: nn.Module, batch: GraphBatch) -> tuple[Tensor, ...]:
    """The prediction and, if the model has a head for them, the logits of the distances."""
    results = model(batch, return_distances=model.config.distance_hops > 0)
    return (results,) if isinstance(results, Tensor) else results


def of_pairs(attention: Tensor, virtual: int) -> Tensor:
    """``[B, L, H, V + N, V + N]`` to ``[B, N, N, L, H]``."""
    return attention[..., virtual:, virtual:].permute(0, 3, 4, 1, 2)


def variant_of(build: Callable[[], nn.Module], config: object, transforms: tuple) -> Variant:
    """What a model reads and predicts, of its configuration."""
    numbers = getattr(config, "num_edge_features", 0)
    numbers = 1 if getattr(config, "edge_step", None) else numbers
    types = () if numbers else getattr(config, "num_edge_types", (4,))
    return Variant(
        build,
        transforms,
        x=Features(config.num_node_types, config.num_node_features),
        edges=Features(types, numbers),
        level=LEVELS[getattr(config, "target", "graph")],
    )


def variants_of(model: type[nn.Module], configs: dict, transforms: tuple) -> dict[str, Variant]:
    return {name: variant_of(partial(model, c), c, transforms) for name, c in configs.items()}


D = 8
SPECTRUM = encodings.AddLaplacianEigenvectors(3)
TREE = encodings.AddDegrees(), encodings.AddShortestPaths(), encodings.AddPathTree()
PATHS = encodings.AddDegrees(), encodings.AddShortestPaths(), small.PATHS
TREES = {f"{name}, trees": small.GRAPHORMERS[name] for name in ("edges of paths", "two columns")}
GRAPHORMERS = {
    **variants_of(models.Graphormer, small.GRAPHORMERS, PATHS),
    **variants_of(models.Graphormer, TREES, TREE),
    "eigenvectors": Variant(
        lambda: models.Graphormer(GRAPHORMER, [models.LaplacianEncoding(3, D)]), (*PATHS, SPECTRUM)
    ),
    "sums over paths": Variant(
        lambda: models.Graphormer(
            GRAPHORMER, None, [models.EdgeEncoding(2, 4, 4, 3, reduce="sum")]
        ),
        PATHS,
    ),
}

PHI = models.SignNetConfig(
    k=3, d_model=D, phi_layers=2, phi_hidden=6, phi_out=2, rho_layers=2, rho_hidden=7
)
NODE_ENCODINGS = {
    "alone": (lambda: None, ()),
    "eigenvectors": (lambda: models.LaplacianEncoding(3, D), (SPECTRUM,)),
    "walks": (lambda: models.WalkEncoding(STEPS, D), (small.WALKS,)),
    "returns": (
        lambda: models.WalkEncoding(STEPS, D),
        (encodings.AddRandomWalks(STEPS, pairs=False),),
    ),
    "singular vectors": (lambda: models.SVDEncoding(2, D), (small.SVD,)),
    "signnet": (lambda: models.SignNet(PHI), (SPECTRUM,)),
}


def with_node_encodings(model: Callable[..., nn.Module], config: object, *others) -> dict:
    """A model with each of the node encodings, and without one in other configurations."""
    found = {
        name: variant_of(lambda make=make: model(config, node_encoding=make()), config, transforms)
        for name, (make, transforms) in NODE_ENCODINGS.items()
    }
    return found | variants_of(model, {f"form {n}": other for n, other in enumerate(others)}, ())


def message_passing(model: type[nn.Module], config: object, *others) -> Subject:
    """Also with several targets, the other readout, numbers in place of types, and other levels."""
    changed = replace(config, num_targets=3, readout="mean" if config.readout == "sum" else "sum")
    numbers = replace(config, num_node_types=(), num_node_features=2)
    nodes = replace(config, target="node", num_targets=3)
    edges = replace(config, target="edge", num_targets=2)
    forms = (changed, numbers, nodes, edges, replace(nodes, num_targets=1), *others)
    return Subject(with_node_encodings(model, config, *forms), prediction)


def neighbours(masked: int) -> Callable[..., nn.Module]:
    return partial(models.NeighbourTransformer, masked_heads=masked)


BAG = models.BagTransformerConfig(d_model=D, num_heads=2, d_hidden=D)
SIZE = {"num_node_types": (28,), "num_node_features": 0, "d_model": D, "num_layers": 2}
GATED = models.GatedGCNConfig(**SIZE, num_edge_types=(4,))
GT = models.GTConfig(**SIZE, num_heads=2, num_edge_types=(4,))
SIGNNETS = {
    f"{phi}, {rho}": Variant(
        partial(models.SignNet, replace(PHI, phi=phi, rho=rho)), (SPECTRUM,), level=1
    )
    for phi, rho in product(("gin", "mlp"), ("mlp", "sum"))
}
ANY_NUMBER = partial(models.SignNet, replace(PHI, k=None, rho="sum"))
SIX = encodings.AddLaplacianEigenvectors(6, "symmetric", skip_first=True)
CGT_READS = small.WALKS, encodings.AddShortestPaths(), small.RINGS

MODELS = {
    "Graphormer": Subject(GRAPHORMERS, prediction_states_attention),
    "EGT": Subject(
        variants_of(models.EGT, small.EGTS, (encodings.AddShortestPaths(), small.SVD)), of_egt
    ),
    "GRPE": Subject(
        variants_of(models.GRPE, small.GRPES, (encodings.AddShortestPaths(),)),
        prediction_states_attention,
    ),
    "CGT": Subject(variants_of(models.CGT, small.CGTS, CGT_READS), prediction_states_attention),
    "SignNet": Subject(SIGNNETS | {"any number": Variant(ANY_NUMBER, (SIX,), level=1)}, prediction),
    "BagTransformer": Subject(
        with_node_encodings(models.BagTransformer, BAG, replace(BAG, dropout=0.3, num_targets=3)),
        prediction_attention,
    ),
    "NeighbourTransformer": Subject(
        with_node_encodings(neighbours(1), BAG)
        | {f"{n} masked": Variant(partial(neighbours(n), BAG)) for n in (0, 2)},
        prediction_attention,
    ),
    "GIN": message_passing(models.GIN, models.GINConfig(**SIZE)),
    "GCN": message_passing(models.GCN, models.GCNConfig(**SIZE)),
    "GAT": message_passing(models.GAT, models.GATConfig(**SIZE, num_heads=2)),
    "GatedGCN": message_passing(models.GatedGCN, GATED, replace(GATED, num_edge_types=())),
    "GT": message_passing(models.GT, GT, replace(GT, num_edge_types=())),
}


def is_nightly() -> bool:
    return settings.default.max_examples > 100


def enough(share: float = 1.0) -> settings:
    """A share of 20 examples, or of the nightly profile's number; 2 at least."""
    most = settings.default.max_examples if is_nightly() else 20
    return settings(max_examples=max(2, round(share * most)))


def try_on_graphs(
    check: Callable[..., None],
    model: str,
    others: dict[str, st.SearchStrategy] | None = None,
    *,
    without: tuple[str, ...] = (),
    **sizes: int,
) -> None:
    """``check(model, variant, example, **others)``, variant by variant, on graphs that it reads.

    Every variant has examples of its own, also where they are the same each time.

    Args:
        others: what is drawn beside the graphs; without: variants that are left out.
    """
    variants = {name: v for name, v in MODELS[model].variants.items() if name not in without}
    for name, variant in variants.items():
        graphs = examples(variant.x, variant.edges, **sizes)
        holds = given(graphs, st.fixed_dictionaries(others or {}))(_of(check, model, name))
        if settings.default.derandomize:
            holds = seed(crc32(f"{model}, {name}: {check.__name__}".encode()))(holds)
        enough(1 / len(variants))(holds)()


def _of(check: Callable[..., None], model: str, variant: str) -> Callable[..., None]:
    return lambda example, drawn: check(model, variant, example, **drawn)


@cache
def in_use(model: str, variant: str) -> nn.Module:
    """In float64 and evaluation mode, with weights and statistics behind which nothing hides."""
    torch.manual_seed(0)
    return small.in_use(MODELS[model].variants[variant].build())


def assert_same(got: Tensor, expected: Tensor, what: str) -> None:
    """In float64, but for rounding, which is of the size of the largest numbers that are added."""
    largest = float(expected.detach().abs().max()) if expected.numel() else 0.0
    torch.testing.assert_close(
        got, expected, rtol=0, atol=1e-9 * max(1.0, largest), msg=lambda text: f"{what}: {text}"
    )
