"""The baselines' layers on one graph, a node and an edge at a time, in float64, in eval mode.

``edges`` are pairs (j, i): node i receives from j.
"""

import math

import torch
from torch import Tensor

from tests.loops.attention import softmax_loop
from tests.loops.parts import batch_norm, elu, linear, network, relu


def gin_layer_loop(layer, h: Tensor, edges: list[tuple[int, int]]) -> Tensor:
    summed = torch.zeros_like(h)
    for i in range(len(h)):
        summed[i] = (1 + layer.conv.eps.item()) * h[i]
        for j, k in edges:
            if k == i:
                summed[i] += h[j]
    return h + relu(batch_norm(layer.norm, network(layer.conv.nn, summed, relu)))


def gated_gcn_layer_loop(
    layer, h: Tensor, e: Tensor, edges: list[tuple[int, int]]
) -> tuple[Tensor, Tensor]:
    conv = layer.conv
    A, B, D, E = (linear(part, h) for part in (conv.A, conv.B, conv.D, conv.E))
    new_e = linear(conv.C, e)
    for row, (j, i) in enumerate(edges):
        new_e[row] += D[j] + E[i]
    new_h = torch.zeros_like(h)
    for i in range(len(h)):
        for c in range(h.shape[1]):
            gated = gates = 0.0
            for row, (j, k) in enumerate(edges):
                if k == i:
                    gate = 1 / (1 + math.exp(-new_e[row, c].item()))
                    gated += gate * B[j, c].item()
                    gates += gate
            new_h[i, c] = A[i, c] + gated / (gates + 1e-6)
    return (
        h + relu(batch_norm(layer.node_norm, new_h)),
        e + relu(batch_norm(layer.edge_norm, new_e)),
    )


def gcn_layer_loop(layer, h: Tensor, edges: list[tuple[int, int]]) -> Tensor:
    """The sum of W h_j over the root of both degrees, a node and its senders at a time."""
    projected = linear(layer.conv.lin, h)
    between = [(j, i) for j, i in edges if j != i] + [(i, i) for i in range(len(h))]
    degree = [sum(1 for _, i in between if i == node) for node in range(len(h))]
    z = torch.zeros_like(h)
    for j, i in between:
        z[i] += projected[j] / math.sqrt(degree[j] * degree[i])
    return h + relu(batch_norm(layer.norm, z))


def gat_layer_loop(layer, h: Tensor, edges: list[tuple[int, int]]) -> Tensor:
    """a_ij = softmax over j → i of LeakyReLU(a_src · W h_j + a_dst · W h_i), a head at a time."""
    conv = layer.conv
    projected = linear(conv.lin, h)
    width = conv.out_channels
    z = torch.zeros_like(h)
    for head in range(conv.heads):
        channels = range(head * width, (head + 1) * width)
        source = [sum(conv.att_src[0, head] * projected[n, channels]) for n in range(len(h))]
        target = [sum(conv.att_dst[0, head] * projected[n, channels]) for n in range(len(h))]
        for i in range(len(h)):
            neighbours = [j for j, k in edges if k == i]
            if not neighbours:
                continue
            logits = [(source[j] + target[i]).item() for j in neighbours]
            logits = [logit if logit > 0 else 0.2 * logit for logit in logits]
            for j, weight in zip(neighbours, softmax_loop(logits), strict=True):
                z[i, channels] += weight * projected[j, channels]
    return h + elu(batch_norm(layer.norm, z))


def gin_loop(model, h: Tensor, edges: list[tuple[int, int]]) -> Tensor:
    """A sum over the layers, the input among them, each read out by its own map."""
    prediction = of_one_layer(model.heads[0], what_is_read(model, h, edges))
    for layer, head in zip(model.layers, model.heads[1:], strict=True):
        h = gin_layer_loop(layer, h, edges)
        prediction = prediction + of_one_layer(head, what_is_read(model, h, edges))
    return prediction


def of_one_layer(head, read: Tensor) -> Tensor:
    return linear(head, read) if hasattr(head, "weight") else network(head, read, relu)


