"""PATTERN's background as its recipe says it: one pair of nodes at a time."""

import random


def background_loop(rng: random.Random) -> list[list[int]]:
    """Adjacency of five communities of 5 to 34 nodes, p = 0.5 within and q = 0.35 across them."""
    community = [number for number in range(5) for _ in range(rng.randint(5, 34))]
    n = len(community)
    adjacency = [[0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1, n):
            probability = 0.5 if community[i] == community[j] else 0.35
            if rng.random() < probability:
                adjacency[i][j] = adjacency[j][i] = 1
    return adjacency
