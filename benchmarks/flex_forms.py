r"""Graphormer in FlexAttention: its bias is looked up inside the kernel.

FlexAttention (Dong et al., 2024) takes a function of one logit's place, the *score modifier*, and
compiles it into the loop that computes the logits. Graphormer's bias is then a lookup by the
distance of the pair: a small integer for each pair lies in memory, and neither the logits nor a
bias ``[B, H, N, N]``.

Without compilation PyTorch writes the logits out after all, and warns of it; for the fused kernel,
pass the compiled function on::

    fused = torch.compile(flex_attention, dynamic=False)
    graphormer_flex(query, key, value, distance, table, mask, attend=fused)

On a CPU, PyTorch 2.13 has the forward pass alone; without ``dynamic=False`` what it compiles for
another size is no valid C++, and with it each size is compiled for itself, the first eight. On a
GPU it has the backward pass as well; this function has not been run there.

Shapes: B graphs, N nodes (padded), H heads, d width, K = d / H.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import flex_attention

from gtcourse.graphs.batch import UNREACHABLE


def graphormer_flex(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    distance: Tensor,
    table: Tensor,
    mask: Tensor | None = None,
    *,
    virtual: Tensor | None = None,
    edges: Tensor | None = None,
    attend: Callable = flex_attention,
) -> Tensor:
    r"""Attention under Graphormer's biases, never written out (Graphormer, Eqs. 6 and 7).

    .. math:: A_{ij} = q_i \cdot k_j / \sqrt K + b_{\phi(i, j)} + c_{ij}

    The same as :class:`~gtcourse.models.graphormer.GraphormerAttention` between its projections.
    FlexAttention has no dropout of the weights and, on a CPU, no gradients.

    Args:
        table: :math:`b`, the scalars' weight of
            :class:`~gtcourse.models.graphormer.SpatialEncoding`.
        mask: True at real nodes; False is never attended to. A row without keys gives zeros.
        virtual: [VNode]'s scalars, where token 0 is [VNode] and the other N tokens are the nodes.
        edges: :math:`c`, where there is one; it is read from memory.
        attend: ``flex_attention``, or what ``torch.compile`` made of it.

    Shapes:
        query, key, value: ``[B, H, N, K]``, or N + 1 tokens with ``virtual``
        distance: ``[B, N, N]`` integers (of 8 bits where they fit), -1 for unreachable
        table: ``[D + 2, H]``: unreachable, 0, 1, …, D and farther
        mask: ``[B, N]``; virtual: ``[H]``; edges: ``[B, H, N, N]``, of nodes alone
        returns: as ``query``
    """
    last = len(table) - 1

    def nodes(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        row = (distance[b, i, j].to(torch.int32) - UNREACHABLE).clamp(max=last)
        score = score + table[row, h]
        if edges is not None:
            score = score + edges[b, h, i, j]
        return score if mask is None else torch.where(mask[b, j], score, -torch.inf)

    def tokens(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        of_nodes = nodes(score, b, h, (i - 1).clamp(min=0), (j - 1).clamp(min=0))
        return torch.where((i == 0) | (j == 0), with_virtual(score, b, h, j), of_nodes)

    def with_virtual(score: Tensor, b: Tensor, h: Tensor, j: Tensor) -> Tensor:
        score = score + virtual[h]
        if mask is None:
            return score
        return torch.where((j == 0) | mask[b, (j - 1).clamp(min=0)], score, -torch.inf)

    score_mod = nodes if virtual is None else tokens
    return attend(query, key, value, score_mod=score_mod)
