"""Graphormer beside the values of its authors' modules, and its paths beside their mended ones."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from gtcourse.encodings import AddPathEdges, AddShortestPaths, encode
from gtcourse.models import GraphormerAttention, GraphormerLayer

REFERENCE = np.load(Path(__file__).parents[1] / "reference" / "graphormer.npz")
GRAPHS = range(30)


def stored(name: str) -> torch.Tensor:
    return torch.from_numpy(REFERENCE[name])


def load_attention(attention: GraphormerAttention, part: str) -> None:
    for name, symbol in {"query": "Q", "key": "K", "value": "V", "output": "O"}.items():
        load(getattr(attention, name), f"{part}/W_{symbol}", f"{part}/b_{symbol}")


def load(module: torch.nn.Module, weight: str, bias: str) -> None:
    module.weight.data, module.bias.data = stored(weight), stored(bias)


@pytest.mark.parametrize(("dtype", "atol"), [(torch.float64, 1e-9), (torch.float32, 1e-5)])
def test_the_layer_is_the_published_one(dtype, atol):
    layer = GraphormerLayer(16, num_heads=4)
    load_attention(layer.attention, "layer")
    load(layer.feed_forward[0], "layer/W_ffn1", "layer/b_ffn1")
    load(layer.feed_forward[2], "layer/W_ffn2", "layer/b_ffn2")
    load(layer.attention_norm, "layer/ln1.gamma", "layer/ln1.beta")
    load(layer.feed_forward_norm, "layer/ln2.gamma", "layer/ln2.beta")
    x, bias = stored("layer/x").to(dtype), stored("layer/attn_bias").to(dtype)
    rows = bias[:, 0].isfinite().any(1)
    out = layer.to(dtype)(x, bias)[rows]  # -inf in the bias, as the model masks its padding
    torch.testing.assert_close(out, stored("layer/out").to(dtype)[rows], rtol=0, atol=atol)


@pytest.fixture(scope="module")
def paths() -> list[Data]:
    graphs = [
        Data(
            x=torch.zeros(int(stored(f"graph{i}/num_nodes")), 1),
            edge_index=stored(f"graph{i}/edge_index").long(),
            edge_attr=stored(f"graph{i}/bond").long()[:, None],
        )
        for i in GRAPHS
    ]
    return encode(graphs, AddShortestPaths(), AddPathEdges(20))


def test_distances_are_the_published_ones(paths):
    for i, graph in enumerate(paths):
        published = stored(f"graph{i}/spd").long()
        assert torch.equal(graph.distance, published.where(published < 510, -1))


def test_edges_along_the_only_shortest_path_are_the_fixed_published_ones(paths):
    compared = differed_before = 0
    for i, graph in enumerate(paths):
        only = stored(f"graph{i}/n_shortest_paths_capped2") == 1
        for version in ("edge_input", "edge_input_v1"):
            published = stored(f"graph{i}/{version}").long()
            length = published.shape[-1]
            ours = graph.path_edges[..., 0].long() + 2
            behind = torch.arange(20) >= graph.distance[..., None]
            ours = ours.masked_fill(behind, -1)
            same = (ours[..., :length] == published).all(-1)[only]
            if version == "edge_input":
                assert bool(same.all())
                assert bool((ours[..., length:] == -1).all())
                compared += int(only.sum())
            else:
                differed_before += int((~same).sum())
    assert compared > 9000
    # Paths through node 0 were cut short in every release of 2021.
    assert differed_before > 500
