"""Small Graphormers with weights of size one, and graphs with what they read."""

from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import replace

import torch
from torch import nn
from torch_geometric.data import Data

from gtcourse.encodings import AddDegrees, AddPathEdges, AddPathTree, AddShortestPaths, encode
from gtcourse.models import GraphormerConfig

SMALL = GraphormerConfig(
    d_model=8,
    num_heads=2,
    num_layers=2,
    dropout=0.0,
    attention_dropout=0.0,
    max_distance=3,
    max_in_degree=30,
    max_out_degree=30,
    path_positions=4,
    max_path_length=3,
)
LADDER = [
    replace(SMALL, centrality=False, spatial=False, edges=None),
    replace(SMALL, centrality=False, edges=None),
    replace(SMALL, edges=None),
    replace(SMALL, edges="node"),
    replace(SMALL, edges="aggregation"),
    SMALL,
]


def large_weights(model: nn.Module, seed: int = 0) -> nn.Module:
    """No part of the model hides behind another; in float64 and evaluation mode."""
    generator = torch.Generator().manual_seed(seed)
    model = model.double().eval()
    for p in model.parameters():
        p.data = torch.randn(p.shape, generator=generator, dtype=torch.float64) * 0.5
    return model


def with_weights_of(attention: nn.Module, other: nn.Module) -> nn.Module:
    """``other`` with the projections of ``attention``; biases that it lacks are zero."""
    for name in ("query", "key", "value", "output"):
        source, target = getattr(attention, name), getattr(other, name)
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


def without_encodings(graphs: Iterable[Data]) -> list[Data]:
    return [
        Data(x=g.x, edge_index=g.edge_index, edge_attr=g.edge_attr, y=g.get("y")) for g in graphs
    ]


def encoded(*given: Data, length: int = 5, tree: bool = False) -> list[Data]:
    """Degrees, distances and paths: their edges, or the tree of them."""
    paths = AddPathTree() if tree else AddPathEdges(length)
    return encode(without_encodings(given), AddDegrees(), AddShortestPaths(), paths)
