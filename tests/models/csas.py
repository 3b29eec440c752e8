"""Small CGTs of every form, in use, and graphs with what they read."""

from dataclasses import replace

import torch
from torch import nn
from torch_geometric.data import Data

from gtcourse.encodings import AddRandomWalks, AddRings, AddShortestPaths, encode
from gtcourse.models import CGTConfig
from tests.models.graphormers import default_dtype, large_weights, without_encodings

MAX_RING, STEPS = 4, 3
SMALL = CGTConfig(
    d_model=8,
    num_heads=2,
    num_layers=2,
    node_steps=STEPS,
    d_position=3,
    relative_steps=STEPS,
    edge_ablation=0.0,
)
RINGS = replace(SMALL, rings="categorical")
DEEP = replace(
    SMALL,
    relative="distances",
    relative_steps=2,
    rings="additive",
    node_steps=0,
    d_position=0,
    activation="gelu",
)
MONO = replace(SMALL, chromatic=False)
CONFIGS = {
    "walks": SMALL,
    "categories of rings": RINGS,
    "distances and added rings": DEEP,
    "distances, categories of rings": replace(DEEP, rings="categorical", share_edges=False),
    "bonds alone": replace(SMALL, relative=None, readout="mean"),
    "monochrome": MONO,
    "no edge values": replace(RINGS, edge_values=False, d_model=10, num_heads=5),
    "monochrome, no edge values": replace(MONO, edge_values=False),
    "maps of each layer": replace(SMALL, share_edges=False, num_heads=1),
    "a head for each channel": replace(SMALL, num_heads=8),
    "additive score": replace(RINGS, score="additive"),
    "direct": replace(RINGS, form="direct"),
    "chunked": replace(RINGS, form="chunked"),
    "chunked, monochrome": replace(MONO, form="chunked", share_edges=False),
    "chunked, additive score": replace(SMALL, form="chunked", score="additive"),
    "nodes": replace(SMALL, target="node", num_targets=3, share_edges=False),
    "nodes, one target": replace(DEEP, target="node"),
    "edges of one type": replace(RINGS, num_edge_types=(), num_targets=2, d_model=9, num_heads=3),
}


def encoded(*given: Data) -> list[Data]:
    """With walks in float64, distances and rings."""
    with default_dtype(torch.float64):
        return encode(
            without_encodings(given), AddRandomWalks(STEPS), AddShortestPaths(), AddRings(MAX_RING)
        )


def in_use(model: nn.Module, seed: int = 0) -> nn.Module:
    """Large weights, in evaluation mode, with statistics that are not those of a new model."""
    generator = torch.Generator().manual_seed(seed)
    for name, buffer in large_weights(model, seed).named_buffers():
        if name.endswith("running_mean"):
            buffer.data = torch.randn(buffer.shape, generator=generator).double()
        if name.endswith("running_var"):
            buffer.data = torch.rand(buffer.shape, generator=generator).double() + 0.5
    return model