def gated_gcn_loop(model, h: Tensor, e: Tensor, edges: list[tuple[int, int]]) -> Tensor:
    for layer in model.layers:
        h, e = gated_gcn_layer_loop(layer, h, e, edges)
    return network(model.head, what_is_read(model, h, edges), relu)


def gat_loop(model, h: Tensor, edges: list[tuple[int, int]]) -> Tensor:
    for layer in model.layers:
        h = gat_layer_loop(layer, h, edges)
    return network(model.head, what_is_read(model, h, edges), relu)


def gt_layer_loop(
    layer, h: Tensor, e: Tensor | None, edges: list[tuple[int, int]]
) -> tuple[Tensor, Tensor | None]:
    """softmax over j → i of the clipped sum of q_i · k_j · E e_ji, a head and an edge at a time."""
    attention = layer.attention
    query, key, value = (
        linear(part, h) for part in (attention.query, attention.key, attention.value)
    )
    width = h.shape[1] // attention.num_heads
    factors = torch.ones(len(edges), h.shape[1]).double()
    if e is not None:
        factors = linear(attention.edge, e)
    products = torch.zeros(len(edges), h.shape[1]).double()
    for row, (j, i) in enumerate(edges):
        products[row] = query[i] * key[j] / math.sqrt(width) * factors[row]
    attended = torch.zeros_like(h)
    for head in range(attention.num_heads):
        channels = range(head * width, (head + 1) * width)
        for i in range(len(h)):
            rows = [row for row, (_, k) in enumerate(edges) if k == i]
            if not rows:
                continue
            logits = [min(5.0, max(-5.0, products[row, channels].sum().item())) for row in rows]
            for row, weight in zip(rows, softmax_loop(logits), strict=True):
                attended[i, channels] += weight * value[edges[row][0], channels]
    h = gt_residual_loop(layer.nodes, h, attended)
    return h, None if e is None else gt_residual_loop(layer.edges, e, products)


def gt_residual_loop(part, h: Tensor, attended: Tensor) -> Tensor:
    h = batch_norm(part.first_norm, h + linear(part.output, attended))
    return batch_norm(part.second_norm, h + network(part.network, h, relu))


def gt_loop(model, h: Tensor, e: Tensor | None, edges: list[tuple[int, int]]) -> Tensor:
    for layer in model.layers:
        h, e = gt_layer_loop(layer, h, e, edges)
    return network(model.head, what_is_read(model, h, edges), relu)


def what_is_read(model, h: Tensor, edges: list[tuple[int, int]]) -> Tensor:
    """A graph's readout, its nodes, or both nodes of each of its edges."""
    if model.config.target == "graph":
        return readout(model, h)
    if model.config.target == "node":
        return h
    rows = torch.zeros(len(edges), 2 * h.shape[1]).double()
    for row, (j, i) in enumerate(edges):
        rows[row] = torch.cat([h[j], h[i]])
    return rows


def readout(model, h: Tensor) -> Tensor:
    """The sum or the mean of a graph's nodes, a node and a channel at a time."""
    out = torch.zeros(h.shape[1], dtype=torch.float64)
    for node in h.tolist():
        for t, value in enumerate(node):
            out[t] += value
    return out / len(h) if model.config.readout == "mean" else out


def aggregate_loop(h: Tensor, adjacency: Tensor, kind: str) -> Tensor:
    """The mean, sum or maximum over the neighbours of each node; zero where there are none.

    ``adjacency[i][j]`` is True where node i receives from node j.
    """
    out = torch.zeros_like(h)
    for i in range(len(h)):
        for t in range(h.shape[1]):
            found = [h[j, t].item() for j in range(len(h)) if adjacency[i, j] and i != j]
            if not found:
                continue
            results = {"mean": sum(found) / len(found), "sum": sum(found), "max": max(found)}
            out[i, t] = results[kind]
    return out


def gcn_loop(model, h: Tensor, edges: list[tuple[int, int]]) -> Tensor:
    for layer in model.layers:
        h = gcn_layer_loop(layer, h, edges)
    return network(model.head, what_is_read(model, h, edges), relu)
