"""Where a random walk is after 1, 2, …, p steps: for pairs, and back home for nodes (CSA, Eq. 10).

Shapes: n nodes, p steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from gtcourse.encodings.transform import Encoding, Pairs


@dataclass(eq=False)
class AddRandomWalks(Encoding):
    r"""Sets ``random_walks`` ``[n, n, p]``: :math:`(RW^k)_{ij}`, :math:`RW = D^{-1}A`, k = 1 … p.

    The chance that a walk from i is at j after k steps: what CSA, Eq. 10, is made of, and what
    tells the pairs of CSA, Figure 2, apart. Its diagonal is the node encoding RWSE. Directions are
    obeyed and loops are taken; a node without an edge out has a row of zeros.

    Args:
        steps: p; pairs: False sets only the diagonal, as ``rwse`` ``[n, p]``, for large graphs.
    """

    on_device = True
    steps: int
    pairs: bool = True

    def compute(self, pairs: Pairs) -> dict[str, Tensor]:
        powers = self._powers(pairs.adjacency.double())
        if self.pairs:
            return {"random_walks": torch.stack([*powers], dim=-1)}
        return {"rwse": torch.stack([p.diagonal(dim1=-2, dim2=-1) for p in powers], dim=-1)}

    def _powers(self, edges: Tensor) -> Iterator[Tensor]:
        """Computed in float64, handed on in torch's default type."""
        walk = power = edges / edges.sum(dim=-1, keepdim=True).clamp(min=1)
        for step in range(self.steps):
            power = power @ walk if step else walk
            yield power.to(torch.get_default_dtype())
