"""Sums over neighbours and nodes, a node and a channel at a time, in float64.

``adjacency[i][j]`` is True where node i receives from node j.
"""

import torch
from torch import Tensor


def aggregate_loop(h: Tensor, adjacency: Tensor, kind: str) -> Tensor:
    """The mean, sum or maximum over the neighbours of each node; zero where there are none."""
    out = torch.zeros_like(h)
    for i in range(len(h)):
        for t in range(h.shape[1]):
            found = [h[j, t].item() for j in range(len(h)) if adjacency[i, j] and i != j]
            if not found:
                continue
            results = {"mean": sum(found) / len(found), "sum": sum(found), "max": max(found)}
            out[i, t] = results[kind]
    return out


def readout_loop(h: Tensor, kind: str) -> Tensor:
    """The sum or the mean of a graph's nodes, a node and a channel at a time."""
    out = torch.zeros(h.shape[1], dtype=torch.float64)
    for node in h.tolist():
        for t, value in enumerate(node):
            out[t] += value
    return out / len(h) if kind == "mean" else out
