r"""Chromatic self-attention and its layer (Menegaux et al., 2023, Sections 3.2 and 3.5).

Shapes: B graphs, N nodes (padded), H heads, d width, K = d / H.
"""

from __future__ import annotations

from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gtcourse.models import csa_filters
from gtcourse.models.attention import MultiHeadAttention, over_heads
from gtcourse.models.csa_filters import EdgeTerms, EdgeTermsOfRows
from gtcourse.models.layers import FeedForward
from gtcourse.models.norms import NodeBatchNorm

Score = Literal["dot", "additive"]
Form = Literal["factorised", "direct", "chunked"]


class ChromaticSelfAttention(MultiHeadAttention):
    r"""Attention with a weight for each channel of a pair (CSA, Eqs. 5 to 7).

    .. math::
        z_i = \sum_j \tilde a(i, j) \odot (V_j + E^\text{value}_{ij}), \qquad
        \tilde a(i, j) = \frac{\exp(Q_i \cdot K_j + E_{ij})}{\sum_k \exp(Q_i \cdot K_k + E_{ik})}
        \in \mathbb{R}^d

    :math:`Q_i \cdot K_j` is a head's, divided by :math:`\sqrt{K}`, and the same for its K channels.
    Where :math:`E_{ij}` has a number for each head instead, this is "monochrome" attention (CSA,
    Eq. 4), of which Graphormer's bias and, as :math:`\log K_r(i, j)`, GraphiT's kernel are cases.

    Args:
        d_model: d; num_heads: H, a divisor of d.
        score: "additive" for :math:`\exp(Q_i + K_j + E_{ij})`, channel by channel. There
            :math:`Q_i` is a constant of the softmax: it changes nothing, and is not learned.
        form: "factorised", two factors and a backward pass that computes their product again;
            "direct", as the equations read; "chunked", a few rows at a time. They are the same
            function; :mod:`gtcourse.models.csa_filters` has them.
        node_ablation, edge_ablation, channel_ablation: in training, the share of weights that is
            silenced after the softmax, the others growing in turn: all that hear a node j; a pair
            (i, j), itself included; a channel of all pairs.

    Shapes:
        h: ``[B, N, d]``; edges: their terms, ``[B, d, N, N]`` or ``[B, H, N, N]``, or a function
            from rows to those of the rows, which is worked through in chunks whatever the form,
            but not with ``return_attention``; an additive score takes chromatic terms
        mask: True where attention may go: ``[B, N]`` for keys, or ``[B, N, N]``
        returns: ``[B, N, d]``, zeros before the output projection for a node whose keys are all
            masked; with ``return_attention`` also :math:`\tilde a` ``[B, d, N, N]``, or ``[B, H, N,
            N]`` of monochrome terms, from before the ablations

    Queries, keys and values have no bias, as in the authors' code; the output projection has one.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        score: Score = "dot",
        form: Form = "factorised",
        node_ablation: float = 0.0,
        edge_ablation: float = 0.0,
        channel_ablation: float = 0.0,
    ):
        super().__init__(d_model, num_heads, bias=False)
        self.output = nn.Linear(d_model, d_model)
        for name, value, choices in (
            ("score", score, get_args(Score)),
            ("form", form, get_args(Form)),
        ):
            if value not in choices:
                raise ValueError(f"{name} is {value!r}; expected one of {', '.join(choices)}.")
        self.score, self.form = score, form
        self.node_ablation, self.edge_ablation = node_ablation, edge_ablation
        self.channel_ablation = channel_ablation
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """PyTorch's own start, as in the authors' code."""
        for projection in (self.query, self.key, self.value, self.output):
            projection.reset_parameters()

    def forward(
        self,
        h: Tensor,
        edges: EdgeTerms | EdgeTermsOfRows,
        *,
        mask: Tensor | None = None,
        return_attention: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        mask = over_heads(mask)
        query, key, value = (
            self.split_heads(project(h)) for project in (self.query, self.key, self.value)
        )  # [B, H, N, K]
        value = value.mT

        def scores_of(rows: slice) -> Tensor:
            return self._scores(query[:, :, rows], key, rows_of(mask, rows))

        def terms_of(rows: slice) -> EdgeTerms:
            of_rows = edges(rows) if callable(edges) else edges.rows(rows)
            return of_rows if self.score == "dot" else _added(query[:, :, rows], key, of_rows)

        keep, everything = self._keep(h), slice(None)
        if return_attention:
            scores, terms = scores_of(everything), terms_of(everything)
            a = csa_filters.filters(scores, terms)
            z = self._outward(csa_filters.gather(a, value, terms.values, keep), mask)
            a = a.flatten(1, 2)
            return z, a if mask is None else a.masked_fill(~mask, 0.0)
        if callable(edges) or self.form == "chunked":
            z = csa_filters.by_rows(scores_of, value, terms_of, keep)
        else:
            form = {"direct": csa_filters.direct, "factorised": csa_filters.factorised}[self.form]
            z = form(scores_of(everything), value, terms_of(everything), keep)
        return self._outward(z, mask)

    def _outward(self, z: Tensor, mask: Tensor | None) -> Tensor:
        """What the nodes have gathered, ``[B, H, K, N]``, through the last projection."""
        if mask is not None:
            z = z.masked_fill(~mask.any(dim=-1)[:, :, None], 0.0)
        z = z.flatten(1, 2)  # [B, d, N]
        if self.training and self.channel_ablation:
            z = z * F.dropout(torch.ones_like(z[..., :1]), self.channel_ablation)
        return self.output(z.mT)

    def _scores(self, query: Tensor, key: Tensor, mask: Tensor | None) -> Tensor:
        """:math:`Q_i \\cdot K_j`, scaled, ``[B, H, R, N]``; nothing where the score is additive."""
        if self.score == "dot":
            scores = query * query.shape[-1] ** -0.5 @ key.mT
        else:
            scores = query.new_zeros(*query.shape[:3], key.shape[2])
        # Finite, so that a row without keys has a softmax; what it gathers is set to zero.
        return scores if mask is None else scores.masked_fill(~mask, torch.finfo(scores.dtype).min)

    def _keep(self, h: Tensor) -> Tensor | None:
        """What dropout multiplies the weights by, ``[B, 1, 1, N]`` or ``[B, 1, N, N]``."""
        keep, (B, N, _) = None, h.shape
        if self.training and self.node_ablation:
            keep = F.dropout(h.new_ones(B, 1, 1, N), self.node_ablation)
        if self.training and self.edge_ablation:
            pairs = F.dropout(h.new_ones(B, 1, N, N), self.edge_ablation)
            keep = pairs if keep is None else keep * pairs
        return keep


def rows_of(mask: Tensor | None, rows: slice) -> Tensor | None:
    """Some rows of a mask ``[B, 1, N, N]``; a mask of keys ``[B, 1, 1, N]`` is that of all rows."""
    return mask if mask is None or mask.shape[2] == 1 else mask[:, :, rows]


def _added(query: Tensor, key: Tensor, terms: EdgeTerms) -> EdgeTerms:
    """:math:`Q_i + K_j + E_{ij}`, channel by channel."""
    # In float32 at least, as filters() adds: what cancels would leave its rounding.
    dtype = torch.promote_types(query.dtype, torch.float32)
    query, key = (x.mT.flatten(1, 2).to(dtype) for x in (query, key))  # [B, d, R], [B, d, N]
    return EdgeTerms(terms.logits + (query[..., None] + key[..., None, :]), terms.values)


class CSALayer(nn.Module):
    r"""Chromatic self-attention, then a feed-forward network, each with a batch norm on its sum.

    .. math::
        x = \operatorname{BN}(h + \operatorname{CSA}(h, E)), \qquad
        h' = \operatorname{BN}(x + \operatorname{FFN}(x))

    The statistics are those of the real nodes: padding does not enter them.

    Args:
        d_model: d; d_hidden: the network's inner width, 2 d where it is None.
        dropout: after attention, and in the network and after it.
        activation: "relu" or "gelu", as the authors have it for PCQM4Mv2.
        attention: further arguments of :class:`ChromaticSelfAttention`.

    Shapes:
        h: ``[B, N, d]``; edges: as of :class:`ChromaticSelfAttention`; mask: ``[B, N]``, real nodes
        returns: ``[B, N, d]``, zeros at padding; with ``return_attention`` also ``[B, d, N, N]``
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_hidden: int | None = None,
        *,
        dropout: float = 0.0,
        activation: str = "relu",
        **attention,
    ):
        super().__init__()
        self.attention = ChromaticSelfAttention(d_model, num_heads, **attention)
        self.feed_forward = FeedForward(
            d_model, d_hidden or 2 * d_model, dropout=dropout, activation=activation
        )
        self.attention_norm = NodeBatchNorm(d_model)
        self.feed_forward_norm = NodeBatchNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        h: Tensor,
        edges: EdgeTerms | EdgeTermsOfRows,
        *,
        mask: Tensor | None = None,
        return_attention: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        mask = h.new_ones(h.shape[:2], dtype=torch.bool) if mask is None else mask
        z = self.attention(h, edges, mask=mask, return_attention=return_attention)
        z, attention = z if return_attention else (z, None)
        h = self.attention_norm(h + self.dropout(z), mask)
        h = self.feed_forward_norm(h + self.dropout(self.feed_forward(h)), mask)
        return (h, attention) if return_attention else h
