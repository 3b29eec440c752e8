"""What a channel looks at: the share of its attention by kind of pair (CSA, Figures 3 and 4).

Shapes: B graphs, L layers, C channels (or heads), N nodes (padded).
"""

from __future__ import annotations

import torch
from torch import Tensor

from gtcourse.graphs.batch import UNREACHABLE, GraphBatch
from gtcourse.models.node_encodings import read_encoding

KINDS = ("itself", "neighbours", "same ring", "near", "far")
"""A node; those joined to it; those on a ring with it, but not joined; the rest, by distance."""


def pair_kinds(batch: GraphBatch, near: int = 3) -> Tensor:
    """The kind of each pair, a place in ``KINDS``, ``[B, N, N]``.

    Args:
        batch: with the encodings "distance" and "ring".
        near: the longest distance that is near; farther and unreachable nodes are far.
    """
    distance, ring = (read_encoding(batch, name) for name in ("distance", "ring"))
    far = (distance > near) | (distance == UNREACHABLE)
    kind = torch.where(ring.bool(), 2, 3 + far.long())
    return kind.masked_fill(distance == 1, 1).masked_fill(distance == 0, 0)


def attention_by_kind(attention: Tensor, kind: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """The share of each channel's attention that goes to each kind of pair, and of an even one's.

    Both are means over the real nodes. A channel that gives a kind twice the share of an even
    attention, which looks at all nodes alike, has its eye on it.

    Shapes:
        attention: ``[B, L, C, N, N]``, rows that sum to 1; kind: ``[B, N, N]``, as of
            :func:`pair_kinds`; mask: ``[B, N]``, True at real nodes
        returns: ``[L, C, kinds]``, and ``[kinds]`` of the even attention
    """
    is_kind = torch.nn.functional.one_hot(kind, len(KINDS)).to(attention.dtype)
    is_kind = is_kind * (mask[:, :, None] & mask[:, None, :])[..., None]  # [B, N, N, kinds]
    nodes = mask.sum()
    share = torch.einsum("blcij,bijk->lck", attention, is_kind) / nodes
    of_all = is_kind.sum(dim=2) / mask.sum(dim=1).clamp(min=1)[:, None, None]
    return share, of_all.sum(dim=(0, 1)) / nodes
