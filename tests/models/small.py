"""Small models of every form, weights behind which nothing hides, and graphs with all encodings."""

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch_geometric.data import Data

from gtcourse.encodings import (
    AddDegrees,
    AddPathEdges,
    AddRandomWalks,
    AddRings,
    AddShortestPaths,
    AddSVD,
    encode,
)
from gtcourse.models import CGTConfig, EGTConfig, GraphormerConfig, GRPEConfig
from gtcourse.models.graphormer import EdgeEncoding, Graphormer
from tests.graphs.small import of_edges

MAX_RING = 4
STEPS = 3
WALKS = AddRandomWalks(STEPS)
PATHS = AddPathEdges(5)
RINGS = AddRings(MAX_RING)
SVD = AddSVD(2)
ENCODINGS = (AddDegrees(), AddShortestPaths(), PATHS, WALKS, RINGS, SVD)
SIZE = {"d_model": 8, "num_heads": 2, "num_layers": 2}
COLUMNS = {"num_node_types": (28, 7), "num_edge_types": (4, 3)}
NUMBERS = {"num_node_types": (), "num_node_features": 2}
EDGE_NUMBERS = {"num_edge_types": (), "num_edge_features": 1}

GRAPHORMER = GraphormerConfig(
    **SIZE,
    dropout=0.0,
    attention_dropout=0.0,
    max_distance=3,
    max_in_degree=30,
    max_out_degree=30,
    path_positions=4,
    max_path_length=3,
)
DEFAULTS = GraphormerConfig.defaults()
NO_DEGREES = {name: DEFAULTS[name] for name in ("max_in_degree", "max_out_degree")}
NO_DISTANCES = {"max_distance": DEFAULTS["max_distance"]}
NO_PATHS = {name: DEFAULTS[name] for name in ("path_positions", "max_path_length")}
BARE = {
    "centrality": False,
    "spatial": False,
    "edges": None,
    **NO_DEGREES,
    **NO_DISTANCES,
    **NO_PATHS,
}
TWO_COLUMNS = COLUMNS
EDGES_AT_NODES = replace(GRAPHORMER, edges="node", **NO_PATHS)
EDGES_OF_VALUES = replace(GRAPHORMER, edges="aggregation", **NO_PATHS)
GRAPHORMERS = {
    "no structure": replace(GRAPHORMER, **BARE),
    "centrality": replace(GRAPHORMER, spatial=False, edges=None, **NO_DISTANCES, **NO_PATHS),
    "distances": replace(GRAPHORMER, centrality=False, edges=None, **NO_DEGREES, **NO_PATHS),
    "edges at nodes": EDGES_AT_NODES,
    "edges of values": EDGES_OF_VALUES,
    "edges of paths": GRAPHORMER,
    "dropout": replace(GRAPHORMER, dropout=0.3, attention_dropout=0.3, input_dropout=0.3),
    "several targets": replace(GRAPHORMER, num_targets=3),
    "nodes": replace(GRAPHORMER, target="node", num_targets=2),
    "numbers": replace(GRAPHORMER, **NUMBERS, **EDGE_NUMBERS),
    "numbers, edges at nodes": replace(EDGES_AT_NODES, **NUMBERS, **EDGE_NUMBERS),
    "numbers, edges of values": replace(EDGES_OF_VALUES, **NUMBERS, **EDGE_NUMBERS),
    "two columns": replace(GRAPHORMER, **TWO_COLUMNS),
    "two columns, edges at nodes": replace(EDGES_AT_NODES, **TWO_COLUMNS),
    "two columns, edges of values": replace(EDGES_OF_VALUES, **TWO_COLUMNS),
}

