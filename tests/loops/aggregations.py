"""What a node hears, a node and a channel at a time, in float64.

``adjacency[i][j]`` is True where node i hears node j.
"""

import torch
from torch import Tensor


def aggregate_loop(h: Tensor, adjacency: Tensor, kind: str) -> Tensor:
    """The mean, sum or maximum over what each node hears; zero where that is nothing."""
    out = torch.zeros_like(h)
    for i in range(len(h)):
        for t in range(h.shape[1]):
            heard = [h[j, t].item() for j in range(len(h)) if adjacency[i, j] and i != j]
            if not heard:
                continue
            match kind:
                case "mean":
                    out[i, t] = sum(heard) / len(heard)
                case "sum":
                    out[i, t] = sum(heard)
                case "max":
                    out[i, t] = max(heard)
    return out


def readout_loop(h: Tensor, kind: str) -> Tensor:
    """The sum or the mean of a graph's nodes, a node and a channel at a time."""
    out = torch.zeros(h.shape[1], dtype=torch.float64)
    for node in h.tolist():
        for t, value in enumerate(node):
            out[t] += value
    return out / len(h) if kind == "mean" else out
