"""Graphormer after Eqs. 5 to 9: a graph, a head, a node, a pair at a time, in float64.

Token 0 is [VNode]; the nodes follow. Weights are read from the model, nothing else is.
"""

import math

import torch
from torch import Tensor
from torch_geometric.data import Data

from tests.loops.encodings import distances_loop, edges_of, path_edges_loop
from tests.loops.parts import gelu, layer_norm, linear, network


def graphormer_loop(model, graph: Data) -> Tensor:
    """The prediction for one graph, ``[T]``, or for its nodes, ``[n T]``."""
    n = graph.num_nodes
    h = [model.virtual_node] + [
        columns(model.embedding, graph.x[i]) + node_vector(model, graph, i) for i in range(n)
    ]
    A = [[pair_bias(model, graph, i, j) for j in range(n + 1)] for i in range(n + 1)]
    for layer in model.layers:
        h = layer_loop(layer, h, A, graph)
    if model.config.target == "node":
        return torch.cat([linear(model.head, layer_norm(model.norm, x)) for x in h[1:]])
    return linear(model.head, layer_norm(model.norm, h[0]))


def node_vector(model, graph: Data, i: int) -> Tensor:
    """What the encodings add to node i (Eq. 5; Table 5, "via node")."""
    edges = edges_of(graph)
    total = torch.zeros(model.config.d_model).double()
    for encoding in model.node_encodings:
        if hasattr(encoding, "incoming"):
            total = total + encoding.incoming.weight[sum(j == i for _, j in edges)]
            total = total + encoding.outgoing.weight[sum(j == i for j, _ in edges)]
        else:
            for (_, receiver), kinds in edges.items():
                if receiver == i:
                    total = total + mean_of_columns(encoding.edges, kinds)
    return total


def pair_bias(model, graph: Data, i: int, j: int) -> list[Tensor]:
    """b + c of two tokens, a number for each head."""
    H = model.config.num_heads
    if model.bias is None:
        return [torch.tensor(0.0).double()] * H
    if i == 0 or j == 0:
        return [model.bias.virtual[h] for h in range(H)]
    total = [torch.tensor(0.0).double()] * H
    for encoding in model.bias.encodings:
        b = spatial_loop if hasattr(encoding, "scalars") else edge_encoding_loop
        total = [t + b(encoding, graph, i - 1, j - 1, h) for h, t in enumerate(total)]
    return total


def spatial_loop(encoding, graph: Data, i: int, j: int, head: int) -> Tensor:
    """b of Eq. 6."""
    distance = distances_loop(graph)[i][j]
    last = len(encoding.scalars.weight) - 2
    return encoding.scalars.weight[0 if distance == -1 else min(distance, last) + 1, head]


def edge_encoding_loop(encoding, graph: Data, i: int, j: int, head: int) -> Tensor:
    """c of Eq. 7: the mean."""
    path = path_edges_loop(graph, i, j)[: encoding.max_length]
    return edge_sum_loop(encoding, graph, i, j, head) / max(1, len(path))


def edge_sum_loop(encoding, graph: Data, i: int, j: int, head: int) -> Tensor:
    """c of S11: w_1 · e on an edge, and else the sum of w_n · e_n along a shortest path."""
    path = path_edges_loop(graph, i, j)[: encoding.max_length]
    total = torch.tensor(0.0).double()
    for n, kinds in enumerate(path):
        x = mean_of_columns(encoding.edges, kinds)
        w = encoding.positions[n, :, head]
        total = total + sum(x[k] * w[k] for k in range(len(x)))
    return total


def layer_loop(layer, h: list[Tensor], A: list, graph: Data) -> list[Tensor]:
    """Eqs. 8 and 9, h'(l) and then h(l), for each token."""
    h_hat = [layer_norm(layer.attention_norm, x) for x in h]
    z = attention_loop(layer.attention, h_hat, A, graph, layer)
    h = [x + update for x, update in zip(h, z, strict=True)]
    return [x + network([layer.feed_forward_norm, *layer.feed_forward], x, gelu) for x in h]


def attention_loop(attention, h, A, graph, layer) -> list[Tensor]:
    """Eqs. 3, 4, 6 and 7."""
    H = attention.num_heads
    d = len(h[0])
    K = d // H
    out = []
    for i in range(len(h)):
        heads = []
        carried = []
        for head in range(H):
            part = slice(head * K, (head + 1) * K)
            q = linear(attention.query, h[i])[part]
            logits = []
            for j in range(len(h)):
                k = linear(attention.key, h[j])[part]
                logits.append(sum(q[c] * k[c] for c in range(K)) / math.sqrt(K) + A[i][j][head])
            weights = [torch.exp(logit - max(logits)) for logit in logits]
            share = [w / sum(weights) for w in weights]
            z = torch.zeros(K).double()
            e = torch.zeros(K).double()
            for j in range(len(h)):
                z = z + share[j] * linear(attention.value, h[j])[part]
                if layer.edge_values is not None:
                    edge = edges_of(graph).get((j - 1, i - 1))
                    if edge is not None:
                        vector = mean_of_columns(layer.edge_values.edges, edge)
                        e = e + share[j] * vector[part]
            heads.append(z)
            carried.append(e)
        out.append(linear(attention.output, torch.cat(heads)) + torch.cat(carried))
    return out


def columns(table, features) -> Tensor:
    """The sum of the vectors of each column's category, or a linear map of numbers."""
    if not hasattr(table, "sizes"):
        return linear(table, torch.as_tensor(features).double())
    first = [sum(table.sizes[:c]) for c in range(len(table.sizes))]
    categories = [int(value) for value in features]
    return sum(table.weight[f + value] for f, value in zip(first, categories, strict=True))


def mean_of_columns(table, features) -> Tensor:
    """Of categories the mean over the columns; a linear map of numbers is one vector."""
    return columns(table, features) / (len(table.sizes) if hasattr(table, "sizes") else 1)
