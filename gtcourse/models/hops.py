"""How far attention goes: the share of it at each distance (EGT, Figure 3).

Shapes: B graphs, L layers, H heads, N nodes (padded).
"""

from __future__ import annotations

import torch
from torch import Tensor

from gtcourse.graphs.batch import UNREACHABLE


def attention_by_hop(attention: Tensor, distance: Tensor, mask: Tensor, hops: int) -> Tensor:
    """Of the attention that a node pays, the share that goes to nodes k hops away.

    The heads' weights are added, so that a head that is gated shut counts for little; then each
    node's are divided by their sum. A node that hears nothing in one of the layers is left out.

    Args:
        hops: k goes from 0 to this; the share of all that is farther, or not reachable, is the
            last column.

    Shapes:
        attention: ``[B, L, H, N, N]``, without virtual nodes; distance: ``[B, N, N]``, -1 where
            there is no path; mask: ``[B, N]``, True at real nodes
        returns: ``[nodes, L, hops + 2]``; each row sums to 1
    """
    weights = attention.sum(dim=2) * mask[:, None, None]  # [B, L, N, N]
    total = weights.sum(dim=-1, keepdim=True)
    share = weights / total.clamp(min=torch.finfo(total.dtype).tiny)
    bins = distance.masked_fill(distance == UNREACHABLE, hops + 1).clamp(max=hops + 1)
    bins = bins[:, None].expand_as(share)
    by_hop = share.new_zeros(*share.shape[:-1], hops + 2).scatter_add(-1, bins, share)
    heard = mask & (total[..., 0] > 0).all(dim=1)
    return by_hop.transpose(1, 2)[heard]
