"""EGT after Eqs. 4 to 14: a graph, a head, a node, a pair at a time, in float64.

Tokens 0 to q - 1 are the virtual nodes; the nodes follow. Weights are read from the model, and
everything else from its configuration.
"""

import math

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from gtcourse.models import EGTConfig
from tests.loops.encodings import distances_loop, edges_of
from tests.loops.parts import elu, layer_norm, linear, network


@torch.no_grad()
def egt_loop(model, graph: Data) -> dict[str, object]:
    """``prediction`` (of a graph, or by node, or by edge), ``distances`` by pair, ``attention``."""
    config = model.config
    q = model.config.virtual_nodes
    n = graph.num_nodes
    h = [model.virtual_nodes.nodes.weight[i] for i in range(q)]
    h += [node_vector(model, graph, i) for i in range(n)]
    tokens = range(q + n)
    e = {(i, j): pair_vector(model, graph, i, j) for i in tokens for j in tokens}
    edges = edges_of(graph)
    seen = {
        (i, j)
        for i in tokens
        for j in tokens
        if config.variant != "constrained" or i < q or j < q or i == j or (i - q, j - q) in edges
    }
    first = dict(e)
    attention = []
    for layer in model.layers:
        h, e, share = layer_loop(layer, h, e, seen, config)
        attention.append(share)
    eps = config.norm_eps
    if isinstance(model.node_norm, nn.LayerNorm):
        h = [layer_norm(model.node_norm, x, eps) for x in h]
    if isinstance(model.edge_norm, nn.LayerNorm):
        e = {pair: layer_norm(model.edge_norm, x, eps) for pair, x in e.items()}
    out = {"attention": attention}
    if config.target == "graph":
        read = torch.cat(h[:q]) if q else sum(h) / n
        out["prediction"] = network(model.head, read, elu)
    elif config.target == "node":
        out["prediction"] = [network(model.head, x, elu) for x in h[q:]]
    else:
        out["prediction"] = {}
        for i, j in edges:
            pair = (q + i, q + j)
            read = e[pair]
            if config.variant == "simple":
                read = torch.cat([h[q + i], h[q + j], first[pair]])
            out["prediction"][i, j] = network(model.head, read, elu)
    if model.distance_head is not None:
        out["distances"] = {
            (i, j): network(model.distance_head, e[q + i, q + j], elu)
            for i in range(n)
            for j in range(n)
        }
    return out


def node_vector(model, graph: Data, i: int) -> Tensor:
    total = model.node_input.bias + features(model.node_input.features, graph.x[i].tolist())
    for encoding in model.node_encodings:
        total = total + linear(encoding.projection, graph.svd[i].double())
    return total


def pair_vector(model, graph: Data, i: int, j: int) -> Tensor:
    """e of a pair of tokens: structure and edge feature, or the virtual nodes' own."""
    q = model.config.virtual_nodes
    inputs = model.edge_input
    if i < q or j < q:
        own = [model.virtual_nodes.pairs.weight[t] for t in (i, j) if t < q]
        return sum(own) / len(own)
    i = i - q
    j = j - q
    edges = edges_of(graph)
    if inputs.max_distance is None:
        row = 1 if i == j or (i, j) in edges else 0
    else:
        distance = distances_loop(graph)[i][j]
        row = inputs.max_distance if distance == -1 else min(distance, inputs.max_distance)
    e = inputs.structure.weight[row]
    if inputs.features is None:
        return e
    return e + (features(inputs.features, edges[i, j]) if (i, j) in edges else inputs.no_edge)


def features(part, values: list) -> Tensor:
    """A table's row for each column of categories, or a product for each column of numbers."""
    if not hasattr(part, "sizes"):
        return sum(v * part.weight[:, c] for c, v in enumerate(values))
    start = [sum(part.sizes[:c]) for c in range(len(part.sizes))]
    return sum(part.weight[s + v] for s, v in zip(start, values, strict=True))


@torch.no_grad()
def layer_loop(
    layer, h: list[Tensor], e: dict, seen: set, config: EGTConfig
) -> tuple[list[Tensor], dict, dict]:
    """Eqs. 6 and 7 and both networks; ``seen`` are the pairs that there are (Eq. 12)."""
    simple = config.variant == "simple"
    eps = config.norm_eps
    h_hat = [layer_norm(layer.node_norm, x, eps) for x in h]
    e_hat = {p: e[p] if simple else layer_norm(layer.edge_norm, e[p], eps) for p in seen}
    z, logits, share = attention_loop(layer.attention, h_hat, e_hat, config)
    if layer.update_nodes:
        h = [x + update for x, update in zip(h, z, strict=True)]
        h = [x + network(layer.node_ffn, x, elu, eps) for x in h]
    if layer.update_edges:
        e = dict(e)
        for p in seen:
            e[p] = e[p] + linear(layer.edge_output, logits[p])
            e[p] = e[p] + network(layer.edge_ffn, e[p], elu, eps)
    return h, e, share


@torch.no_grad()
def attention_loop(
    attention, h: list[Tensor], e: dict, config: EGTConfig
) -> tuple[list, dict, dict]:
    """Eqs. 1 to 5 (ungated: 13, 14): gathered values, H-hat [H] and A-tilde [H] of each pair."""
    H = config.num_heads
    d = len(h[0])
    K = d // H
    logits = {p: torch.zeros(H).double() for p in e}
    share = {p: torch.zeros(H).double() for p in e}
    gathered = []
    for i in range(len(h)):
        keys = [j for j in range(len(h)) if (i, j) in e]
        heads = []
        for k in range(H):
            q_i = part(attention.query, h[i], k, K)
            for j in keys:
                k_j = part(attention.key, h[j], k, K)
                dot = sum(q_i[c] * k_j[c] for c in range(K))
                dot = dot / math.sqrt(K) if config.scaled else dot
                dot = min(max(dot, -config.clip), config.clip)
                logits[i, j][k] = dot + edge_part(attention.edge_bias, e[i, j], k)
            total = sum(torch.exp(logits[i, j][k]) for j in keys)
            z = torch.zeros(K).double()
            for j in keys:
                weight = torch.exp(logits[i, j][k]) / total
                if config.gated:
                    gate = 1 / (1 + torch.exp(-edge_part(attention.edge_gate, e[i, j], k)))
                    weight = weight * gate
                share[i, j][k] = weight
                z = z + weight * part(attention.value, h[j], k, K)
            heads.append(z)
        done = attention.output is not None and keys
        gathered.append(linear(attention.output, torch.cat(heads)) if done else torch.zeros(d))
    return gathered, logits, share


def part(projection, x: Tensor, head: int, K: int) -> Tensor:
    """Query, key or value of one head."""
    return linear(projection, x)[head * K : (head + 1) * K]


def edge_part(projection, e: Tensor, head: int) -> Tensor:
    return projection.weight[head] @ e + projection.bias[head]
