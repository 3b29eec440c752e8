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
        mask: ``[B, N, N]`` bool, True at these pairs.

    Attributes:
        index: ``[P]``, where each pair stands in ``[B N N]``.
    """

    def __init__(self, mask: Tensor):
        self.mask = mask
        self.index = mask.flatten().nonzero().squeeze(1)
        self.all = len(self.index) == mask.numel()

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
        graph, pair = self.index // (N * N), self.index % (N * N)
        return graph * N + pair // N, graph * N + pair % N

    def pack(self, dense: Tensor) -> Tensor:
        """``[B, N, N, …]`` to ``[P, …]``."""
        rows = dense.reshape(-1, *dense.shape[3:])
        return rows if self.all else rows.index_select(0, self.index)

    def unpack(self, rows: Tensor) -> Tensor:
        """``[P, …]`` to ``[B, N, N, …]``, zeros at all other pairs."""
        shape = (*self.mask.shape, *rows.shape[1:])
        if self.all:
            return rows.view(shape)
        padded = rows.new_zeros(self.mask.numel(), *rows.shape[1:])
        return padded.index_copy(0, self.index, rows).view(shape)