EGT = EGTConfig(**SIZE, d_edge=6, svd_rank=2)
PLAIN = replace(EGT, num_edge_types=(), svd_rank=0)
EGTS = {
    "graph": EGT,
    "distances": replace(EGT, distance_hops=2),
    "node": replace(PLAIN, target="node", num_targets=3),
    "edge": replace(EGT, target="edge", num_targets=2),
    "edge and distances": replace(EGT, target="edge", distance_hops=3),
    "simple": replace(EGT, variant="simple"),
    "simple, edge": replace(EGT, variant="simple", target="edge", num_targets=2),
    "constrained": replace(EGT, variant="constrained"),
    "constrained, edge": replace(EGT, variant="constrained", target="edge"),
    "ungated": replace(EGT, gated=False),
    "distance structure": replace(PLAIN, structure="distance", max_distance=2, num_targets=2),
    "virtual nodes": replace(EGT, virtual_nodes=2, structure="distance", max_distance=3),
    "virtual nodes, constrained": replace(EGT, virtual_nodes=1, variant="constrained"),
    "virtual nodes, edge": replace(EGT, virtual_nodes=2, target="edge"),
    "virtual nodes, node": replace(EGT, virtual_nodes=2, target="node", num_targets=3),
    "virtual nodes, distances": replace(EGT, virtual_nodes=2, distance_hops=2),
    "virtual nodes, simple, edge": replace(EGT, virtual_nodes=1, variant="simple", target="edge"),
    "unscaled": replace(EGT, scaled=False, clip=1.0),
    "other norms": replace(EGT, norm_eps=0.1),
    "dropout": replace(EGT, node_dropout=0.3, edge_dropout=0.3),
    "flipped pairs": replace(EGT, flip_signs="pairs"),
    "numbers": replace(EGT, **NUMBERS, **EDGE_NUMBERS),
    "numbers, edge": replace(EGT, target="edge", **NUMBERS, **EDGE_NUMBERS),
    "two columns": replace(EGT, **COLUMNS),
    "fused, distances": replace(EGT, distance_hops=2, form="fused"),
    "fused, ungated": replace(EGT, gated=False, scaled=False, clip=1.0, form="fused"),
    "fused, constrained, node": replace(EGT, variant="constrained", target="node", form="fused"),
    "fused, simple, edge": replace(EGT, variant="simple", target="edge", form="fused"),
    "fused, edge, two columns": replace(EGT, target="edge", form="fused", **COLUMNS),
    "fused, numbers": replace(EGT, form="fused", **NUMBERS, **EDGE_NUMBERS),
    "fused, virtual nodes": replace(
        PLAIN, virtual_nodes=2, structure="distance", max_distance=3, form="fused"
    ),
    "dropout, fused": replace(EGT, node_dropout=0.3, edge_dropout=0.3, form="fused"),
}

GRPE = GRPEConfig(**SIZE, max_distance=2)
PIXELS = {"num_node_types": (), "num_node_features": 2, "num_edge_types": (11,), "edge_step": 0.1}
GRPES = {
    "all terms": GRPE,
    "as the authors' code": replace(GRPE, key_context="query_row"),
    "query context": replace(GRPE, terms=("query_context",)),
    "key context": replace(GRPE, terms=("key_context",)),
    "value": replace(GRPE, terms=("value",)),
    "bias alone": replace(GRPE, terms=(), bias=True),
    "everything": replace(GRPE, bias=True),
    "no graph": replace(GRPE, terms=(), max_distance=GRPEConfig.max_distance),
    "L = 0": replace(GRPE, max_distance=0),
    "L = 1": replace(GRPE, max_distance=1),
    "L beyond the diameter": replace(GRPE, max_distance=9),
    "no virtual node": replace(GRPE, virtual_node=False),
    "nodes": replace(GRPE, target="node", num_targets=3),
    "nodes, no virtual node": replace(GRPE, target="node", virtual_node=False),
    "edges of one type": replace(GRPE, num_edge_types=(), d_hidden=12, num_targets=2),
    "dropout": replace(GRPE, dropout=0.3, attention_dropout=0.3, node_noise=0.2),
    "numbers": replace(GRPE, **PIXELS),
    "two columns": replace(GRPE, **COLUMNS),
    "fused": replace(GRPE, bias=True, form="fused"),
    "fused, as the authors' code": replace(GRPE, key_context="query_row", form="fused"),
    "fused, no graph": replace(GRPE, terms=(), max_distance=GRPEConfig.max_distance, form="fused"),
    "fused, nodes": replace(GRPE, target="node", virtual_node=False, form="fused"),
    "fused, two columns": replace(GRPE, terms=("value",), form="fused", **COLUMNS),
    "dropout, fused": replace(
        GRPE, dropout=0.3, attention_dropout=0.3, node_noise=0.2, form="fused"
    ),
}

CGT = CGTConfig(**SIZE, node_steps=STEPS, d_position=3, relative_steps=STEPS, edge_ablation=0.0)
RINGED = replace(CGT, rings="categorical")
NO_WALKS = {"relative": "distances", "relative_steps": 2, "node_steps": 0, "d_position": 0}
BONDS_ALONE = {
    "relative": None,
    "relative_steps": CGTConfig.relative_steps,
    "readout": "mean",
}
DEEP = replace(CGT, **NO_WALKS, rings="additive", activation="gelu")
MONO = replace(CGT, chromatic=False)
ABLATED = {f"{part}_ablation": 0.3 for part in ("node", "edge", "channel")}
CGTS = {
    "walks": CGT,
    "categories of rings": RINGED,
    "distances and added rings": DEEP,
    "distances, categories of rings": replace(DEEP, rings="categorical", share_edges=False),
    "bonds alone": replace(CGT, **BONDS_ALONE),
    "monochrome": MONO,
    "no edge values": replace(RINGED, edge_values=False, d_model=10, num_heads=5),
    "monochrome, no edge values": replace(MONO, edge_values=False),
    "maps of each layer": replace(CGT, share_edges=False, num_heads=1),
    "a head for each channel": replace(CGT, num_heads=8),
    "additive score": replace(RINGED, score="additive"),
    "direct": replace(RINGED, form="direct"),
    "chunked": replace(RINGED, form="chunked"),
    "chunked, monochrome": replace(MONO, form="chunked", share_edges=False),
    "chunked, additive score": replace(CGT, form="chunked", score="additive"),
    "nodes": replace(CGT, target="node", num_targets=3, share_edges=False),
    "nodes, one target": replace(DEEP, target="node"),
    "edges of one type": replace(RINGED, num_edge_types=(), num_targets=2, d_model=9, num_heads=3),
    "dropout": replace(RINGED, dropout=0.3, **ABLATED),
    "dropout, chunked": replace(RINGED, dropout=0.3, form="chunked", **ABLATED),
    "fused": replace(RINGED, form="fused"),
    "fused, distances and added rings": replace(DEEP, form="fused"),
    "fused, bonds alone": replace(CGT, **BONDS_ALONE, form="fused"),
    "fused, maps of each layer": replace(CGT, share_edges=False, num_heads=1, form="fused"),
    "fused, no edge values": replace(
        RINGED, edge_values=False, d_model=10, num_heads=5, form="fused"
    ),
    "fused, nodes": replace(CGT, target="node", num_targets=3, form="fused"),
    "fused, edges of one type": replace(RINGED, num_edge_types=(), form="fused"),
    "fused, two columns": replace(RINGED, form="fused", **COLUMNS),
    "fused, bounded logits": replace(RINGED, form="fused", clip=0.5),
    "dropout, fused": replace(RINGED, dropout=0.3, form="fused", **ABLATED),
    "numbers": replace(CGT, **NUMBERS),
    "numbers of edges": replace(CGT, **EDGE_NUMBERS),
    "two columns": replace(DEEP, **COLUMNS),
    "two columns, rings": replace(RINGED, **COLUMNS),
}


