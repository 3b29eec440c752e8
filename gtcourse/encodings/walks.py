"""Where a random walk is after 1, 2, …, p steps: for pairs, and back home for nodes (CSA, Eq. 10).

Shapes: B graphs of n nodes each, p steps.
"""

from __future__ import annotations

import torch
from torch import Tensor

from gtcourse.encodings.transform import Encoding
from gtcourse.graphs.arguments import at_least, truth


class AddRandomWalks(Encoding):
    r"""Sets ``random_walks`` ``[n, n, p]``: :math:`(RW^k)_{ij}`, :math:`RW = D^{-1}A`, k = 1 … p.

    The chance that a walk from i, which takes each of its edges alike, is at j after k steps: what
    CSA, Eq. 10, is made of, and what tells the pairs of CSA, Figure 2, apart. Its
    diagonal, the chance to be back, is the node encoding RWSE. Directions are obeyed and loops are
    taken; a node without an edge out has a row of zeros.

    Args:
        steps: p.
        pairs: False sets only the diagonal, as ``rwse`` ``[n, p]``: for graphs with so many nodes
            that n² p numbers are too many.
    """

    def __init__(self, steps: int, pairs: bool = True):
        at_least(1, steps=steps)
        truth(pairs=pairs)
        self.steps, self.pairs = steps, pairs

    def compute(self, adjacency: Tensor, edge_attr: Tensor | None) -> dict[str, Tensor]:
        if self.pairs:
            return {"random_walks": random_walks(adjacency, self.steps)}
        return {"rwse": return_probabilities(adjacency, self.steps)}


def random_walks(adjacency: Tensor, steps: int) -> Tensor:
    """``[B, n, n, p]``: powers 1 … p of the walk matrix of ``adjacency`` ``[B, n, n]`` bool."""
    return torch.stack([*_powers(adjacency, steps)], dim=-1)


def return_probabilities(adjacency: Tensor, steps: int) -> Tensor:
    """``[B, n, p]``: the diagonals of :func:`random_walks`, without keeping the rest."""
    diagonals = [power.diagonal(dim1=-2, dim2=-1) for power in _powers(adjacency, steps)]
    return torch.stack(diagonals, dim=-1)


def _powers(adjacency: Tensor, steps: int):
    """Computed in float64, handed on in torch's default type."""
    edges = adjacency.double()
    walk = edges / edges.sum(dim=-1, keepdim=True).clamp(min=1)
    power = walk
    for step in range(steps):
        power = power if step == 0 else power @ walk
        yield power.to(torch.get_default_dtype())
