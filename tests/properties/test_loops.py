"""Every model beside its loop twin, on small graphs of any kind.

The twins read as the equations do: a node, a pair, a head at a time, in float64.
"""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from gtcourse.graphs import GraphBatch, collate
from tests.loops.attention import bag_loop
from tests.loops.convolutions import gat_loop, gated_gcn_loop, gcn_loop, gin_loop, gt_loop
from tests.loops.csa import cgt_loop
from tests.loops.egt import egt_loop
from tests.loops.graphormer import graphormer_loop
from tests.loops.grpe import grpe_loop
from tests.loops.parts import linear
from tests.loops.signnet import signnet_loop
from tests.models.small import MAX_RING, encoded
from tests.properties.graphs import Example
from tests.properties.models import MODELS, in_use, predictions_of_egt, try_on_graphs


def graphormer(model: nn.Module, graph: Data) -> list[tuple]:
    return [(model(collate([graph])).flatten(), graphormer_loop(model, graph))]


def egt(model: nn.Module, graph: Data) -> list[tuple]:
    config = model.config
    options = {"return_distances": config.distance_hops > 0, "return_attention": True}
    batch = collate([graph])
    output, *distances, attention = model(batch, **options)
    if config.form == "fused":  # which computes no attention that could be returned
        output, *distances = predictions_of_egt(model, batch)
    loop = egt_loop(model, graph)
    output = output[0] if config.num_targets > 1 else output[0][..., None]
    if config.target == "edge":
        pairs = [(output[i, j], row) for (i, j), row in loop["prediction"].items()]
    else:
        pairs = [(output, _stacked(loop["prediction"]))]
    if distances:
        pairs += [(distances[0][0, i, j], row) for (i, j), row in loop["distances"].items()]
    for number, share in enumerate(loop["attention"]):
        pairs += [
            (attention[0, number, :, i, j], torch.as_tensor(h)) for (i, j), h in share.items()
        ]
    return pairs


def grpe(model: nn.Module, graph: Data) -> list[tuple]:
    batch = collate([graph])
    output, attention = model(batch, return_attention=True)
    if model.config.form == "fused":  # which computes no attention that could be returned
        output = model(batch)
    prediction, shares = grpe_loop(model, graph)
    output = output[0] if model.config.num_targets > 1 else output[0][..., None]
    return [(output, _stacked(prediction)), (attention[0], torch.stack(shares))]


def cgt(model: nn.Module, graph: Data) -> list[tuple]:
    config = model.config
    batch = collate([graph])
    prediction, filters = cgt_loop(model, graph, MAX_RING)
    output, attention = model(batch, return_attention=True)
    if not config.chromatic:
        attention = attention.repeat_interleave(config.d_model // config.num_heads, dim=2)
    pairs = [(attention[0], torch.stack(filters))]
    for one in (output, model(batch)):  # without filters it is the configuration's form
        one = one[0] if config.num_targets > 1 else one[0][..., None]
        pairs.append((one, _stacked(prediction)))
    return pairs


def signnet(model: nn.Module, graph: Data) -> list[tuple]:
    batch = collate([graph])
    vectors = graph.laplacian_eigenvectors
    (expected,) = signnet_loop(model, [(vectors, batch.adjacency[0])])
    return [(model(batch)[0], expected)]


def bag(model: nn.Module, graph: Data) -> list[tuple]:
    batch = collate([graph])
    n = graph.num_nodes
    h = model.embedding.weight[graph.x[:, 0].long()]
    if model.node_encoding is not None:
        h = h + model.node_encoding(batch)[0]
    masked = getattr(model, "masked_heads", 0)
    near = torch.eye(n).bool()
    near[graph.edge_index[1], graph.edge_index[0]] = True  # along the edges
    masks = [near] * masked + [torch.ones(n, n).bool()] * (model.config.num_heads - masked)
    return [(model(batch).flatten(), bag_loop(model, h, masks))]


def message_passing(loop: Callable) -> Callable:
    def compared(model: nn.Module, graph: Data) -> list[tuple]:
        batch = collate([graph])
        parts = []
        if model.config.num_node_types:
            parts.append(model.input.features.weight[graph.x[:, 0].long()])
        if model.config.num_node_features:
            parts.append(linear(model.input.features, graph.x.double()))
        if model.input.encoding is not None:
            parts.append(model.input.encoding(batch)[0])
        given = [sum(parts)]
        if loop in (gated_gcn_loop, gt_loop):
            given.append(edge_vectors(model, batch))
        expected = loop(model, *given, batch.edge_index.T.tolist())
        output = model(batch)[0]
        if model.config.target == "edge":
            output = output[batch.adjacency[0]]
        return [(output.flatten(), expected.flatten())]

    return compared


def edge_vectors(model: nn.Module, batch: GraphBatch) -> Tensor | None:
    source, destination = batch.edge_index
    if model.edge_input is None:
        return None
    if model.edge_input.features is None:
        return linear(model.edge_input.constant, torch.ones(len(source), 1).double())
    return model.edge_input.features.weight[batch.edge_attr[0, source, destination, 0].long()]


def _stacked(rows: Tensor | list[Tensor]) -> Tensor:
    return torch.stack(rows) if isinstance(rows, list) else rows


LOOPS = {
    "Graphormer": graphormer,
    "EGT": egt,
    "GRPE": grpe,
    "CGT": cgt,
    "SignNet": signnet,
    "BagTransformer": bag,
    "NeighbourTransformer": bag,
    "GIN": message_passing(gin_loop),
    "GCN": message_passing(gcn_loop),
    "GAT": message_passing(gat_loop),
    "GatedGCN": message_passing(gated_gcn_loop),
    "GT": message_passing(gt_loop),
}
NOT_IN_THE_LOOPS = {"Graphormer": ("eigenvectors", "sums over paths")}
"""Variants with a module from outside, which is not an equation of the model's paper."""


@pytest.mark.holds("Graphormer, Eqs. 1, 2 and 5 to 9")
@pytest.mark.holds("EGT, Eqs. 4 to 7 and 9 to 14")
@pytest.mark.holds("GRPE, Eqs. 4 and 6 to 9")
@pytest.mark.holds("CSA, Eqs. 1 and 4 to 12")
@pytest.mark.parametrize("name", LOOPS)
def test_every_model_equals_the_loop_over_nodes_pairs_and_heads(name):
    try_on_graphs(loop, name, without=NOT_IN_THE_LOOPS.get(name, ()), most=1, max_nodes=5)


@torch.no_grad()
def loop(name: str, chosen: str, example: Example) -> None:
    variant = MODELS[name].variants[chosen]
    (graph,) = example.graphs
    for features in ("x", "edge_attr"):  # the loops read rows
        if features in graph and graph[features].dim() == 1:
            graph[features] = graph[features][:, None]
    (graph,) = encoded(graph, encodings=variant.transforms)
    for got, expected in LOOPS[name](in_use(name, chosen), graph):
        torch.testing.assert_close(got, expected, rtol=1e-10, atol=1e-10)
