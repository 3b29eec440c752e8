"""SignNet after S14: one graph, one eigenvector, one sign, one node at a time, in float64."""

import torch
from torch import Tensor, nn

from tests.loops.parts import batch_norm, linear, relu

Rows = dict[tuple, Tensor]
"""One vector for each (graph, eigenvector, sign, node), or for each (graph, node)."""


def signnet_loop(
    model, graphs: list[tuple[Tensor, Tensor]], training: bool = False
) -> list[Tensor]:
    """``[n, d]`` for each graph.

    Args:
        graphs: eigenvectors ``[n, k]``, with zeros in a padding column, and adjacency ``[n, n]``.
        training: normalise by the statistics of these rows instead of the running ones.
    """
    rows: Rows = {}
    for g, (vectors, _) in enumerate(graphs):
        for m in range(vectors.shape[1]):
            if any(entry != 0 for entry in vectors[:, m].tolist()):
                for sign in (1, -1):
                    for i in range(len(vectors)):
                        rows[g, m, sign, i] = sign * vectors[i, m].reshape(1)
    phi = model.phi
    if model.config.phi == "gin":
        for depth, layer in enumerate(phi.layers):
            if depth > 0:
                rows = step(rows, phi.norms[depth - 1], training)
            rows = network(sum_with_neighbours(rows, graphs), layer, training)
    else:
        rows = network(rows, phi.network, training)

    combined: Rows = {}
    for g, (vectors, _) in enumerate(graphs):
        nothing = torch.zeros(model.config.phi_out, dtype=torch.float64)
        for i in range(len(vectors)):
            even = [
                rows.get((g, m, 1, i), nothing) + rows.get((g, m, -1, i), nothing)
                for m in range(vectors.shape[1])
            ]
            combined[g, i] = torch.cat(even) if model.config.rho == "mlp" else sum(even)
    out = network(combined, model.rho, training)
    return [torch.stack([out[g, i] for i in range(len(v))]) for g, (v, _) in enumerate(graphs)]


def sum_with_neighbours(rows: Rows, graphs: list[tuple[Tensor, Tensor]]) -> Rows:
    total = {}
    for g, m, sign, i in rows:
        adjacency = graphs[g][1]
        total[g, m, sign, i] = rows[g, m, sign, i].clone()
        for j in range(len(adjacency)):
            if adjacency[j, i]:  # an edge from j to i
                total[g, m, sign, i] += rows[g, m, sign, j]
    return total


def network(rows: Rows, layers: nn.Sequential, training: bool) -> Rows:
    for layer in layers:
        rows = step(rows, layer, training)
    return rows


def step(rows: Rows, layer: nn.Module, training: bool) -> Rows:
    if isinstance(layer, nn.Linear):
        return {key: linear(layer, row) for key, row in rows.items()}
    if isinstance(layer, nn.ReLU):
        return {key: relu(row) for key, row in rows.items()}
    mean = variance = None
    if training and len(rows) > 1:
        mean = sum(rows.values()) / len(rows)
        variance = sum((row - mean) ** 2 for row in rows.values()) / len(rows)
    return {key: batch_norm(layer, row, mean, variance) for key, row in rows.items()}
