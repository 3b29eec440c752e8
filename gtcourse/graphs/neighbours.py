"""Nearest neighbours: how points become a graph."""

from __future__ import annotations

import numpy as np


def nearest(distance: np.ndarray, k: int) -> np.ndarray:
    """An edge from each node to each of the k nearest others; of equally near ones to the first.

    Args:
        distance: ``[n, n]``, or anything that grows with it, such as its square.
        k: neighbours of each node; all others where there are no more than that.

    Returns:
        ``[2, n k]``, row by row of the adjacency matrix.

    Raises:
        ValueError: k is below 1.
    """
    if k < 1:
        raise ValueError(f"k is {k}; expected 1 or more neighbours of each node.")
    n = len(distance)
    k = min(k, n - 1)
    others = np.where(np.eye(n, dtype=bool), np.inf, distance)
    chosen = np.sort(np.argsort(others, axis=1, kind="stable")[:, :k], axis=1)
    return np.stack([np.repeat(np.arange(n), k), chosen.ravel()])
