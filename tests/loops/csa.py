"""The Chromatic Graph Transformer after Eqs. 4 to 13: a graph, a node, a pair, a channel at a
time, in float64.

Weights and running statistics are read from the model, and everything else from its configuration.
"""

import math

import torch
from torch import Tensor
from torch_geometric.data import Data

from tests.loops.encodings import edges_of, rings_loop, walk_loop
from tests.loops.parts import batch_norm, gelu, linear, network, relu


@torch.no_grad()
def cgt_loop(model, graph: Data, max_ring: int) -> tuple[object, list[Tensor]]:
    """The prediction, of the graph or a list of the nodes', and each layer's filters ``[d, n, n]``.

    Args:
        max_ring: nodes of the longest rings that count.
    """
    config = model.config
    n = graph.num_nodes
    h = [node_vector(model, graph, i) for i in range(n)]
    E = edge_vectors(model, graph, max_ring)
    filters = []
    activation = {"relu": relu, "gelu": gelu}[config.activation]
    for number, layer in enumerate(model.layers):
        maps = model.edge_maps[0 if config.share_edges else number]
        logits = {pair: linear(maps.logits, vector) for pair, vector in E.items()}
        values = {pair: torch.zeros(config.d_model).double() for pair in E}
        if config.edge_values:
            values = {pair: linear(maps.values, vector) for pair, vector in E.items()}
        z, a = attention_loop(layer.attention, h, logits, values, config)
        filters.append(a)
        h = [batch_norm(layer.attention_norm, x + dx) for x, dx in zip(h, z, strict=True)]
        updates = [network(layer.feed_forward, x, activation) for x in h]
        h = [batch_norm(layer.feed_forward_norm, x + dx) for x, dx in zip(h, updates, strict=True)]
    predictions = [network(model.head, x, relu) for x in h]
    if config.target == "node":
        return predictions, filters
    return sum(predictions) / (n if config.readout == "mean" else 1), filters


def node_vector(model, graph: Data, i: int) -> Tensor:
    """h(0): what the node is, and next to it its walks' returns, normalised and mapped."""
    encoding = model.node_encoding
    config = model.config
    if config.num_node_types:
        what = columns(encoding.features.weight, config.num_node_types, graph.x[i].tolist())
    else:
        what = linear(encoding.features, graph.x[i].double())
    if not config.node_steps:
        return what
    returns = [there[i] for there in walk_loop(graph, i, config.node_steps)]
    returns = batch_norm(encoding.walks.norm, torch.tensor(returns, dtype=torch.float64))
    return torch.cat([what, linear(encoding.walks.projection, returns)])


def edge_vectors(model, graph: Data, max_ring: int) -> dict[tuple[int, int], Tensor]:
    r""":math:`E^{(0)}` of each pair (Eq. 9, and the additive rings of Section 3.4)."""
    config = model.config
    encoding = model.edge_encoding
    n = graph.num_nodes
    rings = [set(nodes) for nodes in rings_loop(graph, max_ring)] if config.rings else []
    E = {}
    for i in range(n):
        walks = walk_loop(graph, i, config.relative_steps)
        for j in range(n):
            bound = any(i != j and {i, j} <= nodes for nodes in rings)  # Eq. 13
            vector = bond_vector(encoding.bonds, graph, i, j, bound, config)
            steps = [there[j] for there in walks]
            if config.relative == "walks":  # Eq. 12, with the code's bias
                chances = torch.tensor(steps, dtype=torch.float64)
                vector = torch.cat([vector, linear(encoding.relative.projection, chances)])
            if config.relative == "distances":
                vector = torch.cat([vector, distance_vector(encoding.relative, i, j, steps)])
            if config.rings == "additive":
                vector = vector + encoding.ring.weight[int(bound)]
            E[i, j] = vector
    return E


def bond_vector(bonds, graph: Data, i: int, j: int, bound: bool, config) -> Tensor:
    """Eq. 8; a pair that a ring binds has a second set of vectors where rings are categories."""
    edges = edges_of(graph)
    types = config.num_edge_types or (1,)
    ring_set = int(bound and config.rings == "categorical")
    if (i, j) in edges and config.num_edge_features:
        return linear(bonds.edges, torch.tensor(edges[i, j], dtype=torch.float64))
    if (i, j) in edges:
        own = bonds.edges.weight[ring_set * sum(types) : (ring_set + 1) * sum(types)]
        return columns(own, types, edges[i, j] if config.num_edge_types else [0])
    return bonds.itself.weight[0] if i == j else bonds.no_edge.weight[ring_set]


def distance_vector(distances, i: int, j: int, steps: list[float]) -> Tensor:
    """Eq. 11: the index of the first component that is not zero; one for none, one for itself."""
    found = [k for k, chance in enumerate(steps, start=1) if chance > 0]
    if i == j:
        return distances.vectors.weight[0]
    return distances.vectors.weight[found[0] if found else len(steps) + 1]


def attention_loop(
    attention, h: list[Tensor], e: dict, values: dict, config
) -> tuple[list[Tensor], Tensor]:
    """What each node gathers (Eq. 7), after the output projection, and the filters (Eq. 5)."""
    N = len(h)
    d = len(h[0])
    H = config.num_heads
    K = d // H
    parts = (attention.query, attention.key, attention.value)
    q, k, v = ([linear(part, x).tolist() for x in h] for part in parts)
    e, values = ({pair: x.tolist() for pair, x in given.items()} for given in (e, values))
    filters = torch.zeros(d, N, N).double()
    z = torch.zeros(N, d).double()
    for i in range(N):
        for c in range(d):
            head = c // K  # Appendix B
            a = []
            for j in range(N):
                E_ij = e[i, j][c] if config.chromatic else e[i, j][head]  # Eq. 5, or Eq. 4
                if config.score == "additive":
                    a.append(q[i][c] + k[j][c] + E_ij)
                else:
                    own = range(head * K, head * K + K)
                    a.append(sum(q[i][x] * k[j][x] for x in own) / math.sqrt(K) + E_ij)
            a = [min(max(logit, -config.clip), config.clip) for logit in a]
            weights = [math.exp(logit - max(a)) for logit in a]
            for j in range(N):
                filters[c, i, j] = weights[j] / sum(weights)
                z[i, c] += filters[c, i, j] * (v[j][c] + values[i, j][c])
    return [linear(attention.output, z[i]) for i in range(N)], filters


def columns(table: Tensor, types: tuple[int, ...], categories: list[int]) -> Tensor:
    """The sum of the vectors of each column's category; a column's rows follow the last one's."""
    start = [sum(types[:c]) for c in range(len(types))]
    return sum(table[first + value] for first, value in zip(start, categories, strict=True))
