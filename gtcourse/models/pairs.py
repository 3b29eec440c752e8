"""Pairs of nodes as the rows of one long table, so that padding costs nothing.

In a batch of molecules of mixed size half of the padded pairs hold nothing. A layer that works on
each pair by itself (a norm, a linear map, a feed-forward network) works on the rows instead.
Shapes: B graphs, N nodes (padded), P pairs.
"""

from __future__ import annotations

import torch
from torch import Tensor


class Pairs:
    """The pairs of a batch that are computed, in row-major order.

    Args:
        mask: ``[B, N, N]`` bool, True at the pairs that count.
        dense: compute the others as well, so that P is B N². How many pairs count need not be known
            then, for which a GPU would be waited for at every batch. What is computed of the others
            means nothing; the mask says which they are.

    Attributes:
        index: ``[P]``, where each pair stands in ``[B N N]``; None where it is all of them.
    """

    def __init__(self, mask: Tensor, dense: bool = False):
        self.mask, self.index = mask, None
        if not dense:
            index = mask.flatten().nonzero().squeeze(1)
            self.index = None if len(index) == mask.numel() else index

    @classmethod
    def of(cls, mask: Tensor | None, h: Tensor) -> Pairs:
        """The pairs that a layer's mask allows.

        Args:
            mask: True where there is a node, ``[B, N]``, or a pair, ``[B, N, N]`` (or ``[1, N,
                N]``); None for all.
            h: ``[B, N, d]``
        """
        B, N, _ = h.shape
        if mask is None:
            mask = torch.ones(B, N, dtype=torch.bool, device=h.device)
        if mask.dim() == 2:
            mask = mask[:, :, None] & mask[:, None, :]
        return cls(mask.expand(B, N, N))

    @property
    def ends(self) -> tuple[Tensor, Tensor]:
        """Row i and row j of each pair in ``[B N]``, each ``[P]``."""
        N = self.mask.shape[-1]
        index = self.index
        if index is None:
            index = torch.arange(self.mask.numel(), device=self.mask.device)
        graph, pair = index // (N * N), index % (N * N)
        return graph * N + pair // N, graph * N + pair % N

    def pack(self, dense: Tensor) -> Tensor:
        """``[B, N, N, …]`` to ``[P, …]``."""
        rows = dense.reshape(-1, *dense.shape[3:])
        return rows if self.index is None else rows.index_select(0, self.index)

    def unpack(self, rows: Tensor) -> Tensor:
        """``[P, …]`` to ``[B, N, N, …]``, zeros at all pairs that are not computed."""
        shape = (*self.mask.shape, *rows.shape[1:])
        if self.index is None:
            return rows.view(shape)
        padded = rows.new_zeros(self.mask.numel(), *rows.shape[1:])
        return padded.index_copy(0, self.index, rows).view(shape)