def draw(*shapes: tuple[int, ...], seed: int = 0) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, dtype=torch.float64, generator=generator) for shape in shapes]


def large_weights(model: nn.Module, seed: int = 0) -> nn.Module:
    """No part of the model hides behind another; in float64 and evaluation mode."""
    generator = torch.Generator().manual_seed(seed)
    model = model.double().eval()
    for p in model.parameters():
        p.data = torch.randn(p.shape, generator=generator, dtype=torch.float64) * 0.5
    return model


def in_use(model: nn.Module, seed: int = 0) -> nn.Module:
    """Large weights, and running statistics that are not those of a new model."""
    generator = torch.Generator().manual_seed(seed)
    for name, buffer in large_weights(model, seed).named_buffers():
        if name.endswith("running_mean"):
            buffer.data = torch.randn(buffer.shape, generator=generator).double()
        if name.endswith("running_var"):
            buffer.data = torch.rand(buffer.shape, generator=generator).double() + 0.5
    return model


def with_weights_of(attention: nn.Module, other: nn.Module) -> nn.Module:
    """``other`` with the projections of ``attention``; biases that it lacks are zero."""
    for name in ("query", "key", "value", "output"):
        source = getattr(attention, name)
        target = getattr(other, name)
        target.weight.data = source.weight.data
        bias = torch.zeros(len(source.weight)) if source.bias is None else source.bias.data
        target.bias.data = bias
    return other.double().eval()


@contextmanager
def default_dtype(dtype: torch.dtype):
    """Encodings are stored in torch's default dtype."""
    usual = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(usual)


def encoded(*graphs: Data, dtype: torch.dtype = torch.float64, encodings=ENCODINGS) -> list[Data]:
    with default_dtype(dtype):
        return encode(graphs, *encodings)


class Largest(TorchDispatchMode):
    """``most``: the most numbers that a tensor of the computation has."""

    most = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        results = result if isinstance(result, tuple | list) else (result,)
        self.most = max([self.most, *(t.numel() for t in results if isinstance(t, Tensor))])
        return result


PRECISIONS = pytest.mark.parametrize(
    ("dtype", "atol"), [(torch.float64, 1e-9), (torch.float32, 1e-5)], ids=["float64", "float32"]
)


def reference(name: str) -> Callable[[str], Tensor]:
    """Arrays by name that the authors' modules gave, as ``tests/reference/README.md`` says."""
    arrays = np.load(Path(__file__).parents[1] / "reference" / f"{name}.npz")
    return lambda array: torch.from_numpy(arrays[array])


def load(module: nn.Module, weight: Tensor, bias: Tensor) -> None:
    assert module.weight.shape == weight.shape
    module.weight.data = weight
    module.bias.data = bias


def scale_queries(model: nn.Module, factor: float) -> None:
    """Multiplies the dot products of all layers that have a module named ``query``."""
    for module in model.modules():
        if isinstance(getattr(module, "query", None), nn.Linear):
            for parameter in module.query.parameters():
                parameter.data *= factor


def chain(*kinds: int) -> Data:
    """A path whose edges are of these kinds."""
    graph = of_edges(len(kinds) + 1, [(i, i + 1) for i in range(len(kinds))])
    graph.x = torch.zeros(len(kinds) + 1, 1).long()
    graph.edge_attr = torch.tensor([*kinds, *kinds])[:, None]
    return graph


def edge_encoding(model: Graphormer) -> EdgeEncoding:
    return next(m for m in model.modules() if isinstance(m, EdgeEncoding))
