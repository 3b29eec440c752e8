"""Entropy, likeness of heads, rollout and attributions, a node and a pair at a time, in float64."""

import math

import torch
from torch import Tensor


def rows_loop(attention: Tensor, size: int) -> list[list[float]]:
    """Of one head of one graph ``[T, T]``: the rows of its real tokens, each divided by its sum."""
    rows = []
    for i in range(size):
        weights = [float(attention[i, j]) for j in range(size)]
        total = sum(weights)
        rows.append([weight / total for weight in weights] if total > 0 else weights)
    return rows


def entropy_loop(row: list[float], base: float = math.e) -> float:
    return sum(-p * math.log(p, base) for p in row if p > 0)


def likeness_loop(one: list[list[list[float]]], other: list[list[list[float]]]) -> float:
    """Of two heads, each a list of graphs, each a list of rows."""
    found = []
    for rows, other_rows in zip(one, other, strict=True):
        for p, q in zip(rows, other_rows, strict=True):
            middle = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
            divergence = sum(
                a / 2 * math.log2(a / m)
                for row in (p, q)
                for a, m in zip(row, middle, strict=True)
                if a > 0
            )
            found.append(1 - math.sqrt(max(divergence, 0.0)))
    return sum(found) / len(found)


def rollout_loop(attention: Tensor, size: int, residual: float) -> Tensor:
    """Of one graph ``[L, H, T, T]``: the sum over all ways from an output token to an input one."""
    steps = []
    for layer in attention:
        mean = sum(layer[1:], start=layer[0]) / len(layer)
        steps.append(
            [
                [(1 - residual) * a + residual * (i == j) for j, a in enumerate(row)]
                for i, row in enumerate(rows_loop(mean, size))
            ]
        )

    def share(layer: int, i: int, j: int) -> float:
        """Of token j's input in token i's output of ``layer``; 0 layers change nothing."""
        if layer == 0:
            return float(i == j)
        return sum(steps[layer - 1][i][m] * share(layer - 1, m, j) for m in range(size))

    found = torch.zeros(attention.shape[-2:], dtype=torch.float64)
    for i in range(size):
        for j in range(size):
            found[i, j] = share(len(steps), i, j)
    return found


def difference_loop(function, x: Tensor, step: float = 1e-5) -> Tensor:
    """The derivative of a number by each entry of x, by differences of the fourth order."""
    found = torch.zeros_like(x)
    for place in torch.cartesian_prod(*[torch.arange(n) for n in x.shape]).tolist():
        around = []
        for steps in (-2, -1, 1, 2):
            moved = x.clone()
            moved[tuple(place)] += steps * step
            around.append(float(function(moved)))
        far_left, left, right, far_right = around
        found[tuple(place)] = (far_left - 8 * left + 8 * right - far_right) / (12 * step)
    return found
