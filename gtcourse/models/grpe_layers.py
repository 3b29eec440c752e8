"""GRPE's attention and layer (Park et al., 2022): relations that queries, keys and values meet.

Shapes: B graphs, N nodes (padded), H heads, d width, K = d / H, T relations.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gtcourse.models.attention import MultiHeadAttention, over_heads
from gtcourse.models.layers import FeedForward
from gtcourse.models.relations import RelationTables

KeyContext = Literal["key_column", "query_row"]


class GRPEAttention(MultiHeadAttention):
    r"""Graph self-attention: what j is to i has a say in logits and values.

    With r for the relation :math:`r(i, j)`, and the tables' vectors for each relation,

    .. math::
        a_{ij} &= \frac{q_i \cdot k_j + q_i \cdot R^\text{key}_{r} + k_j \cdot R^\text{query}_{r}}
                  {\sqrt{d / H}}, \\
        z_i &= \sum_j \hat a_{ij} \bigl(v_j + R^\text{value}_{r}\bigr),
        \qquad \hat a_i = \operatorname{softmax}(a_i).

    (GRPE, Eqs. 6 to 9; a table of scalars is GRPE, Eq. 4.)

    A context is one of only T numbers for each query, or key: all of them come from one product
    ``[N, T]``, and each pair picks its own. In the same way the weights that a query gives to
    each relation are added up, ``[N, T]``, before they meet the T vectors. So no vector is ever
    written for a pair.

    Args:
        d_model: d; num_heads: H; dropout: of :math:`\hat a`, before both sums.
        key_context: "key_column" is Eq. 7, with :math:`k_j`. "query_row" is what the authors' code
            computes, :math:`k_i \cdot R^\text{query}_r`: a second context of the query's node.

    Shapes:
        x: ``[B, N, d]``; relation: ``[B, N, N]``, 0 to T - 1
        mask: True where attention may go: ``[B, N]`` for keys, or ``[B, N, N]``
        returns: ``[B, N, d]``, zeros before the output projection for a query whose keys are all
            masked; with ``return_attention`` also :math:`\hat a` ``[B, H, N, N]``, from before
            dropout

    Differs from the paper, which writes :math:`\sqrt{d_z}` for a single head.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        dropout: float = 0.0,
        key_context: KeyContext = "key_column",
    ):
        super().__init__(d_model, num_heads, dropout=dropout)
        if key_context not in ("key_column", "query_row"):
            raise ValueError(
                f"key_context is {key_context!r}; expected 'key_column' or 'query_row'."
            )
        self.key_context = key_context

    def reset_parameters(self) -> None:
        """PyTorch's own start, as in the authors' code."""
        for projection in (self.query, self.key, self.value, self.output):
            projection.reset_parameters()

    def forward(
        self,
        x: Tensor,
        relation: Tensor,
        tables: RelationTables,
        *,
        mask: Tensor | None = None,
        return_attention: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        query, key, value = (
            self.split_heads(project(x)) for project in (self.query, self.key, self.value)
        )  # [B, H, N, K]
        mask = over_heads(mask)
        pair = relation[:, None].expand(-1, self.num_heads, -1, -1)
        attention = self._logits(query, key, pair, tables, mask).softmax(dim=-1)
        weights = F.dropout(attention, self.dropout, self.training)
        z = weights @ value
        if tables.value is not None:
            vectors = self.split_heads(tables.value)  # [H, T, K]
            by_relation = weights.new_zeros(*weights.shape[:-1], vectors.shape[-2])
            z = z + by_relation.scatter_add(3, pair, weights) @ vectors
        if mask is not None:
            z = z.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)
            attention = attention.masked_fill(~mask, 0.0) if return_attention else attention
        z = self.output(self.join_heads(z))
        return (z, attention) if return_attention else z

    def _logits(
        self,
        query: Tensor,
        key: Tensor,
        pair: Tensor,
        tables: RelationTables,
        mask: Tensor | None,
    ) -> Tensor:
        """Eq. 8, ``[B, H, N, N]``; added up in place, because no gradient needs the parts."""
        query = query * query.shape[-1] ** -0.5  # before the product: half precision ends early
        logits = query @ key.transpose(-2, -1)
        for context in self._contexts(query, key, pair, tables):
            logits += context
        if mask is None:
            return logits
        # Finite, so that a row without keys has a softmax; what it gathers is set to zero.
        return logits.masked_fill_(~mask, torch.finfo(logits.dtype).min)

    def _contexts(
        self, query: Tensor, key: Tensor, pair: Tensor, tables: RelationTables
    ) -> Iterator[Tensor]:
        """What is added to the logits, ``[B, H, N, N]`` each; ``query`` is scaled already."""
        if tables.key is not None:
            vectors = self.split_heads(tables.key)
            yield (query @ vectors.transpose(-2, -1)).gather(3, pair)  # of [B, H, N, T]
        if tables.query is not None:
            vectors = self.split_heads(tables.query) * key.shape[-1] ** -0.5
            if self.key_context == "query_row":
                yield (key @ vectors.transpose(-2, -1)).gather(3, pair)
            else:  # for pair (i, j) the number of key j: of [B, H, T, N], along the columns
                yield (vectors @ key.transpose(-2, -1)).gather(2, pair)
        if tables.bias is not None:
            yield tables.bias.T[None, :, None].expand(*pair.shape[:3], -1).gather(3, pair)


class GRPELayer(nn.Module):
    r"""Graph self-attention, then a feed-forward network, each after a LayerNorm.

    Args:
        d_model: d; d_hidden: the feed-forward network's inner width, d where it is None.
        dropout: after attention and after the network, as in the authors' code; the paper says "the
            input to feed-forward neural networks".
        attention_dropout, key_context: as of :class:`GRPEAttention`.

    Shapes:
        h: ``[B, N, d]``; relation, tables, mask: as of :class:`GRPEAttention`
        returns: ``[B, N, d]``; with ``return_attention`` also ``[B, H, N, N]``
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_hidden: int | None = None,
        *,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        key_context: KeyContext = "key_column",
    ):
        super().__init__()
        self.attention = GRPEAttention(
            d_model, num_heads, dropout=attention_dropout, key_context=key_context
        )
        self.feed_forward = FeedForward(d_model, d_hidden or d_model, activation="gelu")
        self.attention_norm = nn.LayerNorm(d_model)
        self.feed_forward_norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        h: Tensor,
        relation: Tensor,
        tables: RelationTables,
        *,
        mask: Tensor | None = None,
        return_attention: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        z = self.attention(
            self.attention_norm(h), relation, tables, mask=mask, return_attention=return_attention
        )
        z, attention = z if return_attention else (z, None)
        h = h + self.dropout(z)
        h = h + self.dropout(self.feed_forward(self.feed_forward_norm(h)))
        return (h, attention) if return_attention else h
