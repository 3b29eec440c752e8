"""GRPE after Eqs. 6 to 9: a graph, a head, a node, a pair at a time, in float64.

Token 0 is [VNode], where there is one; the nodes follow. The rows of the tables are read off the
paper's words for each pair. Weights are read from the model, and everything else from its
configuration.
"""

import math

import torch
from torch import Tensor
from torch_geometric.data import Data

from tests.loops.encodings import distances_loop, edges_of
from tests.loops.graphormer import columns
from tests.loops.parts import gelu, layer_norm, linear, network


@torch.no_grad()
def grpe_loop(model, graph: Data) -> tuple[object, list[Tensor]]:
    """The prediction, of the graph or a list of the nodes', and each layer's attention."""
    config = model.config
    n = graph.num_nodes
    h = [] if model.virtual_node is None else [model.virtual_node]
    h += [node_vector(model, graph, i) for i in range(n)]
    first = len(h) - n  # the first node
    pairs = {
        (i, j): rows_of_pair(config, graph, i - first, j - first)
        for i in range(len(h))
        for j in range(len(h))
    }
    attention = []
    for layer in model.layers:
        h_hat = [layer_norm(layer.attention_norm, x) for x in h]
        z, share = attention_loop(layer.attention, h_hat, pairs, model.tables, config)
        attention.append(share)
        h = [x + update for x, update in zip(h, z, strict=True)]
        h = [x + network([layer.feed_forward_norm, *layer.feed_forward], x, gelu) for x in h]
    h = [layer_norm(model.norm, x) for x in h]
    if config.target == "node":
        return [linear(model.head, x) for x in h[first:]], attention
    read = h[0] if first else sum(h) / n
    return linear(model.head, read), attention


def node_vector(model, graph: Data, i: int) -> Tensor:
    if model.config.num_node_types:
        return columns(model.embedding, graph.x[i].tolist())
    return linear(model.embedding, graph.x[i].double())


def rows_of_pair(config, graph: Data, i: int, j: int) -> tuple[str | int, str | int]:
    """Of the tables P and E, by the words of Sections 4.3.1 to 4.3.3; [VNode] is node -1."""
    if i == j:
        return 0, "self"
    if i == -1 or j == -1:
        return "virtual", "virtual"
    steps = distances_loop(graph)[i][j]
    edges = edges_of(graph)
    distance = "unreachable" if steps == -1 else steps if steps <= config.max_distance else "far"
    return distance, type_of_edge(config, edges[i, j]) if (i, j) in edges else "no"


def type_of_edge(config, features: list) -> int:
    if config.edge_step is not None:
        tenths = features[0] * round(1 / config.edge_step)
        return max(n for n in range(config.num_edge_types[0]) if n <= tenths)
    kind = 0
    stride = 1
    for value, size in zip(features, config.num_edge_types, strict=False):
        kind = kind + stride * value
        stride = stride * size
    return kind


def relation_vector(embedding, config, pair: tuple[str | int, str | int]) -> Tensor:
    r""":math:`\mathcal{P}_{\psi(i,j)} + \mathcal{E}_{e_{ij}}`."""
    L = config.max_distance
    E = math.prod(config.num_edge_types)
    distance, edge = pair
    of_words = {"far": L + 1, "unreachable": L + 2, "virtual": L + 3}
    P = embedding.distances.weight[of_words.get(distance, distance)]
    return P + embedding.edges.weight[{"no": E, "self": E + 1, "virtual": E + 2}.get(edge, edge)]


def attention_loop(attention, h: list[Tensor], pairs: dict, tables, config) -> tuple[list, Tensor]:
    """What each token gathers, after the output projection, and the weights ``[H, N, N]``."""
    N = len(h)
    H = attention.num_heads
    d = len(h[0])
    K = d // H
    vectors = {
        name: {pair: relation_vector(tables[name], config, row) for pair, row in pairs.items()}
        for name in tables
    }
    share = torch.zeros(H, N, N).double()
    z = []
    for i in range(N):
        heads = []
        for head in range(H):
            part = slice(head * K, (head + 1) * K)
            q = linear(attention.query, h[i])[part]
            k_i = linear(attention.key, h[i])[part]
            logits = []
            for j in range(N):
                k = linear(attention.key, h[j])[part]
                a = dot(q, k)
                if "query_context" in config.terms:  # Eq. 6
                    a = a + dot(q, vectors["key"][i, j][part])
                if "key_context" in config.terms:  # Eq. 7
                    context = k if config.key_context == "key_column" else k_i
                    a = a + dot(context, vectors["query"][i, j][part])
                a = a / math.sqrt(K)  # Eq. 8
                if config.bias:  # Eq. 4
                    a = a + vectors["bias"][i, j][head]
                logits.append(a)
            weights = [torch.exp(a - max(logits)) for a in logits]
            total = torch.zeros(K).double()
            for j in range(N):
                share[head, i, j] = weights[j] / sum(weights)
                v = linear(attention.value, h[j])[part]
                if "value" in config.terms:  # Eq. 9
                    v = v + vectors["value"][i, j][part]
                total = total + share[head, i, j] * v
            heads.append(total)
        z.append(linear(attention.output, torch.cat(heads)))
    return z, share


def dot(x: Tensor, y: Tensor) -> Tensor:
    return sum(x[c] * y[c] for c in range(len(x)))
